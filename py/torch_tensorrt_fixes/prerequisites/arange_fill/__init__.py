"""Fill a range of integers instead of freezing it.

A static aten.arange became a constant layer. The builder folds constants
and whatever depends on nothing else, so a range that lowering keeps out
of constant folding, as the ranges behind an attention mask, was folded
all the same: the engine of a causal mask of 1,024 x 1,024 is 4.34 MB
whether lowering folds the mask or not.

A range of int32 or int64 values is now a fill layer, which the builder
does not fold; that engine is 0.14 MB. The values are PyTorch's and so is
the dtype: int64 ranges were constants of int32, so that values beyond
2**31 wrapped. No memory is taken for the values at build time.

Left alone: ranges of floats, ranges with arguments known at run time,
empty ranges, other dtypes; and the ranges that other converters make for
themselves, whose folding is welcome. Lowering folds a static arange
unless it is told to keep it, so no other model has one to convert.
"""

from ...commit import Commit, Fix, Kind
from ...edits import AddDefinition, Donor, Rewrite

CONVERSION = "py/torch_tensorrt/dynamo/conversion"
donor = Donor(__package__, "arange")

FIX = Fix(
    kind=Kind.PREREQUISITE,
    slug="arange-fill",
    doc=__doc__,
    symptom="the engine holds as constants what constant folding was told to leave; int64 ranges wrap beyond 2**31",
    risk="none where lowering folds every static arange, as it does unless a rule excludes one",
    commits=(
        Commit(
            subject="feat(dynamo): fill a range of integers instead of freezing it",
            edits=(
                AddDefinition(f"{CONVERSION}/impl/arange.py", donor["arange_fill"], after="arange"),
                Rewrite(
                    f"{CONVERSION}/aten_ops_converters.py",
                    within="aten_ops_arange_start_step",
                    find="impl.arange.arange",
                    put="impl.arange.arange_fill",
                ),
            ),
            tests=("tests/py/dynamo/conversion/test_arange_fill.py",),
        ),
    ),
)
