"""Eight users, each by public names and pages of the documentation alone.

What once failed for one of them is tested here, or in the file that a comment names.
"""

import ast
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch.callbacks import Checkpoint, EarlyStopping, LoadInitState
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sklearn_disent
from sklearn_disent.datasets import load_image_folder
from sklearn_disent.exceptions import DegenerateScoreWarning, TrainingWarning
from sklearn_disent.inspection import DisentanglementReport
from sklearn_disent.metrics import disentanglement_report, get_scorer, mig_score
from sklearn_disent.model_selection import compare_models
from sklearn_disent.models import (
    BaseVAE,
    BetaVAE,
    FactorVAE,
    Guidance,
    LinearSchedule,
    ScoreCollector,
    TableVAE,
    encode_loader,
    from_modules,
    terms,
)

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
SMALL = {
    "n_components": 2,
    "architecture": "mlp",
    "module__hidden_sizes": (16,),
    "max_epochs": 2,
    "batch_size": 32,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def data():
    """Rows of five numbers, of three factors."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=(90, 3))
    return (y @ rng.normal(size=(3, 5)) + 0.1 * rng.normal(size=(90, 5))).astype(np.float32), y


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=(64, 2))
    X = np.zeros((64, 8, 8), np.uint8)
    for image, (row, column) in zip(X, y):
        image[row : row + 3, column : column + 3] = 255
    return X, y


# -- a newcomer: README and quickstart. Their code runs in tests/test_package.py, test_docs.py -----


def test_newcomer_reads_in_the_first_sentence_what_it_is_about():
    for page in ("README.md", "docs/index.rst"):
        first = (ROOT / page).read_text().split("\n\n")[1]
        assert re.search(r"A representation is \*+disentangled\*+ if each of its numbers", first)
    assert "disentangled" in (ROOT / "docs" / "glossary.rst").read_text()


def test_newcomer_sees_no_score_of_nan(data):
    # Scorers once broke with older scikit-learn: a search gave nan and ended as if all were well.
    X, y = data
    cv = KFold(2, shuffle=True, random_state=0)
    for name in ("mig", "sap"):
        scores = cross_val_score(
            BetaVAE(**SMALL), X, y, scoring=get_scorer(name), cv=cv, error_score="raise"
        )
        assert np.isfinite(scores).all()


def test_newcomer_reads_what_to_do(data, monkeypatch):
    X, y = data
    with pytest.raises(ValueError, match=r"2D.*Use factors\[:, None\]"):
        mig_score(y[:, 0], X)
    with pytest.raises(ValueError, match=r"continuous.*factor_bins=10"):
        mig_score(X, y)
    with pytest.raises(TypeError, match="bta"):
        BetaVAE(bta=4.0)
    with pytest.raises(ValueError, match=r"whole numbers.*mig_score\(factors, codes\)"):
        mig_score(X, y)  # swapped
    for misspelt in ("migg", "MIG", "mig_score"):
        with pytest.raises(ValueError, match=r"Did you mean 'mig'\?"):
            get_scorer(misspelt)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install sklearn-disent\[plot\]"):
        DisentanglementReport.from_predictions(y, X)


# -- a researcher with a torch model --------------------------------------------------------------


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(5, 4), nn.Linear(4, 5)


def test_researcher_judges_a_torch_model(data):
    X, y = data
    torch.manual_seed(0)
    model = Autoencoder()
    loader = DataLoader(TensorDataset(torch.from_numpy(X), torch.from_numpy(y)), batch_size=32)
    codes, factors = encode_loader(model.encoder, loader)
    report = disentanglement_report(factors, codes, metrics=["mig"])
    collector = ScoreCollector(["mig"])
    with torch.no_grad():
        for x, labels in loader:
            collector.update(model.encoder(x), labels)
    assert collector.compute() == {"mig": report["mig"]["value"]}
    estimator = from_modules(model.encoder, model.decoder, input_shape=(5,))
    assert_array_equal(estimator.transform(X), codes)
    # A data set as X was once an obscure error.
    with pytest.raises(TypeError, match=r"Gather it once, X = torch\.stack"):
        clone(BetaVAE(**SMALL)).fit(loader.dataset)


class OneModule(nn.Module):
    """Encoder and decoder as methods, which is how most VAEs in torch are written."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(5, 8), nn.Linear(4, 5)

    def encode(self, x):
        return self.first(x).chunk(2, dim=1)

    def decode(self, z):
        return self.last(z)


def test_researcher_passes_methods_of_one_module(data, tmp_path):
    # They were refused once, with a page of the module's own repr.
    X, _ = data
    torch.manual_seed(0)
    model = OneModule()
    estimator = from_modules(model.encode, model.decode, input_shape=(5,))
    mean = model.encode(torch.from_numpy(X))[0]
    assert_array_equal(estimator.transform(X), mean.detach().numpy())
    assert_array_equal(estimator.reconstruct(X), model.decode(mean).detach().numpy())
    found = pickle.loads(pickle.dumps(estimator))
    assert_array_equal(found.transform(X), estimator.transform(X))
    # The guide once promised what cannot be done without knowing how to build the module.
    with pytest.raises(TypeError, match=r"built already, and how is not known\. Pass the class"):
        estimator.save_pretrained(tmp_path / "saved")
    with pytest.raises(TypeError, match=r"encoder must be a torch module or a method.*encode_load"):
        from_modules(lambda x: x, model.decode, input_shape=(5,))


# Of every estimator: tests/models/test_saved_state.py. Discriminator and steps were once lost.
def test_researcher_goes_on_from_a_checkpoint(data, tmp_path):
    X, _ = data
    small = {**SMALL, "gamma": LinearSchedule(0.0, 6.0, n_steps=10), "discriminator_lr": 1e-3}
    small["discriminator__hidden_sizes"] = (8,)
    keep = Checkpoint(monitor=None, dirname=str(tmp_path))
    FactorVAE(**small, callbacks=[keep]).fit(X)
    resumed = FactorVAE(**small, callbacks=[keep, LoadInitState(keep)]).fit(X)
    at_once = FactorVAE(**{**small, "max_epochs": 4}).fit(X)
    assert resumed.n_steps_ == at_once.n_steps_ == 12
    assert_array_equal(resumed.transform(X), at_once.transform(X))


# -- one who adds a loss --------------------------------------------------------------------------


class SparseVAE(BaseVAE):
    """As in docs/guide/extending.rst."""

    def __init__(self, n_components=10, *, sparsity=1.0, **kwargs):
        super().__init__(n_components, **kwargs)
        self.sparsity = sparsity

    def terms(self, x, output, extras):
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "kl": (1.0, terms.gaussian_kl(output.mean, output.log_var).sum(1).mean()),
            "sparsity": (self.sparsity, output.mean.abs().sum(1).mean()),
        }


