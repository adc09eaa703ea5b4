"""Displays of fitted models: traversals, reconstructions, history."""

import builtins

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_disent.inspection import (
    DisentanglementReport,
    HistoryDisplay,
    LatentFactorDisplay,
    MetricAgreementDisplay,
    ReconstructionDisplay,
    RelevanceDisplay,
    ScoreDistributionDisplay,
    SweepDisplay,
    TraversalDisplay,
)

from .conftest import make_vae


def as_layout(X, layout, n_channels):
    """Binary images (n, H, W) in another layout."""
    if layout == "hw":
        return X
    stacked = np.repeat(X[:, None], n_channels, axis=1)
    return stacked if layout == "chw" else np.moveaxis(stacked, 1, -1)


# -- traversals --------------------------------------------------------------------------------


def test_prior_traversal_decodes_one_latent_at_a_time(vae, images):
    display = TraversalDisplay.from_estimator(vae, images[0], order=[2, 0], n_steps=3, max_std=1.5)
    codes = np.zeros((3, 3), np.float32)
    codes[:, 2] = [-1.5, 0, 1.5]
    assert np.allclose(display.decoded[0], vae.inverse_transform(codes))
    assert np.array_equal(display.latents_, [2, 0])
    # All rows meet in the middle.
    assert np.allclose(display.decoded[0, 1], display.decoded[1, 1])


def test_posterior_traversal_starts_from_the_code_of_a_sample(vae, images):
    display = TraversalDisplay.from_estimator(vae, images[0], base=5, order=[1], n_steps=2)
    codes = np.tile(vae.transform(images[0])[5], (2, 1))
    codes[:, 1] = [-2, 2]
    assert np.allclose(display.decoded[0], vae.inverse_transform(codes))
    assert "sample 5" in display.ax_.get_xlabel()
    with pytest.raises(ValueError, match="0 to 119, got 120"):
        TraversalDisplay.from_estimator(vae, images[0], base=120)


def test_traversal_of_a_learnt_prior_goes_by_its_quantiles(images):
    from sklearn_disent.models import BetaTCVAE

    vae = BetaTCVAE(
        2, prior="factorized_flow", architecture="mlp", max_epochs=2, lr=0.01, random_state=0
    ).fit(images[0])
    display = TraversalDisplay.from_estimator(vae, images[0], order=[1], n_steps=3)
    at_rest = vae._from_normal(np.zeros((1, 2)))
    moved = vae._from_normal(np.full((1, 2), 2.0))
    codes = np.column_stack([at_rest[:, 0], moved[:, 1]])
    assert np.abs(at_rest).max() > 1e-4
    assert np.allclose(display.decoded[0, 2], vae.inverse_transform(codes)[0], atol=1e-6)


def test_traversal_of_infogan_stays_within_its_support(images):
    from sklearn_disent.models import InfoGAN

    gan = InfoGAN(2, architecture="mlp", max_epochs=1, random_state=0).fit(images[0])
    seen = []
    inverse = gan.inverse_transform
    gan.inverse_transform = lambda X: seen.append(X) or inverse(X)
    display = TraversalDisplay.from_estimator(gan, images[0], max_std=6.0, n_steps=3)
    codes = np.concatenate(seen)
    assert np.abs(codes).max() <= 1
    assert np.abs(codes).max() > 0.99
    assert np.allclose(display.decoded[0, 1], inverse(np.zeros((1, 2)))[0])
    assert display.title == "prior traversals"
    display = TraversalDisplay.from_estimator(gan, images[0], base=3, n_steps=3)
    assert display.title == "posterior traversals"


