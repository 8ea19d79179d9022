"""Engines are built, copied and saved on a host without a GPU.

With a GPU, ``test_with_gpus_hidden`` runs this file in a process that sees none.
"""

import copy
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
from types import SimpleNamespace

import torch
import torch_tensorrt as torchtrt
from parameterized import parameterized
from torch_tensorrt._utils import is_orin, is_tegra_platform, is_thor
from torch_tensorrt.dynamo.runtime import TorchTensorRTModule
from torch_tensorrt.dynamo.runtime._SerializedEngine import fake_outputs
from torch_tensorrt.dynamo.utils import to_torch_device

NO_GPU = not torch.cuda.is_available()
RTX = torchtrt.ENABLED_FEATURES.tensorrt_rtx
PYTHON_RUNTIME = not torchtrt.ENABLED_FEATURES.torch_tensorrt_runtime


class ConvLinear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.linear = torch.nn.Linear(4, 5)

    def forward(self, x):
        return self.linear(self.conv(x).relu().mean((2, 3)))


class Fallback(torch.nn.Module):
    """Two engines around a block that runs in PyTorch and has a parameter."""

    def __init__(self):
        super().__init__()
        self.before = torch.nn.Linear(8, 8)
        self.weight = torch.nn.Parameter(torch.randn(8))
        self.after = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.after(torch.atan2(self.before(x), self.weight))


def engines(module):
    return {
        name: bytes(child.serialized_engine)
        for name, child in module.named_modules()
        if isinstance(child, TorchTensorRTModule)
    }


def compile_module(module, inputs, **settings):
    program = torch.export.export(module.eval(), tuple(inputs))
    return torchtrt.dynamo.compile(program, inputs, min_block_size=1, **settings)


