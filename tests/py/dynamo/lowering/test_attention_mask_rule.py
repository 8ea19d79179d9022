import torch
from parameterized import parameterized
from torch.nn.functional import scaled_dot_product_attention
from torch.testing._internal.common_utils import TestCase, run_tests
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo.lowering import get_decompositions, post_lowering
from torch_tensorrt.dynamo.lowering.passes.mark_constant_fold_exclusions import (
    mark_constant_fold_exclusions,
)

RULE = "attention_mask_arange"
ARANGE = torch.ops.aten.arange.start_step
MARKS = "_torch_tensorrt_constant_fold_exclusions"
LENGTH = 24

# Made of the positions of the tokens, i, and an input that says which are padding
MASKS = {
    "bool": lambda i, padding: i[:, None] >= i,
    "window": lambda i, padding: (i[:, None] >= i) & (i[:, None] - i < 5),
    "int32": lambda i, padding: i.to(torch.int32)[:, None] >= i,
    "tril": lambda i, padding: torch.ones(len(i), len(i), dtype=torch.bool).tril(),
    "triu": lambda i, padding: torch.full((len(i), len(i)), -10.0).triu(1),
    "float": lambda i, padding: torch.where(i[:, None] >= i, 0.0, float("-inf")),
    "half": lambda i, padding: (i[:, None] - i).half().float() * 0.5,
    "padding": lambda i, padding: (i[:, None] >= i) & padding,
}


def float_range(i, dtype):
    return torch.arange(0.0, len(i), dtype=dtype)[None, :]


# TensorRT could not compute them, or not from integers
FOLDED_MASKS = {
    "float64": lambda i, padding: (0.5 * (i[:, None] - i).double()).float(),
    "also_float64": lambda i, padding: (i[:, None] >= i) & (i.double().sqrt() < 4),
    "int16": lambda i, padding: i.to(torch.int16)[:, None] >= i,
    "float64_range": lambda i, padding: float_range(i, torch.float64) < 20.5,
    "float_range": lambda i, padding: float_range(i, torch.float32) < 20.5,
}


class Attention(torch.nn.Module):
    def __init__(self, make_mask):
        super().__init__()
        self.make_mask = make_mask

    def forward(self, q, k, v, padding):
        mask = self.make_mask(torch.arange(q.shape[2]), padding)
        return scaled_dot_product_attention(q, k, v, attn_mask=mask)


def example_inputs():
    q, k, v = (torch.randn(1, 2, LENGTH, 8) for _ in range(3))
    return q, k, v, torch.arange(LENGTH) < LENGTH - 3


def lower(module, inputs, decompose_attention=True, disabled=()):
    program = torch.export.export(module.eval(), inputs).run_decompositions(
        get_decompositions(decompose_attention=decompose_attention)
    )
    settings = CompilationSettings(
        decompose_attention=decompose_attention,
        disabled_constant_fold_exclusions=disabled,
    )
    return post_lowering(program.module(), settings)


def aranges(graph_module):
    return [n for n in graph_module.graph.nodes if n.target is ARANGE]


class TestAttentionMaskRule(TestCase):
    def setUp(self):
        super().setUp()
        torch.manual_seed(3)

    @parameterized.expand(MASKS.items())
    def test_decomposed(self, _, make_mask):
        module, inputs = Attention(make_mask), example_inputs()
        lowered = lower(module, inputs)
        self.assertTrue(aranges(lowered))
        self.assertEqual(lowered(*inputs), module(*inputs))

    @parameterized.expand(["bool", "tril", "padding"])
    def test_not_decomposed(self, mask):
        module, inputs = Attention(MASKS[mask]), example_inputs()
        lowered = lower(module, inputs, decompose_attention=False)
        self.assertTrue(aranges(lowered))
        self.assertEqual(lowered(*inputs), module(*inputs))

    @parameterized.expand(FOLDED_MASKS.items())
    def test_ranges_that_fold(self, _, make_mask):
        module, inputs = Attention(make_mask), example_inputs()
        lowered = lower(module, inputs)
        self.assertEqual(aranges(lowered), [])
        self.assertEqual(lowered(*inputs), module(*inputs))

    def test_disabled(self):
        module, inputs = Attention(MASKS["bool"]), example_inputs()
        for decompose_attention in (True, False):
            lowered = lower(module, inputs, decompose_attention, disabled={RULE})
            self.assertEqual(aranges(lowered), [])
            self.assertEqual(lowered(*inputs), module(*inputs))

    def test_other_ranges_fold(self):
        class Positions(Attention):
            def forward(self, q, k, v, padding):
                q = q + torch.arange(8)
                return super().forward(q, k, v, padding)

        module, inputs = Positions(MASKS["bool"]), example_inputs()
        lowered = lower(module, inputs)
        self.assertEqual([n.args[:2] for n in aranges(lowered)], [(0, LENGTH)])
        self.assertEqual(lowered(*inputs), module(*inputs))

    @parameterized.expand(
        [
            ("scaled_dot_product_attention", "attn_mask", ()),
            ("_scaled_dot_product_efficient_attention", "attn_bias", (False,)),
            ("_scaled_dot_product_cudnn_attention", "attn_bias", (False,)),
        ]
    )
    def test_attention_operators(self, name, argument, more):
        """By hand: which of them export gives depends on the device."""
        operator = getattr(torch.ops.aten, name).default
        for by_name in (False, True):
            graph = torch.fx.Graph()
            q = graph.placeholder("q")
            positions = graph.call_function(ARANGE, (0, LENGTH))
            positions.meta["val"] = torch.arange(LENGTH)
            mask = graph.call_function(torch.ops.aten.ge.Scalar, (positions, 3))
            mask.meta["val"] = torch.arange(LENGTH) >= 3
            if by_name:
                call = graph.call_function(operator, (q, q, q), {argument: mask})
            else:
                call = graph.call_function(operator, (q, q, q, mask, *more))
            graph.output(call)
            mark_constant_fold_exclusions(torch.fx.GraphModule({}, graph))
            marked = [n for n in graph.nodes if n.meta.get(MARKS)]
            self.assertEqual(marked, [positions])


if __name__ == "__main__":
    run_tests()
