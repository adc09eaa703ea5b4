"""Docstrings and signatures agree, in all public functions, classes and methods."""

import ast
import dataclasses
import functools
import inspect
import re
import typing
from collections import defaultdict
from math import inf
from typing import NamedTuple

import pytest
from recording import choices

import sklearn_disent

ROOMS = sorted(set(sklearn_disent.__all__) - {"__version__", "show_versions"})


class Entry(NamedTuple):
    """One parameter as it is documented."""

    name: str
    type: str
    default: str | None
    text: str

    @property
    def clause(self):
        """How the text begins, up to the first mark of punctuation."""
        return re.split(r"[.,;:](?=\s|$)", " ".join(self.text.split()))[0]


def public_objects(module):
    """(qualified name, object) of every function, class and method that users may call."""
    for name in module.__all__:
        found = getattr(module, name)
        if inspect.ismodule(found):
            yield from public_objects(found)
        elif inspect.isclass(found):
            yield f"{module.__name__}.{name}", found
            yield from own_methods(found, f"{module.__name__}.{name}")
        elif callable(found):
            yield f"{module.__name__}.{name}", found


def own_methods(cls, prefix):
    """Public methods that the class itself has; skorch calls some that users do not."""
    for name, member in vars(cls).items():
        method = getattr(member, "__func__", member)
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        if "skorch's protocol" not in (method.__doc__ or "skorch's protocol"):
            yield f"{prefix}.{name}", method


OBJECTS = {
    name.removeprefix("sklearn_disent."): found
    for room in ROOMS
    for name, found in public_objects(getattr(sklearn_disent, room))
}
OBJECTS["show_versions"] = sklearn_disent.show_versions


def section(doc, title):
    lines = doc.split("\n")
    for at, line in enumerate(lines[:-1]):
        if line == title and set(lines[at + 1]) == {"-"}:
            body = lines[at + 2 :]
            ends = [i for i, rule in enumerate(body) if rule and set(rule) == {"-"}]
            return body[: ends[0] - 1] if ends else body
    return []


@functools.cache
def documented(name):
    """Entries of the section Parameters of an object, groups such as ``a, b : int`` taken apart."""
    doc = inspect.getdoc(OBJECTS[name]) or ""
    entries, texts = [], []
    for line in section(re.sub(r"\\\n\s*", "", doc), "Parameters"):
        if line and not line.startswith(" "):
            names, _, kind = re.sub(r"\s+", " ", line).partition(" : ")
            kind, _, default = kind.partition(", default=")
            texts.append([])
            entries += [(own, kind, default or None, texts[-1]) for own in names.split(", ")]
        elif texts:
            texts[-1].append(line)
    return [Entry(own, kind, default, "\n".join(text)) for own, kind, default, text in entries]


def parameters(name):
    """Parameters of the signature that are for users."""
    found = OBJECTS[name]
    names = {entry.name for entry in documented(name)}
    if inspect.isclass(found) and issubclass(found, Exception):
        return []
    # Fields of a NamedTuple may have docstrings of their own instead.
    if inspect.isclass(found) and issubclass(found, tuple) and not names:
        return []
    # The class to derive models from refers to VAE, which lists what they all have.
    if found is sklearn_disent.models.BaseVAE:
        return []
    own = inspect.signature(found).parameters.values()
    inherited = set()
    if inspect.isclass(found) and "**kwargs" in names:
        # What a model inherits is documented with the class it comes from.
        bases = [base for base in found.__mro__[1:] if base.__module__.startswith("sklearn_disent")]
        inherited = {p for base in bases for p in inspect.signature(base).parameters} - names
    return [
        p for p in own if p.name not in {"self", "cls", *inherited} and not p.name.startswith("_")
    ]


def annotation(name, parameter):
    """The annotation, evaluated; None where there is none, or where it needs what is not here."""
    found = OBJECTS[name]
    hint = parameter.annotation
    if hint is parameter.empty:
        # Published signatures have none, see _params.readable; the functions have them.
        inits = [
            vars(c)["__init__"] for c in getattr(found, "__mro__", ()) if "__init__" in vars(c)
        ]
        hints = [getattr(f, "__annotations__", {}) for f in inits or [inspect.unwrap(found)]]
        hint = next((own[parameter.name] for own in hints if parameter.name in own), hint)
    if not isinstance(hint, str):
        return None if hint is parameter.empty else hint
    init = found.__init__ if inspect.isclass(found) else found
    spaces = [getattr(inspect.unwrap(init), "__globals__", {})]
    if inspect.isclass(found):
        spaces += [vars(inspect.getmodule(cls)) for cls in found.__mro__ if inspect.getmodule(cls)]
    for space in spaces:
        try:
            return eval(hint, dict(space))
        except (NameError, AttributeError, TypeError):
            continue
    return None


