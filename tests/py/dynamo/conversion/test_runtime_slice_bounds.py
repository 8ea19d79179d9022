import torch
from parameterized import parameterized
from torch.testing._internal.common_utils import run_tests
from torch_tensorrt import Input

from .harness import DispatchTestCase

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

BOUNDS = [
    (4, 20, 1),
    (None, 48, 1),
    (32, 48, 1),
    (16, 48, 1),
    (20, None, 1),
    (-15, None, 1),
    (None, -15, 1),
    (-15, -3, 1),
    (-15, 5, 1),
    (3, -15, 1),
    (6, 3, 1),
    (-2, -5, 1),
    (8, 2, 3),
    (None, None, 1),
    (None, None, 3),
    (1, None, 2),
    (3, 40, 3),
    (-15, None, 4),
    (-15, -1, 4),
    (0, 10, 2**40),
    (INT64_MIN, INT64_MAX, 1),
    (INT64_MIN + 1, INT64_MAX - 1, 1),
    (2**31 - 1, 2**40, 1),
    (-(2**31), 2**31, 2),
    (INT64_MAX, None, 1),
    (None, INT64_MIN, 1),
    (0, 0, 1),
]


class Slice(torch.nn.Module):
    def __init__(self, dim, start, stop, step):
        super().__init__()
        self.args = (dim, start, stop, step)

    def forward(self, x):
        return torch.ops.aten.slice.Tensor(x, *self.args)


def dynamic(tensor, dim, largest=64):
    """An input of which one dimension is from 1 to largest"""
    smallest = [1 if i == dim else size for i, size in enumerate(tensor.shape)]
    longest = [largest if i == dim else size for i, size in enumerate(tensor.shape)]
    return Input(
        min_shape=smallest,
        opt_shape=tuple(tensor.shape),
        max_shape=longest,
        dtype=tensor.dtype,
        torch_tensor=tensor,
    )


class TestRuntimeSliceBounds(DispatchTestCase):
    def run_at(self, module, tensor, dim):
        """Convert for any size of a dimension, and run at the tensor's"""
        self.run_test_with_dynamic_shape(
            module, [dynamic(tensor, dim)], use_example_tensors=False
        )

    @parameterized.expand(BOUNDS)
    def test_literal_bounds(self, start, stop, step):
        for size in (1, 10, 16, 40):
            x = torch.arange(2.0 * size).reshape(2, size)
            self.run_at(Slice(1, start, stop, step), x, 1)

    @parameterized.expand([(4, 20, 1), (-15, None, 1), (6, 3, 1), (1, None, 2)])
    def test_first_dimension_as_a_negative_one(self, start, stop, step):
        x = torch.arange(30.0).reshape(10, 3)
        self.run_at(Slice(-2, start, stop, step), x, 0)

    @parameterized.expand(
        [
            (torch.float16,),
            (torch.bfloat16,),
            (torch.int32,),
            (torch.int64,),
            (torch.bool,),
        ]
    )
    def test_dtypes(self, dtype):
        x = torch.arange(20).reshape(10, 2).to(dtype)
        self.run_at(Slice(0, -15, 7, 2), x, 0)

    @parameterized.expand([(2, 20), (-15, None), (6, 3)])
    def test_another_dimension_dynamic(self, start, stop):
        keys = Input(
            min_shape=(1, 2, 1, 4),
            opt_shape=(2, 2, 10, 4),
            max_shape=(4, 2, 64, 4),
            dtype=torch.float32,
            torch_tensor=torch.randn(3, 2, 10, 4),
        )
        self.run_test_with_dynamic_shape(
            Slice(2, start, stop, 1), [keys], use_example_tensors=False
        )

    @parameterized.expand(
        [
            # x's first dimension, y's
            (10, 4),
            (10, 10),
            (4, 10),
            (1, 7),
        ]
    )
    def test_bounds_that_are_sizes(self, x_size, y_size):
        class Slices(torch.nn.Module):
            def forward(self, x, y):
                size = torch.ops.aten.sym_size.int(y, 0)
                return (
                    torch.ops.aten.slice.Tensor(x, 0, 0, size),
                    torch.ops.aten.slice.Tensor(x, 0, size),
                    torch.ops.aten.slice.Tensor(x, 0, size, 3),
                    torch.ops.aten.slice.Tensor(x, 0, -3, size, 2),
                    torch.ops.aten.slice.Tensor(x, 0, size, -3),
                )

        tensors = (torch.randn(x_size, 3), torch.randn(y_size))
        self.run_test_with_dynamic_shape(
            Slices(),
            [dynamic(tensor, 0) for tensor in tensors],
            use_example_tensors=False,
            output_dtypes=[torch.float32] * 5,
            check_dtype=False,
        )

    @parameterized.expand([(4,), (10,), (15,)])
    def test_bounds_that_are_sizes_on_a_static_dimension(self, size):
        class Slices(torch.nn.Module):
            def forward(self, x, y):
                size = torch.ops.aten.sym_size.int(y, 0)
                return (
                    torch.ops.aten.slice.Tensor(x, 0, 0, size),
                    torch.ops.aten.slice.Tensor(x, 0, size),
                    torch.ops.aten.slice.Tensor(x, 0, -3, size),
                )

        self.run_test_with_dynamic_shape(
            Slices(),
            [Input.from_tensor(torch.randn(10, 3)), dynamic(torch.randn(size), 0)],
            use_example_tensors=False,
            output_dtypes=[torch.float32] * 3,
            check_dtype=False,
        )

    def test_a_size_that_export_knows_is_static(self):
        class Heads(torch.nn.Module):
            def forward(self, x):
                # Reshaping needs a static size
                return x[:, :3].reshape(2, -1), x[:, -3:].reshape(2, -1)

        x = Input(min_shape=(2, 4, 5), opt_shape=(2, 8, 5), max_shape=(2, 16, 5))
        self.run_test_with_dynamic_shape(Heads(), [x], use_dynamo_tracer=True)


if __name__ == "__main__":
    run_tests()
