"""The time that the fast partitioner takes as graphs grow, stock and with fix 2 (partition-speed) and linear-partition.

    python tools/bench/partition.py
    python tools/bench/partition.py --shape alternating --sizes 5000,20000 --limit 60

The first tables are put_nodes_into_subgraphs alone, the base class's against ours; they need nothing but torch. The
others are the whole of fast_partition(), each side in a process of its own that imports the installed torch_tensorrt.
The blocks of `alternating` are of one node, and each is a GraphModule, a class of its own: that is where its time goes.

Both sides of a row are measured in the same run, in seconds of CPU time. `growth` is the slope of the least-squares
line of log(seconds) over log(nodes): 1 is linear, 2 quadratic.
"""

from __future__ import annotations

import gc
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import click
import torch
from rich.console import Console
from rich.table import Table
from torch.fx.passes.splitter_base import _SplitterBase

from _measuring import Numbers, growth, process_with
from torch_tensorrt_fixes.fixes.partition_speed.adjacency_partitioner import AdjacencyPartitioner

SUPPORTED = torch.ops.aten.relu.default
UNSUPPORTED = torch.ops.aten.neg.default

Measure = Callable[[str, int], float]
"""Seconds for a shape and a number of nodes."""


# --- graphs ---


class GraphBuilder:
    """Builds a graph of unary operators on one input."""

    def __init__(self) -> None:
        self.graph = torch.fx.Graph()
        self.input = self.graph.placeholder("x")
        self.value = self.input.meta["val"] = torch.zeros(2)

    def call(self, supported: bool, source: torch.fx.Node, *, tensor: bool = True) -> torch.fx.Node:
        """An operator that TensorRT supports or not, marked as one that gives a tensor or not."""
        node = self.graph.call_function(SUPPORTED if supported else UNSUPPORTED, (source,))
        node.meta["val"] = self.value
        if tensor:
            node.meta["tensor_meta"] = None
        return node

    def chain(self, supported: Sequence[bool], *, tensor: bool = True) -> list[torch.fx.Node]:
        """Operators of which each reads the one before; the list with the last of them."""
        node = self.input
        for each in supported:
            node = self.call(each, node, tensor=tensor)
        return [node]


def alternating(build: GraphBuilder, nodes: int) -> list[torch.fx.Node]:
    return build.chain([i % 2 == 0 for i in range(nodes)])


def blocks(build: GraphBuilder, nodes: int) -> list[torch.fx.Node]:
    return build.chain([i % 21 < 20 for i in range(nodes)])


def wide(build: GraphBuilder, nodes: int) -> list[torch.fx.Node]:
    return [build.call(i % 2 == 0, build.input) for i in range(nodes)]


