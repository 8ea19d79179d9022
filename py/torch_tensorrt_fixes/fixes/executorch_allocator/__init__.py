"""Refuse only engines whose output shapes are unknown in ExecuTorch export.

An engine is marked as one that requires an output allocator as soon as
any operation inside it has a data-dependent shape. The ExecuTorch
runtime has no such allocator, so export refused every marked engine. Yet
it takes an allocator only where the shape of an *output* is unknown when
the engine is enqueued: Qwen3-VL adds visual embeddings at the positions
of a mask, which needs their number inside, and returns a tensor of the
shape of the hidden states.

For a marked engine, export now asks the live engine for its output
shapes at the example input shapes of the node (infer_outputs, the call
that the fake kernel of execute_engine makes) and refuses it only if one
is still unknown. Otherwise the record that goes into the program has no
mark; the engine and its own record stay as they are. Nothing is
serialized for the check. The engine's execution context is created if no
run has created it.

Still refused, by the name of the engine and where there is one of the
output: an input without an example value or with a size without one, an
engine that cannot report its output shapes, and a marked engine that is
handed to the backend without this step.

Such an engine runs without CUDA graphs, since its work depends on data.
Where that matters, keep the data-dependent operation out of the engine
with torch_executed_ops.
"""

from ...commit import Commit, Fix
from ...edits import AddImport, Donor, Insert, NewFile

EXECUTORCH = "py/torch_tensorrt/executorch"
UTILS = f"{EXECUTORCH}/_export_utils.py"
BACKEND = f"{EXECUTORCH}/backend.py"
donor = Donor(__package__, "output_shapes")

FIX = Fix(
    number=11,
    slug="executorch-allocator",
    doc=__doc__,
    symptom="loud: ExecuTorch export refuses engines with data-dependent operations whose output shapes are known",
    risk="low: export accepts more engines; unmarked ones are not asked",
    commits=(
        Commit(
            subject="fix(executorch): refuse only engines whose output shapes are unknown",
            edits=(
                NewFile(f"{EXECUTORCH}/_output_shapes.py", lambda: donor.text),
                AddImport(
                    UTILS,
                    (
                        "from torch_tensorrt.executorch._output_shapes import check_no_output_allocator_mark",
                        "from torch_tensorrt.executorch._output_shapes import without_output_allocator_mark",
                    ),
                ),
                Insert(
                    UTILS,
                    within="validate_engine_program",
                    before="validate_engine_info(engine_info, node_name=node.name)",
                    text="""
                    if engine_node is not None:
                        engine_info = without_output_allocator_mark(
                            engine_info,
                            _resolve_engine_object(exported_program, node),
                            node,
                        )
                    check_no_output_allocator_mark(engine_info, node.name)
                    """,
                ),
                AddImport(
                    BACKEND, ("from torch_tensorrt.executorch._output_shapes import check_no_output_allocator_mark",)
                ),
                Insert(
                    BACKEND,
                    within="_validate_engine_info",
                    at="start",
                    text="check_no_output_allocator_mark(engine_info)",
                ),
            ),
            tests=("tests/py/dynamo/executorch/test_executorch_allocator.py",),
        ),
    ),
)
