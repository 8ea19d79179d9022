"""Constant, cast, identity, concatenation, select, padding, reverse sequence, assertion."""

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
from torch_tensorrt_fixes.reference.dtypes import trt_dtype
from torch_tensorrt_fixes.reference.weights import array_of

QUICK = settings(max_examples=20, deadline=None)
GRID = np.arange(6, dtype=np.float32).reshape(2, 3)
TORCH_TYPES = {
    torch.float32: np.float32,
    torch.float16: np.float16,
    torch.bfloat16: ml_dtypes.bfloat16,
    torch.int64: np.int64,
    torch.int32: np.int32,
    torch.int8: np.int8,
    torch.bool: np.bool_,
}


def numpy_of(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


class TestConstant:
    @pytest.mark.parametrize(
        "dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int64, np.int32, np.int8, np.bool_]
    )
    @pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 2)])
    def test_it_is_its_weights(self, dtype: Any, shape: tuple[int, ...]) -> None:
        value = np.resize([0, 1, 2.5, 3, 0, 7], shape).astype(dtype)
        net = Net()
        result = net.run(net.constant(value))
        assert result.dtype == dtype and result.shape == shape
        np.testing.assert_array_equal(result, value)

    def test_bool_weights_from_numpy(self) -> None:
        net = Net()
        assert net.run(net.network.add_constant((2,), np.array([True, False])).get_output(0)).tolist() == [True, False]

    def test_the_result_cannot_be_written_to(self) -> None:
        net = Net()
        with pytest.raises(ValueError, match="read-only"):
            net.run(net.constant(GRID))[0] = 1

    def test_int4_weights_are_unpacked_low_half_first(self) -> None:
        packed = np.array([0x1F, 0x87, 0x03], np.uint8)
        values = array_of(trt.Weights(trt.int4, packed.ctypes.data, 5))
        assert values is not None and values.dtype == ml_dtypes.int4
        assert values.astype(int).tolist() == [-1, 1, 7, -8, 3]

    @pytest.mark.parametrize(
        ("value", "shape", "message"),
        [
            (np.zeros(3, np.float32), (2, 2), r"3 values do not fill the shape \(2, 2\)"),
            (np.zeros(4, np.uint8), (4,), "no constants of uint8|uint8 only for network inputs"),
        ],
    )
    def test_what_tensorrt_has_not_is_refused(self, value: np.ndarray, shape: tuple[int, ...], message: str) -> None:
        net = Net()
        layer = net.network.add_constant(shape, value)
        with pytest.raises(EvaluationError, match=f"CONSTANT layer.*{message}"):
            net.run(layer.get_output(0))


class TestCast:
    @QUICK
    @given(
        value=st.lists(st.integers(-128, 127) | st.just(0), min_size=1, max_size=6),
        quarters=st.integers(0, 3),
        source=st.sampled_from(sorted(TORCH_TYPES, key=str)),
        target=st.sampled_from(sorted(TORCH_TYPES, key=str)),
    )
    def test_it_is_pytorchs_in_range(
        self, value: list[int], quarters: int, source: torch.dtype, target: torch.dtype
    ) -> None:
        tensor = (torch.tensor(value) * (1 + quarters / 4)).clamp(-128, 127).to(source)
        net = Net()
        result = net.run(
            net.network.add_cast(net.input(numpy_of(tensor)), trt_dtype(TORCH_TYPES[target])).get_output(0)
        )
        assert result.dtype == TORCH_TYPES[target]
        np.testing.assert_array_equal(result, numpy_of(tensor.to(target)))

    def test_a_float_out_of_range_stops_at_the_integers_end(self) -> None:
        net = Net()
        given = net.input(np.array([1e30, -1e30, np.inf, -np.inf, np.nan, 2147483648.0], np.float32))
        for target in (np.int32, np.int64, np.int8):
            result = net.run(net.network.add_cast(given, trt_dtype(target)).get_output(0))
            low, high = np.iinfo(target).min, np.iinfo(target).max
            assert result.tolist() == [high, low, high, low, 0, min(high, 2147483648)]

    def test_an_integer_out_of_range_wraps(self) -> None:
        net = Net()
        result = net.run(net.network.add_cast(net.input([2**32 + 5, 2**31], dtype=np.int64), trt.int32).get_output(0))
        assert result.tolist() == [5, -(2**31)]

    def test_a_float_is_rounded_to_nearest_even(self) -> None:
        net = Net()
        given = net.input(np.array([1 + 2**-9, 1 + 3 * 2**-9, 65520], np.float32))
        half = net.network.add_cast(given, trt.float16).get_output(0)
        brain = net.network.add_cast(given, trt.bfloat16).get_output(0)
        first, second = net.run(half, brain)
        assert first.tolist() == [1 + 2**-9, 1 + 3 * 2**-9, np.inf]
        assert second.tolist() == [1, 1 + 2**-7, 65536]

    @pytest.mark.parametrize("target", [trt.fp8, trt.int4])
    def test_quantized_types_are_refused(self, target: Any) -> None:
        net = Net()
        with pytest.raises(EvaluationError, match="CAST layer.*cannot make.*quantize and dequantize"):
            net.run(net.network.add_cast(net.input(GRID), target).get_output(0))