def largest_correlation_score(factors, codes):
    return float(np.abs(np.corrcoef(factors.T, codes.T)[: factors.shape[1]]).max(axis=1).mean())


def test_author_of_a_loss_searches_and_scores_it(data):
    X, y = data
    search = GridSearchCV(
        SparseVAE(**SMALL),
        {"sparsity": [0.0, LinearSchedule(0.0, 1.0, n_steps=4)]},
        scoring={"mine": get_scorer(largest_correlation_score), "elbo": get_scorer("elbo")},
        refit="mine",
        cv=KFold(2, shuffle=True, random_state=0),
        error_score="raise",
    ).fit(X, y)
    assert "train_sparsity" in search.best_estimator_.history_[-1]
    report = disentanglement_report(y, search.transform(X), metrics=[largest_correlation_score])
    assert 0 < report["largest_correlation"]["value"] <= 1


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda loss: loss.mean(), r"must return a dict.*got a Tensor of shape \(\)"),
        (lambda loss: {"mine": loss.mean()}, r"pair \(weight, value\) for 'mine'.*\(1\.0, value\)"),
        (lambda loss: {"mine": (1.0, loss)}, r"one number for 'mine'.*shape \(32,\).*value\.mean"),
        (lambda loss: {"mine": (1.0, 0.5)}, r"one number for 'mine', got a float"),
    ],
    ids=["no dict", "no weight", "a value per row", "no tensor"],
)
def test_author_of_a_loss_reads_which_term_is_wrong(data, wrong, match):
    # torch spoke of sparse layouts, of 0-d tensors and of gradients.
    class Wrong(BaseVAE):
        def terms(self, x, output, extras):
            return wrong(self.reconstruction(x, output.decoded))

    with pytest.raises(TypeError, match=match):
        Wrong(**SMALL).fit(data[0])


