"""Convolution, deconvolution and pooling against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from against_torch import assert_agrees, drawn, few, floats, seeds, tensor
from hypothesis import given
from hypothesis import strategies as st
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt
from torch_tensorrt_fixes.reference.dtypes import trt_dtype

MODE, POOL = trt.PaddingMode, trt.PoolingType
CONV = {2: F.conv2d, 3: F.conv3d}
DECONV = {2: F.conv_transpose2d, 3: F.conv_transpose3d}


def each(spatial: int, low: int, high: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*(st.integers(low, high),) * spatial)


def layer_of(net: Net, value: Any, kernel: Any, bias: Any, maps: int, as_inputs: bool, transposed: bool = False) -> Any:
    """A (de)convolution with its weights in the layer or as inputs."""
    add = net.network.add_deconvolution_nd if transposed else net.network.add_convolution_nd
    none = trt.Weights()
    own = [
        none if w is None or as_inputs else trt.Weights(trt_dtype(w.dtype), w.ctypes.data, w.size)
        for w in (kernel, bias)
    ]
    net._kept += [kernel, bias]
    layer = add(net.input(value), maps, kernel.shape[2:], *own)
    if as_inputs:
        layer.set_input(1, net.input(kernel))
        if bias is not None:
            layer.set_input(2, net.input(bias))
    return layer


@pytest.mark.parametrize("spatial", [2, 3])
@few
@given(st.data(), floats, seeds(), st.booleans(), st.booleans())
def test_convolution(spatial: int, data: Any, dtype: Any, rng: Any, as_inputs: bool, has_bias: bool) -> None:
    draw = data.draw
    groups, size, dilation, stride, before, after = (
        draw(st.integers(1, 2)),
        draw(each(spatial, 1, 3)),
        draw(each(spatial, 1, 2)),
        draw(each(spatial, 1, 3)),
        draw(each(spatial, 0, 2)),
        draw(each(spatial, 0, 2)),
    )
    channels, maps = groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 3))
    value = drawn(rng, (draw(st.integers(1, 2)), channels, *draw(each(spatial, 5, 7))), dtype, -1, 1)
    kernel = drawn(rng, (maps, channels // groups, *size), dtype, -1, 1)
    bias = drawn(rng, (maps,), dtype) if has_bias else None
    net = Net()
    layer = layer_of(net, value, kernel, bias, maps, as_inputs)
    layer.stride_nd, layer.dilation_nd, layer.num_groups = stride, dilation, groups
    layer.pre_padding, layer.post_padding = before, after
    sides = [side for pair in zip(before[::-1], after[::-1], strict=True) for side in pair]
    x, w, b = (
        F.pad(tensor(value).float(), sides),
        tensor(kernel).float(),
        None if bias is None else tensor(bias).float(),
    )
    expected = CONV[spatial](x, w, b, stride, 0, dilation, groups)
    assert_agrees(net.run(layer.get_output(0)), expected.to(tensor(value).dtype))


@pytest.mark.parametrize("spatial", [2, 3])
@few
@given(st.data(), floats, seeds(), st.booleans(), st.booleans())
def test_deconvolution(spatial: int, data: Any, dtype: Any, rng: Any, as_inputs: bool, has_bias: bool) -> None:
    draw = data.draw
    groups, size, dilation, stride = (
        draw(st.integers(1, 2)),
        draw(each(spatial, 1, 3)),
        draw(each(spatial, 1, 2)),
        draw(each(spatial, 1, 3)),
    )
    padding = draw(each(spatial, 0, 2))
    more = tuple(draw(st.integers(0, min(p, s - 1))) for p, s in zip(padding, stride, strict=True))
    channels, maps = groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 3))
    value = drawn(rng, (draw(st.integers(1, 2)), channels, *draw(each(spatial, 5, 6))), dtype, -1, 1)
    kernel = drawn(rng, (channels, maps // groups, *size), dtype, -1, 1)
    bias = drawn(rng, (maps,), dtype) if has_bias else None
    net = Net()
    layer = layer_of(net, value, kernel, bias, maps, as_inputs, transposed=True)
    layer.stride_nd, layer.dilation_nd, layer.num_groups = stride, dilation, groups
    layer.pre_padding, layer.post_padding = padding, tuple(p - m for p, m in zip(padding, more, strict=True))
    x, w, b = tensor(value).float(), tensor(kernel).float(), None if bias is None else tensor(bias).float()
    expected = DECONV[spatial](x, w, b, stride, padding, more, groups, dilation)
    assert_agrees(net.run(layer.get_output(0)), expected.to(tensor(value).dtype))


@pytest.mark.parametrize("mode", MODE.__members__.values())
@pytest.mark.parametrize("transposed", [False, True])
@few
@given(each(2, 1, 4), each(2, 1, 3), each(2, 1, 2), each(2, 4, 9), each(2, 0, 1), seeds())
def test_padding_modes(
    mode: Any, transposed: bool, size: Any, stride: Any, dilation: Any, lengths: Any, padding: Any, rng: Any
) -> None:
    """The shape is TensorRT's, and the values are those of the padding that the mode stands for."""
    value, kernel = drawn(rng, (1, 2, *lengths)), drawn(rng, (2, 2, *size))
    extents = [d * (k - 1) + 1 for k, d in zip(size, dilation, strict=True)]
    net = Net()
    layer = layer_of(net, value, kernel, None, 2, False, transposed)
    layer.stride_nd, layer.dilation_nd, layer.padding_mode, layer.padding_nd = stride, dilation, mode, padding
    out = layer.get_output(0)
    if any(e > n + 2 * p for e, n, p in zip(extents, lengths, padding, strict=True)):
        return  # the window does not fit in the input, which TensorRT refuses
    result = net.run(out)
    assert result.shape == tuple(out.shape)
    whole = result.shape[2:]
    if transposed:
        full = F.conv_transpose2d(tensor(value), tensor(kernel), stride=stride, dilation=dilation)
        cut = [0, 0]
        for axis in range(2):
            surplus = full.shape[2 + axis] - whole[axis]
            cut[axis] = {"SAME_UPPER": surplus // 2, "SAME_LOWER": surplus - surplus // 2}.get(mode.name, padding[axis])
        assert_agrees(result, full[:, :, cut[0] : cut[0] + whole[0], cut[1] : cut[1] + whole[1]])
        return
    sides = []
    for axis in (1, 0):
        needed = max((whole[axis] - 1) * stride[axis] + extents[axis] - lengths[axis], 0)
        before = {"SAME_UPPER": needed // 2, "SAME_LOWER": needed - needed // 2}.get(mode.name, padding[axis])
        sides += [before, max(needed - before, 0)]
    expected = F.conv2d(F.pad(tensor(value), sides), tensor(kernel), None, stride, 0, dilation)
    assert_agrees(result, expected[:, :, : whole[0], : whole[1]])


@pytest.mark.parametrize(
    ("shape", "kernel", "bias", "groups", "message"),
    [
        ((2, 3, 5), (4, 3, 2, 2), 4, 1, "needs an input of 4 dimensions"),
        ((2, 3, 5, 5), (4, 2, 2, 2), 4, 1, r"kernel must be \(4, 3, 2, 2\)"),
        ((2, 3, 5, 5), (4, 3, 2, 2), 3, 1, r"the bias, if any, \(4,\)"),
        ((2, 3, 5, 5), (4, 3, 2, 2), 4, 2, "2 groups do not divide"),
        ((2, 3, 5, 5), (4, 3, 7, 7), 4, 1, r"windows of \(7, 7\) do not fit in \(5, 5\)"),
    ],
)
def test_refused_convolution(shape: Any, kernel: Any, bias: int, groups: int, message: str) -> None:
    net = Net()
    layer = layer_of(net, *(np.ones(s, np.float32) for s in (shape, kernel, (bias,))), 4, True)
    layer.num_groups = groups
    with pytest.raises(EvaluationError, match=message):
        net.run(layer.get_output(0))


@pytest.mark.parametrize(
    ("value", "kernel", "message"),
    [
        (np.ones((1, 3, 5, 5), np.float32), np.ones((4, 2, 2, 2), np.float32), "kernel has 32 weights"),
        (np.ones((1, 3, 5, 5), np.float16), np.ones((4, 3, 2, 2), np.float32), "kernel is float32, but must be"),
        (np.ones((1, 3, 5, 5), np.int8), np.ones((4, 3, 2, 2), np.int8), "not in int8"),
    ],
)
def test_refused_weights(value: Any, kernel: Any, message: str) -> None:
    net = Net()
    layer = layer_of(net, value, kernel, None, 4, False)
    with pytest.raises(EvaluationError, match=message):
        net.run(layer.get_output(0))


def test_a_convolution_without_kernel_is_refused() -> None:
    net = Net()
    layer = net.network.add_convolution_nd(net.input(np.ones((1, 3, 5, 5), np.float32)), 4, (2, 2), trt.Weights())
    with pytest.raises(EvaluationError, match="they are None and None"):
        net.run(layer.get_output(0))


def pooled(value: Any, kind: Any, window: Any, **attributes: Any) -> tuple[Any, tuple[int, ...]]:
    """The result, and the shape that TensorRT infers."""
    net = Net()
    layer = net.network.add_pooling_nd(net.input(value), kind, window)
    for name, setting in attributes.items():
        setattr(layer, name, setting)
    out = layer.get_output(0)
    return net.run(out), tuple(out.shape)


@pytest.mark.parametrize("spatial", [2, 3])
@few
@given(st.data(), floats, seeds(), st.booleans(), st.booleans())
def test_pooling(spatial: int, data: Any, dtype: Any, rng: Any, excludes: bool, up: bool) -> None:
    draw = data.draw
    window, stride = draw(each(spatial, 2, 3)), draw(each(spatial, 1, 3))
    padding = draw(each(spatial, 0, 1))
    value = drawn(rng, (*draw(each(2, 1, 2)), *draw(each(spatial, 4, 7))), dtype)
    # PyTorch drops a last window that lies in the padding at the end altogether; TensorRT has no such rule.
    up = up and all(
        (n + p - 1) // s * s >= n + 2 * p - w
        for n, p, s, w in zip(value.shape[2:], padding, stride, window, strict=True)
    )
    x = tensor(value).float()
    common = {
        "stride_nd": stride,
        "padding_nd": padding,
        "padding_mode": MODE.EXPLICIT_ROUND_UP if up else MODE.EXPLICIT_ROUND_DOWN,
        "average_count_excludes_padding": excludes,
        "blend_factor": 0.25,
    }
    largest = {2: F.max_pool2d, 3: F.max_pool3d}[spatial](x, window, stride, padding, ceil_mode=up)
    average = {2: F.avg_pool2d, 3: F.avg_pool3d}[spatial](x, window, stride, padding, up, not excludes)
    for kind, expected in (
        (POOL.MAX, largest),
        (POOL.AVERAGE, average),
        (POOL.MAX_AVERAGE_BLEND, 0.75 * largest + 0.25 * average),
    ):
        assert_agrees(pooled(value, kind, window, **common)[0], expected.to(tensor(value).dtype))


@pytest.mark.parametrize("mode", MODE.__members__.values())
@few
@given(each(2, 1, 4), each(2, 1, 3), each(2, 4, 9), seeds())
def test_pooled_shape_is_tensorrts(mode: Any, window: Any, stride: Any, lengths: Any, rng: Any) -> None:
    value = drawn(rng, (1, 1, *lengths))
    result, inferred = pooled(value, POOL.MAX, window, stride_nd=stride, padding_mode=mode)
    assert result.shape == inferred


def test_pooling_over_the_last_two_of_five() -> None:
    value = drawn(np.random.default_rng(0), (2, 3, 2, 4, 4))
    expected = F.max_pool2d(tensor(value).flatten(0, 1), (2, 2), 1).reshape(2, 3, 2, 3, 3)
    assert_agrees(pooled(value, POOL.MAX, (2, 2))[0], expected)


@pytest.mark.parametrize(
    ("shape", "kind", "attributes", "message"),
    [
        ((1, 1, 3, 3), POOL.AVERAGE, {"padding_nd": (2, 2)}, "padding as large as the window"),
        ((1, 3, 3), POOL.MAX, {}, "at least 4 dimensions"),
        ((1, 1, 1, 3), POOL.MAX, {}, "do not fit"),
    ],
)
def test_refused_pooling(shape: Any, kind: Any, attributes: Any, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        pooled(np.ones(shape, np.float32), kind, (2, 2), **attributes)


def test_padding_is_smaller_than_anything() -> None:
    value = np.full((1, 1, 2, 2), -3, np.float32)
    assert torch.equal(tensor(pooled(value, POOL.MAX, (2, 2), padding_nd=(1, 1))[0]), torch.full((1, 1, 3, 3), -3.0))
