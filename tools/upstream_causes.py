"""Why a case of upstream's tests does not pass: one table of rules, tried from the top."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """Recognised where ``words``, a regular expression, is in the case's reason.

    ``absent``: the host lacks what the case is about.
    """

    name: str
    words: str
    absent: bool = False


CAUSES = (
    Cause("needs a TensorRT plugin", r"plugin", absent=True),
    Cause("needs the C++ runtime", r"torch\.classes\.tensorrt|libtorchtrt", absent=True),
    Cause("needs the quantization library", r"modelopt", absent=True),
    Cause("needs a GPU", r"needs a GPU|NVIDIA driver|CUDA error", absent=True),
    Cause("skipped by upstream on every host", r"^Skipped: ", absent=True),
    Cause("TensorRT-RTX builder refuses", r"BuildRefused"),
    Cause("evaluator lacks a layer", r"UnsupportedLayer"),
    Cause("evaluator refuses as TensorRT would", r"EvaluationError"),
    Cause("converter raises", r"\((?:_TRTInterpreter|.*ops_converters|converter_utils|ops|base|elementwise)\.py"),
    Cause("values differ", r"AssertionError.*Tensor-likes are not"),
    Cause("process ended or ran out of time", r"^Ended: "),
)

OTHER = Cause("other", "")


def cause_of(reason: str) -> Cause:
    return next((cause for cause in CAUSES if re.search(cause.words, reason)), OTHER)
