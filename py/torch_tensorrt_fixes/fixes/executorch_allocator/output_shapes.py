from typing import Any, List, Sequence, Tuple

import torch
from torch_tensorrt.dynamo.runtime._serialized_engine_layout import (
    NAME_IDX,
    OUTPUT_BINDING_NAMES_IDX,
    REQUIRES_OUTPUT_ALLOCATOR_IDX,
    deserialize_binding_names,
)


def without_output_allocator_mark(
    engine_info: Sequence[Any], engine: Any, node: torch.fx.Node
) -> List[Any]:
    """Return an engine's record without its mark if it needs no output allocator.

    An engine is marked when an operation in it has a data-dependent shape, but needs
    an allocator only where that is the shape of an output. Which it is, the engine
    tells at the shapes of the node's example inputs.

    Args:
        engine_info: The record, which is not changed. The engine itself is not read.
        engine: The live engine.
        node: The execute_engine node, whose first argument is the list of inputs.

    Returns:
        A copy of the record.

    Raises:
        RuntimeError: An input has no example value, the engine cannot report its
            output shapes, or one of them is unknown.
    """
    record = list(engine_info)
    if not _is_marked(record):
        return record

    who = (
        f"TensorRT engine '{record[NAME_IDX]}' of node '{node.name}' is marked as one "
        "that requires an output allocator, which ExecuTorch does not have, so export "
        "has to know its output shapes"
    )
    inputs: Any = node.args[0]
    input_shapes = [_example_shape(source, who) for source in inputs]
    names = deserialize_binding_names(str(record[OUTPUT_BINDING_NAMES_IDX]))

    if not hasattr(engine, "infer_outputs"):
        raise RuntimeError(
            f"{who}, but {type(engine).__name__} cannot report the shapes of its outputs "
            f"{names}: it has no infer_outputs(). Export the engine on the runtime that "
            "it was built with."
        )
    try:
        reported = engine.infer_outputs(input_shapes)
        # The C++ runtime reports tensors, the Python runtime shapes
        shapes = [tuple(getattr(output, "shape", output)) for output in reported]
    except Exception as error:
        raise RuntimeError(
            f"{who}, but the engine does not report the shapes of its outputs {names} "
            f"for the input shapes {input_shapes}: {error}"
        ) from error
    if len(shapes) != len(names):
        raise RuntimeError(
            f"{who}, but the engine reports {len(shapes)} shapes for its "
            f"{len(names)} outputs {names}."
        )
    for name, shape in zip(names, shapes, strict=True):
        if any(size < 0 for size in shape):
            raise RuntimeError(
                f"{who}, but the shape of its output '{name}' is data-dependent: "
                f"{shape} for the input shapes {input_shapes}. Keep the "
                "operation that it comes from out of the engine (torch_executed_ops)."
            )

    record[REQUIRES_OUTPUT_ALLOCATOR_IDX] = "0"
    return record


def check_no_output_allocator_mark(
    engine_info: Sequence[Any], node_name: str = ""
) -> None:
    """Refuse a marked record, which nothing has looked at the output shapes of.

    Args:
        engine_info: The record of an engine.
        node_name: The node that the engine belongs to, if known.

    Raises:
        RuntimeError: The record is marked; names the engine and its outputs.
    """
    if _is_marked(engine_info):
        names = deserialize_binding_names(str(engine_info[OUTPUT_BINDING_NAMES_IDX]))
        where = f" of node '{node_name}'" if node_name else ""
        raise RuntimeError(
            f"TensorRT engine '{engine_info[NAME_IDX]}'{where} is marked as one that "
            "requires an output allocator, which ExecuTorch does not have, and the "
            f"shapes of its outputs {names} have not been checked. Export the program "
            "with torch_tensorrt.executorch.export() or torch_tensorrt.save(), which "
            "ask the engine for them."
        )


def _is_marked(engine_info: Sequence[Any]) -> bool:
    return (
        len(engine_info) > REQUIRES_OUTPUT_ALLOCATOR_IDX
        and str(engine_info[REQUIRES_OUTPUT_ALLOCATOR_IDX]) == "1"
    )


def _example_shape(source: Any, who: str) -> List[int]:
    """The sizes of an input's example value."""
    val = source.meta.get("val") if isinstance(source, torch.fx.Node) else source
    if not isinstance(val, torch.Tensor):
        raise RuntimeError(
            f"{who}, but its input '{source}' has no example value. Export the program "
            "with example inputs."
        )
    sizes: Tuple[Any, ...] = tuple(
        size.node.hint if isinstance(size, torch.SymInt) else size for size in val.shape
    )
    if not all(isinstance(size, int) for size in sizes):
        raise RuntimeError(
            f"{who}, but the shape {tuple(val.shape)} of its input '{source}' has a size "
            "without an example value."
        )
    return list(sizes)
