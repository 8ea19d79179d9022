"""TensorRT itself as the judge: its builder says which types a layer takes, its folding of shapes what integers become.

TensorRT works out on the CPU what a network computes from constants when a shape depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from networks import _BUILDER, Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt

ELEMENTWISE, UNARY, ACTIVATION = trt.ElementWiseOperation, trt.UnaryOperation, trt.ActivationType
REDUCE, POOL, MATRIX = trt.ReduceOperation, trt.PoolingType, trt.MatrixOperation

TYPES = [np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.int64, np.bool_]  # int8 stands for quantized floats
Make = Callable[[Net, Any], Any]


def ones(net: Net, dtype: Any, *shape: int) -> Any:
    return net.input(np.ones(shape, dtype))


def with_kernel(net: Net, dtype: Any) -> Any:
    layer = net.network.add_convolution_nd(ones(net, dtype, 2, 3, 4, 4), 4, (2, 2), trt.Weights())
    layer.set_input(1, ones(net, dtype, 4, 3, 2, 2))
    return layer


def resizing(net: Net, dtype: Any, mode: Any) -> Any:
    layer = net.network.add_resize(ones(net, dtype, 2, 3, 4, 4))
    layer.shape, layer.resize_mode = (2, 3, 6, 6), mode
    return layer


def running_sum(net: Net, dtype: Any) -> Any:
    axis = net.constant(1, np.int32)
    return net.network.add_cumulative(ones(net, dtype, 2, 3), axis, trt.CumulativeOperation.SUM, False, False)


LAYERS: dict[str, Make] = {
    **{
        f"elementwise {name}": lambda net, t, op=op: net.network.add_elementwise(
            ones(net, t, 2, 3), ones(net, t, 2, 3), op
        )
        for name, op in ELEMENTWISE.__members__.items()
    },
    **{
        f"unary {name}": lambda net, t, op=op: net.network.add_unary(ones(net, t, 2, 3), op)
        for name, op in UNARY.__members__.items()
    },
    **{
        f"activation {name}": lambda net, t, op=op: net.network.add_activation(ones(net, t, 2, 3), op)
        for name, op in ACTIVATION.__members__.items()
    },
    **{
        f"reduce {name}": lambda net, t, op=op: net.network.add_reduce(ones(net, t, 2, 3), op, 2, True)
        for name, op in REDUCE.__members__.items()
        if name != "NONE"
    },
    **{
        f"pooling {name}": lambda net, t, op=op: net.network.add_pooling_nd(ones(net, t, 2, 3, 4, 4), op, (2, 2))
        for name, op in POOL.__members__.items()
    },
    **{
        f"resize {name}": lambda net, t, mode=mode: resizing(net, t, mode)
        for name, mode in trt.InterpolationMode.__members__.items()
    },
    "parametric relu": lambda net, t: net.network.add_parametric_relu(ones(net, t, 2, 3), ones(net, t, 1, 3)),
    "softmax": lambda net, t: net.network.add_softmax(ones(net, t, 2, 3, 4)),
    "topk": lambda net, t: net.network.add_topk(ones(net, t, 2, 3), trt.TopKOperation.MAX, 2, 2),
    "cumulative": running_sum,
    "matrix multiply": lambda net, t: net.network.add_matrix_multiply(
        ones(net, t, 2, 3), MATRIX.NONE, ones(net, t, 3, 4), MATRIX.NONE
    ),
    "einsum": lambda net, t: net.network.add_einsum([ones(net, t, 2, 3), ones(net, t, 3, 4)], "ij,jk->ik"),
    "normalization": lambda net, t: net.network.add_normalization(
        ones(net, t, 2, 3), ones(net, t, 1, 3), ones(net, t, 1, 3), 2
    ),
    "lrn": lambda net, t: net.network.add_lrn(ones(net, t, 2, 3, 4, 4), 3, 1, 1, 1),
    "scale": lambda net, t: net.network.add_scale(ones(net, t, 2, 3, 4, 4), trt.ScaleMode.UNIFORM),
    "convolution": with_kernel,
    "grid sample": lambda net, t: net.network.add_grid_sample(ones(net, t, 2, 3, 4, 4), ones(net, t, 2, 5, 6, 2)),
    "quantize": lambda net, t: net.network.add_quantize(ones(net, t, 2, 3), ones(net, np.float32), trt.DataType.INT8),
    "rotary embedding": lambda net, t: net.network.add_rotary_embedding(
        ones(net, t, 2, 3, 4, 8), ones(net, t, 2, 4, 4), ones(net, t, 2, 4, 4), False, 0
    ),
}


def tensorrt_builds(net: Net) -> bool:
    return _BUILDER.build_serialized_network(net.network, _BUILDER.create_builder_config()) is not None


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dtype", TYPES)
def test_takes_the_types_that_tensorrt_takes(name: str, dtype: Any) -> None:
    net = Net()
    outputs = [layer.get_output(0)] if (layer := LAYERS[name](net, dtype)) is not None else []
    for output in outputs:
        net.network.mark_output(output)
    if outputs and tensorrt_builds(net):
        assert net.run(outputs[0]).size
    else:
        with pytest.raises(EvaluationError, match=f"not in {np.dtype(dtype)}"):
            net.run(*outputs)


def folded(net: Net, result: Any) -> list[int]:
    """What TensorRT computes for a tensor of a few integers, read from the shape of a slice that has their size."""
    raised = net.network.add_elementwise(result, net.constant(np.full(result.shape, 1000, np.int64)), ELEMENTWISE.SUM)
    rank = result.shape[0]
    layer = net.network.add_slice(
        net.constant(np.zeros((1,) * rank, np.float32)), (0,) * rank, (1,) * rank, (0,) * rank
    )
    layer.set_input(2, raised.get_output(0))
    return [length - 1000 for length in layer.get_output(0).shape]


def same_as_folded(make: Callable[[Net], Any]) -> None:
    """The evaluator computes what TensorRT does."""
    net, judge = Net(), Net()
    np.testing.assert_array_equal(net.run(make(net)), folded(judge, make(judge)))


PAIRS = [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (1, 5), (-1, 5), (0, -4)]


@pytest.mark.parametrize("operation", [ELEMENTWISE.DIV, ELEMENTWISE.FLOOR_DIV, ELEMENTWISE.MAX, ELEMENTWISE.MIN])
@pytest.mark.parametrize("pair", PAIRS)
def test_integer_quotients(operation: Any, pair: tuple[int, int]) -> None:
    def make(net: Net) -> Any:
        a, b = (net.constant([x], np.int64) for x in pair)
        return net.network.add_elementwise(a, b, operation).get_output(0)

    same_as_folded(make)


@pytest.mark.parametrize(
    "pair", [(-7, 2), (7, -2), (2, 3), (-2, 3), (2, -1), (1, -1), (-1, -1), (-1, -2), (0, 0), (3, 0)]
)
def test_integer_powers(pair: tuple[int, int]) -> None:
    def make(net: Net) -> Any:
        a, b = (net.constant([x], np.int64) for x in pair)
        return net.network.add_elementwise(a, b, ELEMENTWISE.POW).get_output(0)

    same_as_folded(make)


@pytest.mark.parametrize("pair", [(1, 0.1), (-1, 0.1), (6, 0.1), (0.7, 0.1), (7, -2), (-7, 2)])
def test_floor_of_a_quotient_of_floats(pair: tuple[float, float]) -> None:
    def make(net: Net) -> Any:
        a, b = (net.constant([x], np.float32) for x in pair)
        quotient = net.network.add_elementwise(a, b, ELEMENTWISE.FLOOR_DIV).get_output(0)
        return net.network.add_cast(quotient, trt.int64).get_output(0)

    same_as_folded(make)


@pytest.mark.parametrize("operation", [op for name, op in REDUCE.__members__.items() if name != "NONE"])
@pytest.mark.parametrize("values", [[3, 4], [-3, -4], [-1, 0, 0], [5, 2]])
def test_integer_reductions(operation: Any, values: list[int]) -> None:
    def make(net: Net) -> Any:
        return net.network.add_reduce(net.constant(values, np.int64), operation, 1, True).get_output(0)

    same_as_folded(make)


@pytest.mark.parametrize("operation", [UNARY.ABS, UNARY.NEG, UNARY.SIGN])
def test_integer_unaries(operation: Any) -> None:
    same_as_folded(lambda net: net.network.add_unary(net.constant([-3, 0, 4], np.int64), operation).get_output(0))


@pytest.mark.parametrize("operation", [UNARY.ROUND, UNARY.CEIL, UNARY.FLOOR, UNARY.SIGN])
def test_rounding(operation: Any) -> None:
    def make(net: Net) -> Any:
        values = net.constant([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float32)
        rounded = net.network.add_unary(values, operation).get_output(0)
        return net.network.add_cast(rounded, trt.int64).get_output(0)

    same_as_folded(make)


def test_the_folding_tells_right_from_wrong() -> None:
    net = Net()
    seven, two = (net.constant([x], np.int64) for x in (-7, 2))
    quotient = net.network.add_elementwise(seven, two, ELEMENTWISE.DIV).get_output(0)
    assert folded(net, quotient) == [-3]
