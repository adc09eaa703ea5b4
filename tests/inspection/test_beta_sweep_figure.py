"""The figure of the beta sweep example, with a search of seconds in place of its own."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_disent.metrics import get_scorer
from sklearn_disent.models import LinearSchedule

from .conftest import make_vae

EXAMPLE = Path(__file__).parents[2] / "examples" / "plot_beta_sweep.py"


def test_beta_sweep_figure(images, tmp_path):
    pytest.importorskip("sklearn.callback")
    spec = importlib.util.spec_from_file_location("plot_beta_sweep", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    X, y = images
    cv = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(
        make_vae(n_components=10, max_epochs=1, beta=LinearSchedule(2.0, 2.0, 4)),
        {"beta__start": example.FIRST_BETAS},
        scoring={name: get_scorer(name) for name in ("mig", "elbo")},
        refit="mig",
        cv=cv,
    ).fit(X, y)
    figure = example.plot_figure(search, example.run_baselines(X, y, cv), X)
    figure.savefig(tmp_path / "figure.png")
    mig, elbo, reconstructions, traversals = figure.get_axes()
    assert (mig.get_ylabel(), elbo.get_ylabel()) == ("MIG", "ELBO (nats)")
    texts = {text.get_text() for text in mig.get_legend().get_texts()}
    assert texts == {"BetaVAE", "PCA", "FastICA"}
    assert reconstructions.images[0].get_array().shape == (2 * 9 - 1, 11 * 9 - 1)
    assert traversals.images[0].get_array().shape == (5 * 9 - 1, 11 * 9 - 1)
    first = search.best_params_["beta__start"]
    assert traversals.get_title() == f"latent traversals, beta {first:g} to 2"
    assert elbo.get_xlabel() == "beta at the start (it falls to 2)"
    assert np.isclose(mig.get_ylim()[0], 0)
