"""Labels as guidance: the terms, what labels may be, and what they are good for."""

import json
import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from torch.autograd import gradcheck

from sklearn_disent.metrics import dci_disentanglement_score, get_scorer
from sklearn_disent.models import (
    DIPVAE,
    HFSVAE,
    VAE,
    AdaGVAE,
    AdaMLVAE,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    InfoVAE,
    Labels,
    LinearSchedule,
    ProductVAE,
    VAEOutput,
)
from sklearn_disent.models._labels import LabelLoss, keep_labels, read_labels
from sklearn_disent.models.terms import (
    cov_penalty,
    embed_losses,
    l2_losses,
    mean_over_known,
    xent_losses,
)

from .conftest import TINY

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "causal" / "semi_supervised.json").read_text()
)
MODELS = {
    "VAE": VAE(**TINY),
    "BetaVAE": BetaVAE(**TINY),
    "AnnealedVAE": AnnealedVAE(**TINY, n_annealing_steps=20),
    "BetaTCVAE": BetaTCVAE(**TINY),
    "BetaTCVAE-flow": BetaTCVAE(**TINY, prior="factorized_flow"),
    "DIPVAE": DIPVAE(**TINY),
    "FactorVAE": FactorVAE(**TINY, discriminator__hidden_sizes=(8, 8)),
    "InfoVAE": InfoVAE(**TINY),
    "HFSVAE": HFSVAE(**TINY),
}
# These use y themselves: it stays as it is where labels are hidden from the guidance.
NEED_Y = {
    "AdaGVAE": AdaGVAE(**TINY),
    "AdaMLVAE": AdaMLVAE(**TINY),
    "ProductVAE": ProductVAE(**TINY),
}
KINDS = ("xent", "l2", "cov", "embed")


def every_model_and_kind():
    """Every model with "embed", which has weights of its own, and every kind with one model."""
    models = {**MODELS, **NEED_Y}
    pairs = dict.fromkeys([(name, "embed") for name in models] + [("BetaVAE", k) for k in KINDS])
    return pytest.mark.parametrize(
        ("model", "kind"), [pytest.param(models[n], k, id=f"{n}-{k}") for n, k in pairs]
    )


def every_kind():
    return pytest.mark.parametrize("kind", KINDS)


def weights_of(model):
    return {
        name: value
        for name, value in model.module_.state_dict().items()
        if not name.startswith("guidance.")
    }


def losses_of(model):
    return [row["train_loss"] for row in model.history_]


# -- the terms -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def golden():
    codes, labels = (torch.tensor(REFERENCE[name], dtype=torch.float64) for name in "ZY")
    tables = [torch.tensor(t, dtype=torch.float64) for t in REFERENCE["embed_tables"]]
    return codes, labels, torch.tensor(REFERENCE["sizes"]), tables


def test_terms_equal_the_reference(golden):
    codes, labels, sizes, tables = golden
    xent, l2 = xent_losses(codes, labels, sizes), l2_losses(codes, labels, torch.ones(2))
    assert xent.sum().item() == pytest.approx(REFERENCE["xent"], abs=1e-12)
    assert l2.sum().item() == pytest.approx(REFERENCE["l2_learn_scale_b1"], abs=1e-12)
    assert cov_penalty(codes, labels).item() == pytest.approx(REFERENCE["cov"], abs=1e-12)
    embed = mean_over_known(embed_losses(codes, labels, tables), labels)
    assert embed.item() == pytest.approx(REFERENCE["embed_sigma1"], abs=1e-12)


def test_terms_of_one_known_entry_by_hand():
    codes = torch.tensor([[0.5, 2.0, -1.0], [1.0, -1.0, 3.0]], dtype=torch.float64)
    labels = torch.tensor([[1.0, torch.nan], [torch.nan, torch.nan]], dtype=torch.float64)
    expected = np.log1p(np.exp(0.5)) - 0.5 * 0.5  # softplus(z) - z y / size
    xent = xent_losses(codes, labels, torch.tensor([2, 3]))
    assert mean_over_known(xent, labels).item() == pytest.approx(expected)
    l2 = l2_losses(codes, labels, torch.tensor([4.0, 1.0]))
    assert mean_over_known(l2, labels).item() == pytest.approx((4 * 0.5 - 1) ** 2)
    tables = [torch.tensor([0.0, 1.0], dtype=torch.float64)] * 2
    embed = embed_losses(codes, labels, tables, sigma=2.0)
    assert mean_over_known(embed, labels).item() == pytest.approx(np.log(2))  # equally far
    assert cov_penalty(codes, labels).item() == 0.0  # nothing covaries in one row


