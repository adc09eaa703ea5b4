"""Calls at random of all metrics and estimators, each a function of its number.

A call may give a finite value within the bounds of its metric, raise an error of our own, or warn
with a warning that is declared. Anything else is a failure: another error, another warning, a nan,
a value out of range, data that were written into, a hang.

    python tests/fuzz/fuzzer.py 0 10000          # calls 0 to 9999; prints failures and a summary
    python tests/fuzz/fuzzer.py 10000 100000 --state runs.json   # in pieces: goes on where it was
    python tests/fuzz/fuzzer.py --call 17        # what call 17 is, and how it ends
"""

import argparse
import copy
import faulthandler
import inspect
import json
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from hostile import CLASSES, CONTAINERS, NUMBERS, ODD, PLAIN, WEIGHTS
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions

from sklearn_disent import metrics, models
from sklearn_disent._params import constraints_of
from sklearn_disent.exceptions import (
    DegenerateScoreWarning,
    TrainingDivergedError,
    TrainingWarning,
)
from sklearn_disent.metrics import prediction
from sklearn_disent.metrics._catalogue import CATALOGUE, Metric
from sklearn_disent.models._net import BaseNet
from sklearn_disent.networks._families import FAMILIES, DenseFamily

SEED = 17
HANG = 120  # seconds, after which a call counts as one that hangs
OURS = ("/sklearn_disent/", "/sklearn/utils/", "/sklearn/preprocessing/")
# Warnings of scikit-learn's estimators about what the fuzzer passes them.
DECLARED = (
    "feature names, but",
    "The number of unique classes is greater than 50%",
    "overflow encountered in cast",  # trees take float32
    "overflow encountered in divide",  # StandardScaler
    "overflow encountered in matmul",  # PCA
    "overflow encountered in multiply",
    "invalid value encountered in cast",  # type_of_target, of huge floats
    "invalid value encountered in reduce",  # sums of huge values, in the search for infinite ones
    "lbfgs failed to converge",  # logistic regression of huge codes that are not standardized
    "The best largest error lies between",  # our own, of a convex program
)
# Of the Ridge that the fuzzer passes; the Ridge of a metric itself has no reason to warn.
OF_RIDGE = ("Singular matrix in solving", "ll-conditioned matrix")
CORPUS = Path(__file__).parent / "corpus.json"


class Call(NamedTuple):
    """What is called with which data; all of it can be written down as JSON."""

    target: str
    seed: int
    """Of the data, and where the options are drawn from."""
    data: dict[str, Any]
    options: dict[str, str]
    """Names of values, see `value_of`."""


# -- targets ---------------------------------------------------------------------------------

METRICS = {metric.function.__name__: metric for metric in CATALOGUE}
for _name in ("relevance_matrix", "elbo_decomposition", "dci_scores"):
    METRICS[_name] = Metric(getattr(metrics, _name))
ESTIMATORS = {
    name: value
    for name, value in vars(models).items()
    if inspect.isclass(value)
    and issubclass(value, BaseNet | models.FactorClassifier)
    and name != "BaseVAE"
}
# Settings that keep a call cheap; an option that is drawn replaces them.
CHEAP: dict[str, dict[str, Any]] = {
    "manifold_topology_score": {
        "n_samples": 16, "n_values": 2, "n_landmarks": 4, "n_repeats": 2, "max_holes": 5,
    },
    "beta_vae_score": {"n_train": 20, "n_eval": 20},
    "factor_vae_score": {"n_train": 20, "n_eval": 20},
    "r_factor_vae_score": {"n_train": 20, "n_eval": 20},
    "elbo_decomposition": {"n_samples": 20},
    "dcies_explicitness_score": {"max_capacity": 16},
    "counterfactual_generativeness_score": {
        "classifiers": DecisionTreeClassifier(max_depth=2, random_state=0)
    },
}  # fmt: skip
TREES = (DecisionTreeClassifier(max_depth=3), DecisionTreeRegressor(max_depth=3))


