"""What the evaluator raises."""

from __future__ import annotations


class EvaluationError(RuntimeError):
    """The network, or the values given to it, are not something that TensorRT would run."""


class UnsupportedLayer(EvaluationError):
    """The network has layers that the evaluator does not implement; nothing was run."""
