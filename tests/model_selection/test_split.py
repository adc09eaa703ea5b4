"""Splits with dependent factors on one side."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score

from sklearn_disent.datasets import make_dependent_factors
from sklearn_disent.model_selection import DependentShuffleSplit


@pytest.fixture(scope="module")
def data():
    return make_dependent_factors(5000, n_factors=3, beta=0.5, random_state=0, return_X_y=True)


def correlation(y, rows):
    return np.corrcoef(y[rows].T)[0, 1]


@pytest.mark.parametrize(
    ("dependent", "train_r", "test_r"), [("train", 0.7, 0), ("test", 0, 0.7), ("both", 0.7, 0.7)]
)
def test_split_makes_the_chosen_side_dependent(data, dependent, train_r, test_r):
    X, y = data
    cv = DependentShuffleSplit([(0, 1)], sigma=0.3, dependent=dependent, random_state=0)
    splits = list(cv.split(X, y))
    assert len(splits) == cv.get_n_splits(X, y) == 5
    for train, test in splits:
        assert len(train) == 4000
        assert len(test) == 1000
        assert not set(train) & set(test)
        assert correlation(y, train) == pytest.approx(train_r, abs=0.1)
        assert correlation(y, test) == pytest.approx(test_r, abs=0.1)
        for side, rows in (("train", train), ("test", test)):
            has_repeats = len(np.unique(rows)) < len(rows)
            assert has_repeats == (dependent in (side, "both"))


def test_split_repeats_and_differs_between_splits(data):
    X, y = data
    cv = DependentShuffleSplit([(0, 1)], n_splits=2, random_state=0)
    (first, _), (second, _) = cv.split(X, y)
    (again, _), _ = cv.split(X, y)
    np.testing.assert_array_equal(first, again)
    assert (first != second).any()


def test_split_sizes_follow_the_arguments(data):
    X, y = data
    cv = DependentShuffleSplit([(0, 1)], n_splits=1, test_size=300, train_size=0.5, random_state=0)
    train, test = next(cv.split(X, y))
    assert (len(train), len(test)) == (2500, 300)


def test_split_works_as_cv_of_a_search(data):
    X, y = data
    cv = DependentShuffleSplit([("a", "b")], factor_names=["a", "b", "c"], random_state=0)
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 10.0]}, cv=cv).fit(X, y)
    assert search.cv_results_["split4_test_score"].shape == (2,)
    assert search.best_score_ > 0.9
    names = pd.DataFrame(y, columns=["a", "b", "c"])
    by_frame = DependentShuffleSplit([("a", "b")], random_state=0)
    scores = cross_val_score(Ridge(alpha=10.0), X, names, cv=by_frame)
    np.testing.assert_allclose(scores.mean(), search.cv_results_["mean_test_score"][1])


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [("dependent", "trian", "'train'"), ("kind", "gausian", "'gaussian'"), ("n_splits", 0, "int")],
)
def test_splitter_refuses_wrong_options_when_it_is_made(option, value, allowed):
    with pytest.raises(ValueError, match=f"'{option}' parameter.*{allowed}"):
        DependentShuffleSplit([(0, 1)], **{option: value})
    with pytest.raises(TypeError, match=r"no option 'sigam'\. Its options are pairs, kind, sigma"):
        DependentShuffleSplit([(0, 1)], sigam=0.1)


def test_split_refuses_what_it_cannot_split(data):
    X, y = data
    with pytest.raises(ValueError, match=r"needs the factors as y .*got None"):
        next(DependentShuffleSplit([(0, 1)]).split(X))
    with pytest.raises(ValueError, match=r"got shape \(5000,\)"):
        next(DependentShuffleSplit([(0, 1)]).split(X, y[:, 0]))
    with pytest.raises(ValueError, match="got 'z'"):
        next(DependentShuffleSplit([("a", "z")], factor_names=["a", "b", "c"]).split(X, y))
    lopsided = np.array([[0, 0], [0, 9], [9, 0], [0, 9], [9, 0]])
    cv = DependentShuffleSplit([(0, 1)], sigma=0.01, test_size=1, random_state=0, dependent="both")
    with pytest.raises(ValueError, match="weight 0"):
        list(cv.split(lopsided, lopsided))