def test_author_of_a_guidance_reads_what_it_must_return(data):
    class Bare(Guidance):
        def terms(self, x, output, extras, net):
            return output.mean.abs().mean()

    with pytest.raises(TypeError, match=r"Bare\.terms\(\) must return a dict.*got a Tensor"):
        BetaVAE(**SMALL, guidance=Bare()).fit(data[0])


def test_author_of_a_loss_stops_early_or_reads_how(data):
    # A bare KeyError once; WandbLogger: tests/models/test_validation_callbacks.py.
    with pytest.raises(ValueError, match=r"'valid_loss\w*' in the history.*train_split="):
        SparseVAE(**SMALL, callbacks=[EarlyStopping()]).fit(data[0])


# -- an engineer with tables ----------------------------------------------------------------------


def test_engineer_fits_a_mixed_table_with_gaps():
    table = load_wine(as_frame=True).frame.astype({"target": "category"})[::2]
    table.iloc[::7, 2] = None
    vae = TableVAE(2, max_epochs=1, random_state=0).fit(table)
    filled = vae.inverse_transform(vae.transform(table))
    assert (filled.dtypes == table.dtypes).all()
    assert not filled.isna().any(axis=None)


def test_engineer_reads_which_column_is_of_no_use():
    table = load_wine(as_frame=True).frame[:40]
    dates = table.assign(when=pd.date_range("2026-01-01", periods=40))
    small = {"max_epochs": 1, "random_state": 0}
    # Every date was a category of its own.
    with pytest.raises(ValueError, match=r"'when' holds datetime64.*day of the year"):
        TableVAE(2, **small).fit(dates)
    named = table.assign(name=[f"wine {i}" for i in range(40)])
    with pytest.warns(TrainingWarning, match="'name' has another value in every row") as caught:
        TableVAE(2, **small).fit(named)
    assert caught[0].filename == __file__


def test_engineer_with_polars_reads_what_to_pass():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
    with pytest.raises(TypeError, match=r"got a polars DataFrame.*X\.to_pandas\(\)"):
        TableVAE(2).fit(table)


