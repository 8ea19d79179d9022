"""What stands in for an execution context."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any

from . import host_memory
from .dtypes import Array, numpy_dtype
from .errors import EvaluationError
from .host_memory import Shape

if TYPE_CHECKING:
    from .engine import EvaluatedEngine
    from .evaluator import Evaluator
    from .shape_inference import ShapeInference

_ALIGNMENT = 256  # in bytes, as TensorRT asks for


class ExecutionContext:
    """The part of `trt.IExecutionContext` that torch_tensorrt's Python runtime uses, with host memory at its addresses.

    What lies at an address is read when TensorRT reads it: all inputs when the engine is enqueued, shape inputs also
    when output shapes are asked for. Where TensorRT logs an error and goes on, EvaluationError is raised.
    """

    def __init__(self, engine: EvaluatedEngine, evaluator: Evaluator, infer: ShapeInference) -> None:
        self.engine = engine
        self._evaluator = evaluator
        self._infer = infer
        self.profiler: Any = None
        self.active_optimization_profile = 0
        self._addresses: dict[str, int] = {}
        self._allocators: dict[str, Any] = {}
        self._forget_shapes()

    def _forget_shapes(self) -> None:
        self._shapes = {name: shape for name in self.engine.inputs if -1 not in (shape := self.engine.declared[name])}
        self._inferred_for: Any = None
        self._inferred: dict[str, Shape] = {}
        self._told: dict[str, Shape] = {}

    # --- the bindings ---

    def set_optimization_profile_async(self, profile: int, stream: int) -> bool:
        if not 0 <= profile < self.engine.num_optimization_profiles:
            raise EvaluationError(
                f"there is no optimization profile {profile}: the engine has {self.engine.num_optimization_profiles}"
            )
        self.active_optimization_profile = profile
        self._forget_shapes()
        return True

    def set_input_shape(self, name: str, shape: Sequence[int]) -> bool:
        shape = tuple(map(index, shape))
        if name not in self.engine.inputs:
            raise EvaluationError(f"the engine has no input {name!r}; it has {', '.join(self.engine.inputs)}")
        if name in self.engine.shape_inputs:
            return shape == self._shapes[name]
        self._refuse_outside_profile(name, "shape", shape)
        if self._shapes.get(name) != shape:
            self._told.clear()
        self._shapes[name] = shape
        return True

    def set_tensor_address(self, name: str, address: int) -> bool:
        self.engine.get_tensor_shape(name)
        self._addresses[name] = address
        return True

    def get_tensor_address(self, name: str) -> int:
        return self._addresses.get(name, 0)

    def set_output_allocator(self, name: str, allocator: Any) -> bool:
        self.engine.get_tensor_shape(name)
        self._allocators[name] = allocator
        return True

    def set_device_memory(self, address: int, size: int) -> None:
        """The evaluator has its own."""

    def is_stream_capturable(self, stream: int) -> bool:
        return False

    # --- shapes ---

    def infer_shapes(self) -> list[str]:
        """The inputs whose shape, or the shape inputs whose value, is not known yet."""
        self._output_shapes()
        return [
            name
            for name in self.engine.inputs
            if name not in (self._addresses if name in self.engine.shape_inputs else self._shapes)
        ]

    def get_tensor_shape(self, name: str) -> Shape:
        """-1 for a size that does not follow from what is set so far, or that depends on values."""
        if name in self.engine.inputs:
            return self._shapes.get(name, self.engine.declared[name])
        self.engine.get_tensor_shape(name)
        shape = self._output_shapes()[name]
        if -1 not in shape:
            self._told[name] = shape
        return shape

    def _output_shapes(self) -> dict[str, Shape]:
        values = {name: self._read(name) for name in self.engine.shape_inputs if name in self._addresses}
        for name, value in values.items():
            self._refuse_outside_profile(name, "value", tuple(value.reshape(-1).tolist()))
        shapes = {
            name: self._shapes.get(name, self.engine.declared[name])
            for name in self.engine.inputs
            if name not in self.engine.shape_inputs
        }
        asked = shapes, {name: value.tolist() for name, value in values.items()}
        if self._inferred_for != asked:
            self._inferred = self._infer(shapes, values)
            self._inferred_for = asked
        return self._inferred

    def _refuse_outside_profile(self, name: str, what: str, given: Shape) -> None:
        ranges = self.engine.ranges[self.active_optimization_profile]
        least, _, greatest = ranges.get(name, (given,) * 3)
        inside = len(given) == len(least) and all(
            low <= size <= high for low, size, high in zip(least, given, greatest, strict=True)
        )
        if not inside:
            raise EvaluationError(
                f"input {name!r} is given the {what} {given}, but profile {self.active_optimization_profile} of the"
                f" engine goes from {least} to {greatest}"
            )

    # --- running ---

    def execute_async_v3(self, stream: int) -> bool:
        """Evaluate the network: done when this returns, and in error as the evaluator is.

        An output goes to its allocator if it has one, otherwise to its address, where there must be room for the shape
        that `get_tensor_shape` told last.
        """
        if unknown := self.infer_shapes():
            raise EvaluationError(f"the engine is enqueued without the shapes or values of {', '.join(unknown)}")
        inputs = {name: self._read(name) for name in self.engine.inputs}
        results = self._evaluator.run(inputs)
        for name, result in results.items():
            self._deliver(name, result, stream)
        return True

    def _read(self, name: str) -> Array:
        if name not in self._addresses:
            raise EvaluationError(f"the engine is enqueued without an address for input {name!r}")
        dtype = numpy_dtype(self.engine.get_tensor_dtype(name))
        return host_memory.read(self._addresses[name], dtype, self._shapes[name])

    def _deliver(self, name: str, result: Array, stream: int) -> None:
        if allocator := self._allocators.get(name):
            address = self._addresses.get(name, 0)
            address = allocator.reallocate_output_async(name, address, result.nbytes, _ALIGNMENT, stream)
            host_memory.write(address, result)
            allocator.notify_shape(name, result.shape)
            return
        if name not in self._addresses:
            raise EvaluationError(f"the engine is enqueued without an address for output {name!r}")
        told = self._told.get(name, result.shape)
        if told != result.shape:
            raise EvaluationError(
                f"output {name!r} has the shape {result.shape}, but the context told {told} before: a shape input"
                f" changed its value in between"
            )
        host_memory.write(self._addresses[name], result)