def producers(build: GraphBuilder, nodes: int) -> list[torch.fx.Node]:
    first = [build.call(False, build.input) for _ in range(nodes // 2)]
    return [build.call(True, producer) for producer in first]


def fusion(build: GraphBuilder, nodes: int) -> list[torch.fx.Node]:
    return build.chain([True] * nodes, tensor=False)


SHAPES = {
    "alternating": (alternating, "a chain, supported and unsupported in turn"),
    "blocks": (blocks, "a chain, 20 supported and 1 unsupported in turn"),
    "wide": (wide, "operators that all read the input, every other one supported"),
    "producers": (producers, "n/2 unsupported operators, each read by a supported one"),
    "fusion": (fusion, "a chain of supported operators in one fusion group"),
}
WHOLE_ONLY = {"fusion"}
FIXED = "no-gpu,partition-speed,linear-partition"


def module_of(shape: str, nodes: int) -> torch.fx.GraphModule:
    build = GraphBuilder()
    make, _ = SHAPES[shape]
    build.graph.output(tuple(make(build, nodes)))
    return torch.fx.GraphModule(torch.nn.Module(), build.graph)


# --- measuring ---


def cpu_seconds(run: Callable[[], object]) -> float:
    """The CPU time of a run, garbage collection included, but not that of what ran before."""
    gc.collect()
    began = time.process_time()
    run()
    return time.process_time() - began


def time_put_nodes(method: Callable[[AdjacencyPartitioner], object]) -> Measure:
    """Measures put_nodes_into_subgraphs; the best of three runs where one is short."""

    def measure(shape: str, nodes: int) -> float:
        module = module_of(shape, nodes)
        supported = {node for node in module.graph.nodes if node.target is SUPPORTED}
        partitioner = AdjacencyPartitioner(module, supported, {})
        seconds: list[float] = []
        while not seconds or (len(seconds) < 3 and seconds[0] < 5):
            seconds.append(cpu_seconds(lambda: method(partitioner)))
        return min(seconds)

    return measure


def time_partition(shape: str, nodes: int) -> float:
    """Measures fast_partition() of the torch_tensorrt that this process imports."""
    from torch_tensorrt.dynamo._settings import CompilationSettings
    from torch_tensorrt.dynamo.conversion import DYNAMO_CONVERTERS
    from torch_tensorrt.dynamo.partitioning import fast_partition

    DYNAMO_CONVERTERS.set_compilation_settings(CompilationSettings())
    module = module_of(shape, nodes)
    return cpu_seconds(lambda: fast_partition(module, min_block_size=1, torch_executed_ops={UNSUPPORTED}))


def warm_up() -> None:
    """Import torch_tensorrt and run all code once."""
    time_partition("blocks", 42)


def measured_in(process: ProcessPoolExecutor) -> Measure:
    return lambda shape, nodes: process.submit(time_partition, shape, nodes).result()


def measure_all(
    sides: dict[str, Measure], shape: str, sizes: Sequence[int], limit: float
) -> Iterator[dict[str, float]]:
    """The seconds of each side, size by size. A side that took longer than ``limit`` has none from then on."""
    slow: set[str] = set()
    for nodes in sizes:
        seconds = {side: measure(shape, nodes) for side, measure in sides.items() if side not in slow}
        slow |= {side for side, taken in seconds.items() if taken > limit}
        yield seconds


# --- showing ---


def show(what: str, sides: dict[str, Measure], shapes: Sequence[str], sizes: Sequence[int], limit: float) -> None:
    """Measure and print a table a shape."""
    for shape in shapes:
        table = Table(title=f"{what}, {shape}: {SHAPES[shape][1]}", title_justify="left")
        for column in ("nodes", "stock, s", "fixed, s", "stock/fixed"):
            table.add_column(column, justify="right", min_width=11)
        taken: dict[str, dict[int, float]] = {side: {} for side in sides}
        with Console(stderr=True).status(f"{what}: {shape}") as status:
            for nodes, seconds in zip(sizes, measure_all(sides, shape, sizes, limit), strict=True):
                for side, value in seconds.items():
                    taken[side][nodes] = value
                ratio = f"{seconds['stock'] / seconds['fixed']:,.1f}" if len(seconds) == len(sides) else "-"
                shown = [f"{seconds[side]:,.3f}" if side in seconds else "-" for side in sides]
                table.add_row(f"{nodes:,}", *shown, ratio, end_section=nodes == sizes[-1])
                status.update(f"{what}: {shape}, {nodes:,} nodes took {' and '.join(shown)} s")
        table.add_row("growth", *(f"n^{growth(side):.2f}" if len(side) > 1 else "-" for side in taken.values()), "")
        Console().print(table)


SIZES = Numbers(least=2)


@click.command(help=__doc__, context_settings={"max_content_width": 120})
@click.option("--shape", "shapes", multiple=True, type=click.Choice(list(SHAPES)), help="Only this; may be repeated.")
@click.option(
    "--sizes", type=SIZES, default="5000,20000,62000,345000", show_default=True, help="Of the graphs."
)
@click.option(
    "--whole-sizes", type=SIZES, default="5000,10000,20000", show_default=True, help="For the whole."
)
@click.option("--limit", default=10.0, show_default=True, help="Seconds after which a side is not run at larger sizes.")
@click.option("--whole/--no-whole", default=True, help="Whether to measure fast_partition(), too.")
def main(shapes: tuple[str, ...], sizes: list[int], whole_sizes: list[int], limit: float, whole: bool) -> None:
    chosen = [shape for shape in SHAPES if shape in (shapes or SHAPES)]
    methods = {
        "stock": time_put_nodes(_SplitterBase.put_nodes_into_subgraphs),
        "fixed": time_put_nodes(AdjacencyPartitioner.put_nodes_into_subgraphs),
    }
    show("put_nodes_into_subgraphs", methods, [shape for shape in chosen if shape not in WHOLE_ONLY], sizes, limit)
    if whole and importlib.util.find_spec("torch_tensorrt") is None:
        click.echo("fast_partition is not measured: torch_tensorrt is not installed here")
    elif whole:
        with process_with("no-gpu", warm_up) as stock, process_with("no-gpu,partition-speed", warm_up) as fixed:
            sides = {"stock": measured_in(stock), "fixed": measured_in(fixed)}
            show("fast_partition", sides, chosen, whole_sizes, limit)


if __name__ == "__main__":
    main()
