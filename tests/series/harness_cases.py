"""Cases for test_harness.py, which runs them where torch_tensorrt can be imported; each is named for its end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar
from unittest import mock

import torch
import torch_tensorrt
from tests.py.dynamo.conversion.harness import DispatchTestCase, TRTTestCase, build
from torch_tensorrt import Input
from torch_tensorrt.dynamo.conversion import TRTInterpreter, UnsupportedOperatorException

from torch_tensorrt_fixes.reference import conversion
from torch_tensorrt_fixes.reference.conversion import BuildRefused, Evaluation, standard_tensorrt

aten = torch.ops.aten


class Calls(torch.nn.Module):
    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> object:
        return self.function(x)


Outputs = list[torch.Tensor]


def altered(alter: Callable[[Outputs], Outputs]) -> mock._patch[object]:
    """The evaluator with other outputs."""
    evaluate = Evaluation.__call__
    return mock.patch.object(Evaluation, "__call__", lambda self, inputs: alter(evaluate(self, inputs)))


class Engine(torch.nn.Module):
    """In the place of TorchTensorRTModule on a host with a GPU."""

    made: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, computes: Callable[[torch.Tensor], torch.Tensor], **arguments: Any) -> None:
        super().__init__()
        self.made.append(arguments)
        self.computes = computes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.computes(x)


X = torch.linspace(-1, 1, 12).reshape(3, 4)


class Cases(DispatchTestCase):
    def test_passes_exported(self) -> None:
        self.run_test(Calls(lambda x: aten.relu.default(x)), [X], use_dynamo_tracer=True)

    def test_passes_traced(self) -> None:
        self.run_test(Calls(lambda x: aten.relu.default(x)), [X])

    def test_passes_float64_as_float32(self) -> None:
        self.run_test(Calls(lambda x: aten.relu.default(x)), [X.double()], check_dtype=False)

    def test_passes_int64_as_int32(self) -> None:
        self.run_test(Calls(lambda x: aten.add.Tensor(x, x)), [X.long()], int32_reqd=True, check_dtype=False)

    def test_fails_on_another_value(self) -> None:
        with altered(lambda outputs: [outputs[0] + 0.01]):
            self.run_test(Calls(lambda x: aten.relu.default(x)), [X])

    def test_passes_another_value_within_atol(self) -> None:
        with altered(lambda outputs: [outputs[0] + 0.01]):
            self.run_test(Calls(lambda x: aten.relu.default(x)), [X], atol=0.02)

    def test_fails_on_another_dtype(self) -> None:
        with altered(lambda outputs: [outputs[0].half()]):
            self.run_test(Calls(lambda x: aten.relu.default(x)), [X])

    def test_fails_on_another_shape(self) -> None:
        with altered(lambda outputs: [outputs[0][None]]):
            self.run_test(Calls(lambda x: aten.relu.default(x)), [X])

    def test_fails_on_a_missing_output(self) -> None:
        with altered(lambda outputs: outputs[:1]):
            self.run_test(Calls(lambda x: (aten.relu.default(x), aten.neg.default(x))), [X])

    def test_fails_on_what_tensorrt_does_not_take(self) -> None:
        self.run_test(Calls(lambda x: aten.select.int(x, 0, 1)), [X.to(torch.uint8)])

    def test_passes_with_the_builders_words(self) -> None:
        interpreter = self.interpreter(lambda x: aten.select.int(x, 0, 1), X.to(torch.uint8))
        interpreter._construct_trt_network_def()
        with self.assertRaisesRegex(BuildRefused, "has datatype UInt8"):
            build(interpreter)

    def test_passes_dynamic_at_the_largest_shape(self) -> None:
        shapes = []
        evaluate = Evaluation.__call__

        def note(evaluation: Evaluation, inputs: Outputs) -> Outputs:
            shapes.append(tuple(inputs[0].shape))
            return evaluate(evaluation, inputs)

        spec = Input(min_shape=(1, 4), opt_shape=(2, 4), max_shape=(5, 4), dtype=torch.float32)
        with mock.patch.object(Evaluation, "__call__", note):
            for tracer in (True, False):
                self.run_test_with_dynamic_shape(
                    Calls(lambda x: aten.relu.default(x)), [spec], use_dynamo_tracer=tracer
                )
        self.assertEqual(shapes, [(5, 4), (5, 4)])

    def test_passes_dynamic_on_its_own_tensor(self) -> None:
        spec = Input(min_shape=(1, 4), opt_shape=(2, 4), max_shape=(5, 4), torch_tensor=X, dtype=torch.float32)
        with self.assertRaisesRegex(AssertionError, r"\(12\.5%\)|1 / 12"), altered(self.with_first_element_off):
            self.run_test_with_dynamic_shape(Calls(lambda x: aten.relu.default(x)), [spec], use_example_tensors=False)

    @staticmethod
    def with_first_element_off(outputs: Outputs) -> Outputs:
        outputs[0].view(-1)[0] = 7
        return outputs

    def test_passes_evaluated_only(self) -> None:
        with self.assertWarnsRegex(Warning, "NON_ZERO.*has no runners"):
            self.run_test(Calls(lambda x: aten.nonzero.default(x)), [X])

    def test_passes_masks_as_for_standard_tensorrt(self) -> None:
        with self.assertWarnsRegex(Warning, "NON_ZERO.*has no runners"):
            self.run_test(Calls(lambda x: x[x > 0]), [X], use_dynamo_tracer=True)

    def test_passes_random_by_shape(self) -> None:
        same_shape = (lambda output, value: output.shape == value.shape, [])
        self.run_test_compare_tensor_attributes_only(
            Calls(lambda x: aten.rand.default([3, x.shape[1]])), [X], [], [same_shape], use_dynamo_tracer=True
        )

    def test_fails_random_of_another_shape(self) -> None:
        same_shape = (lambda output, value: output.shape == value.shape, [])
        with altered(lambda outputs: [outputs[0][:1]]):
            self.run_test_compare_tensor_attributes_only(
                Calls(lambda x: aten.rand.default([3, x.shape[1]])), [X], [], [same_shape], use_dynamo_tracer=True
            )

    def interpreter(self, function: Callable[..., object], x: torch.Tensor = X) -> TRTInterpreter:
        graph = self.generate_graph(Calls(function), [x], use_dynamo_tracer=False, enable_passes=False)
        return TRTInterpreter(graph, [Input.from_tensor(x)])

    def test_passes_and_runs_the_engine_where_one_can_run(self) -> None:
        self.run_with_engine(torch.relu)
        (made,) = Engine.made
        self.assertGreater(len(made["serialized_engine"]), 1000)
        self.assertEqual(made["input_binding_names"], ["x"])
        self.assertEqual(made["output_binding_names"], ["output0"])
        self.assertFalse(made["requires_output_allocator"])

    def test_fails_where_the_engine_is_off(self) -> None:
        self.run_with_engine(lambda x: torch.relu(x) + 0.01)

    def run_with_engine(self, computes: Callable[[torch.Tensor], torch.Tensor]) -> None:
        graph = self.generate_graph(Calls(aten.relu.default), [X], use_dynamo_tracer=False, enable_passes=False)
        interpreter = TRTInterpreter(graph, [Input.from_tensor(X)])
        Engine.made.clear()
        with mock.patch.object(conversion, "engines_run_here", lambda: True):
            TRTTestCase.run_test(self, graph, [X], interpreter, rt_cls=functools.partial(Engine, computes))

    def test_passes_with_the_expected_error(self) -> None:
        function = lambda x: aten.lgamma.default(x)  # noqa: E731
        self.run_test_with_error(Calls(function), [X], self.interpreter(function), UnsupportedOperatorException)

    def test_fails_without_the_expected_error(self) -> None:
        function = lambda x: aten.relu.default(x)  # noqa: E731
        self.run_test_with_error(Calls(function), [X], self.interpreter(function), UnsupportedOperatorException)

    def test_passes_with_its_ops(self) -> None:
        graph = torch.fx.symbolic_trace(Calls(lambda x: aten.relu.default(x)))
        self.assert_has_op(graph, {aten.relu.default})
        self.assertFalse(self.assert_unexpected_op(graph, {aten.relu.default}))
        self.assertTrue(self.assert_unexpected_op(graph, {aten.neg.default}))

    def test_fails_without_its_ops(self) -> None:
        self.assert_has_op(torch.fx.symbolic_trace(Calls(lambda x: aten.relu.default(x))), {aten.neg.default})


def test_passes_features_come_back() -> None:
    features = torch_tensorrt.ENABLED_FEATURES
    with standard_tensorrt():
        assert not torch_tensorrt.ENABLED_FEATURES.tensorrt_rtx
    assert torch_tensorrt.ENABLED_FEATURES is features
