"""Guidance of any model: values as recorded, parameters, metadata, what a user may write."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from skorch.dataset import ValidSplit
from torch import nn

from sklearn_disent._params import NonNegativeFloat
from sklearn_disent.metrics import get_scorer
from sklearn_disent.models import (
    VAE,
    BaseVAE,
    BetaVAE,
    Guidance,
    InfoGAN,
    Labels,
    LinearSchedule,
    NeuralNetTransformer,
    Regions,
)

from .conftest import MODELS, TINY, VAES, every_vae

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "models" / "training.json").read_text()
)
CV = KFold(2, shuffle=True, random_state=0)


def boxes_of(y):
    return np.column_stack([y, y + 3])


# -- values ----------------------------------------------------------------------------------


def guided_cases(images):
    """Name -> (model, metadata of fit) of every recorded case with guidance."""
    X, y = images
    boxes = boxes_of(y)
    holes = np.where(np.random.default_rng(1).random(y.shape) < 0.4, -1, y)
    cases = {}
    for name in ("BetaVAE", "BetaTCVAE", "BetaTCVAE-flow", "DIPVAE", "FactorVAE"):
        for kind in ("xent", "l2", "cov", "embed"):
            guidance = Labels(kind, weight=50.0, n_labeled=0.4, sigma=1.5)
            cases[f"{name}, {kind}"] = name, {"guidance": guidance}, {"y": y}
        guidance = Labels("xent", weight=LinearSchedule(0, 20, 6), factor_sizes=(6, 7))
        cases[f"{name}, holes"] = name, {"guidance": guidance}, {"y": holes}
    name = "FactorVAE"
    large = {"guidance": Regions(image_shape=(24, 24)), "likelihood": "gaussian"}
    both = {"guidance": [Labels("l2", n_labeled=20), Regions()]}
    cases |= {
        "FactorVAE, boxes": (name, {"guidance": Regions()}, {"boxes": boxes}),
        "FactorVAE, mask": (name, {"guidance": Regions(7.0)}, {"mask": X.astype(bool)}),
        "FactorVAE, large boxes": (name, large, {"boxes": 3.0 * boxes}),
        "FactorVAE, l2, boxes": (name, both, {"y": y, "boxes": boxes}),
    }
    return {key: (as_recorded(n, **p), fit) for key, (n, p, fit) in cases.items()}


def as_recorded(name, **params):
    """A model of the common tests with the initial weights of the records."""
    return clone(MODELS[name]).set_params(module__init="torch", **params)


def result(model, X):
    history = [
        {k: v for k, v in row.items() if k.startswith("train_") and isinstance(v, float)}
        for row in model.history_
    ]
    codes = model.transform(X).astype(np.float64)
    return {"history": history, "codes": [codes.sum(), *codes[0], *codes[-1]]}


def agree(found, recorded, *, exactly):
    for row, expected in zip(found["history"], recorded["history"], strict=True):
        if exactly:
            assert row == expected
        assert row == pytest.approx(expected, rel=1e-4, abs=1e-5)
    if exactly:
        assert_array_equal(found["codes"], recorded["codes"])
    np.testing.assert_allclose(found["codes"], recorded["codes"], rtol=1e-3, atol=1e-4)


@pytest.fixture(scope="module")
def same_arithmetic(images):
    """Whether this machine repeats a case to the last bit, as its model without guidance does.

    Processors with other vector units round the wide layers of a discriminator otherwise.
    """
    same = {}
    for name in ("BetaVAE", "FactorVAE"):
        found, recorded = result(as_recorded(name).fit(images[0]), images[0]), REFERENCE[name]
        same[name] = all(np.array_equal(found[part], recorded[part]) for part in found)
    return lambda name: same["FactorVAE" if name.startswith("FactorVAE") else "BetaVAE"]


@pytest.mark.parametrize("name", [name for name in REFERENCE if ", " not in name])
def test_models_without_guidance_give_the_recorded_values(images, same_arithmetic, name):
    X, y = images
    found = result(as_recorded(name).fit(X, y), X)
    agree(found, REFERENCE[name], exactly=same_arithmetic(name))


@pytest.mark.parametrize("name", [name for name in REFERENCE if ", " in name])
def test_guidance_gives_the_recorded_values(images, same_arithmetic, name):
    X, _ = images
    model, metadata = guided_cases(images)[name]
    found = result(model.fit(X, **metadata), X)
    agree(found, REFERENCE[name], exactly=same_arithmetic(name))


@every_vae()
def test_every_vae_takes_labels_and_regions(images, model, fit_once):
    X, y = images
    plain = fit_once(model)
    guidance = [Labels("l2", weight=20.0, n_labeled=0.5), Regions(20.0)]
    guided = clone(model).set_params(guidance=guidance).fit(X, y, boxes=boxes_of(y))
    row = guided.history_[-1]
    assert row["train_labels_l2"] > 0
    assert row["train_regions_error"] > 0
    assert set(row) - set(plain.history_[-1]) == {"train_labels_l2", "train_regions_error"}
    assert not np.allclose(guided.transform(X), plain.transform(X), atol=1e-3)
    four = clone(guided).set_params(max_epochs=4).fit(X, y, boxes=boxes_of(y))
    half = pickle.loads(pickle.dumps(guided.set_params(warm_start=True)))
    assert_array_equal(half.fit(X, y, boxes=boxes_of(y)).transform(X), four.transform(X))


@pytest.mark.slow
def test_guidance_that_says_nothing_changes_nothing(images):
    class Silent(Guidance):
        def make_module(self, net):
            return nn.Linear(2, 2)  # random weights: those of the model stay as they were

        def terms(self, x, output, extras, net):
            return {}

    X, y = images
    for name, model in VAES.items():
        guided = clone(model).set_params(guidance=Silent()).fit(X, y)
        agree(result(guided, X), result(clone(model).fit(X, y), X), exactly=True)
        assert "guidance.silent.weight" in guided.module_.state_dict(), name


@pytest.mark.parametrize("model", [InfoGAN, NeuralNetTransformer])
def test_nets_without_a_posterior_have_no_guidance(model):
    with pytest.raises(TypeError, match="unexpected keyword argument 'guidance'"):
        model(guidance=Labels())


# -- parameters ------------------------------------------------------------------------------


def test_parameters_of_one_guidance_are_nested():
    vae = BetaVAE(guidance=Labels("xent"))
    assert vae.get_params()["guidance__weight"] == 100.0
    assert vae.set_params(guidance__weight=3.0, beta=2.0).guidance.weight == 3.0
    copy = clone(vae)
    assert copy.guidance is not vae.guidance
    assert copy.guidance.weight == 3.0
    assert "guidance=Labels(weight=3.0)" in repr(vae)
    vae.set_params(guidance=Regions(), guidance__weight=5.0)
    assert isinstance(vae.guidance, Regions)
    assert vae.guidance.weight == 5.0


def test_parameters_of_a_list_are_nested_by_name():
    guidance = [Labels("xent"), ("few", Labels("l2")), Regions(), Labels("cov")]
    vae = BetaVAE(guidance=guidance)
    params = vae.get_params()
    assert params["guidance__labels_1__kind"] == "xent"
    assert params["guidance__labels_2__kind"] == "cov"
    assert params["guidance__few__kind"] == "l2"
    assert params["guidance__regions"] is guidance[2]
    copy = clone(vae).set_params(guidance__few__weight=1.0, guidance__regions__weight=4.0)
    assert [g.weight for g in (copy.guidance[0], copy.guidance[1][1], copy.guidance[2])] == [
        100.0,
        1.0,
        4.0,
    ]
    assert guidance[1][1].weight == 100.0  # those of the original are left alone
    copy.set_params(
        guidance__few__weight=8.0, guidance__few=Labels("embed"), guidance__regions=Regions(9.0)
    )
    assert copy.get_params()["guidance__few__kind"] == "embed"
    assert copy.get_params()["guidance__few__weight"] == 8.0
    assert copy.get_params()["guidance__regions__weight"] == 9.0
    assert guidance[2].weight == 2.0


def test_a_single_name_has_no_number():
    assert "guidance__labels__weight" in BetaVAE(guidance=[Labels()]).get_params()


@pytest.mark.parametrize(
    ("guidance", "error", "message"),
    [
        ("labels", ValueError, "'guidance' parameter of BetaVAE must be an instance of"),
        ([3], TypeError, r"must be a Guidance object, such as Labels\(\), .* got 3"),
        ([("a", Labels()), ("a", Regions())], ValueError, "must differ, got 'a' twice"),
        ([("a__b", Labels())], ValueError, "an identifier without double underscores"),
        ([("a b", Labels())], ValueError, "an identifier without double underscores"),
        ([("keys", Labels())], ValueError, "cannot have the name 'keys'"),
        ([("kl_and", "more", Labels())], TypeError, "must be a Guidance object"),
    ],
)
def test_wrong_guidance_is_refused_by_fit(images, small, guidance, error, message):
    vae = small(guidance=guidance)
    assert "guidance" in repr(vae)
    vae.get_params()
    with pytest.raises(error, match=message):
        vae.fit(*images)


def test_parameters_of_absent_guidance_are_refused():
    with pytest.raises(ValueError, match=r"'guidance__weight' for BetaVAE, whose guidance is None"):
        BetaVAE().set_params(guidance__weight=1.0)
    with pytest.raises(ValueError, match=r"'guidance__few__weight' .* is \['labels'\]"):
        BetaVAE(guidance=[Labels()]).set_params(guidance__few__weight=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'wait' for estimator Labels"):
        BetaVAE(guidance=Labels()).set_params(guidance__wait=1.0)


@pytest.mark.parametrize(
    ("guidance", "grid"),
    [
        (Labels("xent"), {"guidance__weight": [0.0, 1000.0]}),
        ([Labels("xent")], {"guidance__labels__weight": [0.0, 1000.0]}),
        (None, {"guidance": [None, Labels("l2"), [Labels("xent"), ("more", Labels("cov"))]]}),
    ],
    ids=["one", "list", "whole"],
)
def test_searches_find_parameters_of_guidance(images, small, guidance, grid):
    search = GridSearchCV(small(guidance=guidance), grid, scoring=get_scorer("mig"), cv=CV)
    scores = search.fit(*images).cv_results_["mean_test_score"]
    assert len(set(scores)) == len(next(iter(grid.values())))


def test_fit_leaves_the_parameter_alone(images, small):
    X, y = images
    guidance = Labels("embed")
    before = dict(vars(guidance))
    vae = small(guidance=guidance).fit(X, y)
    assert vars(guidance) == before
    assert vae.guidance is guidance
    assert vae.guidance_["labels"] is not guidance
    assert vae.guidance_["labels"].name_ == "labels"


def test_parameters_may_change_while_training_goes_on(images, small):
    X, y = images
    vae = small(guidance=Labels("l2", weight=1.0), warm_start=True).fit(X, y)
    same = pickle.loads(pickle.dumps(vae)).fit(X, y)
    other = vae.set_params(guidance__weight=500.0).fit(X, y)
    assert other.guidance_["labels"].weight == 500.0
    assert not np.allclose(other.transform(X), same.transform(X), atol=1e-4)
    codes = other.transform(X)
    with pytest.raises(ValueError, match=r"keeps its guidance, \['labels'\], got None"):
        other.set_params(guidance=None).fit(X, y)
    assert_array_equal(other.transform(X), codes)
    other.set_params(warm_start=False).fit(X, y)
    assert other.guidance_ == {}
    assert not hasattr(other.module_, "guidance")


def test_labels_are_required_by_tags():
    assert get_tags(BetaVAE(guidance=Labels())).target_tags.required
    assert get_tags(BetaVAE(guidance=[Regions(), Labels()])).target_tags.required
    assert not get_tags(BetaVAE(guidance=Regions())).target_tags.required
    assert not get_tags(BetaVAE()).target_tags.required


# -- guidance of a user's own ----------------------------------------------------------------


class Known(Guidance):
    """A line from codes to numbers that are given as metadata, learnt along with the model."""

    def __init__(self, weight: NonNegativeFloat = 1.0, exotic: Any = None):
        self.weight = weight
        self.exotic = exotic

    def read(self, net, y, n_rows, *, reset, numbers=None):
        assert net.input_shape_ == (1, 8, 8)
        assert reset is not hasattr(self, "mean_")
        if numbers is None:
            raise ValueError("Known needs numbers.")
        if reset:
            self.mean_ = float(np.mean(numbers))
        return {"numbers": np.asarray(numbers, dtype=np.float32) - self.mean_}

    def make_module(self, net):
        return nn.Linear(net.n_components_, 1)

    def terms(self, x, output, extras, net):
        line = net.module_.guidance[self.name_]
        noise = torch.randn(len(x), generator=net.generator, device=net.device)
        error = line(output.mean)[:, 0] - extras["numbers"] - 0.01 * noise
        return {"error": (self.weight, error.square().mean()), "steps": (None, x.new_tensor(1.0))}


def test_own_guidance_reads_metadata_learns_and_is_logged(images, small):
    X, y = images
    numbers = y[:, 0].astype(float)
    vae = small(guidance=Known(weight=200.0), max_epochs=40, lr=1e-2).fit(X, numbers=numbers)
    errors = [row["train_known_error"] for row in vae.history_]
    assert errors[-1] < 0.1 * errors[0]
    assert vae.history_[-1, "train_known_steps"] == 1.0
    line = vae.module_.guidance["known"]
    with torch.no_grad():
        read = line(torch.from_numpy(vae.transform(X)))[:, 0].numpy() + vae.guidance_["known"].mean_
    assert np.corrcoef(read, numbers)[0, 1] > 0.95
    row = vae.history_[-1]
    total = row["train_reconstruction"] + row["train_kl"] + 200.0 * row["train_known_error"]
    assert row["train_loss"] == pytest.approx(total, rel=1e-5)


def test_own_guidance_repeats_goes_on_and_is_saved(images, small, tmp_path):
    X, y = images
    fit = {"numbers": y[:, 1]}
    vae = small(guidance=[("row", Known())], train_split=ValidSplit(4))
    four = clone(vae).set_params(max_epochs=4).fit(X, **fit)
    two = clone(vae).fit(X, **fit)
    assert np.isfinite(two.history_[-1, "valid_row_error"])
    assert_array_equal(two.partial_fit(X, **fit).transform(X), four.transform(X))
    two.save_params(tmp_path / "weights.pt")
    new = small(guidance=[("row", Known())], input_shape=(8, 8), random_state=7).initialize()
    new.load_params(tmp_path / "weights.pt")
    assert torch.equal(new.module_.guidance["row"].weight, two.module_.guidance["row"].weight)


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_own_metadata_travels_through_searches_and_pipelines(images, small, routing, in_pipeline):
    X, y = images
    seen = []

    class Watched(Known):
        def read(self, net, y, n_rows, *, reset, numbers=None):
            seen.append((n_rows, np.array(y), np.array(numbers)))
            return super().read(net, y, n_rows, reset=reset, numbers=numbers)

    with config_context(enable_metadata_routing=routing):
        model, grid, name = small(guidance=Watched()), {"beta": [1.0, 2.0]}, "numbers"
        if in_pipeline:
            model = make_pipeline(FunctionTransformer(), model)
            grid = {"betavae__guidance__weight": [1.0, 2.0]}
            name = "numbers" if routing else "betavae__numbers"
        search = GridSearchCV(model, grid, scoring=get_scorer("mig"), cv=CV)
        search.fit(X, y, **{name: y[:, 0]})
    assert {n_rows for n_rows, _, _ in seen} == {60, 120}
    assert all(np.array_equal(labels[:, 0], numbers) for _, labels, numbers in seen)


def test_own_guidance_that_is_wrong_is_told_so(images, small):
    X, y = images

    class Short(Guidance):
        def read(self, net, y, n_rows, *, reset):
            return {"half": np.zeros(n_rows // 2)}

    class Twice(Guidance):
        def terms(self, x, output, extras, net):
            return {"x": (1.0, output.mean.sum())}

    class Clash(BetaVAE):
        def terms(self, x, output, extras):
            return {**super().terms(x, output, extras), "twice_x": (1.0, output.mean.sum())}

    with pytest.raises(ValueError, match=r"Short.read must return arrays of 120 entries.*\(60,\)"):
        small(guidance=Short()).fit(X)
    with pytest.raises(NotImplementedError, match="Guidance must define terms"):
        small(guidance=Guidance()).fit(X)
    with pytest.raises(ValueError, match=r"two terms of the name 'twice_x'"):
        Clash(**TINY, guidance=Twice()).fit(X)
    with pytest.raises(
        ValueError, match="'weight' parameter of Known must be a float in the range"
    ):
        small(guidance=Known(weight=-1.0)).fit(X, numbers=y[:, 0])
    with pytest.raises(ValueError, match="Known needs numbers"):
        small(guidance=Known()).fit(X)


# -- models of a user's own ------------------------------------------------------------------


def test_generator_is_there_during_fit_only(images):
    drawn = []

    class Noisy(BetaVAE):
        def terms(self, x, output, extras):
            drawn.append(torch.rand(3, generator=self.generator))
            return super().terms(x, output, extras)

    for _ in range(2):
        vae = Noisy(**TINY).fit(images[0])
    half = len(drawn) // 2
    assert all(torch.equal(a, b) for a, b in zip(drawn[:half], drawn[half:]))
    assert not torch.equal(drawn[0], drawn[1])
    assert not hasattr(vae, "generator")
    with pytest.raises(AttributeError, match="only while fit runs"):
        vae.noise(3)


def test_model_without_terms_is_told_so(images):
    with pytest.raises(NotImplementedError, match="BaseVAE must define terms"):
        BaseVAE(**TINY).fit(images[0])


@pytest.mark.parametrize(
    ("likelihood", "mean"), [("bernoulli", torch.sigmoid), ("gaussian", lambda decoded: decoded)]
)
def test_likelihood_is_public(images, likelihood, mean):
    X, _ = images
    vae = VAE(**TINY, likelihood=likelihood, sigma=0.5).fit(X)
    x = torch.from_numpy(X[:, None]).float()
    with torch.no_grad():
        decoded = vae.module_.decoder(torch.from_numpy(vae.transform(X)))
        torch.testing.assert_close(vae.decoded_mean(decoded), mean(decoded))
        p = (
            torch.distributions.Bernoulli(logits=decoded)
            if likelihood == "bernoulli"
            else torch.distributions.Normal(decoded, 0.5)
        )
        torch.testing.assert_close(
            vae.reconstruction(x, decoded), -p.log_prob(x).flatten(1).sum(1), rtol=1e-4, atol=1e-4
        )
