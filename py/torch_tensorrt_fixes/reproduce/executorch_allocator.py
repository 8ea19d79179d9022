"""ExecuTorch export's check of an engine that counts a mask inside and returns a tensor of its input's shape."""

from __future__ import annotations

import time
from types import SimpleNamespace

import torch

from . import Finding


class Counted(torch.nn.Module):
    """Scales x by the sum of the positions where the mask is True."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return x * mask.nonzero().sum()


def reproduce() -> Finding:
    import torch_tensorrt
    from torch_tensorrt.dynamo.runtime import TorchTensorRTModule
    from torch_tensorrt.executorch._export_utils import validate_engine_program

    from ..reference import runtime, standard_tensorrt

    model = Counted()
    inputs = (torch.randn(4, 3), torch.tensor([True, False, True]))
    with torch.no_grad(), runtime(), standard_tensorrt():
        program = torch.export.export(model, inputs)
        compiled = torch_tensorrt.dynamo.compile(program, arg_inputs=inputs, min_block_size=1)
        (module,) = (child for child in compiled.modules() if isinstance(child, TorchTensorRTModule))
        values = dict(zip(("x", "mask"), inputs, strict=True))
        exported = _exported(module.engine, {name: values[name] for name in module.input_binding_names})
        began = time.process_time()
        try:
            validate_engine_program(exported)
            got = "accepted"
        except RuntimeError as error:
            got = str(error).partition("\n")[0]
    return Finding(
        what="ExecuTorch export's check of an engine that uses nonzero() inside and returns a (4, 3) tensor",
        wanted="accepted",
        got=got,
        well=got == "accepted",
        seconds=time.process_time() - began,
    )


def _exported(engine: object, inputs: dict[str, torch.Tensor]) -> SimpleNamespace:
    """What export looks at of a program that runs one engine; to save a real one takes the C++ runtime."""
    graph = torch.fx.Graph()
    root = torch.nn.Module()
    root.engine = engine  # type: ignore[assignment]
    nodes = [graph.placeholder(name) for name in inputs]
    for node, value in zip(nodes, inputs.values(), strict=True):
        node.meta["val"] = value
    call = graph.call_function(torch.ops.tensorrt.execute_engine.default, (nodes, graph.get_attr("engine")))
    graph.output(call)
    return SimpleNamespace(graph_module=torch.fx.GraphModule(root, graph), constants={}, state_dict={})
