"""Run a TensorRT network with NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from . import layers  # noqa: F401, registers the implementations
from ._trt import Network
from .dtypes import Array
from .errors import EvaluationError
from .plan import plan
from .registry import seeded
from .steps import Declared, Values


class Evaluator:
    """What an engine built from `network` would compute, for any shapes that the network's inputs allow.

    Making one binds every layer to its implementation: UnsupportedLayer lists those that have none, and
    EvaluationError tells of a network that TensorRT would not build. Nothing runs before. Keep the network as it is
    while the evaluator is in use.
    """

    def __init__(self, network: Network) -> None:
        self._network = network  # the weights of its constants live as long as it does
        self._inputs = [Declared.of(network.get_input(i)) for i in range(network.num_inputs)]
        self.input_names = tuple(declared.name for declared in self._inputs)
        self.output_names = tuple(network.get_output(i).name for i in range(network.num_outputs))
        if not self.output_names:
            raise EvaluationError("the network has no output: call network.mark_output() on what it is to compute")
        self._steps = plan(network)

    def run(
        self,
        inputs: Mapping[str, Array] | Sequence[Array],
        intermediate: bool = False,
        seed: int | None = None,
    ) -> dict[str, Array]:
        """The network's outputs by name, in its order; with `intermediate` every tensor computed, the inputs included.

        `inputs` are arrays by name, or in the order of `input_names`, each of exactly the declared type and of a shape
        that the declared one allows. `seed` is needed where the network draws random values. Of what is inside a loop,
        `intermediate` has the last turn's.

        EvaluationError names the layer, its torch target, the types and the shapes where TensorRT would refuse to go
        on.
        """
        values = self._given(inputs)
        with seeded(seed):
            for step in self._steps:
                step.execute(values)
        return values if intermediate else {name: values[name] for name in self.output_names}

    def _given(self, inputs: Mapping[str, Array] | Sequence[Array]) -> Values:
        if not isinstance(inputs, Mapping):
            if len(inputs) != len(self.input_names):
                raise EvaluationError(
                    f"the network has {len(self.input_names)} inputs {list(self.input_names)}; {len(inputs)} are given"
                )
            inputs = dict(zip(self.input_names, inputs, strict=True))
        if inputs.keys() != set(self.input_names):
            raise EvaluationError(f"the network's inputs are {list(self.input_names)}, not {list(inputs)}")
        for declared in self._inputs:
            value = inputs[declared.name]
            if not isinstance(value, np.ndarray):
                raise EvaluationError(f"input {declared.name!r} must be a NumPy array, not {type(value).__name__}")
            if value.dtype != declared.dtype or not declared.fits(value.shape):
                raise EvaluationError(f"input {declared} is given {value.dtype} {value.shape}")
        return dict(inputs)
