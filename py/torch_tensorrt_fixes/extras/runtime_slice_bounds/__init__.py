"""Clamp slice bounds that meet a size at run time.

Python clamps a slice bound past either end of a dimension to that end.
On a dynamic dimension slice_op did not: x[:, 4:20] had 16 columns
whatever the length, x[:, -15:] began ahead of the first and x[6:3] had
a negative length, and the engine was not built or failed as it ran. A
bound that is a size (x[:y.shape[0]]) was clamped as a start only.

Writing was worse off. slice_scatter kept the end that the exporter
gives to an open slice, 2**63 - 1, and bounds past an end: x[2:] = v,
x[-3:] = v, x[2:15] = v and x[-1] = v failed to convert, on a static
dimension of size 10 and on a dynamic one, with "operands could not be
broadcast together". A strided write to a static cache of four
dimensions, cache[:, :, 0:8:2] = v, became a KV cache update, which
writes neighbouring slots: wrong rows, silently.

Where the size or a bound is known at run time only, a function of its
own now computes both positions from them as Python does; the length is
never negative, and it stays static where the exported program says so.
slice_scatter resolves literal bounds with slice.indices(), computes the
written positions of a dynamic dimension at run time, and leaves strided
and empty writes to the scatter. Lowering asks the same function which
writes a KV cache update will make, so it agrees.

Left alone: bounds on a static dimension in slice_op, which take another
branch; slice_scatter with symbolic bounds, which a lowering pass
decomposes, and what another pass makes of the symbolic bound -n: for n
beyond the size it counts from the end once more.
"""

from ...commit import Commit, Fix, Kind, Variant
from ...edits import AddDefinition, Donor, Has, Insert, Lacks, Remove, Rewrite

IMPL = "py/torch_tensorrt/dynamo/conversion/impl"
OPS = f"{IMPL}/slice/ops.py"
SCATTER = f"{IMPL}/slice_scatter.py"
DECOMPOSITIONS = "py/torch_tensorrt/dynamo/lowering/_decompositions.py"
slice_ops = Donor(__package__, "slice_ops")
slice_scatter = Donor(__package__, "slice_scatter")

STATIC = "input.shape[dim] != -1 and isinstance(start, int) and isinstance(stop, int)"
DONE = "slice_at_run_time($$$ARGS)"

_slice = (
    AddDefinition(OPS, slice_ops["slice_position"], before="expand"),
    AddDefinition(OPS, slice_ops["slice_at_run_time"], after="slice_op"),
    Remove(
        OPS,
        within="slice_op",
        find="dynamic_input_dim_equal = False",
        through="for i in range(len(input.shape)):\n    if $TEST:\n        dynamic_input_dim_equal = True",
        done=DONE,
    ),
    Rewrite(
        OPS,
        within="slice_op",
        find="stop_dynamic_None = False",
        put="""
            if stop is None:
                stop = sys.maxsize
        """,
        done=DONE,
    ),
    Remove(OPS, within="slice_op", find="if stop is None:\n    $$$BODY", done=DONE),
    Remove(OPS, within="slice_op", find="if isinstance(start, TRTTensor):\n    $$$BODY", done=DONE),
    Rewrite(OPS, within="slice_op", find="start_slice = []", put="start_slice = [0] * len(input.shape)", done=DONE),
    Remove(
        OPS,
        within="slice_op",
        find="if isinstance(start, int):\n    $$$BODY\nelse:\n    $$$OTHER",
        through="if isinstance(stop, int) and dynamic_input_dim_equal:\n    $$$BODY\nelse:\n    $$$OTHER",
        done=DONE,
    ),
    Rewrite(
        OPS,
        within="slice_op",
        find=f"if {STATIC}:\n    $$$BODY\nelse:\n    $$$RUN_TIME",
        put=f"""
            if {STATIC}:
                $$$BODY
            else:
                return slice_at_run_time(
                    ctx, target, source_ir, name, input, dim, start, stop, step
                )
        """,
        done=DONE,
    ),
)

