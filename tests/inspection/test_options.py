"""No Display swallows an option: all are checked before anything is computed."""

import doctest
import inspect
import re
import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA

from sklearn_disent import inspection
from sklearn_disent._params import StrOptions, constraints_of
from sklearn_disent.inspection import (
    DisentanglementReport,
    HistoryDisplay,
    LatentFactorDisplay,
    MetricAgreementDisplay,
    ReconstructionDisplay,
    RelevanceDisplay,
    ScoreDistributionDisplay,
    SignatureDisplay,
    SweepDisplay,
    TraversalDisplay,
)

CLASSES = [getattr(inspection, name) for name in inspection.__all__]


class Untouched:
    """Data and estimators that nothing may look at."""

    def __getattribute__(self, name):
        raise AssertionError(f"{name} was looked up before the options were checked")


def public_methods(cls):
    return [
        name
        for name, member in vars(cls).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, classmethod))
    ]


METHODS = [(cls, name) for cls in CLASSES for name in public_methods(cls)]
FACTORIES = [(cls, name) for cls, name in METHODS if name.startswith("from_")]
# to_html has a path, and no options.
DRAWING = [(cls, name) for cls, name in METHODS if name.startswith(("plot", "to_gif"))]


def ids(case):
    return case.__name__ if inspect.isclass(case) else case


def call(cls, name, **options):
    """Call a method with data that must not be touched."""
    method = getattr(cls, name)
    of_class = inspect.ismethod(method)
    parameters = inspect.signature(method if of_class else cls).parameters.values()
    needed = {
        p.name: Untouched() for p in parameters if p.default is p.empty and p.kind != p.VAR_KEYWORD
    }
    if of_class:
        return method(**needed, **options)
    data = {"path": "unused.gif"} if name == "to_gif" else {}
    return getattr(cls(**needed), name)(**data, **options)


def word_options(function):
    """Parameters of a function that are one of a few words, and these words."""
    for name, constraints in constraints_of(function).items():
        words = {word for c in constraints if isinstance(c, StrOptions) for word in c.options}
        if words:
            yield name, words


def test_methods_are_found():
    assert {cls for cls, _ in FACTORIES} == set(CLASSES)
    assert {cls for cls, _ in DRAWING} == set(CLASSES) - {DisentanglementReport}


@pytest.mark.parametrize(("cls", "name"), FACTORIES + DRAWING, ids=ids)
def test_unknown_option_is_refused_at_once(cls, name):
    with pytest.raises(TypeError) as caught:
        call(cls, name, knd="mutual_info")
    message = str(caught.value)
    assert f"{cls.__name__}.{name} has no option 'knd'. Its options are " in message
    listed = message.split("Its options are ")[1]
    for own in inspect.signature(getattr(cls, name)).parameters.values():
        if own.kind == own.KEYWORD_ONLY:
            assert own.name in listed
    if any(
        p.kind == p.VAR_KEYWORD for p in inspect.signature(getattr(cls, name)).parameters.values()
    ):
        for option in inspect.signature(cls.plot).parameters.values():
            assert option.kind != option.KEYWORD_ONLY or option.name in listed


def words_of_every_method():
    for cls, name in FACTORIES + DRAWING:
        method = getattr(cls, name)
        yield from (
            (cls, name, *option)
            for option in word_options(inspect.unwrap(getattr(method, "__func__", method)))
        )
        if name.startswith("from_") and hasattr(cls, "plot"):
            yield from ((cls, name, *option) for option in word_options(cls.plot))


WORDS = list(words_of_every_method())


def test_words_are_found():
    found = {(cls, name, option) for cls, name, option, _ in WORDS}
    assert (RelevanceDisplay, "from_estimator", "kind") in found
    assert (SweepDisplay, "from_search", "kind") in found
    assert (SweepDisplay, "plot", "xscale") in found
    assert (DisentanglementReport, "from_estimator", "metrics") in found
    assert len(found) > 20


@pytest.mark.parametrize(
    ("cls", "name", "option", "words"),
    WORDS,
    ids=[f"{c.__name__}.{n}({o})" for c, n, o, _ in WORDS],
)
def test_misspelt_word_is_refused_at_once(cls, name, option, words):
    with pytest.raises(ValueError, match=f"'{option}' parameter") as caught:
        call(cls, name, **{option: "misspelt"})
    assert all(repr(word) in str(caught.value) for word in words)


# Options that are any text, and what of it is checked in the tests below, or why nothing is.
TEXT = {
    "label": "written as it is",
    "name": "written as it is",
    "path": "a file's name",
    "param": "a parameter of the search",
    "param_by": "a parameter of the search",
    "score": "a score of the search",
    "scores": "scores of the search",
    "terms": "terms of the history",
    "cmap": "a colormap",
    "values_format": "a format",
}


@pytest.mark.parametrize(("cls", "name"), METHODS, ids=ids)
def test_text_options_are_known(cls, name):
    for option, constraints in constraints_of(inspect.unwrap(getattr(cls, name))).items():
        assert str not in constraints or option in TEXT


def colored():
    for cls, name in FACTORIES + DRAWING:
        own = inspect.signature(getattr(cls, name)).parameters
        drawn = inspect.signature(cls.plot).parameters if hasattr(cls, "plot") else {}
        if "cmap" in own or (name.startswith("from_") and "cmap" in drawn):
            yield cls, name


