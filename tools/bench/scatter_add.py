"""What an integer scatter_add costs, stock and with fix 9 (integer-scatter-add).

    python tools/bench/scatter_add.py
    python tools/bench/scatter_add.py --updates 64,256,1024,4096 --stock-limit 4096

`table` adds n rows to 256 rows of 8, and `router` counts which of 64 experts each of 8,192 tokens goes to, both by an
index that is known at run time; `constant` adds 128 rows to 4,096 rows of 64 by an index that is a constant.
Nodes and constants are those of the lowered graph. Both sides of a row are measured in the same run, each in a process
of its own that imports the installed torch_tensorrt; seconds are of CPU time, and building needs no GPU.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import click
import torch
from rich.console import Console
from rich.table import Table

from _measuring import Numbers, process_with


class ScatterAdd(torch.nn.Module):
    """A scatter_add along the first dimension, by an index that is given here or is its last input."""

    index: torch.Tensor | None

    def __init__(self, index: torch.Tensor | None = None) -> None:
        super().__init__()
        self.register_buffer("index", index)

    def forward(self, x: torch.Tensor, src: torch.Tensor, index: torch.Tensor | None = None) -> torch.Tensor:
        index = self.index if index is None else index
        assert index is not None
        return torch.scatter_add(x, 0, index, src)


def table(n: int) -> tuple[ScatterAdd, tuple[torch.Tensor, ...]]:
    return ScatterAdd(), (_zeros(256, 8), torch.randint(-99, 99, (n, 8)), torch.randint(0, 256, (n, 8)))


def router(n: int) -> tuple[ScatterAdd, tuple[torch.Tensor, ...]]:
    return ScatterAdd(), (_zeros(64), torch.ones(n, dtype=torch.int64), torch.randint(0, 64, (n,)))


def constant(n: int) -> tuple[ScatterAdd, tuple[torch.Tensor, ...]]:
    return ScatterAdd(torch.randint(0, 4096, (n, 64))), (_zeros(4096, 64), torch.randint(-99, 99, (n, 64)))


def _zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.int64)


CASES: dict[str, Callable[[int], tuple[ScatterAdd, tuple[torch.Tensor, ...]]]] = {
    "table": table,
    "router": router,
    "constant": constant,
}


# --- measuring ---


class Cost(NamedTuple):
    nodes: int
    constants: int
    """Bytes."""
    lower: float
    build: float
    engine: int
    """Bytes."""

    @property
    def seconds(self) -> float:
        return self.lower + self.build


def measure(case: str, n: int) -> Cost:
    """Lower and build with the torch_tensorrt that this process imports."""
    from torch_tensorrt.dynamo._settings import CompilationSettings
    from torch_tensorrt.dynamo.conversion import DYNAMO_CONVERTERS
    from torch_tensorrt.dynamo.conversion._conversion import interpret_module_to_result
    from torch_tensorrt.dynamo.lowering import get_decompositions, post_lowering, pre_export_lowering
    from torch_tensorrt.dynamo.utils import prepare_inputs

    settings = CompilationSettings(min_block_size=1)
    DYNAMO_CONVERTERS.set_compilation_settings(settings)
    module, inputs = CASES[case](n)
    program = torch.export.export(module, inputs)
    began = time.process_time()
    program = pre_export_lowering(program, settings).run_decompositions(get_decompositions())
    graph: Any = post_lowering(program.module(), settings)
    lowered = time.process_time()
    nodes = len(graph.graph.nodes)
    constants = sum(p.numel() * p.element_size() for p in graph.parameters())
    result = interpret_module_to_result(graph, prepare_inputs(list(inputs)), settings)
    built = time.process_time()
    return Cost(
        nodes=nodes,
        constants=constants,
        lower=lowered - began,
        build=built - lowered,
        engine=len(result.serialized_engine),
    )


def warm_up() -> None:
    """Import torch_tensorrt and run all code once."""
    logging.disable(logging.WARNING)
    measure("table", 2)


# --- showing ---


def shown(cost: Cost) -> list[str]:
    megabytes = f"{cost.constants / 1e6:,.2f}"
    return [f"{cost.nodes:,}", megabytes, f"{cost.lower:.2f}", f"{cost.build:.2f}", f"{cost.engine / 1e6:,.2f}"]


@click.command(help=__doc__, context_settings={"max_content_width": 120})
@click.option("--updates", type=Numbers(least=1), default="64,256,1024", show_default=True, help="The n of `table`.")
@click.option("--stock-limit", default=1024, show_default=True, help="Updates beyond which stock is not run.")
def main(updates: list[int], stock_limit: int) -> None:
    rows = [*(("table", n) for n in updates), ("constant", 128), ("router", 8192)]
    view = Table("case", "n", "", "nodes", "constants, MB", "lower, s", "build, s", "engine, MB", "stock/fixed, s")
    for column in view.columns[1:]:
        column.justify = "right"
    with (
        process_with("no-gpu", warm_up) as stock,
        process_with("no-gpu,integer-scatter-add", warm_up) as fixed,
        Console(stderr=True).status("") as status,
    ):
        for case, n in rows:
            status.update(f"{case}, {n:,} updates")
            ours = fixed.submit(measure, case, n).result()
            ratio = "-"
            if n <= stock_limit:
                theirs = stock.submit(measure, case, n).result()
                ratio = f"{theirs.seconds / ours.seconds:,.1f}"
                view.add_row(case, f"{n:,}", "stock", *shown(theirs), "")
            view.add_row(case, f"{n:,}", "fixed", *shown(ours), ratio, end_section=True)
    Console(width=120).print(view)


if __name__ == "__main__":
    main()
