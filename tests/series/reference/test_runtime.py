"""runtime(): torch_tensorrt from end to end, with evaluated engines under its own Python runtime."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
import torch_tensorrt
from torch_tensorrt.dynamo.runtime import TorchTensorRTModule, _TRTEngine
from transformers import (
    BertConfig,
    BertModel,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    ViTConfig,
    ViTModel,
)

from torch_tensorrt_fixes.reference import (
    EvaluationError,
    UnsupportedLayer,
    end_to_end,
    host_memory,
    registry,
    runtime,
    standard_tensorrt,
)
from torch_tensorrt_fixes.reference._trt import trt
from torch_tensorrt_fixes.reference.execution import ExecutionContext

TO_THE_ENGINE = {"min_block_size": 1, "pass_through_build_failures": True}


@pytest.fixture(autouse=True)
def _inside() -> Iterator[None]:
    torch.manual_seed(3)
    torch._dynamo.reset()
    with runtime(), torch.no_grad():
        yield


@pytest.fixture
def contexts() -> Iterator[list[ExecutionContext]]:
    """The contexts that were executed, in order."""
    executed: list[ExecutionContext] = []
    with before_execution(executed.append):
        yield executed


def before_execution(do: Callable[[ExecutionContext], object]) -> Any:
    execute = ExecutionContext.execute_async_v3

    def execute_async_v3(context: ExecutionContext, stream: int) -> bool:
        do(context)
        return execute(context, stream)

    return mock.patch.object(ExecutionContext, "execute_async_v3", execute_async_v3)


def compiled(module: torch.nn.Module, *inputs: Any, specs: Any = None, dynamic: Any = None, **options: Any) -> Any:
    program = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic)
    return torch_tensorrt.dynamo.compile(program, arg_inputs=specs or inputs, min_block_size=1, **options)


def engines_of(module: torch.nn.Module) -> list[TorchTensorRTModule]:
    return [part for part in module.modules() if isinstance(part, TorchTensorRTModule)]


def assert_same(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)


class Several(torch.nn.Module):
    """Three outputs of three shapes and two types."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor, *, scale: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
        y = torch.relu(self.linear(x))
        if scale is not None:
            y = y * scale
        z = torch.cumsum(y, 1).sin()
        return y, z.reshape(z.shape[0] * 2, -1), x.argmax(1)


X = torch.linspace(-1, 1, 24).reshape(3, 8)


# --- torch_tensorrt.dynamo.compile ---


def test_several_outputs_from_one_engine_that_tensorrt_built() -> None:
    module = Several()
    (engine,) = engines_of(fixed := compiled(module, X))
    assert b"not built" not in engine.serialized_engine and len(engine.serialized_engine) > 10_000
    assert_same(fixed(X), module(X))
    assert_same(fixed(X * 2), module(X * 2))


def test_torch_tensorrt_compile() -> None:
    module = Several().eval()
    assert_same(torch_tensorrt.compile(module, ir="dynamo", inputs=[X], min_block_size=1)(X), module(X))


def test_dynamic_shapes_within_the_profile() -> None:
    module = Several()
    spec = torch_tensorrt.Input(min_shape=(2, 8), opt_shape=(3, 8), max_shape=(9, 8), dtype=torch.float32)
    dynamic = {"x": {0: torch.export.Dim("rows", min=2, max=9)}}
    fixed = compiled(module, X, specs=[spec], dynamic=dynamic)
    for rows in (2, 9, 5):
        x = torch.rand(rows, 8)
        assert_same(fixed(x), module(x))
    with pytest.raises(EvaluationError, match=r"is given the shape \(10, 8\), but profile 0 .* \(2, 8\) to \(9, 8\)"):
        fixed(torch.rand(10, 8))


def test_blocks_in_pytorch_between_the_engines() -> None:
    module = Several()
    fixed = compiled(module, X, torch_executed_ops={"torch.ops.aten.relu.default", "torch.ops.aten.sin.default"})
    assert [type(part).__name__ for part in fixed.children()].count("TorchTensorRTModule") == 3
    assert_same(fixed(X), module(X))


def test_keyword_arguments() -> None:
    module, scale = Several().eval(), torch.tensor(2.5)
    program = torch.export.export(module, (X,), {"scale": scale})
    fixed = torch_tensorrt.dynamo.compile(program, arg_inputs=(X,), kwarg_inputs={"scale": scale}, min_block_size=1)
    assert_same(fixed(X, scale=scale + 1), module(X, scale=scale + 1))


