"""Donor for conversion/impl/slice/ops.py."""


def clamp_slice_bound(bound: int, dim_size: int) -> int:
    """
    Given a static start or stop of a slice, return the position it stands for
    as Python's slicing defines it: a negative bound counts from the end, and a
    bound past either end is clamped to that end.

    Args:
        bound (int): A start or stop of a slice, of any size and sign.
        dim_size (int): The static size of the sliced dimension.

    Returns:
        A position in [0, dim_size].
    """
    if bound < 0:
        bound += dim_size
    return min(max(bound, 0), dim_size)
