"""output-tensors: programs whose outputs are copies of each other or inputs, run by the reference runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch_tensorrt
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_tensorrt import Input
from torch_tensorrt.dynamo.conversion import TRTInterpreter
from torch_tensorrt.dynamo.runtime import TorchTensorRTModule

from torch_tensorrt_fixes.reference import runtime
from torch_tensorrt_fixes.reference.conversion import Evaluation

Tensor = torch.Tensor
Outputs = tuple[Tensor, ...]
aten = torch.ops.aten


class Program(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.constant = torch.nn.Buffer(torch.arange(4.0))

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(self.constant, *inputs)


class Traceable(Program):
    """With one input, as torch.fx can trace it."""

    def forward(self, x: Tensor) -> Any:
        return self.function(self.constant, x)


# --- any outputs ---

KINDS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "x": lambda x, z, constant: x,
    "z": lambda x, z, constant: z,
    "z.clone()": lambda x, z, constant: aten.clone.default(z),
    "z to its own dtype": lambda x, z, constant: aten._to_copy.default(z, dtype=torch.float32),
    "-z": lambda x, z, constant: aten.neg.default(z),
    "constant": lambda x, z, constant: constant,
}


@given(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=6))
@settings(max_examples=40)
def test_any_outputs_keep_number_order_names_and_values(kinds: list[str]) -> None:
    def function(constant: Tensor, x: Tensor) -> Outputs:
        z = aten.relu.default(x)
        return tuple(KINDS[kind](x, z, constant) for kind in kinds)

    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    module = Traceable(function)
    interpreter = TRTInterpreter(torch.fx.symbolic_trace(module), [Input(shape=x.shape, dtype=x.dtype)])
    interpreter._construct_trt_network_def()
    assert interpreter._output_names == [f"output{position}" for position in range(len(kinds))]
    torch.testing.assert_close(tuple(Evaluation.of(interpreter)([x])), module(x), rtol=0, atol=0)


# --- whole programs ---


@pytest.fixture
def _inside() -> Iterator[None]:
    torch._dynamo.reset()
    with torch.no_grad(), runtime():
        yield


def exported(module: torch.nn.Module, *inputs: Tensor) -> Any:
    return torch_tensorrt.dynamo.compile(torch.export.export(module, inputs), inputs, min_block_size=1)


def just_in_time(module: torch.nn.Module, *_: Tensor) -> Any:
    options = {"min_block_size": 1, "pass_through_build_failures": True}
    return torch.compile(module, backend="tensorrt", options=options)


def repeated(_: Tensor, x: Tensor) -> dict[str, Any]:
    z = x.relu()
    return {"copies": [z.clone(), z, z.to(z.dtype, copy=True)], "again": z, "input": x, "other": (-z, (-z).clone())}


PROGRAMS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "z, z.clone()": lambda _, x: ((z := x.relu()), z.clone()),
    "z, w, z.clone()": lambda _, x: ((z := x.relu()), z + 1, z.clone()),
    "z.to(z.dtype, copy=True)": lambda _, x: ((z := x.relu()), z.to(z.dtype, copy=True)),
    "z, z": lambda _, x: ((z := x.relu()), z),
    "x, z": lambda _, x: (x, x.relu()),
    "x, z, x": lambda _, x: (x, x.relu(), x),
    "x.clone(), x.clone()": lambda _, x: (x.clone(), x.clone()),
    "constant, z, constant": lambda constant, x: (constant, x.relu(), constant),
    "nested": repeated,
}


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("compile_", [exported, just_in_time])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_pytorchs(name: str, compile_: Callable[..., Any]) -> None:
    module = Program(PROGRAMS[name]).eval()
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    torch.testing.assert_close(compile_(module, x)(x), module(x), rtol=0, atol=0)


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("retrace", [True, False])
def test_saved_and_loaded(retrace: bool, tmp_path: Path) -> None:
    module = Program(lambda _, x: ((z := x.relu()), z + 1, z.clone())).eval()
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    path = str(tmp_path / "saved.pt2")
    torch_tensorrt.save(exported(module, x), path, inputs=[x], retrace=retrace)
    torch.testing.assert_close(tuple(torch_tensorrt.load(path).module()(x)), module(x), rtol=0, atol=0)


CACHES: dict[str, tuple[Callable[..., Any], list[str], dict[str, str]]] = {
    "first": (lambda _, cache, new: (cache, -new), ["output0", "output1"], {"output0": "inputs_0"}),
    "with its clone": (
        lambda _, cache, new: (cache, cache.clone(), -new),
        ["output0", "output1", "output2"],
        {"output0": "inputs_0"},
    ),
    "behind copies": (
        lambda _, cache, new: ((total := cache.sum(2)), total.clone()),
        ["output0", "output1", "output2"],
        {"output2": "inputs_0"},
    ),
}


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("name", CACHES)
def test_an_updated_cache_stays_in_place(name: str) -> None:
    function, names, aliases = CACHES[name]

    def updating(constant: Tensor, cache: Tensor, new: Tensor) -> Any:
        return function(constant, aten.slice_scatter.default(cache, new, 2, 1, 3), new)

    module = Program(updating).eval()
    cache, new = torch.zeros(2, 3, 8, 4), torch.linspace(-1, 1, 48).reshape(2, 3, 2, 4)
    compiled = exported(module, cache, new)
    (engine,) = (m for m in compiled.modules() if isinstance(m, TorchTensorRTModule))
    assert engine.output_binding_names == names
    assert engine.aliased_io == {output: (source, "kv_cache_update") for output, source in aliases.items()}
    wanted = module(cache, new)
    torch.testing.assert_close(compiled(cache.clone(), new), wanted, rtol=0, atol=1e-6)
