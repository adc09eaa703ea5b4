"""ModelCentrality: models that agree are central."""

import numpy as np
import pytest

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import model_centrality_score

CODES = np.random.default_rng(0).normal(size=(800, 2))
MIXED = CODES @ [[1.0, 1.0], [1.0, -1.0]]


def test_agreeing_models_are_central():
    scores = model_centrality_score([CODES, -2 * CODES[:, ::-1], CODES, MIXED], random_state=0)
    assert scores.argmin() == 3
    assert (scores[:3] > scores[3] + 0.1).all()


def test_equal_models_agree_fully():
    assert model_centrality_score([CODES, CODES], random_state=0) == pytest.approx(1.0)


def test_model_without_codes_scores_zero():
    with pytest.warns(DegenerateScoreWarning, match="Model 1 has no informative code"):
        scores = model_centrality_score([CODES, np.zeros((800, 2))], random_state=0)
    assert (scores == 0).all()
