import operator

import torch
import torch._dynamo.config
import torch.nn.functional as F
import torch_tensorrt  # noqa: F401
from parameterized import parameterized
from torch.testing._internal.common_utils import TestCase, run_tests
from torch_tensorrt.dynamo.lowering.passes.fold_get_attr_item_calls import (
    fold_get_attr_item_calls,
)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# What is tested is the graph ahead of conversion, which PyTorch can run anywhere
IN_PYTORCH = {"min_block_size": 100}


def compiled_in_pytorch(program, dynamic=False):
    return torch.compile(
        program, backend="tensorrt", dynamic=dynamic, options=IN_PYTORCH
    )


def clone(x):
    h = x * 2
    y = h.clone()
    y.add_(1)
    return h - 1, y


def detached_clone(x):
    h = x * 2
    y = h.detach().clone()
    y.add_(1)
    return h - 1, y


def clone_of_input(x):
    y = x.clone()
    y[:, 0] = 0
    return x * 1.5, y


def transposed(x):
    h = x * 2
    y = h.t().contiguous()
    y.mul_(2)
    return h + 1, y


def clone_of_clone(x):
    y = x.clone()
    z = y.clone()
    z.relu_()
    return y + 1, z


def view_of_clone(x):
    y = x.clone()
    y.view(-1)[1:].sub_(5)
    return x.sum(), y


def alias(x):
    # contiguous() and detach() of a contiguous tensor are the tensor
    y = x.clone()
    z = y.contiguous().detach()
    z.add_(1)
    return y * 1, z * 2


def written_before_copy(x):
    y = x.clone()
    y.add_(1)
    z = y.clone()
    y.add_(1)
    return x * 1, y, z


def written_and_original(x):
    y = torch.ops.aten.clone.default(x)
    torch.ops.aten.add_.Tensor(y, 1)
    return x - 1, y


PROGRAMS = [
    clone,
    detached_clone,
    clone_of_input,
    transposed,
    clone_of_clone,
    view_of_clone,
    alias,
    written_before_copy,
    written_and_original,
]
DTYPES = [torch.float32, torch.float16, torch.int32, torch.int64]


class TestCopiesKept(TestCase):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()

    def check(self, program, x, dynamic=False):
        compiled = compiled_in_pytorch(program, dynamic)
        given = x.clone()
        self.assertEqual(compiled(given), program(x.clone()))
        self.assertEqual(given, x)

    @parameterized.expand([(program.__name__, program) for program in PROGRAMS])
    def test_values(self, _, program):
        self.check(program, torch.randn(3, 4, device=DEVICE))

    @parameterized.expand([(program.__name__, program) for program in PROGRAMS])
    def test_values_with_dynamic_shapes(self, _, program):
        self.check(program, torch.randn(3, 4, device=DEVICE), dynamic=True)

    @parameterized.expand([(str(dtype), dtype) for dtype in DTYPES])
    def test_dtypes(self, _, dtype):
        self.check(clone, torch.arange(6, device=DEVICE).view(2, 3).to(dtype))

    def test_empty(self):
        self.check(written_and_original, torch.ones(0, 4, device=DEVICE))

    @parameterized.expand(
        [
            ("clone", lambda x: x.clone()),
            ("beside_another", lambda x: (x.clone(), x * 2)),
            ("detached", lambda x: (x.detach().clone(), x * 2)),
            ("transposed_twice", lambda x: (x.t().contiguous().t().contiguous(), -x)),
        ]
    )
    def test_output_is_no_input(self, _, program):
        x = torch.randn(3, 4, device=DEVICE)
        output = compiled_in_pytorch(program)(x)
        output = output[0] if isinstance(output, (tuple, list)) else output
        self.assertEqual(output, x)
        self.assertNotEqual(output.data_ptr(), x.data_ptr())


class Scaled(torch.nn.Module):
    """Multiplies by a scalar parameter read as ``read`` says"""

    def __init__(self, read):
        super().__init__()
        self.read = read
        self.scale = torch.nn.Parameter(torch.tensor(3.0), requires_grad=False)

    def forward(self, x):
        return x * self.read(self.scale)


def folded(read):
    module = Scaled(read)
    gm = fold_get_attr_item_calls(torch.fx.symbolic_trace(module))
    return gm, [node.target for node in gm.graph.nodes if node.op == "call_method"]


def read_cloned(scale):
    copy = scale.clone()
    return copy.item() * copy


def write(copy):
    copy.add_(1)
    return copy


def write_view(copy):
    copy.view(1).mul_(2)
    return copy


def write_out(copy):
    torch.neg(copy, out=copy)
    return copy


def write_item(copy):
    # copy[()] = 7.0, which a proxy does not support
    copy.tracer.create_proxy("call_function", operator.setitem, (copy, (), 7.0), {})
    return copy


def write_inplace(copy):
    F.elu(copy.neg_(), 1.0, True)
    return copy


class TestItem(TestCase):
    @parameterized.expand(
        [
            ("parameter", lambda scale: scale.item()),
            ("clone", lambda scale: scale.clone().item()),
            ("detach", lambda scale: scale.detach().item()),
            ("chain", lambda scale: scale.detach().clone().contiguous().item()),
        ]
    )
    def test_folds(self, _, read):
        gm, methods = folded(read)
        self.assertEqual(methods, [])
        self.assertEqual(gm(torch.ones(2)), torch.full((2,), 3.0))

    def test_copy_with_another_reader_stays(self):
        gm, methods = folded(read_cloned)
        self.assertEqual(methods, ["clone"])
        self.assertEqual(gm(torch.ones(2)), torch.full((2,), 9.0))

    def test_write_after_item(self):
        def read(scale):
            copy = scale.clone()
            value = copy.item()
            return copy.add_(1) * value

        gm, methods = folded(read)
        self.assertEqual(methods, ["clone", "add_"])
        self.assertEqual(gm(torch.ones(2)), torch.full((2,), 12.0))

    @parameterized.expand(
        [
            ("method", write, 4.0),
            ("view", write_view, 6.0),
            ("out", write_out, -3.0),
            ("item", write_item, 7.0),
            ("inplace", write_inplace, None),
        ]
    )
    def test_write_before_item(self, _, writing, expected):
        def read(scale):
            return writing(scale.clone()).item()

        gm, methods = folded(read)
        self.assertIn("clone", methods)
        self.assertIn("item", methods)
        if expected is not None:
            self.assertEqual(gm(torch.ones(2)), torch.full((2,), expected))

    def test_write_to_parameter_before_item(self):
        def read(scale):
            scale.add_(1)
            return scale.item()

        gm, methods = folded(read)
        self.assertEqual(methods, ["add_", "item"])
        self.assertEqual(gm(torch.ones(2)), torch.full((2,), 4.0))

    def test_torch_compile(self):
        def read(scale):
            return scale.detach().clone().item()

        torch._dynamo.reset()
        module = Scaled(read).to(DEVICE)
        x = torch.randn(3, device=DEVICE)
        with torch._dynamo.config.patch(capture_scalar_outputs=True):
            compiled = compiled_in_pytorch(module)
            self.assertEqual(compiled(x), module(x))


if __name__ == "__main__":
    run_tests()