@every_kind()
def test_terms_do_not_see_rows_without_labels(golden, kind):
    codes, labels, sizes, _ = golden
    term = LabelLoss(kind, sizes.tolist(), 1.0).double()
    further = torch.cat([labels, torch.full((3, 2), torch.nan)])
    padded = torch.cat([codes, torch.full((3, 4), 1e3, dtype=torch.float64)])
    assert term(padded, further).item() == pytest.approx(term(codes, labels).item(), rel=1e-12)


@every_kind()
def test_terms_are_differentiable_with_missing_entries(golden, kind):
    codes, labels, sizes, _ = golden
    labels = labels.clone()
    labels[0, 1] = labels[3] = torch.nan
    term = LabelLoss(kind, sizes.tolist(), 1.0).double()
    assert gradcheck(lambda z: term(z, labels), codes.clone().requires_grad_())


def test_covariance_leaves_out_a_factors_own_latent():
    codes = torch.randn(50, 2, generator=torch.Generator().manual_seed(0)).double()
    codes -= codes.mean(0)
    codes[:, 1] -= codes[:, 0] * (codes[:, 0] @ codes[:, 1]) / (codes[:, 0] @ codes[:, 0])
    assert cov_penalty(codes, codes).item() == pytest.approx(0.0, abs=1e-12)
    assert cov_penalty(codes, codes.flip(1)).item() > 0.5


# -- training --------------------------------------------------------------------------------


@every_model_and_kind()
def test_without_labels_it_is_the_unguided_model_bit_for_bit(images, model, kind, fit_once):
    X, y = images
    plain = fit_once(model)
    cases = [(y, 0)]
    if type(model).__name__ in MODELS:
        cases += [(np.full(y.shape, np.nan), None), (np.full(y.shape, -1), None)]
    for labels, n_labeled in cases:
        guidance = Labels(kind, n_labeled=n_labeled)
        same = clone(model).set_params(guidance=guidance).fit(X, labels)
        assert_array_equal(same.transform(X), plain.transform(X))
        assert losses_of(same) == losses_of(plain)
        for name, weights in weights_of(plain).items():
            assert torch.equal(weights_of(same)[name], weights), name


@every_model_and_kind()
def test_labels_change_the_codes_and_what_is_learnt(images, model, kind, fit_once):
    X, y = images
    plain = fit_once(model)
    guided = clone(model).set_params(guidance=Labels(kind, weight=50.0)).fit(X, y)
    assert not np.allclose(guided.transform(X), plain.transform(X), atol=1e-3)
    assert np.isfinite(guided.history_[-1, f"train_labels_{kind}"])
    learnt = list(guided.module_.guidance["labels"].parameters())
    start = list(LabelLoss(kind, (5, 5), 1.0).parameters())
    assert len(learnt) == len(start) == {"l2": 1, "embed": 2}.get(kind, 0)
    assert all(not torch.equal(a, b) for a, b in zip(learnt, start))


@pytest.mark.slow
@every_kind()
@pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.TrainingWarning")
def test_terms_fall_in_training(images, small, kind):
    X, y = images
    model = small(guidance=Labels(kind, weight=30.0), max_epochs=25).fit(X, y)
    terms = [row[f"train_labels_{kind}"] for row in model.history_]
    assert terms[-1] < 0.9 * terms[0]


def test_weighted_terms_sum_to_the_loss(images, small):
    schedule = LinearSchedule(0.0, 8.0, n_steps=4)
    model = small(guidance=Labels("l2", weight=schedule), max_epochs=3)
    X, y = images
    model.set_params(batch_size=-1).fit(X, y)
    for step, row in enumerate(model.history_):
        expected = row["train_reconstruction"] + row["train_kl"] + 2 * step * row["train_labels_l2"]
        assert row["train_loss"] == pytest.approx(expected, rel=1e-6)


