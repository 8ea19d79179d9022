"""torch_tensorrt from end to end on a host without a GPU: what it compiles is evaluated where engines would run."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import uuid
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
import torch_tensorrt
from torch_tensorrt.dynamo.conversion import TRTInterpreter
from torch_tensorrt.dynamo.runtime import _TRTEngine as python_runtime

from .conversion import build
from .engine import EvaluatedEngine
from .host_cuda import HostCuda, Replaced

_LOGGER = logging.getLogger(__name__)


@contextlib.contextmanager
def runtime() -> Iterator[None]:
    """Inside, what torch_tensorrt compiles runs on a host without a GPU.

    `torch_tensorrt.dynamo.compile`, `torch_tensorrt.compile(ir="dynamo")` and `torch.compile(backend="tensorrt")` do
    all that they do otherwise, and TensorRT-RTX builds the engines. torch_tensorrt's own Python runtime runs them,
    with host memory in its bindings; only, behind each engine stands the evaluator of the network that it was built
    from. A module is compiled and run inside the same block, and so are those saved and loaded. With
    `standard_tensorrt()` around it, networks also have the layers that TensorRT-RTX lacks (NonZero): these are
    evaluated without being built.

    It takes a torch_tensorrt that can be imported and builds without a GPU (the extra no-gpu). CUDA graphs stay off.
    That all this is slow is logged once, as a warning.

    EvaluationError, naming the layer and its torch target, for what TensorRT would not run. RuntimeError on a host with
    a GPU, and where torch_tensorrt has its C++ runtime.
    """
    _refuse_other_hosts()
    _warn_once()
    engines = _Engines()
    run = TRTInterpreter.run

    def run_and_keep(interpreter: Any, *args: Any, **kwargs: Any) -> Any:
        interpreter.builder = _Builder(interpreter, engines)
        return run(interpreter, *args, **kwargs)

    # Whatever the module that drives engines asks of CUDA is answered for host memory, and only it is told that there
    # is a GPU: the rest of torch and torch_tensorrt sees the host as it is.
    host_torch = Replaced(torch, cuda=HostCuda())
    host_trt = Replaced(python_runtime.trt, Runtime=lambda logger: engines)
    with (
        mock.patch.object(TRTInterpreter, "run", run_and_keep),
        mock.patch.multiple(python_runtime, torch=host_torch, trt=host_trt),
    ):
        yield


@functools.cache
def _warn_once() -> None:
    # Not by warnings.warn(): torch_tensorrt hands those to a log that nobody sees.
    _LOGGER.warning("the reference runtime evaluates engines with NumPy: it shows what they compute, not how fast")


def _refuse_other_hosts() -> None:
    if torch.cuda.is_available():
        raise RuntimeError(
            "the reference runtime is for hosts without a GPU and this one has one: compile as usual, or set"
            " CUDA_VISIBLE_DEVICES to an empty string before Python starts"
        )
    if torch_tensorrt.ENABLED_FEATURES.torch_tensorrt_runtime:
        raise RuntimeError(
            "the reference runtime stands under torch_tensorrt's Python runtime, but this torch_tensorrt has its C++"
            " runtime: install one without (built with PYTHON_ONLY=1)"
        )


class _Engines:
    """The engines built in a block, by their bytes; also the `trt.Runtime` that finds them."""

    def __init__(self) -> None:
        self._engines: dict[bytes, EvaluatedEngine] = {}

    def keep(self, serialized: bytes, interpreter: Any) -> None:
        self._engines[_key(serialized)] = EvaluatedEngine(
            interpreter.ctx.net,
            serialized,
            tuple(interpreter.optimization_profiles or ()),
            tuple(interpreter.ctx.cpu_weights_reference_holder),
        )

    def deserialize_cuda_engine(self, serialized: Any) -> EvaluatedEngine:
        engine = self._engines.get(_key(bytes(serialized)))
        if engine is None:
            raise RuntimeError(
                "this engine was not built in this block of the reference runtime, so its network is not known: compile"
                " and load inside the same block"
            )
        return engine


def _key(serialized: bytes) -> bytes:
    return hashlib.sha256(serialized).digest()


class _Builder:
    """An interpreter's `trt.Builder` that keeps what it builds and takes what TensorRT-RTX has no layer for."""

    def __init__(self, interpreter: Any, engines: _Engines) -> None:
        self._interpreter = interpreter
        self._builder = interpreter.builder
        self._engines = engines

    def __getattr__(self, name: str) -> Any:
        return getattr(self._builder, name)

    def build_serialized_network(self, network: Any, config: Any) -> bytes:
        serialized = build(self._builder, network, config) or b"not built " + uuid.uuid4().bytes
        self._engines.keep(serialized, self._interpreter)
        return serialized
