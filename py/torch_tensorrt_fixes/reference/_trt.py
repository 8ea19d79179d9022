"""The one place that imports TensorRT.

torch_tensorrt puts whichever TensorRT it found under the name `tensorrt`, TensorRT-RTX included, so that name comes
first.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


def _find_tensorrt() -> Any:
    for name in ("tensorrt", "tensorrt_rtx"):
        try:
            module = import_module(name)
        except ImportError:
            continue
        if hasattr(module, "INetworkDefinition"):  # not the empty shell that a wheel without its libraries leaves
            return module
    raise ImportError(
        "torch_tensorrt_fixes.reference evaluates TensorRT networks and needs TensorRT's Python package, but neither"
        " tensorrt nor tensorrt_rtx can be imported. Install one: `pip install tensorrt_rtx_cu13` needs no GPU."
    )


trt: Any = _find_tensorrt()

# TensorRT's Python package has no type information: these names say what is meant.
Network = Any
Layer = Any
Tensor = Any
LayerType = Any
DataType = Any


def typed(layer: Layer) -> Layer:
    """`layer` as its own class: `network.get_layer` gives every layer as a bare ILayer, without its attributes."""
    layer.__class__ = _class_of(layer.type.name)
    return layer


@cache
def _class_of(layer_type: str) -> Any:
    """GRID_SAMPLE is IGridSampleLayer, but capitals vary and CONDITIONAL_INPUT is IIfConditionalInputLayer."""
    name = layer_type.replace("_", "").lower()
    wanted = (f"i{name}layer", f"iif{name}layer")
    return next(getattr(trt, known) for known in dir(trt) if known.lower() in wanted)
