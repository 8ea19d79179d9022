"""What stands in for the settings of a GPU's kernels, which change no value."""

from __future__ import annotations

from typing import Any


class RuntimeConfig:
    """The part of TensorRT-RTX's `trt.IRuntimeConfig` that torch_tensorrt sets."""

    dynamic_shapes_kernel_specialization_strategy: Any = None
    cuda_graph_strategy: Any = None

    def set_execution_context_allocation_strategy(self, strategy: Any) -> None:
        """There is no device memory to allocate."""

    def set_runtime_cache(self, cache: RuntimeCache) -> None:
        """There are no kernels to cache."""

    def create_runtime_cache(self) -> RuntimeCache:
        return RuntimeCache()


class RuntimeCache:
    """A `trt.IRuntimeCache` that gives back what it was given.

    torch_tensorrt saves what a cache gives, by default to one file for all engines of a user.
    """

    def __init__(self) -> None:
        self._kernels = b""

    def deserialize(self, kernels: bytes) -> bool:
        self._kernels = bytes(kernels)
        return True

    def serialize(self) -> memoryview:
        return memoryview(self._kernels)
