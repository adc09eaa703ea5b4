"""Tables of mixed columns."""

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_array_equal
from scipy.stats import norm
from sklearn.datasets import load_diabetes

from sklearn_disent.models import TableVAE

SMALL = {"max_epochs": 2, "random_state": 0, "module__hidden_sizes": (16,)}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=90)
    frame = pd.DataFrame(
        {
            "height": 10.0 * kind + rng.normal(size=90),
            "rooms": rng.integers(1, 9, size=90),
            "has_garden": rng.random(90) < 0.5,
            "town": np.array(["A", "B", "C"])[kind],
            "grade": pd.Categorical(
                np.array(["low", "high"])[kind % 2],
                categories=["low", "middle", "high"],
                ordered=True,
            ),
        }
    )
    frame.loc[:9, "height"] = np.nan
    frame.loc[5:14, "town"] = None
    return frame


@pytest.fixture(scope="module")
def vae(table):
    return TableVAE(3, **SMALL).fit(table)


def test_kinds_are_read_off_the_table(vae, table):
    kinds = {column["name"]: column["kind"] for column in vae.columns_}
    assert kinds == {
        "height": "gaussian",
        "rooms": "gaussian",
        "has_garden": "bernoulli",
        "town": "categorical",
        "grade": "bernoulli",
    }
    assert vae.n_features_in_ == 5
    assert list(vae.feature_names_in_) == list(table.columns)
    own = TableVAE(2, kinds={"rooms": "categorical"}, **SMALL).fit(table)
    assert own.columns_[1]["kind"] == "categorical"
    assert own.columns_[1]["categories"] == list(range(1, 9))


def test_likelihood_is_the_sum_over_known_entries_by_hand(vae, table):
    rows, _ = vae._read_X(table, reset=False)
    decoded = torch.from_numpy(np.random.default_rng(0).normal(size=(90, 7)).astype(np.float32))
    nll = vae.reconstruction(torch.from_numpy(rows), decoded).detach().numpy()
    scale = np.exp(vae.module_.log_scale.detach().numpy())
    i, logits = 20, decoded[20].numpy().astype(float)
    row = table.iloc[i]
    height = (row["height"] - table["height"].mean()) / table["height"].std(ddof=0)
    rooms = (row["rooms"] - table["rooms"].mean()) / table["rooms"].std(ddof=0)
    expected = norm.logpdf(height, logits[0], scale[0]) + norm.logpdf(rooms, logits[1], scale[1])
    expected += np.log(1 / (1 + np.exp(-logits[2] * (1 if row["has_garden"] else -1))))
    town = np.exp(logits[3:6]) / np.exp(logits[3:6]).sum()
    expected += np.log(town["ABC".index(row["town"])])
    sign = 1 if row["grade"] == vae.columns_[4]["categories"][1] else -1
    expected += np.log(1 / (1 + np.exp(-logits[6] * sign)))
    assert nll[i] == pytest.approx(-expected, rel=1e-5)


def test_missing_entries_have_no_part_in_the_loss(vae, table):
    rows, _ = vae._read_X(table.iloc[5:8], reset=False)  # neither height nor town
    x = torch.from_numpy(rows)
    decoded = torch.zeros(3, 7, requires_grad=True)
    vae.reconstruction(x, decoded).sum().backward()
    gradient = decoded.grad.numpy()
    assert (gradient[:, [0, 3, 4, 5]] == 0).all()
    assert (gradient[:, [1, 2, 6]] != 0).all()


def test_table_comes_back_with_its_columns_and_types(vae, table):
    back = vae.inverse_transform(vae.transform(table))
    assert isinstance(back, pd.DataFrame)
    assert list(back.columns) == list(table.columns)
    assert back["has_garden"].dtype == bool
    assert back["rooms"].dtype == table["rooms"].dtype
    assert set(back["town"]) <= {"A", "B", "C"}
    assert back["grade"].dtype == table["grade"].dtype
    assert back["grade"].cat.ordered
    assert not back.isna().any(axis=None)
    assert vae.sample(4, random_state=0).shape == (4, 5)
    assert np.isfinite(vae.score_samples(table)).all()


def test_values_that_fit_has_not_seen_are_missing(vae, table):
    other = table.iloc[20:22].copy()
    other["town"] = ["Z", None]
    first, second = vae._read_X(other, reset=False)[0][:, 7:]
    assert (first[3:6] == 0).all()
    assert (second[3:6] == 0).all()


