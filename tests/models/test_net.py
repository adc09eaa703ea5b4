"""The net under scikit-learn's rules: parameters, layouts, errors, warm starts, saving."""

import inspect
import io
import pickle
import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from skorch import NeuralNet
from torch import nn

from sklearn_disent import models
from sklearn_disent._params import PositiveInt
from sklearn_disent.exceptions import TrainingDivergedError
from sklearn_disent.models import VAE, BetaVAE, NeuralNetTransformer, _net
from sklearn_disent.models._callbacks import CallbackBridge
from sklearn_disent.models._saved_state import SavedState
from sklearn_disent.models._training import TrainingLoop
from sklearn_disent.networks import ConvDecoder, MLPEncoder

# -- parameters ------------------------------------------------------------------------------


def test_signature_lists_all_parameters_and_no_kwargs():
    names = BetaVAE._get_param_names()
    assert {"n_components", "beta", "architecture", "lr", "callbacks", "random_state"} <= set(names)
    assert "kwargs" not in names
    assert "module" not in names


def test_get_params_includes_double_underscore_keys_and_clone_keeps_them():
    vae = BetaVAE(optimizer__weight_decay=0.1, module__hidden_sizes=(8,))
    copy = clone(vae)
    assert copy.get_params()["optimizer__weight_decay"] == 0.1
    assert copy.get_params()["module__hidden_sizes"] == (8,)
    assert "optimizer__weight_decay=0.1" in repr(copy)


@pytest.mark.parametrize("name", ["betta", "module", "optimiser__lr", "module__"])
def test_unknown_keyword_is_refused_at_once(name):
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        BetaVAE(**{name: 1})


def test_set_params_refuses_unknown_names():
    with pytest.raises(ValueError, match="Invalid parameter"):
        BetaVAE().set_params(betta=1)


def test_set_params_leaves_fitted_module_alone(images, small):
    X, _ = images
    vae = small().fit(X)
    module, codes = vae.module_, vae.transform(X)
    vae.set_params(module__hidden_sizes=(4,), beta=2.0)
    assert vae.module_ is module
    assert_array_equal(vae.transform(X), codes)


def test_set_params_learning_rate_reaches_fitted_optimiser(images, small):
    vae = small().fit(images[0])
    vae.set_params(lr=0.5, optimizer__weight_decay=0.25)
    group = vae.optimizer_.param_groups[0]
    assert (group["lr"], group["weight_decay"]) == (0.5, 0.25)


@pytest.mark.parametrize(
    "params",
    [
        {"n_components": 0},
        {"beta": -1.0},
        {"lr": 0.0},
        {"max_epochs": -1},
        {"batch_size": 0},
        {"likelihood": "poisson"},
        {"sigma": 0.0},
        {"verbose": -1},
        {"random_state": "seed"},
    ],
)
def test_invalid_parameter_is_named(images, small, params):
    (name,) = params
    with pytest.raises(ValueError, match=f"The '{name}' parameter of BetaVAE"):
        small(**params).fit(images[0])


class Plain(BetaVAE):
    """A subclass as a user may write it: some parameters annotated, some not."""

    def __init__(
        self,
        n_components=3,
        *,
        width=1.0,
        depth: PositiveInt = 2,
        strange: "unknown.Type" = None,  # noqa: F821
        **kwargs,
    ):
        super().__init__(n_components, **kwargs)
        self.width = width
        self.depth = depth
        self.strange = strange


def test_constraints_of_subclasses_are_own_and_inherited(images, small):
    assert set(BetaVAE._parameter_constraints) < set(Plain._parameter_constraints)
    assert not {"width", "strange"} & set(Plain._parameter_constraints)
    params = {**small().get_params(), "width": "any", "strange": object()}
    Plain(**params).fit(images[0])
    for name in ("depth", "n_components", "beta"):
        with pytest.raises(ValueError, match=f"The '{name}' parameter of Plain"):
            Plain(**{**params, name: -1}).fit(images[0])


def test_written_constraints_have_the_last_word(images, small):
    class Strict(BetaVAE):
        _parameter_constraints: dict = {"beta": [None]}

    with pytest.raises(ValueError, match="The 'beta' parameter of Strict must be None"):
        Strict(**small().get_params()).fit(images[0])
    assert "lr" in Strict._parameter_constraints