@contextmanager
def small_models() -> Iterator[None]:
    """Forests of three trees and small networks where a metric or a model makes its own."""

    def forests(max_depth: int | None = None) -> tuple[Any, Any]:
        options = {"n_estimators": 3, "max_features": None, "min_samples_leaf": 2}
        return ExtraTreesClassifier(**options), ExtraTreesRegressor(**options)

    def probe(capacity: int) -> Any:
        return ExtraTreesRegressor(3, max_features=None, max_leaf_nodes=capacity + 1)

    with (
        patch.object(prediction._predictors, "forests", forests),
        patch.object(prediction._unfairness, "forests", forests),
        patch.object(prediction._downstream, "_small_forests", forests),
        patch.dict(prediction._dcies._PROBES, {"forest": probe}),
        patch.dict(FAMILIES, {"mlp": DenseFamily((16,))}),
    ):
        yield


# Options that cost minutes, print, or start workers.
LEFT_OUT = {
    "n_jobs", "verbose", "device", "compile", "checkpoint", "callbacks", "iterator_train",
    "iterator_valid", "optimizer", "discriminator_optimizer", "train_split", "encoder", "decoder",
    "module", "criterion", "embedding", "cv",
}  # fmt: skip
EPOCHS = {"max_epochs": 1, "n_components": 2, "random_state": 0}
NETWORKS = {"discriminator__hidden_sizes": (8, 8)}  # six layers of 1000 otherwise


def parameters_of(target: str) -> dict[str, list[Any]]:
    """Constraints of the options that are drawn."""
    if target in ESTIMATORS:
        found = ESTIMATORS[target]._parameter_constraints
    else:
        found = constraints_of(METRICS[target].function)
        names = {*METRICS[target].options}
        found = {name: allowed for name, allowed in found.items() if name in names}
    return {name: allowed for name, allowed in found.items() if name not in LEFT_OUT}


# -- values of options -----------------------------------------------------------------------

JUNK = {
    "junk": "junk", "minus": -1, "zero": 0, "nan": float("nan"), "inf": float("inf"),
    "vast": 1e300, "list": [], "true": True, "half": 0.5, "object": object(), "tiny": 1e-300,
}  # fmt: skip
INTS = (1, 2, 3, 7, 20)
FLOATS = (1e-300, 1e-12, 1e-3, 0.1, 0.5, 0.999, 1.0, 2.0, 10.0, 1e6, 1e30)
PREDICTORS = {
    "trees": TREES,
    "tree": DecisionTreeClassifier(max_depth=2),
    "regression tree": DecisionTreeRegressor(max_depth=2),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression(max_iter=30)),
    "ridge": Ridge(),
}


def draw_option(rng: np.random.Generator, name: str, allowed: list[Any]) -> str | None:
    """The name of a value for an option; None where the option is better left alone."""
    if rng.random() < 0.06:
        return "junk:" + str(rng.choice(list(JUNK)))
    if name == "random_state":
        return "json:" + str(rng.choice(["0", "7", "null"]))
    if name == "sample_weight":
        common = rng.random() < 0.5
        return "weight:" + str(rng.choice(["ones", "counts", "random"] if common else [*WEIGHTS]))
    choices = [choice for one in allowed for choice in _choices(name, one)]
    return None if not choices else str(rng.choice(choices))


def _choices(name: str, allowed: Any) -> list[str]:
    if allowed is None:
        return ["json:null"]
    if allowed == "boolean":
        return ["json:true", "json:false"]
    if isinstance(allowed, Interval):
        numbers = INTS if allowed.type.__name__ == "Integral" else FLOATS
        return [f"json:{json.dumps(v)}" for v in numbers if v in allowed]
    if isinstance(allowed, StrOptions | Options):
        # gudhi is slower and not always there
        return [f"json:{json.dumps(v)}" for v in sorted(allowed.options) if v != "gudhi"]
    if name == "guidance":
        return [f"guidance:{kind}" for kind in ("xent", "l2", "cov", "embed")]
    if name == "split":
        return ["split:halves", "split:one row", "split:out of range", "split:mask"]
    if name in ("groups", "codes_std", "code_range", "kl", "input_shape"):
        return [f"{name}:{kind}" for kind in ("right", "wrong", "short")]
    if isinstance(allowed, HasMethods) or name in ("estimator", "classifiers"):
        return [f"predictor:{kind}" for kind in PREDICTORS]
    return []


