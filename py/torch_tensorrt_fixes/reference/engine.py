"""What stands in for an engine: the network that it was built from, evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ._trt import DataType, Network, Tensor, trt
from .errors import EvaluationError
from .evaluator import Evaluator
from .execution import ExecutionContext
from .host_memory import Shape
from .runtime_config import RuntimeConfig
from .shape_inference import ShapeInference

Range = tuple[Shape, Shape, Shape]
"""The least, the best and the greatest: shapes of an input, values of a shape input."""


@dataclass(eq=False)
class EvaluatedEngine:
    """The part of `trt.ICudaEngine` that torch_tensorrt's Python runtime uses, for a network on the host.

    `profiles` are the `trt.IOptimizationProfile` of the build. `kept` is what the network's constants point to, which
    must not go before it. The network is used up, as `ShapeInference` says.
    """

    network: Network
    serialized: bytes
    profiles: Sequence[Any] = ()
    kept: Sequence[Any] = ()

    streamable_weights_size = 0
    device_memory_size_v2 = 0

    def __post_init__(self) -> None:
        self.inputs = {t.name: t for t in map(self.network.get_input, range(self.network.num_inputs))}
        self.outputs = {t.name: t for t in map(self.network.get_output, range(self.network.num_outputs))}
        self.shape_inputs = tuple(name for name, tensor in self.inputs.items() if tensor.is_shape_tensor)
        self.declared = {name: tuple(t.shape) for name, t in {**self.inputs, **self.outputs}.items()}
        self.ranges = [self._ranges(profile) for profile in self.profiles] or [self._ranges(None)]
        self.aliases = self._find_aliases()

    def _ranges(self, profile: Any) -> dict[str, Range]:
        ranges: dict[str, Range] = {}
        for name, shape in self.declared.items():
            if name in self.outputs:
                continue
            if name in self.shape_inputs:
                asked = profile.get_shape_input(name) if profile else ()
            else:
                asked = profile.get_shape(name) if -1 in shape else (shape,) * 3
            if asked:
                least, best, greatest = map(tuple, asked)
                ranges[name] = least, best, greatest
        return ranges

    def _find_aliases(self) -> dict[str, str]:
        layers = [self.network.get_layer(place) for place in range(self.network.num_layers)]
        return {
            layer.get_output(0).name: layer.get_input(0).name
            for layer in layers
            if layer.type == trt.LayerType.KV_CACHE_UPDATE
        }

    # --- the bindings ---

    @property
    def num_io_tensors(self) -> int:
        return len(self.declared)

    def get_tensor_name(self, index: int) -> Any:
        return list(self.declared)[index]

    def get_tensor_mode(self, name: str) -> Any:
        return trt.TensorIOMode.INPUT if name in self.inputs else trt.TensorIOMode.OUTPUT

    def get_tensor_dtype(self, name: str) -> DataType:
        return self._tensor(name).dtype

    def get_tensor_shape(self, name: str) -> Shape:
        self._tensor(name)
        return self.declared[name]

    def is_shape_inference_io(self, name: str) -> bool:
        return name in self.shape_inputs

    def get_aliased_input_tensor(self, name: str) -> str | None:
        return self.aliases.get(name)

    def _tensor(self, name: str) -> Tensor:
        if name not in self.declared:
            raise EvaluationError(f"the engine has no tensor {name!r}; it has {', '.join(self.declared)}")
        return self.inputs.get(name) or self.outputs[name]

    # --- the profiles ---

    @property
    def num_optimization_profiles(self) -> int:
        return len(self.ranges)

    def get_tensor_profile_shape(self, name: str, profile: int) -> Range:
        return self.ranges[profile][name]

    # --- contexts ---

    def serialize(self) -> bytes:
        return self.serialized

    def create_runtime_config(self) -> RuntimeConfig:
        return RuntimeConfig()

    def create_execution_context(self, *_: Any) -> ExecutionContext:
        # An error of the evaluator's belongs here, to the first run: while torch.compile builds an engine it takes any
        # error for a failed build, and goes on in PyTorch.
        return ExecutionContext(self, *self._parts)

    @cached_property
    def _parts(self) -> tuple[Evaluator, ShapeInference]:
        return Evaluator(self.network), ShapeInference(self.network)
