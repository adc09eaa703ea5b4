"""The way through Pipelines and searches to a model."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_disent.metrics._estimators import path_to_model, unwrap_estimator

X = np.random.default_rng(0).normal(size=(60, 4))


def wrappings():
    inner = make_pipeline(StandardScaler(), PCA(2))
    nested = Pipeline([("a", "passthrough"), ("b", inner), ("c", "passthrough"), ("d", None)])
    search = {"pca__n_components": [2]}
    return [inner, nested, GridSearchCV(inner, search, cv=2), make_pipeline("passthrough", inner)]


@pytest.mark.parametrize("index", range(4), ids=["pipeline", "nested", "search", "leading"])
def test_path_leads_to_the_innermost_model(index):
    fitted = wrappings()[index].fit(X)
    before, model = path_to_model(fitted)
    assert [type(step) for step in before] == [StandardScaler]
    assert type(model) is PCA
    unwrapped, data = unwrap_estimator(fitted, X)
    assert unwrapped is model
    np.testing.assert_array_equal(data, before[0].transform(X))
    np.testing.assert_array_equal(model.transform(data), fitted.transform(X))


def test_bare_model_is_its_own_end():
    pca = PCA(2).fit(X)
    assert path_to_model(pca) == ([], pca)
    assert unwrap_estimator(pca, X)[1] is X


def test_pipeline_without_a_model_is_refused():
    with pytest.raises(TypeError, match="nothing but 'passthrough'"):
        path_to_model(Pipeline([("a", "passthrough"), ("b", None)]))