def save_and_load(compiled, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt2")
        torchtrt.save(compiled, path, **options)
        return torchtrt.load(path)


def program_engines(program):
    return sorted(
        bytes(constant.serialized_engine)
        for constant in program.constants.values()
        if hasattr(constant, "serialized_engine")
    )


@unittest.skipIf(NO_GPU, "this process sees no GPU as it is")
class TestGpusHidden(unittest.TestCase):
    def test_with_gpus_hidden(self):
        hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
        result = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", os.path.abspath(__file__)],
            env=hidden,
            capture_output=True,
            text=True,
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


@unittest.skipUnless(NO_GPU, "run by test_with_gpus_hidden")
class TestWithoutGpu(unittest.TestCase):
    def test_devices(self):
        self.assertEqual(torchtrt.Device._from(None).gpu_id, 0)
        for device in (None, torchtrt.Device("cuda:1")):
            self.assertEqual(to_torch_device(device), torch.device("cpu"))
        self.assertFalse(is_tegra_platform() or is_orin() or is_thor())

    def test_dryrun(self):
        compiled = compile_module(ConvLinear(), [torch.randn(2, 3, 8, 8)], dryrun=True)
        self.assertIn("_run_on_acc_0", dict(compiled.named_children()))
        self.assertEqual(engines(compiled), {})

    @unittest.skipUnless(RTX, "TensorRT needs a GPU to build engines")
    def test_serialized_engine(self):
        x = torch.randn(2, 3, 8, 8)
        engine = torchtrt.dynamo.convert_exported_program_to_serialized_trt_engine(
            torch.export.export(ConvLinear().eval(), (x,)), [x]
        )
        self.assertIsInstance(engine, bytes)
        self.assertGreater(len(engine), 0)


@unittest.skipUnless(NO_GPU, "run by TestGpusHidden")
@unittest.skipUnless(RTX, "TensorRT needs a GPU to build engines")
@unittest.skipUnless(PYTHON_RUNTIME, "the C++ runtime creates engines on their GPU")
class TestCompiledWithoutGpu(unittest.TestCase):
    @parameterized.expand([("eager", False), ("lazy", True)])
    def test_running_says_that_a_gpu_is_needed(self, _, lazy):
        x = torch.randn(2, 3, 8, 8)
        compiled = compile_module(ConvLinear(), [x], lazy_engine_init=lazy)
        for run in (lambda: compiled(x), lambda: compiled._run_on_acc_0(1)):
            with self.assertRaisesRegex(
                RuntimeError, "_run_on_acc_0_engine.*needs a GPU"
            ):
                run()

    def test_live_engine_says_that_a_gpu_is_needed(self):
        compiled = compile_module(ConvLinear(), [torch.randn(2, 3, 8, 8)])
        with self.assertRaisesRegex(
            AttributeError, "_run_on_acc_0_engine.*needs a GPU"
        ):
            compiled._run_on_acc_0.get_layer_info()

    def test_copies_keep_the_engine(self):
        compiled = compile_module(ConvLinear(), [torch.randn(2, 3, 8, 8)])
        (engine,) = engines(compiled).values()
        self.assertGreater(len(engine), 0)
        self.assertEqual(engines(copy.deepcopy(compiled)), engines(compiled))
        self.assertEqual(
            engines(pickle.loads(pickle.dumps(compiled))), engines(compiled)
        )

        restored = TorchTensorRTModule()
        restored.set_extra_state(compiled._run_on_acc_0.get_extra_state())
        self.assertEqual(restored.engine.serialized_engine, engine)
        self.assertTrue(restored.hardware_compatible)

    @parameterized.expand([("graph", False), ("retraced", True)])
    def test_save_static(self, _, retrace):
        x = torch.randn(4, 8)
        compiled = compile_module(
            Fallback(), [x], torch_executed_ops={"torch.ops.aten.atan2.default"}
        )
        self.assertEqual(len(engines(compiled)), 2)
        self.assertEqual({p.device.type for p in compiled.parameters()}, {"cpu"})

        program = save_and_load(compiled, inputs=[x], retrace=retrace)
        self.assertEqual(program_engines(program), sorted(engines(compiled).values()))
        with self.assertRaisesRegex(RuntimeError, "needs a GPU"):
            program.module()(x)

    @parameterized.expand([("graph", False), ("retraced", True)])
    def test_save_dynamic(self, _, retrace):
        class Sizes(torch.nn.Module):
            def forward(self, x):
                return torch.cat((x, x)).relu(), x[:, ::2] + 1

        x = torch.randn(4, 8)
        dynamic_shapes = ({0: torch.export.Dim("batch", min=2, max=8)},)
        program = torch.export.export(Sizes(), (x,), dynamic_shapes=dynamic_shapes)
        spec = torchtrt.Input(
            min_shape=(2, 8), opt_shape=(4, 8), max_shape=(8, 8), dtype=torch.float32
        )
        compiled = torchtrt.dynamo.compile(program, [spec], min_block_size=1)
        saved = save_and_load(
            compiled, inputs=[x], retrace=retrace, dynamic_shapes=dynamic_shapes
        )
        (batch,) = (
            node.meta["val"].shape[0]
            for node in saved.graph.find_nodes(op="placeholder")
            if isinstance(node.meta["val"], torch.Tensor)
        )
        (output,) = saved.graph.find_nodes(op="output")
        both, half = (node.meta["val"].shape for node in output.args[0])
        self.assertIsInstance(batch, torch.SymInt)
        self.assertEqual(both[0].node.expr, 2 * batch.node.expr)
        self.assertEqual(half[0].node.expr, batch.node.expr)
        self.assertEqual((both[1], half[1]), (8, 4))

    def test_truncate_double(self):
        x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
        compiled = compile_module(ConvLinear().double(), [x], truncate_double=True)
        program = save_and_load(compiled, inputs=[x], retrace=True)
        (output,) = program.graph.find_nodes(op="output")
        self.assertEqual(output.args[0][0].meta["val"].dtype, torch.float64)
        (engine,) = (
            node for node in program.graph.nodes if "execute_engine" in str(node.target)
        )
        (result,) = engine.meta["val"]
        self.assertEqual(result.dtype, torch.float32)

    def test_aliased_outputs_are_traced(self):
        class Cache(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("keys", torch.zeros(1, 2, 16, 8))

            def forward(self, x, position):
                self.keys.index_copy_(2, position, x)
                return (self.keys * 2).sum(2)

        inputs = [torch.randn(1, 2, 1, 8), torch.tensor([3])]
        compiled = compile_module(Cache(), inputs)
        self.assertEqual(len(compiled._run_on_acc_0.aliased_io), 1)
        program = save_and_load(compiled, inputs=inputs, retrace=True)
        (engine,) = (
            node for node in program.graph.nodes if "execute_engine" in str(node.target)
        )
        shapes = [tuple(value.shape) for value in engine.meta["val"]]
        self.assertEqual(shapes, [(1, 2, 8), (1, 2, 16, 8)])

    def test_torch_compile(self):
        compiled = []

        def backend(graph, inputs):
            compiled.append(
                torchtrt.dynamo.backend.torch_tensorrt_backend(
                    graph, inputs, min_block_size=1
                )
            )
            return graph.forward

        model, x = ConvLinear().eval(), torch.randn(2, 3, 8, 8)
        torch.compile(model, backend=backend)(x)
        self.assertEqual(list(engines(compiled[0])), ["_run_on_acc_0"])
        torch._dynamo.reset()

    def test_engine_cache_is_not_used(self):
        x = torch.randn(2, 8)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertLogs("torch_tensorrt", logging.WARNING) as logs:
                compiled = compile_module(
                    torch.nn.ReLU(),
                    [x],
                    immutable_weights=False,
                    cache_built_engines=True,
                    reuse_cached_engines=True,
                    engine_cache_dir=folder,
                )
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(len(engines(compiled)), 1)
        self.assertIn("Refitting needs a GPU", "\n".join(logs.output))


class TestFakeOutputs(unittest.TestCase):
    def engine(self, record):
        return SimpleNamespace(
            name="engine",
            symbolic_shape_expressions=record,
            in_binding_names=["x"],
            out_binding_names=["output0"],
            aliased_io={},
        )

    def test_engine_without_a_record(self):
        with self.assertRaisesRegex(RuntimeError, "no record of its output shapes"):
            fake_outputs(self.engine(None), [torch.empty(2)])

    def test_size_that_depends_on_a_value(self):
        unknown = (
            torch.fx.experimental.symbolic_shapes.ShapeEnv().create_unbacked_symint()
        )
        record = {
            "inputs": [{"shape_exprs": [2]}],
            "outputs": [{"shape_exprs": [unknown.node.expr], "dtype": torch.float32}],
        }
        with self.assertRaisesRegex(
            RuntimeError, "does not follow from the input shapes"
        ):
            fake_outputs(self.engine(record), [torch.empty(2)])


if __name__ == "__main__":
    unittest.main()
