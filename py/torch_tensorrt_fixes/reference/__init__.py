"""A NumPy evaluator of TensorRT networks: what an engine would compute, without a GPU.

`Evaluator(network).run(inputs)` takes a `trt.INetworkDefinition` and arrays, and is as strict as TensorRT: what
TensorRT would refuse raises EvaluationError. `compare(network, module, inputs)` finds the first layer that leaves
PyTorch's values. Inside `with runtime():` what torch_tensorrt compiles is run so from end to end.

Importing this package needs nothing but NumPy; its names need TensorRT (or TensorRT-RTX) and ml_dtypes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison import Difference, compare
    from .conversion import standard_tensorrt
    from .end_to_end import runtime
    from .errors import EvaluationError, UnsupportedLayer
    from .evaluator import Evaluator

_WHERE = {
    "Difference": "comparison",
    "EvaluationError": "errors",
    "Evaluator": "evaluator",
    "UnsupportedLayer": "errors",
    "compare": "comparison",
    "runtime": "end_to_end",
    "standard_tensorrt": "conversion",
}

__all__ = ["Difference", "EvaluationError", "Evaluator", "UnsupportedLayer", "compare", "runtime", "standard_tensorrt"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)
