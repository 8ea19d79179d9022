import torch
from parameterized import parameterized
from torch.testing._internal.common_utils import run_tests
from torch_tensorrt import Input

from .harness import DispatchTestCase

OPERATORS = [
    ("sort", lambda x: torch.sort(x)),
    ("sort_descending", lambda x: torch.sort(x, dim=0, descending=True)),
    ("sort_indices", lambda x: (torch.sort(x, dim=-1).indices,)),
    ("topk", lambda x: torch.topk(x, 3)),
    ("topk_smallest", lambda x: torch.topk(x, 3, largest=False)),
    ("topk_unsorted", lambda x: torch.topk(x, 1, dim=0, sorted=False)),
    ("topk_all", lambda x: torch.topk(x, 7)),
    ("topk_none", lambda x: torch.topk(x, 0)),
    ("argmax_last", lambda x: (torch.argmax(x, -1),)),
    ("argmax_last_kept", lambda x: (torch.argmax(x, -1, keepdim=True),)),
    ("argmin_last", lambda x: (torch.argmin(x, -1),)),
    ("argmin_last_kept", lambda x: (torch.argmin(x, -1, keepdim=True),)),
    ("argmin_first", lambda x: (torch.argmin(x, 0),)),
    ("argmax", lambda x: (torch.argmax(x),)),
]

# Converted at any length; a sort of dynamic length stays in PyTorch
OF_DYNAMIC_LENGTH = [
    (name, operator)
    for name, operator in OPERATORS
    if name not in ("sort", "sort_descending", "sort_indices")
]

OF_AN_ELEMENT = [
    ("topk", lambda x: torch.topk(x, 1)),
    ("topk_smallest", lambda x: torch.topk(x, 1, dim=0, largest=False)),
    ("argmax", lambda x: (torch.argmax(x),)),
    ("argmax_first", lambda x: (torch.argmax(x, 0),)),
    ("argmin_last", lambda x: (torch.argmin(x, -1),)),
    ("argmin_last_kept", lambda x: (torch.argmin(x, -1, keepdim=True),)),
]

DTYPES = [torch.float32, torch.float16, torch.int32]


class Operator(torch.nn.Module):
    def __init__(self, operator):
        super().__init__()
        self.operator = operator

    def forward(self, x):
        return tuple(self.operator(x))


def shuffled(length, dtype=torch.float32):
    """The integers around zero, each once, in any order"""
    return (torch.randperm(length) - length // 2).to(dtype)


class TestSortOneDimension(DispatchTestCase):
    @parameterized.expand(
        [(f"{n}_{str(d)[6:]}", op, d) for n, op in OPERATORS for d in DTYPES]
    )
    def test_vector(self, _, operator, dtype):
        self.run_test(
            Operator(operator),
            [shuffled(7, dtype)],
            use_dynamo_tracer=True,
            propagate_shapes=True,
        )

    @parameterized.expand(OF_DYNAMIC_LENGTH)
    def test_vector_of_dynamic_length(self, _, operator):
        for length in (7, 12, 40):
            spec = Input(
                min_shape=(7,),
                opt_shape=(12,),
                max_shape=(40,),
                dtype=torch.float32,
                torch_tensor=shuffled(length),
            )
            self.run_test_with_dynamic_shape(
                Operator(operator),
                [spec],
                use_dynamo_tracer=True,
                use_example_tensors=False,
            )

    @parameterized.expand(OF_AN_ELEMENT)
    def test_tensor_of_no_dimensions(self, _, operator):
        self.run_test(
            Operator(operator),
            [torch.tensor(-2.5)],
            use_dynamo_tracer=True,
            propagate_shapes=True,
        )

    @parameterized.expand([("one", 1), ("none", 0)])
    def test_short_vector(self, _, length):
        self.run_test(
            Operator(torch.sort),
            [shuffled(length)],
            use_dynamo_tracer=True,
            propagate_shapes=True,
        )

    def test_one_output_used(self):
        class Scores(torch.nn.Module):
            def forward(self, x):
                return torch.sort(x).values * 2, torch.topk(x, 2).indices

        self.run_test(
            Scores(), [shuffled(7)], use_dynamo_tracer=True, propagate_shapes=True
        )

    @parameterized.expand(OPERATORS)
    def test_rows(self, _, operator):
        self.run_test(
            Operator(operator),
            [shuffled(49).reshape(7, 7)],
            use_dynamo_tracer=True,
            propagate_shapes=True,
        )


if __name__ == "__main__":
    run_tests()