class TestConcatenation:
    @QUICK
    @given(
        shape=st.lists(st.integers(0, 3), min_size=1, max_size=3),
        sizes=st.lists(st.integers(0, 3), min_size=1, max_size=4),
        dtype=st.sampled_from(sorted(TORCH_TYPES, key=str)),
        data=st.data(),
    )
    def test_it_is_pytorchs(self, shape: list[int], sizes: list[int], dtype: torch.dtype, data: Any) -> None:
        axis = data.draw(st.integers(0, len(shape) - 1))
        parts = [torch.randint(0, 5, [*shape[:axis], size, *shape[axis + 1 :]]).to(dtype) for size in sizes]
        net = Net()
        layer = net.network.add_concatenation([net.input(numpy_of(part)) for part in parts])
        layer.axis = axis
        np.testing.assert_array_equal(net.run(layer.get_output(0)), numpy_of(torch.cat(parts, axis)))

    @pytest.mark.parametrize(
        ("other", "message"),
        [
            (GRID.astype(np.float16), "must have one type, not float32, float16"),
            (GRID.T, "alike in rank and in every dimension but axis 0"),
            (GRID[0], "alike in rank"),
        ],
    )
    def test_what_is_not_alike_is_refused(self, other: np.ndarray, message: str) -> None:
        net = Net()
        layer = net.network.add_concatenation([net.input(GRID), net.input(other)])
        layer.axis = 0
        with pytest.raises(EvaluationError, match=f"CONCATENATION layer.*{message}"):
            net.run(layer.get_output(0))


