"""Rows that are read when they are used: selections, models, folds, partners, scores."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from sklearn_disent._lazy import same_values
from sklearn_disent.datasets import LazyRows
from sklearn_disent.metrics import counterfactual_generativeness_score, get_scorer
from sklearn_disent.models import VAE, AdaGVAE, FactorClassifier

SMALL = {"n_components": 2, "max_epochs": 2, "random_state": 0, "architecture": "mlp"}


@pytest.fixture
def images(tmp_path):
    """(memory map of 60 uint8 images of 8 x 8, labels)."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "images.npy", rng.integers(0, 255, (60, 8, 8), dtype=np.uint8))
    return np.load(tmp_path / "images.npy", mmap_mode="r"), rng.integers(0, 3, (60, 2))


class Watched(np.ndarray):
    """An array that remembers the largest number of rows that were taken from it at once."""

    largest = 0

    def __getitem__(self, key):
        found = super().__getitem__(key)
        if np.ndim(key) == 1 or isinstance(key, slice):
            Watched.largest = max(Watched.largest, len(found))
        return found


class Dataset:
    """Takes rows in ascending order, each once, as h5py does."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key):
        assert (np.diff(key) > 0).all()
        return self.array[key]


def test_selections_are_those_of_an_array(images):
    X, _ = images
    lazy = LazyRows(X)
    chosen = np.array([5, 3, 3, 40])
    for key in (chosen, slice(2, 50, 3), np.arange(60) % 2 == 0, [1, 2]):
        assert isinstance(lazy[key], LazyRows)
        np.testing.assert_array_equal(np.asarray(lazy[key]), X[key])
    np.testing.assert_array_equal(np.asarray(lazy[10:][chosen]), X[10:][chosen])
    np.testing.assert_array_equal(lazy[chosen, ...].read([1, 0]), X[[3, 5]])
    np.testing.assert_array_equal(lazy[-1], X[-1])
    np.testing.assert_array_equal(lazy[chosen, 2:4], X[chosen, 2:4])
    assert (lazy.shape, lazy.dtype, lazy.ndim, lazy.size) == (X.shape, X.dtype, 3, X.size)
    assert (np.min(lazy), np.max(lazy)) == (X.min(), X.max())
    with pytest.raises(IndexError):
        lazy[60]


def test_rows_of_a_file_with_demands_of_its_own(images):
    X, _ = images
    np.testing.assert_array_equal(np.asarray(LazyRows(Dataset(X))[[7, 2, 7]]), X[[7, 2, 7]])


def test_what_has_no_rows_is_refused():
    with pytest.raises(TypeError, match="must have shape, dtype and indexing"):
        LazyRows([[1, 2]])
    with pytest.raises(ValueError, match="two dimensions or more"):
        LazyRows(np.zeros(3))


def test_model_of_lazy_rows_is_that_of_the_array(images):
    X, _ = images
    lazy = VAE(**SMALL).fit(LazyRows(X))
    plain = VAE(**SMALL).fit(np.array(X))
    assert lazy.input_shape_ == plain.input_shape_
    np.testing.assert_array_equal(lazy.transform(LazyRows(X)), plain.transform(X))
    with pytest.raises(ValueError, match=r"expecting 64 features|shape"):
        lazy.transform(LazyRows(np.zeros((3, 4, 4), dtype=np.uint8)))
    with pytest.raises(ValueError, match="NaN or infinity"):
        VAE(**SMALL).fit(LazyRows(np.array([[0.0, 1.0], [1.0, 0.5], [np.nan, 0.0]])))


def test_folds_of_a_cross_validation_are_not_copied(images, monkeypatch):
    X, y = images
    monkeypatch.setattr("sklearn_disent._lazy._BLOCK_BYTES", 8 * 64)
    monkeypatch.setattr("sklearn_disent._manifest._MOST_BYTES", 8 * 64)
    monkeypatch.setattr(Watched, "largest", 0)
    watched = np.array(X).view(Watched)
    cv = KFold(3, shuffle=True, random_state=0)
    model = VAE(batch_size=8, **SMALL)
    scores = [
        cross_val_score(model, data, y, scoring=get_scorer("sap"), cv=cv)
        for data in (np.array(X), LazyRows(watched))
    ]
    np.testing.assert_array_equal(*scores)
    # Rows are read in blocks for their range and hash, then batch by batch: eight at a time.
    assert Watched.largest == 8


def test_partners_may_be_lazy(images):
    X, _ = images
    partners = np.roll(X, 1, axis=1)
    lazy, plain = (
        AdaGVAE(**SMALL).fit(wrap(X), X_pair=wrap(partners)) for wrap in (LazyRows, np.array)
    )
    np.testing.assert_array_equal(lazy.transform(X), plain.transform(X))
    with pytest.raises(ValueError, match="X_pair equals X"):
        AdaGVAE(**SMALL).fit(LazyRows(X), X_pair=LazyRows(X))


def test_values_are_compared_a_part_at_a_time(monkeypatch):
    monkeypatch.setattr("sklearn_disent._lazy._BLOCK_BYTES", 16)
    first = np.arange(40).reshape(20, 2)
    second = first.copy()
    assert same_values(first, second)
    second[-1, -1] = 0
    assert not same_values(first, second)
    assert not same_values(first, first[:-1])


def test_scores_and_judges_take_lazy_rows(images):
    X, y = images
    model = VAE(**SMALL).fit(X)
    for judge in (DecisionTreeClassifier(random_state=0), FactorClassifier(max_epochs=1)):
        options = {"classifiers": judge, "random_state": 0}
        if isinstance(judge, FactorClassifier):
            options["classifiers"] = judge.set_params(random_state=0)
        with pytest.warns(UserWarning, match="hardly better than chance"):
            lazy, plain = (
                counterfactual_generativeness_score(model, data, y, **options)
                for data in (LazyRows(X), np.array(X))
            )
        assert lazy == pytest.approx(plain, abs=1e-6)
