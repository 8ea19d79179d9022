"""Converter tests on any host.

The classes and arguments are those of upstream's harness, so a test written against
this one runs with that one too. A test gives a module and inputs; here it passes when

  - TRTInterpreter converts the module as it would for standard TensorRT,
  - TensorRT's builder builds the network,
  - the network, evaluated in NumPy, gives what PyTorch gives: as many outputs, of the
    same dtypes, shapes and values,
  - and so does the engine, on a host whose GPU the installed TensorRT supports.

A network with a layer that TensorRT-RTX lacks (NonZero) is evaluated only; the warning
NotBuilt says so.
"""

from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple, Type

import torch
from torch.fx.passes.shape_prop import ShapeProp
from torch.testing._internal.common_utils import TestCase
from torch_tensorrt import Input, dtype
from torch_tensorrt.dynamo._defaults import default_device
from torch_tensorrt.dynamo._settings import CompilationSettings
from torch_tensorrt.dynamo._tracer import get_dynamic_shapes_args
from torch_tensorrt.dynamo.conversion import TRTInterpreter
from torch_tensorrt.dynamo.conversion._conversion import infer_module_output_dtypes
from torch_tensorrt.dynamo.lowering import (
    get_decompositions,
    post_lowering,
    pre_export_lowering,
)
from torch_tensorrt.dynamo.lowering.passes import remove_num_users_is_0_nodes
from torch_tensorrt.dynamo.runtime import TorchTensorRTModule
from torch_tensorrt.dynamo.utils import ATOL, RTOL, get_model_device, get_torch_inputs
from torch_tensorrt_fixes.reference import conversion

Comparators = Sequence[Tuple[Callable[..., bool], Sequence[Any]]]


class TRTTestCase(TestCase):
    def setUp(self) -> None:
        super().setUp()
        torch.manual_seed(3)

    def run_test(
        self,
        mod: torch.fx.GraphModule,
        inputs: Sequence[torch.Tensor],
        interpreter: TRTInterpreter,
        rtol: float = RTOL,
        atol: float = ATOL,
        check_dtype: bool = True,
        pyt_inputs: Optional[Sequence[Any]] = None,
        rt_cls: Type[TorchTensorRTModule] = TorchTensorRTModule,
    ) -> None:
        """Compare what ``interpreter`` makes of ``mod`` with ``mod`` itself.

        ``inputs`` go to the network, ``pyt_inputs`` (by default the same) to PyTorch.
        """
        expected = call(mod, inputs if pyt_inputs is None else pyt_inputs)
        for origin, outputs in converted_outputs(interpreter, inputs, rt_cls).items():
            self.assertEqual(
                len(outputs), len(expected), f"{origin}: number of outputs"
            )
            for position, (output, value) in enumerate(zip(outputs, expected)):
                torch.testing.assert_close(
                    output,
                    as_tensor(value, output),
                    rtol=rtol,
                    atol=atol,
                    equal_nan=True,
                    check_dtype=check_dtype,
                    msg=lambda text: f"{origin}, output {position}: {text}",
                )

    def run_test_custom_compare_results(
        self,
        mod: torch.fx.GraphModule,
        inputs: Sequence[torch.Tensor],
        expected_ops: Set[Any],
        interpreter: TRTInterpreter,
        comparators: Comparators,
        fp16_mode: bool = False,
        rt_cls: Type[TorchTensorRTModule] = TorchTensorRTModule,
    ) -> None:
        """Compare each output by each of ``comparators``.

        A comparator is a function of the output and PyTorch's value that says whether
        they agree, and the further arguments that it gets.
        """
        if expected_ops:
            self.assert_has_op(mod, expected_ops)
        expected = call(mod, inputs)
        for origin, outputs in converted_outputs(interpreter, inputs, rt_cls).items():
            self.assertEqual(
                len(outputs), len(expected), f"{origin}: number of outputs"
            )
            for output, value in zip(outputs, expected):
                for compare, args in comparators:
                    self.assertTrue(
                        compare(output, value, *args),
                        f"{origin}: {output} does not compare with {value}",
                    )

    def run_test_with_error(
        self,
        mod: torch.fx.GraphModule,
        inputs: Sequence[torch.Tensor],
        interpreter: TRTInterpreter,
        expect_error: Type[Exception],
    ) -> None:
        """Check that converting or building ``mod`` raises ``expect_error``."""
        mod.eval()
        with self.assertRaises(expect_error):
            construct(interpreter)
            build(interpreter)

    def assert_has_op(self, mod: torch.fx.GraphModule, ops: Set[Any]) -> None:
        found = ops_of(mod)
        self.assertTrue(found >= set(ops), f"expected the ops {ops}, found {found}")

    def assert_unexpected_op(self, mod: torch.fx.GraphModule, ops: Set[Any]) -> bool:
        """Whether ``mod`` has none of ``ops`` (nothing is asserted)."""
        return ops_of(mod).isdisjoint(ops)


