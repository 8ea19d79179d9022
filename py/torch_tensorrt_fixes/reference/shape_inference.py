"""The shapes of a network's outputs for given inputs, by TensorRT's own inference."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ._trt import Network, Tensor
from .dtypes import Array, numpy_dtype
from .errors import EvaluationError
from .host_memory import Shape
from .steps import inputs_of


class ShapeInference:
    """Asks the network definition what an execution context of its engine would say.

    TensorRT follows the shapes of a network while it is defined. So the network's inputs are given the shapes that are
    asked about, and its shape inputs give way to constants of their values. It serves for nothing else afterwards.
    """

    def __init__(self, network: Network) -> None:
        inputs = [network.get_input(place) for place in range(network.num_inputs)]
        self._outputs = [network.get_output(place) for place in range(network.num_outputs)]
        self._tensors = {tensor.name: tensor for tensor in inputs if not tensor.is_shape_tensor}
        shape_inputs = [tensor for tensor in inputs if tensor.is_shape_tensor]
        self._shape_inputs = {tensor.name: _ShapeInput(network, tensor) for tensor in shape_inputs}

    def __call__(self, shapes: Mapping[str, Shape], values: Mapping[str, Array]) -> dict[str, Shape]:
        """The outputs' shapes by name, with -1 for a size that depends on more than is given.

        `shapes` are those of the inputs that are not shape inputs, `values` those of the shape inputs that are known.
        EvaluationError where TensorRT finds that an operation does not fit its inputs.
        """
        for name, shape in shapes.items():
            self._tensors[name].shape = shape
        for name, shape_input in self._shape_inputs.items():
            shape_input.set(values.get(name))
        try:
            return {tensor.name: tuple(tensor.shape) for tensor in self._outputs}
        except (RuntimeError, ValueError) as error:  # ValueError is what a negative rank gives
            given = {**shapes, **{name: value.tolist() for name, value in values.items()}}
            raise EvaluationError(f"TensorRT infers no output shapes from {given}; its log says why") from error


class _ShapeInput:
    """A shape input and the constant that its readers read where its value is known."""

    def __init__(self, network: Network, tensor: Tensor) -> None:
        self._tensor = tensor
        layers = [network.get_layer(place) for place in range(network.num_layers)]
        self._readers = [
            (layer, place)
            for layer in layers
            for place, read in enumerate(inputs_of(layer))
            if read is not None and read.name == tensor.name
        ]
        self._value = np.zeros(tuple(tensor.shape), numpy_dtype(tensor.dtype))  # TensorRT copies no weights
        self._constant = network.add_constant(self._value.shape, self._value)

    def set(self, value: Array | None) -> None:
        if value is not None:
            self._value = value
            self._constant.weights = value
        source = self._tensor if value is None else self._constant.get_output(0)
        for layer, place in self._readers:
            layer.set_input(place, source)
