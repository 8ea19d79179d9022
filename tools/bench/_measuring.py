"""What the benchmarks share: a process a version of torch_tensorrt, growth exponents, lists of sizes as options."""

from __future__ import annotations

import math
import multiprocessing
import statistics
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor

import click

import torch_tensorrt_fixes


def process_with(fixes: str, warm_up: Callable[[], object] | None = None) -> ProcessPoolExecutor:
    """A process that imports torch_tensorrt with these fixes on: one process can hold one version of it.

    ``warm_up``, a function of a module, is called there before anything is measured.
    """
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_prepare, initargs=(fixes, warm_up))


def _prepare(fixes: str, warm_up: Callable[[], object] | None) -> None:
    torch_tensorrt_fixes.install(fixes, strict=True)
    if warm_up:
        warm_up()


def growth(values: Mapping[int, float]) -> float:
    """The exponent by which values grow with the size that they belong to, from two sizes or more."""
    return statistics.linear_regression(list(map(math.log, values)), list(map(math.log, values.values()))).slope


class Numbers(click.ParamType[list[int]]):
    """Whole numbers with commas, in order, each once; none is less than ``least``."""

    name = "numbers"

    def __init__(self, least: int) -> None:
        self.least = least

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        try:
            numbers = sorted({int(number) for number in value.split(",")})
        except ValueError:
            self.fail(f"{value!r} is no list of whole numbers like 256,1024", param, ctx)
        if numbers[0] < self.least:
            self.fail(f"{numbers[0]} is too small; numbers start at {self.least}", param, ctx)
        return numbers