class DispatchTestCase(TRTTestCase):
    def generate_graph(
        self,
        mod: torch.nn.Module,
        original_inputs: Sequence[Any],
        use_dynamo_tracer: bool,
        enable_passes: bool,
        propagate_shapes: bool = False,
        settings: CompilationSettings = CompilationSettings(),
        torch_export_dynamic_shapes: Optional[Dict[str, Any]] = None,
    ) -> torch.fx.GraphModule:
        """Trace ``mod``, and lower it where ``enable_passes`` or dynamic shapes ask.

        The tracer is torch.export or, without ``use_dynamo_tracer``, torch.fx, which
        leaves no metadata; ``propagate_shapes`` makes up for that.
        """
        mod = mod.eval()
        if use_dynamo_tracer:
            device = default_device().to(torch.device)
            if torch_export_dynamic_shapes is None:
                torch_export_dynamic_shapes = get_dynamic_shapes_args(
                    mod, original_inputs
                )
            program = torch.export.export(
                mod.to(device),
                tuple(get_torch_inputs(original_inputs, device)),
                dynamic_shapes=torch_export_dynamic_shapes,
            )
            # Dynamic shapes leave assertions in the graph, which the passes remove
            enable_passes = enable_passes or any(torch_export_dynamic_shapes.values())
            if enable_passes:
                program = pre_export_lowering(program, settings)
                program = program.run_decompositions(
                    get_decompositions(
                        decompose_attention=settings.decompose_attention,
                        use_fp32_acc=settings.use_fp32_acc,
                    )
                )
            graph = program.module()
        else:
            graph = torch.fx.symbolic_trace(mod)
        if enable_passes:
            graph = post_lowering(graph, settings)
        if propagate_shapes:
            example = get_torch_inputs(original_inputs, get_model_device(graph))
            ShapeProp(graph).propagate(*example)
        return graph

    def _prepared_graph(
        self, *args: Any, settings: CompilationSettings, **options: Any
    ) -> torch.fx.GraphModule:
        """generate_graph, then without what nothing uses (such as export's guards)."""
        graph = self.generate_graph(*args, settings=settings, **options)
        return remove_num_users_is_0_nodes(graph, settings)

    def run_test(  # type: ignore[override]
        self,
        mod: torch.nn.Module,
        inputs: Sequence[torch.Tensor],
        rtol: float = RTOL,
        atol: float = ATOL,
        precision: Any = dtype.f32,
        check_dtype: bool = True,
        use_dynamo_tracer: Optional[bool] = None,
        enable_passes: bool = False,
        propagate_shapes: bool = False,
        int32_reqd: bool = False,
        immutable_weights: bool = True,
        decompose_attention: bool = False,
        attn_bias_is_causal: bool = True,
    ) -> None:
        """Convert ``mod`` for the shapes of ``inputs``, and compare.

        The network gets float64 inputs as float32 and, where ``int32_reqd``, int64
        inputs as int32.
        """
        use_dynamo_tracer = self._use_dynamo_tracer(use_dynamo_tracer)
        settings = CompilationSettings(
            truncate_double=True,
            immutable_weights=immutable_weights,
            decompose_attention=decompose_attention,
            attn_bias_is_causal=attn_bias_is_causal,
        )
        graph = self._prepared_graph(
            mod,
            inputs,
            use_dynamo_tracer,
            enable_passes,
            propagate_shapes=propagate_shapes,
            settings=settings,
        )
        narrower = {torch.float64: torch.float32}
        if int32_reqd:
            narrower[torch.int64] = torch.int32
        trt_inputs = [i.to(narrower.get(i.dtype, i.dtype)) for i in inputs]
        output_dtypes = None
        if check_dtype:
            output_dtypes = infer_output_dtypes(
                graph, inputs, settings, use_dynamo_tracer
            )
        super().run_test(
            graph,
            trt_inputs,
            make_interpreter(
                graph, Input.from_tensors(trt_inputs), output_dtypes, settings
            ),
            rtol,
            atol,
            check_dtype,
            pyt_inputs=inputs,
        )

    def run_test_compare_tensor_attributes_only(
        self,
        mod: torch.nn.Module,
        inputs: Sequence[torch.Tensor],
        expected_ops: Set[Any],
        comparators: Comparators,
        precision: Any = torch.float,
        output_dtypes: Optional[Sequence[dtype]] = None,
        use_dynamo_tracer: bool = False,
        enable_passes: bool = False,
        immutable_weights: bool = True,
    ) -> None:
        """Like run_test where values mean nothing: random or uninitialised ones."""
        settings = CompilationSettings(
            truncate_double=True, immutable_weights=immutable_weights
        )
        graph = self._prepared_graph(
            mod, inputs, use_dynamo_tracer, enable_passes, settings=settings
        )
        interpreter = make_interpreter(
            graph, Input.from_tensors(inputs), output_dtypes, settings
        )
        self.run_test_custom_compare_results(
            graph, inputs, expected_ops, interpreter, comparators
        )

    def run_test_with_dynamic_shape(
        self,
        mod: torch.nn.Module,
        input_specs: Sequence[Input],
        rtol: float = RTOL,
        atol: float = ATOL,
        output_dtypes: Optional[Sequence[dtype]] = None,
        use_dynamo_tracer: Optional[bool] = None,
        enable_passes: bool = False,
        use_example_tensors: bool = True,
        pyt_inputs: Optional[Sequence[Any]] = None,
        propagate_shapes: bool = False,
        check_dtype: bool = True,
        immutable_weights: bool = True,
        torch_export_dynamic_shapes: Optional[Dict[str, Any]] = None,
    ) -> None:
        """Convert ``mod`` for ranges of shapes, and run it at the largest.

        Without ``use_example_tensors`` it runs on each spec's own ``torch_tensor``.
        ``check_dtype`` says only where the network's output dtypes come from; they are
        compared always.
        """
        use_dynamo_tracer = self._use_dynamo_tracer(use_dynamo_tracer)
        settings = CompilationSettings(
            truncate_double=True, immutable_weights=immutable_weights
        )
        graph = self._prepared_graph(
            mod,
            input_specs,
            use_dynamo_tracer,
            enable_passes,
            propagate_shapes=propagate_shapes,
            settings=settings,
            torch_export_dynamic_shapes=torch_export_dynamic_shapes,
        )
        if check_dtype:
            output_dtypes = infer_output_dtypes(
                graph, input_specs, settings, use_dynamo_tracer
            )
        super().run_test(
            graph,
            [
                largest(spec) if use_example_tensors else spec.torch_tensor
                for spec in input_specs
            ],
            make_interpreter(graph, input_specs, output_dtypes, settings),
            rtol,
            atol,
            pyt_inputs=pyt_inputs,
        )

    def _use_dynamo_tracer(self, asked: Optional[bool]) -> bool:
        """The test's own choice, or by upstream's rule the name of its file."""
        if asked is not None:
            return asked
        file = type(self).__module__.rpartition(".")[2]
        return file.startswith("test_a")


