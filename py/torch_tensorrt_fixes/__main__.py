"""``python -m torch_tensorrt_fixes``: the command torchtrt-fixes."""

from .cli import main

main(prog_name="torchtrt-fixes")
