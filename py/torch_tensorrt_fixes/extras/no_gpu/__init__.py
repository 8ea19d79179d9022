"""Import torch_tensorrt and build engines without a GPU.

On a host without a GPU (a laptop, a CI runner, a build machine) `import
torch_tensorrt` raised "Found no NVIDIA driver on your system", so not
even a dry run was possible there. Yet TensorRT-RTX builds engines on
the CPU; only deserializing and running one takes a GPU.

The import asked for the capability and the index of the current GPU;
compile() asked for its free memory, named it in the engine's record,
and deserialized the engine it had just built.

Without a GPU the target device is now cuda:0 unless the caller names
another, what PyTorch runs during compilation (folding, fallback blocks,
the casts of truncate_double) stays on the CPU, and an engine stays
serialized: `SerializedEngine` takes the place of the live engine, and
the fake kernel of execute_engine takes shapes and dtypes from what was
recorded at build time. So compile(),
convert_exported_program_to_serialized_trt_engine(), torch.compile and
dryrun=True work; what compile() returns can be copied, pickled and
saved with torch_tensorrt.save(), with retrace or without. Running it
raises an error that names the engine and says that it needs a GPU.

A program saved this way is on the CPU: on the host that runs it, move
it with torch.export.passes.move_to_device_pass. Its record names no GPU
model and is marked as hardware compatible, so that the C++ runtime lets
TensorRT-RTX load it on any GPU since Ampere.

Left alone: with a GPU nothing changes. TensorRT proper needs a GPU to
build. Refitting and the engine cache, which refits, need one too: the
cache is not used, and TensorRT-RTX itself fails on most engines with
immutable_weights=False (a warning says so). The C++ runtime creates its
engines on their GPU, so there compile() still fails where there is
none, while dryrun=True and the serialized engine work. In multi-device
safe mode the Python runtime looks for the GPU that the record names and
will not find it.
"""

from __future__ import annotations

from ...commit import Commit, Fix, Kind
from ...edits import AddImport, Donor, Insert, NewFile, Rewrite

serialized_engine = Donor(__package__, "serialized_engine")

PACKAGE = "py/torch_tensorrt"
UTILS = f"{PACKAGE}/_utils.py"
DEVICE = f"{PACKAGE}/_Device.py"
DEFAULTS = f"{PACKAGE}/dynamo/_defaults.py"
DYNAMO_UTILS = f"{PACKAGE}/dynamo/utils.py"
COMPILER = f"{PACKAGE}/dynamo/_compiler.py"
CONVERSION = f"{PACKAGE}/dynamo/conversion/_conversion.py"
INTERPRETER = f"{PACKAGE}/dynamo/conversion/_TRTInterpreter.py"
SERIALIZED = f"{PACKAGE}/dynamo/runtime/_SerializedEngine.py"
LAYOUT = f"{PACKAGE}/dynamo/runtime/_serialized_engine_layout.py"
MODULE = f"{PACKAGE}/dynamo/runtime/_TorchTensorRTModule.py"
ENGINE = f"{PACKAGE}/dynamo/runtime/_TRTEngine.py"

IMPORT = "from torch_tensorrt.dynamo.runtime._SerializedEngine import "

_platforms = tuple(
    Insert(
        UTILS,
        within=platform,
        at="start",
        text="""
            if not torch.cuda.is_available():
                return False
        """,
    )
    for platform in ("is_tegra_platform", "is_orin", "is_thor")
)

# A target device stays what the user named; what PyTorch itself runs meanwhile runs on the CPU.
_devices = (
    Rewrite(
        DEVICE,
        within="Device._current_device",
        find="dev_id = torch.cuda.current_device()",
        put="dev_id = torch.cuda.current_device() if torch.cuda.is_available() else 0",
    ),
    Rewrite(
        DEVICE,
        within="Device._from",
        find="cls(gpu_id=torch.cuda.current_device())",
        put="cls._current_device()",
    ),
    Insert(
        DEVICE,
        within="Device.to",
        before="self.gpu_id != -1",
        text="""
            if not torch.cuda.is_available():
                return torch.device("cpu")
        """,
    ),
    Rewrite(
        DEFAULTS,
        within="default_device",
        find="Device(gpu_id=torch.cuda.current_device())",
        put="Device._current_device()",
    ),
    Rewrite(
        DYNAMO_UTILS,
        within="to_torch_device",
        find="torch.device(torch.cuda.current_device())",
        put="Device._current_device().to(torch.device)",
    ),
)

