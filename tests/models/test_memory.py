"""Freed memory is kept while a net trains, and given back afterwards."""

import subprocess
import sys
import weakref
from contextlib import nullcontext
from threading import Event, Thread

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback

from sklearn_disent import _memory
from sklearn_disent.exceptions import TrainingDivergedError
from sklearn_disent.models import BetaVAE, freed_memory_kept
from sklearn_disent.models._data import gather

IS_GLIBC = _memory._glibc() is not None


class Recorder:
    """A C library that notes what it is asked for."""

    def __init__(self):
        self.calls = []

    def mallopt(self, name, value):
        self.calls.append((name, value))
        return 1

    def malloc_trim(self, pad):
        self.calls.append("trim")


@pytest.fixture
def library(monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(_memory, "_glibc", lambda: recorder)
    return recorder


def test_memory_is_given_back_by_the_outermost_only(library):
    with freed_memory_kept():
        held = list(library.calls)
        with freed_memory_kept():
            pass
        assert library.calls == held
    assert library.calls[-1] == "trim"
    assert library.calls.count("trim") == 1


def test_memory_is_given_back_after_an_error(library):
    with pytest.raises(RuntimeError, match="stop"), freed_memory_kept():
        raise RuntimeError("stop")
    assert library.calls[-1] == "trim"
    assert _memory._n_inside == 0


def test_memory_is_kept_until_the_last_thread_leaves(library):
    inside, leave = Event(), Event()

    def other():
        with freed_memory_kept():
            inside.set()
            leave.wait(10)

    thread = Thread(target=other)
    with freed_memory_kept():
        thread.start()
        assert inside.wait(10)
    assert "trim" not in library.calls
    leave.set()
    thread.join(10)
    assert library.calls[-1] == "trim"


RESTORED = [
    (_memory._M_MMAP_MAX, _memory._MMAP_MAX),
    (_memory._M_MMAP_THRESHOLD, _memory._HIGHEST_MMAP_THRESHOLD),
    (_memory._M_TRIM_THRESHOLD, 2 * _memory._HIGHEST_MMAP_THRESHOLD),
    "trim",
]
X = np.random.default_rng(0).random((20, 6)).astype(np.float32)


def small(**params):
    return BetaVAE(2, max_epochs=1, module__hidden_sizes=(4,), random_state=0, **params)


def test_fit_keeps_memory_and_gives_it_back(library):
    small().fit(X)
    assert (_memory._M_MMAP_MAX, 0) in library.calls
    assert library.calls[-4:] == RESTORED
    assert _memory._n_inside == 0


class Broken(Callback):
    """Raises in the middle of training."""

    def __init__(self, error):
        self.error = error

    def on_batch_end(self, net, **kwargs):
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("stop"), KeyboardInterrupt(), SystemExit()])
def test_fit_gives_memory_back_after_an_error(library, error):
    # skorch's callbacks ask by KeyboardInterrupt to stop: then fit returns.
    asks = isinstance(error, KeyboardInterrupt)
    with nullcontext() if asks else pytest.raises(type(error)):
        small(callbacks=[Broken(error)]).fit(X)
    assert library.calls[-4:] == RESTORED
    assert _memory._n_inside == 0


@pytest.mark.filterwarnings("ignore:overflow")
def test_fit_that_diverges_gives_memory_back(library):
    with pytest.raises(TrainingDivergedError):
        small(sigma=1e-3, lr=1e6).set_params(max_epochs=30).fit(1e3 * X)
    assert library.calls[-4:] == RESTORED


def test_a_refused_fit_does_not_touch_the_allocator(library):
    with pytest.raises(ValueError, match="NaN"):
        small().fit(np.full((20, 6), np.nan))
    assert library.calls == []


def test_context_switches_off_what_fit_does(library):
    with freed_memory_kept(enabled=False):
        small().fit(X)
        with freed_memory_kept():
            pass
    assert library.calls == []
    small().fit(X)
    assert library.calls[-1] == "trim"


def test_context_of_a_thread_leaves_others_alone(library):
    def other():
        with freed_memory_kept():
            pass

    with freed_memory_kept(enabled=False):
        thread = Thread(target=other)
        thread.start()
        thread.join(10)
    assert library.calls[-1] == "trim"


def test_environment_switches_off_what_fit_does(library, monkeypatch):
    monkeypatch.setenv("SKLEARN_DISENT_KEEP_FREED_MEMORY", "0")
    small().fit(X)
    assert library.calls == []
    monkeypatch.setenv("SKLEARN_DISENT_KEEP_FREED_MEMORY", "1")
    small().fit(X)
    assert library.calls[-1] == "trim"


@pytest.mark.parametrize(
    ("name", "value"),
    [("MALLOC_TRIM_THRESHOLD_", "1000"), ("GLIBC_TUNABLES", "glibc.malloc.mmap_max=3")],
)
def test_own_settings_of_the_allocator_are_left_alone(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert _memory._glibc() is None


@pytest.mark.skipif(not IS_GLIBC, reason="needs glibc's allocator with its default settings")
def test_pages_are_not_faulted_in_again():
    # 16 arrays of 4 MB, freed and allocated 20 times: 16,384 pages once, not 20 times, and 64 MB
    # that are gone at the end.
    code = (
        "import resource\n"
        "import numpy as np\n"
        "import runpy, sys\n"  # without the rest of the room, which loads torch
        "freed_memory_kept = runpy.run_path(sys.argv[1])['freed_memory_kept']\n"
        "def step():\n"
        "    return len([np.ones(2**19) for _ in range(16)])\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    for _ in range(20):\n"
        "        step()\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "def held():\n"
        "    return int(open('/proc/self/statm').read().split()[1]) * resource.getpagesize()\n"
        "plain = faults()\n"
        "before = held()\n"
        "with freed_memory_kept():\n"
        "    step()\n"
        "    print(plain, faults(), held() - before)\n"
        "print(held() - before)\n"
    )
    output = subprocess.check_output([sys.executable, "-c", code, _memory.__file__], text=True)
    plain, kept, within, after = map(int, output.split())
    assert kept < 0.05 * plain
    assert within > 32 * 2**20 > 4 * after


def test_outputs_of_batches_are_not_kept():
    # Kept between the batches, they made the heap grow with the data.
    seen = []

    def outputs():
        for i in range(6):
            output = torch.full((2, 3), float(i))
            seen.append(weakref.ref(output))
            yield (output,)
            del output
            assert all(earlier() is None for earlier in seen[:-1])

    gather(outputs(), 12)
    assert len(seen) == 6


def test_outputs_of_batches_are_gathered_in_order():
    whole = torch.arange(14.0).reshape(7, 2)
    rows, sums = gather(((part, part.sum(1)) for part in whole.split(3)), 7)
    np.testing.assert_array_equal(rows, whole)
    np.testing.assert_array_equal(sums, whole.sum(1))
