from unittest import mock

import torch
from parameterized import parameterized
from torch.testing._internal.common_utils import run_tests
from torch_tensorrt import Input
from torch_tensorrt.dynamo.conversion import DYNAMO_CONVERTERS, aten_ops_converters

from .harness import DispatchTestCase

SHAPE = (3, 5, 4, 2)

# (rank of h, dims of the mask, dims before it): every place that a mask may have
PLACES = [
    (rank, dims, before)
    for rank in range(1, 5)
    for dims in range(1, min(rank, 3) + 1)
    for before in range(rank - dims + 1)
]


class IndexPut(torch.nn.Module):
    """h[indices] = values, where "mask" stands for the mask among the indices"""

    def __init__(self, *indices):
        super().__init__()
        self.indices = indices

    def forward(self, h, values, mask):
        indices = [mask if index == "mask" else index for index in self.indices]
        return torch.ops.aten.index_put.default(h, indices, values)


class IndexPutBesideIndex(torch.nn.Module):
    """h[indices] = values, where "mask" and "index" stand for the two inputs"""

    def __init__(self, *indices):
        super().__init__()
        self.indices = indices

    def forward(self, h, values, mask, index):
        inputs = {"mask": mask, "index": index, None: None}
        indices = [inputs[name] for name in self.indices]
        return torch.ops.aten.index_put.default(h, indices, values)


class IndexPutConstant(torch.nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, h, values):
        return torch.ops.aten.index_put.default(h, [self.mask], values)


class MaskedAdd(torch.nn.Module):
    def forward(self, h, values, mask):
        h = h.clone()
        h[mask, :] += values
        return h


class MaskedRead(torch.nn.Module):
    def forward(self, h, mask):
        return torch.ops.aten.index.Tensor(h, [None, mask])


def make_mask(shape, count):
    mask = torch.zeros(shape, dtype=torch.bool)
    mask.view(-1)[torch.randperm(mask.numel())[:count]] = True
    return mask


def numbers(*shape, dtype=torch.float32):
    return (torch.randn(shape) * 50).to(dtype)


def dynamic(tensor, min_shape, max_shape):
    return Input(
        min_shape=min_shape,
        opt_shape=tuple(tensor.shape),
        max_shape=max_shape,
        dtype=tensor.dtype,
        torch_tensor=tensor,
    )


