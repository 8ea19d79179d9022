"""compare(): the first layer that leaves PyTorch's values, in a network named as torch_tensorrt names it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from networks import Net

from torch_tensorrt_fixes.reference import Difference, EvaluationError, compare
from torch_tensorrt_fixes.reference._trt import trt

VALUE = torch.tensor([[-1.0, 2.0, -3.0], [4.0, 0.5, 6.0]])


class Chain(torch.nn.Module):
    def forward(self, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        low, high = torch.relu(value).split([1, 2], dim=1)
        return torch.neg(high), low


def chain(**wrong: Any) -> Net:
    """The network of Chain, with other operations or starts where `wrong` says so."""
    net = Net()
    network = net.network
    relu = network.add_activation(net.input(VALUE.numpy()), wrong.get("relu", trt.ActivationType.RELU))
    relu.name = "[RELU]-[aten_ops.relu.default]-[/relu]"
    low = network.add_slice(relu.get_output(0), (0, 0), (2, 1), (1, 1))
    low.name = "[SLICE]-[unknown_ir_ops.split.Tensor]-[block.0/split_0]"
    high = network.add_slice(relu.get_output(0), (0, wrong.get("start", 1)), (2, 2), (1, 1))
    high.name = "[SLICE]-[unknown_ir_ops.split.Tensor]-[block.0/split_1]"
    neg = network.add_unary(high.get_output(0), wrong.get("neg", trt.UnaryOperation.NEG))
    neg.name = "[UNARY]-[aten_ops.neg.default]-[neg]"
    for tensor in (neg.get_output(0), low.get_output(0)):
        network.mark_output(tensor)
    return net


def test_a_network_that_agrees() -> None:
    assert compare(chain().network, torch.fx.symbolic_trace(Chain()), [VALUE]) is None


@pytest.mark.parametrize(
    ("wrong", "node", "layer"),
    [
        ({"relu": trt.ActivationType.TANH, "start": 0}, "relu", "ACTIVATION layer '[RELU]-[aten_ops.relu.default]"),
        ({"start": 0, "neg": trt.UnaryOperation.EXP}, "split", "SLICE layer '[SLICE]-[unknown_ir_ops.split.Tensor]"),
        ({"neg": trt.UnaryOperation.EXP}, "neg", "UNARY layer '[UNARY]-[aten_ops.neg.default]-[neg]'"),
    ],
)
def test_the_first_layer_that_is_off_is_named(wrong: dict[str, Any], node: str, layer: str) -> None:
    found = compare(chain(**wrong).network, torch.fx.symbolic_trace(Chain()), [VALUE])
    assert found is not None and found.node == node and found.layer.startswith(layer)


def test_a_difference_says_where_and_how_much() -> None:
    found = compare(chain(neg=trt.UnaryOperation.ABS).network, torch.fx.symbolic_trace(Chain()), [VALUE])
    assert found == Difference("UNARY layer '[UNARY]-[aten_ops.neg.default]-[neg]'", "neg", (1, 1), -6.0, 6.0, 0.75)
    assert str(found).endswith(
        "leaves PyTorch's value in 75% of the elements, most at [1, 1], where PyTorch has -6 and the network 6"
    )


def test_of_a_module_without_graph_the_outputs_are_compared() -> None:
    found = compare(chain(start=0).network, Chain(), [VALUE])
    assert found is not None and found.node.startswith("output ") and found.layer.startswith("UNARY layer")


def test_how_far_off_is_too_far_can_be_said() -> None:
    wrong = {"relu": trt.ActivationType.SOFTSIGN}
    module = torch.fx.symbolic_trace(Chain())
    assert compare(chain(**wrong).network, module, [VALUE], absolute=100.0) is None
    assert compare(chain(**wrong).network, module, [VALUE], absolute=0.1) is not None


def test_not_a_number_agrees_with_nothing_else() -> None:
    net = Net()
    net.network.mark_output(net.network.add_identity(net.input(VALUE.numpy())).get_output(0))

    class Root(torch.nn.Module):
        def forward(self, value: torch.Tensor) -> torch.Tensor:
            return torch.sqrt(value)

    found = compare(net.network, Root(), [torch.tensor([[-4.0, 1.0, 1.0], [1.0, 1.0, 1.0]])])
    assert found is not None and found.place == (0, 0) and np.isnan(found.expected) and found.found == -4


def test_outputs_of_another_shape_are_refused() -> None:
    class Sum(torch.nn.Module):
        def forward(self, value: torch.Tensor) -> torch.Tensor:
            return value.sum(0)

    with pytest.raises(EvaluationError, match=r"shapes \[\(2, 2\), \(2, 1\)\], but the module gives \[\(3,\)\]"):
        compare(chain().network, Sum(), [VALUE])