def test_engineer_uses_a_pipeline_and_frames(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    pipeline = make_pipeline(StandardScaler(), BetaVAE(**SMALL)).set_output(transform="pandas")
    codes = pipeline.fit_transform(frame)
    assert isinstance(codes, pd.DataFrame)
    named = pd.DataFrame(y, columns=["size", "color", "place"])
    assert mig_score(named, codes) == mig_score(y, codes.to_numpy())


# More in tests/metrics/test_unlabelled.py: -1 was once a class of its own, without a word.
def test_engineer_may_lack_labels(data):
    _, y = data
    half = np.where(np.random.default_rng(0).random(y.shape) < 0.5, -1, y)
    with pytest.raises(ValueError, match=r"-1 means unlabelled.*nan_policy='omit'"):
        mig_score(half, y)
    assert mig_score(half, y, nan_policy="omit") > 0.9


# -- a person with a folder of PNGs ---------------------------------------------------------------


def test_owner_of_pictures_gets_codes_and_sliders(tmp_path, images):
    pictures = pytest.importorskip("PIL.Image")
    folder = tmp_path / "mine"
    folder.mkdir()
    for i, mode in enumerate(["RGB", "RGBA", "L", "P"] * 3):
        size = (48, 64) if i % 2 else (28, 28)
        pictures.new(mode, size, 20 * i).save(folder / f"{i:02}.png")
    (folder / "99.png").write_bytes(b"not a picture")
    options = {"data_home": tmp_path, "progress": False}
    with pytest.raises(ValueError, match=r"1 of 13 files.*99\.png.*broken='skip'"):
        load_image_folder(folder, size=28, **options)
    mine = load_image_folder(folder, size=(48, 64), broken="skip", **options)
    # architecture="auto" at 28, 48 and 64 x 48 pixels: tests/networks/test_sizes.py.
    small = {**SMALL, "architecture": "auto", "module__channels": (4, 4), "max_epochs": 1}
    vae = BetaVAE(**small, device="auto").fit(mine.images)
    assert vae.transform(mine.images).shape == (12, 2)
    assert vae.inverse_transform([[0.0, 0.0]]).shape == (1, 48, 64, 3)


# -- a teacher in Jupyter -------------------------------------------------------------------------


def test_teacher_shows_reports_with_sliders(images):
    pytest.importorskip("matplotlib")
    X, y = images
    vae = BetaVAE(**SMALL).fit(X)
    report = DisentanglementReport.from_estimator(
        vae, X, y, metrics=["mig", "minimality"], n_resamples=0, n_permutations=5, random_state=0
    )
    shown = report._repr_html_()
    assert shown.count('<input type="range"') == 2
    assert ">chance<" in shown
    assert set(report.verdicts) == {"mig", "minimality"}
    # The question mark beside an estimator leads to its page, not to scikit-learn's.
    link = re.search(r'href="([^"]*)"', vae._repr_html_()).group(1)
    assert link.startswith("https://sklearn-disent.readthedocs.io/")
    assert link.endswith("sklearn_disent.models.BetaVAE.html")
    assert "<pre>" in disentanglement_report(y, vae.transform(X), metrics=["mig"])._repr_html_()


def test_teacher_shows_a_dead_model_for_what_it_is(images):
    _, y = images
    metrics = ["mig", "gaussian_total_correlation_error"]
    with pytest.warns(DegenerateScoreWarning):
        report = disentanglement_report(
            y, np.zeros((64, 2)), metrics=metrics, n_permutations=20, random_state=0
        )
    # Constant codes were called dependent: no shuffle was worse.
    assert list(report.verdicts.values()) == ["not above chance", "independent codes"]
    assert "No score is above chance" in str(report)


# Run by a kernel: tests/test_notebooks.py (slow). Two things once broke all of them.
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_teacher_downloads_notebooks_that_stand_alone(path):
    tree = ast.parse(path.read_text())
    found = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    found |= {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    neighbours = {other.stem for other in ROOT.glob("examples/**/*.py")}
    assert not found & neighbours, "a downloaded notebook has no such file beside it"
    # A kernel has arguments of its own, which parse_args() would read.
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [node.func.attr for node in calls if isinstance(node.func, ast.Attribute)]
    assert "parse_args" not in names
    private = [name for name in found if re.search(r"^sklearn_disent.*\._", name)]
    assert not private, "examples use public names"


# -- someone from disentanglement_lib -------------------------------------------------------------


def test_newcomer_from_disentanglement_lib_finds_every_name():
    page = (ROOT / "docs" / "guide" / "identifiability.rst").read_text()
    table = page.split("   * - disentanglement_lib\n")[1].split("   * - disent\n")[0]
    for name in ("compute_mig", "compute_sap", "compute_dci", "compute_factor_vae", "beta_tc_vae"):
        assert f"``{name}``" in table
    targets = re.findall(r"`~sklearn_disent\.(\w+)\.(\w+)`", table)
    assert len(targets) > 10
    for room, name in targets:
        assert name in getattr(sklearn_disent, room).__all__


def test_samples_in_columns_are_noticed(data):
    # There arrays are (n_codes, n_samples): such ones once scored 0.0.
    _, y = data
    with pytest.raises(ValueError, match=r"3 rows of factors and 2.*factors\.T and codes\.T"):
        mig_score(y.T, y[:, :2].T)
    turned = 3 * y.T + np.arange(3)[:, None]  # in which no factor is constant
    with pytest.warns(DegenerateScoreWarning, match=r"3 rows.*pass factors\.T and codes\.T"):
        mig_score(turned, y.T.astype(float))


def test_sweep_over_seeds_becomes_a_table_for_a_paper(data):
    X, y = data
    search = GridSearchCV(
        BetaVAE(**{**SMALL, "max_epochs": 1}),
        {"beta": [0.1, 10.0], "random_state": range(3)},
        scoring=get_scorer("mig"),
        cv=KFold(2, shuffle=True, random_state=0),
        refit=False,
    ).fit(X, y)
    comparison = compare_models(search)
    assert [row["n_seeds"] for row in comparison.models] == [3, 3]
    assert comparison.sentence().startswith("Over 3 seeds, beta=")
    assert r"\toprule" in comparison.to_latex()


# -- a user of mypy: tests/typing. Here, what the types promise is what calls return ---------------


def test_types_promised_are_types_returned(data):
    X, y = data
    assert type(mig_score(y, X)) is float
    assert type(mig_score(y, X, average=None)) is np.ndarray
    frame = disentanglement_report(y, X, metrics=["mig"], output="frame")
    assert isinstance(frame, pd.DataFrame)
    assert type(disentanglement_report(y, X, metrics=["mig"], output="dict")) is dict
