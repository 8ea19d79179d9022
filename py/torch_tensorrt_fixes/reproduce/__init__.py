"""One small program a fix: the bug on real input, and that it is gone.

    torchtrt-fixes run --only no-gpu -m torch_tensorrt_fixes.reproduce slice-bounds     stock
    torchtrt-fixes run -m torch_tensorrt_fixes.reproduce slice-bounds                   fixed

Each is a module here, named as its fix, with a function ``reproduce() -> Finding``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What came out: ``wanted`` is what PyTorch gives (or what can be expected), ``got`` what the package gave.

    ``seconds`` are the processor's, spent in what the fix is about.
    """

    what: str
    wanted: str
    got: str
    well: bool
    seconds: float
