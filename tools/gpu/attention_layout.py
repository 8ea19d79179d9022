"""Fix 3 on a GPU: decomposed attention after each fused kernel, on stock and fixed.

Each kernel is forced while a program is exported and while PyTorch runs it; the program is then lowered with its
attention decomposed and run on the GPU. A cell tells for how many consumers of the attention output values, shapes and
strides are eager's, and what went wrong with the others. Needs a GPU, torch and torch_tensorrt; fixed comes from
--fixed, a tree with the fix landed, or else through the importer. Exits with 1 where fixed is not eager's throughout.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BATCH, LENGTH, HEADS, SIZE = 2, 48, 4, 64
WIDTH = HEADS * SIZE
KERNELS = ("flash", "efficient", "cudnn", "math")
QUERIES = ("transposed", "plain")
MASKS = ("none", "causal", "mask")

Results = dict[str, dict[str, str]]
"""Kernel, queries and mask in words -> consumer -> "right" or what went wrong."""


def results() -> Results:
    """Run all cases in this process."""
    return {
        f"{kernel}, {queries} q k v, {mask}": run_cases(kernel, queries, mask)
        for kernel in KERNELS
        for queries in QUERIES
        for mask in MASKS
        if not (kernel == "flash" and mask == "mask")  # flash attention takes no mask
    }


def consumers() -> dict[str, Callable[[Any], Any]]:
    """What programs do with an attention output (n, h, l, e)."""

    def merged(x: Any) -> Any:
        return x.transpose(1, 2).contiguous().view(BATCH, LENGTH, WIDTH)

    def updated_through_view(x: Any) -> Any:
        x.transpose(1, 2)[:, 0].mul_(3)
        return x, merged(x)

    return {
        "view": merged,
        "view after pointwise": lambda x: merged((x * 2).tanh()),
        "view after clone": lambda x: merged(x.clone()),
        "squeeze and view": lambda x: x[:1].squeeze(0).transpose(0, 1).contiguous().view(LENGTH, WIDTH),
        "add_": lambda x: merged(x.add_(1)),
        "update through a view": updated_through_view,
        "as_strided": lambda x: x.as_strided((BATCH, LENGTH, WIDTH), (LENGTH * WIDTH, WIDTH, 1)),
        "returned": lambda x: x,
    }


def run_cases(kernel: str, queries: str, mask: str) -> dict[str, str]:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backends = {
        "flash": SDPBackend.FLASH_ATTENTION,
        "efficient": SDPBackend.EFFICIENT_ATTENTION,
        "cudnn": SDPBackend.CUDNN_ATTENTION,
        "math": SDPBackend.MATH,
    }
    torch.manual_seed(0)
    args = tuple(torch.randn(BATCH, LENGTH, HEADS, SIZE, device="cuda", dtype=torch.float16) for _ in range(3))
    bias = torch.randn(LENGTH, LENGTH, device="cuda", dtype=torch.float16)

    class Program(torch.nn.Module):
        def __init__(self, consume: Callable[[Any], Any]) -> None:
            super().__init__()
            self.consume = consume

        def forward(self, *qkv: torch.Tensor) -> Any:
            q, k, v = (x.transpose(1, 2) for x in qkv)
            if queries == "plain":
                q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
            return self.consume(
                torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, bias if mask == "mask" else None, is_causal=mask == "causal"
                )
            )

    found = {}
    for name, consume in consumers().items():
        program = Program(consume)
        try:
            with torch.no_grad(), sdpa_kernel(backends[kernel]):
                wanted = program(*args)
                exported = torch.export.export(program, args)
        except RuntimeError as error:
            found[name] = f"PyTorch itself: {_line(error)}"
            continue
        try:
            with torch.no_grad():
                got = lowered(exported).module()(*args)
        except Exception as error:  # what a user of compile() sees
            found[name] = _line(error)
        else:
            found[name] = compared(got, wanted)
    return found


def lowered(program: Any) -> Any:
    from torch_tensorrt.dynamo._settings import CompilationSettings
    from torch_tensorrt.dynamo.lowering import get_decompositions, pre_export_lowering

    program = pre_export_lowering(program, CompilationSettings(decompose_attention=True))
    return program.run_decompositions(get_decompositions(decompose_attention=True))


def compared(got: Any, wanted: Any) -> str:
    import torch
    from torch.utils._pytree import tree_leaves

    for one, other in zip(tree_leaves(got), tree_leaves(wanted), strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"{tuple(one.shape)} {one.dtype} for {tuple(other.shape)} {other.dtype}"
        if not torch.allclose(one, other, atol=1e-2, rtol=1e-2):
            return "wrong values"
        if one.stride() != other.stride():
            return f"strides {one.stride()} for {other.stride()}"
    return "right"


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def in_a_process(tree: str, fixed: Path | None) -> Results:
    """The results of a fresh Python that imports the stock or the fixed torch_tensorrt."""
    paths = [str(ROOT / "py"), os.environ.get("PYTHONPATH", "")]
    if tree == "fixed" and fixed:
        paths.insert(0, str(fixed.resolve()))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "TORCH_TENSORRT_FIXES": "off"}
    command = [sys.executable, __file__, "--results", "landed" if fixed or tree == "stock" else "importer"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: Results = json.loads(done.stdout.splitlines()[-1])
    return found


def cell(found: dict[str, str]) -> str:
    """``5 of 8``, and what went wrong, how often."""
    right = sum(what == "right" for what in found.values())
    wrong = Counter(what for what in found.values() if what != "right")
    return "; ".join([f"{right} of {len(found)}", *(f"{n} x {what}" for what, n in wrong.items())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", type=Path, help="a folder with a torch_tensorrt in which the fix is landed")
    parser.add_argument("--results", choices=("landed", "importer"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.results:
        if arguments.results == "importer":
            import torch_tensorrt_fixes

            torch_tensorrt_fixes.install("attention-layout")
        print(json.dumps(results()))
        return
    stock, fixed = (in_a_process(tree, arguments.fixed) for tree in ("stock", "fixed"))
    for case in stock:
        print(f"{case}\n    stock  {cell(stock[case])}\n    fixed  {cell(fixed[case])}")
    wrong = [what for found in fixed.values() for what in found.values() if not what.startswith(("right", "PyTorch"))]
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
