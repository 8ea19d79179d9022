"""What the evaluator raises and warns of; importable where torch_tensorrt is not."""

from __future__ import annotations


class EvaluationError(RuntimeError):
    """The network, or the values given to it, are not something that TensorRT would run."""


class UnsupportedLayer(EvaluationError):
    """The network has layers that the evaluator does not implement; nothing was run."""


class NotBuilt(UserWarning):
    """TensorRT-RTX cannot build the network, so it is evaluated only. Standard TensorRT builds it."""
