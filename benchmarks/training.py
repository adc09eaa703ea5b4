"""Training speed of BetaVAE against a bare torch loop, of all models, and the memory of fit.

The bare loop trains the same module on the same float data, contiguous in memory, with torch's
default Adam. Both run in turn, several times; the ratio of the best times is printed, and the
difference between their mean losses shows that they do the same work. Where pythae is installed
(the benchmark extra), its trainer runs the same networks in the same turns.

    python benchmarks/training.py            # speed, batch 64 and 256
    python benchmarks/training.py --models   # images/s of all models, cost relative to BetaVAE
    python benchmarks/training.py --memory   # peak memory of fit on 100,000 images
    python benchmarks/training.py --limit    # FactorVAE, and what its discriminator costs alone
    python benchmarks/training.py --cores    # one fit with one torch thread and with two
"""

import argparse
import copy
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import torch

from sklearn_disent import models
from sklearn_disent.datasets import make_dsprites
from sklearn_disent.models import BetaVAE
from sklearn_disent.models.terms import bernoulli_nll, gaussian_kl


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

    def noise(self, n_rows):
        return next(self._noises)


def peer_trainer(encoder, decoder, X, batch_size):
    """pythae's trainer of its own BetaVAE with these networks, or None where it is missing."""
    try:
        from pythae.data.datasets import BaseDataset
        from pythae.models import BetaVAE as PeerVAE
        from pythae.models import BetaVAEConfig
        from pythae.models.base.base_utils import ModelOutput
        from pythae.models.nn import BaseDecoder, BaseEncoder
        from pythae.trainers import BaseTrainer, BaseTrainerConfig
    except ImportError:
        return None

    class Encoder(BaseEncoder):
        def __init__(self):
            super().__init__()
            self.network = encoder

        def forward(self, x):
            mean, log_var = self.network(x).chunk(2, dim=1)
            return ModelOutput(embedding=mean, log_covariance=log_var)

    class Decoder(BaseDecoder):
        def __init__(self):
            super().__init__()
            self.network = decoder

        def forward(self, z):
            return ModelOutput(reconstruction=torch.sigmoid(self.network(z)))

    config = BetaVAEConfig(
        input_dim=tuple(X.shape[1:]), latent_dim=10, beta=4.0, reconstruction_loss="bce"
    )
    trainer = BaseTrainer(
        PeerVAE(config, Encoder(), Decoder()),
        BaseDataset(X, torch.ones(len(X))),
        training_config=BaseTrainerConfig(
            output_dir=tempfile.mkdtemp(),
            per_device_train_batch_size=batch_size,
            learning_rate=1e-3,
            optimizer_cls="Adam",
            no_cuda=True,
        ),
    )
    trainer.prepare_training()
    return trainer


def time_bare(module, X, noises, batch_size):
    """Seconds and losses of the bare loop."""
    module = _fresh(module)
    start = time.perf_counter()
    losses = bare_loop(module, X, noises, batch_size, beta=4.0)
    return time.perf_counter() - start, losses


def time_peer(module, X, batch_size):
    """Seconds of pythae's trainer, or None."""
    module = _fresh(module)
    trainer = peer_trainer(module.encoder, module.decoder, X, batch_size)
    if trainer is None:
        return None
    start = time.perf_counter()
    trainer.train_step(1)
    return time.perf_counter() - start


def time_ours(X, noises, batch_size):
    """Seconds and mean loss of BetaVAE's fit, all of it."""
    vae = _SameNoise(
        batch_size=batch_size, max_epochs=1, random_state=0, iterator_train__shuffle=False
    )
    vae._noises = iter(noises)
    start = time.perf_counter()
    vae.fit(X)
    return time.perf_counter() - start, vae.history_[0, "train_loss"]


