"""VAEs in Pipelines, searches, on several workers, with callbacks of both libraries."""

import numpy as np
import pytest
import torch
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, KFold, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from skorch.callbacks import Checkpoint, EarlyStopping, EpochScoring, LRScheduler
from skorch.callbacks import ProgressBar as SkorchProgressBar
from skorch.dataset import ValidSplit

from sklearn_disent.metrics import get_scorer, mig_score

CV = KFold(3, shuffle=True, random_state=0)


def search(estimator, images, **params):
    params = {"param_grid": {"beta": [1.0, 4.0]}, "scoring": get_scorer("mig"), "cv": CV, **params}
    return GridSearchCV(estimator, **params).fit(*images)


@pytest.mark.parametrize(
    "grid",
    [
        {"beta": [1.0, 4.0]},
        {"optimizer__weight_decay": [0.0, 0.1]},
        {"architecture": ["mlp", "burgess"], "module__hidden_sizes": [None]},
        {"random_state": [0, 1]},
    ],
    ids=lambda grid: next(iter(grid)),
)
def test_grid_search_over_any_parameter(images, small, grid):
    estimator = small()
    if "architecture" in grid:  # the two take different module parameters
        grid = {"architecture": grid["architecture"]}
        estimator = type(estimator)(2, max_epochs=1, random_state=0)
    found = search(estimator, images, param_grid=grid)
    scores = found.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert scores[0] != scores[1]
    assert found.transform(images[0]).shape == (120, 2)


def test_halving_search_spends_epochs(images, small):
    found = HalvingGridSearchCV(
        small(),
        {"beta": [0.5, 1.0, 2.0, 4.0]},
        resource="max_epochs",
        min_resources=1,
        max_resources=4,
        factor=2,
        scoring=get_scorer("mig"),
        cv=CV,
        random_state=0,
    ).fit(*images)
    assert found.n_resources_ == [1, 2, 4]
    assert found.best_estimator_.max_epochs == 4


def test_scorers_agree_on_bare_estimator_and_pipelines(images, small):
    X, y = images
    flat = X.reshape(len(X), -1)
    vae = small(input_shape=(8, 8)).fit(flat)
    pipeline = make_pipeline(MinMaxScaler(), small(input_shape=(8, 8))).fit(flat)
    cached = Pipeline([("vae", small(input_shape=(8, 8))), ("end", "passthrough")]).fit(flat)
    expected = mig_score(y, vae.transform(flat))
    for model in (vae, pipeline, cached):
        assert get_scorer("mig")(model, flat, y) == pytest.approx(expected)
    for model in (vae, pipeline):
        assert make_scorer(mig_score)(model, flat, y) == pytest.approx(expected)


def test_cross_validate_default_score_is_the_elbo(images, small):
    X, y = images
    result = cross_validate(small(), X, y, cv=CV, return_estimator=True)
    _, test = next(CV.split(X))
    assert result["test_score"][0] == result["estimator"][0].score(X[test])
    pca = cross_validate(PCA(2), X.reshape(len(X), -1), y, cv=CV, scoring=get_scorer("mig"))
    assert np.isfinite(pca["test_score"]).all()


def test_pipeline_memory_fits_once(images, small, tmp_path):
    pipeline = Pipeline([("vae", small()), ("end", "passthrough")], memory=str(tmp_path))
    first = search(pipeline, images, param_grid={"vae__beta": [1.0, 4.0]}, refit=False)
    files = sorted(tmp_path.rglob("output.pkl"))
    times = [path.stat().st_mtime_ns for path in files]
    second = search(clone(pipeline), images, param_grid={"vae__beta": [1.0, 4.0]}, refit=False)
    assert len(files) == 6
    assert [path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("output.pkl"))] == times
    for key in ("split0_test_score", "split1_test_score", "split2_test_score"):
        assert_array_equal(first.cv_results_[key], second.cv_results_[key])


# -- several workers -------------------------------------------------------------------------


def splits(found):
    return np.array([found.cv_results_[f"split{i}_test_score"] for i in range(3)])


# Fresh processes load torch again.
@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_workers_give_bit_identical_scores_and_codes(images, small, backend):
    one = search(small(), images)
    with parallel_config(backend, n_jobs=2, **_inner(backend)):
        two = search(small(), images)
    assert_array_equal(splits(two), splits(one))
    assert_array_equal(two.transform(images[0]), one.transform(images[0]))


def _inner(backend):
    return {"inner_max_num_threads": 1} if backend == "loky" else {}


@pytest.mark.slow
def test_dask_workers_give_bit_identical_scores(images, small):
    from dask.distributed import Client, LocalCluster

    one = search(small(), images)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster),
        parallel_config("dask"),
    ):
        two = search(small(), images)
    assert_array_equal(splits(two), splits(one))