def test_traversal_asks_a_foreign_model_for_its_prior():
    class Announcing(PCA):
        def sample_prior(self, n_samples=1, random_state=None):
            rng = np.random.RandomState(random_state)
            return rng.uniform(2, 3, (n_samples, self.n_components_))

    X = np.random.default_rng(0).normal(size=(50, 4))
    pca = Announcing(2).fit(X)
    display = TraversalDisplay.from_estimator(pca, X, order="index", n_steps=3, max_std=9.0)
    expected = pca.inverse_transform([[2.0, 2.5], [2.5, 2.5], [3.0, 2.5]])
    assert np.allclose(display.decoded[0], expected, atol=0.05)
    assert display.title == "prior traversals"


def test_traversal_over_one_side_and_own_ranges(vae, images):
    X = images[0]
    display = TraversalDisplay.from_estimator(
        vae, X, order=[2, 0], n_steps=3, max_std=(0.0, 6.0), spans={0: (-6.0, 0.0)}
    )
    assert np.array_equal(display.steps, [0.0, 3.0, 6.0])
    expected = vae.inverse_transform([[0, 0, 0], [0, 0, 3], [0, 0, 6]])
    assert np.allclose(display.decoded[0], expected, atol=1e-6)
    expected = vae.inverse_transform([[-6, 0, 0], [-3, 0, 0], [0, 0, 0]])
    assert np.allclose(display.decoded[1], expected, atol=1e-6)
    assert display.labels[1].endswith("(-6, 0)")
    assert "(" not in display.labels[0]
    with pytest.raises(ValueError, match="max_std must be a number or"):
        TraversalDisplay.from_estimator(vae, X, max_std=(2.0, 1.0))
    with pytest.raises(ValueError, match="spans must name latents 0 to 2"):
        TraversalDisplay.from_estimator(vae, X, spans={3: (0.0, 1.0)})


def test_traversals_of_two_models_stand_side_by_side(vae, images):
    X, _ = images
    other = make_vae(n_components=2, random_state=1).fit(X)
    displays = TraversalDisplay.from_estimators({"one": vae, "two": other}, X, n_steps=3)
    assert list(displays) == ["one", "two"]
    assert displays["one"].figure_ is displays["two"].figure_
    assert [d.decoded.shape[:2] for d in displays.values()] == [(2, 3), (2, 3)]
    assert [d.ax_.get_title() for d in displays.values()] == ["one", "two"]
    chosen = {"one": [2], "two": [1]}
    displays = TraversalDisplay.from_estimators(
        {"one": vae, "two": other}, X, order=chosen, n_steps=3, max_std=(0, 2), cmap="gray_r"
    )
    assert [d.latents_.tolist() for d in displays.values()] == [[2], [1]]
    with pytest.raises(ValueError, match="order must have the names of the models"):
        TraversalDisplay.from_estimators({"one": vae}, X, order={"two": [0]})


def test_traversal_order_by_kl(vae, images):
    display = TraversalDisplay.from_estimator(vae, images[0], order="kl", n_steps=2)
    mean, log_var = vae.posterior(images[0])
    kl = 0.5 * (mean**2 + np.exp(log_var) - log_var - 1).mean(axis=0)
    assert np.array_equal(display.latents_, np.argsort(-kl))
    assert display.labels[0] == f"z{np.argmax(kl)}, KL {kl.max():.1f}"


def test_traversal_order_by_factor_names_the_matched_latents(images):
    y = images[1]
    # Codes are the factors in reverse order, then noise: the match is known.
    rows = np.column_stack([y[:, 1], y[:, 0], np.random.default_rng(0).normal(size=120)])
    identity = make_pipeline(FunctionTransformer())
    display = TraversalDisplay.from_estimator(
        identity, rows.astype(float), y, factor_names=["row", "column"], n_steps=3
    )
    assert np.array_equal(display.latents_, [1, 0, 2])
    assert [label.split(",")[0] for label in display.labels] == ["row: z1", "column: z0", "z2"]


