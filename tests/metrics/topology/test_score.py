"""Disentanglement by manifold topology: by hand, on golden toys, and with estimators."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from scipy.linalg import hadamard
from scipy.stats import norm, ortho_group, spearmanr
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA, FastICA
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    get_scorer,
    manifold_topology_score,
    multimetric_scorer,
    relative_living_times,
    wasserstein_barycenter_1d,
    wasserstein_distance_1d,
)
from sklearn_disent.metrics.topology._biclusters import (
    bicluster,
    choose_biclusters,
    score_biclusters,
)
from sklearn_disent.metrics.topology._null import landmark_error, permutation_null
from sklearn_disent.metrics.topology._signatures import Signature, signature_distances

REFERENCE = Path(__file__).parents[2] / "reference" / "topology"
GOLDEN = json.loads((REFERENCE / "golden.json").read_text())["toy"]
LABELLED = {"supervised": True}
SMALL = {
    "n_samples": 60,
    "n_values": 2,
    "n_landmarks": 16,
    "n_repeats": 3,
    "max_holes": 20,
    "random_state": 0,
}


class Toy(TransformerMixin, BaseEstimator):
    """Four latents: angles on two circles, and places on two segments; maybe rotated first."""

    def __init__(self, rotation=None):
        self.rotation = rotation

    def fit(self, X=None, y=None):
        self.n_components_ = 4
        return self

    def inverse_transform(self, X):
        share = norm.cdf(X if self.rotation is None else X @ self.rotation)
        angle = 2 * np.pi * share[:, :2]
        return np.hstack([np.cos(angle), np.sin(angle), 2 * share[:, 2:] - 1])


def four(n, rng):
    return rng.standard_normal((n, 4))


class Decoder:
    """Decodes by a function."""

    def __init__(self, function, n_components=2):
        self.function, self.n_components_ = function, n_components

    def inverse_transform(self, X):
        return self.function(X)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * [3, 2, 1, 1, 1]
    return X, rng.integers(3, size=(300, 3)), PCA(3, whiten=True).fit(X)


def blocks():
    """Two groups of two, 0.4 apart."""
    return np.kron(1 - np.eye(2), np.full((2, 2), 0.4))


def test_mu_by_hand():
    # Two biclusters: all of the outside is 0.4 away, all of the inside 0.
    pair = np.array([0, 0, 1, 1])
    found = score_biclusters(blocks(), pair, pair, 2)
    np.testing.assert_allclose(found.scores, [0.4, 0.4])
    np.testing.assert_allclose(found.variances, 0, atol=1e-30)
    # One group split in two: a third of their outside is at distance 0.
    three = np.array([0, 0, 1, 2])
    found = score_biclusters(blocks(), three, three, 3)
    np.testing.assert_allclose(found.scores, [0.4, 0.8 / 3, 0.8 / 3])
    assert found.scores.mean() == pytest.approx(0.31111, abs=1e-5)
    # Outside 0.4, 0.4, 0: variance 0.32 / 9 over 3 squared; inside a single number.
    np.testing.assert_allclose(found.variances, [0, 0.32 / 81, 0.32 / 81], atol=1e-17)


def test_mu_of_empty_sides_is_zero():
    labels = np.zeros(4, dtype=int)
    found = score_biclusters(blocks(), labels, labels, 2)
    np.testing.assert_array_equal(found.scores, 0)
    assert found.empty == 2


def test_clusters_are_chosen_by_variance():
    chosen, tried = choose_biclusters(blocks(), None, False, 0)
    assert sorted(tried) == [2, 3, 4]
    assert len(chosen.scores) == 2
    assert chosen.scores.mean() == pytest.approx(0.4)
    assert tried[3].scores.mean() == pytest.approx(0.31111, abs=1e-5)
    forced, tried = choose_biclusters(blocks(), 3, False, 0)
    assert list(tried) == [3]
    assert len(forced.scores) == 3


def test_supervised_clusters_are_as_many_as_factors():
    # Six latents, two for each of three factors.
    distances = np.repeat(1 - np.eye(3), 2, axis=0) * 0.4 + 0.01
    chosen, tried = choose_biclusters(distances, None, True, 0)
    assert list(tried) == [3]
    assert chosen.scores.mean() == pytest.approx(0.4)
    assert (chosen.rows == np.repeat(chosen.columns, 2)).all()


def test_fewer_latents_than_clusters():
    distances = 0.4 * (1 - np.eye(5))[:2]
    found = bicluster(distances, 5, 0)
    assert found.rows.shape == (2,)
    assert found.columns.shape == (5,)
    assert np.isfinite(found.scores).all()


@pytest.mark.parametrize("aggregation", ["pairwise", "barycenter"])
@pytest.mark.parametrize("name", ["disentangled", "rotated"])
def test_golden_toy(name, aggregation):
    with np.load(REFERENCE / "toy.npz") as data:
        times, expected = data[name], data[f"{name}_{aggregation}"]
    signatures = [Signature(d, np.arange(5), times[d]) for d in range(4)]
    distances = signature_distances(signatures, None, aggregation, 2)
    np.testing.assert_allclose(distances, expected, atol=1e-12)
    chosen, tried = choose_biclusters(distances, None, False, 0)
    (golden,) = GOLDEN[f"{name}_{aggregation}"]
    scores = [tried[n].scores.mean() for n in (2, 3, 4)]
    np.testing.assert_allclose(scores, golden["mu_c"], atol=1e-10)
    np.testing.assert_allclose(
        [tried[n].variances.mean() for n in (2, 3, 4)], golden["var_c"], rtol=1e-6
    )
    assert len(chosen.scores) == golden["c"]
    assert chosen.scores.mean() == pytest.approx(golden["mu"], abs=1e-10)


@pytest.mark.parametrize("aggregation", ["pairwise", "barycenter"])
def test_distances_of_rows_and_columns_agree(aggregation):
    with np.load(REFERENCE / "toy.npz") as data:
        times = data["disentangled"][:, :, :5]
    signatures = [Signature(d, np.arange(5), times[d]) for d in range(4)]
    np.testing.assert_allclose(
        signature_distances(signatures, None, aggregation, 2),
        signature_distances(signatures, signatures, aggregation, 2),
        atol=1e-12,
    )


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_disentangled_is_above_rotated(seed):
    options = {
        "n_samples": 200,
        "n_values": 3,
        "n_repeats": 10,
        "max_holes": 40,
        "random_state": seed,
    }
    plain = manifold_topology_score(Toy().fit(), return_details=True, **options)
    assert plain.score > 0.04
    # Circles together, segments together.
    np.testing.assert_array_equal(plain.row_clusters[[0, 2]], plain.row_clusters[[1, 3]])
    assert plain.n_clusters == 2
    # All latents mixed equally: nothing to tell apart.
    mixed = Toy(hadamard(4) / 2).fit()
    assert manifold_topology_score(mixed, **options) < 0.5 * plain.score
    rotated = Toy(np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]).fit()
    assert manifold_topology_score(rotated, **options) < plain.score


@pytest.mark.slow
def test_score_falls_with_mixing_of_topologies():
    # Rotations within the circles or within the segments keep the groups, hence the score: what
    # counts is how evenly latents mix one kind with the other.
    mixing, relative = [], []
    for seed in range(8, 16):
        options = {"n_samples": 500, "n_values": 5, "n_repeats": 20, "random_state": seed}
        rotation = ortho_group.rvs(4, random_state=seed)
        share = (rotation[:, :2] ** 2).sum(axis=1)
        mixing.append(1 - np.abs(2 * share - 1).mean())
        plain = manifold_topology_score(Toy().fit(), **options)
        relative.append(manifold_topology_score(Toy(rotation).fit(), **options) / plain)
    mixing, relative = np.array(mixing), np.array(relative)
    assert spearmanr(mixing, relative).statistic < -0.5
    assert (relative[mixing > 0.35] < 1).all()
    # Little mixing may drown in the noise of sampling, but not beyond it.
    assert (relative < 1.1).all()


def test_score_repeats_at_any_n_jobs():
    options = {**SMALL, "n_repeats": 10, "return_details": True}
    one = manifold_topology_score(Toy().fit(), **options)
    with parallel_config("threading"):
        two = manifold_topology_score(Toy().fit(), n_jobs=2, **options)
    with parallel_config("threading", n_jobs=3):
        three = manifold_topology_score(Toy().fit(), **options)
    for other in (two, three):
        assert one.score == other.score
        np.testing.assert_array_equal(one.signatures, other.signatures)
    options["random_state"] = 1
    assert manifold_topology_score(Toy().fit(), **options).score != one.score


def test_details_are_what_the_public_functions_give():
    details = manifold_topology_score(Toy().fit(), return_details=True, **SMALL)
    assert details.signatures.shape == (4, 2, 20)
    assert details.latent_values.shape == (4, 2)
    np.testing.assert_allclose(details.signatures.sum(axis=2), 1)
    np.testing.assert_allclose(details.similarity, 1 - details.distances)
    assert details.score == details.score_by_n_clusters[details.n_clusters]
    assert isinstance(details.score, float)
    assert manifold_topology_score(Toy().fit(), **SMALL) == details.score
    assert details.factor_signatures is None
    # The first cloud, by hand: draws come in the order codes, values, landmarks.
    rng = np.random.RandomState(0)
    codes, values = rng.standard_normal((60, 4)), rng.standard_normal((2, 4))
    codes[:, 0] = values[0, 0]
    cloud = Toy().fit().inverse_transform(codes)
    times = relative_living_times(
        cloud, n_landmarks=16, n_repeats=3, max_holes=20, random_state=rng
    )
    np.testing.assert_allclose(
        details.signatures[0, 0], wasserstein_barycenter_1d(times), atol=1e-12
    )


def test_distances_are_those_of_free_barycenters():
    details = manifold_topology_score(
        Toy().fit(), return_details=True, **{**SMALL, "n_values": 1, "n_repeats": 1}
    )
    # Of one repeat and one value, signatures on bins are exact.
    expected = wasserstein_distance_1d(details.signatures[0, 0], details.signatures[2, 0]) / 19
    assert details.distances[0, 2] == pytest.approx(expected, abs=1e-9)
    np.testing.assert_array_equal(np.diag(details.distances), 0)


def test_supervised_score_compares_with_real_submanifolds():
    rng = np.random.default_rng(0)
    toy = Toy().fit()
    codes = rng.normal(size=(2000, 4))
    X = toy.inverse_transform(codes)
    # One factor of each kind: an angle and a place.
    y = (norm.cdf(codes[:, [0, 2]]) * 4).astype(int)
    options = {**SMALL, "n_samples": 400, "n_values": 4, "n_landmarks": 32, "n_repeats": 8}
    details = manifold_topology_score(toy, X, y, supervised=True, return_details=True, **options)
    assert details.distances.shape == (4, 2)
    assert details.n_clusters == 2
    assert [s.shape for s in details.factor_signatures] == [(4, 20), (4, 20)]
    assert details.factors == [0, 1]
    # Latents of a circle resemble the factor of a circle, and so do the others.
    np.testing.assert_array_equal(details.distances.argmin(axis=1), [0, 0, 1, 1])
    assert details.score > 0.02


def test_score_takes_estimators_of_all_kinds(data):
    X, _, pca = data
    score = manifold_topology_score(pca, **SMALL)
    assert -1 <= score <= 1
    # What a fixed value does is up to the decoder alone.
    assert manifold_topology_score(Decoder(pca.inverse_transform, 3), **SMALL) == score
    assert manifold_topology_score(
        pca, prior=lambda n, rng: rng.standard_normal((n, 3)), **SMALL
    ) == (score)
    uniform = manifold_topology_score(pca, prior="uniform", **SMALL)
    drawn = manifold_topology_score(pca, prior=lambda n, rng: rng.uniform(-1, 1, (n, 3)), **SMALL)
    assert uniform == drawn != score
    pipeline = make_pipeline(StandardScaler(), PCA(3, whiten=True), "passthrough").fit(X)
    assert np.isfinite(manifold_topology_score(pipeline, **SMALL))
    search = GridSearchCV(PCA(whiten=True), {"n_components": [3]}, cv=2).fit(X)
    assert manifold_topology_score(search, **SMALL) == pytest.approx(score)
    ica = FastICA(3, random_state=0).fit(X)
    assert np.isfinite(manifold_topology_score(ica, X, prior="encoded", **SMALL))


def test_embedding_is_a_transformer_or_a_function(data):
    X, _, pca = data
    whole = manifold_topology_score(pca, **SMALL)
    rotation = PCA(5).fit(X)
    by_transformer = manifold_topology_score(pca, embedding=rotation, **SMALL)
    assert by_transformer == pytest.approx(whole, abs=1e-9)
    assert manifold_topology_score(pca, embedding=rotation.transform, **SMALL) == by_transformer
    images = Decoder(lambda z: pca.inverse_transform(z).reshape(-1, 5, 1), 3)
    assert manifold_topology_score(images, embedding=rotation, **SMALL) == by_transformer
    first = manifold_topology_score(images, embedding=lambda image: image[:, 0], **SMALL)
    assert first != by_transformer


def test_score_works_with_a_vae(data):
    models = pytest.importorskip("sklearn_disent.models")
    X = StandardScaler().fit_transform(data[0])
    vae = models.VAE(2, max_epochs=2, random_state=0, verbose=0).fit(X)
    score = manifold_topology_score(vae, **SMALL)
    assert score == manifold_topology_score(vae, **SMALL)
    assert -1 <= score <= 1


@pytest.mark.slow
def test_scorer_selects_models_without_labels(data):
    X, y, pca = data
    scorer = get_scorer("manifold_topology", **SMALL)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), PCA(whiten=True)),
        {"pca__n_components": [2, 3]},
        scoring=scorer,
        cv=KFold(2, shuffle=True, random_state=0),
    ).fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert pickle.loads(pickle.dumps(clone(scorer)))(pca, X) == manifold_topology_score(
        pca, **SMALL
    )
    both = multimetric_scorer({"mig": {}, "manifold_topology": SMALL})(pca, X, y)
    # Labels are for MIG alone, unless asked for.
    assert both["manifold_topology"] == manifold_topology_score(pca, **SMALL)
    labelled = get_scorer("manifold_topology", supervised=True, **SMALL)
    assert labelled(pca, X, y) == manifold_topology_score(pca, X, y, supervised=True, **SMALL)
    with pytest.raises(ValueError, match=r"got y=None\. Pass both"):
        labelled(pca, X)


class Flat(Toy):
    """Four places on segments: holding any of them leaves the same topology."""

    def inverse_transform(self, X):
        return norm.cdf(X if self.rotation is None else X @ self.rotation)


CHANCE = {
    "n_samples": 200,
    "n_values": 5,
    "n_repeats": 8,
    "max_holes": 40,
    "n_permutations": 39,
    "return_details": True,
}


def p_values(toy, seeds, **options):
    toy.fit()
    options = {**CHANCE, **options}
    return np.array(
        [manifold_topology_score(toy, random_state=seed, **options).p_value for seed in seeds]
    )


@pytest.mark.slow
def test_null_tells_structure_from_noise():
    assert p_values(Toy(), [0], n_permutations=19) == [1 / 20]
    assert p_values(Flat(), [0], n_permutations=19) > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("rotation", [None, hadamard(4) / 2], ids=["plain", "rotated"])
def test_null_finds_nothing_in_flat_codings(rotation):
    assert (p_values(Flat(rotation), range(20)) > 0.05).sum() > 15


@pytest.mark.slow
def test_null_tells_disentangled_circles_from_rotated_ones():
    assert (p_values(Toy(), range(20)) < 0.05).sum() >= 18
    # All latents mixed equally: which of them is held makes no difference.
    assert (p_values(Toy(hadamard(4) / 2), range(20)) >= 0.05).sum() >= 18


@pytest.mark.parametrize(
    ("aggregation", "supervised"),
    [
        ("pairwise", True),
        ("barycenter", False),
        pytest.param("pairwise", False, marks=pytest.mark.slow),
        pytest.param("barycenter", True, marks=pytest.mark.slow),
    ],
)
def test_null_is_of_permuted_signatures(data, aggregation, supervised):
    X, y, pca = data
    options = {**SMALL, "supervised": supervised, "aggregation": aggregation}
    details = manifold_topology_score(pca, X, y, n_permutations=12, return_details=True, **options)
    assert details.null.shape == (12,)
    assert details.chance == details.null.mean()
    assert details.p_value == (1 + (details.null >= details.score - 1e-12).sum()) / 13
    assert (np.abs(details.null) <= 1).all()
    with parallel_config("threading", n_jobs=2):
        again = manifold_topology_score(
            pca, X, y, n_permutations=12, return_details=True, **options
        )
    np.testing.assert_array_equal(again.null, details.null)
    # Without a null the codes of all submanifolds are shared, and nothing else is computed.
    plain = manifold_topology_score(pca, X, y, return_details=True, **options)
    assert plain.null is plain.p_value is plain.chance is None
    assert plain.score == manifold_topology_score(pca, X, y, **options)


def test_permutations_keep_what_is_equal():
    # All signatures alike: no order of them is better than any other.
    times = np.tile(np.eye(5)[1], (3, 4, 6, 1))
    rows = [Signature(d, np.arange(4), times[d]) for d in range(3)]
    null = permutation_null(rows, None, "pairwise", 2, None, 0, 5, np.random.RandomState(0), None)
    np.testing.assert_array_equal(null, 0)


@pytest.mark.slow
def test_standard_error_is_that_over_landmarks():
    # Living times are independent draws: the error must be the spread of scores over them.
    rng = np.random.default_rng(0)
    mean = np.array([1.0, 1.0, 4.0, 4.0])
    scores, errors = [], []
    for _ in range(15):
        holes = np.clip(rng.normal(mean[:, None, None], 1.0, (4, 3, 40)), 0, 9).round().astype(int)
        rows = [Signature(d, np.arange(3), np.eye(10)[holes[d]]) for d in range(4)]
        distances = signature_distances(rows, None, "pairwise", 2)
        chosen, _ = choose_biclusters(distances, 2, False, 0)
        scores.append(chosen.scores.mean())
        errors.append(landmark_error(rows, None, "pairwise", 2, chosen))
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.4)
    # By hand with two repeats: each left out once, half of the difference of what remains.
    pair, parts = [row._replace(times=row.times[:, :2]) for row in rows], []
    for kept in (slice(1, 2), slice(0, 1)):
        rest = [row._replace(times=row.times[:, kept]) for row in pair]
        distances = signature_distances(rest, None, "pairwise", 2)
        found = score_biclusters(distances, chosen.rows, chosen.columns, len(chosen.scores))
        parts.append(found.scores.mean())
    by_hand = abs(parts[0] - parts[1]) / 2
    assert landmark_error(pair, None, "pairwise", 2, chosen) == pytest.approx(by_hand)
    alone = [row._replace(times=row.times[:, :1]) for row in rows]
    assert np.isnan(landmark_error(alone, None, "pairwise", 2, chosen))


@pytest.mark.parametrize("dimension", [0, 2])
def test_signatures_of_other_dimensions(dimension):
    options = {**SMALL, "n_landmarks": 10, "return_details": True, "dimension": dimension}
    details = manifold_topology_score(Toy().fit(), **options)
    np.testing.assert_allclose(details.signatures.sum(axis=2), 1)
    rng = np.random.RandomState(0)
    codes, values = rng.standard_normal((60, 4)), rng.standard_normal((2, 4))
    codes[:, 0] = values[0, 0]
    times = relative_living_times(
        Toy().fit().inverse_transform(codes), n_landmarks=10, n_repeats=3, max_holes=20,
        dimension=dimension, random_state=rng,
    )  # fmt: skip
    expected = wasserstein_barycenter_1d(times)
    np.testing.assert_allclose(details.signatures[0, 0], expected, atol=1e-12)


def test_progress_is_shown(capsys):
    pytest.importorskip("tqdm")
    silent = manifold_topology_score(Toy().fit(), **SMALL)
    assert not any(capsys.readouterr())
    assert manifold_topology_score(Toy().fit(), verbose=1, **SMALL) == silent
    assert "4/4" in capsys.readouterr().err


def test_single_latent_scores_zero(data):
    X, y, _ = data
    for supervised in (False, True):
        with (
            pytest.warns(DegenerateScoreWarning, match=r"2 latents .* got 1"),
            pytest.warns(DegenerateScoreWarning, match="single point"),
        ):
            assert manifold_topology_score(PCA(1).fit(X), X, y, supervised=supervised, **SMALL) == 0


def test_factors_that_cannot_be_compared_are_left_out(data):
    X, y, pca = data
    constant = np.column_stack([y[:, 0], np.zeros(len(y), dtype=int), y[:, 1]])
    with pytest.warns(DegenerateScoreWarning, match=r"factors \[1\] have a single value"):
        score = manifold_topology_score(pca, X, constant, supervised=True, **SMALL)
    assert score == manifold_topology_score(pca, X, y[:, :2], supervised=True, **SMALL)
    with (
        pytest.warns(DegenerateScoreWarning, match=r"factors \[0, 1\] have a single value"),
        pytest.warns(DegenerateScoreWarning, match=r"2 factors .* got 0"),
    ):
        assert manifold_topology_score(pca, X, np.ones((len(X), 2)), supervised=True, **SMALL) == 0
    rare = y.copy()
    rare[rare[:, 2] == 2, 2] = 1
    rare[:5, 2] = 2
    with pytest.warns(DegenerateScoreWarning, match="1 of 3 values of factor 2 have fewer rows"):
        details = manifold_topology_score(
            pca, X, rare, supervised=True, return_details=True, **SMALL
        )
    np.testing.assert_array_equal(details.factor_values[2], [0, 1])


def test_missing_factors_are_errors_or_dropped(data):
    X, y, pca = data
    missing = y.astype(float)
    missing[::10, 1] = np.nan
    with pytest.raises(ValueError, match="nan_policy='omit'"):
        manifold_topology_score(pca, X, missing, supervised=True, **SMALL)
    kept = ~np.isnan(missing).any(axis=1)
    ours = manifold_topology_score(pca, X, missing, supervised=True, nan_policy="omit", **SMALL)
    assert ours == manifold_topology_score(pca, X[kept], y[kept], supervised=True, **SMALL)


def test_continuous_factors_are_binned_on_request(data):
    X, _, pca = data
    with pytest.raises(ValueError, match="factor_bins=10"):
        manifold_topology_score(pca, X, X[:, :2], supervised=True, **SMALL)
    assert np.isfinite(
        manifold_topology_score(pca, X, X[:, :2], supervised=True, factor_bins=2, **SMALL)
    )


def test_decoder_that_ignores_its_codes_scores_zero():
    with pytest.warns(DegenerateScoreWarning, match="4 submanifolds are a single point"):
        assert manifold_topology_score(Decoder(lambda z: np.full_like(z, 0.3)), **SMALL) == 0


@pytest.mark.parametrize(
    ("estimator", "options", "error", "match"),
    [
        (Decoder(lambda z: np.where(z > 1, np.nan, z)), {}, ValueError, "latent 0 at .* NaN"),
        (Decoder(lambda z: z[:-1]), {}, ValueError, "59 rows for 60 codes"),
        (
            Decoder(lambda z: z),
            {"embedding": lambda z: z / 0.0},
            ValueError,
            "embedding of what",
        ),
        (Decoder(lambda z: z, None), {}, TypeError, "does not state the number of its latents"),
        (KFold(), {}, TypeError, "KFold has no inverse_transform"),
        (Toy(), {"n_samples": 10}, ValueError, "at least n_landmarks=16.* got 10"),
        (Toy().fit(), {"n_clusters": 5}, ValueError, "at most the number of latents"),
        (Toy().fit(), {"prior": "encoded"}, ValueError, "Pass X"),
        (
            Toy().fit(),
            {"prior": lambda n, rng: np.ones(n)},
            ValueError,
            "prior must return 60 rows",
        ),
        (Toy().fit(), {"y": np.ones((5, 1)), **LABELLED}, ValueError, "got X=None"),
        (Toy().fit(), {"X": np.ones((4, 6)), **LABELLED}, ValueError, "got y=None"),
        (
            Toy().fit(),
            {"X": np.ones((4, 6)), "y": np.ones((5, 1)), **LABELLED},
            ValueError,
            "4 rows of X",
        ),
        (Toy().fit(), {"X": np.ones((4, 6)), "y": 3, **LABELLED}, ValueError, "factors"),
        (Toy().fit(), {"X": np.ones((4, 6)), "y": np.ones(4), **LABELLED}, ValueError, "factors"),
        (Toy().fit(), {"X": 3, "y": np.ones((4, 1)), **LABELLED}, ValueError, "X must have shape"),
        (Toy().fit(), {"X": None, "prior": "encoded"}, ValueError, "Pass X"),
        (Toy().fit(), {"prior": lambda n, rng: np.ones((n, 0))}, ValueError, r"\(60, 0\)"),
        (Toy().fit(), {"prior": lambda n, rng: np.ones((n, n))}, ValueError, "60 columns, then 2"),
        (Toy().fit(), {"n_latents": 3, "prior": four}, ValueError, "n_latents=3 columns, got 4"),
        (Decoder(lambda z: np.float64(1)), {}, ValueError, "0 rows for 60 codes"),
        (Decoder(lambda z: (z, z)), {}, TypeError, "got tuple. Wrap it"),
        (Decoder(lambda z: z), {"embedding": lambda z: z[:9]}, ValueError, "9 rows for 60"),
        (Decoder(lambda z: z), {"embedding": lambda z: z[0]}, ValueError, "embedding of what"),
        (lambda z: z, {}, TypeError, "<lambda> does not state the number .* n_latents="),
        (lambda z: z.sum(), {"n_latents": 2}, ValueError, "got a single number"),
        (
            lambda z: z,
            {"n_latents": 2, "prior": "encoded", "X": np.ones((4, 2))},
            TypeError,
            "needs an estimator with transform",
        ),
        (Toy().fit(), {"aggregation": "mean"}, ValueError, "aggregation"),
        (Toy().fit(), {"embedding": "pca"}, ValueError, "embedding"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_bad_input_is_named(estimator, options, error, match):
    with pytest.raises(error, match=match):
        manifold_topology_score(estimator, **{**SMALL, **options})


def test_one_latent_is_one_cluster():
    with pytest.warns(DegenerateScoreWarning, match="2 latents are needed to compare .* got 1"):
        best, tried = choose_biclusters(np.zeros((1, 1)), None, False, 0)
    assert list(tried) == [1]
    assert best is tried[1]
    assert best.scores.tolist() == best.variances.tolist() == [0.0]
    assert best.empty == 1
    with pytest.warns(DegenerateScoreWarning, match="2 factors are needed"):
        choose_biclusters(np.zeros((2, 1)), None, True, 0)
