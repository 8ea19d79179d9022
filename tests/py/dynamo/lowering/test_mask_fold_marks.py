import copy
import unittest

import torch
from parameterized import parameterized
from torch.nn.functional import scaled_dot_product_attention
from torch.testing._internal.common_utils import TestCase, run_tests
from torch_tensorrt._features import has_complex_decomposition
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo.lowering import get_decompositions, post_lowering

RULE = "attention_mask_arange"
ARANGE = torch.ops.aten.arange.start_step
LENGTH = 1024

# Made of the positions of the tokens, i, and an input that says which are padding
MASKS = {
    "bool": lambda i, padding: i[:, None] >= i,
    "tril": lambda i, padding: torch.ones(len(i), len(i), dtype=torch.bool).tril(),
    "triu": lambda i, padding: torch.full((len(i), len(i)), -10.0).triu(1),
    "triu_of_product": lambda i, padding: (torch.ones(len(i), len(i)) * -9).triu(1),
    "float": lambda i, padding: torch.where(i[:, None] >= i, 0.0, float("-inf")),
    "filled": lambda i, padding: torch.zeros(len(i), len(i)).masked_fill(
        i[:, None] < i, -10
    ),
    "distance": lambda i, padding: (i[:, None] - i).float() * 0.5,
    "padding": lambda i, padding: (i[:, None] >= i) & padding,
    "filled_padding": lambda i, padding: torch.full((len(i), len(i)), -9.0).masked_fill(
        (i[:, None] >= i) & padding, 0
    ),
}


class Attention(torch.nn.Module):
    def __init__(self, make_mask, layers=1):
        super().__init__()
        self.make_mask = make_mask
        self.layers = layers

    def forward(self, q, k, v, padding):
        mask = self.make_mask(torch.arange(q.shape[2]), padding)
        for _ in range(self.layers):
            q = scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return q


class CausalAttention(torch.nn.Module):
    def forward(self, q, k, v, padding):
        return scaled_dot_product_attention(q, k, v, is_causal=True)


class RotaryAttention(torch.nn.Module):
    """Makes the table of a rotary embedding and the mask of the same positions."""

    def __init__(self, use_complex):
        super().__init__()
        self.use_complex = use_complex

    def forward(self, q, k, v, padding):
        positions = torch.arange(q.shape[2]).unsqueeze(-1)
        angles = positions * torch.tensor([1.0, 0.5])
        x, y = q.unflatten(-1, (-1, 2)).unbind(-1)
        if self.use_complex:
            rotated = torch.complex(x, y) * torch.polar(torch.ones_like(angles), angles)
            q = torch.view_as_real(rotated).flatten(-2)
        else:
            cos, sin = angles.cos(), angles.sin()
            q = torch.cat([x * cos - y * sin, x * sin + y * cos], -1)
        return scaled_dot_product_attention(q, k, v, positions >= positions.mT)


def example_inputs(queries=LENGTH, keys=LENGTH):
    q = torch.randn(1, 2, queries, 4)
    k, v = (torch.randn(1, 2, keys, 4) for _ in range(2))
    return q, k, v, torch.arange(keys) < keys - 3


def decompose(program):
    return program.run_decompositions(get_decompositions(decompose_attention=True))


def lower(module, disabled=(), use_complex_decomposition=False):
    settings = CompilationSettings(
        decompose_attention=True,
        use_complex_decomposition=use_complex_decomposition,
        disabled_constant_fold_exclusions=disabled,
    )
    return post_lowering(module, settings)


def aranges(graph_module):
    return [n for n in graph_module.graph.nodes if n.target is ARANGE]


def largest_attribute(module):
    return max((t.numel() for t in module.state_dict().values()), default=0)


