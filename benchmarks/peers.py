"""Every metric beside its peers, and how its cost grows with the rows.

``python benchmarks/metrics.py peers growth`` runs it; with ``--page`` the results are also written
into docs/guide/speed.rst. All times are processor times of one thread, in one process, ours and
theirs in turns, the shortest of a few runs: on a busy machine their ratios still mean something.

Peers are functions of arrays: those of disent, of latte and of disentanglement_lib if they can be
imported (``pip install --no-deps --ignore-requires-python disent latte-metrics disentanglement-lib
"gin-config<0.5" absl-py six``), and the usual loops over scikit-learn. What the packages import for
training only, tensorflow and torchvision, is replaced by empty stand-ins.
"""

import importlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple
from unittest.mock import MagicMock

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score, roc_auc_score
from sklearn.preprocessing import StandardScaler, scale

from sklearn_disent import metrics
from sklearn_disent.metrics._catalogue import REPORTED

Array = np.ndarray
_ONLY_FOR_TRAINING = (
    "tensorflow",
    "tensorflow_hub",
    "tensorflow_probability",
    "torchvision",
    "pytorch_lightning",
    "imageio",
    "h5py",
    "lightning",
)
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "speed.rst"
BEGIN, END = ".. Measured: begin ({})", ".. Measured: end ({})"


class Pair(NamedTuple):
    """A metric and one peer of the same definition, both called with factors and codes."""

    name: str
    ours: Callable[[Array, Array], Any]
    peer: str
    theirs: Callable[[Array, Array], Any]
    note: str = ""


