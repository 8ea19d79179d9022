"""Networks to evaluate: made in a line or two, with nothing of torch_tensorrt."""

from __future__ import annotations

from typing import Any

import numpy as np

from torch_tensorrt_fixes.reference import Evaluator
from torch_tensorrt_fixes.reference._trt import trt
from torch_tensorrt_fixes.reference.dtypes import trt_dtype

_BUILDER = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR))  # what is refused here is refused on purpose
_STRONGLY_TYPED = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)


class Net:
    """A strongly typed network and the arrays given to its inputs."""

    def __init__(self) -> None:
        self.network = _BUILDER.create_network(_STRONGLY_TYPED)
        self.inputs: dict[str, np.ndarray] = {}
        self._kept: list[Any] = []

    def input(self, value: Any, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Any:
        """An input tensor with `value` to run with, of the value's shape or of `shape` with -1 for what may vary."""
        array = np.asarray(value, dtype)
        name = f"input{len(self.inputs)}"
        self.inputs[name] = array
        return self.network.add_input(name, trt_dtype(array.dtype), array.shape if shape is None else shape)

    def constant(self, value: Any, dtype: Any = None) -> Any:
        """A constant tensor."""
        array = np.ascontiguousarray(value, dtype)
        self._kept.append(array)  # TensorRT reads it where it lies
        where = (array.ctypes.data, array.size) if array.size else ()
        weights = trt.Weights(trt_dtype(array.dtype), *where)
        return self.network.add_constant(np.shape(value), weights).get_output(0)

    def run(self, *tensors: Any, **options: Any) -> Any:
        """The values of `tensors`, or of the one tensor, with the inputs given so far; `tensors` become outputs."""
        for tensor in tensors:
            self.network.mark_output(tensor)
        values = Evaluator(self.network).run(self.inputs, **options)
        results = [values[tensor.name] for tensor in tensors]
        return results[0] if len(results) == 1 else results