# -- callbacks -------------------------------------------------------------------------------


def test_epoch_scoring_follows_the_metric(images, small):
    X, y = images
    scoring = EpochScoring(get_scorer("mig"), lower_is_better=False, on_train=True, name="mig")
    vae = small(callbacks=[scoring], max_epochs=3).fit(X, y)
    assert vae.history_[-1, "mig"] == pytest.approx(mig_score(y, vae.transform(X)))


def test_epoch_scoring_on_validation_rows_of_a_data_frame(images, small):
    import pandas as pd

    X, y = images
    frame = pd.DataFrame(X.reshape(len(X), -1) / 1.0, columns=[f"p{i}" for i in range(64)])
    scoring = EpochScoring(get_scorer("mig"), lower_is_better=False, name="mig")
    vae = small(callbacks=[scoring], train_split=ValidSplit(3)).fit(frame, y)
    assert 0 <= vae.history_[-1, "mig"] <= 1


def test_early_stopping_stops_and_keeps_the_model(images, small):
    stop = EarlyStopping(monitor="train_loss", patience=2, threshold=1e9, threshold_mode="abs")
    vae = small(callbacks=[stop], max_epochs=50).fit(*images)
    assert len(vae.history_) < 10
    assert vae.transform(images[0]).shape == (120, 2)


def test_checkpoint_saves_the_best_epoch(images, small, tmp_path):
    keep = Checkpoint(monitor="train_loss_best", dirname=tmp_path, load_best=True)
    vae = small(callbacks=[keep], max_epochs=3).fit(*images)
    state = torch.load(tmp_path / "params.pt", weights_only=True)
    for name, value in vae.module_.state_dict().items():
        assert torch.equal(state[name], value)


def test_learning_rate_schedule_is_followed(images, small):
    schedule = LRScheduler("StepLR", step_size=1, gamma=0.1)
    vae = small(callbacks=[("schedule", schedule)], max_epochs=3, lr=1e-3)
    vae.fit(*images)
    assert vae.optimizer_.param_groups[0]["lr"] == pytest.approx(1e-6)
    found = search(vae, images, param_grid={"callbacks__schedule__gamma": [0.5, 1.0]})
    assert found.cv_results_["mean_test_score"].shape == (2,)


def test_skorch_progress_bar_shows_batches(images, small, capfd):
    small(callbacks=[SkorchProgressBar(detect_notebook=False)]).fit(*images)
    assert "0/4" in capfd.readouterr().err


class Counter:
    """A scikit-learn callback that counts tasks."""

    def __init__(self, stop_after=None):
        self.begun, self.ended, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)
        return self.stop_after is not None and self.ended.count("epoch") >= self.stop_after

    def teardown(self, estimator, context):
        pass


def test_scikit_learn_callbacks_see_every_epoch(images, small):
    pytest.importorskip("sklearn.callback", reason="new in scikit-learn 1.9")
    counter = Counter()
    small(max_epochs=3).set_callbacks(counter).fit(*images)
    assert counter.begun == ["fit"] + ["epoch"] * 3
    assert counter.ended == ["epoch"] * 3 + ["fit"]


def test_scikit_learn_callback_may_stop(images, small):
    pytest.importorskip("sklearn.callback", reason="new in scikit-learn 1.9")
    vae = small(max_epochs=9).set_callbacks(Counter(stop_after=2)).fit(*images)
    assert len(vae.history_) == 2


def test_scikit_learn_progress_bar_in_fit_and_in_a_search(images, small, capfd):
    pytest.importorskip("sklearn.callback", reason="new in scikit-learn 1.9")
    from sklearn.callback import ProgressBar

    small().set_callbacks(ProgressBar()).fit(*images)
    assert "100%" in capfd.readouterr().out
    found = GridSearchCV(small(), {"beta": [1.0, 4.0]}, scoring=get_scorer("mig"), cv=CV)
    found.set_callbacks(ProgressBar()).fit(*images)
    out = capfd.readouterr().out
    assert "100%" in out
    assert "BetaVAE" in out


def test_scikit_learn_scoring_monitor_scores_every_epoch(images, small):
    pytest.importorskip("sklearn.callback", reason="new in scikit-learn 1.9")
    from sklearn.callback import ScoringMonitor

    X, y = images
    # A single callable is wrapped by scikit-learn only if it is a scorer of its own.
    monitor = ScoringMonitor(scoring={"score": get_scorer("mig")})
    vae = small(max_epochs=3).set_callbacks(monitor).fit(X, y)
    scores = [row for row in monitor.get_logs().data if row["task_name"] == "epoch"]
    assert len(scores) == 3
    assert scores[-1]["score"] == pytest.approx(mig_score(y, vae.transform(X)))
