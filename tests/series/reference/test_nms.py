"""Non-maximum suppression, by hand and against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from against_torch import few, lengths, seeds
from hypothesis import given
from hypothesis import strategies as st
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError
from torch_tensorrt_fixes.reference._trt import trt

FORMAT = trt.BoundingBoxFormat


def suppressed(
    boxes: Any, scores: Any, most: int = 9, overlap: Any = None, score: Any = None, **attributes: Any
) -> list[Any]:
    net = Net()
    layer = net.network.add_nms(net.input(boxes), net.input(scores), net.input(np.array(most, np.int32)))
    for place, threshold in ((3, overlap), (4, score)):
        if threshold is not None:
            layer.set_input(place, net.input(np.array(threshold, np.float32)))
    for name, setting in attributes.items():
        setattr(layer, name, setting)
    selected, count = net.run(layer.get_output(0), layer.get_output(1))
    assert selected.dtype == count.dtype == np.int32 and count == len(selected)
    return selected.tolist()


# Two boxes that share a third of their union, and one apart; all of one class.
BOXES = np.array([[[0, 0, 2, 2], [1, 0, 3, 2], [5, 5, 6, 6]]], np.float32)
SCORES = np.array([[[0.9], [0.8], [0.7]]], np.float32)


def test_a_box_that_overlaps_a_better_one_is_dropped() -> None:
    assert suppressed(BOXES, SCORES) == [[0, 0, 0], [0, 0, 2]]
    assert suppressed(BOXES, SCORES, overlap=0.3) == [[0, 0, 0], [0, 0, 2]]
    assert suppressed(BOXES, SCORES, overlap=0.34) == [[0, 0, 0], [0, 0, 1], [0, 0, 2]]


def test_limits() -> None:
    assert suppressed(BOXES, SCORES, most=1) == [[0, 0, 0]]
    assert suppressed(BOXES, SCORES, most=0) == []
    assert suppressed(BOXES, SCORES, score=0.75) == [[0, 0, 0]]
    assert suppressed(BOXES, SCORES, score=0.95) == []
    assert suppressed(BOXES, SCORES, topk_box_limit=2) == [[0, 0, 0]]


def test_any_two_opposite_corners_or_a_centre() -> None:
    turned = BOXES[..., [2, 1, 0, 3]]
    centred = np.array([[[1, 1, 2, 2], [2, 1, 2, 2], [5.5, 5.5, 1, 1]]], np.float32)
    assert suppressed(turned, SCORES) == suppressed(BOXES, SCORES)
    assert suppressed(centred, SCORES, bounding_box_format=FORMAT.CENTER_SIZES) == suppressed(BOXES, SCORES)


def test_classes_do_not_suppress_each_other() -> None:
    scores = np.array([[[0.9, 0], [0, 0.8], [0, 0]]], np.float32)
    assert suppressed(BOXES, scores) == [[0, 0, 0], [0, 1, 1]]


@few
@given(lengths, lengths, lengths, seeds(), st.sampled_from([0, 0.2, 0.5]), st.booleans())
def test_definition(batch: int, count: int, classes: int, rng: Any, threshold: float, per_class: bool) -> None:
    """No two kept boxes of a class overlap too much, and every box that is not kept overlaps a better one that is."""
    start = rng.integers(0, 4, (batch, count, *((classes,) if per_class else ()), 2))
    boxes = np.concatenate([start, start + rng.integers(1, 4, start.shape)], -1).astype(np.float32)
    scores = rng.permutation(batch * count * classes).reshape(batch, count, classes).astype(np.float32) + 1

    def overlap(item: int, kind: int, one: int, other: int) -> float:
        a, b = (boxes[item, box, kind] if per_class else boxes[item, box] for box in (one, other))
        width, height = (min(a[i + 2], b[i + 2]) - max(a[i], b[i]) for i in (0, 1))
        common = max(width, 0) * max(height, 0)
        areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
        return float(common / (sum(areas) - common))

    kept = suppressed(boxes, scores, overlap=threshold)
    order = [(item, -scores[item, box, kind]) for item, kind, box in kept]
    assert order == sorted(order)
    for item, kind, box in np.ndindex(batch, classes, count):
        better = [k for k in kept if k[:2] == [item, kind] and scores[item, k[2], kind] > scores[item, box, kind]]
        clashes = any(overlap(item, kind, box, other) > np.float32(threshold) for _, _, other in better)
        assert ([item, kind, box] in kept) != clashes


@pytest.mark.parametrize("shape", [(1, 2, 4), (1, 3, 2, 4)])
def test_refused_boxes(shape: Any) -> None:
    with pytest.raises(EvaluationError, match=r"boxes must be \(B, N, 4\) or"):
        suppressed(np.ones(shape, np.float32), SCORES)


def test_refused_types() -> None:
    with pytest.raises(EvaluationError, match="one type"):
        suppressed(BOXES, SCORES.astype(np.float16))