@every_kind()
def test_warm_epochs_add_up_with_labels(images, small, kind):
    X, y = images
    params = {"guidance": Labels(kind, n_labeled=0.4)}
    four = small(**params, max_epochs=4).fit(X, y)
    half = small(**params, warm_start=True).fit(X, y)
    half = pickle.loads(pickle.dumps(half)).fit(X, y)
    assert_array_equal(half.transform(X), four.transform(X))


def test_numbers_and_missing_entries_are_told_apart(images, small):
    X, y = images
    holes = np.random.default_rng(0).random(y.shape) < 0.5
    with_nan, with_minus_one = np.where(holes, np.nan, y), np.where(holes, -1, y)
    for kind in KINDS:
        fits = [
            small(guidance=Labels(kind)).fit(X, labels).transform(X)
            for labels in (with_nan, with_minus_one, with_minus_one.tolist())
        ]
        assert_array_equal(fits[0], fits[1])
        assert_array_equal(fits[0], fits[2])
        assert not np.allclose(
            fits[0], small(guidance=Labels(kind)).fit(X, y).transform(X), atol=1e-4
        )
    # Among numbers, -1 is a number.
    numbers = np.where(holes, -1.0, y)
    a, b = (small(guidance=Labels("l2")).fit(X, labels) for labels in (numbers, with_nan))
    assert not np.allclose(a.transform(X), b.transform(X), atol=1e-4)


def test_labels_may_be_a_single_factor_or_a_frame(images, small):
    pd = pytest.importorskip("pandas")
    X, y = images
    model = small(guidance=Labels("xent"))
    assert_array_equal(
        clone(model).fit(X, y[:, 0]).transform(X), clone(model).fit(X, y[:, :1]).transform(X)
    )
    frame = pd.DataFrame(y, columns=["row", "column"])
    assert_array_equal(clone(model).fit(X, frame).transform(X), clone(model).fit(X, y).transform(X))


@pytest.mark.slow
def test_columns_choose_factors_and_their_latents(images, small):
    X, y = images
    both = small(n_components=3, guidance=Labels("l2")).fit(X, y)
    same = small(n_components=3, guidance=Labels("l2", columns=[0, 1])).fit(X, y)
    assert_array_equal(same.transform(X), both.transform(X))
    # Column 1 alone teaches latent 1, whatever column 0 holds.
    guidance = Labels("l2", columns=[1], weight=300.0)
    second = small(n_components=3, guidance=guidance, max_epochs=40, lr=1e-2)
    strange = np.column_stack([np.full(120, 7), y[:, 1]])
    codes = clone(second).fit(X, strange).transform(X)
    assert_array_equal(clone(second).fit(X, y).transform(X), codes)
    correlations = [abs(np.corrcoef(codes[:, k], y[:, 1])[0, 1]) for k in range(3)]
    assert np.argmax(correlations) == 1
    assert correlations[1] > 0.9


@every_kind()
def test_columns_of_every_kind_are_those_of_their_own_latents(kind):
    generator = torch.Generator().manual_seed(0)
    codes = torch.randn(20, 4, generator=generator)
    labels = torch.randint(3, (20, 1), generator=generator).float()
    loss = LabelLoss(kind, [3], 1.0)
    net = SimpleNamespace(module_=SimpleNamespace(guidance={"labels": loss}))
    output = VAEOutput(codes, codes, codes, codes)
    guide = Labels(kind, columns=[2], weight=3.0)
    guide.name_ = "labels"
    ((name, (weight, value)),) = guide.terms(codes, output, {"labels": labels}, net).items()
    assert (name, weight) == (kind, 3.0)
    torch.testing.assert_close(value, loss(codes[:, [2, 0, 1, 3]], labels))


def test_labels_of_two_kinds_stand_side_by_side(images, small):
    X, y = images
    guidance = [Labels("xent", columns=[0]), Labels("l2", columns=[1], weight=1.0)]
    model = small(guidance=guidance).fit(X, y)
    row = model.history_[-1]
    total = 100.0 * row["train_labels_1_xent"] + row["train_labels_2_l2"]
    total += row["train_reconstruction"] + row["train_kl"]
    assert row["train_loss"] == pytest.approx(total, rel=1e-5)
    assert [guide.factor_sizes_ for guide in model.guidance_.values()] == [(5,), (5,)]


