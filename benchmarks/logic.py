"""Time of ready properties beside their closed forms: 10,000 rows, 10 codes, 5 factors.

``python benchmarks/logic.py`` prints processor seconds of the closed form, of the property (which
takes it), their ratio, and of the formula itself, with the standard error of drawn pairs and the
peak of memory that Python allocated.
"""

import time
import tracemalloc

import numpy as np

from sklearn_disent.logic import properties
from sklearn_disent.metrics import informativeness_distance, modularity_distance

SIZES = (3, 6, 40, 32, 32)
RULES = {
    "variance": properties.modularity_by_product("variance"),
    "radius": properties.modularity_by_product("radius"),
    "mad": properties.modularity_by_product("mad"),
    "diameter": properties.modularity_by_constancy("diameter"),
    "mean_pairwise": properties.modularity_by_constancy("mean_pairwise"),
    "mse": properties.informativeness_by_inverse("mse"),
    "mean_contraction": properties.informativeness_by_injectivity("mean"),
}
WITHOUT = [
    properties.modularity_by_pairs(),
    properties.consistency(),
    properties.restrictiveness(),
    properties.disentanglement(),
    properties.completeness(),
    properties.equivariance(),
    properties.one_latent_per_factor(),
]


def seconds(function, *args, **options):
    start = time.process_time()
    function(*args, **options)
    return time.process_time() - start


def main():
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(size, size=10_000) for size in SIZES], axis=1)
    codes = factors @ rng.normal(size=(5, 10)) + rng.normal(size=(10_000, 10))
    print(f"{'':36}{'closed':>9}{'property':>10}{'ratio':>7}{'formula':>9}")
    for name, rule in RULES.items():
        if name in ("mse", "mean_contraction"):
            closed = seconds(informativeness_distance, factors, codes, quantity=name)
        else:
            closed = seconds(modularity_distance, factors, codes, deviation=name)
        own = seconds(rule.quantity, factors, codes)
        formula = seconds(rule.quantity, factors, codes, method="formula")
        print(f"{rule.name:36}{closed:9.2f}{own:10.2f}{own / closed:7.2f}{formula:9.2f}")
    print(f"\n{'without a closed form':36}{'seconds':>9}{'MiB':>10}{'quantity':>10}{'error':>10}")
    for rule in WITHOUT:
        own = seconds(rule.quantity, factors, codes)
        tracemalloc.start()
        found = rule.evaluate(factors, codes)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(f"{rule.name:36}{own:9.2f}{peak:10.0f}{found.quantity:10.4f}{found.error:10.1g}")


if __name__ == "__main__":
    main()
