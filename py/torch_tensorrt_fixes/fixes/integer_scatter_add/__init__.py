"""Scatter-add integers without a loop over slices.

scatter_add is decomposed into a loop over the slices of src along dim:
eight nodes and a tensor of zeros as large as the input for each. A
scatter_add of 1,024 updates becomes 7,168 nodes and 2,048 constants and
takes 19 s to lower and build; a 128x64 constant index into a 4096x64
int64 table, 268 MB of constants and a 19 MB engine; a mixture-of-
experts router that counts tokens grows by 290,000 nodes. The loop also
runs over a dynamic extent as if it were static: exported with 9 updates
and called with 12, the lowered program adds the first 9, silently, and
an engine takes 9 only. And it runs over src, so a src longer than index
raises.

For int32 and int64 every index is now compared with every position
along dim, and the src of those that match are summed: about ten nodes
whatever the shapes. The sums are exact, since integer addition has no
order. Indices out of range, which PyTorch refuses, match no position
and are ignored.

A constant index would fold the comparison into one constant as large as
what the loop had. The rule scatter_add_positions for excluding nodes
from constant folding keeps the positions that indices are compared
with, where src varies at run time: only then is anything left to
compute.

The loop stays for other dtypes (the rounding of floats depends on their
order, bool is a logical or, narrower integers do not convert), for an
index of 8 dimensions (TensorRT's limit; the comparison adds one), and
for more than 2**26 comparisons, or a number without an upper bound. It
now reads the part of src that index covers. A scatter_add whose index
has a dynamic extent along dim is not decomposed and runs in PyTorch.
"""

from ...commit import Commit, Fix, Variant
from ...edits import AddImport, Donor, Has, Insert, Lacks, NewFile, Rewrite

LOWERING = "py/torch_tensorrt/dynamo/lowering"
DECOMPOSITIONS = f"{LOWERING}/_decompositions.py"
FILTER = f"{LOWERING}/_decomposition_filter.py"
scatter_add = Donor(__package__, "scatter_add")
positions_rule = Donor(__package__, "scatter_add_positions")

WITHOUT_THE_LOOP = """
index, src_tensor = torch.atleast_1d(index, src_tensor)
if not is_concrete_int(index.shape[dim]):
    # There is no number of slices to loop over, so the op runs in PyTorch
    return NotImplemented
if statically_known_true(index.numel() == 0):
    return input_tensor.clone()
if not input_tensor.dim():
    return scatter_add_decomposition(
        input_tensor.unsqueeze(0), dim, index, src_tensor
    ).squeeze(0)
src_tensor = read_by_index(src_tensor, index)
if can_compare_positions(input_tensor, dim, index):
    return add_at_matching_positions(input_tensor, dim, index, src_tensor)

"""

LOOK_AT_INDEX = """
for node in graph_module.graph.nodes:
    if node.target != torch.ops.aten.scatter_add.default or len(node.args) < 4:
        continue
    dim, index = node.args[1:3]
    val = index.meta.get("val", index.meta.get("example_value"))
    if not isinstance(val, torch.Tensor) or not val.ndim:
        continue
    if isinstance(val.shape[get_positive_dim(dim, val.ndim)], torch.SymInt):
        return True
"""

_edits = (
    NewFile(f"{LOWERING}/constant_fold_exclusions/scatter_add.py", lambda: positions_rule.text),
    NewFile(f"{LOWERING}/_scatter_add.py", lambda: scatter_add.text),
    AddImport(
        DECOMPOSITIONS,
        (
            "from torch.fx.experimental.symbolic_shapes import is_concrete_int, statically_known_true",
            # Not relative: attention-mask-rule has its import there
            "from torch_tensorrt.dynamo.lowering._scatter_add import"
            " add_at_matching_positions, can_compare_positions, read_by_index",
        ),
    ),
    Insert(DECOMPOSITIONS, within="scatter_add_decomposition", at="start", text=WITHOUT_THE_LOOP),
)
_filter = Rewrite(
    FILTER,
    within="_has_symbolic_scatter_add_extent",
    find="for $NODE in graph_module.graph.nodes:\n    $$$BODY",
    put=LOOK_AT_INDEX,
)

FIX = Fix(
    number=9,
    slug="integer-scatter-add",
    doc=__doc__,
    symptom="minutes to compile and engines of tens of MB; updates forgotten, silently, where their number is dynamic",
    risk="low: same sums; index out of range, an error in PyTorch, is ignored; dynamic extents of index run in PyTorch",
    commits=(
        Commit(
            subject="fix(dynamo): scatter-add integers without a loop over slices",
            variants=(
                Variant(Has(FILTER, within="_has_symbolic_scatter_add_extent"), (*_edits, _filter)),
                Variant(Lacks(Has(FILTER)), _edits),
            ),
            needs=("arange-fill",),
            tests=("tests/py/dynamo/conversion/test_integer_scatter_add.py",),
        ),
    ),
)
