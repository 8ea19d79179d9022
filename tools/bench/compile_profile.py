"""Where compile() spends its time as an exported graph grows: each lowering pass and each step of the partitioner.

    python tools/bench/compile_profile.py
    python tools/bench/compile_profile.py --sizes 12000,25000,50000

The graph is a chain of blocks of 20 operators that TensorRT has and 1 that stays in PyTorch. Export is not measured; a
dry run with the fast partitioner is, so that no engine is built. Seconds are CPU time and include that of nested steps;
`growth` is the slope of the least-squares line of log(seconds) over log(nodes). The steepest steps come first.
"""

from __future__ import annotations

import functools
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import click
import torch
from rich.console import Console
from rich.table import Table

from _measuring import Numbers, growth, process_with

FIXED = "no-gpu,partition-speed,linear-partition"


class Chain(torch.nn.Module):
    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.nodes = nodes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i in range(self.nodes):
            x = torch.sigmoid(x) if i % 21 == 20 else torch.relu(x)
        return x


def measure(nodes: int) -> dict[str, float]:
    """Seconds of each step of a dry run of compile()."""
    import torch_tensorrt
    from torch_tensorrt.dynamo import _compiler, partitioning
    from torch_tensorrt.dynamo.lowering.passes._aten_lowering_pass import ATEN_POST_LOWERING_PASSES as passes
    from torch_tensorrt.dynamo.partitioning._adjacency_partitioner import TRTPartitioner

    program = torch.export.export(Chain(nodes), (torch.zeros(2, 2),))
    seconds: dict[str, float] = defaultdict(float)

    def timed(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(step)
        def run(*args: Any, **kwargs: Any) -> Any:
            began = time.process_time()
            try:
                return step(*args, **kwargs)
            finally:
                seconds[name] += time.process_time() - began

        return run

    replaced: list[tuple[Any, str, Any]] = []

    def watch(owner: Any, what: str, *names: str) -> None:
        for name in names:
            replaced.append((owner, name, getattr(owner, name)))
            setattr(owner, name, timed(f"{what}.{name}", getattr(owner, name)))

    stock_passes = list(passes.passes)
    passes.passes = [timed(f"pass {each.__name__}", each) for each in stock_passes]
    watch(_compiler, "compile", "pre_export_lowering", "post_lowering", "compile_module")
    watch(partitioning, "partitioning", "fast_partition", "construct_submodule_inputs")
    watch(
        TRTPartitioner,
        "partitioner",
        *("__init__", "find_deps", "update_deps_for_fusions", "put_nodes_into_subgraphs", "tag", "split"),
    )
    watch(torch.fx.GraphModule, "GraphModule", "recompile")
    watch(torch.fx.Graph, "Graph", "lint", "eliminate_dead_code")
    watch(torch.export.ExportedProgram, "program", "run_decompositions", "module")
    try:
        timed("compile, all", torch_tensorrt.dynamo.compile)(
            program,
            arg_inputs=[torch.zeros(2, 2)],
            dryrun=True,
            use_fast_partitioner=True,
            min_block_size=1,
            torch_executed_ops={"torch.ops.aten.sigmoid.default"},
        )
    finally:
        passes.passes = stock_passes
        for owner, name, value in replaced:
            setattr(owner, name, value)
    return dict(seconds)


@click.command(help=__doc__, context_settings={"max_content_width": 120})
@click.option("--sizes", type=Numbers(least=42), default="1500,3000,6000", show_default=True, help="Of the graphs.")
@click.option("--fixes", default=FIXED, show_default=True, help="The fixes that are on; no-gpu alone is stock.")
@click.option(
    "--least", default=0.05, show_default=True, help="Steps below these seconds at the largest size are left out."
)
def main(sizes: list[int], fixes: str, least: float) -> None:
    if len(sizes) < 2:
        raise click.BadParameter("growth takes two sizes or more", param_hint="--sizes")
    with process_with(fixes) as process:
        process.submit(measure, 42).result()
        measured = {nodes: process.submit(measure, nodes).result() for nodes in sizes}
    steps = {
        step: {nodes: seconds[step] for nodes, seconds in measured.items()}
        for step, last in measured[sizes[-1]].items()
        if last >= least and all(seconds.get(step, 0) > 0 for seconds in measured.values())
    }
    table = Table("step, seconds at nodes", *(f"{nodes:,}" for nodes in sizes), "ratio", "growth")
    for step, taken in sorted(steps.items(), key=lambda each: -growth(each[1])):
        ratio = taken[sizes[-1]] / taken[sizes[0]]
        table.add_row(step, *(f"{each:,.2f}" for each in taken.values()), f"{ratio:,.1f}", f"n^{growth(taken):.2f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
