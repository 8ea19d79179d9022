import torch
from parameterized import parameterized
from torch.export import Dim, export
from torch.testing._internal.common_utils import run_tests
from torch_tensorrt import Input
from torch_tensorrt.dynamo._defaults import default_device
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo.lowering import (
    get_decompositions,
    post_lowering,
    pre_export_lowering,
)

from .harness import DispatchTestCase

SCATTER_ADD = torch.ops.aten.scatter_add.default
SLICE_OF_THE_LOOP = torch.ops.aten.scatter.src
DEVICE = default_device().to(torch.device)


class ScatterAdd(torch.nn.Module):
    """Takes its input, and those of index and src that are not given here."""

    def __init__(self, dim, index=None, src=None):
        super().__init__()
        self.dim = dim
        self.register_buffer("index", index)
        self.register_buffer("src", src)

    def forward(self, x, first=None, second=None):
        given = [first, second]
        index = given.pop(0) if self.index is None else self.index
        src = given.pop(0) if self.src is None else self.src
        # Nothing is left to convert where the input is returned as it is
        return torch.ops.aten.scatter_add.default(x, self.dim, index, src) + 0


def any_integers(shape, dtype):
    """Integers of the whole range of dtype, whose sums overflow."""
    info = torch.iinfo(dtype)
    return torch.randint(info.min, info.max, shape, dtype=dtype)


def decompose(mod, inputs, dynamic_shapes=None):
    inputs = tuple(i.to(DEVICE) for i in inputs)
    program = export(mod.to(DEVICE), inputs, dynamic_shapes=dynamic_shapes)
    program = pre_export_lowering(program, CompilationSettings())
    return program.run_decompositions(get_decompositions())


def lower(mod, inputs, **settings):
    program = decompose(mod, inputs)
    return post_lowering(program.module(), CompilationSettings(**settings))


def targets(program):
    """What the program calls, in the branches of its conditions as well."""
    return [
        node.target
        for module in program.graph_module.modules()
        if isinstance(module, torch.fx.GraphModule)
        for node in module.graph.nodes
        if node.op == "call_function"
    ]


def largest_constant(module):
    return max((p.numel() for p in module.parameters()), default=0)


