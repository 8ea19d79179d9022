"""From a network to the steps that run it, in order.

Who uses a tensor decides where it is computed: a step stands in the innermost region (branch of a conditional, body of
a loop) that holds every use of what it writes. So a branch that is not taken costs nothing and raises nothing, and
what no output and no assertion needs is left out, as TensorRT leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

from ._trt import Layer, Network, trt
from .control import BOUNDARIES, LoopStep, control_steps
from .errors import EvaluationError, UnsupportedLayer
from .registry import implemented
from .steps import Declared, LayerStep, Path, Region, Step, describe, inputs_of, outputs_of

_ABOUT_UINT8 = frozenset((trt.LayerType.CAST, trt.LayerType.IDENTITY, trt.LayerType.SQUEEZE, trt.LayerType.UNSQUEEZE))


def plan(network: Network) -> list[Step]:
    """The steps to run from first to last; those of a branch or a body are inside their conditional or loop.

    UnsupportedLayer names every layer without an implementation; EvaluationError says what else is wrong with the
    network.
    """
    layers = [network.get_layer(i) for i in range(network.num_layers)]
    _refuse_unsupported([layer for layer in layers if layer.type not in implemented() | BOUNDARIES])
    _refuse_uint8(network, layers)
    steps: list[Step] = [LayerStep.of(layer) for layer in layers if layer.type not in BOUNDARIES]
    steps += control_steps(layers)
    order = _in_order(steps)
    outputs = [network.get_output(i).name for i in range(network.num_outputs)]
    return _nested(order, _placed(order, outputs))


def _refuse_unsupported(layers: list[Layer]) -> None:
    if layers:
        raise UnsupportedLayer(
            f"the evaluator has no implementation for {len(layers)} of the network's layers:\n"
            + "\n".join(f"  {describe(layer)}" for layer in layers)
            + f"\nit has {', '.join(sorted(kind.name for kind in implemented() | BOUNDARIES))}"
        )


def _refuse_uint8(network: Network, layers: list[Layer]) -> None:
    """uint8 exists at the network's edge only, and few layers take it: what TensorRT's builder checks."""
    at_edge = {network.get_input(i).name for i in range(network.num_inputs)}
    at_edge |= {network.get_output(i).name for i in range(network.num_outputs)}
    for layer in layers:
        tensors = [tensor for tensor in (*inputs_of(layer), *outputs_of(layer)) if tensor is not None]
        for tensor in tensors:
            if tensor.dtype == trt.uint8 and not (layer.type in _ABOUT_UINT8 and tensor.name in at_edge):
                raise EvaluationError(
                    f"{describe(layer)}: TensorRT has uint8 only for network inputs and outputs, into and out of casts,"
                    f" identities, squeezes and unsqueezes; cast {tensor.name!r} to a wider type first\n"
                    f"  tensors: {', '.join(str(Declared.of(tensor)) for tensor in tensors)}"
                )


def _in_order(steps: list[Step]) -> list[Step]:
    """`steps` with every tensor written before it is read; what a recurrence gets next is read by its loop."""
    writer = {name: step for step in steps for name in step.writes}
    graph = {step: [writer[name] for name, _ in step.uses() if name in writer] for step in steps}
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        names = ", ".join(repr(step.writes[0]) for step in error.args[1] if step.writes)
        raise EvaluationError(f"the network has a cycle outside of a loop's recurrence, through {names}") from error


def _placed(order: list[Step], outputs: Iterable[str]) -> dict[Step, Path]:
    """The regions that each step stands in, for the steps that an output or an assertion needs."""
    place = _from_uses(order, dict.fromkeys(outputs, ()), {})
    # An assertion has no output that could be used: it stands where what it asserts is known.
    known = {name: path for step, path in place.items() for name in step.writes}
    for step, path in place.items():
        if isinstance(step, LoopStep):
            known |= dict.fromkeys(step.entries, (*path, (step, "body")))
    assertions: dict[Step, Path] = {}
    for step in order:
        path = max((known[name] for name, _ in step.uses() if name in known), key=len, default=())
        known |= {name: known.get(name, path) for name in step.writes}
        if not step.writes:
            assertions[step] = path
    return _from_uses(order, dict.fromkeys(outputs, ()), assertions) if assertions else place


def _from_uses(order: list[Step], needed: dict[str, Path], roots: dict[Step, Path]) -> dict[Step, Path]:
    """Go from last to first: a step stands where all uses of what it writes have their regions in common."""
    place: dict[Step, Path] = {}
    for step in reversed(order):
        wanted = [needed[name] for name in step.writes if name in needed]
        if step in roots:
            wanted.append(roots[step])
        if not wanted:
            continue
        place[step] = path = _common(wanted)
        for name, inside in step.uses():
            needed[name] = _common([needed.get(name, path + inside), path + inside])
    _refuse_escapes(order, place, needed)
    return place


def _common(paths: list[Path]) -> Path:
    shortest = min(paths, key=len)
    for depth, region in enumerate(shortest):
        if any(path[depth] != region for path in paths):
            return shortest[:depth]
    return shortest


def _refuse_escapes(order: list[Step], place: dict[Step, Path], needed: dict[str, Path]) -> None:
    """A loop's iterators and recurrences, and what is computed from them, leave it through its outputs only."""
    for step in order:
        if isinstance(step, LoopStep):
            for name in step.entries:
                body: Path = (*place.get(step, ()), (step, "body"))
                if name in needed and needed[name][: len(body)] != body:
                    raise EvaluationError(
                        f"{name!r} changes with every turn of a loop, but it is used outside of that loop, or something"
                        f" computed from it is; pass the value through add_loop_output()"
                    )


def _nested(order: list[Step], place: dict[Step, Path]) -> list[Step]:
    """Hand each conditional and loop the steps that stand in it; what is left is the network's own."""
    regions: dict[Region, list[Step]] = {}
    outermost: list[Step] = []
    for step in order:
        if step in place:
            path = place[step]
            (regions.setdefault(path[-1], []) if path else outermost).append(step)
    for step in place:
        step.adopt(regions)
    return outermost