def test_every_parameter_of_every_model_is_checked():
    for name in models.__all__:
        cls = getattr(models, name)
        if isinstance(cls, type) and hasattr(cls, "_get_param_names"):
            names = set(cls._get_param_names())
            assert names == set(cls._parameter_constraints), name
            code = Path(inspect.getfile(cls)).read_text()
            assert not re.search(r"_parameter_constraints.* = \{\n", code), name


# -- overrides -------------------------------------------------------------------------------


def overridden(cls, *bases):
    """Names that a class and one of the bases define."""
    described = {"__doc__", "__module__", "__annotations__", "__static_attributes__"}
    described |= {"__firstlineno__", "_sklearn_auto_wrap_output_keys"}
    return {n for n in vars(cls) for base in bases if n in vars(base)} - described


def test_table_of_overrides_is_complete():
    sections = _net.__doc__.split("\n\n")
    tables = [re.findall(r"^  (\w+(?:, \w+)*)  ", text, flags=re.M) for text in sections]
    skorch_names, sklearn_names, training, bridge, saved = [
        {name for row in table for name in row.split(", ")} for table in tables if table
    ]
    # Some versions of scikit-learn write this into every class that has partial_fit.
    defined = overridden(_net.BaseNet, NeuralNet) - {"set_partial_fit_request"}
    # skorch's __init__ sets these, which makes them no attributes of the class.
    settings = {"history_", "use_caching", "predict_nonlinearity", "torch_load_kwargs"}
    assert skorch_names == defined | settings | {"_params_to_validate"}
    assert sklearn_names == overridden(_net.BaseNet, BaseEstimator, TransformerMixin) - defined | {
        "__init_subclass__"
    }
    assert training == overridden(TrainingLoop, NeuralNet)
    assert bridge == overridden(CallbackBridge, NeuralNet)
    assert saved == overridden(SavedState, NeuralNet)


def test_private_parts_of_scikit_learn_are_imported_in_one_place():
    package = Path(models.__file__).parent
    for path in package.rglob("*.py"):
        code = path.read_text()
        assert not re.search(r"sklearn\.utils\._|import .*\b_fit_context", code), path.name


# -- input -----------------------------------------------------------------------------------


def test_layouts_give_the_same_codes(images, small):
    X, _ = images
    X = np.stack([X, 1 - X, X], axis=1)  # (n, 3, 8, 8)
    vae = small().fit(X)
    assert vae.input_shape_ == (3, 8, 8)
    assert vae.n_features_in_ == 3 * 8 * 8
    codes = vae.transform(X)
    assert_array_equal(vae.transform(np.moveaxis(X, 1, 3)), codes)
    assert_array_equal(vae.transform(X.reshape(len(X), -1)), codes)
    assert_array_equal(vae.transform(torch.from_numpy(X)), codes)
    assert_array_equal(vae.transform(X.astype(np.float64)), codes)


@pytest.mark.parametrize(
    ("move", "shape"),
    [
        (lambda X: X, (8, 8)),
        (lambda X: X[:, None], (1, 8, 8)),
        (lambda X: X[..., None], (8, 8, 1)),
    ],
)
def test_decoded_images_have_the_layout_of_the_input(images, small, move, shape):
    X = move(images[0])
    vae = small().fit(X)
    assert vae.inverse_transform(np.zeros((3, 2))).shape == (3, *shape)
    assert vae.reconstruct(X).shape == X.shape
    assert vae.sample(4, random_state=0).shape == (4, *shape)


def test_channels_last_reconstruction_matches_channels_first(images, small):
    X = np.stack([images[0], 1 - images[0]], axis=1)
    first = small().fit(X)
    last = small(input_shape=(2, 8, 8)).fit(np.moveaxis(X, 1, 3))
    assert_allclose(np.moveaxis(last.reconstruct(np.moveaxis(X, 1, 3)), 3, 1), first.reconstruct(X))


