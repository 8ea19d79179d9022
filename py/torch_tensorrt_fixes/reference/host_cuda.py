"""What stands in for torch.cuda where the runtime's engines run on the host."""

from __future__ import annotations

import contextlib
from typing import Any

import torch


class HostStream:
    """A torch.cuda.Stream on which everything is done as soon as it is asked for."""

    cuda_stream = 0

    def __init__(self, device: Any = None) -> None: ...

    def wait_stream(self, stream: HostStream) -> None: ...

    def synchronize(self) -> None: ...


_DEFAULT_STREAM = HostStream()


class HostCuda:
    """The part of torch.cuda that is about tensors and streams; tensors are made in host memory."""

    Stream = HostStream

    def is_available(self) -> bool:
        return True

    def current_device(self) -> torch.device:
        return torch.device("cpu")

    def default_stream(self, device: Any = None) -> HostStream:
        return _DEFAULT_STREAM

    def current_stream(self, device: Any = None) -> HostStream:
        return _DEFAULT_STREAM

    def stream(self, stream: HostStream) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def synchronize(self, device: Any = None) -> None: ...

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the reference runtime evaluates engines on the host: it has no torch.cuda.{name}")


class Replaced:
    """A module, but for the attributes that are given."""

    def __init__(self, module: Any, **attributes: Any) -> None:
        self._module = module
        vars(self).update(attributes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)
