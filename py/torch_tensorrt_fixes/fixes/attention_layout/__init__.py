"""Keep the layout of attention outputs when attention is decomposed.

With decompose_attention=True, scaled_dot_product_attention becomes two
matmuls and a softmax, whose output is contiguous. The fused kernels lay
theirs out otherwise: flash, cuDNN and the CPU kernel follow the query,
memory-efficient attention returns a transpose of an (N, L, H, E)
buffer. An exported graph may depend on it. In sdpa(q, k,
v).transpose(1, 2).contiguous().view(n, l, -1), which ends the attention
of many models (Data2Vec vision for one), export drops contiguous()
where it is a no-op, and compile() failed: "Cannot view a tensor with
shape ... and strides ...". So did view_as, or a view after squeeze,
clone, pointwise or in-place ops; as_strided read the wrong elements,
silently.

A new pre-lowering pass, which runs only when attention is decomposed,
copies each attention output whose recorded dimension order is not the
default one into that order: permute, contiguous clone, permute back,
and a clone that keeps the layout. The attention node becomes that last
clone, so graph outputs, in-place ops and updates through views keep
naming the same tensor. The graphs of torch.cond branches and of
no_grad, autocast and similar regions are visited too. Calls of the
flash, efficient and cuDNN ops themselves did not fail, but their
strides were lost as well; they are treated alike. An as_strided in such
a graph reads a view whose dimensions are in the order of its memory,
since the converter of as_strided knows no strides.

Left alone: a result that leaves an engine is contiguous, as every
engine output is. The padding of a head size that a kernel pads is not
restored, only the order of dimensions.
torch.compile(backend="tensorrt") does not run the pre-lowering passes.
"""

from ...commit import Commit, Fix
from ...edits import AddImport, AddItem, Donor, NewFile

PASSES = "py/torch_tensorrt/dynamo/lowering/passes"
LIST = f"{PASSES}/_aten_lowering_pass.py"
donor = Donor(__package__, "keep_attention_layout")

FIX = Fix(
    number=3,
    slug="attention-layout",
    doc=__doc__,
    symptom='compile() fails with "Cannot view a tensor with shape ..."; with as_strided wrong values, silently',
    risk="low: nothing without decompose_attention; with it, two transposing copies that TensorRT can fuse or drop",
    commits=(
        Commit(
            subject="fix(dynamo): keep the layout of decomposed attention",
            edits=(
                NewFile(f"{PASSES}/keep_attention_layout.py", lambda: donor.text),
                AddImport(LIST, ("from .keep_attention_layout import keep_attention_layout",)),
                AddItem(LIST, within="pre_lowering_pass_list", item="keep_attention_layout"),
            ),
            tests=("tests/py/dynamo/lowering/test_attention_layout.py",),
        ),
    ),
)
