"""Retrace offloaded constants on the device of their metadata.

With offload_module_to_cpu=True, constant folding leaves its results on
the CPU while their metadata says the GPU. The complex decomposition
then retraces the graph and meets CPU tensors next to GPU activations:
FakeTensorDeviceMismatchError, and a fall-back to the legacy pass, which
fails the same way on a small rotary model and runs for 45 minutes on a
large one.

For the retrace, and for the constant folding that follows it, each
offloaded constant is now replaced by a copy on its recorded device.
Afterwards, also if the retrace fails, the constants themselves stand in
the module that was given and in the one that is returned, and the
copies are freed: where constants live after lowering does not change.

A successful retrace returns a new module, without the parameters that
only constant folding read. compile() and cross_compile_for_windows()
therefore offload the module that lowering started from as well as the
lowered one; else these parameters would keep GPU memory from TensorRT.

Left alone: the legacy pass, and cross_compile_for_windows(), which does
not pass offload_module_to_cpu on to lowering, so that there constants
are offloaded only when lowering is done.
"""

from ...commit import Commit, Fix, Variant
from ...edits import AddImport, Donor, Has, Insert, Lacks, NewFile, Rewrite

DYNAMO = "py/torch_tensorrt/dynamo"
PASSES = f"{DYNAMO}/lowering/passes"
ADAPTER = f"{PASSES}/complex_decomposition_adapter.py"
COMPILER = f"{DYNAMO}/_compiler.py"
donor = Donor(__package__, "offloaded_constants")

_folds_again = Has(ADAPTER, within="complex_decomposition_adapter", find="mark_constant_fold_exclusions(gm, settings)")

_function = (
    NewFile(f"{PASSES}/offloaded_constants.py", lambda: donor.text),
    AddImport(ADAPTER, ("from .offloaded_constants import with_constants_on_device",)),
)

_offloading = tuple(
    edit
    for entry in ("cross_compile_for_windows", "compile")
    for edit in (
        Rewrite(
            COMPILER,
            within=entry,
            find="gm = post_lowering(gm, settings)",
            put="""
                unlowered_gm = gm if offload_module_to_cpu else None
                gm = post_lowering(gm, settings)
            """,
            done="unlowered_gm = gm if offload_module_to_cpu else None",
        ),
        Insert(
            COMPILER,
            within=entry,
            before="deallocate_module(gm)",
            text="""
                # Lowering may return a new module without all parameters of the old one
                deallocate_module(unlowered_gm)
                del unlowered_gm
            """,
        ),
    )
)

FIX = Fix(
    number=5,
    slug="offloaded-constants",
    doc=__doc__,
    symptom="compile() of a rotary model with offload_module_to_cpu=True fails or seems to hang; no wrong result",
    risk="low: constants that are where their metadata says are not touched",
    commits=(
        Commit(
            subject="fix(dynamo): retrace offloaded constants on their recorded device",
            variants=(
                Variant(
                    _folds_again,
                    (
                        *_function,
                        *_offloading,
                        Rewrite(
                            ADAPTER,
                            within="complex_decomposition_adapter",
                            find="decompose_complex_in_graph(gm, flat_args, decompositions=$TABLE)",
                            put="""
                                with_constants_on_device(
                                    decompose_complex_in_graph,
                                    gm,
                                    flat_args,
                                    decompositions=$TABLE,
                                )
                            """,
                        ),
                        Rewrite(
                            ADAPTER,
                            within="complex_decomposition_adapter",
                            find="constant_fold(gm, settings)",
                            put="with_constants_on_device(constant_fold, gm, settings)",
                        ),
                    ),
                ),
                Variant(
                    Lacks(_folds_again),
                    (
                        *_function,
                        *_offloading,
                        Rewrite(
                            ADAPTER,
                            within="complex_decomposition_adapter",
                            find="decompose_complex_in_graph(gm, flat_args)",
                            put="""
                                with_constants_on_device(
                                    decompose_complex_in_graph, gm, flat_args
                                )
                            """,
                        ),
                    ),
                ),
            ),
            tests=("tests/py/dynamo/lowering/test_offloaded_constants.py",),
        ),
    ),
)
