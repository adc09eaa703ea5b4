"""Training speed of BetaVAE against a bare torch loop, and the memory that fit needs.

The bare loop trains the same module on the same float data, contiguous in memory, with torch's
default Adam. Both run in turn, several times; the ratio of the best times is printed, and the
largest difference between their losses shows that they do the same work.

    python benchmarks/training.py            # speed, batch 64 and 256
    python benchmarks/training.py --memory   # peak memory of fit on 100,000 images
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
import torch

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.models import BetaVAE
from sklearn_disent.models._terms import bernoulli_nll, gaussian_kl


def bare_loop(module, X, noises, batch_size, beta):
    """What one would write by hand: shuffled indices, float batches, Adam."""
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3)
    losses = []
    for start, noise in zip(range(0, len(X), batch_size), noises):
        x = X[start : start + batch_size]
        out = module(x, noise)
        kl = gaussian_kl(out.mean, out.log_var).sum(1).mean()
        loss = bernoulli_nll(x, out.decoded).mean() + beta * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class _SameNoise(BetaVAE):
    """BetaVAE that takes its noise from a list, so that both loops see the same."""

    def _noise(self, n_rows):
        return next(self._noises)


def speed(batch_size: int, n_steps: int, n_repeats: int) -> None:
    X = make_dsprites(batch_size * n_steps, random_state=0).images
    generator = torch.Generator().manual_seed(0)
    noises = [torch.randn(batch_size, 10, generator=generator) for _ in range(n_steps)]
    vae = _SameNoise(
        batch_size=batch_size, max_epochs=0, random_state=0, iterator_train__shuffle=False
    )
    vae.fit(X)
    state = vae.module_.state_dict()
    X_float = torch.from_numpy(X).float()[:, None].contiguous()
    times = {"bare": [], "BetaVAE": []}
    for _ in range(n_repeats):
        module = type(vae.module_)(
            *(_fresh(part) for part in (vae.module_.encoder, vae.module_.decoder))
        )
        module.load_state_dict(state)
        start = time.perf_counter()
        bare = bare_loop(module, X_float, noises, batch_size, beta=4.0)
        times["bare"].append(time.perf_counter() - start)

        ours = _SameNoise(
            batch_size=batch_size, max_epochs=1, random_state=0, iterator_train__shuffle=False
        )
        ours._noises = iter(noises)
        start = time.perf_counter()
        ours.fit(X)
        times["BetaVAE"].append(time.perf_counter() - start)
    gap = abs(np.mean(bare) - ours.history_[0, "train_loss"]) / np.mean(bare)
    n = len(X)
    best = {name: min(t) for name, t in times.items()}
    print(
        f"batch {batch_size}: bare {n / best['bare']:6.0f} images/s, "
        f"BetaVAE {n / best['BetaVAE']:6.0f} images/s, "
        f"ratio {best['bare'] / best['BetaVAE']:.2f}, relative loss gap {gap:.1e}"
    )


def _fresh(part):
    """The same network, contiguous in memory."""
    import copy

    return copy.deepcopy(part).to(memory_format=torch.contiguous_format)


def memory() -> None:
    """Peak memory with and without the fit, each in a process of its own."""
    code = (
        "import resource, sys\n"
        "import numpy as np\n"
        "from sklearn_disent.models import BetaVAE\n"
        "BetaVAE(max_epochs=1, random_state=0).fit(np.eye(64, dtype=np.uint8)[None].repeat(128, 0))\n"
        "X = np.random.default_rng(0).integers(0, 2, (100_000, 64, 64), dtype=np.uint8)\n"
        "if sys.argv[1] == 'fit':\n"
        "    BetaVAE(max_epochs=1, batch_size=256, random_state=0).fit(X)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
    )
    peak = {
        mode: float(subprocess.check_output([sys.executable, "-c", code, mode]))
        for mode in ("array", "fit")
    }
    array = 100_000 * 64 * 64 / 2**20
    extra = peak["fit"] - peak["array"]
    print(
        f"array {array:.0f} MB; peak with the array alone {peak['array']:.0f} MB, "
        f"with fit {peak['fit']:.0f} MB: fit takes {(array + extra) / array:.2f} times the array"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", action="store_true", help="measure memory instead of speed")
    parser.add_argument("--threads", type=int, default=1, help="torch threads")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=4)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.memory:
        memory()
    else:
        for batch_size, share in ((64, 1), (256, 4)):
            speed(batch_size, options.steps // share, options.repeats)
        print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
