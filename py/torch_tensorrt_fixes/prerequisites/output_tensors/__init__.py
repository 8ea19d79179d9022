"""Give every output of an engine a tensor of its own.

TensorRT marks a tensor as an output once. Several positions of what a
model returns can come to the same tensor: clone() and a cast to the
dtype that the tensor has add no layer. The interpreter skipped all
positions but the first, so that an engine had fewer outputs than its
caller reads: `return z, z.clone()` gave the first two rows of z,
silently, since a lone output is not wrapped in a tuple; three outputs
raised "tuple index out of range". An input of the engine that is
returned as it is was not marked either: TensorRT refuses that, logs an
error and goes on.

Each further position of a tensor, and each input, now gets the output
of an identity layer. The engine has one output a position, in order,
and the names output0, output1, ... have no gaps. A tensor's first
position keeps the tensor, so that an output that updates a KV cache in
place still aliases its input. Constants that are returned are named by
position: two of them took the same name, which TensorRT refuses.

Left alone: an engine in the cache has the outputs that it was built
with. Clear a cache that was filled before this commit.
"""

from ...commit import Commit, Fix, Kind
from ...edits import AddDefinition, Donor, Rewrite

INTERPRETER = "py/torch_tensorrt/dynamo/conversion/_TRTInterpreter.py"
OUTPUT = "TRTInterpreter.output"
donor = Donor(__package__, "trt_interpreter")

FIX = Fix(
    kind=Kind.PREREQUISITE,
    slug="output-tensors",
    doc=__doc__,
    symptom='wrong values, silently, or "tuple index out of range", where outputs are copies of each other',
    risk="none for outputs that are distinct tensors and no inputs: their network stays the same",
    commits=(
        Commit(
            subject="fix(dynamo): give every engine output a tensor of its own",
            edits=(
                AddDefinition(INTERPRETER, donor["TRTInterpreter._copy_output"], before=OUTPUT),
                Rewrite(
                    INTERPRETER,
                    within=OUTPUT,
                    find="get_trt_tensor(self.ctx, output, target)",
                    put='get_trt_tensor(self.ctx, output, f"{target}_{output_idx}")',
                ),
                Rewrite(
                    INTERPRETER,
                    within=OUTPUT,
                    comments=True,
                    find="""\
if id(output) in marked_outputs_ids:
    continue""",
                    put="""\
# TensorRT marks a tensor once, and an input never: a copy stands in
if output.is_network_input or id(output) in marked_outputs_ids:
    output = self._copy_output(output, i)""",
                    done="""\
if output.is_network_input or id(output) in marked_outputs_ids:
    output = self._copy_output(output, i)""",
                ),
            ),
            tests=("tests/py/dynamo/conversion/test_output_tensors.py",),
        ),
    ),
)
