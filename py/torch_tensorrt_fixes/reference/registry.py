"""Which function gives a layer type its meaning.

    @implements(trt.LayerType.IDENTITY)
    def identity(layer):
        return lambda value: value

The function gets the layer as its own class (`trt.ISliceLayer`), reads the attributes once, and returns what runs: a
function of the layer's input arrays (None for an optional input that is not there) that returns the output array, or a
tuple of them.

Arrays come in the type that TensorRT declares for them. A result leaves in the type declared for the output, except
that float32 is rounded where a narrower float is declared: `dtypes.widen` the inputs, compute, and return. What
TensorRT would refuse raises Refused with what is wrong; the evaluator adds the layer, its torch target, the types and
the shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ._trt import Layer, LayerType, typed
from .dtypes import Array

Run = Callable[..., Any]
Bind = Callable[[Layer], Run]

_IMPLEMENTATIONS: dict[LayerType, Bind] = {}
_RANDOM: ContextVar[np.random.Generator | None] = ContextVar("random", default=None)


class Refused(Exception):
    """TensorRT would not build or run this layer; raised by an implementation, with the reason."""


def implements(*layer_types: LayerType) -> Callable[[Bind], Bind]:
    """Decorate the function that binds layers of these types."""

    def register(bind_layer: Bind) -> Bind:
        for layer_type in layer_types:
            if layer_type in _IMPLEMENTATIONS:
                raise ValueError(f"{layer_type} is implemented twice, the second time by {bind_layer.__qualname__}")
            _IMPLEMENTATIONS[layer_type] = bind_layer
        return bind_layer

    return register


def implemented() -> frozenset[LayerType]:
    """The layer types that have an implementation."""
    return frozenset(_IMPLEMENTATIONS)


def bind(layer: Layer) -> Run:
    """What runs for `layer`; Refused for attributes that do not fit. Its type is one of `implemented()`."""
    return _IMPLEMENTATIONS[layer.type](typed(layer))


def has_input(layer: Layer, place: int) -> bool:
    """Whether the optional input is there; where it is, the attribute that it stands in for says nothing."""
    return layer.num_inputs > place and layer.get_input(place) is not None


def same_dtype(*arrays: Array | None) -> None:
    """Refuse inputs of different types: a strongly typed network converts nothing by itself."""
    dtypes = [str(array.dtype) for array in arrays if array is not None]
    if len(set(dtypes)) > 1:
        raise Refused(f"the inputs must have one type, not {', '.join(dtypes)}; cast them to a common type first")


def axes_of(bits: int) -> tuple[int, ...]:
    """The axes of a TensorRT bit mask: 0b101 is (0, 2)."""
    return tuple(axis for axis in range(bits.bit_length()) if bits >> axis & 1)


def random_generator() -> np.random.Generator:
    """The generator of the run that is going on; Refused unless the run was given a seed."""
    generator = _RANDOM.get()
    if generator is None:
        raise Refused("the values are random: give run() a seed to draw some")
    return generator


@contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """Let `random_generator` draw from `seed` inside the block."""
    token = _RANDOM.set(None if seed is None else np.random.default_rng(seed))
    try:
        yield
    finally:
        _RANDOM.reset(token)