# --- from a graph to a network, an engine and their outputs ---


def make_interpreter(
    graph: torch.fx.GraphModule,
    inputs: Sequence[Input],
    output_dtypes: Optional[Sequence[dtype]],
    settings: CompilationSettings,
) -> TRTInterpreter:
    with conversion.standard_tensorrt():
        return TRTInterpreter(
            graph,
            inputs,
            output_dtypes=output_dtypes,
            compilation_settings=settings,
        )


def construct(interpreter: TRTInterpreter) -> conversion.Evaluation:
    with conversion.standard_tensorrt():
        interpreter._construct_trt_network_def()
    return conversion.Evaluation.of(interpreter)


def build(interpreter: TRTInterpreter) -> Optional[bytes]:
    """The engine, serialized; None with a warning where TensorRT-RTX lacks a layer."""
    config = interpreter._populate_trt_builder_config()
    return conversion.build(interpreter.builder, interpreter.ctx.net, config)


def converted_outputs(
    interpreter: TRTInterpreter,
    inputs: Sequence[torch.Tensor],
    rt_cls: Type[TorchTensorRTModule],
) -> Dict[str, List[torch.Tensor]]:
    """What the evaluator and, where it can run, the engine make of ``inputs``."""
    outputs = {"evaluator": construct(interpreter)(inputs)}
    engine = build(interpreter)
    if engine is not None and conversion.engines_run_here():
        module = rt_cls(
            serialized_engine=engine,
            input_binding_names=list(interpreter._input_names),
            output_binding_names=list(interpreter._output_names),
            name="test_engine",
            requires_output_allocator=interpreter.ctx.requires_output_allocator,
        )
        outputs["engine"] = call(module, inputs)
    return outputs


