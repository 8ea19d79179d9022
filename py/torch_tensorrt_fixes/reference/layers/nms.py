"""Non-maximum suppression."""

from __future__ import annotations

import numpy as np

from .._trt import Layer, trt
from ..dtypes import Array, numpy_dtype, widen
from ..registry import Refused, Run, implements
from ._refusals import Types, one_type

_TYPES: Types = frozenset({np.dtype(np.float32), np.dtype(np.float16)})


def _corners(boxes: Array, centred: bool) -> Array:
    """(..., 4): the lower corner and the upper one."""
    if centred:
        return np.concatenate([boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2], -1)
    return np.concatenate([np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])], -1)


def _overlap(box: Array, others: Array) -> Array:
    """Intersection over union of `box` (4,) with each of `others` (n, 4), all as corners."""
    common = np.prod(np.maximum(np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2]), 0), -1)
    union = np.prod(box[2:] - box[:2]) + np.prod(others[:, 2:] - others[:, :2], -1) - common
    return np.where(union > 0, common / union, 0)


@implements(trt.LayerType.NMS)
def nms(layer: Layer) -> Run:
    """(batch, class, box) of the boxes kept, by batch element and falling score, and their number. INMSLayer.

    Within a batch element, the topk_box_limit best boxes above the score threshold are candidates, whatever their
    class. The best is kept, and every further one that overlaps none kept of its class by more than the IoU threshold.
    """
    centred, limit = layer.bounding_box_format.name == "CENTER_SIZES", layer.topk_box_limit
    indices_dtype = numpy_dtype(layer.get_output(0).dtype)
    one_type(layer, _TYPES, 0, 1)

    def run(
        boxes: Array,
        scores: Array,
        most: Array,
        iou_threshold: Array | None = None,
        score_threshold: Array | None = None,
    ) -> tuple[Array, Array]:
        classes = scores.shape[-1]
        if scores.ndim != 3 or boxes.shape not in ((*scores.shape[:2], 4), (*scores.shape, 4)):
            raise Refused(
                f"boxes must be (B, N, 4) or (B, N, C, 4) for scores (B, N, C), not {boxes.shape} and {scores.shape}"
            )
        most_overlap = 0.0 if iou_threshold is None else float(iou_threshold)
        least_score = 0.0 if score_threshold is None else float(score_threshold)
        corners = _corners(widen(boxes), centred)
        corners = np.broadcast_to(corners if boxes.ndim == 4 else corners[:, :, None], (*scores.shape, 4))
        kept: list[tuple[int, int, int]] = []
        for item, (places, values) in enumerate(zip(corners, widen(scores), strict=True)):
            best = np.argsort(-values, axis=None, kind="stable")
            candidates = best[values.reshape(-1)[best] > least_score][:limit]
            chosen: dict[int, list[int]] = {kind: [] for kind in range(classes)}
            for box, kind in (divmod(int(candidate), classes) for candidate in candidates):
                rivals = places[chosen[kind], kind]
                if len(rivals) < int(most) and (_overlap(places[box, kind], rivals) <= most_overlap).all():
                    chosen[kind].append(box)
                    kept.append((item, kind, box))
        return np.array(kept, indices_dtype).reshape(-1, 3), np.array(len(kept), np.int32)

    return run
