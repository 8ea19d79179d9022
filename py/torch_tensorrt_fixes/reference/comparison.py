"""Find the first layer of a network whose value leaves PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ._trt import Network
from .dtypes import Array
from .errors import EvaluationError
from .evaluator import Evaluator
from .steps import describe, outputs_of
from .tensors import to_numpy

# Of PyTorch's type: how far a value computed in another order, and rounded after each layer, may be off.
_RELATIVE = {torch.float16: 1e-2, torch.bfloat16: 5e-2}
_ABSOLUTE = {torch.float16: 1e-3, torch.bfloat16: 1e-2}


@dataclass(frozen=True)
class Difference:
    """A value of the network that is not PyTorch's."""

    layer: str  # the layer as errors name it: type, name and torch target
    node: str  # the node of the graph that the layer was made for, or the output it is
    place: tuple[int, ...]  # where the two are furthest apart
    expected: float  # PyTorch's value there
    found: float  # the network's value there
    share: float  # of all elements, those that are off

    def __str__(self) -> str:
        return (
            f"{self.node}: {self.layer} leaves PyTorch's value in {self.share:.0%} of the elements, most at"
            f" {list(self.place)}, where PyTorch has {self.expected:.6g} and the network {self.found:.6g}"
        )


def compare(
    network: Network,
    module: torch.nn.Module,
    inputs: Sequence[torch.Tensor],
    *,
    relative: float | None = None,
    absolute: float | None = None,
    seed: int | None = None,
) -> Difference | None:
    """The first difference between `network` and `module` on `inputs`, or None where their outputs agree.

    `inputs` are tensors in the order of both the module's and the network's inputs. Of a torch.fx.GraphModule, the one
    that torch_tensorrt converted, every node is looked at in order: torch_tensorrt names each layer after the node
    that it makes it for, and a node agrees if one of its layers has its value. Of any other module only the outputs
    are compared.

    Two values agree within `absolute` + `relative` * PyTorch's value; by default 1e-3 and 1e-5 (float32), or what
    float16 or bfloat16 leave of it. Integers and bools are compared exactly. EvaluationError, as of `Evaluator`, where
    TensorRT would refuse the network, or where it has other outputs than the module.
    """
    evaluator = Evaluator(network)
    values = evaluator.run([to_numpy(tensor) for tensor in inputs], intermediate=True, seed=seed)
    result, of_nodes = _called(module, inputs)
    outputs = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    shapes = [values[name].shape for name in evaluator.output_names]
    if shapes != [tuple(tensor.shape) for tensor in outputs]:
        raise EvaluationError(
            f"the network's outputs {list(evaluator.output_names)} have the shapes {shapes}, but the module gives"
            f" {[tuple(tensor.shape) for tensor in outputs]}"
        )

    makers: dict[str, str] = {}  # the layer of each tensor, in words
    made_for: dict[str, list[str]] = {}  # the tensors made for each node
    node = ""
    for layer in (network.get_layer(i) for i in range(network.num_layers)):
        node = _node_of(layer.name, of_nodes) or node  # one without a name of its own is of the node under way
        names = [tensor.name for tensor in outputs_of(layer) if tensor.name in values]
        makers |= dict.fromkeys(names, describe(layer))
        made_for.setdefault(node, []).extend(names)

    def candidates() -> Iterator[tuple[str, torch.Tensor, list[str]]]:
        """What to look at in order: a node, its value, and the tensors of which one should have that value."""
        for node, tensors in of_nodes.items():
            for tensor in tensors:
                yield node, tensor, [n for n in made_for.get(node, ()) if values[n].shape == tuple(tensor.shape)]
        for name, tensor in zip(evaluator.output_names, outputs, strict=True):
            yield f"output {name!r}", tensor, [name]

    for node, tensor, names in candidates():
        exact = not tensor.is_floating_point()
        rtol = 0.0 if exact else _RELATIVE.get(tensor.dtype, 1e-3) if relative is None else relative
        atol = 0.0 if exact else _ABSOLUTE.get(tensor.dtype, 1e-5) if absolute is None else absolute
        expected = _wide(to_numpy(tensor))
        off = {name: ~np.isclose(_wide(values[name]), expected, rtol, atol, equal_nan=True) for name in names}
        if names and all(places.any() for places in off.values()):
            last = names[-1]
            return _furthest(makers.get(last, f"input {last!r}"), node, expected, _wide(values[last]), off[last])
    return None


def _furthest(layer: str, node: str, expected: Array, found: Array, off: Array) -> Difference:
    with np.errstate(invalid="ignore"):  # infinity less infinity
        distance = np.where(off, np.nan_to_num(np.abs(found - expected), nan=np.inf), -1)
    place = tuple(int(i) for i in np.unravel_index(np.argmax(distance), distance.shape))
    return Difference(layer, node, place, float(expected[place]), float(found[place]), float(off.mean()))


def _wide(array: Array) -> Array:
    return array.astype(np.int64 if array.dtype.kind in "iub" else np.float64)


def _node_of(layer_name: str, nodes: dict[str, list[torch.Tensor]]) -> str:
    """The node that torch_tensorrt named a layer after: `[TYPE]-[target]-[module/node_suffix]` or
    `module/node_suffix`."""
    local = layer_name.rpartition("-[")[2].rstrip("]").rpartition("/")[2]
    while local and local not in nodes:
        local = local.rpartition("_")[0]
    return local


def _called(module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> tuple[Any, dict[str, list[torch.Tensor]]]:
    """What `module` returns, and the tensors that each node of its graph computes on the way."""
    of_nodes: dict[str, list[torch.Tensor]] = {}

    class Recorder(torch.fx.Interpreter):
        def run_node(self, n: torch.fx.Node) -> Any:
            result = super().run_node(n)
            if n.op.startswith("call_"):
                leaves = pytree.tree_leaves(result)
                of_nodes[n.name] = [leaf.clone() for leaf in leaves if isinstance(leaf, torch.Tensor)]
            return result

    with torch.no_grad():
        if isinstance(module, torch.fx.GraphModule):
            return Recorder(module).run(*inputs), of_nodes
        return module(*inputs), of_nodes