def test_arrays_come_back_as_arrays():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[::7, 1] = np.nan
    vae = TableVAE(2, kinds={2: "gaussian"}, **SMALL).fit(X)
    assert [column["kind"] for column in vae.columns_] == ["gaussian"] * 3
    back = vae.reconstruct(X)
    assert isinstance(back, np.ndarray)
    assert np.isfinite(back).all()


def test_saved_weights_bring_the_columns_along(vae, table, tmp_path):
    path = tmp_path / "weights.safetensors"
    vae.save_params(f_params=path, use_safetensors=True)
    loaded = TableVAE(3, input_shape=(14,), **SMALL).initialize()
    loaded.load_params(f_params=path, use_safetensors=True)
    np.testing.assert_array_equal(loaded.transform(table), vae.transform(table))
    pd.testing.assert_frame_equal(loaded.reconstruct(table), vae.reconstruct(table))


def test_pretrained_model_comes_back_and_trains_on(vae, table, tmp_path):
    model = TableVAE(3, **SMALL).fit(table)
    model.save_pretrained(tmp_path, optimizer=True)
    loaded = TableVAE.from_pretrained(tmp_path)
    assert loaded.columns_ == model.columns_
    pd.testing.assert_frame_equal(loaded.reconstruct(table), model.reconstruct(table))
    codes = [m.partial_fit(table).transform(table) for m in (model, loaded)]
    np.testing.assert_array_equal(*codes)


def test_warm_epochs_add_up(table):
    once = TableVAE(3, **{**SMALL, "max_epochs": 4}).fit(table)
    twice = TableVAE(3, **SMALL).fit(table).partial_fit(table)
    np.testing.assert_array_equal(once.transform(table), twice.transform(table))


@pytest.mark.parametrize(
    ("kinds", "match"),
    [
        ({"wrong": "gaussian"}, "columns of X"),
        ({"rooms": "poisson"}, "poisson"),
        ({"rooms": "bernoulli"}, "8 values, and 'bernoulli' is for two"),
        ({"town": "gaussian"}, "'gaussian' is for numbers"),
    ],
)
def test_messages_name_the_column(kinds, match, table):
    with pytest.raises(ValueError, match=match):
        TableVAE(2, kinds=kinds, **SMALL).fit(table)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_tensors_with_gradient_are_tables(dtype):
    tensor = torch.arange(24, dtype=dtype).reshape(12, 2).requires_grad_()
    net = TableVAE(2, max_epochs=1, random_state=0).fit(tensor)
    assert_array_equal(net.transform(tensor), net.transform(tensor.detach().float().numpy()))


def test_masked_entries_are_missing():
    numbers = np.arange(24.0).reshape(12, 2)
    mask = np.arange(24).reshape(12, 2) % 5 == 0
    nets = [
        TableVAE(2, max_epochs=1, random_state=0).fit(table).transform(table)
        for table in (np.ma.masked_array(numbers, mask), np.where(mask, np.nan, numbers))
    ]
    assert_array_equal(*nets)


def test_numbers_that_cannot_be_standardized_are_named():
    numbers = np.arange(24.0).reshape(12, 2)
    with pytest.raises(ValueError, match=r"Column 1 has values up to 2.3e\+201.*Change its unit"):
        TableVAE(2, max_epochs=1).fit(numbers * [1.0, 1e200])
    net = TableVAE(2, max_epochs=1, random_state=0).fit(numbers)
    with pytest.raises(ValueError, match=r"Column 0 has values too far from those of fit"):
        net.transform(numbers * [1e100, 1.0])


@pytest.mark.slow
def test_missing_entries_are_filled_in_better_than_by_means():
    frame = load_diabetes(as_frame=True, scaled=False).data
    rng = np.random.default_rng(0)
    hidden = pd.DataFrame(rng.random(frame.shape) < 0.1, columns=frame.columns)
    vae = TableVAE(5, max_epochs=150, lr=3e-3, random_state=0).fit(frame.mask(hidden))
    filled = vae.reconstruct(frame.mask(hidden))
    mean = pd.DataFrame([frame.mask(hidden).mean()] * len(frame))
    spread = frame.std()
    errors = [
        (((table.reset_index(drop=True) - frame) / spread)[hidden] ** 2).stack().mean()
        for table in (filled, mean)
    ]
    assert errors[0] < 0.8 * errors[1]
