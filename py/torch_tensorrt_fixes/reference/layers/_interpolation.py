"""Which neighbours a place between elements is made of, and how much of each."""

from __future__ import annotations

import numpy as np

from ..dtypes import Array

Taps = tuple[Array, Array]  # positions of the neighbours and their shares, both with one more axis than the places


def linear_taps(places: Array) -> Taps:
    """The elements on either side."""
    first = np.floor(places)
    share = places - first
    return np.stack([first, first + 1], -1), np.stack([1 - share, share], -1)


def cubic_taps(places: Array, a: float) -> Taps:
    """Two elements on either side, by Keys' cubic convolution with coefficient `a`."""
    first = np.floor(places)
    taps = np.stack([first - 1, first, first + 1, first + 2], -1)
    distance = np.abs(places[..., None] - taps)
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return taps, np.where(distance <= 1, near, far)
