import unittest

import torch
import torch.nn.functional as F
from parameterized import parameterized
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim
from torch.testing._internal.common_utils import TestCase, run_tests
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo.lowering import get_decompositions, pre_export_lowering

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BATCH, LENGTH, HEADS, SIZE = 2, 5, 4, 8


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def heads(x):
    """(N, L, H * E) as an (N, H, L, E) view, as attention layers have it"""
    return x.view(x.shape[0], x.shape[1], -1, SIZE).transpose(1, 2)


def attend(q, k, v, mask=None, **kwargs):
    return F.scaled_dot_product_attention(heads(q), heads(k), heads(v), mask, **kwargs)


def merged(x):
    """(N, H, L, E) as (N, L, H * E), as attention layers end"""
    x = x.transpose(1, 2).contiguous()
    return x.view(x.shape[0], x.shape[1], HEADS * SIZE)


def updated_through_view(x):
    x.transpose(1, 2)[:, 0].mul_(3)
    return x, merged(x)


CONSUMERS = {
    "view": merged,
    "view_after_pointwise": lambda x: merged((x * 2).tanh() + x),
    "view_after_clone": lambda x: merged(x.clone()),
    "view_after_dropout": lambda x: merged(F.dropout(x, 0.5, training=False)),
    "view_as": lambda x: x.transpose(1, 2)
    .contiguous()
    .view_as(torch.empty(BATCH, LENGTH, HEADS * SIZE)),
    "unflatten": lambda x: x.transpose(1, 2).flatten(2).unflatten(2, (HEADS * 2, -1)),
    "squeeze_view": lambda x: x[:1].squeeze(0).transpose(0, 1).contiguous().view(5, 32),
    "add_": lambda x: merged(x.add_(1)),
    "mul_through_view": updated_through_view,
    "as_strided": lambda x: x.as_strided((2, 5, 32), (160, 32, 1)),
    "as_strided_offset": lambda x: x.as_strided((3, 16), (32, 1), 8),
    "as_strided_of_view": lambda x: x[0].as_strided((5, 32), (32, 1)),
    "returned": lambda x: x,
    "returned_twice": lambda x: (x, x.transpose(1, 2), merged(x)),
}

KINDS = {
    "causal": lambda q, k, v, mask: attend(q, k, v, is_causal=True),
    "bool_mask": lambda q, k, v, mask: attend(q, k, v, mask > 0),
    "float_mask": lambda q, k, v, mask: attend(q, k, v, mask),
    "scale": lambda q, k, v, mask: attend(q, k, v, scale=0.5),
    "gqa": lambda q, k, v, mask: attend(
        q, k[..., : 2 * SIZE], v[..., : 2 * SIZE], enable_gqa=True
    ),
}


def in_no_grad(q, k, v):
    with torch.no_grad():
        x = attend(q, k, v)
        x.add_(1)
    return x, merged(x)


def in_set_grad(q, k, v):
    with torch.set_grad_enabled(False):
        x = merged(attend(q, k, v))
    with torch.set_grad_enabled(True):
        return x + merged(attend(q, k, v))


def in_autocast(q, k, v):
    with torch.autocast(DEVICE, enabled=False):
        return merged(attend(q, k, v))


def in_nested_regions(q, k, v):
    with torch.autocast(DEVICE, enabled=False), torch.no_grad():
        return merged(attend(q, k, v))


REGIONS = {
    "no_grad": in_no_grad,
    "set_grad": in_set_grad,
    "autocast": in_autocast,
    "nested": in_nested_regions,
}


def plain(q, k, v):
    return merged(attend(q, k, v))


def branch(q, k, v):
    # As a projection would, this tells torch.cond, which traces its branches with
    # symbolic sizes, how wide the inputs are
    one = torch.eye(HEADS * SIZE, device=DEVICE)
    return plain(q @ one, k @ one, v @ one)


def other_branch(q, k, v):
    with torch.no_grad():
        return branch(q, k, v).neg_()


def inputs(batch=BATCH, length=LENGTH, n=3):
    generator = torch.Generator().manual_seed(0)
    shape = (batch, length, HEADS * SIZE)
    return tuple(torch.randn(shape, generator=generator).to(DEVICE) for _ in range(n))


def export(function, args, dynamic_shapes=None):
    return torch.export.export(Program(function), args, dynamic_shapes=dynamic_shapes)


def lower(program, decompose_attention=True):
    settings = CompilationSettings(decompose_attention=decompose_attention)
    program = pre_export_lowering(program, settings)
    return program.run_decompositions(
        get_decompositions(decompose_attention=decompose_attention)
    )


def targets(program):
    return {
        node.target
        for module in program.graph_module.modules()
        for node in getattr(module, "graph", torch.fx.Graph()).nodes
    }


