import contextlib
import gc
import importlib
import unittest
import weakref
from unittest.mock import Mock, patch

import torch
import torch_tensorrt
from parameterized import parameterized
from torch.testing._internal.common_utils import TestCase, run_tests
from torch_tensorrt.dynamo import _compiler
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo.lowering import get_decompositions, post_lowering
from torch_tensorrt.dynamo.utils import COMPLEX_DTYPES

# Not by its dotted name, which is that of the function in it
adapter = importlib.import_module(
    "torch_tensorrt.dynamo.lowering.passes.complex_decomposition_adapter"
)
retrace = importlib.import_module(
    "torch._functorch._aot_autograd.complex_decomposition"
)

HAS_GPU = torch.cuda.is_available()
CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)
OFFLOAD = {"use_complex_decomposition": True, "offload_module_to_cpu": True}


class Rotary(torch.nn.Module):
    """A rotary embedding of a scaled projection of x (2, 5, 8)"""

    def __init__(self):
        super().__init__()
        self.projection = torch.nn.Linear(8, 8)
        self.scale = torch.nn.Parameter(torch.randn(8))
        self.register_buffer("angles", torch.arange(20.0).view(5, 4) / 7)

    def forward(self, x):
        x = self.projection(x) * torch.exp(self.scale)
        z = torch.view_as_complex(x.view(2, 5, 4, 2))
        z = z * torch.polar(torch.ones_like(self.angles), self.angles)
        return torch.view_as_real(z).flatten(2)


def rotary():
    torch.manual_seed(0)
    return Rotary().eval(), torch.randn(2, 5, 8)


def offloaded(model, *args, creating_on=CPU):
    """A model, decomposed, with its constants on the CPU and metadata of the GPU

    Operators that create tensors do so on the given device.
    """
    program = torch.export.export(model, args)
    module = program.run_decompositions(get_decompositions()).module()
    for node in module.graph.nodes:
        val = node.meta.get("val")
        if isinstance(val, torch.Tensor):
            with val.fake_mode:
                node.meta["val"] = val.to(GPU)
        if "device" in node.kwargs:
            node.update_kwarg("device", creating_on)
    return module


@contextlib.contextmanager
def fake_without_gpu(module):
    """Where there is no GPU, make the copies on it fake, and what is computed of them"""
    if HAS_GPU:
        yield
        return
    (mode,) = {
        node.meta["val"].fake_mode for node in module.graph.nodes if "val" in node.meta
    }
    fold = adapter.constant_fold.__wrapped__  # the function that leaves no mode
    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.object(mode, "allow_non_fake_inputs", True))
        stack.enter_context(patch.object(adapter, "constant_fold", fold))
        stack.enter_context(mode)
        yield


def lower(module):
    """The complex decomposition of a module"""
    with fake_without_gpu(module):
        return adapter.complex_decomposition_adapter(
            module, CompilationSettings(**OFFLOAD)
        )


def constants(module):
    return dict([*module.named_parameters(), *module.named_buffers()])


class Watched:
    """A function on a module, and the constants of the module that it was given"""

    def __init__(self, owner, name, then_raise=None):
        function = getattr(owner, name)
        self.devices = set()
        self.seen = []

        def watch(module, *args, **kwargs):
            for constant in constants(module).values():
                self.devices.add(constant.device)
                self.seen.append(weakref.ref(constant))
            result = function(module, *args, **kwargs)
            if then_raise:
                raise then_raise
            return result

        self.patch = patch.object(owner, name, watch)

    def __enter__(self):
        self.patch.start()
        return self

    def __exit__(self, *exception):
        self.patch.stop()

    def alive(self):
        gc.collect()
        return [constant for ref in self.seen if (constant := ref()) is not None]