def processor_time(function: Callable[[], Any]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


class _StandIn(ModuleType):
    """A module that has everything and does nothing."""

    __path__: ClassVar[list[str]] = []
    __version__ = "2.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        # Classes may be inherited from.
        return type(name, (), {}) if name[0].isupper() else MagicMock(name=name)


class _StandIns(MetaPathFinder, Loader):
    """Finds any module of packages that are not installed, and makes a stand-in of it."""

    def __init__(self, *packages: str) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if self._is_one(name) else None

    def _is_one(self, name: str) -> bool:
        return name.partition(".")[0] in self.packages

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def _imported(package: str, names: tuple[str, ...]) -> dict[str, Any] | None:
    try:
        return {name: importlib.import_module(f"{package}.{name}") for name in names}
    except (ImportError, RuntimeError, AttributeError, TypeError, SyntaxError) as error:
        print(f"{package} is left out: {error}")
        return None


def binned(codes: Array) -> list[Array]:
    return [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in codes.T]


def loop_information(factors: Array, codes: Array) -> Array:
    cells = binned(codes)
    return np.array([[mutual_info_score(y, z) for z in cells] for y in factors.T])


def loop_codes(factors: Array, codes: Array) -> Array:
    cells = binned(codes)
    return np.array([[mutual_info_score(one, two) for one in cells] for two in cells])


def loop_neighbors(factors: Array, codes: Array) -> Array:
    return np.array([mutual_info_classif(codes, y, n_neighbors=10) for y in factors.T])


def loop_explicitness(factors: Array, codes: Array) -> list[float]:
    X, cut = scale(codes), 3 * len(codes) // 4
    aucs = []
    for y in factors.T:
        for value in np.unique(y):
            model = LogisticRegression().fit(X[:cut], y[:cut] == value)
            aucs.append(roc_auc_score(y[cut:] == value, model.decision_function(X[cut:])))
    return aucs


def loop_infoe(factors: Array, codes: Array) -> None:
    X = StandardScaler().fit_transform(codes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for y in factors.T:
            model = LogisticRegression(C=np.inf, class_weight="balanced").fit(X, y)
            model.predict_proba(X)


def loop_downstream(factors: Array, codes: Array) -> list[float]:
    X = codes[:1000]
    scores = []
    for y in factors[:1000].T:
        for code in X.T[:, :, None]:
            model = RandomForestClassifier(100, max_depth=5, random_state=0)
            scores.append(model.fit(code[:800], y[:800]).score(code[800:], y[800:]))
    return scores


def boosting(factors: Array, codes: Array) -> None:
    """DCI of one factor by scikit-learn's gradient boosting, as in disentanglement_lib."""
    cut = 3 * len(codes) // 4
    model = GradientBoostingClassifier(random_state=0)
    model.fit(codes[:cut], factors[:cut, 0]).score(codes[cut:], factors[cut:, 0])


def _scikit_learn() -> list[Pair]:
    return [
        Pair("mig", metrics.mig_score, "loop of mutual_info_score", loop_information),
        Pair("code_mutual_info_error", _codes(metrics.code_mutual_info_error),
             "loop of mutual_info_score", loop_codes),
        Pair("infom", metrics.infom_score, "loop of mutual_info_classif", loop_neighbors),
        Pair("explicitness", metrics.explicitness_score, "loop of LogisticRegression",
             loop_explicitness),
        Pair("infoe", metrics.infoe_score, "loop of LogisticRegression", loop_infoe,
             "the same regression, by another solver above 5,000 rows"),
        Pair("downstream_accuracy", metrics.downstream_accuracy_score,
             "loop of RandomForestClassifier", loop_downstream),
        Pair("dci_informativeness (one factor)",
             lambda y, z: metrics.dci_informativeness_score(y[:, :1], z),
             "GradientBoostingClassifier", boosting, "both on the factor of three classes"),
    ]  # fmt: skip


def _codes(function: Callable[..., Any]) -> Callable[[Array, Array], Any]:
    return lambda factors, codes: function(codes)


def _disent() -> list[Pair]:
    package = _imported("disent.metrics", ("_mig", "_sap", "_unsupervised", "utils"))
    if package is None:
        return []
    mig, sap, alone, utils = package.values()
    return [
        Pair("mig", metrics.mig_score, "disent", lambda y, z: mig._compute_mig(z.T, y.T)),
        Pair("sap", metrics.sap_score, "disent",
             lambda y, z: sap._compute_sap(z.T, y.T, None, None, True)),
        Pair("gaussian_total_correlation_error",
             _codes(metrics.gaussian_total_correlation_error), "disent",
             lambda y, z: alone._gaussian_total_correlation(np.cov(z.T))),
        Pair("gaussian_wasserstein_correlation_error",
             _codes(metrics.gaussian_wasserstein_correlation_error), "disent",
             lambda y, z: alone._gaussian_wasserstein_correlation(np.cov(z.T))),
        Pair("code_mutual_info_error", _codes(metrics.code_mutual_info_error), "disent",
             lambda y, z: utils.discrete_mutual_info(*[utils.histogram_discretize(z.T)] * 2)),
    ]  # fmt: skip


def _latte() -> list[Pair]:
    """Its MIG and its modularity are of another definition: of information by neighbors."""
    package = _imported("latte.functional.disentanglement", ("sap",))
    if package is None:
        return []
    return [
        Pair("sap (r2)", lambda y, z: metrics.sap_score(y, z, method="r2"), "latte",
             lambda y, z: package["sap"].sap(z, y * 1.0)),
    ]  # fmt: skip


def _disentanglement_lib() -> list[Pair]:
    names = ("mig", "sap_score", "modularity_explicitness", "irs", "unsupervised_metrics", "utils")
    package = _imported("disentanglement_lib.evaluation.metrics", names)
    if package is None:
        return []
    mig, sap, modularity, irs, alone, utils = package.values()
    gin = importlib.import_module("gin.config" if "gin.config" in sys.modules else "gin")
    gin.bind_parameter("discretizer.discretizer_fn", utils._histogram_discretize)
    gin.bind_parameter("discretizer.num_bins", 20)

    def information(y: Array, z: Array) -> Array:
        return utils.discrete_mutual_info(utils.make_discretizer(z.T), y.T)

    def code_information(y: Array, z: Array) -> Array:
        cells = utils.make_discretizer(z.T)
        return utils.discrete_mutual_info(cells, cells)

    def explicitness(y: Array, z: Array) -> list[tuple[float, float]]:
        X, cut = scale(z).T, 3 * len(z) // 4
        return [
            modularity.explicitness_per_factor(X[:, :cut], k[:cut], X[:, cut:], k[cut:])
            for k in y.T
        ]

    multinomial = {"multi_class": "multinomial"}
    lib = "disentanglement_lib"
    return [
        Pair("mig", metrics.mig_score, lib, lambda y, z: mig._compute_mig(z.T, y.T)),
        Pair("sap", metrics.sap_score, lib,
             lambda y, z: sap._compute_sap(z.T, y.T, None, None, True)),
        Pair("modularity", metrics.modularity_score, lib,
             lambda y, z: modularity.modularity(information(y, z))),
        Pair("explicitness (multinomial)",
             lambda y, z: metrics.explicitness_score(y, z, **multinomial), lib, explicitness,
             "the same fits: ours is LogisticRegression"),
        Pair("irs", metrics.irs_score, lib,
             lambda y, z: irs.scalable_disentanglement_score(y, z, 0.99)),
        Pair("gaussian_total_correlation_error",
             _codes(metrics.gaussian_total_correlation_error), lib,
             lambda y, z: alone.gaussian_total_correlation(np.cov(z.T))),
        Pair("gaussian_wasserstein_correlation_error",
             _codes(metrics.gaussian_wasserstein_correlation_error), lib,
             lambda y, z: alone.gaussian_wasserstein_correlation(np.cov(z.T))),
        Pair("code_mutual_info_error", _codes(metrics.code_mutual_info_error), lib,
             code_information),
    ]  # fmt: skip


def compare(factors: Array, codes: Array, n_rounds: int) -> list[tuple[str, ...]]:
    """Rows of the table: name, peer, ours, theirs, ratio, verdict."""
    rows = []
    # Behind all others: packages that are installed are found first.
    sys.meta_path.append(_StandIns(*_ONLY_FOR_TRAINING))
    for pair in [*_scikit_learn(), *_disent(), *_latte(), *_disentanglement_lib()]:
        times = []
        try:
            for _ in range(n_rounds):
                ours = processor_time(lambda pair=pair: pair.ours(factors, codes))
                theirs = processor_time(lambda pair=pair: pair.theirs(factors, codes))
                times.append((ours, theirs))
                if ours + theirs > 4:
                    break
        except Exception as error:  # a peer that does not run with these versions of NumPy
            print(f"{pair.name} by {pair.peer} is left out: {error!r}")
            continue
        ours, theirs = np.min(times, axis=0)
        is_fast = ours <= 1.1 * theirs or ours - theirs <= 0.005
        verdict = "yes" if is_fast else "NO"
        ratio = f"{theirs / ours:.1f}"
        row = (pair.name, pair.peer, f"{ours * 1e3:.1f}", f"{theirs * 1e3:.1f}", ratio)
        rows.append((*row, verdict + (f" ({pair.note})" if pair.note else "")))
        print(" | ".join(rows[-1]), flush=True)
    return rows


def growth(
    make_data: Callable[[int], tuple[Array, Array]], sizes: tuple[int, ...], store: Path
) -> list[tuple[str, ...]]:
    """Seconds at each number of rows of every metric that takes all of them, and the fitted
    exponent. What has been measured is kept in a file, from which the next run goes on.
    """
    unlimited = {n: m for n, m in REPORTED.items() if "max_samples" not in m.options}
    seconds = json.loads(store.read_text()) if store.exists() else {}
    for n_samples in sizes:
        factors, codes = make_data(n_samples)
        for name, metric in unlimited.items():
            key = f"{name} {n_samples}"
            if key in seconds:
                continue
            data = (factors, codes) if metric.needs == "factors" else (codes,)
            options = {"random_state": 0} if "random_state" in metric.options else {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                n_runs = 3 if n_samples <= 10_000 else 1
                runs = [processor_time(lambda: metric.value(*data, **options))]  # noqa: B023
                if runs[0] < 0.2:
                    runs += [
                        processor_time(lambda: metric.value(*data, **options))  # noqa: B023
                        for _ in range(n_runs - 1)
                    ]
            seconds[key] = min(runs)
            store.write_text(json.dumps(seconds, indent=1))
            print(f"{key}: {seconds[key]:.3f} s", flush=True)
    rows = []
    for name in unlimited:
        times = [seconds[f"{name} {n_samples}"] for n_samples in sizes]
        exponent = np.polyfit(np.log(sizes[1:]), np.log(times[1:]), 1)[0]
        rows.append((name, *(f"{value:.3g}" for value in times), f"{exponent:.2f}"))
        print(" | ".join(rows[-1]))
    return rows


def write_table(kind: str, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Replace one measured table of the page."""
    begin, end = BEGIN.format(kind), END.format(kind)
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (header, *rows):
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(row)]
    PAGE.write_text(
        before + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + after, encoding="utf-8"
    )
