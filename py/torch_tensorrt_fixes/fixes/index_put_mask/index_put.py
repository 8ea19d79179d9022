"""Donor for conversion/impl/select.py."""

from typing import Optional, Sequence

from tensorrt import ITensor
from torch.fx.node import Target
from torch_tensorrt.dynamo._SourceIR import SourceIR
from torch_tensorrt.dynamo.conversion import impl
from torch_tensorrt.dynamo.conversion._ConversionContext import ConversionContext


def move_rows_first(
    ctx: ConversionContext,
    target: Target,
    source_ir: Optional[SourceIR],
    name: str,
    values: ITensor,
    indexed_dims: Sequence[int],
    rank: int,
) -> ITensor:
    """
    Bring the values of an index_put into the layout (rows, *free dims).

    PyTorch lays them out as it does the result of indexing: the rows are where the
    indexed dims are if those are adjacent, and in front otherwise.

    Args:
        values (ITensor): The values, which may lack leading dims.
        indexed_dims (Sequence[int]): The dims of the input that have an index, ascending.
        rank (int): The rank of the input.

    Returns:
        The values; of full rank if the rows were not in front already.
    """
    position = indexed_dims[0]
    adjacent = indexed_dims[-1] - position + 1 == len(indexed_dims)
    if position == 0 or not adjacent:
        return values
    values_rank = rank - len(indexed_dims) + 1
    for missing in range(values_rank - len(values.shape)):
        values = impl.unsqueeze.unsqueeze(
            ctx, target, source_ir, f"{name}_pad_{missing}", values, 0
        )
    order = [position] + [dim for dim in range(values_rank) if dim != position]
    return impl.permutation.permute(ctx, target, source_ir, name, values, order)
