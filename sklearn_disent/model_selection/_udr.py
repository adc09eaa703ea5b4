"""Model selection without labels: which setting of a search gives models that agree?"""

from typing import Annotated, Any, Literal, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._params import Array, HasMethods, NonNegativeFloat, PositiveFloat, validated
from ..exceptions import TrainingDivergedError
from ..metrics import udr_score
from ..metrics._estimators import encode, has_normal_prior, path_to_model, posterior_of
from ..metrics._numeric import gaussian_kl
from ..metrics._validation import warn_degenerate


@validated
def udr_ranking(
    search: Annotated[Any, HasMethods(["fit"])],
    X: Array,
    y: Array | None = None,
    *,
    seed_param: str | None = None,
    cv: Annotated[Any, "cv_object"] = None,
    kind: Literal["lasso", "spearman"] = "lasso",
    alpha: PositiveFloat = 0.1,
    kl_threshold: NonNegativeFloat | None = 0.01,
    n_jobs: int | None = None,
) -> Bunch:
    """Rank the settings of a finished search by how well models of different seeds agree.

    Models that differ only in their seed are compared by
    :func:`~sklearn_disent.metrics.udr_score`: the score of a model is its median agreement with
    its siblings, between 0 and 1, higher is better; that of a setting is the mean over its models.
    No labels are used.

    Parameters
    ----------
    search : fitted search such as GridSearchCV
        A search whose grid has seeds, for instance
        ``{"beta": [1, 4], "random_state": [0, 1, 2]}``; two or more for every setting.
    X : array-like of shape (n_samples, ...)
        The data that the search was fitted with.
    y : array-like or None, default=None
        The y that the search was fitted with. It is passed on to `fit`, is part of the key of
        cached fits, and is used by splitters that need it, but not by the score.
    seed_param : str or None, default=None
        Name of the parameter that is the seed; if None, the one parameter of the grid that is
        named `random_state`, or ends in `__random_state`.
    cv : int, splitter, iterable or None, default=None
        Models are fitted on the training rows of each split and compared on its test rows; scores
        are means over splits. If None, the splits are those of the search, whose fits may be
        cached.
    kind : {"lasso", "spearman"}, default="lasso"
        How the similarity of two codes is measured; see
        :func:`~sklearn_disent.metrics.udr_score`.
    alpha : float, default=0.1
        Penalty of the lasso.
    kl_threshold : float or None, default=0.01
        Codes whose mean divergence from the standard normal prior, in nats, is not above it are
        left out, for models that have `posterior`. All codes that vary are kept if None.
    n_jobs : int or None, default=None
        Number of fits in parallel; None means 1 unless in a :func:`joblib.parallel_config`.

    Returns
    -------
    ranking : Bunch
        udr : ndarray of shape (n_candidates,)
            Score of each model, in the order of ``search.cv_results_["params"]``.
        settings : dict of arrays
            One row per setting in order of appearance, ready for a DataFrame: `params` (without
            the seed), `mean_udr`, `std_udr` over its models, `n_models`, `rank_udr` (1 is best).
        setting : ndarray of shape (n_candidates,)
            Row of `settings` to which each model belongs.
        best_params : dict
            The best model of the best setting, its seed included.
        best_index : int
            Its place in ``search.cv_results_["params"]``.

    See Also
    --------
    sklearn_disent.metrics.udr_score : The score of given codes.
    SweepMemory : As `memory` of the Pipeline that was searched, it saves all fits here.

    Notes
    -----
    A search does not keep its models. They are fitted once more, in ``n_candidates * n_splits``
    fits, unless the search was over a Pipeline with a `memory` and splits its rows the same way
    each time: then they are read. In addition there are ``S * (S - 1)`` regressions of S seeds per
    setting and split. Pass ``cv=ShuffleSplit(1, random_state=0)`` to save fits if none are cached.

    A model whose training diverges agrees with none: it scores 0, with a warning, and is left out
    of the scores of its siblings. Duan et al. (2020) score single models; the mean over the models
    of a setting, and the comparison on rows held out from training, are choices made here.

    References
    ----------
    Duan, Matthey, Saraiva, Watters, Burgess, Lerchner and Higgins (2020). Unsupervised model
    selection for variational disentangled representation learning. ICLR.

    Examples
    --------
    >>> from sklearn.decomposition import FastICA
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.pipeline import Pipeline
    >>> from sklearn.random_projection import GaussianRandomProjection
    >>> from sklearn_disent.datasets import make_dependent_factors
    >>> from sklearn_disent.metrics import get_scorer
    >>> from sklearn_disent.model_selection import udr_ranking
    >>> X, y = make_dependent_factors(500, random_state=0, return_X_y=True)
    >>> steps = [FastICA(whiten="unit-variance", tol=0.01), GaussianRandomProjection(4)]
    >>> grid = {"code": steps, "code__random_state": [0, 1, 2]}
    >>> model = Pipeline([("code", FastICA())])
    >>> search = GridSearchCV(model, grid, scoring=get_scorer("mig"), cv=2).fit(X, y)
    >>> ranking = udr_ranking(search, X, y)
    >>> ranking.settings["rank_udr"], ranking.best_params["code"]
    (array([1, 2]), FastICA(tol=0.01))
    """
    check_is_fitted(search, "cv_results_")
    params = list(search.cv_results_["params"])
    groups = _group_by_setting(params, _find_seed(params, seed_param))
    splitter = check_cv(search.cv if cv is None else cv, y, classifier=is_classifier(search))
    splits = list(splitter.split(X, y))
    jobs = [(candidate, split) for split in splits for candidate in params]
    encoded = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_encode)(search.estimator, candidate, X, y, split)
        for candidate, split in jobs
    )
    scores = np.zeros((len(splits), len(params)))
    for s in range(len(splits)):
        models = encoded[s * len(params) : (s + 1) * len(params)]
        for rows in groups.rows:
            scores[s, rows] = _score_siblings(
                [models[i] for i in rows],
                [params[i] for i in rows],
                {"kind": kind, "alpha": alpha, "kl_threshold": kl_threshold},
            )
    return _ranking(scores.mean(axis=0), groups, params)