def test_flat_rows_are_images_by_input_shape(images, small):
    X, _ = images
    flat = small(input_shape=(8, 8)).fit(X.reshape(len(X), -1))
    assert flat.input_shape_ == (1, 8, 8)
    assert_array_equal(flat.transform(X), small().fit(X).transform(X))
    assert flat.reconstruct(X).shape == (len(X), 64)


@pytest.mark.parametrize("shape", [(10, 3, 8, 3), (10, 8, 8, 8)])
def test_ambiguous_channels_are_an_error(small, shape):
    with pytest.raises(ValueError, match="input_shape"):
        small().fit(np.zeros(shape, np.float32))


def test_ambiguous_channels_are_settled_by_input_shape(small):
    vae = small(input_shape=(3, 8, 3)).fit(np.zeros((10, 3, 8, 3), np.float32))
    assert vae.input_shape_ == (3, 8, 3)


def test_uint8_of_255_equals_float_of_1(images, small):
    X, _ = images
    codes = small().fit(X).transform(X)
    assert_array_equal(small().fit(X * 255).transform(X * 255), codes)
    assert_array_equal(small().fit(X.astype(np.float32)).transform(X * 255), codes)
    assert_array_equal(small().fit(X.astype(bool)).transform(X.astype(bool)), codes)


def test_read_only_memmap_trains_without_a_warning(images, small, tmp_path, recwarn):
    X, _ = images
    np.save(tmp_path / "X.npy", X)
    memmap = np.load(tmp_path / "X.npy", mmap_mode="r")
    codes = small().fit(memmap).transform(memmap)
    assert_array_equal(codes, small().fit(X).transform(X))
    assert not recwarn.list


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_names_the_codes(small, library):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
    vae = small().set_output(transform=library).fit(X)
    assert list(vae.feature_names_in_) == ["a", "b", "c"]
    assert list(vae.transform(X).columns) == ["betavae0", "betavae1"]


BAD = {
    "nan": (lambda X: np.where(X == 1, np.nan, 0.0), "NaN"),
    "inf": (lambda X: np.where(X == 1, np.inf, 0.0), "infinity"),
    "empty": (lambda X: X[:0], "0 sample"),
    "one sample": (lambda X: X[:1], "1 sample"),
    "outside": (lambda X: X * 2.0, r"needs values in \[0, 1\]"),
    "negative": (lambda X: -1.0 * X, r"needs values in \[0, 1\]"),
    "object": (lambda X: np.full(X.shape, "a", object), "could not convert"),
    "huge": (lambda X: X * 1e300, "too large for float32"),
    "five dimensions": (lambda X: X[:, None, None], "5 dimensions"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_and_a_fitted_model_stays(images, small, name):
    X, _ = images
    vae = small().fit(X)
    codes, history = vae.transform(X), len(vae.history_)
    change, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        vae.fit(change(X.astype(np.float64)))
    assert len(vae.history_) == history
    assert_array_equal(vae.transform(X), codes)


def test_sparse_input_is_refused(small):
    from scipy import sparse

    with pytest.raises(TypeError, match="Sparse data was passed"):
        small().fit(sparse.csr_array(np.eye(5)))


def test_y_of_another_length_is_refused(images, small):
    X, y = images
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        small().fit(X, y[:-1])


def test_transform_refuses_other_shapes(images, small):
    X, _ = images
    vae = small().fit(X)
    with pytest.raises(ValueError, match="60 features, but BetaVAE is expecting 64"):
        vae.transform(X.reshape(len(X), -1)[:, :60])
    with pytest.raises(ValueError, match=r"\(4, 16\), expected \(1, 8, 8\)"):
        vae.transform(X.reshape(len(X), 4, 16))
    with pytest.raises(ValueError, match="n_components=2 columns, got 3"):
        vae.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="n_samples must be a positive integer"):
        vae.sample(0)


def test_transform_refuses_grey_values_after_a_binary_fit(images, small):
    X, _ = images
    with pytest.raises(ValueError, match=r"needs values in \[0, 1\]"):
        small().fit(X).transform(X * 255)


def test_architecture_errors_leave_a_fitted_model(images, small):
    X, _ = images
    vae = small().fit(X)
    codes = vae.transform(X)
    with pytest.raises(ValueError, match=r"'architecture' .* among .* Got 'resnet'"):
        vae.set_params(architecture="resnet").fit(X)
    with pytest.raises(ValueError, match="at least 8 x 8 pixels"):
        BetaVAE(architecture="burgess").fit(np.zeros((10, 7, 12)))
    assert_array_equal(vae.transform(X), codes)


def test_methods_before_fit_say_so(images):
    X, _ = images
    for call in (
        lambda: BetaVAE().transform(X),
        lambda: BetaVAE().posterior(X),
        lambda: BetaVAE().score(X),
        lambda: BetaVAE().inverse_transform(np.zeros((1, 10))),
        lambda: BetaVAE().sample(),
    ):
        with pytest.raises(NotFittedError):
            call()


# -- own networks ----------------------------------------------------------------------------


def test_own_networks_as_classes_and_as_instances(images, small):
    X, _ = images
    classes = small(
        encoder=MLPEncoder,
        encoder__hidden_sizes=(7,),
        decoder=ConvDecoder,
        **{"module__hidden_sizes": (5,)},
    ).fit(X)
    assert classes.module_.encoder.layers[1].out_features == 7
    encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 4))
    before = encoder[1].weight.detach().clone()
    instances = small(encoder=encoder).fit(X)
    assert torch.equal(encoder[1].weight, before)  # the user's own module is not trained
    assert not torch.equal(instances.module_.encoder[1].weight, before)
    untrained = small(encoder=encoder, max_epochs=0).fit(X)
    assert torch.equal(untrained.module_.encoder[1].weight, before)  # but training starts from it