def test_traversal_order_by_std_and_index():
    X = np.random.default_rng(0).normal(size=(50, 4)) * [1, 9, 3, 5]
    identity = FunctionTransformer().fit(X)
    by_std = TraversalDisplay.from_estimator(identity, X, n_latents=3)
    assert np.array_equal(by_std.latents_, [1, 3, 2])
    by_index = TraversalDisplay.from_estimator(identity, X, order="index")
    assert np.array_equal(by_index.latents_, range(4))
    # Without a prior, latents move around the mean of their codes, in their own spread.
    assert np.allclose(by_index.decoded[1, -1], X.mean(0) + np.array([0, 2 * X[:, 1].std(), 0, 0]))


def test_traversal_order_errors(vae, images):
    X, _ = images
    with pytest.raises(ValueError, match="order='factor' needs the factors"):
        TraversalDisplay.from_estimator(vae, X, order="factor")
    with pytest.raises(ValueError, match="list of latents between 0 and 2"):
        TraversalDisplay.from_estimator(vae, X, order=[3])
    rows = X.reshape(120, -1).astype(float)
    with pytest.raises(ValueError, match="order='kl' needs a posterior, and PCA"):
        TraversalDisplay.from_estimator(PCA(2).fit(rows), rows, order="kl")


@pytest.mark.parametrize(("layout", "n_channels"), [("hw", 1), ("chw", 1), ("hwc", 3), ("chw", 3)])
def test_model_displays_take_every_layout(images, layout, n_channels):
    X = as_layout(images[0], layout, n_channels)
    vae = make_vae(max_epochs=1).fit(X)
    display = TraversalDisplay.from_estimator(vae, X, n_steps=4)
    # 8 pixels, 1 between.
    shape = (3 * 9 - 1, 4 * 9 - 1) + (() if n_channels == 1 else (3,))
    assert display.ax_.images[0].get_array().shape == shape
    display = ReconstructionDisplay.from_estimator(vae, X, n_samples=5)
    shape = (2 * 9 - 1, 5 * 9 - 1) + (() if n_channels == 1 else (3,))
    assert display.ax_.images[0].get_array().shape == shape


def test_model_displays_know_the_images_in_rows(images):
    rows = images[0].reshape(120, -1)
    vae = make_vae(max_epochs=1, input_shape=(1, 8, 8)).fit(rows)
    assert TraversalDisplay.from_estimator(vae, rows, n_steps=2).ax_ is not None
    assert ReconstructionDisplay.from_estimator(vae, rows).ax_ is not None


def test_rows_are_drawn_as_curves(images):
    rows = images[0].reshape(120, -1).astype(float)
    pca = PCA(5).fit(rows)
    display = TraversalDisplay.from_estimator(pca, rows, n_steps=3)
    assert display.axes_.shape == (2, 4)
    assert [len(panel.lines) for panel in display.axes_.flat] == [3] * 5 + [0] * 3
    display = ReconstructionDisplay.from_estimator(pca, rows, n_samples=7)
    assert display.axes_.shape == (2, 5)
    assert np.array_equal(display.axes_[0, 1].lines[0].get_ydata(), rows[1])
    with pytest.raises(ValueError, match="needs images, got rows of 64 features"):
        TraversalDisplay.from_estimator(pca, rows, n_steps=3).to_gif("unused.gif")


def test_traversal_in_the_plane():
    X = np.random.default_rng(0).normal(size=(50, 2))
    display = TraversalDisplay.from_estimator(PCA().fit(X), X, n_steps=4)
    assert len(display.axes_[0, 0].collections[0].get_offsets()) == 4
    assert display.axes_[0, 0].get_ylabel() == "feature 1"


def test_traversal_gif_goes_there_and_back(vae, images, tmp_path):
    from PIL import Image

    display = TraversalDisplay.from_estimator(vae, images[0], n_steps=4, n_latents=2)
    path = display.to_gif(tmp_path / "t.gif", duration=0.2)
    with Image.open(path) as gif:
        assert gif.n_frames == 6
        assert gif.info["duration"] == 200


