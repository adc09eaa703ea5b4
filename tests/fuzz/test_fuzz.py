"""Calls at random end in a value, an error of our own, or a declared warning: nothing else."""

from collections import Counter

import fuzzer
import numpy as np
import pytest
import torch

N_DEFAULT, N_SLOW, CHUNK = 1_000, 100_000, 500


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def check(start, stop):
    failures = {n: fuzzer.failure(fuzzer.make_call(n)) for n in range(start, stop)}
    failures = {number: why for number, why in failures.items() if why is not None}
    assert not failures, "\n".join(f"call {number}: {why}" for number, why in failures.items())


# A hang in native code is not stopped by a signal: the thread method ends the process.
@pytest.mark.timeout(600, method="thread")
@pytest.mark.parametrize("start", range(0, N_DEFAULT, CHUNK))
def test_calls_end_as_they_may(start):
    check(start, start + CHUNK)


@pytest.mark.slow
@pytest.mark.timeout(1800, method="thread")
@pytest.mark.parametrize("start", range(N_DEFAULT, N_SLOW, CHUNK))
def test_many_calls_end_as_they_may(start):
    check(start, start + CHUNK)


@pytest.mark.timeout(600, method="thread")
def test_calls_that_failed_once_end_as_they_may():
    calls = fuzzer.corpus()
    assert len(calls) > 30
    failures = [(call, why) for call in calls if (why := fuzzer.failure(call)) is not None]
    assert not failures


def test_a_call_is_a_function_of_its_number():
    first, again = fuzzer.make_call(1234), fuzzer.make_call(1234)
    assert first == again
    assert str(fuzzer.make_data(first)) == str(fuzzer.make_data(again))


def test_all_metrics_and_estimators_are_called_and_a_plain_call_reaches_a_value():
    calls = [fuzzer.make_call(number) for number in range(2 * N_DEFAULT)]
    counts = Counter(call.target for call in calls)
    assert set(counts) == {*fuzzer.METRICS, *fuzzer.ESTIMATORS}
    assert min(counts.values()) >= 10
    plain = fuzzer.Call(
        "mig_score",
        0,
        {"n": 30, "factors": 2, "codes": 3, "y": "classes", "z": "normal"}
        | {"y in": "array", "z in": "array"},
        {},
    )
    assert fuzzer.run(plain) == "value"


@pytest.mark.parametrize(
    ("value", "bounds", "match"),
    [
        (float("nan"), (0, 1), "without a warning"),
        (1.5, (0, 1), "without a warning"),
        (np.array([0.5, np.nan]), (0, 1), "without a warning"),
        (None, (0, 1), "NoneType returned"),
        (1, (0, 1), "int returned"),
    ],
)
def test_wrong_values_are_noticed(value, bounds, match):
    with pytest.raises(AssertionError, match=match):
        fuzzer._check_value(value, bounds, [])


@pytest.mark.parametrize("error", [IndexError, RuntimeError, ZeroDivisionError, ValueError])
def test_foreign_errors_are_noticed(monkeypatch, error):
    def broken(factors, codes):
        raise error("of another package")

    monkeypatch.setitem(fuzzer.METRICS, "broken", fuzzer.Metric(broken))
    call = fuzzer.make_call(0)._replace(target="broken", options={})
    call.data.pop("model", None)
    assert "foreign" in fuzzer.failure(call)
