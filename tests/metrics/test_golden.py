"""Every metric against reference values, on every reference case."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from sklearn_disent import metrics
from sklearn_disent.metrics import (
    dcimig_score,
    infoc_score,
    infoe_score,
    infom_score,
    jemmig_score,
    med_completeness_score,
    med_disentanglement_score,
    mig_score,
    mig_sup_score,
    minimality_score,
    modularity_score,
    rmig_score,
    sufficiency_score,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")


class Golden(NamedTuple):
    metric: str
    """Key in golden.json."""
    sources: str | tuple[str, ...]
    """Whose values; several for one and the same computation."""
    compute: Callable
    """From a case (conftest.py: factors, values, codes, train, test, blocks) to our value."""
    n_eval: int | None = None
    """Votes of a stochastic metric, whose tolerance is 3 sqrt(p (1 - p) / n_eval)."""
    tolerance: float = 1e-9
    except_for: frozenset[str] = frozenset()
    """Cases in which the reference computes something else, the reason beside it."""
    takes_long: bool = False
    """Whether one case of each kind must do by default: models are fitted, or programs solved."""


POSTERIOR = "clarken[quantised,100bins(-4,4),std=.1]"
WIDE = {"codes_std": 0.1, "n_bins": 100, "code_range": (-4, 4)}


def training(case):
    return case.factors[case.train], case.codes[case.train]


SINGULAR = frozenset({"f1_complement", "f1_duplicate", "f1_redundancy", "toy51_a0.25_d0.50"})
SINGULAR |= {"toy51_a0.25_d1.00", "toy51_a0.60_d0.25", "toy51_a1.00_d0.25"}


def all_rows(case):
    return np.arange(len(case.codes))


def modularity_by(deviation):
    return lambda c: metrics.modularity_distance(
        c.factors, c.codes, groups=c.blocks, deviation=deviation
    )


def informativeness_by(quantity):
    return lambda c: metrics.informativeness_distance(c.values, c.codes, quantity=quantity)


FORMULAS = "ref[paper formulas]"
OPTIMAL = "ref[optimal inverse]"

# One line per metric and source.
GOLDEN = [
    # information
    Golden("mig", ("ref[20bins]", "dlib"), lambda c: mig_score(c.factors, c.codes)),
    Golden("mig", "ref[10bins]", lambda c: mig_score(c.factors, c.codes, n_bins=10)),
    Golden(
        "mig_sup",
        "ref[10bins,H(factor),active var>1e-2]",
        lambda c: mig_sup_score(c.factors, c.codes, n_bins=10),
    ),
    Golden(
        "mig_sup",
        "ref[10bins,H(factor)]",
        lambda c: mig_sup_score(c.factors, c.codes, n_bins=10, min_variance=0),
    ),
    Golden(
        "mig_sup",
        "ref[10bins,H(code)]",
        lambda c: mig_sup_score(c.factors, c.codes, n_bins=10, min_variance=0, normalize="code"),
    ),
    Golden("dcimig", "ref[10bins]", lambda c: dcimig_score(c.factors, c.codes, n_bins=10)),
    Golden("jemmig", "ref[10bins]", lambda c: jemmig_score(c.factors, c.codes, n_bins=10)),
    Golden("modularity", "ref[10bins]", lambda c: modularity_score(c.factors, c.codes, n_bins=10)),
    Golden(
        "modularity",
        "ref[10bins,nan for dead]",
        lambda c: modularity_score(c.factors, c.codes, n_bins=10, dead="drop"),
    ),
    Golden(
        "mig_sup",
        "ref[20bins,H(factor),active var>1e-2]",
        lambda c: mig_sup_score(c.factors, c.codes),
    ),
    Golden(
        "mig_sup",
        "ref[20bins,H(factor)]",
        lambda c: mig_sup_score(c.factors, c.codes, min_variance=0),
    ),
    Golden(
        "mig_sup",
        "ref[20bins,H(code)]",
        lambda c: mig_sup_score(c.factors, c.codes, min_variance=0, normalize="code"),
    ),
    Golden("dcimig", "ref[20bins]", lambda c: dcimig_score(c.factors, c.codes)),
    Golden("jemmig", "ref[20bins]", lambda c: jemmig_score(c.factors, c.codes)),
    Golden("modularity", ("ref[20bins]", "dlib"), lambda c: modularity_score(c.factors, c.codes)),
    Golden(
        "modularity",
        "ref[20bins,nan for dead]",
        lambda c: modularity_score(c.factors, c.codes, dead="drop"),
    ),
    # Gaussian codes; the reference takes the density at the middle of a bin, ours is exact.
    Golden(
        "rmig_jemmig.rmig",
        POSTERIOR,
        lambda c: rmig_score(c.factors, c.codes, **WIDE),
        tolerance=0.01,
    ),
    Golden(
        "rmig_jemmig.jemmig_1minus",
        POSTERIOR,
        lambda c: jemmig_score(c.factors, c.codes, **WIDE),
        tolerance=0.01,
    ),
    # minimality
    Golden(
        "minimality_sufficiency.minimality",
        ("ref[15bins,active]", "ref[15bins]"),
        lambda c: minimality_score(c.factors, c.codes),
    ),
    Golden(
        "minimality_sufficiency.sufficiency",
        ("ref[15bins,active]", "ref[15bins]"),
        lambda c: sufficiency_score(c.factors, c.codes),
    ),
    # InfoMEC; by neighbours, the noise that breaks ties spreads the reference by 0.006.
    Golden(
        "infomec.infom",
        ("ref[discrete20]", "lq[discrete20]"),
        lambda c: infom_score(c.factors, c.codes, method="binned"),
    ),
    Golden(
        "infomec.infom",
        "lq",
        lambda c: infom_score(c.factors, c.codes, random_state=0),
        tolerance=0.02,
    ),
    Golden(
        "infomec.infoc",
        ("ref[discrete20]", "lq[discrete20]"),
        lambda c: infoc_score(c.factors, c.codes, method="binned"),
    ),
    Golden(
        "infomec.infoc",
        "lq",
        lambda c: infoc_score(c.factors, c.codes, random_state=0),
        tolerance=0.02,
    ),
    # Without penalty, separable classes leave the last digits to the solver.
    Golden(
        "infomec.infoe",
        "lq",
        lambda c: infoe_score(c.factors, c.codes),
        tolerance=1e-5,
        takes_long=True,
    ),
    # MED; the reference adds 1e-11 to every share.
    Golden(
        "med.disentanglement",
        ("ref[20bins]", "med[all]"),
        lambda c: med_disentanglement_score(c.factors, c.codes),
        tolerance=2e-9,
    ),
    Golden(
        "med.disentanglement",
        "med",
        lambda c: med_disentanglement_score(*training(c)),
        tolerance=2e-9,
    ),
    Golden(
        "med.top1_disentanglement",
        "med",
        lambda c: med_disentanglement_score(*training(c), top_k=1),
        tolerance=2e-9,
    ),
    Golden(
        "med.completeness",
        ("ref[20bins]", "med[all]"),
        lambda c: med_completeness_score(c.factors, c.codes),
        tolerance=2e-9,
    ),
    Golden(
        "med.completeness", "med", lambda c: med_completeness_score(*training(c)), tolerance=2e-9
    ),
    Golden(
        "med.top1_completeness",
        "med",
        lambda c: med_completeness_score(*training(c), top_k=1),
        tolerance=2e-9,
    ),
    Golden(
        "med.top1_disentanglement",
        "med[all]",
        lambda c: med_disentanglement_score(c.factors, c.codes, top_k=1),
        tolerance=2e-9,
    ),
    # DCI; the reference fits and judges on all rows, and completeness is the plain mean.
    Golden(
        "dci.disentanglement",
        "clarken[lasso .02]",
        lambda c: metrics.dci_disentanglement_score(
            c.values, c.codes, estimator=Lasso(0.02), split=(all_rows(c),) * 2
        ),
        takes_long=True,
    ),
    Golden(
        "dci.completeness",
        "clarken[lasso .02]",
        lambda c: metrics.dci_completeness_score(
            c.values, c.codes, estimator=Lasso(0.02), split=(all_rows(c),) * 2, average="macro"
        ),
        takes_long=True,
    ),
    # prediction
    Golden("sap", "ref[r2]", lambda c: metrics.sap_score(c.values, c.codes)),
    Golden(
        "sap",
        ("ref[r2]", "dlib[continuous]", "disent[continuous]"),
        lambda c: metrics.sap_score(c.factors, c.codes),
    ),
    Golden(
        "sap",
        "dlib[discrete]",
        lambda c: metrics.sap_score(
            c.factors, c.codes, method="svc", split=(c.train, c.test), random_state=0
        ),
        takes_long=True,
    ),
    Golden(
        "explicitness.test",
        "dlib[test]",
        lambda c: metrics.explicitness_score(
            c.factors,
            c.codes,
            multi_class="multinomial",
            adjusted=False,
            split=(c.train, c.test),
        ),
        takes_long=True,
    ),
    # intervention; below an absolute standard deviation of 0.05 the reference prunes all codes.
    Golden(
        "factor_vae.eval",
        "dlib",
        lambda c: metrics.factor_vae_score(c.factors, c.codes, random_state=0),
        n_eval=1000,
        except_for=frozenset({"f1_contraction"}),
    ),
    # The reference does not standardize, which blinds its classifier to codes of small scale.
    Golden(
        "beta_vae.eval",
        "dlib",
        lambda c: metrics.beta_vae_score(c.factors, c.codes, random_state=0),
        n_eval=1000,
        except_for=frozenset({"f1_contraction"}),
        takes_long=True,
    ),
    # robustness
    Golden(
        "irs",
        ("ref[q=0.99,nobins]", "dlib[q=.99,nobins]"),
        lambda c: metrics.irs_score(c.factors, c.codes),
    ),
    Golden(
        "irs",
        ("ref[q=1,nobins]", "dlib[q=1,nobins]"),
        lambda c: metrics.irs_score(c.factors, c.codes, q=1.0),
    ),
    Golden(
        "uc", "ref[rho=1,top-rho]", lambda c: metrics.unconfoundedness_score(c.factors, c.codes)
    ),
    Golden(
        "uc",
        "ref[rho=2,top-rho]",
        lambda c: metrics.unconfoundedness_score(c.factors, c.codes, rho=2),
    ),
    # independence; infinite where the covariance is singular: test_correlation.py.
    Golden(
        "unsupervised.gaussian_total_correlation",
        "ref",
        lambda c: metrics.gaussian_total_correlation_error(c.codes),
        except_for=SINGULAR,
    ),
    # Singular covariances leave the reference the root of a rounding error.
    Golden(
        "unsupervised.gaussian_wasserstein_correlation",
        "ref",
        lambda c: metrics.gaussian_wasserstein_correlation_error(c.codes),
        tolerance=3e-8,
    ),
    Golden(
        "unsupervised.gaussian_wasserstein_correlation_norm",
        "ref",
        lambda c: metrics.gaussian_wasserstein_correlation_error(c.codes, normalize=True),
        tolerance=3e-8,
    ),
    Golden(
        "unsupervised.mutual_info_score",
        ("ref", "dlib"),
        lambda c: metrics.code_mutual_info_error(c.codes),
    ),
    Golden(
        "hfs_fos",
        "ref[128]",
        lambda c: metrics.factorized_support_distance(c.codes[c.train[:128]]),
    ),
    # logical, modularity
    Golden("logical_mod_radius", FORMULAS, modularity_by("radius")),
    Golden("logical_mod_mad", FORMULAS, modularity_by("mad")),
    Golden("logical_mod_var", FORMULAS, modularity_by("variance")),
    Golden("logical_mod_diam", FORMULAS, modularity_by("diameter")),
    Golden("logical_mod_mpd", FORMULAS, modularity_by("mean_pairwise")),
    # logical, informativeness; the reference stops up to 2e-4 above the proven optimum.
    Golden("logical_inf_me", OPTIMAL, informativeness_by("max_error"), tolerance=2e-4),
    Golden("logical_inf_mae", OPTIMAL, informativeness_by("mae"), takes_long=True),
    Golden("logical_inf_mse", OPTIMAL, informativeness_by("mse")),
    Golden(
        "logical_contraction_max",
        FORMULAS,
        informativeness_by("max_contraction"),
        takes_long=True,
    ),
    Golden("logical_contraction_mean", FORMULAS, informativeness_by("mean_contraction")),
]


def sources_of(golden):
    return (golden.sources,) if isinstance(golden.sources, str) else golden.sources


def each_row(takes_long):
    rows = [golden for golden in GOLDEN if golden.takes_long is takes_long]
    return pytest.mark.parametrize(
        "golden", rows, ids=lambda golden: "-".join([golden.metric, *sources_of(golden)])
    )


def test_references_exist(get_case):
    # A mistyped name would compare with nothing.
    case = get_case("toy51_a0.60_d1.00")
    for golden in GOLDEN:
        assert set(sources_of(golden)) <= set(case.golden.get(golden.metric, {})), golden.metric


def expected_values(golden, case):
    """Numbers by source; a source that is not finite here, as for constant codes, has none."""
    values = case.golden.get(golden.metric, {})
    found = {source: values.get(source) for source in sources_of(golden)}
    means = {s: v.get("mean") if isinstance(v, dict) else v for s, v in found.items()}
    return {source: value for source, value in means.items() if value is not None}


@each_row(takes_long=False)
def test_metric_equals_reference(golden, case):
    check(golden, case)


@each_row(takes_long=True)
def test_metric_that_takes_long_equals_reference(golden, kind_of_case):
    check(golden, kind_of_case)


def check(golden, case):
    if case.name in golden.except_for:
        pytest.skip("The reference computes something else here.")
    value = golden.compute(case)
    assert np.isfinite(value)
    references = expected_values(golden, case)
    if not references:
        pytest.skip("The reference is not a number here; ours is finite.")
    for expected in references.values():
        tolerance = golden.tolerance
        if golden.n_eval is not None:
            # A share of exactly 0 or 1 would leave no tolerance: one vote may always differ.
            spread = max(expected * (1 - expected), 1 / golden.n_eval)
            tolerance = 3 * np.sqrt(spread / golden.n_eval)
        assert value == pytest.approx(expected, abs=tolerance)