def test_traversal_checks_its_data():
    with pytest.raises(ValueError, match=r"got shape \(2, 3, 8, 8\) and 4 steps"):
        TraversalDisplay(np.zeros((2, 3, 8, 8)), steps=range(4)).plot()
    with pytest.raises(ValueError, match="labels must have 2 names, got 1"):
        TraversalDisplay(np.zeros((2, 3, 8, 8)), steps=range(3), labels=["a"]).plot()


# -- reconstructions ---------------------------------------------------------------------------


def test_reconstructions_are_those_of_the_model(vae, images):
    display = ReconstructionDisplay.from_estimator(vae, images[0], n_samples=4)
    assert np.allclose(display.reconstructions, vae.reconstruct(images[0][:4]))
    picture = display.ax_.images[0].get_array()
    assert np.array_equal(picture[:8, :8], images[0][0])
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == [
        "original",
        "reconstruction",
    ]


def test_reconstruction_difference_is_a_third_row():
    one, other = np.zeros((2, 4, 4)), np.full((2, 4, 4), 0.25)
    display = ReconstructionDisplay.from_predictions(one, other, difference=True)
    picture = display.ax_.images[0].get_array()
    assert picture.shape == (14, 9)
    assert (picture[10:, :4] == 0.25).all()


def test_reconstruction_checks_shapes():
    with pytest.raises(ValueError, match=r"same shape.*\(2, 4, 4\) and \(3, 4, 4\)"):
        ReconstructionDisplay.from_predictions(np.zeros((2, 4, 4)), np.zeros((3, 4, 4)))


# -- Pipelines, searches, errors -----------------------------------------------------------------


def test_pipeline_is_undone_to_the_scale_of_the_data():
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 10, 100] + 7
    pipeline = make_pipeline(StandardScaler(), PCA(3), "passthrough").fit(X)
    display = ReconstructionDisplay.from_estimator(pipeline, X)
    assert np.allclose(display.reconstructions, X[:10])


def test_pipeline_that_cannot_be_undone_is_seen_from_its_last_step(images):
    rows = images[0].reshape(120, -1).astype(float)
    pipeline = make_pipeline(_Forgetful(lambda X: X[:, 20:26] * 2.0), PCA(6)).fit(rows)
    display = ReconstructionDisplay.from_estimator(pipeline, rows)
    assert np.allclose(display.originals, pipeline[:-1].transform(rows)[:10])
    assert np.allclose(display.originals, display.reconstructions)


class _Forgetful(FunctionTransformer):
    """A step without a way back."""

    inverse_transform = property()


def test_flattened_images_come_back_as_images(images):
    X = images[0].astype(float)
    pipeline = make_pipeline(FunctionTransformer(lambda X: X.reshape(len(X), -1)), PCA(4)).fit(X)
    assert ReconstructionDisplay.from_estimator(pipeline, X).reconstructions.shape == (10, 8, 8)
    assert TraversalDisplay.from_estimator(pipeline, X).decoded.shape == (4, 11, 8, 8)


def test_model_displays_take_pipelines_and_searches(search, images):
    X, y = images
    best = search.best_estimator_
    for estimator in (search, make_pipeline("passthrough", best)):
        display = TraversalDisplay.from_estimator(estimator, X, y)
        assert display.decoded.shape == (3, 11, 8, 8)
        assert np.allclose(
            ReconstructionDisplay.from_estimator(estimator, X).reconstructions,
            best.reconstruct(X[:10]),
        )
        assert next(iter(HistoryDisplay.from_estimator(estimator).terms)) == "loss"


@pytest.mark.parametrize("display", [TraversalDisplay, ReconstructionDisplay])
def test_model_displays_say_what_is_missing(display, images):
    X = images[0]
    rows = X.reshape(120, -1)
    with pytest.raises(TypeError, match="_Forgetful has no inverse_transform"):
        display.from_estimator(_Forgetful().fit(rows), rows)
    with pytest.raises(NotFittedError):
        display.from_estimator(make_vae(), X)


