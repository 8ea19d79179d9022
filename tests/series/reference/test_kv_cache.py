"""The KV cache update layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt

CACHE = np.zeros((2, 3, 8, 4), np.float16)
UPDATE = np.arange(48, dtype=np.float16).reshape(2, 3, 2, 4) + 1


def updated(net: Net, cache: np.ndarray, update: np.ndarray, places: list[int]) -> Any:
    return net.network.add_kv_cache_update(
        net.input(cache), net.input(update), net.input(places, dtype=np.int32), trt.KVCacheMode.LINEAR
    )


def test_each_batch_element_is_written_at_its_own_place() -> None:
    net = Net()
    result = net.run(updated(net, CACHE, UPDATE, [0, 6]).get_output(0))
    expected = CACHE.copy()
    expected[0, :, 0:2], expected[1, :, 6:8] = UPDATE
    np.testing.assert_array_equal(result, expected)
    assert not net.inputs["input0"].any()


def test_a_packed_update_has_its_own_length_for_each_batch_element() -> None:
    net = Net()
    tokens = np.arange(48, dtype=np.float16).reshape(4, 3, 4) + 1
    layer = updated(net, CACHE, tokens, [2, 0])
    layer.update_form = trt.AttentionIOForm.PACKED_NHD
    layer.update_lengths = net.input([0, 1, 4], dtype=np.int32)
    expected = CACHE.copy()
    expected[0, :, 2:3] = tokens[:1].transpose(1, 0, 2)
    expected[1, :, 0:3] = tokens[1:].transpose(1, 0, 2)
    np.testing.assert_array_equal(net.run(layer.get_output(0)), expected)


@pytest.mark.parametrize(
    ("update", "places", "message"),
    [
        (UPDATE, [0, 7], r"goes to \[7, 9\), but the cache has room for \[0, 8\)"),
        (UPDATE, [-1, 0], r"goes to \[-1, 1\)"),
        (UPDATE[:, :2], [0, 0], r"update must be \[2, 3, tokens, 4\]"),
        (UPDATE.astype(np.float32), [0, 0], "must have one type, not float16, float32"),
    ],
)
def test_an_update_that_does_not_fit_is_refused(update: np.ndarray, places: list[int], message: str) -> None:
    net = Net()
    layer = updated(net, CACHE, update, places)
    with pytest.raises(EvaluationError, match=f"KV_CACHE_UPDATE layer.*{message}"):
        net.run(layer.get_output(0))


def test_lengths_that_do_not_add_up_are_refused() -> None:
    net = Net()
    layer = updated(net, CACHE, np.zeros((4, 3, 4), np.float16), [0, 0])
    layer.update_form = trt.AttentionIOForm.PACKED_NHD
    layer.update_lengths = net.input([0, 1, 3], dtype=np.int32)
    with pytest.raises(EvaluationError, match=r"lengths \[0, 1, 3\] must rise from 0 to the 4 tokens in 2 steps"):
        net.run(layer.get_output(0))
