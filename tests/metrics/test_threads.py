"""Metrics in threads leave the number of BLAS threads as they found it."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

from sklearn_disent.metrics import _threads

BEGIN = """
    import sys, threading
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_info
    from sklearn_disent.metrics import dci_scores

    def blas():
        return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}

    before = blas()
    if before == {1}:
        print("one")
        sys.exit()
"""

OVERLAP = """
    class Meets(LogisticRegression):
        barrier, first_is_done = threading.Barrier(2), threading.Event()
        turns = iter(range(2))

        def fit(self, X, y):
            # Both are inside; the second goes on when the first is done.
            turn = next(self.turns, None)
            if turn is not None:
                self.barrier.wait(60)
            if turn == 1:
                assert self.first_is_done.wait(60)
            return super().fit(X, y)

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, (60, 1))
    codes = y + rng.normal(size=(60, 2))

    def score():
        dci_scores(y, codes, estimator=Meets(), random_state=0)
        Meets.first_is_done.set()

    threads = [threading.Thread(target=score) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(blas() == before)
"""

LIMITER = """
    from sklearn_disent.metrics._threads import one_thread

    inside, may_leave = threading.Event(), threading.Event()

    def hold():
        with one_thread():
            inside.set()
            may_leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(60)
    seen = []
    with one_thread():
        may_leave.set()
        thread.join()
        seen.append(blas() == {1})  # still capped for this one
        with one_thread("blas"):
            pass
        seen.append(blas() == {1})
    seen.append(blas() == before)
    try:
        with one_thread():
            1 / 0
    except ZeroDivisionError:
        seen.append(blas() == before)
    print(all(seen), seen)
"""


def test_calls_that_overlap_leave_blas_as_it_was():
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, "2")}
    code = "".join(map(textwrap.dedent, (BEGIN, OVERLAP, LIMITER)))  # one process for both
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, timeout=300
    )
    if done.stdout == "one\n":
        pytest.skip("BLAS has one thread here")
    assert re.fullmatch(r"True\nTrue .*\n", done.stdout), done.stdout


def test_cap_is_counted_up_and_down():
    with _threads.one_thread():
        with _threads.one_thread():
            assert _threads._n_inside == 2
            assert _threads._cap is not None
        assert _threads._n_inside == 1
    assert _threads._n_inside == 0
    assert _threads._cap is None
