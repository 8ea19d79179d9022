"""Convert casts to float64 when truncate_double is set.

TensorRT has no float64. The setting truncate_double puts float32 in its
place at an engine's inputs and in its constants, but a cast to float64
inside the graph stayed in PyTorch and cut the graph in two: the
validator of _to_copy knows TensorRT's dtypes only. A rope that rotates
in float64, as Wan 2.2's does in every block, made an engine of each
stretch between two casts.

With truncate_double a cast of a 16-, 32- or 64-bit float to float64 now
converts as one to float32, which holds every value of the shorter
floats. It stays in PyTorch from any other dtype, and where PyTorch's
result is not contiguous, as an engine's outputs are: channels_last, or
a non-contiguous input whose format is preserved. With dynamic shapes it
stays there, too, when it names a memory_format. A copy into a float64
buffer converts likewise, from floats, booleans and 8-bit integers; from
a wider integer, which float32 cannot hold exactly, it still fails.

What is float64 in the program is cast back where it leaves an engine.
That happened only for engines that have a float64 input as well, so
that `y + torch.zeros(n, dtype=torch.float64)` came back as float32; now
it is float64 as the program says. A lone complex128 output is
complex128 again; the cast hid it from what rebuilds complex outputs,
and its real and imaginary parts were returned. An engine that returns a
float and its float64 cast has one tensor for both: this needs engines
whose outputs are tensors of their own.

Left alone: without truncate_double nothing changes. A serialized engine
from convert_exported_program_to_serialized_trt_engine has no graph
around it to cast in, so its outputs are float32. Complex outputs beside
others still come back as real and imaginary parts, whatever their
precision.
"""

from __future__ import annotations

from ...commit import Commit, Fix
from ...edits import AddDefinition, Donor, Insert, Rewrite

CONVERSION = "py/torch_tensorrt/dynamo/conversion"
CONVERTERS = f"{CONVERSION}/aten_ops_converters.py"
CAST = f"{CONVERSION}/impl/cast.py"
TRUNCATE = f"{CONVERSION}/truncate_double.py"
COMPILER = "py/torch_tensorrt/dynamo/_compiler.py"

converters = Donor(__package__, "aten_ops_converters")
cast = Donor(__package__, "cast")
truncate = Donor(__package__, "truncate_double")

_validator = (
    AddDefinition(CONVERTERS, converters["is_truncated_double_cast"], before="to_copy_dtype_validator"),
    Insert(
        CONVERTERS,
        within="to_copy_dtype_validator.validator",
        at="start",
        text="""
            # The interpreter gives an output that is its input a layer of its own, so that
            # these need no forced layer on a placeholder
            if is_truncated_double_cast(to_copy_node, settings):
                return not placeholder_only
        """,
    ),
)

_cast = (
    AddDefinition(CAST, cast["truncate_double_dtype"], before="to_copy"),
    Insert(
        CAST,
        within="to_copy",
        before="if force_layer:\n    $$$FORCED\nelse:\n    $$$NOT_FORCED",
        text="""
            dtype = truncate_double_dtype(ctx, input, dtype, name)

        """,
    ),
)

_boundary = (
    AddDefinition(TRUNCATE, truncate["_restore_double_outputs"], before="repair_double_inputs"),
    Insert(
        TRUNCATE,
        within="repair_double_inputs",
        before="return submodule_inputs",
        text="""
            if not repaired_outputs_once:
                _restore_double_outputs(
                    parent_graph, submodule, submodule_name or submodule._get_name()
                )

        """,
    ),
    Insert(
        COMPILER,
        within="_insert_complex_io_adapters",
        before='if src.op == "call_module" and $BLOCK:\n    $$$ADAPT',
        text="""
            # A double output of a TRT block has been cast back to double
            block = src.args[0] if src.target == torch.ops.aten._to_copy.default else src
        """,
    ),
    Rewrite(
        COMPILER,
        within="_insert_complex_io_adapters",
        find="""\
src.op == "call_module" and (
    "_run_on_acc" in str(src.target) or "_run_on_gpu" in str(src.target)
)""",
        put="""\
block.op == "call_module" and (
    "_run_on_acc" in str(block.target) or "_run_on_gpu" in str(block.target)
)""",
    ),
)

FIX = Fix(
    number=6,
    slug="float64-casts",
    doc=__doc__,
    symptom="a graph cut at each cast to float64, with truncate_double; no wrong result",
    risk="with truncate_double: float64 casts lose the digits that float32 lacks; float64 outputs are float64 again",
    commits=(
        Commit(
            subject="feat(dynamo): convert casts to float64 under truncate_double",
            edits=(*_validator, *_cast, *_boundary),
            tests=("tests/py/dynamo/conversion/test_float64_casts.py",),
            needs=("output-tensors",),
        ),
    ),
)