_memory_warnings = tuple(
    Rewrite(
        COMPILER,
        within=entry,
        find="""\
if offload_module_to_cpu:
    $$$OFFLOAD
else:
    remaining_memory, total_memory = torch.cuda.mem_get_info()
    $$$WARN""",
        put="""\
if offload_module_to_cpu:
    $$$OFFLOAD
elif torch.cuda.is_available():
    remaining_memory, total_memory = torch.cuda.mem_get_info()
    $$$WARN""",
    )
    for entry in ("cross_compile_for_windows", "compile", "convert_exported_program_to_serialized_trt_engine")
)

_building = (
    Rewrite(
        INTERPRETER,
        within="TRTInterpreter.run",
        find="cuda_engine = runtime.deserialize_cuda_engine(serialized_engine)",
        put="""
            cuda_engine = (
                runtime.deserialize_cuda_engine(serialized_engine)
                if torch.cuda.is_available()
                else SerializedEngine(serialized_engine)
            )
        """,
    ),
    AddImport(INTERPRETER, (IMPORT + "SerializedEngine",)),
    Insert(
        CONVERSION,
        within="interpret_module_to_result",
        at="start",
        text="""
            if not settings.immutable_weights and not torch.cuda.is_available():
                logger.warning(
                    "Refitting needs a GPU and this host has none: the engine cache will not be used, "
                    "and TensorRT-RTX may fail to build the engine unless immutable_weights=True"
                )
                engine_cache = None
        """,
    ),
)

_running = (
    NewFile(SERIALIZED, lambda: serialized_engine.text),
    AddImport(ENGINE, (IMPORT + "SerializedEngine", IMPORT + "fake_outputs")),
    Rewrite(
        ENGINE,
        within="TRTEngine._load_serialized_info",
        find="self._default_stream = torch.cuda.default_stream(self._target_device)",
        put="""
            self._default_stream = (
                torch.cuda.default_stream(self._target_device)
                if torch.cuda.is_available()
                else None
            )
        """,
    ),
    Insert(
        ENGINE,
        within="TRTEngine._setup_engine",
        before="self.runtime = trt.Runtime(TRT_LOGGER)",
        text="""
            if not torch.cuda.is_available():
                self.cuda_engine = SerializedEngine(self.serialized_engine, self.name)
                return

        """,
    ),
    Insert(
        ENGINE,
        within="TRTEngine.execute",
        at="start",
        text="""
            if isinstance(self.cuda_engine, SerializedEngine):
                raise RuntimeError(self.cuda_engine.needs_gpu("to run"))

        """,
    ),
    Insert(
        ENGINE,
        within="execute_engine_fake",
        at="start",
        text="""
            if isinstance(engine.cuda_engine, SerializedEngine):
                return fake_outputs(engine, input_tensors)

        """,
    ),
    Rewrite(
        LAYOUT,
        within="serialize_device_info",
        find="dev_info = torch.cuda.get_device_properties(device.gpu_id)",
        put="""
            dev_info = (
                torch.cuda.get_device_properties(device.gpu_id)
                if torch.cuda.is_available()
                else SimpleNamespace(major=0, minor=0, name="unknown")
            )
        """,
    ),
    AddImport(LAYOUT, ("from types import SimpleNamespace",)),
    Insert(
        MODULE,
        within="TorchTensorRTModule.__init__",
        after="self.hardware_compatible = settings.hardware_compatible",
        text="""
            if not torch.cuda.is_available():
                # Built for no GPU in particular, so the C++ runtime may load it on any
                self.hardware_compatible = True
        """,
    ),
    Rewrite(
        MODULE,
        within="TorchTensorRTModule.forward",
        find="not i.is_cuda",
        put="not i.is_cuda and torch.cuda.is_available()",
    ),
    Rewrite(
        MODULE,
        within="TorchTensorRTModule.forward",
        find="input_tensors.append(torch.tensor(i).cuda())",
        put="""
            i = torch.tensor(i)
            input_tensors.append(i.cuda() if torch.cuda.is_available() else i)
        """,
        done="input_tensors.append(i.cuda() if torch.cuda.is_available() else i)",
    ),
)

FIX = Fix(
    kind=Kind.EXTRA,
    slug="no-gpu",
    doc=__doc__,
    symptom='loud: `import torch_tensorrt` raises "Found no NVIDIA driver on your system"',
    risk="none with a GPU: every change is behind torch.cuda.is_available()",
    commits=(
        Commit(
            subject="feat(dynamo): import and build engines on a host without a GPU",
            edits=(*_platforms, *_devices, *_memory_warnings, *_building, *_running),
            tests=("tests/py/dynamo/runtime/test_no_gpu.py",),
        ),
    ),
)