def call(mod: torch.nn.Module, inputs: Sequence[Any]) -> List[Any]:
    """Run ``mod`` where engines would run; its outputs, brought to the CPU."""
    device = default_device().to(torch.device)
    # Copies, since a module may change its inputs
    copies = [
        i.to(device, copy=True) if isinstance(i, torch.Tensor) else i for i in inputs
    ]
    with torch.no_grad():
        outputs = mod.to(device)(*copies)
    if not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    return [o.cpu() if isinstance(o, torch.Tensor) else o for o in outputs]


def as_tensor(value: Any, output: torch.Tensor) -> torch.Tensor:
    """``value`` or, where PyTorch gives a number, a tensor of it.

    TensorRT gives numbers as tensors of 0 or 1 dimensions.
    """
    if isinstance(value, torch.Tensor):
        return value
    return torch.tensor(value if output.dim() == 0 else [value])


# --- questions to graphs and inputs ---


def infer_output_dtypes(
    graph: torch.fx.GraphModule,
    inputs: Sequence[Any],
    settings: CompilationSettings,
    has_metadata: bool,
) -> List[dtype]:
    """The dtypes that the network's outputs get.

    They come from the graph's metadata or, where it has none, from running it.
    """
    if has_metadata:
        return infer_module_output_dtypes(
            graph, truncate_double=settings.truncate_double
        )
    outputs = call(graph, get_torch_inputs(inputs, get_model_device(graph)))
    dtypes = [torch.as_tensor(output).dtype for output in outputs]
    if settings.truncate_double:
        dtypes = [torch.float32 if d == torch.float64 else d for d in dtypes]
    return [dtype._from(d) for d in dtypes]


def largest(spec: Input) -> torch.Tensor:
    if spec.shape_mode == Input._ShapeMode.DYNAMIC:
        return spec.example_tensor("max_shape")
    return spec.example_tensor()


def ops_of(mod: torch.fx.GraphModule) -> Set[Any]:
    """Targets of the graph's calls; of a submodule, its class."""
    return {
        (
            type(mod.get_submodule(node.target))
            if node.op == "call_module"
            else node.target
        )
        for node in mod.graph.nodes
        if node.op in ("call_module", "call_function", "call_method")
    }