def test_kind_and_factors_stay_while_training_goes_on(images, small):
    X, y = images
    model = small(guidance=Labels("xent"), warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="keeps its 2 factors and kind='xent', got 1 columns"):
        model.fit(X, y[:, :1])
    with pytest.raises(ValueError, match="and kind='l2'"):
        model.set_params(guidance__kind="l2").fit(X, y)


# -- how many labels -------------------------------------------------------------------------


def test_n_labeled_hides_all_other_rows():
    labels = np.arange(40.0).reshape(20, 2)
    labels[:4] = np.nan
    labels[4, 0] = np.nan
    for n_labeled, expected in ((5, 5), (0.5, 8), (1.0, 16), (0, 0), (None, 16)):
        kept = keep_labels(labels, n_labeled, 0)
        known = ~np.isnan(kept).all(1)
        assert known.sum() == expected
        assert_array_equal(kept[known], labels[known])
    assert_array_equal(keep_labels(labels, 5, 0), keep_labels(labels, 5, 0))
    assert not np.array_equal(keep_labels(labels, 5, 0), keep_labels(labels, 5, 1), equal_nan=True)
    with pytest.raises(ValueError, match="n_labeled=17 exceeds the number of rows with labels, 16"):
        keep_labels(labels, 17, 0)


def test_n_labeled_leaves_a_users_generator_alone():
    rng = np.random.RandomState(0)
    before = rng.get_state()[1].copy()
    keep_labels(np.zeros((5, 1)), 2, rng)
    assert_array_equal(rng.get_state()[1], before)


def test_n_labeled_is_a_parameter_of_searches(images, small):
    X, y = images
    search = GridSearchCV(
        small(guidance=Labels("embed")),
        {"guidance__n_labeled": [0, 0.3, 1.0]},
        scoring=get_scorer("mig"),
        cv=KFold(2, shuffle=True, random_state=0),
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert len(set(scores)) == 3


# -- what is refused -------------------------------------------------------------------------


def test_labels_outside_their_range_are_refused(images, small):
    X, y = images
    wrong = y.copy()
    wrong[7, 1] = 5
    for kind in ("xent", "embed"):
        with pytest.raises(ValueError, match=r"Factor 1 has 5 classes, .* from 0 to 4, got 5"):
            small(guidance=Labels(kind, factor_sizes=(5, 5))).fit(X, wrong)
        model = small(guidance=Labels(kind)).fit(X, y)
        assert model.guidance_["labels"].factor_sizes_ == (5, 5)
        with pytest.raises(ValueError, match="Factor 1 has 5 classes"):
            model.partial_fit(X, wrong)
    wrong[7, 1] = -2
    with pytest.raises(ValueError, match="factor 1 in row 7 is -2, but classes are numbered from"):
        small(guidance=Labels("l2")).fit(X, wrong)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "requires y to be passed"),
        (np.full((120, 2), np.inf), "must be finite"),
        (np.full((120, 2), "a"), "must be numbers.*OrdinalEncoder"),
        (np.zeros((120, 2, 2)), "must be 2D"),
        (np.full((120, 2), 0.5), "whole numbers; for others, use 'l2' or 'cov'"),
        (np.arange(480).reshape(120, 4), "4 factors needs at least as many latents"),
    ],
    ids=["none", "infinite", "strings", "dimensions", "fractions", "factors"],
)
def test_labels_that_cannot_be_used_are_refused(images, small, labels, message):
    with pytest.raises(ValueError, match=message):
        small(guidance=Labels("xent")).fit(images[0], labels)


def test_labels_of_another_length_are_refused(images, small):
    X, y = images
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        small(guidance=Labels("l2")).fit(X, y[:-1])
    with pytest.raises(ValueError, match="one row per observation, 120, got 119"):
        read_labels(y[:-1], 120, classes=True)


@every_kind()
def test_factor_with_one_value_is_refused(images, small, kind):
    X, y = images
    labels = np.column_stack([y[:, 0], np.where(y[:, 1] == 3, 3, -1)])
    with pytest.raises(ValueError, match="Factor 1 has the single value 3 in all its labels"):
        small(guidance=Labels(kind)).fit(X, labels)
    # Unless the user knows that there are others.
    told = small(guidance=Labels(kind, factor_sizes=(5, 5))).fit(X, labels)
    assert told.guidance_["labels"].factor_sizes_ == (5, 5)


