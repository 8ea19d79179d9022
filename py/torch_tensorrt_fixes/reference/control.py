"""Conditionals and loops as steps that hold the steps of their branches and bodies.

Sources: "Working with Conditionals" and "Working with Loops" in NVIDIA's TensorRT documentation. There a conditional
and a loop exist only as boundary layers that share an IIfConditional or an ILoop; what lies inside follows from who
uses what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from . import registry
from ._trt import Layer, trt, typed
from .dtypes import Array
from .errors import EvaluationError
from .steps import Declared, Path, Region, Step, Values, checked, describe, inputs_of, outputs_of

BOUNDARIES = frozenset(
    getattr(trt.LayerType, name)
    for name in ("CONDITION", "CONDITIONAL_OUTPUT", "TRIP_LIMIT", "ITERATOR", "RECURRENCE", "LOOP_OUTPUT")
)


def control_steps(layers: Iterable[Layer]) -> list[ConditionalStep | LoopStep]:
    """A step for each conditional and each loop that the boundary layers among `layers` belong to."""
    conditionals: dict[Any, list[Layer]] = {}
    loops: dict[Any, list[Layer]] = {}
    for layer in (typed(layer) for layer in layers if layer.type in BOUNDARIES):
        if isinstance(layer, trt.IIfConditionalBoundaryLayer):
            conditionals.setdefault(layer.conditional, []).append(layer)
        else:
            loops.setdefault(layer.loop, []).append(layer)
    return [*map(ConditionalStep.of, conditionals.values()), *map(LoopStep.of, loops.values())]


def _of_type(layers: Iterable[Layer], layer_type: str) -> list[Layer]:
    return [layer for layer in layers if layer.type == getattr(trt.LayerType, layer_type)]


@dataclass(frozen=True)
class _Link:
    """A boundary layer: the names of its inputs, what it puts out, and the layer for its attributes."""

    what: str
    reads: tuple[str | None, ...]
    output: Declared | None
    layer: Layer

    @classmethod
    def of(cls, layer: Layer) -> _Link:
        reads = tuple(tensor.name if tensor is not None else None for tensor in inputs_of(layer))
        outputs = outputs_of(layer)
        return cls(describe(layer), reads, Declared.of(outputs[0]) if outputs else None, layer)

    def put(self, values: Values, result: Any) -> None:
        assert self.output is not None
        try:
            values[self.output.name] = checked(result, self.output)
        except registry.Refused as refused:
            raise EvaluationError(f"{self.what}: {refused}") from refused


@dataclass(eq=False)
class ConditionalStep:
    """An IIfConditional: only the branch taken is run."""

    condition: _Link
    outputs: tuple[_Link, ...]
    writes: tuple[str, ...] = field(init=False)
    branches: dict[bool, list[Step]] = field(init=False)

    def __post_init__(self) -> None:
        self.writes = tuple(link.output.name for link in self.outputs if link.output is not None)

    @classmethod
    def of(cls, layers: list[Layer]) -> ConditionalStep:
        conditions = [_Link.of(layer) for layer in _of_type(layers, "CONDITION")]
        outputs = tuple(_Link.of(layer) for layer in _of_type(layers, "CONDITIONAL_OUTPUT"))
        if len(conditions) != 1:
            raise EvaluationError(f"the conditional of {describe(layers[0])} has no condition: call set_condition()")
        return cls(conditions[0], outputs)

    def uses(self) -> Iterator[tuple[str, Path]]:
        yield str(self.condition.reads[0]), ()
        for link in self.outputs:
            for taken, name in zip((True, False), link.reads, strict=True):
                yield str(name), ((self, taken),)

    def adopt(self, regions: dict[Region, list[Step]]) -> None:
        self.branches = {taken: regions.get((self, taken), []) for taken in (True, False)}

    def execute(self, values: Values) -> None:
        taken = _truth(self.condition, values)
        for step in self.branches[taken]:
            step.execute(values)
        for link in self.outputs:
            link.put(values, values[str(link.reads[0 if taken else 1])])


@dataclass(eq=False)
class LoopStep:
    """An ILoop. Each turn computes what the conditions need, stops if one is false, then does the rest.

    What the last turn of a counted loop would prepare for another turn is left out: it may read beyond the end.
    """

    limits: tuple[_Link, ...]
    iterators: tuple[_Link, ...]
    recurrences: tuple[_Link, ...]
    outputs: tuple[_Link, ...]
    counts: tuple[_Link, ...] = field(init=False)
    conditions: tuple[_Link, ...] = field(init=False)
    writes: tuple[str, ...] = field(init=False)
    entries: tuple[str, ...] = field(init=False)  # what the body starts from: iterators and recurrences
    asked: list[Step] = field(init=False)  # the part of the body that the conditions need
    body: list[Step] = field(init=False)  # the rest of it
    last: list[Step] = field(init=False)  # the part of the rest that counts in the last turn
    kept: tuple[_Link, ...] = field(init=False)  # the recurrences whose value counts after it

    def __post_init__(self) -> None:
        self.counts = tuple(link for link in self.limits if link.layer.kind == trt.TripLimit.COUNT)
        self.conditions = tuple(link for link in self.limits if link.layer.kind == trt.TripLimit.WHILE)
        self.writes = tuple(link.output.name for link in self.outputs if link.output is not None)
        starts = (*self.iterators, *self.recurrences)
        self.entries = tuple(link.output.name for link in starts if link.output is not None)

    @classmethod
    def of(cls, layers: list[Layer]) -> LoopStep:
        kinds = ("TRIP_LIMIT", "ITERATOR", "RECURRENCE", "LOOP_OUTPUT")
        limits, iterators, recurrences, outputs = (tuple(map(_Link.of, _of_type(layers, kind))) for kind in kinds)
        if not limits:
            raise EvaluationError(f"the loop of {describe(layers[0])} has no end: add_trip_limit() is missing")
        for link in recurrences:
            if len(link.reads) != 2:
                raise EvaluationError(f"{link.what} has no value for the next turn: set_input(1, ...) is missing")
        return cls(limits, iterators, recurrences, outputs)

    def uses(self) -> Iterator[tuple[str, Path]]:
        inside: Path = ((self, "body"),)
        for link in self.counts:
            yield str(link.reads[0]), ()
        for link in self.conditions:
            yield str(link.reads[0]), inside
        for link in self.iterators:
            yield str(link.reads[0]), ()
        for link in self.recurrences:
            yield str(link.reads[0]), ()
            yield str(link.reads[1]), inside
        for link in self.outputs:
            yield str(link.reads[0]), inside
            if len(link.reads) > 1:
                yield str(link.reads[1]), ()

    def adopt(self, regions: dict[Region, list[Step]]) -> None:
        steps = regions.get((self, "body"), [])
        results = [str(link.reads[0]) for link in self.outputs]
        finals = [link.reads[0] for link in self.outputs if link.layer.kind == trt.LoopOutput.LAST_VALUE]
        self.kept = tuple(link for link in self.recurrences if link.output is not None and link.output.name in finals)
        self.asked = _needed_for([str(link.reads[0]) for link in self.conditions], steps)
        self.body = [step for step in steps if step not in self.asked]
        self.last = _needed_for([*results, *(str(link.reads[1]) for link in self.kept)], self.body)

    def execute(self, values: Values) -> None:
        turns = _length(self.counts[0], 0, values) if self.counts else None
        slices = [_slices(link, turns, values) for link in self.iterators]
        recorded: list[list[Array]] = [[] for _ in self.outputs]
        _start(self.recurrences, 0, values)
        for turn in count() if turns is None else range(turns):
            for link, parts in zip(self.iterators, slices, strict=True):
                link.put(values, _turn_of(link, parts, turn))
            for step in self.asked:
                step.execute(values)
            if not all(_truth(link, values) for link in self.conditions):
                break
            last = turns is not None and turn == turns - 1
            for step in self.last if last else self.body:
                step.execute(values)
            for link, record in zip(self.outputs, recorded, strict=True):
                record.append(values[str(link.reads[0])])
            _start(self.kept if last else self.recurrences, 1, values)
        for link, record in zip(self.outputs, recorded, strict=True):
            if link.layer.kind == trt.LoopOutput.LAST_VALUE:
                link.put(values, values[str(link.reads[0])])
            else:
                link.put(values, _joined(link, record, values))


def _needed_for(names: list[str], steps: list[Step]) -> list[Step]:
    """The steps that compute `names`, and what these read, in order."""
    wanted = set(names)
    for step in reversed(steps):
        if wanted.intersection(step.writes):
            wanted.update(name for name, _ in step.uses())
    return [step for step in steps if wanted.intersection(step.writes)]


def _start(recurrences: tuple[_Link, ...], place: int, values: Values) -> None:
    """Give recurrences the values of their inputs at `place`, all at once: one may read another."""
    for link, value in [(link, values[str(link.reads[place])]) for link in recurrences]:
        link.put(values, value)


def _truth(link: _Link, values: Values) -> bool:
    value = values[str(link.reads[0])]
    if value.dtype != np.bool_ or value.shape != ():
        raise EvaluationError(f"{link.what} needs one bool, not {link.reads[0]!r} {value.dtype} {value.shape}")
    return bool(value)


def _length(link: _Link, place: int, values: Values) -> int:
    value = values[str(link.reads[place])]
    if value.dtype.kind != "i" or value.shape != () or value < 0:
        raise EvaluationError(f"{link.what} needs one count, not {link.reads[place]!r} {value.dtype} {value.tolist()}")
    return int(value)


def _slices(link: _Link, turns: int | None, values: Values) -> Array:
    """What an iterator hands out, one a turn along the first axis; in reverse it starts from the last turn's."""
    parts: Array = np.moveaxis(values[str(link.reads[0])], link.layer.axis, 0)
    if not link.layer.reverse:
        return parts
    if turns is None or turns > len(parts):
        raise EvaluationError(f"{link.what} runs backwards over {len(parts)} slices, but the loop's count is {turns}")
    return parts[:turns][::-1]


def _turn_of(link: _Link, parts: Array, turn: int) -> Array:
    if turn >= len(parts):
        raise EvaluationError(f"{link.what} is out of range: turn {turn + 1} of the loop, but only {len(parts)} slices")
    return np.asarray(parts[turn])


def _joined(link: _Link, record: list[Array], values: Values) -> Array:
    """The values of all turns along a new axis, with zeros (TensorRT: anything) for turns that a condition cut off."""
    if len(link.reads) != 2:
        raise EvaluationError(f"{link.what} joins the turns of a loop without a length: set_input(1, ...) is missing")
    length = _length(link, 1, values)
    if len(record) > length:
        raise EvaluationError(f"{link.what} has room for {length} turns, but the loop took {len(record)}")
    if not record:
        assert link.output is not None and link.output.shape is not None
        axis = link.layer.axis
        shape = [length if place == axis else max(size, 0) for place, size in enumerate(link.output.shape)]
        return np.zeros(shape, link.output.dtype)
    turns = record if link.layer.kind == trt.LoopOutput.CONCATENATE else record[::-1]
    missing = [np.zeros_like(record[0])] * (length - len(record))
    return np.stack([*turns, *missing], axis=link.layer.axis)
