"""Leave select on uint8 in PyTorch.

TensorRT has uint8 only at an engine's inputs and at the outputs of a
cast or identity layer. The converter of select emits a gather whatever
the dtype, so frames[1] on a camera history of bytes, as in VQ-BeT,
failed the build of the whole engine: "... has datatype UInt8 but is not
network-level IO".

The converter gets a capability validator that looks at the dtype of the
data in the node's metadata, and a select on uint8 runs in PyTorch. What
follows converts as before: of frames[1].float() / 255 the cast and the
division are one engine with a uint8 input. All other dtypes convert.

Left alone: other operations on uint8, which still fail: slice, permute,
view, index, index_select, gather, cat, split, squeeze, expand, flip,
where, add, sum, amax and index_put. What helps there is to cast ahead
of them, or to name them in torch_executed_ops. In a graph without
metadata a select converts as before.
"""

from ...commit import Commit, Fix
from ...edits import AddDefinition, AddItem, Donor, Insert

CONVERTERS = "py/torch_tensorrt/dynamo/conversion/aten_ops_converters.py"
donor = Donor(__package__, "select_validator")

SHAPE_PROP = """Where a node has no metadata from torch.export, read ShapeProp's.

The validator of select reads the dtype of its data from
node.meta["val"], which torch.export and torch.compile write. A graph
from torch.fx.symbolic_trace has none; it is typed by ShapeProp, which
writes tensor_meta. There frames[1] on uint8 was still converted, and the
build failed. The validator now reads tensor_meta where val is missing."""

FIX = Fix(
    number=12,
    slug="uint8-select",
    doc=__doc__,
    symptom="a failed engine build: ... has datatype UInt8 but is not network-level IO",
    affects="2.0 to 2.14 (the text of each; 2.14.0 was run)",
    risk="none for other dtypes; a select on uint8 never built",
    commits=(
        Commit(
            subject="fix(dynamo): leave select on uint8 in PyTorch",
            edits=(
                AddDefinition(CONVERTERS, donor["select_dtype_validator"], before="aten_ops_select"),
                AddItem(
                    CONVERTERS,
                    within="aten_ops_select",
                    into="dynamo_tensorrt_converter($$$ARGS)",
                    after="torch.ops.aten.select.int",
                    item="capability_validator=select_dtype_validator",
                ),
            ),
            tests=("tests/py/dynamo/conversion/test_uint8_select.py",),
        ),
        Commit(
            subject="fix(dynamo): read ShapeProp's dtype in the validator of select",
            body=SHAPE_PROP,
            edits=(
                Insert(
                    CONVERTERS,
                    within="select_dtype_validator",
                    after='val = data.meta.get("val")',
                    text="""
                    if val is None:
                        # Typed by ShapeProp
                        val = data.meta.get("tensor_meta")
                    """,
                ),
            ),
            tests=("tests/py/dynamo/conversion/test_uint8_select_shape_prop.py",),
        ),
    ),
)
