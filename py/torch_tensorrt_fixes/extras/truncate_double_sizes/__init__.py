"""Let sizes cross partitions when truncate_double is set.

With truncate_double, a partition that has a float64 input and a size
among its inputs or outputs could not be compiled: what casts float64 at
its boundary asked each input and output for its dtype, and a size is an
int, which has none ("'int' object has no attribute 'dtype'"). To learn
the dtypes of the outputs it also made tensors for all inputs and ran
the whole partition in PyTorch, on the target device.

Which inputs are float64 is now asked of their Input, and which outputs
are of the partition's metadata. Sizes and other scalars stay as they
are, no input is made and nothing is run, so that the pass costs neither
the time nor the memory of a run; only the Input that is cast changes.

Left alone: the casts themselves. That a size reaches PyTorch as an int
is the business of the module that runs the engine.
"""

from __future__ import annotations

from ...commit import Commit, Fix, Kind
from ...edits import AddDefinition, Donor, Rewrite

TRUNCATE = "py/torch_tensorrt/dynamo/conversion/truncate_double.py"
UTILS = "py/torch_tensorrt/dynamo/utils.py"

utils = Donor(__package__, "utils")

FIX = Fix(
    kind=Kind.EXTRA,
    slug="truncate-double-sizes",
    doc=__doc__,
    symptom="loud: with truncate_double and a size that crosses partitions, 'int' object has no attribute 'dtype'",
    risk="none known: the metadata has the dtypes that a run gives",
    commits=(
        Commit(
            subject="fix(dynamo): take the dtypes of truncate_double from the metadata",
            edits=(
                AddDefinition(UTILS, utils["get_output_values"], after="get_output_metadata"),
                Rewrite(
                    TRUNCATE,
                    find="from torch_tensorrt.dynamo.utils import get_torch_inputs",
                    put="from torch_tensorrt.dynamo.utils import get_output_values",
                ),
                Rewrite(
                    TRUNCATE,
                    within="_repair_64bit_input",
                    find="isinstance(submodule_outputs, torch.Tensor)",
                    put="not isinstance(submodule_outputs, tuple)",
                ),
                Rewrite(
                    TRUNCATE,
                    within="_repair_64bit_input",
                    find="output.dtype == dtype_64bit",
                    put="isinstance(output, torch.Tensor) and output.dtype == dtype_64bit",
                ),
                Rewrite(
                    TRUNCATE,
                    within="repair_double_inputs",
                    find="submodule_torch_inputs = get_torch_inputs(submodule_inputs, device)",
                    put="submodule_outputs = get_output_values(submodule)",
                ),
                Rewrite(
                    TRUNCATE,
                    within="repair_double_inputs",
                    find="for position in range(num_submodule_inputs):\n    $$$REPAIR",
                    put="""
                        for position in range(num_submodule_inputs):
                            if submodule_inputs[position].dtype != dtype.float64:
                                continue

                            _repair_64bit_input(
                                parent_graph,
                                position,
                                submodule_name if submodule_name is not None else submodule._get_name(),
                                # One repair of the outputs is enough for all inputs
                                None if repaired_outputs_once else submodule_outputs,
                                torch.float64,
                            )
                            repaired_outputs_once = True
                            submodule_inputs[position].dtype = dtype.float32
                    """,
                    done="if submodule_inputs[position].dtype != dtype.float64:\n    continue",
                ),
            ),
            tests=("tests/py/dynamo/conversion/test_truncate_double_sizes.py",),
        ),
    ),
)
