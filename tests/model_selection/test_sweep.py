"""The cache of sweeps: found again, bounded, and aware of damage."""

import pickle
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sklearn_disent.metrics import get_scorer
from sklearn_disent.model_selection import SweepMemory

FITS = []


class Shift(TransformerMixin, BaseEstimator):
    """Adds a number; every fit is written down, and has `size` kilobytes of weights."""

    def __init__(self, by=0.0, size=1):
        self.by = by
        self.size = size

    def fit(self, X, y=None):
        FITS.append(self.by)
        self.weights_ = np.random.default_rng(0).random(self.size * 128)
        return self

    def transform(self, X):
        return X + self.by + self.weights_[0]


@pytest.fixture(autouse=True)
def no_fits():
    FITS.clear()


@pytest.fixture
def X():
    return np.random.default_rng(0).random((20, 3))


def pipeline(memory, **params):
    return Pipeline([("shift", Shift(**params)), ("end", "passthrough")], memory=memory)


def entries(folder):
    return sorted(Path(folder).rglob("output.pkl"))


def total_size(folder):
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def test_memory_fits_once(X, tmp_path):
    first = pipeline(SweepMemory(tmp_path)).fit(X)
    second = pipeline(SweepMemory(str(tmp_path))).fit(X)
    assert FITS == [0.0]
    assert_array_equal(first.transform(X), second.transform(X))
    pipeline(SweepMemory(tmp_path)).fit(X[1:])
    pipeline(SweepMemory(tmp_path), by=1.0).fit(X)
    assert FITS == [0.0, 0.0, 1.0]


def test_memory_finds_entries_of_joblib_memory(X, tmp_path):
    pipeline(joblib.Memory(str(tmp_path), verbose=0)).fit(X)
    pipeline(SweepMemory(tmp_path)).fit(X)
    assert FITS == [0.0]


def test_memory_survives_clone_and_pickle(tmp_path):
    memory = SweepMemory(tmp_path, bytes_limit="2K", compress=3)
    for copy in (clone(memory, safe=False), pickle.loads(pickle.dumps(memory))):
        assert (copy.bytes_limit, copy.compress) == ("2K", 3)
        assert copy.cache(len)([1, 2]) == 2


@pytest.mark.parametrize("limit", [100_000, "100K"])
def test_memory_stays_below_its_limit(X, tmp_path, limit):
    memory = SweepMemory(tmp_path, bytes_limit=limit)
    for by in range(8):
        pipeline(memory, by=by, size=30).fit(X)
        assert total_size(tmp_path) < 105_000  # besides joblib's copy of the code
    assert 2 <= len(entries(tmp_path)) <= 3
    # The last ones are still there, the first is not.
    FITS.clear()
    pipeline(memory, by=7, size=30).fit(X)
    pipeline(memory, by=0, size=30).fit(X)
    assert FITS == [0]


def test_memory_without_limit_keeps_all(X, tmp_path):
    for by in range(8):
        pipeline(SweepMemory(tmp_path), by=by, size=30).fit(X)
    assert len(entries(tmp_path)) == 8


def test_memory_smaller_than_one_entry_still_fits(X, tmp_path):
    model = pipeline(SweepMemory(tmp_path, bytes_limit=10), by=2.0).fit(X)
    assert_array_equal(model.transform(X), Shift(2.0).fit_transform(X))
    assert entries(tmp_path) == []


def truncate(data):
    return data[: len(data) // 2]


def empty(data):
    return b""


def flip_a_bit(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 16]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", [truncate, empty, flip_a_bit])
def test_damaged_entry_is_computed_again_with_a_warning(X, tmp_path, damage):
    memory = SweepMemory(tmp_path)
    expected = pipeline(memory).fit(X).transform(X)
    (path,) = entries(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(UserWarning, match="cached fit cannot be read .* computed again"):
        again = pipeline(memory).fit(X)
    assert FITS == [0.0, 0.0]
    assert_array_equal(again.transform(X), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline(memory).fit(X)
    assert FITS == [0.0, 0.0]


def test_half_written_entry_of_a_killed_process_is_no_entry(X, tmp_path):
    memory = SweepMemory(tmp_path)
    pipeline(memory).fit(X)
    (path,) = entries(tmp_path)
    # joblib writes under another name and renames.
    path.rename(path.with_name("output.pkl.0123-7-7"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline(memory).fit(X)
    assert FITS == [0.0, 0.0]
    memory.reduce_size(bytes_limit=1)
    assert not path.parent.exists()


def test_search_with_a_damaged_entry_has_the_same_scores(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, (60, 2))
    grid = {"shift__by": [0.0, 1.0]}
    search = GridSearchCV(
        pipeline(SweepMemory(tmp_path)), grid, scoring=get_scorer("mig"), cv=3, refit=False
    )
    first = search.fit(y + rng.random((60, 2)), y).cv_results_["mean_test_score"]
    damaged = entries(tmp_path)[2]
    damaged.write_bytes(damaged.read_bytes()[:-20])
    FITS.clear()
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, (60, 2))
    with pytest.warns(UserWarning, match="cannot be read"):
        search.fit(y + rng.random((60, 2)), y)
    assert len(FITS) == 1
    assert_array_equal(search.cv_results_["mean_test_score"], first)


@pytest.mark.parametrize("limit", ["10X", "", "G", "0K"])
def test_memory_names_a_bad_limit(tmp_path, limit):
    with pytest.raises(ValueError, match="bytes_limit must be a positive number"):
        SweepMemory(tmp_path, bytes_limit=limit)
