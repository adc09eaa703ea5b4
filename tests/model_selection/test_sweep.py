"""The cache of sweeps: found again, bounded, and aware of damage."""

import os
import pickle
import subprocess
import sys
import textwrap
import types
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sklearn_disent import _fingerprint
from sklearn_disent.metrics import get_scorer
from sklearn_disent.model_selection import SweepMemory
from sklearn_disent.models import BetaVAE

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


def test_memory_does_not_read_entries_of_joblib_memory(X, tmp_path):
    # Their keys do not hold the code.
    pipeline(joblib.Memory(str(tmp_path), verbose=0)).fit(X)
    pipeline(SweepMemory(tmp_path)).fit(X)
    assert FITS == [0.0, 0.0]


# -- code and versions -----------------------------------------------------------------------

CODE = """
from sklearn.base import BaseEstimator, TransformerMixin
FITS = []
{constant}
def helper(x):
    return x + {helper}
class Base(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        FITS.append(1)
        self.mean_ = {base}
        return self
class Model(Base):
    {comment}
    def __init__(self, factor=1.0):
        self.factor = factor
    def transform(self, X):
        return helper(X) * CONSTANT + (lambda x: x * {inner})(X)
"""
PLAIN = {"constant": "CONSTANT = 2", "helper": 1, "base": 0, "inner": 1, "comment": "attribute = 1"}


def module_with(monkeypatch, **changes):
    """A module of the user's, as it is after an edit and a new start of Python."""
    module = types.ModuleType("of_the_user")
    monkeypatch.setitem(sys.modules, "of_the_user", module)
    exec(CODE.format(**{**PLAIN, **changes}), vars(module))
    return module


def fits_of(module, X, memory):
    Pipeline([("model", module.Model()), ("end", "passthrough")], memory=memory).fit(X)
    return len(module.FITS)


@pytest.mark.parametrize(
    ("changes", "is_new"),
    [
        ({}, False),
        ({"comment": "# why\n    attribute = 1"}, False),
        ({"inner": 3}, True),
        ({"base": 5}, True),
        ({"helper": 7}, True),
        ({"constant": "CONSTANT = 3"}, True),
        ({"comment": "attribute = 2"}, True),
    ],
)
def test_changed_code_is_fitted_anew(X, tmp_path, monkeypatch, changes, is_new):
    memory = SweepMemory(tmp_path)
    assert fits_of(module_with(monkeypatch), X, memory) == 1
    assert fits_of(module_with(monkeypatch), X, memory) == 0
    assert fits_of(module_with(monkeypatch, **changes), X, memory) == is_new


@pytest.mark.parametrize("package", ["sklearn-disent", "torch", "scikit-learn", "skorch", "numpy"])
def test_other_version_is_fitted_anew(X, tmp_path, monkeypatch, package):
    memory = SweepMemory(tmp_path)
    pipeline(memory).fit(X)
    changed = {**_fingerprint.versions(), package: "99.0"}
    monkeypatch.setattr(_fingerprint, "versions", lambda: changed)
    pipeline(memory).fit(X)
    pipeline(memory).fit(X)
    assert FITS == [0.0, 0.0]


def test_changed_source_of_this_package_is_fitted_anew(X, tmp_path, monkeypatch):
    memory = SweepMemory(tmp_path)
    pipeline(memory).fit(X)
    monkeypatch.setattr(_fingerprint, "package_source", lambda: "edited")
    pipeline(memory).fit(X)
    assert FITS == [0.0, 0.0]


class Counted(BetaVAE):
    def fit(self, X, y=None, **metadata):
        FITS.append(self.beta)
        return super().fit(X, y, **metadata)


def networks(slope=0.1, seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.LeakyReLU(slope), torch.nn.Linear(8, 4)
    )


def model_with(encoder, memory):
    vae = Counted(2, encoder=encoder, max_epochs=1, random_state=0)
    return Pipeline([("vae", vae), ("end", "passthrough")], memory=memory)


def test_module_as_parameter_is_found_again(X, tmp_path):
    memory = SweepMemory(tmp_path)
    search = GridSearchCV(
        model_with(networks(), memory),
        {"vae__beta": [1.0, 4.0]},
        scoring=lambda model, X, y=None: 0.0,
        cv=2,
        refit=False,
    )
    with torch.random.fork_rng():
        for _ in range(3):
            search.set_params(estimator__vae__encoder=networks()).fit(X)
            assert len(FITS) == 4
        # Weights, and settings that are not weights.
        for other in (networks(seed=1), networks(slope=0.2)):
            model_with(other, memory).fit(X)
    assert len(FITS) == 6


def test_module_as_parameter_is_found_by_another_process(capsys):
    code = """
        import numpy as np, torch
        from sklearn_disent._fingerprint import fingerprint
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU())
        net.register_forward_hook(print)
        value = (net, net.state_dict(), torch.float32, np.arange(3), {"a", "b", "c"})
        print(fingerprint(value).digest)
    """
    code = textwrap.dedent(code)
    with torch.random.fork_rng():
        exec(code, {})
    here = capsys.readouterr().out
    other = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": other},
    )
    assert here == done.stdout != ""


SCRIPT = """
    import sys, warnings
    import numpy as np
    from joblib import parallel_config
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn_disent.model_selection import SweepMemory

    class Mine(TransformerMixin, BaseEstimator):
        def __init__(self, by=0):
            self.by = by
        def fit(self, X, y=None):
            self.done_ = True
            return self
        def transform(self, X):
            return X + self.by

    if __name__ == "__main__":
        model = Pipeline([("m", Mine()), ("end", "passthrough")], memory=SweepMemory(sys.argv[1]))
        score = lambda m, X, y=None: m.transform(X).sum()
        search = GridSearchCV(model, {"m__by": [0, 1]}, scoring=score, cv=2, refit=False)
        with parallel_config(sys.argv[2], n_jobs=2):
            search.fit(np.arange(16.0).reshape(8, 2))
        print(*search.cv_results_["mean_test_score"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_class_of_the_script_under_loky_is_named_in_one_sentence(tmp_path, backend):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, str(script), str(tmp_path / "cache"), backend]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "60.0 68.0\n"
    if backend == "loky":
        assert "Mine is defined in the script itself" in done.stderr
        assert "Traceback" not in done.stderr
        assert not entries(tmp_path / "cache")
    else:
        assert done.stderr == ""
        assert len(entries(tmp_path / "cache")) == 4


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