CLAMP = """
if (
    isinstance(dim_size, int)
    and dim_size >= 0
    and all(bound is None or isinstance(bound, int) for bound in (start, end, step))
):
    # An empty slice ends where it starts
    start, end, step = slice(start, end, step).indices(dim_size)
    end = max(start, end)

"""

_scatter = (
    AddDefinition(SCATTER, slice_scatter["slice_scatter_at_run_time"], before="slice_scatter"),
    Insert(
        SCATTER,
        within="slice_scatter",
        after="rank = len(input.shape)",
        text="""
            if dim in range(-rank, rank) and input.shape[dim] == DYNAMIC_DIM:
                return slice_scatter_at_run_time(
                    ctx, target, source_ir, name, input, src, dim, start, end, step
                )
        """,
    ),
    Rewrite(
        DECOMPOSITIONS,
        within="select_scatter_decomposition",
        find="return torch.slice_scatter(input_tensor, src_tensor, dim, index, index + 1, 1)",
        put="""
            # What follows the last element is not 0
            end = None if index == -1 else index + 1
            return torch.slice_scatter(input_tensor, src_tensor, dim, index, end, 1)
        """,
        done="end = None if index == -1 else index + 1",
    ),
)

# Where lowering predicts what the converter will make of a write to a cache, both ask one function for the bounds.
_predicted = Has(SCATTER, within="resolve_slice_scatter_write")

_resolver = (
    Insert(SCATTER, within="KVWriteStatus", after="BAD_DIM = auto()", text="NOT_CONTIGUOUS = auto()"),
    Insert(SCATTER, within="resolve_slice_scatter_write", before="if start is None:\n    start = 0", text=CLAMP),
    Rewrite(
        SCATTER,
        within="resolve_slice_scatter_write",
        find="return start, end, step, KVWriteStatus.OK",
        put="""
            # The KV layer writes one slot or more, each next to the last. Any other write
            # is the scatter fallback's, which honours `step`.
            if step != 1 or start == end:
                return start, end, step, KVWriteStatus.NOT_CONTIGUOUS
            return start, end, step, KVWriteStatus.OK
        """,
        done="return start, end, step, KVWriteStatus.NOT_CONTIGUOUS",
        comments=True,
    ),
    Rewrite(
        SCATTER,
        within="slice_scatter",
        find="kv_out = (None if kv_forbidden else $EMIT)",
        put="""
            kv_out = (
                None
                if kv_forbidden or status is KVWriteStatus.NOT_CONTIGUOUS
                else $EMIT
            )
        """,
    ),
)

_converter = (
    Insert(SCATTER, within="slice_scatter", before="if start is None:\n    start = 0", text=CLAMP),
    Rewrite(
        SCATTER,
        within="slice_scatter",
        find="kv_out = $EMIT",
        put="""
            kv_out = None
            # The layer writes one slot or more, each next to the last.
            if step == 1 and update_len > 0:
                kv_out = $EMIT
        """,
        done="if step == 1 and update_len > 0:\n    $$$BODY",
    ),
)

FIX = Fix(
    kind=Kind.EXTRA,
    slug="runtime-slice-bounds",
    doc=__doc__,
    symptom="a failed build or run; x[2:] = v fails to convert; a strided write to a KV cache is wrong, silently",
    affects="2.14.0 (run); main of 2026-08 has it too",
    risk="low: a slice of a dynamic dimension is computed as before where no bound is past an end",
    commits=(
        Commit(
            subject="fix(dynamo): clamp slice bounds at run time like Python",
            variants=(
                Variant(_predicted, (*_slice, *_scatter, *_resolver)),
                Variant(Lacks(_predicted), (*_slice, *_scatter, *_converter)),
            ),
            tests=(
                "tests/py/dynamo/conversion/test_runtime_slice_bounds.py",
                "tests/py/dynamo/conversion/test_slice_scatter_bounds.py",
            ),
        ),
    ),
)
