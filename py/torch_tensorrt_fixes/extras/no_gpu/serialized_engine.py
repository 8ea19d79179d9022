"""What stands in for a live TensorRT engine on a host without a GPU.

TensorRT-RTX builds engines on any host but deserializes them only on a GPU. Without one
an engine can be saved, copied and traced, but not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis


class SerializedEngine:
    """The part of ``trt.ICudaEngine`` that needs no GPU.

    Args:
        data: The serialized engine.
        name: What error messages call the engine.
    """

    def __init__(self, data: Any, name: str = "") -> None:
        self.data = data
        self.name = name

    def serialize(self) -> Any:
        return self.data

    def get_aliased_input_tensor(self, output_name: str) -> None:
        """Report no alias, so that those recorded at build time stand as they are."""
        return None

    def needs_gpu(self, purpose: str) -> str:
        """The sentence that says why this engine is no use for ``purpose``."""
        return (
            f"TensorRT engine {vars(self).get('name')!r} needs a GPU {purpose}, and this "
            "host has none: save the compiled module and load it on a host with a GPU."
        )

    def __getattr__(self, attribute: str) -> Any:
        raise AttributeError(self.needs_gpu(f"for {attribute}"))


def fake_outputs(engine: Any, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Give the outputs of a ``TRTEngine`` as empty tensors, without TensorRT.

    Shapes and dtypes are those that were recorded when the engine was built; the sizes
    of ``inputs``, which may be symbolic, take the place of the symbols.

    Raises:
        RuntimeError: The engine has no such record, or an output's shape depends on
            more than the shapes of the inputs.
    """
    record = engine.symbolic_shape_expressions
    if not record:
        raise RuntimeError(
            f"TensorRT engine {engine.name!r} cannot be traced without a GPU: it has no "
            "record of its output shapes. Compile the model again."
        )

    sizes: dict[Any, Any] = {}
    for tensor, recorded in zip(inputs, record["inputs"], strict=True):
        sizes.update(zip(recorded["shape_exprs"], tensor.shape, strict=True))

    def size(expression: Any) -> Any:
        if isinstance(expression, int):
            return expression
        if expression in sizes:
            return sizes[expression]
        unknown = expression.free_symbols - sizes.keys()
        if unknown:
            raise RuntimeError(
                f"TensorRT engine {engine.name!r} cannot be traced without a GPU: the "
                f"output size {expression} does not follow from the input shapes alone."
            )
        return sympy_interp(PythonReferenceAnalysis, sizes, expression)

    outputs = [
        torch.empty(
            [size(expression) for expression in recorded["shape_exprs"]],
            # TensorRT has no float64; truncate_double made it float32
            dtype=(
                torch.float32
                if recorded["dtype"] == torch.float64
                else recorded["dtype"]
            ),
            device=inputs[0].device if inputs else None,
        )
        for recorded in record["outputs"]
    ]
    # Outputs beyond the program's own are inputs that the engine updates in place
    for name in engine.out_binding_names[len(outputs) :]:
        source = engine.in_binding_names.index(engine.aliased_io[name][0])
        outputs.append(torch.empty_like(inputs[source]))
    return outputs