class TestIntegerScatterAdd(DispatchTestCase):
    def setUp(self):
        super().setUp()
        torch.manual_seed(9)

    def check(self, dim, x, index, src, constant_index=False, constant_src=False):
        mod = ScatterAdd(
            dim, index if constant_index else None, src if constant_src else None
        )
        inputs = [x]
        inputs += [] if constant_index else [index]
        inputs += [] if constant_src else [src]
        self.run_test(
            mod, inputs, rtol=0, atol=0, use_dynamo_tracer=True, enable_passes=True
        )

    @parameterized.expand(
        [
            (dtype, constant_index, constant_src)
            for dtype in (torch.int32, torch.int64)
            for constant_index in (False, True)
            for constant_src in (False, True)
        ]
    )
    def test_sums_wrap(self, dtype, constant_index, constant_src):
        x, src = any_integers((4, 3), dtype), any_integers((9, 3), dtype)
        index = torch.randint(0, 4, (9, 3))
        self.check(0, x, index, src, constant_index, constant_src)

    @parameterized.expand(
        [(-3, True), (-2, True), (-1, False), (0, False), (1, False), (2, True)]
    )
    def test_index_and_src_of_other_sizes(self, dim, constant_index):
        x, src = any_integers((4, 5, 3), torch.int64), any_integers(
            (6, 7, 8), torch.int64
        )
        index = torch.randint(0, 3, (3, 4, 2))
        self.check(dim, x, index, src, constant_index)

    @parameterized.expand([(1,), (2,), (7,), (8,)])
    def test_ranks(self, rank):
        shape = [3, *[2, 1] * 4][:rank]
        x, src = any_integers(shape, torch.int32), any_integers(shape, torch.int32)
        self.check(0, x, torch.randint(0, 3, shape), src)

    def test_many_updates_of_one_element(self):
        x, src = torch.zeros(5, dtype=torch.int64), torch.arange(-9, 21)
        self.check(0, x, torch.full((30,), 3), src)

    def test_index_of_int32(self):
        x, src = torch.arange(6), torch.arange(5)
        self.check(0, x, torch.tensor([4, 1, 4, 0, 5], dtype=torch.int32), src)

    @parameterized.expand(
        [((4, 3), (0, 3), (2, 3)), ((4, 3), (0, 9), (2, 2)), ((4, 3), (2, 0), (2, 0))]
    )
    def test_no_index(self, shape, index_shape, src_shape):
        x, src = any_integers(shape, torch.int64), any_integers(src_shape, torch.int64)
        index = torch.zeros(index_shape, dtype=torch.int64)
        self.check(0, x, index, src, constant_index=True, constant_src=True)

    @parameterized.expand([((), ()), ((), (1,)), ((1,), ())])
    def test_numbers(self, shape, index_shape):
        inputs = [
            torch.full(shape, 3),
            torch.zeros(index_shape, dtype=torch.int64),
            torch.full(index_shape, 4),
        ]
        result = lower(ScatterAdd(-1), inputs)(*(i.to(DEVICE) for i in inputs))
        self.assertEqual(result.cpu(), torch.full(shape, 7))

    def check_dynamic(self, *specs):
        class DynamicScatterAdd(torch.nn.Module):
            def forward(self, x, src):
                return torch.scatter_add(x, 0, src % 4, src)

        self.run_test_with_dynamic_shape(
            DynamicScatterAdd(), specs, rtol=0, atol=0, use_dynamo_tracer=True
        )

    def test_dynamic_columns(self):
        self.check_dynamic(
            Input(
                min_shape=(5, 2),
                opt_shape=(5, 4),
                max_shape=(5, 16),
                dtype=torch.int64,
                name="x",
            ),
            Input(
                min_shape=(7, 2),
                opt_shape=(7, 4),
                max_shape=(7, 16),
                dtype=torch.int64,
                name="src",
            ),
        )

    def test_dynamic_rows(self):
        self.check_dynamic(
            Input(
                min_shape=(4, 3),
                opt_shape=(6, 3),
                max_shape=(20, 3),
                dtype=torch.int64,
                name="x",
            ),
            Input(shape=(7, 3), dtype=torch.int64, name="src"),
        )

    def test_nodes_do_not_grow_with_updates(self):
        def nodes(n):
            inputs = [torch.zeros(size, 3).to(torch.int64) for size in (4, n, n)]
            return len(lower(ScatterAdd(0), inputs).graph.nodes)

        self.assertEqual(nodes(2), nodes(20))

    @parameterized.expand([(2**24, 0), (2**24 + 1, 4)])
    def test_limit(self, size, slices):
        # 4 updates, each compared with every position of a tensor without memory
        x = torch.zeros((), dtype=torch.int64).expand(size)
        program = decompose(ScatterAdd(0), [x, torch.arange(4), torch.arange(4)])
        self.assertEqual(targets(program).count(SLICE_OF_THE_LOOP), slices)

    @parameterized.expand([(2**20, 0), (2**20 + 1, 4), (None, 4)])
    def test_limit_of_dynamic_columns(self, most, slices):
        columns = Dim("columns", min=2, max=most)
        inputs = [torch.zeros(16, 6), torch.zeros(4, 6), torch.zeros(4, 6)]
        inputs = [i.to(torch.int64) for i in inputs]
        sizes = {1: columns}
        program = decompose(ScatterAdd(0), inputs, (sizes, sizes, sizes))
        self.assertEqual(targets(program).count(SLICE_OF_THE_LOOP), slices)

    @parameterized.expand(
        [
            (torch.float32,),
            (torch.float16,),
            (torch.bool,),
            (torch.int8,),
            (torch.uint8,),
        ]
    )
    def test_other_dtypes_loop_over_index(self, dtype):
        x, src = torch.ones(5).to(dtype), torch.tensor([2, 0, 3, 1, 1, 1]).to(dtype)
        inputs = [x, torch.tensor([4, 0, 4]), src]
        program = decompose(ScatterAdd(0), inputs)
        self.assertEqual(targets(program).count(SLICE_OF_THE_LOOP), 3)
        result = program.module()(*(i.to(DEVICE) for i in inputs))
        self.assertEqual(result.cpu(), ScatterAdd(0)(*inputs))

    @parameterized.expand([(torch.int64,), (torch.float32,)])
    def test_dynamic_number_of_updates_is_not_specialised(self, dtype):
        updates = {0: Dim("updates", min=2, max=64)}
        inputs = [torch.zeros(3, dtype=dtype), torch.zeros(9).to(torch.int64)]
        inputs += [torch.arange(9).to(dtype)]
        program = decompose(ScatterAdd(0), inputs, (None, updates, updates))
        self.assertIn(SCATTER_ADD, targets(program))
        more = [inputs[0], torch.zeros(12).to(torch.int64), torch.arange(12).to(dtype)]
        result = program.module()(*(i.to(DEVICE) for i in more))
        self.assertEqual(result.cpu(), ScatterAdd(0)(*more))

    def test_dynamic_src_that_index_covers_in_part(self):
        length = {0: Dim("length", min=4, max=64)}
        inputs = [torch.zeros(3).to(torch.int64), torch.zeros(4).to(torch.int64)]
        program = decompose(
            ScatterAdd(0), [*inputs, torch.arange(9)], (None, None, length)
        )
        self.assertNotIn(SCATTER_ADD, targets(program))
        more = [*inputs, torch.arange(12)]
        result = program.module()(*(i.to(DEVICE) for i in more))
        self.assertEqual(result.cpu(), ScatterAdd(0)(*more))

    def test_in_place(self):
        class InPlace(torch.nn.Module):
            def forward(self, x, index, src):
                y = x * 2
                y.scatter_add_(1, index, src)
                return y

        x, src = any_integers((3, 4), torch.int64), any_integers((3, 7), torch.int64)
        self.run_test(
            InPlace(),
            [x, torch.randint(0, 4, (3, 6)), src],
            rtol=0,
            atol=0,
            use_dynamo_tracer=True,
            enable_passes=True,
        )

    @parameterized.expand([(True,), (False,)])
    def test_branch_of_a_condition(self, which):
        class Branch(torch.nn.Module):
            def forward(self, which, x, index, src):
                return torch.cond(
                    which,
                    lambda x, index, src: x.scatter_add(0, index, src),
                    lambda x, index, src: x - 1,
                    (x, index, src),
                )

        inputs = [torch.tensor(which), any_integers((4, 3), torch.int64)]
        inputs += [torch.randint(0, 4, (5, 3)), any_integers((6, 3), torch.int64)]
        program = decompose(Branch(), inputs)
        self.assertFalse(
            {SCATTER_ADD, SLICE_OF_THE_LOOP}.intersection(targets(program))
        )
        result = program.module()(*(i.to(DEVICE) for i in inputs))
        self.assertEqual(result.cpu(), Branch()(*inputs))