class TestIndexPutMask(DispatchTestCase):
    @parameterized.expand(PLACES)
    def test_mask_at_every_place(self, rank, dims, before):
        shape = SHAPE[:rank]
        h = numbers(*shape)
        mask = make_mask(shape[before : before + dims], 2)
        module = IndexPut(*[None] * before, "mask")
        values = numbers(*h[(slice(None),) * before + (mask,)].shape)
        self.run_test(module, [h, values, mask], use_dynamo_tracer=True)
        self.run_test(module, [h, numbers(), mask], use_dynamo_tracer=True)

    @parameterized.expand([(2,), (2, 2), (1, 2, 2), (3, 1, 2), (3, 1, 1), (1,)])
    def test_values_behind_another_dimension(self, *values_shape):
        inputs = [numbers(3, 5, 4, 2), numbers(*values_shape), make_mask((5, 4), 2)]
        self.run_test(IndexPut(None, "mask"), inputs, use_dynamo_tracer=True)

    @parameterized.expand(
        [
            ("none_true", (0, 4), 0),
            ("all_true", (15, 4), 15),
            ("one_row", (1, 4), 7),
            ("one_row_for_none", (1, 4), 0),
            ("one_column", (7, 1), 7),
            ("one_number", (1,), 7),
            ("columns", (4,), 7),
        ]
    )
    def test_counts_and_values(self, _, values_shape, count):
        mask = make_mask((3, 5), count)
        inputs = [numbers(3, 5, 4), numbers(*values_shape), mask]
        self.run_test(IndexPut("mask"), inputs, use_dynamo_tracer=True)

    @parameterized.expand(
        [
            ("float16", torch.float16),
            ("int32", torch.int32),
            ("int64", torch.int64),
        ]
    )
    def test_dtypes(self, _, dtype):
        mask = make_mask((3, 5), 7)
        for values in (numbers(7, 4, dtype=dtype), numbers(dtype=dtype)):
            inputs = [numbers(3, 5, 4, dtype=dtype), values, mask]
            self.run_test(IndexPut("mask"), inputs, use_dynamo_tracer=True)

    @parameterized.expand(
        [
            ("mask_index", ("mask", "index"), (5,), 3),
            ("index_mask", ("index", "mask"), (4,), 3),
            ("mask_one_index", ("mask", "index"), (5,), 1),
            ("behind", (None, "mask", "index"), (4,), 3),
            ("apart", ("mask", None, "index"), (5,), 3),
            ("mask2d_index", ("mask", "index"), (5, 4), 3),
            ("index_mask2d", ("index", "mask"), (4, 3), 3),
        ]
    )
    def test_beside_an_index(self, _, indices, mask_shape, elements):
        h = numbers(5, 4, 3, 2)
        mask = make_mask(mask_shape, 3)
        module = IndexPutBesideIndex(*indices)
        index = torch.arange(elements)
        inputs = {"mask": mask, "index": index, None: slice(None)}
        values = numbers(*h[tuple(inputs[name] for name in indices)].shape)
        self.run_test(module, [h, values, mask, index], use_dynamo_tracer=True)
        self.run_test(module, [h, numbers(), mask, index], use_dynamo_tracer=True)

    def test_two_masks(self):
        h, rows, columns = numbers(5, 4, 2), make_mask((5,), 3), make_mask((4,), 3)
        module = IndexPutBesideIndex("mask", "index")
        for values in (numbers(3, 2), numbers()):
            self.run_test(module, [h, values, rows, columns], use_dynamo_tracer=True)

    def test_constant_mask(self):
        inputs = [numbers(5, 4), numbers(3, 4)]
        module = IndexPutConstant(make_mask((5,), 3))
        self.run_test(module, inputs, use_dynamo_tracer=True)

    def test_add_to_the_rows_of_a_mask(self):
        mask = make_mask((1, 6), 4)
        inputs = [numbers(1, 6, 8), numbers(4, 8), mask]
        self.run_test(MaskedAdd(), inputs, use_dynamo_tracer=True, enable_passes=True)

    @parameterized.expand([((5, 4),), ((5, 4, 2),)])
    def test_read_behind_another_dimension(self, mask_shape):
        inputs = [numbers(*SHAPE), make_mask(mask_shape, 7)]
        self.run_test(MaskedRead(), inputs, use_dynamo_tracer=True)

    @parameterized.expand([((7, 4),), ((1, 4),), ((),)])
    def test_dynamic_h(self, values_shape):
        self.run_dynamic(
            IndexPut("mask"),
            h=dynamic(numbers(3, 5, 4), (1, 2, 4), (6, 8, 4)),
            values=Input.from_tensor(numbers(*values_shape)),
            mask=dynamic(make_mask((3, 5), 7), (1, 2), (6, 8)),
        )

    def test_dynamic_rows(self):
        self.run_dynamic(
            IndexPut("mask"),
            h=Input.from_tensor(numbers(3, 5, 4)),
            values=dynamic(numbers(7, 4), (2, 4), (15, 4)),
            mask=Input.from_tensor(make_mask((3, 5), 7)),
        )

    @parameterized.expand([((2, 4),), ((1, 2, 4),), ((1,),)])
    def test_dynamic_free_dimension(self, values_shape):
        self.run_dynamic(
            IndexPut(None, "mask"),
            h=dynamic(numbers(3, 5, 4), (2, 5, 4), (6, 5, 4)),
            values=Input.from_tensor(numbers(*values_shape)),
            mask=Input.from_tensor(make_mask((5,), 2)),
        )

    def test_dynamic_free_dimension_of_values(self):
        self.run_dynamic(
            IndexPut(None, "mask"),
            h=dynamic(numbers(3, 5, 4), (2, 5, 4), (6, 5, 4)),
            values=dynamic(numbers(3, 2, 4), (2, 2, 4), (6, 2, 4)),
            mask=Input.from_tensor(make_mask((5,), 2)),
        )

    def run_dynamic(self, module, **inputs):
        self.run_test_with_dynamic_shape(
            module,
            list(inputs.values()),
            use_dynamo_tracer=True,
            use_example_tensors=False,
        )

    def test_accumulate_with_a_mask_stays_in_pytorch(self):
        """On a host that has the plugin for other indices"""

        class Accumulate(torch.nn.Module):
            def forward(self, h, values, index):
                return torch.ops.aten.index_put.default(h, [index], values, True)

        features = aten_ops_converters.ENABLED_FEATURES._replace(tensorrt_rtx=False)
        found = {}
        for index in (make_mask((5,), 3), torch.arange(3)):
            program = torch.export.export(
                Accumulate(), (numbers(5, 4), numbers(3, 4), index)
            )
            (node,) = [n for n in program.graph.nodes if n.op == "call_function"]
            with mock.patch.multiple(
                aten_ops_converters,
                ENABLED_FEATURES=features,
                _scatter_add_plugin_available=lambda: True,
            ):
                found[index.dtype] = node in DYNAMO_CONVERTERS
        self.assertEqual(found, {torch.bool: False, torch.int64: True})


if __name__ == "__main__":
    run_tests()