@pytest.mark.parametrize(("cls", "name"), list(colored()), ids=ids)
def test_misspelt_colormap_is_refused_at_once(cls, name):
    with pytest.raises(ValueError, match=r"cmap must be a Colormap.*'viridis'.*got 'virids'"):
        call(cls, name, cmap="virids")


def test_colormap_may_be_an_object():
    import matplotlib

    colors = matplotlib.colormaps["gray"]
    display = RelevanceDisplay([[0.0, 1.0]]).plot(cmap=colors)
    assert display.ax_.images[0].get_cmap() == colors
    images = np.linspace(0, 1, 32).reshape(2, 4, 4)
    display = ReconstructionDisplay.from_predictions(images, images, cmap=colors)
    assert display.ax_.images[0].get_cmap().name == "gray"


def test_misspelt_format_is_refused_at_once():
    with pytest.raises(ValueError, match=r"format of numbers such as '\.2f'.*got '\.2q'"):
        call(RelevanceDisplay, "from_estimator", values_format=".2q")
    with pytest.raises(ValueError, match="format of numbers"):
        call(RelevanceDisplay, "plot", values_format=".2q")


@pytest.mark.parametrize("name", ["from_estimator", "from_factors", "plot"])
def test_misspelt_line_options_are_refused_at_once(name):
    with pytest.raises(TypeError, match=r"line_kw has no option 'colr'.*color.*linewidth"):
        call(SignatureDisplay, name, line_kw={"colr": "red"})


def test_short_names_of_line_options_are_understood():
    display = SignatureDisplay([np.eye(4)[:2]]).plot(line_kw={"lw": 3, "c": "red"})
    assert display.axes_[0, 0].lines[0].get_linewidth() == 3
    assert display.axes_[0, 0].lines[0].get_color() == "red"


def test_misspelt_image_options_are_refused_at_once():
    with pytest.raises(TypeError, match=r"image_kw has no option 'cmp'.*cmap"):
        call(SignatureDisplay, "plot_similarity", image_kw={"cmp": "gray"})


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (RelevanceDisplay, "from_estimator"),
        (RelevanceDisplay, "from_predictions"),
        (TraversalDisplay, "from_estimator"),
    ],
    ids=ids,
)
def test_misspelt_options_of_the_matrix_are_refused_at_once(cls, name):
    with pytest.raises(TypeError, match=r"no option 'n_bin'.*n_bins, strategy"):
        call(cls, name, relevance_params={"n_bin": 3})
    for option, value, allowed in [
        ("strategy", "unifrom", "'uniform'"),
        ("bias_correction", "miller-madow", "'miller_madow'"),
        ("nan_policy", "drop", "'omit'"),
    ]:
        with pytest.raises(ValueError, match=f"'{option}' parameter.*{allowed}"):
            call(cls, name, relevance_params={option: value})
    kind = "relevance" if cls is TraversalDisplay else "kind"
    with pytest.raises(TypeError, match="no option 'n_bins'"):
        call(cls, name, relevance_params={"n_bins": 3}, **{kind: "correlation"})


def test_names_of_parameters_and_scores_are_checked(search, vae):
    for cls in (SweepDisplay, ScoreDistributionDisplay):
        with pytest.raises(ValueError, match=r"param must be among.*'beta'.*got 'bta'"):
            cls.from_search(
                search, param="bta", **{"score": "mig"} if "Score" in cls.__name__ else {}
            )
    with pytest.raises(ValueError, match=r"param must be among.*'beta'.*got 'bta'"):
        SweepDisplay.from_search(search, param="beta", param_by="bta")
    for cls, option in [
        (SweepDisplay, "scores"),
        (ScoreDistributionDisplay, "score"),
        (MetricAgreementDisplay, "scores"),
    ]:
        with pytest.raises(ValueError, match=r"scores must be among.*'mig'.*got \['mgi'\]"):
            cls.from_search(search, **{option: "mgi"})
    with pytest.raises(ValueError, match=r"terms must be among.*'loss'.*got \['los'\]"):
        HistoryDisplay.from_estimator(vae, terms="los")


def test_names_of_factors_are_checked(images):
    with pytest.raises(ValueError, match=r"among \['row', 'column'\], got \('row', 'colum'\)"):
        LatentFactorDisplay.from_predictions(
            images[1], images[1], factor_names=["row", "column"], pairs=[("row", "colum")]
        )


def test_report_refuses_what_is_misspelt(images):
    X, y = images[0].reshape(120, -1), images[1]
    pca = PCA(2).fit(X)
    with pytest.raises(ValueError, match=r"metrics must be.*'mig'.*got \['mgi'\]"):
        DisentanglementReport.from_estimator(pca, X, y, metrics=["mgi"])
    with pytest.raises(ValueError, match=r"metric_params has options for \['mgi'\].*\['mig'\]"):
        DisentanglementReport.from_estimator(
            pca, X, y, metrics=["mig"], metric_params={"mgi": {"n_bins": 3}}
        )
    with pytest.raises(TypeError, match="n_bin"):
        DisentanglementReport.from_estimator(
            pca, X, y, metrics=["mig"], metric_params={"mig": {"n_bin": 3}}
        )


@pytest.mark.parametrize("cls", CLASSES)
def test_without_matplotlib_the_extra_is_named(cls, monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    examples = doctest.DocTestParser().get_examples(cls.__doc__)
    code = "".join(e.source for e in examples if not e.source.startswith(("import matp", "matp")))
    message = re.escape(f"{cls.__name__} needs matplotlib: pip install sklearn-disent[plot]")
    with pytest.raises(ImportError, match=message):
        exec(code, {})