class TestScatterAddPositions(DispatchTestCase):
    """The rule scatter_add_positions, for 8 updates of a tensor of 100."""

    x, index, src = torch.zeros(100).to(torch.int64), torch.arange(8), torch.arange(8)

    def test_comparison_is_not_folded(self):
        module = lower(ScatterAdd(0, self.index), [self.x, self.src])
        self.assertEqual(largest_constant(module), 8)

    def test_comparison_is_folded_if_the_rule_is_disabled(self):
        module = lower(
            ScatterAdd(0, self.index),
            [self.x, self.src],
            disabled_constant_fold_exclusions={"scatter_add_positions"},
        )
        self.assertEqual(largest_constant(module), 800)

    def test_sums_are_folded_if_src_is_a_constant(self):
        module = lower(ScatterAdd(0, self.index, self.src), [self.x])
        self.assertEqual(largest_constant(module), 100)
        added = {n.target for n in module.graph.nodes if n.op == "call_function"}
        self.assertEqual(added, {torch.ops.aten.add.Tensor})

    def test_comparison_with_random_src_is_not_folded(self):
        index = self.index.to(DEVICE)

        class Random(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("index", index)

            def forward(self, x):
                src = (torch.rand(8, device=x.device) * 9).to(torch.int64)
                return torch.scatter_add(x, 0, self.index, src)

        self.assertEqual(largest_constant(lower(Random(), [self.x])), 8)

    def test_positions_survive_a_second_decomposition(self):
        program = decompose(ScatterAdd(0, self.index), [self.x, self.src])
        again = program.run_decompositions(get_decompositions())
        module = post_lowering(again.module(), CompilationSettings())
        self.assertEqual(largest_constant(module), 8)


if __name__ == "__main__":
    run_tests()
