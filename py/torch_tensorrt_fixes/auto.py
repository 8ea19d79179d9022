"""``import torch_tensorrt_fixes.auto`` installs the fixes that TORCH_TENSORRT_FIXES chooses, by default all.

It costs next to nothing until torch_tensorrt is imported. A call of :func:`torch_tensorrt_fixes.install` has the last
word, whether it comes before or after. Raises AlreadyImported where torch_tensorrt is imported already.
"""

from __future__ import annotations

from .importer import install_lazily

install_lazily()
