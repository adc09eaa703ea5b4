"""Unsupervised disentanglement ranking."""

import json

import numpy as np
import pytest

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    udr_score,
)
from sklearn_disent.metrics.independence._udr import _agreement


@pytest.fixture
def udr_reference(reference_dir):
    with np.load(reference_dir / "udr.npz") as data:
        codes, kl = data["reps"], data["kl"]
    return codes, kl, json.loads((reference_dir / "udr.json").read_text())


# The Spearman reference without filter has nan for a code, which it counts as 0.
@pytest.mark.parametrize(("kind", "filtered"), [("lasso", 1), ("lasso", 0), ("spearman", 1)])
def test_udr_equals_reference(kind, filtered, udr_reference):
    codes, kl, reference = udr_reference
    expected = reference[f"{kind},filter_low_kl={bool(filtered)}"]["model_scores"]
    scores = udr_score(list(codes), kind=kind, kl=list(kl) if filtered else None)
    np.testing.assert_allclose(scores, expected, atol=1e-9)


def test_udr_agreement_of_hand_made_matrices():
    assert _agreement(np.eye(3)) == 1.0
    assert _agreement(0.5 * np.eye(3)) == 0.5
    assert _agreement(np.ones((2, 4))) == (1 / 2 + 1 / 4) / 2
    assert _agreement(np.array([[1.0, 0.0]])) == (1 / 2 + 1) / 2
    assert _agreement(np.zeros((2, 2))) == 0.0
    assert _agreement(np.zeros((0, 2))) == 0.0


@pytest.mark.parametrize(("kind", "perfect"), [("lasso", 0.9), ("spearman", 1.0)])
def test_udr_forgives_order_sign_scale_and_shift(kind, perfect):
    # Whole grids, whose codes are uncorrelated exactly.
    codes = np.stack(np.meshgrid(range(5), range(4), range(3)), axis=-1).reshape(-1, 3) * 1.0
    models = [codes, codes[:, ::-1] * [-1.0, 2.0, 100.0] + 5.0]
    np.testing.assert_allclose(udr_score(models, kind=kind), perfect, atol=1e-9)
    # A rotated model agrees less.
    rotated = codes @ np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    assert udr_score([*models, rotated], kind=kind)[2] < perfect - 0.1


@pytest.mark.parametrize("kind", ["lasso", "spearman"])
def test_udr_leaves_constant_codes_out(kind, udr_reference):
    codes = list(udr_reference[0])
    dead = np.full((len(codes[0]), 1), 0.3)
    with_dead = [np.hstack([dead, codes[0]]), *codes[1:]]
    np.testing.assert_array_equal(udr_score(with_dead, kind=kind), udr_score(codes, kind=kind))


@pytest.mark.parametrize("kind", ["lasso", "spearman"])
def test_udr_of_a_model_without_informative_codes_is_zero(kind, udr_reference):
    codes = udr_reference[0][:2]
    with pytest.warns(DegenerateScoreWarning, match="Model 1 has no informative code"):
        scores = udr_score([codes[0], np.full((1000, 2), 0.3)], kind=kind)
    np.testing.assert_array_equal(scores, [0.0, 0.0])
    with pytest.warns(DegenerateScoreWarning, match="Model 0 has no informative code"):
        scores = udr_score(codes, kind=kind, kl=[np.zeros(4), np.ones(4)])
    np.testing.assert_array_equal(scores, [0.0, 0.0])


def test_udr_takes_models_of_different_width_and_frames(udr_reference):
    pd = pytest.importorskip("pandas")
    one, two = udr_reference[0][:2]
    scores = udr_score([one[:, :3], two])
    assert scores.shape == (2,)
    frames = [pd.DataFrame(one[:, :3]), pd.DataFrame(two)]
    np.testing.assert_array_equal(udr_score(frames), scores)


@pytest.mark.parametrize(
    ("codes", "kl", "match"),
    [
        ([np.ones((5, 2))], None, "two or more 2D arrays"),
        (np.ones((5, 2)), None, "two or more 2D arrays"),
        ([np.eye(5), np.eye(4)], None, r"same samples in the same order, got \[5, 4\] rows"),
        ([np.eye(4), np.eye(4)], [np.ones(4), np.ones(3)], "one value per code of every model"),
        ([np.eye(4), np.full((4, 2), np.nan)], None, "NaN"),
        ([np.eye(4), np.full((4, 2), np.inf)], None, "finite"),
    ],
)
def test_udr_names_bad_input(codes, kl, match):
    with pytest.raises(ValueError, match=match):
        udr_score(codes, kl=kl)


def test_udr_takes_codes_above_the_threshold_only():
    rng = np.random.default_rng(0)
    one, noise = rng.normal(size=(200, 1)), rng.normal(size=(2, 200, 1))
    codes = [np.hstack([one, part]) for part in noise]
    # A lone pair of equal codes: the coefficient of the lasso, 1 - alpha.
    alone = udr_score(codes, kl=[[0.02, 0.01]] * 2, kl_threshold=0.01, alpha=0.1)
    assert alone.tolist() == pytest.approx([0.9, 0.9])
    both = udr_score(codes, kl=[[0.02, 0.0101]] * 2, kl_threshold=0.01, alpha=0.1)
    assert (both < 0.8).all()
