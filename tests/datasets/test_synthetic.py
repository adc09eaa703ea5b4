"""Factors and codes of known disentanglement."""

import typing

import numpy as np
import pytest

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import make_dependent_factors, make_logical_codes
from sklearn_disent.datasets._synthetic import (
    _LOGICAL_MAPS,
    LogicalMap,
    _cosine_codes,
    _dependent_classes,
)

KINDS = {
    "entanglement": (1, 1, 1),
    "rotation": (1, 1, 1),
    "duplicate": (3, 3, 1),
    "complement": (2, 2, 2),
    "misalignment": (1, 1, 1),
    "redundancy": (2, 1, 1),
    "contraction": (1, 1, 1),
    "nonlinear": (1, 1, 1),
    "constant": (1, 1, 1),
    "random": (1, 1, 1),
}


# Histograms of the first factor and first rows of an independent implementation.
@pytest.mark.parametrize(
    ("delta", "histogram", "rows"),
    [
        (0.25, [35, 442, 1027, 465, 31], [[2, 2, 2, 2], [3, 3, 3, 3]]),
        (0.5, [56, 563, 777, 545, 59], [[3, 1, 1, 1], [3, 2, 3, 3]]),
        (1.0, [419, 423, 370, 378, 410], [[4, 1, 1, 1], [3, 1, 4, 3]]),
    ],
)
def test_dependent_factors_agree_with_an_independent_implementation(delta, histogram, rows):
    noise = np.random.default_rng(51).random((2000, 4))
    classes = _dependent_classes(noise, delta, 5)
    assert np.bincount(classes[:, 0]).tolist() == histogram
    assert classes[:2].tolist() == rows


def test_dependent_factors_codes_by_hand():
    # n = 4, K = 5, alpha = .6: z' = .6 * 4 + .4 / 3 * (1 + 1 + 1) = 2.8 for the first code.
    classes = np.array([[4, 1, 1, 1]])
    codes = _cosine_codes(classes, np.ones((1, 4)), 0.6, 0.0, 5)
    np.testing.assert_allclose(codes[0, 0], np.cos(np.pi * 2.8 / 5))
    np.testing.assert_allclose(codes[0, 1], np.cos(np.pi * (0.6 + 0.4 / 3 * 6) / 5))
    disturbed = _cosine_codes(classes, np.full((1, 4), 0.5), 1.0, 0.8, 5)
    np.testing.assert_allclose(disturbed[0], np.cos(np.pi * np.array([4.4, 1.4, 1.4, 1.4]) / 5))


def test_dependent_factors_extremes():
    equal = make_dependent_factors(500, delta=1 / 3, n_factors=3, random_state=0)
    assert (equal.target == equal.target[:, :1]).all()
    entangled = make_dependent_factors(500, alpha=0.25, random_state=0)
    np.testing.assert_allclose(entangled.codes, np.repeat(entangled.codes[:, :1], 4, axis=1))
    exact = make_dependent_factors(500, random_state=0)
    np.testing.assert_allclose(np.arccos(exact.codes) * 5 / np.pi, exact.target, atol=1e-9)


def test_dependent_factors_nuisance_never_hides_a_class():
    noisy = make_dependent_factors(2000, beta=0.8, random_state=0)
    phase = np.arccos(noisy.codes) * 5 / np.pi
    np.testing.assert_array_equal(np.floor(phase + 1e-9), noisy.target)
    assert (phase - noisy.target).std() == pytest.approx(0.8 / np.sqrt(12), rel=0.05)


def test_dependent_factors_correlation_falls_with_delta():
    correlations = [
        np.corrcoef(make_dependent_factors(4000, delta=d, random_state=0).factors.T)[0, 1]
        for d in (0.25, 0.5, 0.75, 1.0)
    ]
    assert correlations[0] == pytest.approx(1)
    assert (np.diff(correlations) < -0.2).all()
    assert abs(correlations[-1]) < 0.05


def test_dependent_factors_repeat_and_return_X_y():
    bunch = make_dependent_factors(50, alpha=0.5, random_state=3)
    codes, classes = make_dependent_factors(50, alpha=0.5, random_state=3, return_X_y=True)
    np.testing.assert_array_equal(codes, bunch.data)
    np.testing.assert_array_equal(classes, bunch.target)
    assert bunch.factor_sizes == (5, 5, 5, 5)
    assert bunch.factors.dtype == np.float64
    other = make_dependent_factors(50, alpha=0.5, random_state=4)
    assert (other.target != bunch.target).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0.2}, r"alpha must lie in \[0.25, 1\] .*got 0.2"),
        ({"delta": 0.3, "n_factors": 3}, r"delta must lie in \[0.3333, 1\]"),
        ({"beta": 0.81}, r"beta must lie in \[0, 0.8\]"),
    ],
)
def test_dependent_factors_refuse_values_out_of_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_dependent_factors(**arguments)