def test_parameters_are_validated(images, small):
    X, y = images
    for params, message in (
        ({"kind": "nonsense"}, "'kind' parameter of Labels must be a str among"),
        ({"weight": -1.0}, "'weight' parameter of Labels"),
        ({"n_labeled": 1.5}, "'n_labeled' parameter of Labels"),
        ({"n_labeled": -1}, "'n_labeled' parameter of Labels"),
        ({"sigma": 0.0}, "'sigma' parameter of Labels"),
        ({"factor_sizes": (5,)}, "each of the 2 factors"),
        ({"factor_sizes": (5, 1)}, "at least 2"),
        ({"columns": 1}, "'columns' parameter of Labels"),
        ({"columns": [2]}, "from 0 to 1, the columns of y"),
        ({"columns": [0, 0]}, "different numbers of columns"),
        ({"columns": []}, "columns"),
    ):
        with pytest.raises(ValueError, match=message):
            small(guidance=Labels(**params)).fit(X, y)


def test_a_refused_fit_leaves_the_model_as_it_was(images, small):
    X, y = images
    model = small(guidance=Labels("embed")).fit(X, y)
    codes = model.transform(X)
    with pytest.raises(ValueError, match="single value"):
        model.fit(X, np.zeros_like(y))
    assert_array_equal(model.transform(X), codes)
    assert model.guidance_["labels"].factor_sizes_ == (5, 5)


def test_weights_load_into_a_model_that_was_never_fitted(images, small, tmp_path):
    X, y = images
    model = small(guidance=Labels("embed")).fit(X, y)
    model.save_params(f_params=tmp_path / "weights.pt")
    other = small(guidance=Labels("embed"), input_shape=(8, 8))
    with pytest.raises(ValueError, match="Set factor_sizes of Labels, or call fit"):
        other.initialize()
    other.set_params(guidance__factor_sizes=(5, 5)).initialize()
    other.load_params(f_params=tmp_path / "weights.pt")
    table = model.module_.guidance["labels"].tables[0]
    assert torch.equal(other.module_.guidance["labels"].tables[0], table)
    assert_array_equal(other.transform(X.astype(float)), model.transform(X.astype(float)))


# -- what labels are good for ----------------------------------------------------------------


def confounded_images(n_samples, seed, strength):
    """12 x 12 images of a block: its row and column, which a confounder moves, and its shade."""
    rng = np.random.default_rng(seed)
    confounder = rng.integers(0, 5, n_samples)

    def draw():
        obeys = rng.random(n_samples) < strength
        return np.where(obeys, confounder, rng.integers(0, 5, n_samples))

    y = np.column_stack([draw(), draw(), rng.integers(0, 3, n_samples)])
    X = np.zeros((n_samples, 12, 12), np.float32)
    for image, (row, column, shade) in zip(X, y):
        image[2 * row : 2 * row + 4, 2 * column : 2 * column + 4] = (shade + 1) / 3
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        BetaVAE(beta=2.0),
        BetaTCVAE(beta=3.0),
        DIPVAE(lambda_od=5.0, lambda_d=5.0),
        FactorVAE(gamma=3.0, discriminator__hidden_sizes=(64, 64), discriminator_lr=1e-3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_ten_percent_of_labels_disentangle_confounded_factors(model):
    X, y = confounded_images(1000, 0, 0.7)
    # Judged where factors are independent: there, codes that follow the confounder show.
    X_test, y_test = confounded_images(1000, 1, 0.0)
    model.set_params(
        n_components=5,
        architecture="mlp",
        module__hidden_sizes=(64,),
        max_epochs=30,
        batch_size=50,
        lr=2e-3,
    )

    def mean_score(**params):
        scores = []
        for seed in range(3):
            fitted = clone(model).set_params(**params, random_state=seed).fit(X, y)
            codes = fitted.transform(X_test)
            scores.append(dci_disentanglement_score(y_test, codes, random_state=0))
        return np.mean(scores)

    plain = mean_score()
    for kind in ("xent", "l2", "embed"):
        assert mean_score(guidance=Labels(kind, n_labeled=0.1)) > plain + 0.1, kind
