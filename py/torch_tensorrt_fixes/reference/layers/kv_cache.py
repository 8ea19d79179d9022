"""The KV cache update layer.

Sources: the operator documentation of TensorRT for KVCacheUpdate and its page on the KV cache.
"""

from __future__ import annotations

import numpy as np

from .._trt import Layer, trt
from ..dtypes import Array
from ..registry import Refused, Run, has_input, implements, same_dtype


@implements(trt.LayerType.KV_CACHE_UPDATE)
def kv_cache_update(layer: Layer) -> Run:
    """The cache with the update written over it, in batch element i from `write_indices[i]` on.

    The cache is [batch, heads, longest, width]. The update is [batch, heads, tokens, width], or packed: [all tokens,
    heads, width] with the batch elements one after the other and `lengths` [batch + 1] saying where each begins. An
    engine updates the cache in place; here the output is a new array.
    """
    packed = has_input(layer, 3)
    if layer.cache_mode != trt.KVCacheMode.LINEAR:
        raise Refused(f"the cache mode {layer.cache_mode} is not known; LINEAR is")

    def run(cache: Array, update: Array, write_indices: Array, lengths: Array | None = None) -> Array:
        same_dtype(cache, update)
        if cache.ndim != 4 or write_indices.shape != cache.shape[:1]:
            raise Refused("the cache must be [batch, heads, longest, width], the write indices [batch]")
        result = cache.copy()
        for row, first, tokens in zip(result, write_indices.tolist(), _parts(cache, update, lengths), strict=True):
            last = first + tokens.shape[1]
            if first < 0 or last > cache.shape[2]:
                raise Refused(f"the update goes to [{first}, {last}), but the cache has room for [0, {cache.shape[2]})")
            row[:, first:last] = tokens
        return result

    def _parts(cache: Array, update: Array, lengths: Array | None) -> list[Array]:
        batch, heads, _, width = cache.shape
        if not packed or lengths is None:
            if update.ndim != 4 or (*update.shape[:2], update.shape[3]) != (batch, heads, width):
                raise Refused(f"the update must be [{batch}, {heads}, tokens, {width}]")
            return list(update)
        if update.ndim != 3 or update.shape[1:] != (heads, width):
            raise Refused(f"the packed update must be [tokens, {heads}, {width}]")
        bounds = lengths.tolist()
        if len(bounds) != batch + 1 or bounds[0] != 0 or bounds[-1] != len(update) or bounds != sorted(bounds):
            raise Refused(f"the lengths {bounds} must rise from 0 to the {len(update)} tokens in {batch} steps")
        return [part.transpose(1, 0, 2) for part in np.split(update, bounds[1:-1])]

    return run
