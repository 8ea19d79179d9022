"""A pytest plugin: upstream's converter tests on a host without a GPU.

What the tests ask of CUDA is answered on the CPU, engines are evaluated, and networks are those for standard TensorRT.
Each case's end is written as a line of JSON to the file that UPSTREAM_TESTS_LOG names. A line with nothing but the case
says that it has begun, so that one in which the process ends can be told.
"""

from __future__ import annotations

import contextlib
import json
import os
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch_tensorrt.dynamo.runtime import _TRTEngine as python_runtime

from torch_tensorrt_fixes.reference import end_to_end
from torch_tensorrt_fixes.reference.conversion import standard_tensorrt
from torch_tensorrt_fixes.reference.errors import NotBuilt
from torch_tensorrt_fixes.reference.host_cuda import HostCuda

tensorrt = python_runtime.trt
LONGEST_REASON = 2000


# --- the host ---


def on_the_cpu(value: Any) -> Any:
    """The CPU where ``value`` names a CUDA device, ``value`` otherwise."""
    if isinstance(value, str) and value.startswith("cuda") or isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    return value


class CudaOnTheCpu(TorchFunctionMode):
    """Tensors asked for on a CUDA device are made on the CPU, or stay there."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        kwargs = {name: on_the_cpu(value) for name, value in (kwargs or {}).items()}
        return func(*map(on_the_cpu, args), **kwargs)


class Event:
    """torch.cuda.Event, for times that nobody measures."""

    def __init__(self, **_: Any) -> None: ...

    def record(self) -> None: ...

    def elapsed_time(self, _: Event) -> float:
        return 0.0


def efficient_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: torch.Tensor | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """CUDA's kernel, which PyTorch has on no CPU; only the first output is anyone's concern."""
    output = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, bias, dropout_p, is_causal, scale=scale
    )
    return output, query.new_empty(0), query.new_empty(0), query.new_empty(0)


KERNELS = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
KERNELS.impl("_scaled_dot_product_efficient_attention", efficient_attention, "CPU")  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def cuda_on_the_cpu(**more: Any) -> Iterator[None]:
    """Inside, code written for CUDA finds its tensors on the CPU; ``more`` replaces further names of torch.cuda."""
    streams = {name: getattr(HostCuda(), name) for name in ("Stream", "stream", "synchronize")}
    with mock.patch.multiple(torch.cuda, Event=Event, **streams, **more), CudaOnTheCpu():
        yield


def a_gpu() -> dict[str, Callable[..., Any]]:
    """What decorators of test classes ask of torch.cuda: while files are imported only, for torch_tensorrt asks too."""
    return {
        "is_available": lambda: True,
        "current_device": lambda: 0,
        "get_device_properties": lambda *_: SimpleNamespace(major=8, minor=6, name="CPU"),
    }


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    with standard_tensorrt(), cuda_on_the_cpu(**a_gpu()):
        return (yield)


@contextlib.contextmanager
def evaluated_engines() -> Iterator[None]:
    """Inside, engines are evaluated, also those that a test deserializes by itself."""
    with end_to_end.runtime(), mock.patch.object(tensorrt, "Runtime", python_runtime.trt.Runtime):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, Any, Any]:
    with standard_tensorrt(), evaluated_engines(), cuda_on_the_cpu():
        return (yield)


# --- the log ---


def log(**entry: Any) -> None:
    with open(os.environ["UPSTREAM_TESTS_LOG"], "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    log(case=nodeid)


def pytest_warning_recorded(warning_message: warnings.WarningMessage, nodeid: str) -> None:
    if issubclass(warning_message.category, NotBuilt):
        log(case=nodeid, not_built=str(warning_message.message)[:LONGEST_REASON])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if report.failed:
        log(case=item.nodeid, outcome="failed", reason=described(call.excinfo), seconds=report.duration)
    elif report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        log(case=item.nodeid, outcome="skipped", reason=reason)
    elif report.when == "call":
        log(case=item.nodeid, outcome="passed", seconds=report.duration)
    return report


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        log(case=report.nodeid, outcome="failed", reason=str(report.longrepr)[-LONGEST_REASON:])


def described(excinfo: Any) -> str:
    """The errors from the one raised back to the first cause, each with the place that raised it."""
    lines = []
    error: BaseException | None = excinfo.value
    while error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({os.path.basename(frames[-1].filename)}, {frames[-1].name})" if frames else ""
        lines.append(f"{type(error).__name__}: {str(error)[:LONGEST_REASON]}{place}")
        error = error.__cause__ or error.__context__
    return "\n".join(lines)
