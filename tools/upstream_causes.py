"""Why a case of upstream's tests does not pass: one table of rules, tried from the top."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """``words`` is a regular expression for what is said of the case: its file, its name and the reason.

    ``absent``: the host lacks what the case is about.
    """

    name: str
    words: str
    absent: bool = False


CAUSES = (
    Cause("process ended or ran out of time", r": Ended: "),
    Cause("skipped by upstream wherever TensorRT is", r": Skipped: (skip torch|Pending|index_nonbool)", absent=True),
    # what a host without a GPU, TensorRT's plugins, the C++ runtime and modelopt cannot do
    Cause("needs a TensorRT plugin: index_put that adds", r"index_put not currently supported.*, True\)", absent=True),
    Cause("needs a TensorRT plugin", r"plugin", absent=True),
    Cause("needs the C++ runtime", r"torch\.classes\.tensorrt|libtorchtrt", absent=True),
    Cause("needs the quantization library", r"modelopt", absent=True),
    Cause("needs a GPU", r"needs a GPU|NVIDIA driver|CUDA error", absent=True),
    Cause("PyTorch has the kernel on CUDA alone", r"not supported on CPU|from the 'CPU' backend", absent=True),
    Cause("PyTorch's CPU kernel gives the last bag another end than CUDA's", r"embedding_bag.*not close", absent=True),
    # what the fixes mend
    Cause("stock gives one output twice (output-tensors mends it)", r"number of outputs"),
    # what else may be wrong, and where
    Cause("TensorRT's builder refuses the network", r"BuildRefused"),
    Cause("the evaluator lacks a layer", r"UnsupportedLayer"),
    Cause("the network asks what TensorRT would refuse", r"EvaluationError"),
    Cause("the converter raises", r"While executing|UnsupportedOperatorException"),
    Cause("values, dtypes or shapes differ", r"AssertionError"),
)

OTHER = Cause("other", "")


def cause_of(said: str) -> Cause:
    return next((cause for cause in CAUSES if re.search(cause.words, said, re.DOTALL)), OTHER)
