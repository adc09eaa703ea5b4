"""What people pass as arrays."""

import numpy as np
import pytest
import torch

from sklearn_disent._arrays import as_array, as_numbers, is_tensor, plain_tensor


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_tensors_are_arrays_without_their_gradient(dtype):
    tensor = torch.tensor([[1.5, -2.0]], dtype=dtype, requires_grad=True)
    array = as_array(tensor, "X")
    assert array.tolist() == [[1.5, -2.0]]
    assert array.dtype == (np.float64 if dtype == torch.float64 else np.float32)


def test_plain_tensor_leaves_everything_else_alone():
    values = [1, 2]
    assert plain_tensor(values) is values
    assert is_tensor(plain_tensor(torch.ones(2)))
    assert as_array(torch.tensor([2**60 + 1]), "y").tolist() == [2**60 + 1]


@pytest.mark.parametrize("values", [[1.0, 2.0], [1, 2**60 + 1], ["a", "b"]])
def test_masked_entries_are_missing(values):
    masked = np.ma.masked_array(values, [True, False])
    first, second = as_array(masked, "y")
    assert first is None or np.isnan(first)
    assert second == values[1]
    assert as_array(np.ma.masked_array(values), "y").tolist() == values


def test_masked_whole_numbers_are_nan_among_numbers():
    assert np.isnan(as_numbers(np.ma.masked_array([1, 2], [True, False]), "X")[0])


def test_unequal_rows_are_named():
    with pytest.raises(ValueError, match=r"codes cannot be read as an array: .* equal length"):
        as_array([[1, 2], [3]], "codes")