def speed(batch_size: int, n_steps: int, n_repeats: int, n_threads: int) -> None:
    """Bare loop, pythae and BetaVAE in turn.

    fit changes how the process keeps freed memory, and every later loop in it gains: the others
    run in a process of their own, which is as a script without this library is.
    """
    X = make_dsprites(batch_size * n_steps, random_state=0).images
    generator = torch.Generator().manual_seed(0)
    noises = [torch.randn(batch_size, 10, generator=generator) for _ in range(n_steps)]
    module = BetaVAE(max_epochs=0, random_state=0).fit(X).module_
    X_float = torch.from_numpy(X).float()[:, None].contiguous()
    times = {"bare": [], "pythae": [], "BetaVAE": []}
    with ProcessPoolExecutor(
        1, multiprocessing.get_context("spawn"), torch.set_num_threads, (n_threads,)
    ) as elsewhere:
        for _ in range(n_repeats):
            seconds, bare = elsewhere.submit(
                time_bare, module, X_float, noises, batch_size
            ).result()
            times["bare"].append(seconds)
            times["pythae"].append(
                elsewhere.submit(time_peer, module, X_float, batch_size).result()
            )
            seconds, ours = time_ours(X, noises, batch_size)
            times["BetaVAE"].append(seconds)
    gap = abs(np.mean(bare) - ours) / np.mean(bare)
    best = {name: min(t) for name, t in times.items() if None not in t}
    print(f"batch {batch_size}: BetaVAE {len(X) / best['BetaVAE']:6.0f} images/s")
    for name in (name for name in best if name != "BetaVAE"):
        print(
            f"batch {batch_size}: {name:7} {len(X) / best[name]:6.0f} images/s, BetaVAE is "
            f"{best[name] / best['BetaVAE']:.2f} times as fast"
        )
    print(f"batch {batch_size}: relative gap between the losses of bare and BetaVAE {gap:.1e}")


def _fresh(module):
    """The same network and weights, contiguous in memory."""
    return copy.deepcopy(module).to(memory_format=torch.contiguous_format)


MODELS = {
    "BetaVAE": BetaVAE(),
    "VAE": models.VAE(),
    "VAE, parts of KL logged": models.VAE(log_decomposition=True),
    "AnnealedVAE": models.AnnealedVAE(),
    "BetaTCVAE mss": models.BetaTCVAE(),
    "BetaTCVAE mws": models.BetaTCVAE(estimator="mws"),
    "BetaTCVAE flow": models.BetaTCVAE(prior="factorized_flow"),
    "FactorVAE": models.FactorVAE(),
    "DIPVAE i": models.DIPVAE(kind="i"),
    "DIPVAE ii": models.DIPVAE(kind="ii"),
    "InfoVAE": models.InfoVAE(),
    "HFSVAE": models.HFSVAE(),
    "InfoGAN": models.InfoGAN(n_components=10),
}


def costs(batch_size: int, n_steps: int, n_repeats: int) -> None:
    """Images/s of every model and its cost relative to BetaVAE, all in turn.

    Times are those of the process, not of the clock, and of an epoch after the first; each is
    divided by BetaVAE's of the same turn, and the median of the ratios is printed, which other
    work on the machine disturbs least.
    """
    X = make_dsprites(batch_size * n_steps, random_state=0).images
    fitted = {
        name: model.set_params(
            batch_size=batch_size, max_epochs=1, random_state=0, warm_start=True
        ).fit(X[: 2 * batch_size])
        for name, model in MODELS.items()
    }
    times: dict[str, list[float]] = {name: [] for name in fitted}
    for _ in range(n_repeats):
        for name, model in fitted.items():
            start = time.process_time()
            model.fit(X)
            times[name].append(time.process_time() - start)
    base = np.array(times["BetaVAE"])
    for name, values in times.items():
        ratio = np.median(np.array(values) / base)
        print(f"batch {batch_size}: {name:24} {len(X) / min(values):6.0f} images/s, {ratio:.2f}")


