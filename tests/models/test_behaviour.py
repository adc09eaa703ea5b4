"""What the models are for, on a small rendered set: an ellipse at 32 x 32 positions."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.metrics import infoe_score, mig_score
from sklearn_disent.models import (
    DIPVAE,
    HFSVAE,
    VAE,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    InfoGAN,
    InfoVAE,
    QuantizedAE,
)

pytestmark = pytest.mark.slow

SMALL = {
    "n_components": 4,
    "architecture": "mlp",
    "module__hidden_sizes": (128, 128),
    "batch_size": 64,
    "max_epochs": 60,
    "lr": 2e-3,
    "random_state": 0,
}
DISCRIMINATOR = {"discriminator__hidden_sizes": (64, 64, 64), "discriminator_lr": 1e-3}


def draw(**factors):
    """16 x 16 images of an ellipse, with the factors that vary."""
    fixed = {"shape": [1], "orientation": [0], "scale": [5]}
    X, y = make_dsprites(
        factors={**fixed, **factors}, image_size=32, random_state=0, return_X_y=True
    )
    varies = [column for column in range(y.shape[1]) if len(np.unique(y[:, column])) > 1]
    return X.reshape(-1, 16, 2, 16, 2).mean((2, 4)), y[:, varies]


@pytest.fixture(scope="module")
def sprites():
    return draw()


@pytest.fixture(scope="module")
def vae(sprites):
    return VAE(**SMALL, log_decomposition=True).fit(sprites[0])


def last(model, name):
    """Mean of a term over the last five epochs."""
    return np.mean([row[f"train_{name}"] for row in model.history_[-5:]])


def test_larger_beta_lowers_the_kl(sprites, vae):
    strong = BetaVAE(**SMALL, beta=8.0).fit(sprites[0])
    assert last(strong, "kl") < 0.8 * last(vae, "kl")
    assert last(strong, "reconstruction") > last(vae, "reconstruction")


def test_annealed_kl_follows_the_capacity(sprites):
    # 16 steps per epoch: the capacity grows by 0.16 nats in each, and ends at 8.
    model = AnnealedVAE(**SMALL, capacity=8.0, n_annealing_steps=800).fit(sprites[0])
    for row in model.history_[10:]:
        assert row["train_kl"] == pytest.approx(row["train_capacity"], abs=0.5)
    assert last(model, "kl") == pytest.approx(8.0, abs=0.2)


def test_beta_tc_lowers_total_correlation_at_equal_reconstruction(sprites, vae):
    model = BetaTCVAE(**SMALL, beta=6.0).fit(sprites[0])
    # 10.3 nats against 11.1, where an untrained model has 180
    assert last(model, "reconstruction") < last(vae, "reconstruction") + 1.5
    assert last(model, "total_correlation") < last(vae, "total_correlation") - 0.5


def test_factor_vae_discriminator_tends_to_chance_as_tc_falls(sprites):
    free, held = (
        FactorVAE(**SMALL, **DISCRIMINATOR, gamma=gamma, log_decomposition=True).fit(sprites[0])
        for gamma in (0.0, 10.0)
    )
    assert last(held, "total_correlation") < last(free, "total_correlation")
    assert last(held, "density_ratio_tc") < last(free, "density_ratio_tc")
    accuracies = last(free, "discriminator_accuracy"), last(held, "discriminator_accuracy")
    assert accuracies[0] > 0.6
    assert abs(accuracies[1] - 0.5) < 0.5 * abs(accuracies[0] - 0.5)


@pytest.mark.parametrize("kind", ["i", "ii"])
def test_dip_moves_the_covariance_towards_the_identity(sprites, vae, kind):
    X, _ = sprites

    def distance(model):
        mean, log_var = model.posterior(X)
        covariance = np.cov(mean, rowvar=False)
        if kind == "ii":
            covariance = covariance + np.diag(np.exp(log_var).mean(0))
        return np.abs(covariance - np.eye(4)).max()

    model = DIPVAE(**SMALL, kind=kind).fit(X)
    assert distance(model) < 0.3
    assert distance(model) < 0.8 * distance(vae)


# -- against PCA ---------------------------------------------------------------------------------

# The set was chosen so that it can be learnt in seconds: the two factors move different pixels, so
# no model gains by mixing them, and each is spread over several linear components. Weights are the
# defaults, except that 256 pixels do not hold 25 nats (AnnealedVAE), a small discriminator will do
# (FactorVAE), and InfoGAN needs a stronger link to its codes. Seeds were not looked at in choosing.
SEEDS = (10, 11, 12)
ALIGNED = {**SMALL, "batch_size": 32, "lr": 1e-3, "module__init": "he"}
GAN = {k: SMALL[k] for k in ("n_components", "architecture", "module__hidden_sizes", "max_epochs")}
MODELS = {
    "beta": BetaVAE(**ALIGNED),
    "annealed": AnnealedVAE(**ALIGNED, gamma=20.0, capacity=6.0, n_annealing_steps=1500),
    "tc": BetaTCVAE(**ALIGNED),
    "tc mws": BetaTCVAE(**ALIGNED, estimator="mws"),
    "factor": FactorVAE(**ALIGNED, **DISCRIMINATOR),
    "dip i": DIPVAE(**ALIGNED, kind="i"),
    "dip ii": DIPVAE(**ALIGNED, kind="ii"),
    "info": InfoVAE(**ALIGNED),
    "hfs": HFSVAE(**ALIGNED),
    "infogan": InfoGAN(**GAN, batch_size=32, lr=1e-3, n_noise=1, coefficient=1.0),
}


@pytest.fixture(scope="module")
def movers():
    """A large ellipse that moves along the upper half, and a small one along the lower half."""

    def moves(scale):
        X, y = draw(posY=[16], scale=[scale])
        return X[np.argsort(y[:, 0]), 4:12]

    upper, lower = np.divmod(np.random.default_rng(0).permutation(32 * 32), 32)
    X = np.concatenate([moves(5)[upper], moves(0)[lower]], axis=1)
    return X, np.column_stack([upper, lower])


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_model_beats_the_mig_of_pca(model, movers):
    X, y = movers
    baseline = mig_score(y, PCA(4, random_state=0).fit_transform(X.reshape(len(X), -1)))
    scores = [
        mig_score(y, model.set_params(random_state=seed).fit(X).transform(X)) for seed in SEEDS
    ]
    assert np.mean(scores) > baseline, (scores, baseline)


# -- latent quantization ------------------------------------------------------------------------


def test_quantized_codes_are_more_explicit_than_those_of_beta_vae():
    """Settings are those of study_identifiability, chosen there on another seed.

    InfoE of the codes as numbers, 0.56 in the mean against 0.43. InfoM is not tested: the study
    does not decide it.
    """
    varied = {"shape": [0, 1, 2], "scale": [0, 2, 5]}
    X, y = draw(**varied, posX=range(0, 32, 2), posY=range(0, 32, 2))
    net = {**ALIGNED, "n_components": 8, "batch_size": 128, "lr": 2e-3, "max_epochs": 100}
    scores = [
        [
            infoe_score(y, model.set_params(random_state=seed).fit(X).transform(X))
            for seed in (0, 1, 2)
        ]
        for model in (BetaVAE(**net, beta=4.0), QuantizedAE(**net, weight_decay=0.1))
    ]
    assert np.mean(scores[1]) > np.mean(scores[0]) + 0.05, scores
