"""Shape, shuffle, squeeze, unsqueeze."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError, Evaluator

QUICK = settings(max_examples=25, deadline=None)
GRID = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3, 5)])
def test_shape(shape: tuple[int, ...]) -> None:
    net = Net()
    result = net.run(net.network.add_shape(net.input(np.zeros(shape, np.float32))).get_output(0))
    assert result.dtype == np.int64 and result.shape == (len(shape),) and result.tolist() == list(shape)


@QUICK
@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=4), data=st.data())
def test_a_shuffle_transposes_reshapes_and_transposes(shape: list[int], data: Any) -> None:
    value = torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(shape)
    first = data.draw(st.permutations(range(len(shape))))
    moved = value.permute(first)
    wanted = data.draw(st.sampled_from([list(moved.shape), [-1], [1, -1], [0, *[1] * (len(shape) - 1), -1]]))
    reshaped = moved.reshape([moved.shape[i] if size == 0 else size for i, size in enumerate(wanted)])
    second = data.draw(st.permutations(range(reshaped.ndim)))
    for dynamic in (False, True):
        net = Net()
        layer = net.network.add_shuffle(net.input(value.numpy()))
        layer.first_transpose, layer.second_transpose = first, second
        if dynamic:
            layer.set_input(1, net.input(wanted, dtype=np.int64))
        else:
            layer.reshape_dims = wanted
        np.testing.assert_array_equal(net.run(layer.get_output(0)), reshaped.permute(second).numpy())


def test_a_shuffle_keeps_the_shape_unless_told() -> None:
    net = Net()
    layer = net.network.add_shuffle(net.input(GRID))
    layer.second_transpose = (1, 0)
    np.testing.assert_array_equal(net.run(layer.get_output(0)), GRID.T)


def test_a_reshape_to_a_scalar() -> None:
    net = Net()
    layer = net.network.add_shuffle(net.input(GRID[:1, :1]))
    layer.reshape_dims = ()
    assert net.run(layer.get_output(0)).shape == ()


def test_a_reshape_dimension_of_0_can_mean_none() -> None:
    for zero_copies, shape in ((True, (3, 0)), (False, (0, 0))):
        net = Net()
        layer = net.network.add_shuffle(net.input(GRID[:, :0]))
        layer.zero_is_placeholder = zero_copies
        layer.reshape_dims = (0, 0)
        assert net.run(layer.get_output(0)).shape == shape


def test_one_network_reshapes_every_batch() -> None:
    net = Net()
    layer = net.network.add_shuffle(net.input(GRID, (-1, 4)))
    layer.reshape_dims = (0, 2, -1)
    net.network.mark_output(layer.get_output(0))
    evaluator = Evaluator(net.network)
    for rows in (1, 5):
        (result,) = evaluator.run([np.zeros((rows, 4), np.float32)]).values()
        assert result.shape == (rows, 2, 2)


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ((5, 2), r"does not fit: \(3, 4\) has 12 elements, \(5, 2\) makes 10 of them"),
        ((-1, 5), r"does not fit: \(3, 4\) has 12 elements, \(-1, 5\) makes 10 of them"),
        ((-1, -1), "no negative dimension but one -1"),
        ((-2, 6), "no negative dimension but one -1"),
        ((3, 4, 0), "copies a dimension that the input of shape .* does not have"),
    ],
)
def test_a_reshape_that_does_not_fit_is_refused(dims: tuple[int, ...], message: str) -> None:
    net = Net()
    layer = net.network.add_shuffle(net.input(GRID))
    layer.set_input(1, net.input(dims, dtype=np.int64))
    with pytest.raises(EvaluationError, match=f"SHUFFLE layer.*{message}"):
        net.run(layer.get_output(0))


def test_a_reshape_of_nothing_leaves_minus_1_open() -> None:
    net = Net()
    layer = net.network.add_shuffle(net.input(GRID[:0], (-1, 4)))
    layer.reshape_dims = (0, -1)
    with pytest.raises(EvaluationError, match="leaves -1 open"):
        net.run(layer.get_output(0))


def test_a_transposition_that_is_none_is_refused() -> None:
    net = Net()
    layer = net.network.add_shuffle(net.input(GRID))
    layer.first_transpose = (0, 0)
    with pytest.raises(EvaluationError, match=r"\(0, 0\) is no permutation of the 2 dimensions"):
        net.run(layer.get_output(0))


@pytest.mark.parametrize("axes", [[0], [-1], [0, 2], [2, -4]])
def test_squeeze_and_unsqueeze(axes: list[int]) -> None:
    value = np.zeros((1, 3, 1, 1), np.float32)
    net = Net()
    named = net.constant(axes, np.int64)
    narrow = net.network.add_squeeze(net.input(value), named).get_output(0)
    wide = net.network.add_unsqueeze(narrow, named).get_output(0)
    first, second = net.run(narrow, wide)
    assert first.shape == value.squeeze(tuple(axes)).shape
    assert second.shape == np.expand_dims(first, tuple(axes)).shape


@pytest.mark.parametrize(
    ("axes", "message"),
    [([1], "only dimensions of 1"), ([0, -4], "must be different ones"), ([4], r"different ones of \[-4, 4\)")],
)
def test_axes_that_cannot_be_squeezed_are_refused(axes: list[int], message: str) -> None:
    net = Net()
    layer = net.network.add_squeeze(net.input(np.zeros((1, 3, 1, 1), np.float32)), net.constant(axes, np.int64))
    with pytest.raises(EvaluationError, match=f"SQUEEZE layer.*{message}"):
        net.run(layer.get_output(0))
