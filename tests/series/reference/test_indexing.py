"""Gather, scatter, nonzero and one-hot against PyTorch and NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt

QUICK = settings(max_examples=20, deadline=None)
GRID = np.arange(12, dtype=np.float32).reshape(3, 4)
SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4)
INDEX_TYPES = st.sampled_from([np.int32, np.int64])


def some_indices(size: int, shape: list[int] | tuple[int, ...], seed: int, dtype: Any = np.int64) -> np.ndarray:
    return np.random.default_rng(seed).integers(-size, size, shape).astype(dtype)


def counted(shape: list[int], dtype: Any = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


class TestGather:
    @QUICK
    @given(
        shape=SHAPES,
        picked=st.lists(st.integers(0, 3), max_size=3),
        dtype=st.sampled_from([np.float32, np.float16, ml_dtypes.bfloat16, np.int64, np.bool_]),
        index_type=INDEX_TYPES,
        data=st.data(),
    )
    def test_default(self, shape: list[int], picked: list[int], dtype: Any, index_type: Any, data: Any) -> None:
        axis = data.draw(st.integers(0, len(shape) - 1))
        value, indices = counted(shape, dtype), some_indices(shape[axis], picked, 0, index_type)
        net = Net()
        layer = net.network.add_gather(net.input(value), net.input(indices), axis)
        places = (slice(None),) * axis
        expected = torch.from_numpy(value.astype(np.float32))[(*places, torch.from_numpy(indices.astype(np.int64)))]
        result = net.run(layer.get_output(0))
        assert result.dtype == dtype
        np.testing.assert_array_equal(result.astype(np.float32), expected.numpy())

    @pytest.mark.parametrize("rows", [(3, 3), (1, 3), (3, 1)])
    @pytest.mark.parametrize("axis", [1, 2])
    def test_default_with_an_elementwise_dimension(self, rows: tuple[int, int], axis: int) -> None:
        value = counted([rows[0], 4, 4])
        indices = some_indices(4, (rows[1], 2), 1)
        net = Net()
        layer = net.network.add_gather(net.input(value), net.input(indices), axis)
        layer.num_elementwise_dims = 1
        expected = [np.take(value[row % rows[0]], indices[row % rows[1]], axis=axis - 1) for row in range(max(rows))]
        np.testing.assert_array_equal(net.run(layer.get_output(0)), expected)

    @QUICK
    @given(shape=SHAPES, index_type=INDEX_TYPES, data=st.data())
    def test_element(self, shape: list[int], index_type: Any, data: Any) -> None:
        axis = data.draw(st.integers(0, len(shape) - 1))
        picked = [data.draw(st.integers(1, 5 if place == axis else size)) for place, size in enumerate(shape)]
        value, indices = counted(shape), some_indices(shape[axis], picked, 2, index_type)
        net = Net()
        layer = net.network.add_gather_v2(net.input(value), net.input(indices), trt.GatherMode.ELEMENT)
        layer.axis = axis
        expected = torch.gather(torch.from_numpy(value), axis, torch.from_numpy(indices.astype(np.int64) % shape[axis]))
        np.testing.assert_array_equal(net.run(layer.get_output(0)), expected.numpy())

    @QUICK
    @given(shape=SHAPES, picked=st.lists(st.integers(1, 3), max_size=2), data=st.data())
    def test_nd(self, shape: list[int], picked: list[int], data: Any) -> None:
        batch_dims = data.draw(st.integers(0, len(shape) - 1))
        depth = data.draw(st.integers(1, len(shape) - batch_dims))
        value = counted(shape)
        batch = shape[:batch_dims]
        rows = [some_indices(size, [*batch, *picked], 3) for size in shape[batch_dims : batch_dims + depth]]
        indices = np.stack(rows, axis=-1)
        net = Net()
        layer = net.network.add_gather_v2(net.input(value), net.constant(indices), trt.GatherMode.ND)
        layer.num_elementwise_dims = batch_dims
        expected = np.empty((*batch, *picked, *shape[batch_dims + depth :]), np.float32)
        for place in np.ndindex(*batch, *picked):
            expected[place] = value[(*place[:batch_dims], *indices[place])]
        np.testing.assert_array_equal(net.run(layer.get_output(0)), expected)

    @pytest.mark.parametrize("index", [-4, 3])
    @pytest.mark.parametrize("mode", [trt.GatherMode.DEFAULT, trt.GatherMode.ELEMENT, trt.GatherMode.ND])
    def test_an_index_out_of_bounds_is_refused(self, mode: Any, index: int) -> None:
        net = Net()
        layer = net.network.add_gather_v2(net.input(GRID), net.input([[0], [index]], dtype=np.int64), mode)
        with pytest.raises(EvaluationError, match=rf"GATHER.*the first is {index}: axis 0 takes \[-3, 3\)"):
            net.run(layer.get_output(0))

    def test_indices_that_reach_past_the_data_are_refused(self) -> None:
        net = Net()
        indices = net.input(np.zeros((1, 5), np.int64))
        layer = net.network.add_gather_v2(net.input(GRID), indices, trt.GatherMode.ELEMENT)
        with pytest.raises(EvaluationError, match=r"indices \(1, 5\) must have the rank of the data \(3, 4\)"):
            net.run(layer.get_output(0))

    def test_indices_of_another_type_are_refused(self) -> None:
        net = Net()
        layer = net.network.add_gather(net.input(GRID), net.input(np.zeros((1,), np.float32)), 0)
        with pytest.raises(EvaluationError, match="indices must be int32 or int64, not float32"):
            net.run(layer.get_output(0))

    def test_an_axis_that_is_not_there_is_refused(self) -> None:
        net = Net()
        layer = net.network.add_gather(net.input(GRID), net.input(np.zeros((1,), np.int64)), 2)
        with pytest.raises(EvaluationError, match="axis 2 is not one of an input of rank 2"):
            net.run(layer.get_output(0))

    @pytest.mark.parametrize("shape", [(2, 1), (3, 3)])
    def test_nd_indices_that_do_not_fit_the_data_are_refused(self, shape: tuple[int, int]) -> None:
        net = Net()
        layer = net.network.add_gather_v2(net.input(GRID), net.constant(np.zeros(shape, np.int64)), trt.GatherMode.ND)
        layer.num_elementwise_dims = 1
        with pytest.raises(EvaluationError, match=r"must be \(3,\), as the data's|3 numbers does not address"):
            net.run(layer.get_output(0))


class TestScatter:
    @QUICK
    @given(
        shape=SHAPES,
        dtype=st.sampled_from([np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.bool_]),
        index_type=INDEX_TYPES,
        data=st.data(),
    )
    def test_element(self, shape: list[int], dtype: Any, index_type: Any, data: Any) -> None:
        axis = data.draw(st.integers(0, len(shape) - 1))
        part = [data.draw(st.integers(1, size)) for size in shape]
        order = np.argsort(np.random.default_rng(4).random(shape), axis=axis)  # no place is named twice
        indices = order[tuple(map(slice, part))].astype(index_type)
        value, updates = counted(shape, dtype), (-counted(part) - 1).astype(dtype)
        net = Net()
        layer = net.network.add_scatter(
            net.input(value), net.input(indices), net.input(updates), trt.ScatterMode.ELEMENT
        )
        layer.axis = axis
        wide = torch.from_numpy(value.astype(np.float32))
        expected = wide.scatter(
            axis, torch.from_numpy(indices.astype(np.int64)), torch.from_numpy(updates.astype(np.float32))
        )
        result = net.run(layer.get_output(0))
        assert result.dtype == dtype
        np.testing.assert_array_equal(result.astype(np.float32), expected.numpy())
        np.testing.assert_array_equal(net.inputs["input0"], counted(shape, dtype))

    @QUICK
    @given(shape=SHAPES, data=st.data())
    def test_nd(self, shape: list[int], data: Any) -> None:
        depth = data.draw(st.integers(1, len(shape)))
        every = np.stack(np.unravel_index(np.arange(np.prod(shape[:depth])), shape[:depth]), axis=-1)
        indices = np.random.default_rng(5).permutation(every)[: data.draw(st.integers(1, len(every)))]
        value = counted(shape)
        updates = -counted([len(indices), *shape[depth:]]) - 1
        net = Net()
        layer = net.network.add_scatter(net.input(value), net.constant(indices), net.input(updates), trt.ScatterMode.ND)
        places = tuple(torch.from_numpy(column) for column in indices.T)
        expected = torch.from_numpy(value).index_put(places, torch.from_numpy(updates))
        np.testing.assert_array_equal(net.run(layer.get_output(0)), expected.numpy())

    @pytest.mark.parametrize("index", [-4, 3])
    @pytest.mark.parametrize("mode", [trt.ScatterMode.ELEMENT, trt.ScatterMode.ND])
    def test_an_index_out_of_bounds_is_refused(self, mode: Any, index: int) -> None:
        net = Net()
        updates = np.zeros((1, 1) if mode == trt.ScatterMode.ELEMENT else (1, 4), np.float32)
        indices = net.input([[index]], dtype=np.int64)
        layer = net.network.add_scatter(net.input(GRID), indices, net.input(updates), mode)
        with pytest.raises(EvaluationError, match=rf"SCATTER.*the first is {index}: axis 0 takes \[-3, 3\)"):
            net.run(layer.get_output(0))

    @pytest.mark.parametrize(
        ("updates", "mode", "message"),
        [
            (np.zeros((2, 4), np.float32), trt.ScatterMode.ELEMENT, "must have the shape of the indices"),
            (np.zeros((2, 4), np.float32), trt.ScatterMode.ND, r"must have the shape \(2,\)"),
            (np.zeros((2, 2), np.float16), trt.ScatterMode.ELEMENT, "must have one type, not float32, float16"),
        ],
    )
    def test_updates_that_do_not_fit_are_refused(self, updates: np.ndarray, mode: Any, message: str) -> None:
        net = Net()
        indices = net.input(np.zeros((2, 2), np.int64))
        layer = net.network.add_scatter(net.input(GRID), indices, net.input(updates), mode)
        with pytest.raises(EvaluationError, match=message):
            net.run(layer.get_output(0))

    def test_indices_larger_than_the_data_are_refused(self) -> None:
        net = Net()
        indices, updates = net.input(np.zeros((5, 4), np.int64)), net.input(np.zeros((5, 4), np.float32))
        layer = net.network.add_scatter(net.input(GRID), indices, updates, trt.ScatterMode.ELEMENT)
        with pytest.raises(EvaluationError, match=r"indices \(5, 4\) must have the rank of the data \(3, 4\)"):
            net.run(layer.get_output(0))


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int32, np.bool_])
@pytest.mark.parametrize("index_type", [trt.int32, trt.int64])
def test_nonzero_lists_the_places_a_row_each(dtype: Any, index_type: Any) -> None:
    value = np.array([[0, 1, 0], [2, 0, 3]]).astype(dtype)
    net = Net()
    result = net.run(net.network.add_non_zero(net.input(value), index_type).get_output(0))
    assert result.dtype == (np.int32 if index_type == trt.int32 else np.int64)
    assert result.tolist() == [[0, 1, 1], [1, 0, 2]]


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_one_hot(axis: int, dtype: Any) -> None:
    indices = np.array([[0, 3], [2, 2], [1, 0]], np.int32)
    net = Net()
    values, depth = net.constant([5, 7], dtype), net.constant(np.int32(4))
    result = net.run(net.network.add_one_hot(net.input(indices), values, depth, axis).get_output(0))
    hot = torch.nn.functional.one_hot(torch.from_numpy(indices.astype(np.int64)), 4).numpy()
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, np.moveaxis(np.where(hot, 7, 5), -1, axis))


@pytest.mark.parametrize(("index", "values"), [(4, [0, 1]), (-1, [0, 1]), (0, [0, 1, 2])])
def test_one_hot_refuses_what_does_not_fit(index: int, values: list[int]) -> None:
    net = Net()
    arguments = net.input([index], dtype=np.int32), net.constant(values, np.float32), net.constant(np.int32(4))
    layer = net.network.add_one_hot(*arguments, -1)
    with pytest.raises(EvaluationError, match=r"ONE_HOT.*(the new axis takes \[0, 4\)|must be \[off, on\])"):
        net.run(layer.get_output(0))
