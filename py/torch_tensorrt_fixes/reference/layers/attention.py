"""Attention and what goes with it.

An IAttention stands in the network as two layers. The first has all its inputs and computes it here, the second hands
it on.
"""

from __future__ import annotations

import numpy as np

from .._trt import Layer, trt
from ..dtypes import FLOATS, Array, numpy_dtype, widen
from ..registry import Refused, Run, implements
from ._refusals import one_type
from .quantization import quantized
from .softmax import softmax_along


@implements(trt.LayerType.ATTENTION_INPUT)
def attention(layer: Layer) -> Run:
    """softmax(query @ key.T + mask) @ value for query (B, Hq, Sq, D), key and value (B, Hkv, Skv, D): IAttention.

    It does not scale by itself. Each head of key and value serves Hq / Hkv heads of the query. A mask that broadcasts
    to (B, Hq, Sq, Skv) is added, or says with booleans what may be attended to. Causal is j <= i, counted from the
    upper left or the lower right corner. key_value_lengths (B,) hide what comes after them.
    """
    spec = layer.attention
    normalizes, causal = spec.norm_op.name == "SOFTMAX", spec.causal_kind.name
    quantize_to = spec.normalization_quantize_to_type if spec.normalization_quantize_scale is not None else None
    one_type(layer, FLOATS, 0, 1, 2)
    for name in ("query_form", "key_value_form"):
        if getattr(spec, name).name != "PADDED_BHND":
            raise Refused(f"{name} {getattr(spec, name).name} is not evaluated; use PADDED_BHND")
    if spec.num_ranks != 1:
        raise Refused("attention spread over several devices is not evaluated")
    if spec.mask is not None:
        own, query = numpy_dtype(spec.mask.dtype), numpy_dtype(layer.get_input(0).dtype)
        if own not in (np.bool_, query):
            raise Refused(f"the mask is {own}, but must be bool or of the query's type, {query}")

    def visible(queries: int, keys: int, lengths: Array | None) -> Array:
        """Booleans (B or 1, 1, queries or 1, keys): what may be attended to, but for the mask."""
        i, j = np.arange(queries)[:, None], np.arange(keys)
        if causal == "NONE":
            seen = np.ones((1, 1, 1, keys), np.bool_)
        else:
            seen = (j <= i + (keys - queries if causal == "LOWER_RIGHT" else 0))[None, None]
        return seen if lengths is None else seen & (j < lengths[:, None, None, None])

    def run(
        query: Array,
        key: Array,
        value: Array,
        mask: Array | None = None,
        quantize_scale: Array | None = None,
        query_lengths: Array | None = None,
        key_value_lengths: Array | None = None,
    ) -> Array:
        _fitting(query, key, value, mask)
        shared = query.shape[1] // key.shape[1]
        scores = widen(query) @ np.repeat(widen(key), shared, 1).swapaxes(-1, -2)
        seen = visible(query.shape[2], key.shape[2], key_value_lengths)
        if mask is not None and mask.dtype == np.bool_:
            seen = seen & mask
        elif mask is not None:
            scores = scores + widen(mask)
        if normalizes:
            scores = softmax_along(np.where(seen, scores, -np.inf), -1)
        elif not seen.all():
            raise Refused(
                "without normalization TensorRT does not say what a hidden position counts; add the mask instead"
            )
        if quantize_to is not None and quantize_scale is not None:
            scale = widen(quantize_scale)
            scores = quantized(scores / scale, quantize_to).astype(np.float32) * scale
        result: Array = scores @ np.repeat(widen(value), shared, 1)
        return result

    return run


def _fitting(query: Array, key: Array, value: Array, mask: Array | None) -> None:
    given = f"query {query.shape}, key {key.shape}, value {value.shape}"
    if query.ndim != 4 or key.ndim != 4 or key.shape != value.shape:
        raise Refused(f"{given}: they must be (B, H, S, D), key and value of one shape")
    if query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3] or query.shape[1] % key.shape[1]:
        raise Refused(f"{given}: batch and head size must be equal, and the heads of the key divide those of the query")
    scores = (*query.shape[:3], key.shape[2])
    if mask is not None and not (mask.ndim == 4 and all(m in (1, s) for m, s in zip(mask.shape, scores, strict=True))):
        raise Refused(f"the mask {mask.shape} does not broadcast to {scores}")


@implements(trt.LayerType.ATTENTION_OUTPUT)
def attention_output(layer: Layer) -> Run:
    """What the attention computed."""

    def run(result: Array) -> Array:
        return result

    return run


@implements(trt.LayerType.ROTARY_EMBEDDING)
def rotary_embedding(layer: Layer) -> Run:
    """Pairs of elements of the last axis of (B, H, S, D), turned by the angles of given cosines and sines.

    The pairs are neighbours if interleaved, else an element of the first half and one of the second; only the first
    rotary_embedding_dim elements turn, all if that is 0. The cosines are (B, S, half), or (positions, half) from which
    position_ids (B, S) choose. INetworkDefinition's addRotaryEmbedding.
    """
    interleaved, partial = layer.interleaved, layer.rotary_embedding_dim
    one_type(layer, FLOATS, 0, 1, 2)

    def run(value: Array, cosines: Array, sines: Array, position_ids: Array | None = None) -> Array:
        batch, _, length, width = value.shape
        turned = partial or width
        leading = (batch, length) if position_ids is None else cosines.shape[:1]
        if cosines.shape != (*leading, turned // 2) or sines.shape != cosines.shape or turned > width:
            raise Refused(f"cosines and sines must be {(*leading, turned // 2)}, not {cosines.shape} and {sines.shape}")
        if position_ids is not None:
            if position_ids.shape != (batch, length):
                raise Refused(f"the position ids must be {(batch, length)}, not {position_ids.shape}")
            if position_ids.size and not 0 <= position_ids.min() <= position_ids.max() < len(cosines):
                raise Refused(f"the position ids must be from 0 to {len(cosines) - 1}")
            cosines, sines = cosines[position_ids], sines[position_ids]
        cos, sin = widen(cosines)[:, None], widen(sines)[:, None]
        half = turned // 2
        halves = (slice(0, turned, 2), slice(1, turned, 2)) if interleaved else (slice(half), slice(half, turned))
        first, second = halves
        a, b = widen(value)[..., first], widen(value)[..., second]
        result = widen(value).copy()
        result[..., first], result[..., second] = a * cos - b * sin, a * sin + b * cos
        return result

    return run
