"""Bind shape tensors in their own type and notice when their values change.

TensorRT has shape tensors of int32 and of int64. The Python runtime bound
each as int64, so that an engine with an int32 shape input read every
other half: [5, 6, 7] as [5, 0, 6], silently. The values are now bound in
the type of the binding.

What follows from input shapes (inferred output shapes, pre-allocated
outputs, a recorded CUDA graph) follows from the values of shape tensors
as well, but was made anew only when a shape changed. A second call with
the same shapes and other values skipped infer_shapes, wrote to outputs
that were allocated for the values before, and replayed a CUDA graph that
was recorded with them. The values are now part of the key that tells
whether the shapes changed.

Engines without shape tensors have the key that they had. With shape
tensors on the GPU each call reads them once more on the host.
"""

from ...commit import Commit, Fix, Kind
from ...edits import Insert, Rewrite

ENGINE = "py/torch_tensorrt/dynamo/runtime/_TRTEngine.py"

FIX = Fix(
    kind=Kind.EXTRA,
    slug="shape-values",
    doc=__doc__,
    symptom="wrong sizes, silently, from int32 shape inputs; or stale output sizes where their values change",
    risk="none without shape tensors; with them a CUDA graph is recorded again when their values change",
    commits=(
        Commit(
            subject="fix(runtime): bind shape tensors in their type and notice new values",
            edits=(
                Rewrite(
                    ENGINE,
                    within="TRTEngine.setup_input_tensors",
                    find="contiguous_inputs[i].cpu().to(torch.int64).numpy().copy()",
                    put="contiguous_inputs[i].cpu().numpy().copy()",
                ),
                Insert(
                    ENGINE,
                    within="TRTEngine.validate_input_shapes",
                    after="new_shape_key = $KEY",
                    text="""
                    # Output shapes follow from the values of shape tensors as well
                    new_shape_key += "".join(
                        str(tensor.tolist())
                        for tensor, binding in zip(inputs, self._input_binding_infos)
                        if binding.is_shape_tensor
                    )
                    """,
                ),
            ),
            tests=("tests/py/dynamo/runtime/test_shape_values.py",),
        ),
    ),
)
