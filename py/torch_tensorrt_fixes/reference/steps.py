"""What a network is run as: a step for each layer, conditional and loop.

A step reads tensors of a dict by name and writes others into it. `uses` says which tensors it reads and in which of its
own regions (a branch, a loop's body; the empty tuple is the place where the step itself stands).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from . import registry
from ._trt import Layer, Tensor
from .dtypes import Array, numpy_dtype, rounded
from .errors import EvaluationError

Values = dict[str, Array]
Region = tuple["Step", Any]  # a conditional and the branch taken, or a loop and "body"
Path = tuple[Region, ...]  # from the outermost region to the innermost


class Step(Protocol):
    """A layer, a conditional or a loop."""

    writes: tuple[str, ...]

    def uses(self) -> Iterator[tuple[str, Path]]: ...
    def adopt(self, regions: dict[Region, list[Step]]) -> None: ...
    def execute(self, values: Values) -> None: ...


@dataclass(frozen=True)
class Declared:
    """What the network says of a tensor: its name, type and shape, -1 for a dimension that depends on the inputs."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...] | None  # None where TensorRT has no answer, because it refuses the layer

    @classmethod
    def of(cls, tensor: Tensor) -> Declared:
        try:
            shape = tuple(tensor.shape)
        except (RuntimeError, ValueError):  # a layer refused has no shape; ValueError is what a negative rank gives
            shape = None
        return cls(tensor.name, numpy_dtype(tensor.dtype), shape)

    def fits(self, shape: tuple[int, ...]) -> bool:
        return (
            self.shape is not None
            and len(shape) == len(self.shape)
            and all(known in (-1, size) for known, size in zip(self.shape, shape, strict=True))
        )

    def __str__(self) -> str:
        return f"{self.name!r} {self.dtype} {'of no shape' if self.shape is None else self.shape}"


def describe(layer: Layer) -> str:
    """`layer` as an error names it: type, name, and the torch target that torch_tensorrt notes in its metadata."""
    target = layer.metadata
    return f"{layer.type.name} layer {layer.name!r}" + (f" (torch target {target})" if target else "")


def inputs_of(layer: Layer) -> tuple[Tensor | None, ...]:
    return tuple(layer.get_input(i) for i in range(layer.num_inputs))


def outputs_of(layer: Layer) -> tuple[Tensor, ...]:
    return tuple(layer.get_output(i) for i in range(layer.num_outputs) if layer.get_output(i) is not None)


@dataclass(eq=False)
class LayerStep:
    """One ordinary layer."""

    what: str
    reads: tuple[str | None, ...]
    outputs: tuple[Declared, ...]
    run: registry.Run
    writes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.writes = tuple(output.name for output in self.outputs)

    @classmethod
    def of(cls, layer: Layer) -> LayerStep:
        """Bind `layer`, whose type is implemented; EvaluationError for attributes that do not fit."""
        what = describe(layer)
        inputs, outputs = inputs_of(layer), outputs_of(layer)
        try:
            run = registry.bind(layer)
        except registry.Refused as refused:
            tensors = ", ".join(str(Declared.of(tensor)) for tensor in (*inputs, *outputs) if tensor is not None)
            raise EvaluationError(f"{what}: {refused}\n  tensors: {tensors}") from refused
        return cls(
            what, tuple(t.name if t is not None else None for t in inputs), tuple(map(Declared.of, outputs)), run
        )

    def uses(self) -> Iterator[tuple[str, Path]]:
        return ((name, ()) for name in self.reads if name is not None)

    def adopt(self, regions: dict[Region, list[Step]]) -> None:
        """A layer has no regions."""

    def execute(self, values: Values) -> None:
        inputs = [values[name] if name is not None else None for name in self.reads]
        try:
            with np.errstate(all="ignore"):  # infinities, NaN and wrapping integers are results like any other
                results = self.run(*inputs)
                if len(self.outputs) == 1:
                    results = (results,)
                for output, result in zip(self.outputs, results, strict=True):
                    values[output.name] = checked(result, output)
        except registry.Refused as refused:
            raise EvaluationError(f"{self.what}: {refused}{self._shapes(inputs)}") from refused
        except Exception as error:
            raise EvaluationError(
                f"{self.what}: {type(error).__name__}: {error}; the inputs do not fit this layer{self._shapes(inputs)}"
            ) from error

    def _shapes(self, inputs: list[Array | None]) -> str:
        given = ", ".join(
            f"{name!r} {tensor.dtype} {tensor.shape}"
            for name, tensor in zip(self.reads, inputs, strict=True)
            if tensor is not None
        )
        return f"\n  inputs: {given or 'none'}\n  declared outputs: {', '.join(map(str, self.outputs)) or 'none'}"


def checked(result: Any, output: Declared) -> Array:
    """`result` rounded to the type that `output` declares; Refused where type or shape are not the declared ones."""
    if output.shape is None:
        raise registry.Refused(f"TensorRT gives {output.name!r} no shape: it refuses this layer, and its log says why")
    array = rounded(np.asarray(result), output.dtype)
    if array.dtype != output.dtype or not output.fits(array.shape):
        raise registry.Refused(f"the result is {array.dtype} {array.shape}, but the network declares {output}")
    return array