def option_value(word: str, call: Call, shape: dict[str, int]) -> Any:
    """The value that a name stands for."""
    kind, _, rest = word.partition(":")
    rng = np.random.default_rng([call.seed, 5])
    n, n_codes, n_factors = shape["n"], shape["codes"], shape["factors"]
    if kind == "json":
        return json.loads(rest)
    if kind == "junk":
        return JUNK[rest]
    if kind == "weight":
        return WEIGHTS[rest](rng, n)
    if kind == "guidance":
        return models.Labels(rest)
    if kind == "predictor":
        return PREDICTORS[rest]
    if kind == "split":
        rows = np.arange(n)
        return {
            "halves": (rows[::2], rows[1::2]),
            "one row": (rows[:1], rows[1:2]),
            "out of range": (rows, rows + 5),
            "mask": (rows % 3 > 0, rows % 3 == 0),
        }[rest]
    right = {
        "groups": rng.integers(max(n_factors, 1), size=n_codes),
        "codes_std": rng.random((n, n_codes)) + 0.1,
        "code_range": (-4.0, 4.0),
        "kl": [np.ones(n_codes)] * 3,
        "input_shape": (n_codes,),
    }[kind]
    if rest == "right":
        return right
    return {"wrong": [-5, 1e300], "short": right[:-1]}[rest]


# -- making calls ----------------------------------------------------------------------------


def targets() -> list[str]:
    """Metrics twice: they are cheaper, and their data more varied."""
    return [*METRICS, *ESTIMATORS, *METRICS]


def make_call(number: int) -> Call:
    """The call of this number."""
    rng = np.random.default_rng([SEED, number])
    everything = targets()
    target = everything[number % len(everything)]
    data = {
        "n": int(rng.choice([1, 2, 3, 5, 12, 12, 30, 30])),
        "factors": int(rng.integers(1, 4)),
        "codes": int(rng.integers(1, 5)),
        "y": _pick(rng, CLASSES, ["classes"], 0.5),
        "z": _pick(rng, NUMBERS, ["normal", "informative"], 0.4),
        "y in": _container(rng),
        "z in": _container(rng),
    }
    if target in ESTIMATORS:
        data["then"] = _pick(rng, NUMBERS, ["normal"], 0.3)
        data["images"] = bool(rng.random() < 0.08)
    elif METRICS[target].needs == "estimator" or target == "elbo_decomposition":
        data["model"] = str(rng.choice(["vae", "pca", "pipeline"]))
    options = {}
    share = rng.choice([0.0, 0.15, 0.4])
    for name, allowed in parameters_of(target).items():
        if rng.random() < share:
            word = draw_option(rng, name, allowed)
            if word is not None:
                options[name] = word
    return Call(target, number, data, options)


def _pick(rng: np.random.Generator, table: dict, common: list[str], share: float) -> str:
    return str(rng.choice(common if rng.random() < share else list(table)))


def _container(rng: np.random.Generator) -> str:
    draw = rng.random()
    return "array" if draw < 0.5 else str(rng.choice(list(PLAIN if draw < 0.8 else ODD)))


# -- running calls ---------------------------------------------------------------------------


@cache
def fitted(kind: str, n_features: int) -> Any:
    X = np.random.default_rng(0).normal(size=(40, n_features))
    if kind == "pca":
        return PCA(whiten=True).fit(X)
    vae = models.BetaVAE(2, max_epochs=2, random_state=0)
    return (vae if kind == "vae" else make_pipeline(StandardScaler(), vae)).fit(X)


class Data(NamedTuple):
    factors: Any
    codes: Any
    shape: dict[str, int]