def limit(batch_size: int, n_steps: int, n_repeats: int) -> None:
    """FactorVAE's cost relative to BetaVAE, beside the least that its discriminator allows.

    The least is one pass forward and one backward over the codes and the permuted codes of a batch,
    and one step of fused Adam, by a bare loop: FactorVAE's single pass serves both of its losses.
    """
    X = make_dsprites(batch_size * n_steps, random_state=0).images
    options = {"batch_size": batch_size, "max_epochs": 1, "random_state": 0, "warm_start": True}
    pair = [
        model.set_params(**options).fit(X[: 2 * batch_size])
        for model in (BetaVAE(), models.FactorVAE())
    ]
    discriminator = copy.deepcopy(pair[1].discriminator_)
    optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-4, fused=True)

    def bare() -> None:
        for _ in range(n_steps):
            codes = torch.randn(2 * batch_size, 10, requires_grad=True)
            optimizer.zero_grad()
            discriminator(codes).diff(dim=1).sum().backward()
            optimizer.step()

    times = []
    for _ in range(n_repeats):
        row = []
        for run in (lambda: pair[0].fit(X), lambda: pair[1].fit(X), bare):
            start = time.process_time()
            with models.freed_memory_kept():
                run()
            row.append(time.process_time() - start)
        times.append(row)
    base, whole, alone = np.array(times).T
    print(
        f"batch {batch_size}: FactorVAE {np.median(whole / base):.2f} times BetaVAE, of which the "
        f"discriminator alone takes {np.median(alone / base):.2f}: the least is "
        f"{np.median(1 + alone / base):.2f}"
    )


def cores(batch_size: int, n_steps: int, n_repeats: int) -> None:
    """One fit with one thread and with two, in turn: time on the wall, and work in all."""
    X = make_dsprites(batch_size * n_steps, random_state=0).images
    times: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for _ in range(n_repeats):
        for n_threads, own in times.items():
            torch.set_num_threads(n_threads)
            vae = BetaVAE(batch_size=batch_size, max_epochs=1, random_state=0)
            start, work = time.perf_counter(), time.process_time()
            vae.fit(X)
            own.append((time.perf_counter() - start, time.process_time() - work))
    (one, less), (two, more) = (np.min(own, axis=0) for own in times.values())
    print(
        f"batch {batch_size}: two threads are {one / two:.2f} times as fast as one on the wall, "
        f"for {more / less:.2f} times the processor time ({os.getloadavg()[0]:.1f} others waited)"
    )


def memory() -> None:
    """Peak memory with and without the fit, each in a process of its own."""
    code = (
        "import resource, sys\n"
        "import numpy as np\n"
        "from sklearn_disent.models import BetaVAE\n"
        "tiny = np.eye(64, dtype=np.uint8)[None].repeat(128, 0)\n"
        "BetaVAE(max_epochs=1, random_state=0).fit(tiny)\n"
        "X = np.random.default_rng(0).integers(0, 2, (100_000, 64, 64), dtype=np.uint8)\n"
        "if sys.argv[1] == 'fit':\n"
        "    BetaVAE(max_epochs=1, batch_size=int(sys.argv[2]), random_state=0).fit(X)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
    )
    array = 100_000 * 64 * 64 / 2**20
    print(f"array {array:.0f} MB")
    for batch_size in (64, 256):
        alone, peak = (
            float(subprocess.check_output([sys.executable, "-c", code, mode, str(batch_size)]))
            for mode in ("array", "fit")
        )
        print(
            f"batch {batch_size}: peak with the array alone {alone:.0f} MB, with fit {peak:.0f} MB:"
            f" fit takes {(array + peak - alone) / array:.2f} times the array"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", action="store_true", help="measure memory instead of speed")
    parser.add_argument("--models", action="store_true", help="all models, relative to BetaVAE")
    parser.add_argument("--limit", action="store_true", help="FactorVAE and its discriminator")
    parser.add_argument("--cores", action="store_true", help="one thread against two")
    parser.add_argument("--threads", type=int, default=1, help="torch threads")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=4)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.memory:
        memory()
    elif options.limit:
        for batch_size, share in ((64, 1), (256, 4)):
            limit(batch_size, options.steps // share, options.repeats)
    elif options.cores:
        for batch_size, share in ((64, 1), (256, 4)):
            cores(batch_size, options.steps // share, options.repeats)
    elif options.models:
        for batch_size, share in ((64, 1), (256, 4)):
            costs(batch_size, options.steps // share, options.repeats)
    else:
        for batch_size, share in ((64, 1), (256, 4)):
            speed(batch_size, options.steps // share, options.repeats, options.threads)
        print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
