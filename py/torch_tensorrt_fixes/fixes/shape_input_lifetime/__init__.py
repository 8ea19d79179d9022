"""Keep shape tensors for as long as the context reads them.

An input whose values are sizes (a shape tensor) is read by TensorRT on
the host. TRTEngine.setup_input_tensors copied each into a NumPy array,
handed its address to the execution context and dropped the array; the
context reads it later, in infer_shapes, get_tensor_shape and
execute_async_v3, from memory that is free by then. One shape input often
survives; with three the third array lies where the first one was, and
the sizes (3, 4, 5) are read as (5, 4, 5), silently. torch.compile with
dynamic shapes passes each symbolic size to the engine as an input.

The engine now holds the array of each shape input until the input is
bound anew, which is when its address leaves the context. That holds for
a call that fails half way as well: the inputs that it did not come to
are still those of the call before. The arrays that a CUDA graph was
recorded with are kept among the graph's input buffers until it is
recorded anew.

Left alone: which values are bound, and when shapes are inferred again.
"""

from ...commit import Commit, Fix
from ...edits import Insert

ENGINE = "py/torch_tensorrt/dynamo/runtime/_TRTEngine.py"

FIX = Fix(
    number=8,
    slug="shape-input-lifetime",
    doc=__doc__,
    symptom="wrong sizes, silently, where an engine has several shape inputs (torch.compile with dynamic shapes)",
    risk="none: a few numbers are kept for each shape input",
    commits=(
        Commit(
            subject="fix(runtime): keep shape tensors for as long as the context reads them",
            edits=(
                Insert(
                    ENGINE,
                    within="TRTEngine.__init__",
                    after="self._bound_inputs_by_name: $TYPE = {}",
                    text="""
                    # Host memory of the shape tensors that are bound to the context
                    self._shape_tensors: Dict[str, torch.Tensor] = {}
                    """,
                ),
                Insert(
                    ENGINE,
                    within="TRTEngine.__setstate__",
                    after="self._bound_inputs_by_name = {}",
                    text="self._shape_tensors = {}",
                ),
                Insert(
                    ENGINE,
                    within="TRTEngine.setup_input_tensors",
                    after="if binding.is_shape_tensor:\n    $$$SHAPE\nelse:\n    $$$EXECUTION",
                    text="""

                    if binding.is_shape_tensor:
                        # The context reads the values after this method has returned, and
                        # a recorded CUDA graph those that it was recorded with
                        self._shape_tensors[input_name] = torch.from_numpy(inputs_cpu)
                        if need_cudagraphs_record:
                            self._input_buffers[i] = self._shape_tensors[input_name]
                    """,
                ),
            ),
            tests=("tests/py/dynamo/runtime/test_shape_input_lifetime.py",),
        ),
    ),
)