@pytest.mark.parametrize("arguments", [{"n_samples": 0}, {"n_factors": 1}, {"alpha": 1.5}])
def test_dependent_factors_refuse_bad_parameters(arguments):
    with pytest.raises(InvalidParameterError):
        make_dependent_factors(**arguments)


def test_logical_codes_offers_every_kind_as_an_option():
    assert set(typing.get_args(LogicalMap)) == set(KINDS) == set(_LOGICAL_MAPS)


@pytest.mark.parametrize("kind", KINDS)
def test_logical_codes_have_their_blocks(kind):
    bunch = make_logical_codes(kind, random_state=0)
    assert bunch.codes.shape == (1331, sum(KINDS[kind]))
    assert tuple(len(block) for block in bunch.blocks) == KINDS[kind]
    assert np.concatenate(bunch.blocks).tolist() == list(range(sum(KINDS[kind])))
    np.testing.assert_allclose(bunch.factors, bunch.target / 10)


def test_logical_codes_by_hand():
    def row(kind):
        bunch = make_logical_codes(kind, shuffle=False, random_state=0)
        place = 2 * 121 + 5 * 11 + 9
        np.testing.assert_allclose(bunch.factors[place], [0.2, 0.5, 0.9])
        return bunch.codes[place]

    np.testing.assert_allclose(row("duplicate"), [0.2, 0.5, 0.9, 0.2, 0.5, 0.9, 0.9])
    np.testing.assert_allclose(row("complement"), [0.5, 0.9, 0.2, 0.9, 0.2, 0.5])
    np.testing.assert_allclose(row("misalignment"), [0.5, 0.9, 0.2])
    np.testing.assert_allclose(row("redundancy"), [0.2, -0.2, 0.5, 0.9])
    np.testing.assert_allclose(row("contraction"), [0.002, 0.005, 0.009])
    np.testing.assert_allclose(row("nonlinear"), [0.04, 0.25, 0.81])
    np.testing.assert_allclose(row("constant"), [0, 0, 0])


def test_logical_codes_agree_with_an_independent_implementation():
    bunch = make_logical_codes("entanglement", shuffle=False, random_state=2023)
    np.testing.assert_allclose(bunch.rotation[0], [-0.32712987, 0.00689916, -0.9449542], atol=1e-8)
    moments = np.arange(1331) @ bunch.codes
    np.testing.assert_allclose(moments, [531588.30621211, 500725.7214672, 240983.90058212])
    rotated = make_logical_codes("rotation", shuffle=False, random_state=2023)
    assert rotated.codes.sum() == pytest.approx(-1562.2562368170252)


def test_logical_codes_rotation_keeps_distances_and_handedness():
    bunch = make_logical_codes("rotation", random_state=5)
    np.testing.assert_allclose(bunch.rotation @ bunch.rotation.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(bunch.rotation) == pytest.approx(1)
    np.testing.assert_allclose(
        np.linalg.norm(bunch.codes, axis=1), np.linalg.norm(bunch.factors, axis=1)
    )


def test_logical_codes_entanglement_is_injective_and_scaled():
    codes = make_logical_codes("entanglement", random_state=1).codes
    assert len(np.unique(codes.round(12), axis=0)) == 1331
    np.testing.assert_allclose([codes.min(axis=0), codes.max(axis=0)], [[0] * 3, [1] * 3])


def test_logical_codes_shuffle_moves_codes_with_factors():
    bunch = make_logical_codes("misalignment", random_state=0)
    assert (np.diff(bunch.target[:, 0]) < 0).any()
    np.testing.assert_array_equal(bunch.codes, bunch.factors[:, [1, 2, 0]])
    codes, classes = make_logical_codes("misalignment", random_state=0, return_X_y=True)
    np.testing.assert_array_equal(codes, bunch.codes)
    np.testing.assert_array_equal(classes, bunch.target)


def test_logical_codes_refuse_unknown_kind():
    with pytest.raises(InvalidParameterError, match="kind"):
        make_logical_codes("twist")
