"""Write one row of values for each True of a mask.

A boolean mask makes the number of rows that index_put writes, N, known
at run time only. index_put_converter had slice.expand broadcast values
and indices to N, and expand broadcasts any static dimension to a
run-time one, which is right for size 1 alone: h[mask] = v wrote v[0] to
every row, silently. With a mask over two dimensions h[mask, :] += v, by
which the deepstack of Qwen3-VL (and of GR00T) adds its visual
embeddings, failed with "Cannot broadcast (128, 2048) to (<ITensor>,
2048)". h[mask, idx] = v wrote to idx[0] or failed, and of a mask over
several dimensions beside another index, as in h[:, mask2d] = 0, only
the first coordinates were used.

Values and indices now keep the number of rows that they have, static or
known at run time, unless it is 1, which is broadcast as before. A mask
over several dimensions stands for one index per dimension at any place,
for reading too, and values whose rows are not in front (h[:, mask] = v)
are brought into that layout. If the mask has another number of True
than there are rows, the updates do not have the size of the indices,
and the engine fails at run time, as PyTorch does; it never writes a
part.

In two cases an engine fails where PyTorch broadcasts: a mask with one
True beside an index of several elements, and values with a dynamic
number of rows that happens to be 1.

With accumulate=True a mask reached the ScatterAdd plugin as the indices
0 and 1. It now stays in PyTorch.

Left alone: indices of static length without a mask, a mask beside an
index of several dimensions (which fails as before), and reading
h[mask, idx] (which does not convert). TensorRT-RTX has no NonZero:
there all of this stays in PyTorch.
"""

from ...commit import Commit, Fix
from ...edits import AddDefinition, Donor, Insert, Rewrite

SELECT = "py/torch_tensorrt/dynamo/conversion/impl/select.py"
CONVERTERS = "py/torch_tensorrt/dynamo/conversion/aten_ops_converters.py"
index_put = Donor(__package__, "index_put")

MASK_OF_SEVERAL_DIMS = """
if len(indices) > 1 and len(ind.shape) > 1:
    # The same indices as if the mask stood alone
    new_indices += expand_boolean_indices(
        ctx, target, source_ir, f"{name}_{i}", input, [ind]
    )
    continue
"""

ROWS_FIRST = """

if isinstance(N, ITensor):
    values = move_rows_first(
        ctx, target, source_ir, f"{name}_rows_first", values, I, rank
    )
"""

FIX = Fix(
    number=10,
    slug="index-put-mask",
    doc=__doc__,
    symptom="wrong rows or positions written, silently; or conversion fails: Cannot broadcast ... to (<ITensor>, ...)",
    affects="2.12 to 2.14 (the text of each; 2.14.0 was run)",
    risk="low: only where the number of rows is known at run time; static shapes convert as before",
    commits=(
        Commit(
            subject="fix(dynamo): write one row of values for each True of an index_put mask",
            edits=(
                Insert(
                    SELECT,
                    within="expand_boolean_indices",
                    before="mask_tensor = get_trt_tensor($$$ARGS)",
                    text=MASK_OF_SEVERAL_DIMS,
                ),
                AddDefinition(SELECT, index_put["move_rows_first"], before="index_put_converter"),
                Rewrite(
                    SELECT,
                    within="index_put_converter",
                    find="(N, F_volume)",
                    put="(N if idx.shape[0] == 1 else idx.shape[0], F_volume)",
                ),
                Insert(SELECT, within="index_put_converter", after="expected_shape = $SHAPE", text=ROWS_FIRST),
                Rewrite(
                    SELECT,
                    within="index_put_converter",
                    find="K == 1 and len(values.shape) == rank",
                    put="K == 1 and len(values.shape) == rank and not isinstance(N, ITensor)",
                ),
                # What the loop over the dimensions finds is now what expand gets; -1 there keeps a size.
                Rewrite(
                    SELECT,
                    within="index_put_converter",
                    find="val_dim == DYNAMIC_DIM or exp_dim == DYNAMIC_DIM",
                    put="""
                    val_dim == DYNAMIC_DIM or (
                        val_dim != 1 and isinstance(exp_dim, ITensor)
                    )
                    """,
                ),
                Rewrite(
                    SELECT,
                    within="index_put_converter",
                    find="impl.slice.expand($CTX, $TARGET, $SOURCE_IR, $NAME, values, expected_shape)",
                    put="""
                    impl.slice.expand(
                        $CTX,
                        $TARGET,
                        $SOURCE_IR,
                        $NAME,
                        values,
                        tuple(broadcast_shape),
                    )
                    """,
                ),
                Rewrite(
                    CONVERTERS,
                    within="_index_put_accumulate_validator",
                    find="index_nonbool_validator(node, settings)",
                    put="not index_has_bool_indices(node, settings)",
                ),
            ),
            tests=("tests/py/dynamo/conversion/test_index_put_mask.py",),
        ),
    ),
)
