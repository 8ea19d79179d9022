"""The core: what is bound and refused before a run, what is checked around each layer, what comes back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError, Evaluator, UnsupportedLayer, _trt, registry
from torch_tensorrt_fixes.reference._trt import trt
from torch_tensorrt_fixes.reference.dtypes import trt_dtype

ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


def identity_becomes(monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    """Let identities run `run` instead."""
    monkeypatch.setitem(registry._IMPLEMENTATIONS, trt.LayerType.IDENTITY, lambda layer: run)


def identity_net(dtype: Any = np.float32, shape: tuple[int, ...] | None = None) -> tuple[Net, Any]:
    net = Net()
    layer = net.network.add_identity(net.input(ROWS.astype(dtype), shape))
    layer.name, layer.metadata = "same", "torch.ops.aten.clone.default"
    net.network.mark_output(layer.get_output(0))
    return net, layer


def test_outputs_come_by_name_in_the_networks_order() -> None:
    net = Net()
    given = net.input(ROWS)
    first, second = (net.network.add_identity(given).get_output(0) for _ in range(2))
    net.network.mark_output(second)
    net.network.mark_output(first)
    evaluator = Evaluator(net.network)
    assert evaluator.input_names == ("input0",)
    assert evaluator.output_names == (second.name, first.name) == tuple(evaluator.run([ROWS]))


def test_one_evaluator_runs_every_shape() -> None:
    net, layer = identity_net(shape=(-1, 3))
    evaluator = Evaluator(net.network)
    for rows in (0, 1, 7):
        value = np.ones((rows, 3), np.float32)
        np.testing.assert_array_equal(evaluator.run([value])[layer.get_output(0).name], value)


def test_intermediate_returns_every_tensor_computed() -> None:
    net = Net()
    middle = net.network.add_identity(net.input(ROWS)).get_output(0)
    last = net.network.add_identity(middle).get_output(0)
    net.network.mark_output(last)
    values = Evaluator(net.network).run([ROWS], intermediate=True)
    assert list(values) == ["input0", middle.name, last.name]


def test_a_layer_that_no_output_needs_is_not_run() -> None:
    net, layer = identity_net()
    unused = net.network.add_slice(layer.get_output(0), (0, 0), (2, 3), (1, 2)).get_output(0)
    values = Evaluator(net.network).run([ROWS], intermediate=True)
    assert layer.get_output(0).name in values and unused.name not in values


def test_an_unsupported_layer_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    net, _ = identity_net()
    monkeypatch.delitem(registry._IMPLEMENTATIONS, trt.LayerType.IDENTITY)
    with pytest.raises(UnsupportedLayer) as raised:
        Evaluator(net.network)
    message = str(raised.value)
    assert "1 of the network's layers" in message and "IDENTITY layer 'same'" in message
    assert "torch.ops.aten.clone.default" in message and "SHUFFLE" in message and "LOOP_OUTPUT" in message


def test_a_network_without_output_is_refused() -> None:
    net = Net()
    net.network.add_identity(net.input(ROWS))
    with pytest.raises(EvaluationError, match="no output.*mark_output"):
        Evaluator(net.network)


def test_a_cycle_is_refused() -> None:
    net = Net()
    first = net.network.add_identity(net.input(ROWS))
    second = net.network.add_identity(first.get_output(0))
    first.set_input(0, second.get_output(0))
    net.network.mark_output(second.get_output(0))
    with pytest.raises(EvaluationError, match="cycle"):
        Evaluator(net.network)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], r"1 inputs \['input0'\]; 0 are given"),
        ({}, r"inputs are \['input0'\], not \[\]"),
        ({"input0": ROWS, "more": ROWS}, r"not \['input0', 'more'\]"),
        ([ROWS.astype(np.float64)], r"'input0' float32 \(-1, 3\) is given float64 \(2, 3\)"),
        ([ROWS.astype(np.float16)], "is given float16"),
        ([ROWS.T], r"is given float32 \(3, 2\)"),
        ([ROWS[0]], r"is given float32 \(3,\)"),
        ([ROWS.tolist()], "must be a NumPy array, not list"),
    ],
)
def test_inputs_must_be_what_the_network_declares(inputs: Any, message: str) -> None:
    net, _ = identity_net(shape=(-1, 3))
    with pytest.raises(EvaluationError, match=message):
        Evaluator(net.network).run(inputs)


def test_an_error_names_the_layer_its_torch_target_and_the_shapes() -> None:
    net = Net()
    layer = net.network.add_slice(net.input(ROWS), (0, 0), (2, 3), (1, 2))
    layer.name, layer.metadata = "every other", "torch.ops.aten.slice.Tensor"
    net.network.mark_output(layer.get_output(0))
    with pytest.raises(EvaluationError) as raised:
        Evaluator(net.network).run([ROWS])
    message = str(raised.value)
    assert message.startswith("SLICE layer 'every other' (torch target torch.ops.aten.slice.Tensor): ")
    assert "inputs: 'input0' float32 (2, 3)" in message and "out of bounds" in message
    assert f"declared outputs: {layer.get_output(0).name!r} float32 (2, 3)" in message


def test_an_implementations_own_failure_names_the_layer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    net, _ = identity_net()
    identity_becomes(monkeypatch, lambda value: value @ value)
    with pytest.raises(EvaluationError, match=r"IDENTITY layer 'same'.*ValueError.*\n  inputs: 'input0'") as raised:
        Evaluator(net.network).run([ROWS])
    assert isinstance(raised.value.__cause__, ValueError)


@pytest.mark.parametrize(
    ("result", "found"),
    [
        (ROWS.astype(np.float64), r"float64 \(2, 3\)"),
        (ROWS.astype(np.int32), r"int32 \(2, 3\)"),
        (ROWS.T, r"float32 \(3, 2\)"),
        (ROWS[0], r"float32 \(3,\)"),
    ],
)
def test_a_result_must_be_what_the_network_declares(
    monkeypatch: pytest.MonkeyPatch, result: np.ndarray, found: str
) -> None:
    net, _ = identity_net()
    identity_becomes(monkeypatch, lambda value: result)
    with pytest.raises(EvaluationError, match=rf"the result is {found}, but the network declares .* float32 \(2, 3\)"):
        Evaluator(net.network).run([ROWS])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_float32_results_are_rounded_to_the_declared_float(monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    net, layer = identity_net(dtype)
    identity_becomes(monkeypatch, lambda value: np.full((2, 3), 1.001, np.float32))
    (result,) = Evaluator(net.network).run(net.inputs).values()
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, np.full((2, 3), 1.001, dtype))
    assert float(result[0, 0]) != np.float32(1.001)


def test_what_tensorrt_has_no_shape_for_is_refused() -> None:
    net = Net()
    gathered = net.network.add_gather(net.input(ROWS), net.input(np.zeros((2,), np.int32)), 0)
    gathered.num_elementwise_dims = 1  # beyond what the axis allows
    net.network.mark_output(gathered.get_output(0))
    with pytest.raises(EvaluationError, match="GATHER layer.*axis 0 must be at least num_elementwise_dims"):
        Evaluator(net.network)


def test_random_values_need_a_seed_and_follow_it() -> None:
    net = Net()
    layer = net.network.add_fill((64,), trt.FillOperation.RANDOM_UNIFORM)
    net.network.mark_output(layer.get_output(0))
    evaluator = Evaluator(net.network)
    with pytest.raises(EvaluationError, match=r"random: give run\(\) a seed"):
        evaluator.run({})
    first, again, other = (evaluator.run({}, seed=seed)[layer.get_output(0).name] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any() and (0 <= first).all() and (first < 1).all()


class TestUint8:
    """TensorRT has it at the network's edge only."""

    BYTES = np.arange(6, dtype=np.uint8).reshape(2, 3)

    @pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.bool_])
    def test_casts_into_and_out_of_it(self, dtype: Any) -> None:
        net = Net()
        wide = net.network.add_cast(net.input(self.BYTES), trt_dtype(dtype)).get_output(0)
        back = net.network.add_cast(wide, trt.uint8).get_output(0)
        first, second = net.run(wide, back)
        np.testing.assert_array_equal(first, self.BYTES.astype(dtype))
        np.testing.assert_array_equal(second, self.BYTES.astype(dtype).astype(np.uint8))

    def test_an_identity_passes_it_through(self) -> None:
        net = Net()
        np.testing.assert_array_equal(
            net.run(net.network.add_identity(net.input(self.BYTES)).get_output(0)), self.BYTES
        )

    def test_it_does_not_occur_inside_the_network(self) -> None:
        net = Net()
        narrow = net.network.add_cast(net.input(ROWS), trt.uint8).get_output(0)
        wide = net.network.add_cast(narrow, trt.float32).get_output(0)
        with pytest.raises(EvaluationError, match="CAST layer.*uint8 only for network inputs and outputs"):
            net.run(wide)

    def test_other_layers_do_not_take_it(self) -> None:
        net = Net()
        both = net.network.add_concatenation([net.input(self.BYTES), net.input(self.BYTES)]).get_output(0)
        with pytest.raises(EvaluationError, match="CONCATENATION layer.*cast 'input0' to a wider type"):
            net.run(both)


def test_float64_has_no_tensorrt_type() -> None:
    with pytest.raises(TypeError, match="TensorRT has no float64; it has float32, float16, bfloat16"):
        trt_dtype(np.float64)


def test_a_type_is_implemented_once() -> None:
    with pytest.raises(ValueError, match="IDENTITY is implemented twice"):
        registry.implements(trt.LayerType.IDENTITY)(lambda layer: lambda value: value)


def test_without_tensorrt_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(_trt, "import_module", nothing)
    with pytest.raises(ImportError, match="neither tensorrt nor tensorrt_rtx.*tensorrt_rtx_cu13"):
        _trt._find_tensorrt()