class _Groups(NamedTuple):
    """Candidates of each setting, and its parameters without the seed."""

    rows: list[list[int]]
    params: list[dict[str, Any]]


class _Encoded(NamedTuple):
    codes: NDArray[Any]
    kl: NDArray[np.float64] | None
    """Mean divergence of each code from the prior; None if the model has no posterior."""


def _find_seed(params: list[dict[str, Any]], seed_param: str | None) -> str:
    names = sorted({name for candidate in params for name in candidate})
    if seed_param is None:
        found = [name for name in names if name.split("__")[-1] == "random_state"]
        if len(found) != 1:
            raise ValueError(
                "One parameter of the search must be the seed, named random_state or ending in "
                f"__random_state, got {found or 'none'} among {names}. Search over seeds, for "
                "instance {'random_state': range(5)}, or name the parameter by seed_param."
            )
        return found[0]
    if any(seed_param not in candidate for candidate in params):
        raise ValueError(
            f"seed_param must be a parameter that the search varies, one of {names}, got "
            f"{seed_param!r}."
        )
    return seed_param


def _group_by_setting(params: list[dict[str, Any]], seed: str) -> _Groups:
    """Candidates that differ only in the seed, in order of appearance."""
    groups: dict[str, tuple[list[int], dict[str, Any]]] = {}
    for i, candidate in enumerate(params):
        setting = {name: value for name, value in candidate.items() if name != seed}
        # A hash, since values may be lists, arrays or estimators.
        groups.setdefault(joblib.hash(setting), ([], setting))[0].append(i)
    for rows, setting in groups.values():
        seeds = [params[i].get(seed) for i in rows]
        if len(rows) < 2 or len(set(map(joblib.hash, seeds))) < len(rows):
            raise ValueError(
                f"Every setting needs two or more different values of {seed!r}, each once, got "
                f"{seeds} for {setting}. Search over more seeds."
            )
    return _Groups([rows for rows, _ in groups.values()], [s for _, s in groups.values()])


def _fit_and_encode(
    estimator: Any, params: dict[str, Any], X: Any, y: Any, split: tuple[Any, Any]
) -> _Encoded | None:
    """Codes of the test rows by a model of the training rows; None if training diverged."""
    # As scikit-learn's searches do it, so that the key of a cached fit is the same.
    model = clone(estimator).set_params(**clone(params, safe=False))
    X_train, y_train = _safe_split(model, X, y, split[0])
    X_test, _ = _safe_split(model, X, y, split[1])
    try:
        model.fit(X_train) if y is None else model.fit(X_train, y_train)
    except TrainingDivergedError:
        return None
    kl = None
    if has_normal_prior(path_to_model(model)[1]):
        kl = gaussian_kl(*posterior_of(model, X_test)).mean(axis=0)
    return _Encoded(np.asarray(encode(model, X_test)), kl)


def _score_siblings(
    models: list[_Encoded | None], params: list[dict[str, Any]], options: dict[str, Any]
) -> NDArray[np.float64]:
    """UDR of models that differ only in the seed."""
    scores = np.zeros(len(models))
    trained = {i: model for i, model in enumerate(models) if model is not None}
    for i in set(range(len(models))) - set(trained):
        warn_degenerate(f"Training with {params[i]} diverged: the model agrees with no other.")
    if len(trained) < 2:
        for i in trained:
            warn_degenerate(f"All siblings of {params[i]} diverged: its UDR is set to 0.")
        return scores
    kls = [model.kl for model in trained.values() if model.kl is not None]
    use_kl = options["kl_threshold"] is not None and len(kls) == len(trained)
    options = {**options, "kl_threshold": options["kl_threshold"] if use_kl else 0.0}
    codes = [model.codes for model in trained.values()]
    scores[list(trained)] = udr_score(codes, kl=kls if use_kl else None, **options)
    return scores


def _ranking(scores: NDArray[np.float64], groups: _Groups, params: list[dict[str, Any]]) -> Bunch:
    mean = np.array([scores[rows].mean() for rows in groups.rows])
    setting = np.empty(len(scores), dtype=np.int64)
    for number, rows in enumerate(groups.rows):
        setting[rows] = number
    best_rows = groups.rows[int(mean.argmax())]
    best = int(best_rows[int(scores[best_rows].argmax())])
    return Bunch(
        udr=scores,
        settings={
            "params": groups.params,
            "mean_udr": mean,
            "std_udr": np.array([scores[rows].std() for rows in groups.rows]),
            "n_models": np.array([len(rows) for rows in groups.rows]),
            "rank_udr": rankdata(-mean, method="min").astype(np.int64),
        },
        setting=setting,
        best_params=params[best],
        best_index=best,
    )