def default_of(name, parameter):
    """The default, that of a dataclass's factory included."""
    if dataclasses.is_dataclass(OBJECTS[name]):
        for field in dataclasses.fields(OBJECTS[name]):
            if field.name == parameter.name and field.default_factory is not dataclasses.MISSING:
                return field.default_factory()
    return parameter.default


def says(text, value):
    """Whether a text, such as ``1/8`` or ``"max"``, is this value."""
    if inspect.isclass(value) or inspect.isfunction(value):
        return text.split(".")[-1] == value.__name__
    try:
        stated = eval(compile(ast.parse(text, mode="eval"), "docstring", "eval"), {"inf": inf})
    except (SyntaxError, NameError):
        return text == repr(value)
    return type(stated) is type(value) and stated == value


def problems_of_names(name):
    signature = parameters(name)
    # **options may be documented, or belong to whatever they are passed to.
    wanted = [p.name for p in signature if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    given = [entry.name for entry in documented(name) if not entry.name.startswith("*")]
    if wanted != given:
        missing = [own for own in wanted if own not in given]
        stale = [own for own in given if own not in wanted]
        if missing:
            yield f"not documented: {', '.join(missing)}"
        if stale:
            yield f"documented, but not there: {', '.join(stale)}"
        if not missing and not stale:
            yield f"documented in another order: {', '.join(given)} instead of {', '.join(wanted)}"
    stars = {f"{'*' if p.kind == p.VAR_POSITIONAL else '**'}{p.name}" for p in signature}
    for entry in documented(name):
        of_base = inspect.isclass(OBJECTS[name]) and entry.name == "**kwargs"
        if entry.name.startswith("*") and entry.name not in stars and not of_base:
            yield f"documented, but not there: {entry.name}"


def problems_of_defaults(name):
    signature = {p.name: p for p in parameters(name)}
    for entry in documented(name):
        if entry.name not in signature:
            continue
        default = default_of(name, signature[entry.name])
        if default is inspect.Parameter.empty:
            if entry.default is not None:
                yield f"{entry.name} has no default, but {entry.default} is documented"
        elif entry.default is None:
            yield f"{entry.name}: add default={default!r}"
        elif not says(entry.default, default):
            yield f"{entry.name}: default={entry.default} is documented, it is {default!r}"


def problems_of_choices(name):
    signature = {p.name: p for p in parameters(name)}
    for entry in documented(name):
        if entry.name not in signature:
            continue
        allowed = choices(annotation(name, signature[entry.name]))
        listed = re.search(r"\{(.*?)\}", entry.type)
        if listed:
            stated = list(ast.literal_eval(f"[{listed[1]}]"))
        else:
            stated = re.findall(r'"([^"]*)"', entry.type)
            allowed = [value for value in allowed if isinstance(value, str)]
        if len(allowed) > 1 and not listed:
            yield f"{entry.name}: list the options, {{{', '.join(map(quoted, allowed))}}}"
        elif stated and not allowed:
            yield f"{entry.name}: options are documented, but the annotation has no Literal"
        elif sorted(map(str, stated)) != sorted(map(str, allowed)):
            yield f"{entry.name}: {stated} are documented, {allowed} are allowed"


def quoted(value):
    return f'"{value}"' if isinstance(value, str) else repr(value)


def problems_of_text(name):
    if re.search(r"^ *\w+ : .*\\$", OBJECTS[name].__doc__, flags=re.MULTILINE):
        yield "a raw docstring does not join lines at a backslash: Sphinx warns"
    for entry in documented(name):
        if not entry.type and not entry.name.startswith("*"):
            yield f"{entry.name}: say what it is, after ' : '"
        if not entry.text.strip():
            yield f"{entry.name}: say what it means"


CHECKS = [problems_of_names, problems_of_defaults, problems_of_choices, problems_of_text]


@pytest.mark.parametrize("name", OBJECTS)
def test_docstring_agrees_with_signature(name):
    assert inspect.getdoc(OBJECTS[name]), f"{name} has no docstring"
    problems = [problem for check in CHECKS for problem in check(name)]
    assert not problems, f"{name}:\n  " + "\n  ".join(problems)


# Parameters that mean the same wherever they have the same type: their texts begin alike. Others
# of one name and type may mean different things: a `random_state` draws, and an `alpha` weighs,
# something else in every function.
ALIKE = [
    *("factors", "codes", "n_bins", "strategy", "factor_bins", "bias_correction", "nan_policy"),
    *("sample_weight", "metric_params", "n_resamples", "confidence_level", "n_permutations"),
    *("ax", "factor_names", "code_names", "image_shape", "relevance_params", "include_values"),
    *("colorbar", "n_latents", "labels", "baselines", "yscale", "n_columns"),
    *("prior", "embedding", "n_landmarks", "n_repeats", "max_holes", "backend"),
    *("pairs", "factor_sizes", "kl_threshold", "name", "semantics", "over"),
    *("return_X_y", "download_if_missing", "n_retries", "delay"),
    *("n_components", "likelihood", "architecture", "encoder", "decoder", "lr", "max_epochs"),
    *("optimizer", "device", "compile", "warm_start", "callbacks", "train_split", "input_shape"),
]
# Of data sets, which factors and how many classes there are is said with each; terms of objectives
# take tensors, and say what these stand for.
APART = ("datasets.", "models.terms.")
OF_DATA_SETS = {"return_X_y", "download_if_missing", "n_retries", "delay"}
# (object, parameter) -> why it begins otherwise.
OTHERWISE = {
    ("models.InfoGAN", "n_components"): "its noise is latent, too",
    ("models.InfoGAN", "architecture"): "has three networks",
    ("networks.make_pair", "architecture"): "refers to architecture_names",
    ("networks.Autoencoder", "n_components"): "has codes that are not random",
    ("metrics.infom_score", "n_bins"): "belongs to one method",
    ("metrics.model_centrality_score", "n_bins"): "makes factors of codes",
    ("metrics.infoc_score", "n_bins"): "belongs to one method",
    ("metrics.manifold_topology_score", "n_permutations"): "its null permutes signatures",
    ("metrics.unconfoundedness_score", "n_permutations"): "has a null of its own",
    ("models.FactorClassifier", "max_epochs"): "ends at a plateau, mostly before",
    ("models.FactorClassifier", "image_shape"): "may have the channels last",
    ("metrics.rmig_score", "bias_correction"): "refers to mig_score",
    ("metrics.jemmig_score", "bias_correction"): "refers to mig_score",
    ("metrics.infom_score", "bias_correction"): "belongs to one method",
    ("metrics.infoc_score", "bias_correction"): "belongs to one method",
    ("metrics.check_factors_codes", "factors"): "says what a factor may be",
    ("metrics.check_factors_codes", "factor_bins"): "says what binning does",
    ("model_selection.dependence_weights", "factors"): "there are no codes beside them",
    ("metrics.Metric", "name"): "not a name of a set or an operation",
    ("model_selection.load_dependence_setting", "name"): "not a name of a set or an operation",
    ("inspection.SweepDisplay.plot", "name"): "not a name of a set or an operation",
    ("models.load_pretrained", "name"): "not a name of a set or an operation",
    ("metrics.manifold_topology_score", "n_latents"): "what a generator takes, not what is drawn",
    ("inspection.SignatureDisplay.from_estimator", "n_latents"): "what a generator takes",
}


@pytest.mark.parametrize("parameter", ALIKE)
def test_shared_parameters_begin_alike(parameter):
    texts = defaultdict(dict)
    for name in OBJECTS:
        if name.startswith(APART) and parameter not in OF_DATA_SETS:
            continue
        for entry in documented(name):
            if entry.name == parameter and (name, parameter) not in OTHERWISE:
                texts[entry.type].setdefault(entry.clause, name)
    assert texts, f"no object has a parameter {parameter}"
    for kind, clauses in texts.items():
        assert len(clauses) == 1, f"{parameter} : {kind} begins as {clauses}"


def test_exceptions_are_needed():
    for name, parameter in OTHERWISE:
        assert parameter in {entry.name for entry in documented(name)}


# -- the checks themselves -------------------------------------------------------------------------

MODE = 'mode : {"a", "b"}, default="a"'
SCALE, SIZE = "scale : float, default=1/8", "size : int, default=3"


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([MODE, SCALE, SIZE], None),
        ([MODE, SCALE], "not documented: size"),
        ([MODE, SIZE, SCALE], "another order"),
        ([MODE, SCALE, "size, sigma : int, default=3"], "documented, but not there: sigma"),
        ([MODE, "scale : float", SIZE], "scale: add default=0.125"),
        ([MODE, SCALE, "size : int, default=4"], "size: default=4 is documented, it is 3"),
        ([MODE, SCALE, "size : int, default=3.0"], "size: default=3.0 is documented, it is 3"),
        (['mode : {"a", "c"}, default="a"', SCALE, SIZE], "['a', 'c'] are documented, ['a', 'b']"),
        (['mode : str, default="a"', SCALE, SIZE], 'list the options, {"a", "b"}'),
        ([MODE, 'scale : {"x", "y"}, default=1/8', SIZE], "scale: options are documented, but"),
        ([MODE, SCALE, "size"], "size: say what it is"),
    ],
)
def test_checks_find_what_is_wrong(entries, problem, monkeypatch):
    def sample(
        mode: typing.Literal["a", "b"] = "a", scale: float = 1 / 8, *, size: int = 3
    ) -> None: ...

    text = "\n".join(f"{entry}\n    What it is." for entry in entries)
    sample.__doc__ = f"A sample.\n\nParameters\n----------\n{text}\n\nReturns\n-------\nnothing\n"
    monkeypatch.setitem(OBJECTS, "sample", sample)
    documented.cache_clear()
    found = [problem for check in CHECKS for problem in check("sample")]
    documented.cache_clear()
    assert bool(found) == bool(problem), found
    assert not problem or any(problem in one for one in found), found
