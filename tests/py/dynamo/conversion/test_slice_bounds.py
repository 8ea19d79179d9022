import torch
from parameterized import parameterized
from torch.testing._internal.common_utils import run_tests
from torch_tensorrt import Input

from .harness import DispatchTestCase

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

# The bounds that a modulo gets wrong on a dimension of size 10, with some that it
# gets right, and slices whose bounds cross
BOUNDS = [
    (None, None, 1),
    (-15, None, 1),
    (None, -15, 1),
    (-15, -3, 1),
    (-15, 5, 1),
    (-15, -15, 1),
    (3, -15, 1),
    (-15, None, 3),
    (-15, -1, 4),
    (7, 3, 1),
    (-2, -5, 1),
    (8, 2, 3),
    (12, 15, 1),
    (15, None, 2),
    (INT64_MIN, INT64_MAX, 1),
    (INT64_MIN + 1, -10, 2),
    (-10, None, 1),
    (-10, -1, 1),
    (2, -2, 3),
    (0, 10, 4),
]

DTYPES = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.int64,
    torch.bool,
]


class Slice(torch.nn.Module):
    def __init__(self, dim, start, stop, step):
        super().__init__()
        self.args = (dim, start, stop, step)

    def forward(self, x):
        return torch.ops.aten.slice.Tensor(x, *self.args)


class TestSliceBounds(DispatchTestCase):
    @parameterized.expand(BOUNDS)
    def test_first_dimension(self, start, stop, step):
        x = torch.arange(30, dtype=torch.float32).reshape(10, 3)
        self.run_test(Slice(0, start, stop, step), [x])

    @parameterized.expand(BOUNDS)
    def test_last_dimension(self, start, stop, step):
        x = torch.arange(30, dtype=torch.float32).reshape(3, 10)
        self.run_test(Slice(-1, start, stop, step), [x])

    @parameterized.expand(
        [
            (str(dtype), dtype, start, stop)
            for dtype in DTYPES
            for start, stop in [(-15, None), (3, -15)]
        ]
    )
    def test_dtypes(self, _, dtype, start, stop):
        x = torch.arange(20).reshape(10, 2).to(dtype)
        self.run_test(Slice(0, start, stop, 1), [x])

    @parameterized.expand([(-3, None, 1), (None, -3, 1), (2, 5, 2), (-1, 0, 1)])
    def test_empty_dimension(self, start, stop, step):
        self.run_test(Slice(0, start, stop, step), [torch.zeros(0, 4)])

    def test_window_longer_than_the_cache(self):
        keys = torch.arange(40, dtype=torch.float32).reshape(1, 2, 5, 4)
        self.run_test(Slice(2, -7, None, 1), [keys])

    @parameterized.expand(BOUNDS)
    def test_other_dimension_dynamic(self, start, stop, step):
        rows = Input(
            min_shape=(1, 10),
            opt_shape=(2, 10),
            max_shape=(4, 10),
            dtype=torch.float32,
            torch_tensor=torch.arange(20, dtype=torch.float32).reshape(2, 10),
        )
        self.run_test_with_dynamic_shape(Slice(1, start, stop, step), [rows])


if __name__ == "__main__":
    run_tests()
