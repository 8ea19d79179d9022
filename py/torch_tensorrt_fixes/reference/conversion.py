"""What torch_tensorrt converts, built and evaluated on a host without a GPU.

Converter tests stand on this: networks are converted as for standard TensorRT, the builder that is there builds them or
says what it lacks, and the evaluator takes tensors and gives tensors.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch
import torch_tensorrt
from torch_tensorrt import _features
from torch_tensorrt.dynamo.conversion import TRTInterpreter, aten_ops_converters
from torch_tensorrt.logging import TRT_LOGGER

from ._trt import trt
from .errors import NotBuilt
from .evaluator import Evaluator
from .tensors import to_numpy, to_torch

_SEED = 3
"""Of random layers: an engine's values follow no seed, so a test looks at nothing but shapes and dtypes there."""


# --- conversion and building ---


@contextlib.contextmanager
def standard_tensorrt() -> Iterator[None]:
    """Inside, converters and their validators take TensorRT-RTX for standard TensorRT.

    They leave in PyTorch what TensorRT-RTX has no kernels for, boolean indices above all. It does have the layers,
    though, so the networks come out as standard TensorRT's. The interpreter's own branches stay as they are: they suit
    the builder that is there. This is the one place that knows who asks, and by which names.
    """
    features = torch_tensorrt.ENABLED_FEATURES._replace(tensorrt_rtx=False)
    answers = {"ENABLED_FEATURES": features, "is_tensorrt_rtx_version_supported": lambda version: True}
    with contextlib.ExitStack() as patches:
        for module in (torch_tensorrt, _features, aten_ops_converters):
            for name in answers.keys() & vars(module).keys():
                patches.enter_context(mock.patch.object(module, name, answers[name]))
        yield


class BuildRefused(RuntimeError):
    """TensorRT's builder does not build the network, and standard TensorRT's would not either as far as is known."""


_LIMITS_OF_RTX = (
    "has no runners that implement it",
    "currently not supported",
    "CPU-only AoT does not support",
    "CHECK(status == CUDA_SUCCESS)",
)
"""How TensorRT-RTX says that it lacks a layer, lacks it with these attributes, or needs a GPU to build it."""


class _ErrorRecorder(trt.IErrorRecorder):  # type: ignore[misc]
    """Collects what the builder says, which otherwise only goes to its log."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[tuple[Any, str]] = []

    def clear(self) -> None:
        self.errors.clear()

    def num_errors(self) -> int:
        return len(self.errors)

    def get_error_code(self, index: int) -> Any:
        return self.errors[index][0]

    def get_error_desc(self, index: int) -> str:
        return self.errors[index][1]

    def has_overflowed(self) -> bool:
        return False

    def report_error(self, code: Any, description: str) -> None:
        self.errors.append((code, description))


def build(builder: Any, network: Any, config: Any) -> bytes | None:
    """The serialized engine, or None and a NotBuilt warning where TensorRT-RTX cannot build what TensorRT builds.

    Raises:
        BuildRefused: with the builder's own words.
    """
    builder.error_recorder = recorder = _ErrorRecorder()
    engine = builder.build_serialized_network(network, config)
    builder.error_recorder = None
    if engine is not None:
        return bytes(engine)
    said = "\n".join(description for _, description in recorder.errors)
    if trt.__name__ == "tensorrt_rtx" and any(words in said for words in _LIMITS_OF_RTX):
        warnings.warn(f"evaluated only: {said}", NotBuilt, stacklevel=2)
        return None
    raise BuildRefused(f"TensorRT {trt.__version__} does not build the network:\n{said}")


# --- running ---


@dataclass
class Evaluation:
    """A network as converted by torch_tensorrt, called with tensors in the order of ``input_names``."""

    network: Any
    input_names: Sequence[str]
    output_names: Sequence[str]
    weights: Sequence[Any] = ()
    """What the network's constants point to: torch_tensorrt lets go of it once the engine is built."""
    evaluator: Evaluator = field(init=False)

    def __post_init__(self) -> None:
        self.evaluator = Evaluator(self.network)

    @classmethod
    def of(cls, interpreter: TRTInterpreter) -> Evaluation:
        """The network that ``interpreter`` has just constructed."""
        weights = tuple(interpreter.ctx.cpu_weights_reference_holder)
        return cls(interpreter.ctx.net, interpreter._input_names, interpreter._output_names, weights)

    def __call__(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        arrays = {name: to_numpy(tensor) for name, tensor in zip(self.input_names, inputs, strict=True)}
        for declared in map(self.network.get_input, range(self.network.num_inputs)):
            if declared.is_shape_tensor:
                # An engine reads these at their address, whatever their shape
                arrays[declared.name] = arrays[declared.name].reshape(tuple(declared.shape))
        values = self.evaluator.run(arrays, seed=_SEED)
        return [to_torch(values[name]) for name in self.output_names]


@functools.cache
def engines_run_here() -> bool:
    """Whether this host has a GPU that the installed TensorRT runs engines on (TensorRT-RTX leaves some out)."""
    if not torch.cuda.is_available():
        return False
    builder = trt.Builder(TRT_LOGGER)
    network = builder.create_network()
    network.mark_output(network.add_identity(network.add_input("x", trt.float32, (1,))).get_output(0))
    engine = build(builder, network, builder.create_builder_config())
    return trt.Runtime(TRT_LOGGER).deserialize_cuda_engine(engine) is not None
