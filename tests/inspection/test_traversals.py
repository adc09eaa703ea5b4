"""Which factor a latent of a traversal is named after, and the rows of several models."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

from sklearn_disent.inspection import DisentanglementReport, TraversalDisplay

NAMES = ["size", "angle", "x"]
# Columns of the observations beside one for each factor: two of noise, and a constant.
NOISE, OTHER, CONSTANT = 3, 4, 5


@pytest.fixture(scope="module")
def data():
    """Observations whose first three columns are the factors: (X, y)."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, (400, 3))
    return np.column_stack([y - 1.5, rng.normal(size=(400, 2)), np.zeros(400)]), y


class Columns(TransformerMixin, BaseEstimator):
    """Codes are columns of X: what each is informative about is known."""

    def __init__(self, columns, scales=None):
        self.columns = columns
        self.scales = scales

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def _scales(self):
        return np.ones(len(self.columns)) if self.scales is None else np.asarray(self.scales)

    def transform(self, X):
        return np.asarray(X)[:, self.columns] * self._scales()

    def inverse_transform(self, X):
        decoded = np.zeros((len(X), 6))
        decoded[:, self.columns] = X / self._scales()
        return decoded


class Posterior(Columns):
    """The same with a posterior, so that codes of small scale are dead."""

    def posterior(self, X):
        codes = self.transform(X)
        return codes, np.zeros_like(codes)


def side_by_side(data, models, **options):
    options = {"factor_names": NAMES, "n_steps": 3, "image_shape": (2, 3), **options}
    return TraversalDisplay.from_estimators(models, *data, **options)


def factors_by_row(display):
    """What is written beside the rows, up to the name of the factor or latent."""
    return [tick.get_text().split(",")[0] for tick in display.ax_.get_yticklabels()]


def is_blank(display, row):
    """Whether a row of the picture (2 pixels high, 1 between) shows its ground alone."""
    picture = display.ax_.images[0].get_array()[3 * row : 3 * row + 2]
    return bool(np.ma.getmaskarray(picture).all() or np.isnan(picture).all())


# -- rows of several models ----------------------------------------------------------------------


def test_same_row_shows_the_same_factor_with_unequal_latents(data):
    two, six = Columns([2, 1]), Columns([NOISE, 2, 0, OTHER, 1, CONSTANT])
    displays = side_by_side(data, {"two": two, "six": six})
    assert factors_by_row(displays["two"]) == ["size: no latent", "angle: z1", "x: z0"]
    assert factors_by_row(displays["six"]) == ["size: z2", "angle: z4", "x: z1"]
    assert [is_blank(displays["two"], row) for row in range(3)] == [True, False, False]
    assert not any(is_blank(displays["six"], row) for row in range(3))
    # The latents themselves have no gap: a blank is a matter of the picture.
    assert displays["two"].latents_.tolist() == [1, 0]
    assert displays["two"].decoded.shape == (2, 3, 6)
    assert displays["two"].blanks == {0: "size: no latent"}
    assert displays["six"].assignment_ == {0: 2, 1: 4, 2: 1}


def test_a_factor_of_zero_relevance_shifts_no_row(data):
    # As many latents as factors, one of them constant: its pair has no relevance.
    displays = side_by_side(data, {"all": Columns([0, 1, 2]), "some": Columns([CONSTANT, 1, 2])})
    assert factors_by_row(displays["all"]) == ["size: z0", "angle: z1", "x: z2"]
    assert factors_by_row(displays["some"]) == ["size: no latent", "angle: z1", "x: z2"]
    assert is_blank(displays["some"], 0)


def test_latents_without_a_factor_follow_in_the_rows_of_all(data):
    # Noise that is alive would be matched with the factor which is left over.
    one = Posterior([1, NOISE, 0, OTHER], scales=[1, 0.05, 1, 0.01])
    two = Posterior([NOISE, 2, 0], scales=[0.02, 1, 1])
    displays = side_by_side(data, {"one": one, "two": two})
    assert factors_by_row(displays["one"]) == ["size: z2", "angle: z0", "x: no latent", "z1"]
    assert factors_by_row(displays["two"]) == ["size: z2", "angle: no latent", "x: z1", "z0"]