class TestAttentionLayout(TestCase):
    def check(self, function, args, program=None, dynamic_shapes=None, others=()):
        """The lowered program gives eager's values, shapes, dtypes and strides"""
        lowered = lower(program or export(function, args, dynamic_shapes))
        self.assertNotIn(
            torch.ops.aten.scaled_dot_product_attention.default, targets(lowered)
        )
        for args in (args, *others):
            expected = function(*[x.clone() for x in args])
            actual = lowered.module()(*[x.clone() for x in args])
            # The kernels and the decomposition round differently
            self.assertEqual(actual, expected, atol=1e-4, rtol=1e-4)
            for a, e in zip(
                torch.utils._pytree.tree_leaves(actual),
                torch.utils._pytree.tree_leaves(expected),
            ):
                self.assertEqual(a.stride(), e.stride())

    @parameterized.expand(CONSUMERS)
    def test_consumer(self, name):
        self.check(lambda *qkv: CONSUMERS[name](attend(*qkv)), inputs())

    @parameterized.expand(["view", "add_", "as_strided", "returned"])
    def test_consumer_of_plain_heads(self, name):
        """Contiguous q, k and v, after which only some kernels permute their output"""

        def function(q, k, v):
            q, k, v = (heads(x).contiguous() for x in (q, k, v))
            x = F.scaled_dot_product_attention(q, k, v)
            return CONSUMERS[name](x)

        self.check(function, inputs())

    @parameterized.expand(KINDS)
    def test_kind(self, name):
        mask = torch.randn(LENGTH, LENGTH, device=DEVICE).fill_diagonal_(1)
        self.check(lambda *args: merged(KINDS[name](*args)), (*inputs(), mask))

    @parameterized.expand(["view", "add_", "mul_through_view", "returned_twice"])
    def test_dynamic(self, name):
        shape = {0: Dim("batch", min=1, max=9), 1: Dim("length", min=2, max=9)}
        self.check(
            lambda *qkv: CONSUMERS[name](attend(*qkv, is_causal=True)),
            inputs(),
            dynamic_shapes=((shape, shape, shape),),
            others=(inputs(3, 7), inputs(1, 2)),
        )

    def test_dynamic_shapes_stay_as_they_are(self):
        shape = {0: Dim("batch", min=1, max=9), 1: Dim("length", min=1, max=9)}
        program = export(plain, inputs(), dynamic_shapes=((shape,) * 3,))
        before = dict(program.range_constraints)
        self.assertEqual(lower(program).range_constraints, before)

    @parameterized.expand(REGIONS)
    def test_region(self, name):
        self.check(REGIONS[name], inputs())

    def test_cond(self):
        torch._dynamo.reset()
        program = export(
            lambda q, k, v: torch.cond(q.sum() > 0, branch, other_branch, (q, k, v)),
            inputs(),
        )
        q, k, v = inputs()
        self.check(
            lambda q, *kv: (branch if q.sum() > 0 else other_branch)(q, *kv),
            (q, k, v),
            program,
            others=((-q, k, v),),
        )

    @parameterized.expand(["view", "mul_through_view", "as_strided", "returned"])
    def test_program_lowered_before(self, name):
        def function(*qkv):
            return CONSUMERS[name](attend(*qkv))

        program = lower(export(function, inputs()), decompose_attention=False)
        self.check(function, inputs(), program)

    @parameterized.expand(["view", "mul_through_view", "returned"])
    def test_program_decomposed_before(self, name):
        """PyTorch's own decompositions leave no attention, or a named kernel"""

        def function(*qkv):
            return CONSUMERS[name](attend(*qkv))

        lowered = lower(export(function, inputs()).run_decompositions())
        actual = lowered.module()(*inputs())
        self.assertEqual(actual, function(*inputs()), atol=1e-4, rtol=1e-4)

    @parameterized.expand(["flash", "efficient", "cudnn"])
    def test_kernel_called_by_name(self, kernel):
        op = getattr(torch.ops.aten, f"_scaled_dot_product_{kernel}_attention")
        bias = () if kernel == "flash" else (None, False)

        def function(q, k, v):
            x = op(heads(q), heads(k), heads(v), *bias)[0]
            return x, x.as_strided((BATCH, LENGTH, 32), (160, 32, 1))

        with FakeTensorMode():
            q = torch.empty(2, 5, 32, device="cuda", dtype=torch.float16)
        lowered = lower(export(function, (q, q, q)))
        x, strided = (node.meta["val"] for node in lowered.graph.output_node().args[0])
        self.assertEqual(x.stride(), (160, 8, 32, 1))
        self.assertEqual(strided.shape, (BATCH, LENGTH, 32))
        # Laid out as as_strided takes it to be
        source = lowered.graph.output_node().args[0][1].args[0]
        self.assertEqual(source.meta["val"].shape, (BATCH, LENGTH, HEADS, SIZE))
        self.assertTrue(source.meta["val"].is_contiguous())

    def test_output_keeps_its_name(self):
        program = export(attend, inputs())
        before = program.graph_signature.user_outputs
        lowered = pre_export_lowering(
            program, CompilationSettings(decompose_attention=True)
        )
        self.assertEqual(
            [node.name for node in lowered.graph.output_node().args[0]], list(before)
        )
        self.assertEqual(
            lowered.graph.output_node().args[0][0].target,
            torch.ops.aten.clone.default,
        )

    def test_second_run_changes_nothing(self):
        settings = CompilationSettings(decompose_attention=True)
        program = pre_export_lowering(export(plain, inputs()), settings)
        self.assertIn(torch.ops.aten.clone.default, targets(program))
        before = program.graph_module.code
        program = pre_export_lowering(program, settings)
        self.assertEqual(program.graph_module.code, before)

    def test_attention_that_is_not_decomposed_is_left_alone(self):
        program = export(plain, inputs())
        before = program.graph_module.code
        pre_export_lowering(program, CompilationSettings(decompose_attention=False))
        self.assertEqual(program.graph_module.code, before)
        pre_export_lowering(program, CompilationSettings(decompose_attention=True))
        self.assertNotEqual(program.graph_module.code, before)

    @unittest.skipIf(DEVICE == "cuda", "which kernel runs differs between GPUs")
    def test_contiguous_output_is_left_alone(self):
        def function(q, k, v):
            return attend(q[:, :1], k, v)

        program = export(function, inputs())
        before = program.graph_module.code
        pre_export_lowering(program, CompilationSettings(decompose_attention=True))
        self.assertEqual(program.graph_module.code, before)


if __name__ == "__main__":
    run_tests()
