"""Sort tensors of one dimension, and of none.

TensorRT's TopK layer wants two dimensions or more. The converters of
topk and sort handed it a tensor of one as it was, and torch.sort,
argsort, msort and topk of a vector failed to convert: "Could not get
tensor shape". Of a tensor of no dimensions topk raised
ZeroDivisionError, as did argmax and argmin of one along a dimension.

argmax and argmin already made a column of a vector, but counted a
negative dim from the end of the column: along -1, which is how most
call them, they searched each row of one element. With keepdim every
index was 0, silently and in the wrong shape; without it the build
failed.

The elements are now a column while the layer works on them, whatever
the length, also a dynamic one, and dim is counted from the end of the
tensor that was given.

Left alone: a sort of dynamic length and a stable sort, which run in
PyTorch as before, and median, kthvalue and mode, which have no
converter. A sort of a tensor of no dimensions stays in PyTorch by its
validator.
Among equal elements the order of indices is the layer's, as before, and
argmax of int32 still compares as float32, at every rank.
"""

from __future__ import annotations

from ...commit import Commit, Fix, Kind
from ...edits import Insert, Rewrite

TOPK = "py/torch_tensorrt/dynamo/conversion/impl/topk.py"

FIX = Fix(
    kind=Kind.EXTRA,
    slug="sort-one-dimension",
    doc=__doc__,
    symptom="sort and topk of a vector fail to convert; argmax of a vector along -1 is wrong, silently",
    risk="none known: what changes never converted or was wrong",
    commits=(
        Commit(
            subject="fix(dynamo): sort tensors of one dimension, and of none",
            edits=(
                Insert(
                    TOPK,
                    within="topk",
                    at="start",
                    text="""
                    if len(input.shape) < 2:
                        # A TopK layer needs two dimensions, so the elements become a column
                        column = impl.shuffle.reshape(
                            ctx,
                            target,
                            source_ir,
                            f"{name}_column",
                            input,
                            (*input.shape, 1) if len(input.shape) == 1 else (1, 1),
                        )
                        shape = (k,) if len(input.shape) == 1 else ()
                        values, indices = topk(
                            ctx, target, source_ir, name, column, k, 0, largest, sorted
                        )
                        values = impl.shuffle.reshape(
                            ctx, target, source_ir, f"{name}_values", values, shape
                        )
                        if not return_indices:
                            return values
                        return values, impl.shuffle.reshape(
                            ctx, target, source_ir, f"{name}_indices", indices, shape
                        )

                    """,
                ),
                Insert(
                    TOPK,
                    within="argmax_argmin",
                    before="out = input",
                    text="""
                    if len(input.shape) == 0:
                        # The one element there is, whatever the dim, and no dim to keep
                        input = impl.shuffle.reshape(
                            ctx, target, source_ir, f"{name}_element", input, (1,)
                        )
                        dim, keep_dim = None, False
                    """,
                ),
                Rewrite(
                    TOPK,
                    within="argmax_argmin",
                    find="get_positive_dim(dim if dim is not None else 0, len(out.shape))",
                    put="get_positive_dim(dim, len(input.shape)) if dim is not None else 0",
                ),
            ),
            tests=("tests/py/dynamo/conversion/test_sort_one_dimension.py",),
        ),
    ),
)