def test_a_factor_that_no_model_has_a_latent_for_takes_no_row(data):
    displays = side_by_side(data, {"one": Posterior([2, 0]), "two": Posterior([0, 2])})
    assert factors_by_row(displays["one"]) == ["size: z1", "x: z0"]
    assert factors_by_row(displays["two"]) == ["size: z0", "x: z1"]
    assert not displays["one"].blanks


def test_rows_of_one_model_have_no_blanks(data):
    model = Posterior([CONSTANT, 2, 0], scales=[1, 1, 1])
    display = side_by_side(data, {"only": model})["only"]
    assert factors_by_row(display) == ["size: z2", "x: z1", "z0"]
    assert display.blanks == {}
    alone = TraversalDisplay.from_estimator(model, *data, n_steps=3, factor_names=NAMES)
    assert alone.blanks is None
    assert np.array_equal(alone.latents_, display.latents_)
    assert alone.labels == display.labels


@pytest.mark.parametrize("n_latents", [1, 2, 3])
def test_n_latents_is_a_limit_of_rows(data, n_latents):
    models = {"two": Columns([2, 1]), "three": Columns([2, 0, 1])}
    displays = side_by_side(data, models, n_latents=n_latents)
    assert factors_by_row(displays["two"]) == ["size: no latent", "angle: z1", "x: z0"][:n_latents]
    assert factors_by_row(displays["three"]) == ["size: z1", "angle: z2", "x: z0"][:n_latents]


@pytest.mark.parametrize("image_shape", [(2, 3), (3, 1, 2), None])
def test_a_model_without_any_matched_latent_has_blank_rows_only(data, image_shape):
    models = {"dead": Posterior([0, 1], scales=[1e-3, 1e-3]), "live": Posterior([0, 1, 2])}
    displays = side_by_side(data, models, image_shape=image_shape)
    assert displays["dead"].latents_.size == 0
    assert list(displays["dead"].blanks) == [0, 1, 2]
    assert displays["live"].latents_.tolist() == [0, 1, 2]
    displays["dead"].figure_.canvas.draw()
    if image_shape is None:
        return
    with pytest.raises(ValueError, match="needs a latent that moves, got blank rows only"):
        displays["dead"].to_gif("unused.gif")
    sizes = [display.ax_.images[0].get_array().shape for display in displays.values()]
    assert sizes[0] == sizes[1]


def test_blank_panels_of_curves_have_the_place_of_their_factor(data):
    models = {"two": Columns([2, 1]), "three": Columns([2, 0, 1])}
    displays = side_by_side(data, models, image_shape=None)
    titles = [panel.get_title().split(",")[0] for panel in displays["two"].axes_.flat]
    assert titles == ["size: no latent", "angle: z1", "x: z0"]
    assert [len(panel.lines) for panel in displays["two"].axes_.flat] == [0, 3, 3]


def test_colored_images_have_gray_blank_rows():
    images = np.zeros((2, 3, 3, 4, 4))
    display = TraversalDisplay(images, steps=range(3), blanks={1: "missing"}).plot()
    picture = display.ax_.images[0].get_array()
    assert picture.shape == (3 * 5 - 1, 3 * 5 - 1, 3)
    assert (picture[5:9] == 0.75).all()
    assert (picture[10:, :4] == 0).all()
    assert factors_by_row(display) == ["z0", "missing", "z1"]