class TestSelect:
    @QUICK
    @given(dims=st.lists(st.tuples(st.integers(0, 3), *[st.booleans()] * 3), max_size=3), seed=st.integers(0, 9))
    def test_it_is_pytorchs_where(self, dims: list[tuple[int, bool, bool, bool]], seed: int) -> None:
        torch.manual_seed(seed)
        shapes = [[1 if dim[which] else dim[0] for dim in dims] for which in (1, 2, 3)]
        condition, chosen, otherwise = torch.rand(shapes[0]) > 0.5, torch.rand(shapes[1]), torch.rand(shapes[2])
        net = Net()
        given = [net.input(tensor.numpy()) for tensor in (condition, chosen, otherwise)]
        result = net.run(net.network.add_select(*given).get_output(0))
        np.testing.assert_array_equal(result, torch.where(condition, chosen, otherwise).numpy())

    @pytest.mark.parametrize(
        ("condition", "otherwise", "message"),
        [
            (np.ones((2, 3), np.int32), GRID, "condition must be bool, not int32"),
            (np.ones((2, 3), bool), GRID.astype(np.float16), "must have one type, not float32, float16"),
            (np.ones((3,), bool), GRID, "must have one rank"),
            (np.ones((2, 2), bool), GRID, "could not be broadcast"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, condition: np.ndarray, otherwise: np.ndarray, message: str) -> None:
        net = Net()
        layer = net.network.add_select(net.input(condition), net.input(GRID), net.input(otherwise))
        with pytest.raises(EvaluationError, match=f"SELECT layer.*{message}"):
            net.run(layer.get_output(0))


class TestPadding:
    @pytest.mark.parametrize(
        ("pre", "post"), [((0, 0), (0, 0)), ((1, 2), (0, 3)), ((-1, 1), (2, -2)), ((0, -2), (-1, 0))]
    )
    def test_it_is_pytorchs(self, pre: tuple[int, int], post: tuple[int, int]) -> None:
        value = torch.rand(1, 2, 3, 4)
        net = Net()
        result = net.run(net.network.add_padding_nd(net.input(value.numpy()), pre, post).get_output(0))
        around = (pre[1], post[1], pre[0], post[0])
        np.testing.assert_array_equal(result, torch.nn.functional.pad(value, around).numpy())

    def test_trimming_more_than_there_is_is_refused(self) -> None:
        net = Net()
        layer = net.network.add_padding_nd(net.input(np.zeros((1, 1, 3, 3), np.float32)), (-2, 0), (-2, 0))
        with pytest.raises(EvaluationError, match="PADDING layer.*trims more than there is"):
            net.run(layer.get_output(0))


class TestReverseSequence:
    @pytest.mark.parametrize(("batch_axis", "sequence_axis"), [(0, 1), (1, 0), (2, 1)])
    def test_the_first_of_each_sequence_are_reversed(self, batch_axis: int, sequence_axis: int) -> None:
        value = np.arange(27, dtype=np.float32).reshape(3, 3, 3)
        lengths = np.array([3, 0, 2], np.int32)
        net = Net()
        layer = net.network.add_reverse_sequence(net.input(value), net.input(lengths))
        layer.batch_axis, layer.sequence_axis = batch_axis, sequence_axis
        expected = value.copy()
        for place in np.ndindex(*value.shape):
            length = lengths[place[batch_axis]]
            if place[sequence_axis] < length:
                source = list(place)
                source[sequence_axis] = length - 1 - place[sequence_axis]
                expected[place] = value[tuple(source)]
        np.testing.assert_array_equal(net.run(layer.get_output(0)), expected)

    @pytest.mark.parametrize(("lengths", "message"), [([1, 4], r"must be in \[0, 3\]"), ([1], "one length for each")])
    def test_lengths_that_do_not_fit_are_refused(self, lengths: list[int], message: str) -> None:
        net = Net()
        layer = net.network.add_reverse_sequence(net.input(GRID), net.input(lengths, dtype=np.int32))
        layer.batch_axis, layer.sequence_axis = 0, 1
        with pytest.raises(EvaluationError, match=f"REVERSE_SEQUENCE layer.*{message}"):
            net.run(layer.get_output(0))


def test_an_assertion_says_its_message_when_it_does_not_hold() -> None:
    net = Net()
    sizes = net.input([True, True])
    net.network.add_assertion(sizes, "the batch is not even")
    output = net.network.add_identity(net.input(GRID)).get_output(0)
    np.testing.assert_array_equal(net.run(output), GRID)
    net.inputs["input0"] = np.array([True, False])
    with pytest.raises(EvaluationError, match="ASSERTION layer.*does not hold: the batch is not even"):
        net.run(output)


def test_what_only_an_assertion_needs_is_run() -> None:
    net = Net()
    held = net.network.add_cast(net.input([1, 0], dtype=np.int32), trt.bool).get_output(0)
    net.network.add_assertion(held, "all ones")
    with pytest.raises(EvaluationError, match="all ones"):
        net.run(net.network.add_identity(net.input(GRID)).get_output(0))