# -- history -------------------------------------------------------------------------------------


def test_history_draws_every_term(images):
    from skorch.dataset import ValidSplit

    vae = make_vae(max_epochs=2, train_split=ValidSplit(3)).fit(images[0])
    display = HistoryDisplay.from_estimator(vae)
    assert {"loss", "reconstruction", "kl"} <= set(display.terms)
    assert np.array_equal(display.terms["loss"]["train"], vae.history_[:, "train_loss"])
    assert np.array_equal(display.terms["loss"]["valid"], vae.history_[:, "valid_loss"])
    assert len(display.axes_[0].lines) == 2
    assert display.axes_[0].get_title() == "loss (nats)"
    assert not {"dur", "epoch", "train_batch_count"} & set(display.terms)


def test_history_of_chosen_terms_fills_given_axes(vae):
    figure, axes = plt.subplots(1, 2)
    display = HistoryDisplay.from_estimator(vae, terms=["kl", "loss"], ax=axes)
    assert list(display.axes_) == list(axes)
    assert display.figure_ is figure
    with pytest.raises(ValueError, match=r"terms must be among \['loss'.*got \['tc'\]"):
        HistoryDisplay.from_estimator(vae, terms=["tc"])


def test_history_needs_a_net():
    with pytest.raises(TypeError, match="needs a fitted estimator with history_, and PCA has none"):
        HistoryDisplay.from_estimator(PCA())
    with pytest.raises(TypeError, match="BetaVAE has none"):
        HistoryDisplay.from_estimator(make_vae())


# -- axes ----------------------------------------------------------------------------------------


def test_displays_draw_into_given_axes(vae, images):
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    assert TraversalDisplay.from_estimator(vae, images[0], ax=left).ax_ is left
    display = HistoryDisplay.from_estimator(vae, ax=right)
    assert display.figure_ is figure
    # One axes is divided among the terms.
    assert len(figure.axes) == 2 + -(-len(display.terms) // 4) * min(4, len(display.terms))
    with pytest.raises(ValueError, match=r"needs 2 x 2 axes, got 3"):
        LatentFactorDisplay.from_predictions(images[1], images[1], ax=figure.subplots(1, 3))
    with pytest.raises(ValueError, match="needs axes from subplots"):
        HistoryDisplay.from_estimator(vae, ax=figure.add_axes([0, 0, 1, 1]))
    with pytest.raises(TypeError, match="one matplotlib Axes or None, got list"):
        TraversalDisplay.from_estimator(vae, images[0], ax=[left])


def test_displays_without_matplotlib_name_the_extra(vae, images, search, monkeypatch):
    X, y = images
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError("No module named 'matplotlib'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    calls = [
        lambda: TraversalDisplay.from_estimator(vae, X),
        lambda: ReconstructionDisplay.from_estimator(vae, X),
        lambda: HistoryDisplay.from_estimator(vae),
        lambda: RelevanceDisplay.from_predictions(y, y),
        lambda: LatentFactorDisplay.from_predictions(y, y),
        lambda: SweepDisplay.from_search(search),
        lambda: ScoreDistributionDisplay.from_search(search, score="mig"),
        lambda: MetricAgreementDisplay.from_search(search),
        lambda: DisentanglementReport.from_estimator(vae, X, y, metrics=["mig"], n_resamples=0),
    ]
    for call in calls:
        with pytest.raises(ImportError, match=r"pip install sklearn-disent\[plot\]"):
            call()


def test_frames_and_names_reach_the_labels(images):
    X, y = images
    frame = pd.DataFrame(y, columns=["row", "column"])
    rows = X.reshape(120, -1).astype(float)
    display = TraversalDisplay.from_estimator(PCA(2).fit(rows), rows, frame)
    assert {label.split(":")[0] for label in display.labels} == {"row", "column"}
