"""Keep the copies that a model makes, under torch.compile.

h = x * 2; y = h.clone(); y.add_(1); return h - 1, y gave a wrong first
output with torch.compile(backend="tensorrt"), without an error. The pass
that folds `.item()` of a scalar parameter took every clone, contiguous
and detach out of the graph, ahead of functionalization: y was h, and the
add_ was done to both. Likewise y = x.clone(); y[:, 0] = 0 next to a use
of x, and h.detach().clone(). Where a model returns x.clone(), the
caller got the tensor that it had passed in: writing to one wrote to the
other.

Now an `.item()` reads the parameter past the clones and detaches in
between, and all other copies stay. A copy that only an `.item()` read
goes. An `.item()` does not fold where the tensor may have been written
to before it, be it the parameter, a copy on the way or an alias of
either: it gave the value of compile time.

Left alone: what is an alias in PyTorch, too, such as x.detach(), may
still be returned as the input itself. The folding of `.item()` on an
input that is no parameter.
"""

from ...commit import Commit, Fix, Kind
from ...edits import AddDefinition, AddImport, Donor, Insert, NewFile, Rewrite

PASSES = "py/torch_tensorrt/dynamo/lowering/passes"
PASS = f"{PASSES}/fold_get_attr_item_calls.py"
MODULE = "torch_tensorrt.dynamo.lowering.passes.written_tensors"
donor = Donor(__package__, "fold_get_attr_item_calls")
writes = Donor(__package__, "written_tensors")

FIX = Fix(
    kind=Kind.EXTRA,
    slug="copies-kept",
    doc=__doc__,
    symptom="wrong values, silently, where torch.compile meets a write to a copy; outputs that are inputs",
    risk="low: the copies that the model makes are in the graph again, and an engine may hold a layer for each",
    commits=(
        Commit(
            subject="fix(dynamo): keep copies that are not behind an item() in torch.compile",
            edits=(
                NewFile(f"{PASSES}/written_tensors.py", lambda: writes.text),
                AddImport(PASS, (f"from {MODULE} import may_be_written_before",)),
                Rewrite(
                    PASS,
                    find="def _remove_identity_ops(gm: torch.fx.GraphModule) -> bool:\n    $$$BODY",
                    put=donor["_is_identity_op"].text,
                ),
                AddDefinition(PASS, donor["_skip_identity_ops_before_item"], before="_get_actual_tensor"),
                Rewrite(
                    PASS,
                    within="fold_get_attr_item_calls",
                    find="_remove_identity_ops(gm)",
                    put="_skip_identity_ops_before_item(gm)",
                ),
                Insert(
                    PASS,
                    within="fold_get_attr_item_calls",
                    before="val = _get_actual_tensor($$$ARGS)",
                    text="""
                    if may_be_written_before(node, src):
                        continue

                    """,
                ),
            ),
            tests=("tests/py/dynamo/lowering/test_copies_kept.py",),
        ),
    ),
)