def test_own_networks_of_wrong_shape_are_refused(images, small):
    X, _ = images
    with pytest.raises(
        ValueError, match=r"encoder must return \(n, 2 \* n_components\) = \(n, 4\)"
    ):
        small(encoder=nn.Sequential(nn.Flatten(), nn.Linear(64, 2))).fit(X)
    with pytest.raises(
        ValueError, match=r"decoder must return observations of shape \(n, 1, 8, 8\)"
    ):
        small(decoder=nn.Linear(2, 64)).fit(X)


def test_neural_net_transformer_trains_any_module_and_criterion(images):
    class Head(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.layer = nn.Linear(64, width)

        def forward(self, x):
            return self.layer(x.flatten(1))

    def zero_mean():
        return lambda output, x: output.mean(0).pow(2).sum()

    X, _ = images
    net = NeuralNetTransformer(
        Head, module__width=3, criterion=zero_mean, max_epochs=60, lr=1e-2, random_state=0
    ).fit(X)
    assert net.transform(X).shape == (120, 3)
    assert list(net.get_feature_names_out()) == [f"neuralnettransformer{i}" for i in range(3)]
    assert net.history_[-1, "train_loss"] < 0.05 * net.history_[0, "train_loss"]


# -- training --------------------------------------------------------------------------------


def test_warm_epochs_add_up(images, small):
    X, _ = images
    four = small(max_epochs=4).fit(X)
    warm = small(max_epochs=2, warm_start=True).fit(X).fit(X)
    partial = small(max_epochs=2).fit(X).partial_fit(X)
    assert_array_equal(warm.transform(X), four.transform(X))
    assert_array_equal(partial.transform(X), four.transform(X))
    assert [row["epoch"] for row in warm.history_] == [1, 2, 3, 4]


def test_warm_start_survives_pickling(images, small):
    X, _ = images
    half = pickle.loads(pickle.dumps(small(max_epochs=2, warm_start=True).fit(X)))
    assert_array_equal(half.fit(X).transform(X), small(max_epochs=4).fit(X).transform(X))


def test_refit_starts_anew(images, small):
    X, _ = images
    vae = small().fit(X)
    codes = vae.transform(X)
    assert_array_equal(vae.fit(X).transform(X), codes)
    assert len(vae.history_) == 2


def test_global_generators_are_untouched(images, small):
    torch.manual_seed(3)
    np.random.seed(3)  # noqa: NPY002
    expected = torch.rand(1), np.random.rand()  # noqa: NPY002
    torch.manual_seed(3)
    np.random.seed(3)  # noqa: NPY002
    vae = small().fit(images[0])
    vae.score(images[0])
    vae.sample(3, random_state=0)
    assert torch.equal(torch.rand(1), expected[0])
    assert np.random.rand() == expected[1]  # noqa: NPY002


def test_random_state_changes_the_result(images, small):
    X, _ = images
    assert not np.allclose(small().fit(X).transform(X), small(random_state=1).fit(X).transform(X))


def test_history_holds_named_terms_that_sum_to_the_loss(images, small):
    vae = small(beta=3.0).fit(images[0])
    for row in vae.history_:
        total = row["train_reconstruction"] + 3.0 * row["train_kl"]
        assert row["train_loss"] == pytest.approx(total, rel=1e-5)


def test_validation_rows_are_held_apart(images, small):
    from skorch.dataset import ValidSplit

    vae = small(train_split=ValidSplit(3)).fit(*images)
    assert set(vae.history_[-1]) >= {"valid_loss", "valid_kl", "valid_loss_best"}
    assert vae.history_[-1, "train_batch_count"] == 3  # 80 rows of 120, in batches of 32


@pytest.mark.filterwarnings("ignore:overflow")
def test_divergence_names_the_epoch_and_keeps_good_weights(images):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(64, 4)) * 1e3
    vae = VAE(2, sigma=1e-3, lr=1e6, max_epochs=30, random_state=0)
    with pytest.raises(TrainingDivergedError, match=r"in epoch \d+.*smaller lr"):
        vae.fit(X)
    assert all(torch.isfinite(p).all() for p in vae.module_.parameters())
    assert np.isfinite(vae.transform(X)).all()