def make_data(call: Call) -> Data:
    rng = np.random.default_rng([call.seed, 3])
    recipe = call.data
    n, k, d = (recipe[name] for name in ("n", "factors", "codes"))
    factors = CLASSES[recipe["y"]](rng, n, k)
    as_numbers = factors if factors.dtype.kind in "biuf" else np.ones(factors.shape)
    with np.errstate(all="ignore"):
        plain = np.nan_to_num(as_numbers.astype(float), posinf=1, neginf=0) % 7
        codes = NUMBERS[recipe["z"]](rng, n, d, plain)
    shape = {"n": n, "codes": codes.shape[1], "factors": factors.shape[1]}
    if recipe.get("images"):
        codes = np.repeat(codes, 8 * 8, axis=1)[:, : 8 * 8].reshape(n, 8, 8)
        return Data(factors, codes, shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        factors, codes = CONTAINERS[recipe["y in"]](factors), CONTAINERS[recipe["z in"]](codes)
    return Data(factors, codes, shape)


def run(call: Call) -> str:
    """How a call ends: "value", "error" or "warning"; AssertionError where it must not end so."""
    data = make_data(call)
    options = {name: option_value(word, call, data.shape) for name, word in call.options.items()}
    before = copy.deepcopy([x for x in (data.factors, data.codes) if isinstance(x, np.ndarray)])
    with small_models(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            end = _run(call, data, options, caught)
        except (ValueError, TypeError, TrainingDivergedError, AttributeError) as error:
            end = "error"
            _check_error(error)
    declared = (*DECLARED, *(OF_RIDGE if "predictor:ridge" in call.options.values() else ()))
    for warning in caught:
        _check_warning(warning, declared)
    after = [x for x in (data.factors, data.codes) if isinstance(x, np.ndarray)]
    for one, other in zip(before, after):
        assert str(one) == str(other), "the data were written into"
    return end if end == "error" or not caught else "warning"


def _run(call: Call, data: Data, options: dict[str, Any], caught: list) -> str:
    if call.target in ESTIMATORS:
        return _run_estimator(call, data, options, caught)
    metric = METRICS[call.target]
    options = {**CHEAP.get(call.target, {}), **options}
    if "random_state" in metric.options:
        options.setdefault("random_state", 0)
    if "model" in call.data:
        model = fitted(call.data["model"], max(data.shape["codes"], 2))
        y = () if call.target == "elbo_decomposition" else (data.factors,)
        value = metric.function(model, data.codes, *y, **options)
    elif metric.needs == "codes":
        value = metric.function(data.codes, **options)
    elif metric.needs == "models":
        value = metric.function([data.codes] * 3, **options)
    else:
        value = metric.function(data.factors, data.codes, **options)
    is_adjusted = options.get("adjusted") is True
    _check_value(value, (-1.0, 1.0) if is_adjusted else metric.bounds, caught)
    return "value"


def _run_estimator(call: Call, data: Data, options: dict[str, Any], caught: list) -> str:
    model = ESTIMATORS[call.target]
    accepted = inspect.signature(model).parameters
    cheap = {name: value for name, value in EPOCHS.items() if name in accepted}
    rng = np.random.default_rng([call.seed, 4])
    if isinstance(options.get("max_epochs"), int):
        options["max_epochs"] = min(options["max_epochs"], 3)
    y = data.factors if rng.random() < 0.7 else None
    if "discriminator_optimizer" in accepted:
        cheap |= NETWORKS
    net = model(**{**cheap, **options}).fit(data.codes, y)
    if isinstance(net, models.FactorClassifier):
        assert len(net.predict(data.codes)) == len(data.codes)
        shares = net.predict_proba(data.codes)
        for factor in shares if isinstance(shares, list) else [shares]:
            _check_finite(factor, "probabilities")
        return "value"
    codes = net.transform(data.codes)
    _check_finite(codes, "codes")
    for name in ("inverse_transform", "reconstruct", "score_samples", "sample"):
        if hasattr(net, name) and rng.random() < 0.5:
            X = {"inverse_transform": codes, "sample": 2}.get(name, data.codes)
            _check_finite(getattr(net, name)(X), name)
    width = net.n_features_in_
    other = NUMBERS[call.data["then"]](rng, 5, width, np.ones((5, 1)))[:, :width]
    _check_finite(net.transform(other), "codes of other data")
    if hasattr(net, "score"):
        assert np.isfinite(net.score(other)), "the score is not finite"
    return "value"


def _check_finite(array: Any, what: str) -> None:
    columns = array.T.to_numpy() if hasattr(array, "dtypes") else [np.asarray(array)]
    for column in columns:
        if not isinstance(column.flat[0] if column.size else 0.0, datetime):
            assert np.isfinite(np.asarray(column, dtype=float)).all(), f"{what} are not finite"


def _check_value(value: Any, bounds: tuple[float, float], caught: list) -> None:
    is_warned = any(issubclass(w.category, DegenerateScoreWarning) for w in caught)
    if isinstance(value, dict):
        value = value["score"]
    values = np.asarray(value if not isinstance(value, tuple) else value[0], dtype=float)
    assert isinstance(value, tuple | float | np.ndarray), f"{type(value).__name__} returned"
    low, high = bounds
    good = (values >= low - 1e-9) & (values <= high + 1e-9) & np.isfinite(values)
    assert good.all() or is_warned, f"{values} without a warning"
    # What is not defined may be nan where there are several values, and infinite where it is.
    assert not np.isnan(values).any() or values.ndim, "nan"
    outside = values[np.isfinite(values) & ~good]
    assert not outside.size, f"{outside} out of {bounds}"


def _check_error(error: BaseException) -> None:
    """Ours are raised, by a raise, in our own code or by scikit-learn's validation of input."""
    if isinstance(error, TrainingDivergedError):
        return
    frame = traceback.extract_tb(error.__traceback__)[-1]
    assert any(place in frame.filename for place in OURS), _foreign(error)
    if isinstance(error, AttributeError):
        assert "has no" in str(error), _foreign(error)
    if "/sklearn_disent/" in frame.filename:
        assert "raise" in _statement(frame), _foreign(error)


def _statement(frame: traceback.FrameSummary) -> str:
    lines = Path(frame.filename).read_text().splitlines()
    return "\n".join(lines[frame.lineno - 1 : frame.end_lineno or frame.lineno])


def _foreign(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/sklearn_disent/" in f.filename]
    last = own[-1] if own else frames[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    return f"foreign {type(error).__name__} at {place}: {str(error)[:150]!r}"


def _check_warning(warning: warnings.WarningMessage, texts: tuple[str, ...]) -> None:
    declared = issubclass(warning.category, DegenerateScoreWarning | TrainingWarning)
    text = str(warning.message)[:150]
    place = f"{Path(warning.filename).name}:{warning.lineno}"
    if warning.filename.endswith("models/_classifier.py"):  # as scikit-learn's classifiers warn
        declared |= issubclass(warning.category, DataConversionWarning)
    is_theirs = any(f"/{package}/" in warning.filename for package in ("sklearn", "numpy"))
    if is_theirs or warning.category is not RuntimeWarning:
        declared |= any(start in text for start in texts)
    assert declared, f"foreign {warning.category.__name__} at {place}: {text!r}"


def outcome(call: Call) -> tuple[str, str | None]:
    """How a call ends, and if it fails, why."""
    try:
        return run(call), None
    except AssertionError as error:
        return "failure", str(error)
    except Exception as error:
        return "failure", _foreign(error)


def failure(call: Call) -> str | None:
    """Why a call fails; None if it ends as it may."""
    return outcome(call)[1]


# -- the script ------------------------------------------------------------------------------


def corpus() -> list[Call]:
    """Calls that failed once."""
    return [Call(**entry["call"]) for entry in json.loads(CORPUS.read_text())]


def run_many(
    start: int, stop: int, seconds: float, state: dict[str, Any], path: Path | None = None
) -> None:
    """Run calls until all are done or the processor time is over; results go into the state.

    It is written down every hundred calls: of a hang, faulthandler shows the place, and the number
    of the call is among the hundred that follow.
    """
    begin, before = time.process_time(), state["seconds"]
    for number in range(max(start, state["next"]), stop):
        if time.process_time() - begin > seconds:
            break
        call = make_call(number)
        faulthandler.dump_traceback_later(HANG, exit=True)
        end, why = outcome(call)
        faulthandler.cancel_dump_traceback_later()
        state["next"] = number + 1
        state["n"] += 1
        state["ends"][end] = state["ends"].get(end, 0) + 1
        state["seconds"] = before + time.process_time() - begin
        if why is not None:
            state["failures"][str(number)] = why
        if path is not None and number % 100 == 99:
            path.write_text(json.dumps(state, indent=1))
    if path is not None:
        path.write_text(json.dumps(state, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("start", type=int, nargs="?", default=0)
    parser.add_argument("stop", type=int, nargs="?", default=2000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--state", type=Path)
    parser.add_argument("--call", type=int)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.call is not None:
        call = make_call(arguments.call)
        print(json.dumps(call._asdict(), indent=1))
        print(*outcome(call))
        return
    state = {"next": 0, "n": 0, "seconds": 0.0, "ends": {}, "failures": {}}
    if arguments.state and arguments.state.exists():
        state = json.loads(arguments.state.read_text())
    run_many(arguments.start, arguments.stop, arguments.seconds, state, arguments.state)
    for number, why in state["failures"].items():
        print(f"call {number}: {why}")
    ends = ", ".join(f"{n} {end}" for end, n in sorted(state["ends"].items()))
    print(
        f"{state['n']} calls ({ends}), {len(state['failures'])} failures, "
        f"{state['seconds']:.0f} s of processor time, next: {state['next']}"
    )
    sys.exit(bool(state["failures"]))


if __name__ == "__main__":
    main()