class TestOffloadedConstants(TestCase):
    def assertSameConstants(self, actual, expected):
        self.assertEqual(list(actual), list(expected))
        for name, constant in actual.items():
            self.assertIs(constant, expected[name])

    def test_retrace(self):
        module = offloaded(*rotary(), creating_on=GPU)
        before = constants(module)
        fallback = Mock(side_effect=AssertionError("fell back to the legacy pass"))
        legacy = patch.object(adapter, "complex_graph_detection", fallback)
        with Watched(retrace, "decompose_complex_in_graph") as watched, legacy:
            lowered = lower(module)
        self.assertEqual(watched.devices, {GPU})
        self.assertSameConstants(constants(module), before)
        for node in lowered.graph.nodes:
            if isinstance(val := node.meta.get("val"), torch.Tensor):
                self.assertEqual(val.device, GPU)
                self.assertNotIn(val.dtype, COMPLEX_DTYPES)

    def test_constants_of_lowered_module(self):
        module = offloaded(*rotary(), creating_on=GPU)
        before = constants(module)
        after = constants(lower(module))
        self.assertEqual({constant.device for constant in after.values()}, {CPU})
        kept = [c for c in after.values() if any(c is b for b in before.values())]
        self.assertGreaterEqual(len(kept), 2)
        for name, constant in after.items():
            if not name.startswith("_frozen_param"):
                self.assertTrue(any(constant is b for b in before.values()), name)

    def test_copies_are_freed(self):
        module = offloaded(*rotary(), creating_on=GPU)
        with Watched(retrace, "decompose_complex_in_graph") as watched:
            lowered = lower(module)
        self.assertGreater(len(watched.seen), 3)
        self.assertEqual(watched.alive(), [])
        self.assertIsInstance(lowered, torch.fx.GraphModule)

    def test_second_folding(self):
        """It computes with constants and with tensors that are created on the GPU"""
        module = offloaded(*rotary(), creating_on=GPU)
        with fake_without_gpu(module), Watched(adapter, "constant_fold") as watched:
            lowered = adapter.complex_decomposition_adapter(
                module, CompilationSettings(**OFFLOAD)
            )
        self.assertEqual(watched.devices, {GPU})
        self.assertEqual(watched.alive(), [])
        targets = {node.target for node in lowered.graph.nodes}
        self.assertFalse(targets & {torch.ops.aten.full.default})
        self.assertFalse(targets & {torch.ops.aten.cos.default})

    def test_after_first_folding(self):
        """All of post_lowering, in which constant folding offloads what it folds"""
        module = offloaded(*rotary(), creating_on=GPU if HAS_GPU else CPU)
        if HAS_GPU:
            module.to(GPU)
        fallback = Mock(side_effect=AssertionError("fell back to the legacy pass"))
        legacy = patch.object(adapter, "complex_graph_detection", fallback)
        with fake_without_gpu(module), legacy:
            lowered = post_lowering(module, CompilationSettings(**OFFLOAD))
        for node in lowered.graph.nodes:
            if isinstance(val := node.meta.get("val"), torch.Tensor):
                self.assertNotIn(val.dtype, COMPLEX_DTYPES)

    def test_failed_retrace(self):
        module = offloaded(*rotary(), creating_on=GPU)
        before = constants(module)
        error = NotImplementedError("an operator that ComplexTensor lacks")

        def legacy(given, settings):
            self.assertIs(given, module)
            self.assertSameConstants(constants(module), before)
            self.assertEqual(watched.alive(), [])
            return given

        fallback = patch.object(adapter, "complex_graph_detection", legacy)
        with Watched(retrace, "decompose_complex_in_graph", error) as watched, fallback:
            lowered = lower(module)
        self.assertIs(lowered, module)
        self.assertEqual(watched.devices, {GPU})
        self.assertSameConstants(constants(module), before)

    def test_failed_second_folding(self):
        module = offloaded(*rotary(), creating_on=GPU)
        before = constants(module)
        fails = self.assertRaises(ArithmeticError)
        with contextlib.ExitStack() as stack:
            stack.enter_context(fails)
            stack.enter_context(fake_without_gpu(module))
            watched = Watched(adapter, "constant_fold", ArithmeticError())
            stack.enter_context(watched)
            adapter.complex_decomposition_adapter(
                module, CompilationSettings(**OFFLOAD)
            )
        self.assertEqual(watched.devices, {GPU})
        self.assertEqual(watched.alive(), [])
        self.assertSameConstants(constants(module), before)

    def test_shared_constant_stays_shared(self):
        model, x = rotary()
        model.other = model.scale
        model.forward = lambda x: Rotary.forward(model, x) + model.other
        module = offloaded(model, x, creating_on=GPU)
        module.register_parameter("also_scale", module.scale)
        lowered = lower(module)
        self.assertIs(module.also_scale, module.scale)
        uses = [c for c in constants(lowered).values() if c is module.scale]
        self.assertEqual(len(uses), 1)

    def test_constants_in_their_place_are_not_copied(self):
        model, x = rotary()
        program = torch.export.export(model, (x,))
        module = program.run_decompositions(get_decompositions()).module()
        with Watched(retrace, "decompose_complex_in_graph") as watched:
            lowered = adapter.complex_decomposition_adapter(
                module, CompilationSettings(**OFFLOAD)
            )
        self.assertEqual(watched.devices, {CPU})
        self.assertEqual(len(watched.alive()), 4)
        for constant in watched.alive():
            self.assertTrue(any(constant is c for c in constants(module).values()))
        self.assertEqual(lowered(x), model(x))

    @parameterized.expand(["compile", "cross_compile_for_windows"])
    def test_both_modules_are_offloaded(self, entry):
        model, x = rotary()
        program = torch.export.export(model, (x,))
        with contextlib.ExitStack() as stack:
            # Runs up to the conversion, on any platform
            patched = {
                "deallocate_module": Mock(),
                "compile_module": lambda gm, *args, **kwargs: gm,
            }
            stack.enter_context(patch.multiple(_compiler, **patched))
            stack.enter_context(
                patch.object(
                    torch_tensorrt._features,
                    "ENABLED_FEATURES",
                    Mock(windows_cross_compile=True),
                )
            )
            lowered = getattr(_compiler, entry)(program, [x], **OFFLOAD)
        moved = [call.args[0] for call in patched["deallocate_module"].mock_calls]
        self.assertEqual(len(moved), 2)
        self.assertIs(moved[1], lowered)
        # What lowering started from has all that the program has
        of_program = {id(c) for c in program.parameters()}
        self.assertLessEqual(of_program, {id(c) for c in moved[0].parameters()})
        self.assertNotIn(
            id(program.state_dict["scale"]), {id(c) for c in lowered.parameters()}
        )

    @unittest.skipUnless(HAS_GPU, "computes on the GPU")
    def test_values(self):
        model, x = rotary()
        expected = model(x)
        lowered = lower(offloaded(model, x, creating_on=GPU)).to(GPU)
        self.assertEqual(lowered(x.to(GPU)), expected.to(GPU), atol=1e-5, rtol=1e-5)


if __name__ == "__main__":
    run_tests()
