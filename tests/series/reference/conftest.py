"""A fixed torch_tensorrt that can be imported without a GPU, for the tests that use it."""

from __future__ import annotations

import torch_tensorrt_fixes

torch_tensorrt_fixes.install("all")
