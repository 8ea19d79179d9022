import traceback
from typing import Any, Callable, Dict, Optional

import torch
from torch.fx import GraphModule


def with_constants_on_device(
    run: Callable[..., GraphModule], gm: GraphModule, *args: Any, **kwargs: Any
) -> GraphModule:
    """Run a function on a module whose constants are where their metadata says

    Constant folding leaves constants on the CPU when the module is offloaded, and
    their metadata still names the device on which they are computed with. While the
    function runs, each is replaced by a copy on that device. Afterwards, also if it
    raises, the module and the one that is returned hold the constants themselves,
    and nothing holds the copies.

    Args:
        run (Callable[..., GraphModule]): The function, called with gm and the rest
        gm (GraphModule): The module, whose get_attr nodes are looked at

    Returns:
        What the function returns
    """
    constants: Dict[torch.Tensor, torch.Tensor] = {}
    try:
        _copy_constants_to_device(gm, constants)
        result = run(gm, *args, **kwargs)
        _replace_tensors(result, constants)
        return result
    except Exception as error:
        # The frames of the failed run refer to the copies
        cause: Optional[BaseException] = error
        while cause is not None:
            traceback.clear_frames(cause.__traceback__)
            cause = cause.__cause__ or cause.__context__
        raise
    finally:
        _replace_tensors(gm, constants)
        constants.clear()


def _copy_constants_to_device(
    gm: GraphModule, constants: Dict[torch.Tensor, torch.Tensor]
) -> None:
    """Replace constants that are not on their recorded device by copies that are

    Args:
        gm (GraphModule): The module, changed in place
        constants (Dict[torch.Tensor, torch.Tensor]): Filled with copy: constant
    """
    copies: Dict[torch.Tensor, torch.Tensor] = {}
    for node in gm.graph.find_nodes(op="get_attr"):
        *path, name = node.target.split(".")
        constant = getattr(gm.get_submodule(".".join(path)), name)
        val = node.meta.get("val")
        if (
            isinstance(constant, torch.Tensor)
            and isinstance(val, torch.Tensor)
            and constant.device != val.device
            and constant not in copies
        ):
            copy = constant.detach().to(val.device)
            if isinstance(constant, torch.nn.Parameter):
                copy = torch.nn.Parameter(copy, constant.requires_grad)
            copies[constant] = copy
            constants[copy] = constant
    _replace_tensors(gm, copies)


def _replace_tensors(
    module: torch.nn.Module, replacements: Dict[torch.Tensor, torch.Tensor]
) -> None:
    """Replace tensors wherever a module or one inside it holds them as an attribute"""
    for owner in module.modules():
        for held in (owner._parameters, owner._buffers, vars(owner)):
            for name, value in list(held.items()):
                if isinstance(value, torch.Tensor) and value in replacements:
                    setattr(owner, name, replacements[value])
