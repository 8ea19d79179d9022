import torch
from parameterized import parameterized
from torch.testing._internal.common_utils import run_tests
from torch_tensorrt import Input

from .harness import DispatchTestCase

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

# start, end, step
BOUNDS = [
    (2, None, 1),
    (2, INT64_MAX, 1),
    (2, 15, 1),
    (-3, None, 1),
    (-3, INT64_MAX, 1),
    (-15, 5, 1),
    (-15, None, 1),
    (-15, 15, 1),
    (None, -3, 1),
    (None, -15, 1),
    (-5, -2, 1),
    (0, INT64_MAX, 2),
    (1, 8, 3),
    (-15, 15, 4),
    (-3, None, 2),
    (7, 3, 1),
    (3, 3, 1),
    (12, 15, 1),
    (INT64_MIN, INT64_MAX, 1),
    (0, 10, 2**40),
]


class SliceScatter(torch.nn.Module):
    """x[start:end:step] = src along a dimension"""

    def __init__(self, dim, start, end, step):
        super().__init__()
        self.args = (dim, start, end, step)

    def forward(self, x, src):
        return torch.ops.aten.slice_scatter.default(x, src, *self.args) + 1


class Write(torch.nn.Module):
    def __init__(self, key):
        super().__init__()
        self.key = key

    def forward(self, x, src):
        x = x * 2
        x[self.key] = src
        return x


def dynamic(tensor, dim, smallest=1, largest=64):
    """An input of which one dimension is dynamic"""
    low = [smallest if i == dim else size for i, size in enumerate(tensor.shape)]
    high = [largest if i == dim else size for i, size in enumerate(tensor.shape)]
    return Input(
        min_shape=low,
        opt_shape=tuple(tensor.shape),
        max_shape=high,
        dtype=tensor.dtype,
        torch_tensor=tensor,
    )


class TestSliceScatterBounds(DispatchTestCase):
    @parameterized.expand(BOUNDS)
    def test_static(self, start, end, step):
        x = torch.randn(10, 3)
        src = torch.randn(x[start:end:step].shape)
        self.run_test(SliceScatter(0, start, end, step), [x, src])
        y = x.mT.contiguous()
        self.run_test(SliceScatter(-1, start, end, step), [y, src.mT.contiguous()])

    @parameterized.expand(BOUNDS)
    def test_dynamic(self, start, end, step):
        for size in (4, 10, 20):
            x = torch.randn(size, 3)
            src = torch.randn(x[start:end:step].shape)
            self.run_test_with_dynamic_shape(
                SliceScatter(0, start, end, step),
                [dynamic(x, 0), dynamic(src, 0, smallest=0)],
                use_example_tensors=False,
                output_dtypes=[torch.float32],
                check_dtype=False,
            )

    @parameterized.expand([(-3, None, 1), (2, 5, 1), (0, 6, 2)])
    def test_dynamic_with_a_source_of_static_size(self, start, end, step):
        x = torch.randn(2, 10, 3)
        src = torch.randn(2, 3, 3)
        self.run_test_with_dynamic_shape(
            SliceScatter(1, start, end, step),
            [dynamic(x, 1, smallest=6), Input.from_tensor(src)],
            use_example_tensors=False,
        )

    @parameterized.expand([(2, None, 1), (-3, None, 1), (7, 3, 1), (0, None, 2)])
    def test_another_dimension_dynamic(self, start, end, step):
        x = torch.randn(4, 10)
        src = torch.randn(x[:, start:end:step].shape)
        self.run_test_with_dynamic_shape(
            SliceScatter(1, start, end, step),
            [dynamic(x, 0), dynamic(src, 0)],
            use_example_tensors=False,
            output_dtypes=[torch.float32],
            check_dtype=False,
        )

    @parameterized.expand(
        [
            ("strided", 0, 8, 2),
            ("strided_to_the_end", 1, None, 3),
            ("empty", 5, 2, 1),
            ("past_the_end", 6, 20, 1),
            ("last", -1, None, 1),
        ]
    )
    def test_what_could_be_a_kv_cache(self, _, start, end, step):
        """Four static dimensions, of which dimension 2 is written to"""

        class Update(torch.nn.Module):
            def forward(self, cache, src):
                return torch.ops.aten.slice_scatter.default(
                    cache, src, 2, start, end, step
                )

        cache = torch.randn(1, 2, 8, 4)
        src = torch.randn(cache[:, :, start:end:step].shape)
        self.run_test(Update(), [cache, src])

    @parameterized.expand(
        [
            (torch.float16,),
            (torch.int32,),
            (torch.int64,),
        ]
    )
    def test_dtypes(self, dtype):
        x = (torch.randn(10, 3) * 50).to(dtype)
        src = (torch.randn(3, 3) * 50).to(dtype)
        self.run_test(SliceScatter(0, -3, None, 1), [x, src])
        self.run_test_with_dynamic_shape(
            SliceScatter(0, -3, None, 1),
            [dynamic(x, 0, smallest=3), Input.from_tensor(src)],
            use_example_tensors=False,
        )

    @parameterized.expand([(-1,), (-2,), (0,), (9,)])
    def test_one_element(self, index):
        x, src = torch.randn(10, 3), torch.randn(3)
        self.run_test(
            Write(index), [x, src], use_dynamo_tracer=True, enable_passes=True
        )
        self.run_test(
            Write((slice(None), -1)),
            [x, torch.randn(10)],
            use_dynamo_tracer=True,
            enable_passes=True,
        )

    @parameterized.expand([(-1,), (-2,), (0,), (slice(-3, None),), (slice(1, 4),)])
    def test_one_element_of_a_dynamic_dimension(self, key):
        x = torch.randn(10, 3)
        src = torch.randn(x[key].shape)
        self.run_test_with_dynamic_shape(
            Write(key),
            [dynamic(x, 0, smallest=5), Input.from_tensor(src)],
            use_dynamo_tracer=True,
            enable_passes=True,
            use_example_tensors=False,
        )


if __name__ == "__main__":
    run_tests()