def test_blank_rows_leave_intensities_and_other_forms_alone(tmp_path):
    images = np.random.default_rng(0).uniform(0, 16, (2, 3, 4, 4))
    plain = TraversalDisplay(images, steps=range(3)).plot()
    display = TraversalDisplay(images, steps=range(3), blanks={0: "missing"}).plot()
    pictures = [np.asarray(d.ax_.images[0].get_array()) for d in (plain, display)]
    assert np.array_equal(pictures[0][:4, :4], pictures[1][5:9, :4])
    assert display.to_html() == plain.to_html()
    assert display.to_gif(tmp_path / "t.gif").stat().st_size > 0
    with pytest.raises(ValueError, match=r"blanks must be among the rows.*0 to 2, got \[3\]"):
        TraversalDisplay(images, steps=range(3), blanks={3: "missing"}).plot()


def test_rows_of_an_order_of_ones_own_are_not_moved(data):
    models = {"one": Columns([2, 1]), "two": Columns([0, 1, 2])}
    displays = side_by_side(data, models, order="index")
    assert [d.latents_.tolist() for d in displays.values()] == [[0, 1], [0, 1]]
    displays = side_by_side(data, models, order={"one": [1], "two": [1, 0]})
    assert [d.latents_.tolist() for d in displays.values()] == [[1], [1]]
    assert not any(display.blanks for display in displays.values())


def test_blank_rows_take_the_names_of_a_frame(data):
    X, y = data
    models = {"two": Columns([2, 1]), "three": Columns([2, 0, 1])}
    frame = pd.DataFrame(y, columns=["a", "b", "c"])
    displays = side_by_side((X, frame), models, factor_names=None)
    assert displays["two"].blanks == {0: "a: no latent"}
    displays = side_by_side((X, y.tolist()), models, factor_names=None)
    assert displays["two"].blanks == {0: "factor 0: no latent"}


# -- dead latents --------------------------------------------------------------------------------


def test_a_dead_latent_has_the_name_of_no_factor(data):
    # Codes without noise: however small, they are informative about their factor.
    model = Posterior([0, 1, 2], scales=[1, 0.05, 1])
    display = TraversalDisplay.from_estimator(model, *data, factor_names=NAMES, n_steps=3)
    assert [label.split(",")[0] for label in display.labels] == ["size: z0", "x: z2", "z1"]
    assert display.assignment_ == {0: 0, 2: 2}
    display = TraversalDisplay.from_estimator(model, *data, order="index", n_steps=3)
    assert [label.split(",")[0] for label in display.labels][1] == "z1"


def test_a_dead_latent_leaves_its_factor_to_a_live_one(data):
    X, y = data
    X = X.copy()
    X[:, NOISE] = X[:, 1] + X[:, NOISE]
    model = Posterior([1, NOISE], scales=[0.01, 1])
    display = TraversalDisplay.from_estimator(model, X, y[:, 1:2], n_steps=3)
    assert display.assignment_ == {0: 1}


@pytest.mark.parametrize(("variance", "matched"), [(0.009, False), (0.011, True)])
def test_a_latent_is_dead_up_to_a_variance_of_a_hundredth(data, variance, matched):
    X, y = data
    model = Posterior([0, 1], scales=[1, np.sqrt(variance / X[:, 1].var())])
    display = TraversalDisplay.from_estimator(model, X, y, n_steps=3)
    assert (1 in display.assignment_) == matched
    report = DisentanglementReport.from_estimator(
        model, X, y, metrics=["mig"], n_resamples=0, n_permutations=0
    )
    assert any("dead: z1" in line for line in report.summary) != matched


def test_codes_of_any_scale_are_matched_without_a_posterior(data):
    display = TraversalDisplay.from_estimator(Columns([0, 1], scales=[1e-3, 1]), *data, n_steps=3)
    assert display.assignment_ == {0: 0, 1: 1}


def test_a_dead_latent_gives_way_in_the_rows_of_several_models(data):
    models = {
        "live": Posterior([2, 0, 1]),
        "dead": Posterior([0, 1, 2], scales=[1e-3, 1, 1]),
    }
    displays = side_by_side(data, models)
    assert factors_by_row(displays["live"]) == ["size: z1", "angle: z2", "x: z0"]
    assert factors_by_row(displays["dead"]) == ["size: no latent", "angle: z1", "x: z2"]