@pytest.mark.parametrize("retrace", [False, True])
def test_saved_and_loaded(tmp_path: Path, retrace: bool) -> None:
    module = Several()
    file = str(tmp_path / "compiled.ep")
    torch_tensorrt.save(compiled(module, X), file, arg_inputs=[X], retrace=retrace)
    assert_same(torch_tensorrt.load(file).module()(X), module(X))


class Positive(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.nonzero(x > 0), x + 1


def test_the_output_allocator_for_sizes_that_depend_on_values() -> None:
    with standard_tensorrt():
        (engine,) = engines_of(fixed := compiled(Positive(), X))
    assert engine.requires_output_allocator
    assert engine.serialized_engine.startswith(b"not built")
    for x in (X, -X.abs(), X.abs()):
        assert_same(fixed(x), Positive()(x))
    counted, known = engine.engine.infer_outputs([list(X.shape)])
    assert -1 in counted
    assert known == tuple(X.shape)


def test_a_cache_is_updated_in_place() -> None:
    class Cached(torch.nn.Module):
        def forward(self, cache: torch.Tensor, place: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return cache.index_copy(2, place, x * 2).sum(2)

    cache, place, x = torch.zeros(1, 2, 8, 4), torch.tensor([3]), torch.ones(1, 2, 1, 4)
    (engine,) = engines_of(fixed := compiled(Cached(), cache, place, x))
    assert engine.aliased_io == {"output1": ("cache", "kv_cache_update")}
    assert engine.engine.cuda_engine.get_aliased_input_tensor("output1") == "cache"
    assert_same(fixed(cache, place, x), torch.full((1, 2, 4), 2.0))
    assert_same(fixed(cache, place + 2, x), torch.full((1, 2, 4), 4.0))
    assert_same(cache[0, 0, :, 0], torch.tensor([0, 0, 0, 2.0, 0, 2, 0, 0]))


# --- torch.compile ---


class Rows(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        return x.reshape(n, -1) + torch.arange(n)[:, None] * n


def test_a_number_becomes_a_shape_input(contexts: list[ExecutionContext]) -> None:
    x = torch.arange(60.0)
    fixed = torch.compile(Rows(), backend="tensorrt", dynamic=True, options=TO_THE_ENGINE)
    for n in (4, 6):
        assert_same(fixed(x, n), Rows()(x, n))
    (engine,) = {context.engine for context in contexts}
    assert len(engine.shape_inputs) == 1
    assert len(contexts) == 2


# --- what is read and when ---


def test_inputs_are_read_at_their_addresses_when_the_engine_is_enqueued() -> None:
    module, x = Several(), X.clone()
    fixed = compiled(module, x)
    expected = module(X * 3)
    with before_execution(lambda _: x.copy_(X * 3)):
        assert_same(fixed(x), expected)


def test_a_shape_input_that_changes_before_the_engine_is_enqueued_is_seen() -> None:
    fixed = torch.compile(Rows(), backend="tensorrt", dynamic=True, options=TO_THE_ENGINE)
    fixed(torch.arange(60.0), 4)

    def overwrite(context: ExecutionContext) -> None:
        (name,) = context.engine.shape_inputs
        host_memory.write(context.get_tensor_address(name), np.array([10]))

    message = r"has the shape \(10, 6\), but the context told \(4, 15\)"
    with before_execution(overwrite), pytest.raises(EvaluationError, match=message):
        fixed(torch.arange(60.0), 4)


# --- errors ---


def test_an_error_of_the_evaluator_names_the_layer_and_the_torch_target() -> None:
    class Picked(torch.nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
            return x[i] * 2

    fixed = compiled(Picked(), X, torch.tensor([0, 2]))
    assert_same(fixed(X, torch.tensor([1, -1])), X[[1, -1]] * 2)
    with pytest.raises(EvaluationError, match=r"(?s)GATHER layer .*aten_ops\.index\.Tensor.*the first is 7"):
        fixed(X, torch.tensor([0, 7]))


def test_torch_compile_does_not_fall_back_where_the_evaluator_has_no_layer() -> None:
    fixed = torch.compile(torch.nn.Softmax(1), backend="tensorrt", options={"min_block_size": 1})
    with mock.patch.dict(registry._IMPLEMENTATIONS):
        del registry._IMPLEMENTATIONS[trt.LayerType.SOFTMAX]
        with pytest.raises(UnsupportedLayer, match=r"SOFTMAX layer .*aten_ops\._softmax"):
            fixed(X)


def test_an_engine_of_another_block_is_not_known() -> None:
    (engine,) = engines_of(compiled(Several(), X))
    with runtime(), pytest.raises(RuntimeError, match="not built in this block of the reference runtime"):
        copy.deepcopy(engine.engine)


def test_cuda_graphs_change_nothing() -> None:
    module = Several()
    with torch_tensorrt.runtime.enable_cudagraphs(compiled(module, X)) as fixed:
        for factor in (1, 2):
            assert_same(fixed(X * factor), module(X * factor))


def test_what_torch_cuda_has_no_stand_in_for_is_named() -> None:
    with pytest.raises(AttributeError, match="evaluates engines on the host: it has no torch.cuda.CUDAGraph"):
        _TRTEngine.torch.cuda.CUDAGraph()


@pytest.mark.parametrize(
    ("of", "name", "value", "message"),
    [
        (torch.cuda, "is_available", lambda: True, "for hosts without a GPU.*set CUDA_VISIBLE_DEVICES"),
        (
            torch_tensorrt,
            "ENABLED_FEATURES",
            torch_tensorrt.ENABLED_FEATURES._replace(torch_tensorrt_runtime=True),
            r"this torch_tensorrt has its C\+\+ runtime",
        ),
    ],
)
def test_hosts_that_it_is_not_for(of: Any, name: str, value: Any, message: str) -> None:
    with mock.patch.object(of, name, value), pytest.raises(RuntimeError, match=message), runtime():
        pass


# --- the block ---


def test_only_the_module_that_drives_engines_sees_a_gpu() -> None:
    assert not torch.cuda.is_available()
    assert _TRTEngine.torch.cuda.is_available()
    assert _TRTEngine.torch.Tensor is torch.Tensor


def test_it_is_told_once_that_this_is_slow(caplog: pytest.LogCaptureFixture) -> None:
    end_to_end._warn_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            with runtime():
                pass
    assert [record.message for record in caplog.records if "not how fast" in record.message] == [
        "the reference runtime evaluates engines with NumPy: it shows what they compute, not how fast"
    ]


# --- models ---

SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
DECODER = {**SIZES, "vocab_size": 64, "num_key_value_heads": 2, "use_cache": False}
TOKENS = torch.arange(24).reshape(2, 12) * 7 % 64

MODELS: dict[str, tuple[Callable[[], torch.nn.Module], dict[str, torch.Tensor]]] = {
    "llama": (lambda: LlamaForCausalLM(LlamaConfig(**DECODER)), {"input_ids": TOKENS}),
    "gemma3": (
        lambda: Gemma3ForCausalLM(Gemma3TextConfig(**DECODER, head_dim=8, sliding_window=8)),
        {"input_ids": TOKENS},
    ),
    "bert": (
        lambda: BertModel(BertConfig(**SIZES, vocab_size=64, max_position_embeddings=32)),
        {"input_ids": TOKENS, "attention_mask": torch.ones_like(TOKENS)},
    ),
    "vit": (
        lambda: ViTModel(ViTConfig(**SIZES, image_size=16, patch_size=4)),
        {"pixel_values": torch.linspace(-1, 1, 1536).reshape(2, 3, 16, 16).sin()},
    ),
}


def tensors(output: Any) -> list[torch.Tensor]:
    return [value for value in output.values() if isinstance(value, torch.Tensor)]


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    make, inputs = MODELS[name]
    model = make().eval()
    program = torch.export.export(model, (), inputs, strict=False)
    fixed = torch_tensorrt.dynamo.compile(program, arg_inputs=(), kwarg_inputs=inputs, min_block_size=1)
    assert engines_of(fixed)
    assert_same(tensors(fixed(**inputs)), tensors(model(**inputs)))


def test_a_model_through_torch_compile(contexts: list[ExecutionContext]) -> None:
    make, inputs = MODELS["bert"]
    model = make().eval()
    fixed = torch.compile(model, backend="tensorrt", options=TO_THE_ENGINE)
    assert_same(tensors(fixed(**inputs)), tensors(model(**inputs)))
    assert contexts
