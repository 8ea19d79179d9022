"""Clamp static slice bounds like Python.

In Python and PyTorch a slice bound past either end of a dimension is
clamped to that end, and a slice whose bounds cross is empty. slice_op
passes static bounds through get_positive_dim, which maps a dimension
number into range with a modulo. That is right for a dimension and wrong
for a bound: on a dimension of size 10, x[-15:] becomes x[5:] and x[:-15]
becomes x[:5], silently; x[7:3] gets a negative length, which is read as
dynamic and fails with "Could not get tensor shape"; and a negative bound
on an empty dimension divides by zero.

The sliding-window layers of a transformers cache keep
keys[:, :, -window + 1:]. Compiled with a static prompt shorter than the
window, they lose the first tokens of the prompt.

Both bounds are now clamped into [0, size] by a function of their own, and
a length is never negative. get_positive_dim stays as it is: its other
callers pass dimension numbers. Literal bounds on a dynamic dimension take
another branch of slice_op, which this commit leaves alone.
"""

from ...commit import Commit, Fix
from ...edits import AddDefinition, Donor, Rewrite

OPS = "py/torch_tensorrt/dynamo/conversion/impl/slice/ops.py"
slice_ops = Donor(__package__, "slice_ops")

FIX = Fix(
    number=1,
    slug="slice-bounds",
    doc=__doc__,
    affects="2.1 to 2.14 (the text of each; 2.14.0 was run)",
    symptom="wrong rows, silently; or a failed engine build",
    risk="none for bounds inside the dimension, whose clamped value is what get_positive_dim gave",
    commits=(
        Commit(
            subject="fix(dynamo): clamp static slice bounds like Python",
            edits=(
                AddDefinition(OPS, slice_ops["clamp_slice_bound"], before="slice_op"),
                Rewrite(
                    OPS,
                    within="slice_op",
                    count=2,
                    find="get_positive_dim($BOUND, input.shape[dim])",
                    put="clamp_slice_bound($BOUND, input.shape[dim])",
                ),
                Rewrite(
                    OPS,
                    within="slice_op",
                    find="output_shape[dim] = math.ceil($LENGTH)",
                    put="output_shape[dim] = max(math.ceil($LENGTH), 0)",
                ),
            ),
            tests=("tests/py/dynamo/conversion/test_slice_bounds.py",),
        ),
    ),
)
