"""Attention and rotary embedding layers against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from against_torch import assert_agrees, drawn, few, floats, lengths, seeds, tensor
from hypothesis import given
from hypothesis import strategies as st
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt

NORM, CAUSAL, FORM = trt.AttentionNormalizationOp, trt.CausalMaskKind, trt.AttentionIOForm


def attended(
    query: Any, key: Any, value: Any, norm: Any = NORM.SOFTMAX, causal: Any = CAUSAL.NONE, **inputs: Any
) -> Any:
    """`inputs` are attributes of the attention, arrays among them made inputs of the network."""
    net = Net()
    attention = net.network.add_attention_v2(*map(net.input, (query, key, value)), norm, causal)
    net._kept.append(attention)
    for name, given_value in inputs.items():
        setattr(attention, name, net.input(given_value) if isinstance(given_value, np.ndarray) else given_value)
    return net.run(attention.get_output(0))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    batch, kv_heads, shared, queries, keys, width = (draw(lengths) for _ in range(6))
    rng, dtype = draw(seeds()), draw(floats)
    query = drawn(rng, (batch, kv_heads * shared, queries, width), dtype, -1, 1)
    return query, *(drawn(rng, (batch, kv_heads, keys, width), dtype, -1, 1) for _ in range(2))


def expected(query: Any, key: Any, value: Any, mask: torch.Tensor | None = None) -> torch.Tensor:
    wide = (tensor(array).float() for array in (query, key, value))
    return F.scaled_dot_product_attention(*wide, mask, scale=1, enable_gqa=True).to(tensor(query).dtype)


@few
@given(problems())
def test_attention(problem: Any) -> None:
    assert_agrees(attended(*problem), expected(*problem))


@few
@given(problems(), st.data(), st.booleans())
def test_mask(problem: Any, data: Any, boolean: bool) -> None:
    query, key, _ = problem
    rng = data.draw(seeds())
    shape = tuple(data.draw(st.sampled_from((1, n))) for n in (*query.shape[:3], key.shape[2]))
    mask = drawn(rng, shape, np.bool_ if boolean else query.dtype)
    if boolean:
        mask[..., :1] = True  # a row that may attend to nothing has no defined result
    wide = tensor(mask) if boolean else tensor(mask).float()
    assert_agrees(attended(*problem, mask=mask), expected(*problem, wide))


@few
@given(problems())
def test_causal(problem: Any) -> None:
    queries, keys = problem[0].shape[2], problem[1].shape[2]
    upper = torch.ones(queries, keys, dtype=torch.bool).tril()
    assert_agrees(attended(*problem, causal=CAUSAL.UPPER_LEFT), expected(*problem, upper))
    if keys >= queries:
        lower = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
        assert_agrees(attended(*problem, causal=CAUSAL.LOWER_RIGHT), expected(*problem, lower))


@few
@given(problems(), seeds())
def test_key_value_lengths(problem: Any, rng: Any) -> None:
    batch, keys = problem[0].shape[0], problem[1].shape[2]
    length = rng.integers(1, keys, batch, np.int32, endpoint=True)
    mask = torch.arange(keys) < tensor(length)[:, None, None, None]
    assert_agrees(attended(*problem, key_value_lengths=length), expected(*problem, mask))


@few
@given(problems())
def test_without_normalization(problem: Any) -> None:
    query, key, value = (tensor(array).float() for array in problem)
    shared = query.shape[1] // key.shape[1]
    scores = query @ key.repeat_interleave(shared, 1).mT
    result = scores @ value.repeat_interleave(shared, 1)
    assert_agrees(attended(*problem, norm=NORM.NONE), result.to(tensor(problem[0]).dtype))


def test_hiding_needs_normalization() -> None:
    with pytest.raises(EvaluationError, match="does not say what a hidden position counts"):
        attended(*(np.ones((1, 1, 2, 4), np.float16),) * 3, norm=NORM.NONE, causal=CAUSAL.UPPER_LEFT)


def test_quantized_normalization() -> None:
    rng = np.random.default_rng(0)
    query, key, value = (drawn(rng, (1, 2, 3, 4), np.float16, -1, 1) for _ in range(3))
    scale = np.array(1 / 448, np.float16)
    result = attended(
        query, key, value, normalization_quantize_to_type=trt.DataType.FP8, normalization_quantize_scale=scale
    )
    q, k, v, s = (tensor(array).float() for array in (query, key, value, scale))
    weights = (torch.softmax(q @ k.mT, -1) / s).clamp(-448, 448).to(torch.float8_e4m3fn).float() * s
    assert_agrees(result, (weights @ v).half())
    assert not np.array_equal(result, attended(query, key, value))


def test_both_layers_are_in_the_network() -> None:
    net = Net()
    query = net.input(np.ones((1, 1, 2, 4), np.float32))
    attention = net.network.add_attention(query, query, query, NORM.SOFTMAX, True)
    types = [net.network.get_layer(i).type for i in range(net.network.num_layers)]
    assert types == [trt.LayerType.ATTENTION_INPUT, trt.LayerType.ATTENTION_OUTPUT]
    np.testing.assert_array_equal(net.run(attention.get_output(0)), np.ones((1, 1, 2, 4), np.float32))


FULL = (2, 4, 5, 8), (2, 2, 6, 8), (2, 2, 6, 8)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 3, 5, 8), *FULL[1:]), "divide those of the query"),
        ((FULL[0], FULL[1], (2, 2, 6, 4)), "key and value of one shape"),
        ((FULL[0], (1, 2, 6, 8), (1, 2, 6, 8)), "batch and head size must be equal"),
        (((2, 4, 5, 4), *FULL[1:]), "batch and head size must be equal"),
        (((4, 5, 8), (2, 6, 8), (2, 6, 8)), r"must be \(B, H, S, D\)"),
    ],
)
def test_refused_shapes(shapes: Any, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        attended(*(np.ones(shape, np.float16) for shape in shapes))


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((1, 2, 5, 6), np.float16), "does not broadcast"),
        (np.ones((5, 6), np.float16), "does not broadcast"),
        (np.ones((1, 1, 5, 6), np.float32), "must be bool or of the query's type, float16"),
    ],
)
def test_refused_masks(mask: Any, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        attended(*(np.ones(shape, np.float16) for shape in FULL), mask=mask)


def test_refused_settings() -> None:
    arrays = [np.ones(shape, np.float16) for shape in FULL]
    with pytest.raises(EvaluationError, match="one type"):
        attended(arrays[0], *(array.astype(np.float32) for array in arrays[1:]))
    with pytest.raises(EvaluationError, match="not in int32"):
        attended(*(array.astype(np.int32) for array in arrays))
    with pytest.raises(EvaluationError, match="query_form PACKED_NHD is not evaluated"):
        attended(*arrays, query_form=FORM.PACKED_NHD)
    with pytest.raises(EvaluationError, match="key_value_form PACKED_NHD is not evaluated"):
        attended(*arrays, key_value_form=FORM.PACKED_NHD)
    with pytest.raises(EvaluationError, match="several devices"):
        attended(*arrays, num_ranks=2)


def rotated(
    value: Any, cosines: Any, sines: Any, interleaved: bool = False, partial: int = 0, position_ids: Any = None
) -> Any:
    net = Net()
    layer = net.network.add_rotary_embedding(*map(net.input, (value, cosines, sines)), interleaved, partial)
    if position_ids is not None:
        layer.set_input(3, net.input(position_ids))
    return net.run(layer.get_output(0))


@few
@given(lengths, lengths, lengths, st.integers(1, 4), st.integers(0, 4), st.booleans(), st.booleans(), floats, seeds())
def test_rotary_embedding(
    batch: int,
    heads: int,
    length: int,
    half: int,
    rest: int,
    interleaved: bool,
    by_position: bool,
    dtype: Any,
    rng: Any,
) -> None:
    """Rotation is multiplication of complex numbers."""
    value = drawn(rng, (batch, heads, length, 2 * half + 2 * rest), dtype)
    angles = rng.uniform(0, 6, (9, half) if by_position else (batch, length, half))
    cosines, sines = (np.float32(f(angles)).astype(dtype) for f in (np.cos, np.sin))
    ids = rng.integers(0, 9, (batch, length)) if by_position else None
    result = rotated(value, cosines, sines, interleaved, 2 * half if rest else 0, ids)
    turning = torch.complex(*(tensor(array).float() for array in (cosines, sines)))
    turning = (turning if ids is None else turning[tensor(ids)])[:, None]
    x = tensor(value).float()
    turned, kept = x[..., : 2 * half], x[..., 2 * half :]
    pairs = turned.unflatten(-1, (half, 2)) if interleaved else turned.unflatten(-1, (2, half)).mT
    pairs = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turning)
    turned = (pairs if interleaved else pairs.mT).flatten(-2)
    assert_agrees(result, torch.cat([turned, kept], -1).to(tensor(value).dtype))


@pytest.mark.parametrize(
    ("cache", "ids", "message"),
    [
        ((1, 4, 4), None, r"must be \(2, 4, 4\)"),
        ((2, 4, 2), None, r"must be \(2, 4, 4\)"),
        ((9, 4), np.zeros((2, 3), np.int64), r"position ids must be \(2, 4\)"),
        ((9, 4), np.full((2, 4), 9, np.int64), "from 0 to 8"),
        ((9, 4), np.full((2, 4), -1, np.int64), "from 0 to 8"),
    ],
)
def test_refused_rotation(cache: Any, ids: Any, message: str) -> None:
    caches = (np.ones(cache, np.float32),) * 2
    with pytest.raises(EvaluationError, match=message):
        rotated(np.ones((2, 3, 4, 8), np.float32), *caches, position_ids=ids)