class TestMaskFoldMarks(TestCase):
    def setUp(self):
        super().setUp()
        torch.manual_seed(3)

    def check(self, lowered, module, inputs):
        """That ``lowered`` computes its masks, and what ``module`` does.

        The tables of a rotary embedding, which fold, are the largest attributes.
        """
        self.assertTrue(aranges(lowered))
        self.assertLessEqual(largest_attribute(lowered), 4 * LENGTH)
        output = lowered(*inputs)
        output = output[0] if isinstance(output, (tuple, list)) else output
        self.assertEqual(output, module(*inputs), rtol=1e-4, atol=1e-5)

    @parameterized.expand(MASKS.items())
    def test_masks(self, _, make_mask):
        module, inputs = Attention(make_mask), example_inputs()
        program = decompose(torch.export.export(module, inputs))
        self.check(lower(program.module()), module, inputs)

    def test_two_layers(self):
        module, inputs = Attention(MASKS["bool"], layers=2), example_inputs()
        program = decompose(torch.export.export(module, inputs))
        self.check(lower(program.module()), module, inputs)

    @parameterized.expand([(LENGTH, LENGTH), (40, 900), (900, 40)])
    def test_is_causal(self, queries, keys):
        module, inputs = CausalAttention(), example_inputs(queries, keys)
        program = decompose(torch.export.export(module, inputs))
        self.check(lower(program.module()), module, inputs)

    @parameterized.expand(
        [("mask", Attention(MASKS["bool"])), ("is_causal", CausalAttention())]
    )
    def test_retraced_program(self, _, module):
        inputs = example_inputs()
        program = decompose(torch.export.export(module, inputs))
        for _ in range(2):
            program = copy.deepcopy(decompose(program))
        lowered = lower(copy.deepcopy(program.module()))
        self.check(lowered, module, inputs)

        folded = lower(program.module(), disabled={RULE})
        self.assertEqual(aranges(folded), [])
        self.assertEqual(folded(*inputs), lowered(*inputs))

    @unittest.skipIf(not has_complex_decomposition(), "torch lacks it")
    def test_complex_retrace(self):
        module, inputs = RotaryAttention(use_complex=True), example_inputs()
        program = decompose(torch.export.export(module, inputs))
        lowered = lower(program.module(), use_complex_decomposition=True)
        dtypes = [n.meta["val"].dtype for n in lowered.graph.nodes if "val" in n.meta]
        self.assertFalse(any(dtype.is_complex for dtype in dtypes))
        self.check(lowered, module, inputs)

    def test_other_readers_of_the_ranges_fold(self):
        module, inputs = RotaryAttention(use_complex=False), example_inputs()
        program = decompose(decompose(torch.export.export(module, inputs)))
        lowered = lower(program.module())
        self.check(lowered, module, inputs)
        left = {node.target for node in lowered.graph.nodes}
        self.assertTrue(
            left.isdisjoint({torch.ops.aten.cos.default, torch.ops.aten.sin.default})
        )

    def test_folded_with_the_rule_disabled(self):
        module, inputs = Attention(MASKS["tril"]), example_inputs()
        program = decompose(torch.export.export(module, inputs))
        folded = lower(program.module(), disabled={RULE})
        self.assertEqual(aranges(folded), [])
        self.assertEqual(largest_attribute(folded), LENGTH**2)

    def test_ranges_that_fold(self):
        class Distance(Attention):
            def forward(self, q, k, v, padding):
                return super().forward(q + torch.arange(4), k, v, padding)

        module = Distance(lambda i, padding: (i[:, None] - i).double().float())
        inputs = example_inputs()
        program = decompose(decompose(torch.export.export(module, inputs)))
        lowered = lower(program.module())
        self.assertEqual(aranges(lowered), [])

    def test_uniform_constants_that_stay(self):
        """Whose size the result would lack, or whose reader does not broadcast."""

        class Readers(Attention):
            def forward(self, q, k, v, padding):
                ones = torch.ones(LENGTH, LENGTH)
                output = super().forward(q, k, v, padding)
                row = torch.arange(LENGTH)
                wide = torch.where(row > 3, torch.full((2, LENGTH), 0.5), 0)
                return output + wide.sum(), ones @ output

        def mask(i, padding):
            return i[:, None] >= i

        module, inputs = Readers(mask), example_inputs()
        program = decompose(torch.export.export(module, inputs))
        lowered = lower(program.module())
        for output, wanted in zip(lowered(*inputs), module(*inputs)):
            self.assertEqual(output, wanted, rtol=1e-4, atol=1e-4)
        self.assertEqual(largest_attribute(lowered), LENGTH**2)


if __name__ == "__main__":
    run_tests()