def test_keyboard_interrupt_is_raised_and_keeps_the_weights(images, small):
    class Interrupted(BetaVAE):
        def _step(self, batch):
            if len(self.history_) == 2:
                raise KeyboardInterrupt
            return super()._step(batch)

    X, _ = images
    params = small(max_epochs=5).get_params()
    vae = Interrupted(**params)
    with pytest.raises(KeyboardInterrupt):
        vae.fit(X)
    assert_array_equal(vae.transform(X), small(max_epochs=1).fit(X).transform(X))


# -- saving ----------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ["mlp", "burgess"])
def test_pickle_and_joblib_keep_the_model(images, architecture, tmp_path):
    X, _ = images
    vae = BetaVAE(2, architecture=architecture, max_epochs=1, random_state=0).fit(X)
    joblib.dump(vae, tmp_path / "vae.joblib")
    for copy in (pickle.loads(pickle.dumps(vae)), joblib.load(tmp_path / "vae.joblib")):
        assert_array_equal(copy.transform(X), vae.transform(X))
        assert copy.history_ == vae.history_
        assert copy.get_params().keys() == vae.get_params().keys()


@pytest.mark.parametrize("use_safetensors", [True, False])
def test_saved_params_load_into_a_new_estimator(images, use_safetensors, tmp_path):
    X, _ = images
    vae = BetaVAE(2, max_epochs=1, random_state=0).fit(X)
    path = tmp_path / "weights"
    vae.save_params(path, use_safetensors=use_safetensors)
    new = BetaVAE(2, input_shape=(8, 8), random_state=1).initialize()
    new.load_params(path, use_safetensors=use_safetensors)
    assert_array_equal(new.transform(X.astype(float)), vae.transform(X.astype(float)))


def test_initialize_needs_a_shape():
    with pytest.raises(ValueError, match="Set input_shape, or call fit"):
        BetaVAE().initialize()


def test_nothing_is_printed_at_verbose_0(images, small, capfd):
    vae = small().fit(*images)
    vae.fit(*images).transform(images[0])
    assert capfd.readouterr() == ("", "")
    small(verbose=1).fit(*images)
    assert "train_loss" in capfd.readouterr().out


def test_verbose_table_has_a_line_per_epoch(images, small):
    buffer = io.StringIO()
    small(verbose=1, callbacks__print_log__sink=lambda text: buffer.write(text + "\n")).fit(*images)
    assert len(buffer.getvalue().strip().splitlines()) == 2 + 2
