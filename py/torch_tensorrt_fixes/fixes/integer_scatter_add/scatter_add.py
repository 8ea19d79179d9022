import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch_tensorrt.dynamo.conversion.converter_utils import get_positive_dim
from torch_tensorrt.dynamo.lowering.constant_fold_exclusions.scatter_add import (
    mark_scatter_add_positions,
)

# The comparison of 2**26 int64 pairs takes 0.5 GB where it is not fused with its sum
MAX_SCATTER_ADD_COMPARISONS = 2**26


def read_by_index(src: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """
    Return the part of src that scatter_add reads: as long as index in each dimension.
    """
    for dim, length in enumerate(index.shape):
        if not statically_known_true(src.shape[dim] == length):
            src = torch.narrow(src, dim, 0, length)
    return src


def can_compare_positions(
    input_tensor: torch.Tensor, dim: int, index: torch.Tensor
) -> bool:
    """
    Whether add_at_matching_positions can do a scatter_add. Its sums are exact for
    int32 and int64 only, where the order of additions does not matter; TensorRT's
    limit of 8 dimensions includes the one it adds to index's; and the number of
    comparisons must have an upper bound that does not exceed the maximum.
    """
    return (
        input_tensor.dtype in (torch.int32, torch.int64)
        and index.dim() < 8
        and statically_known_true(
            index.numel() * input_tensor.shape[dim] <= MAX_SCATTER_ADD_COMPARISONS
        )
    )


def add_at_matching_positions(
    input_tensor: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    src_tensor: torch.Tensor,
) -> torch.Tensor:
    """
    scatter_add in a number of nodes that does not depend on any shape: compare every
    index with every position of input_tensor along dim and sum the src of those that
    match. An index out of range matches none, so its src is ignored.

    Args:
        input_tensor (torch.Tensor): int32 or int64, of at least one dimension.
        dim (int): The dimension to scatter along.
        index (torch.Tensor): int32 or int64, of as many dimensions as input_tensor.
        src_tensor (torch.Tensor): Of input_tensor's dtype and index's shape.

    Returns:
        A tensor of input_tensor's shape and dtype.
    """
    dim = get_positive_dim(dim, index.dim())
    with mark_scatter_add_positions():
        positions = torch.arange(
            input_tensor.shape[dim], dtype=index.dtype, device=index.device
        )
    for _ in range(dim, index.dim()):
        positions = positions.unsqueeze(-1)
    matches = index.unsqueeze(dim) == positions
    # Not torch.where, whose converter narrows int64 to int32
    matching = matches.to(src_tensor.dtype) * src_tensor.unsqueeze(dim)
    sums = torch.sum(matching, dim + 1, dtype=input_tensor.dtype)

    for d, size in enumerate(input_tensor.shape):
        if d != dim and not statically_known_true(index.shape[d] == size):
            later_dims = [0, 0] * (input_tensor.dim() - d - 1)
            sums = torch.constant_pad_nd(sums, [*later_dims, 0, size - index.shape[d]])
    return input_tensor + sums
