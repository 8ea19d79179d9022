"""Random modules for the converter fixes, as text that can be printed and run again.

All values are small whole numbers or such numbers halved, so that float32 holds every sum and product exactly and an
engine has to return PyTorch's values to the last bit, float64 computed as float32 included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import torch

Inputs = tuple[torch.Tensor, ...]

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int32, torch.int64)
BYTES = (torch.bool, torch.int8, torch.uint8)
FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
CASTS = (*FLOATS, *INTEGERS, torch.float64, torch.bool)


class Written(torch.nn.Module):
    """The module of a forward() that is given as text."""

    def __init__(self, source: str, buffers: dict[str, torch.Tensor]) -> None:
        super().__init__()
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer.clone())
        names: dict[str, Any] = {"torch": torch}
        exec(source, names)
        self._forward = names["forward"]

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self._forward(self, *inputs)


@dataclass(frozen=True)
class Case:
    source: str
    buffers: dict[str, torch.Tensor]
    calls: list[Inputs]
    """The inputs of each call; the first are the example that it is compiled for."""
    options: dict[str, Any] = field(default_factory=dict)
    dynamic: bool = False
    """Exported with the first dimension of the first input between 2 and 8."""
    torch_compile: bool = False
    standard: bool = False
    """Built as for standard TensorRT, which has NonZero."""

    def __str__(self) -> str:
        how = "torch.compile" if self.torch_compile else "dynamo.compile"
        traits = [t for t in ("dynamic", "standard") if getattr(self, t)]
        described = [", ".join(map(_short, call)) for call in self.calls]
        constants = ", ".join(f"{name} {_short(buffer)}" for name, buffer in self.buffers.items())
        return "\n".join(
            [
                self.source,
                f"# {' '.join([how, *traits])} {self.options or ''}",
                f"# called with {'; '.join(dict.fromkeys(described))}",
                *([f"# buffers {constants}"] if constants else []),
            ]
        )


def _short(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


class Draft:
    """A forward() written line by line, run as it is written; a line that PyTorch refuses is not taken."""

    def __init__(self, random: Random, inputs: dict[str, torch.Tensor], buffers: dict[str, torch.Tensor]) -> None:
        self.random = random
        self.inputs = list(inputs)
        self.buffers = buffers
        self.lines: list[str] = []
        self._names: dict[str, Any] = {"torch": torch, "self": Written("def forward(self): ...", buffers)}
        self._names |= {name: tensor.clone() for name, tensor in inputs.items()}
        self.tensors = list(inputs)

    def value(self, name: str) -> torch.Tensor:
        value: torch.Tensor = self._names[name]
        return value

    def let(self, expression: str) -> str | None:
        """A new tensor; None where PyTorch has no such value."""
        name = f"t{len(self.lines)}"
        if not self.do(f"{name} = {expression}"):
            return None
        self.tensors.append(name)
        return name

    def do(self, statement: str) -> bool:
        try:
            exec(statement, self._names)
        except (RuntimeError, IndexError, TypeError, NotImplementedError):
            return False
        self.lines.append(statement)
        return True

    def any(self, wanted: Callable[[torch.Tensor], bool] = lambda _: True) -> str | None:
        """One of the tensors so far, later ones more often."""
        fitting = [name for name in self.tensors if wanted(self.value(name))]
        if not fitting:
            return None
        return self.random.choice(fitting if self.random.random() < 0.4 else fitting[-3:])

    def source(self, returned: str) -> str:
        lines = [f"def forward({', '.join(['self', *self.inputs])}):", *self.lines, f"return {returned}"]
        return "\n    ".join(lines)


def _numbers(random: Random, shape: tuple[int, ...], dtype: torch.dtype, low: int = -4, high: int = 4) -> torch.Tensor:
    """Whole numbers; from 0 where the type has no sign."""
    if dtype in (torch.bool, torch.uint8):
        low, high = 0, 1 if dtype == torch.bool else high
    count = torch.Size(shape).numel()
    return torch.tensor([random.randint(low, high) for _ in range(count)], dtype=torch.float32).view(shape).to(dtype)


def _calls(random: Random, example: Inputs, sizes: Sequence[int | None], high: int = 4) -> list[Inputs]:
    """The example, and for each size other values, with that first dimension of the first input where it is given."""
    calls = [example]
    for size in sizes:
        shapes = [tuple(t.shape) for t in example]
        if size is not None:
            shapes[0] = (size, *shapes[0][1:])
        calls.append(tuple(_numbers(random, s, t.dtype, high=high) for s, t in zip(shapes, example, strict=True)))
    return calls


# --- a generator for each fix ---


def output_tensors(random: Random) -> Case:
    """Copies, views, constants and inputs returned once or more, in any structure."""
    dtypes = (*FLOATS, *INTEGERS, torch.bool)
    shape = (random.choice((2, 3)), 4)
    inputs = {f"x{i}": _numbers(random, shape, random.choice(dtypes)) for i in range(random.randint(1, 3))}
    draft = Draft(random, inputs, {"constant": _numbers(random, shape, random.choice(FLOATS))})
    for _ in range(random.randint(1, 6)):
        a, b = draft.any(), draft.any()
        dtype = random.choice(dtypes)
        draft.let(
            random.choice(
                [
                    f"{a} * 2",
                    f"{a} + {b}",
                    f"{a} + self.constant",
                    f"{a}.clone()",
                    f"{a}.clone()",
                    f"{a}.contiguous()",
                    f"{a}.detach()",
                    f"{a}.to({a}.dtype, copy=True)",
                    f"{a}.to({a}.dtype)",
                    f"{a}.to({dtype})",
                    f"{a}.reshape(-1)",
                    f"{a}.mT",
                    f"{a}.view({a}.shape)",
                    f"{a}[1:]",
                    f"torch.ones_like({a})",
                    "self.constant",
                    "self.constant.clone()",
                ]
            )
        )
    outputs = [draft.any() for _ in range(random.randint(1, 5))]
    listed = ", ".join(map(str, outputs))
    returned = random.choice(
        [f"({listed},)", f"[{listed}]", f"{{'a': {outputs[0]}, 'b': ({listed},)}}", f"{outputs[-1]}", f"({listed},)"]
    )
    return Case(
        draft.source(returned),
        draft.buffers,
        _calls(random, tuple(inputs.values()), [None, None]),
        torch_compile=random.random() < 0.25,
    )


def float64_casts(random: Random) -> Case:
    """Casts to float64 and back among arithmetic, views and copies, of every dtype and memory format."""
    dtypes = (*FLOATS, *FLOATS, *INTEGERS, *BYTES, torch.int16, torch.float64, *FLOAT8)
    shape = random.choice([(4,), (2, 4), (2, 4, 4), (2, 2, 4, 2)])
    inputs = {f"x{i}": _numbers(random, shape, random.choice(dtypes)) for i in range(random.randint(1, 2))}
    turns = torch.tensor([random.choice((1, -1, 1j, -1j)) for _ in range(2)], dtype=torch.complex128)
    draft = Draft(random, inputs, {"turns": turns})
    formats = ("preserve_format", "contiguous_format", "channels_last")
    for _ in range(random.randint(2, 8)):
        a, b = draft.any(), draft.any()
        double = draft.any(lambda t: t.dtype == torch.float64) or a
        pairs = f"{double}.unflatten(-1, (-1, 2))"
        cast = random.choice(CASTS)
        draft.let(
            random.choice(
                [
                    f"{a}.to(torch.float64)",
                    f"{a}.double()",
                    f"{a}.to(torch.float64, copy=True)",
                    f"{a}.to(torch.float64, memory_format=torch.{random.choice(formats)})",
                    f"torch.zeros_like({a}, dtype=torch.float64) + {a}",
                    f"torch.zeros({a}.shape, dtype=torch.float64).copy_({a})",
                    f"{a}.sum(-1, dtype=torch.float64)",
                    f"{double} + 1",
                    f"{double} * 0.5",
                    f"-{double}",
                    f"{double} + {b}",
                    f"{double} * 2 - {double}",
                    f"{double}.amax(-1, keepdim=True)",
                    f"torch.view_as_real(torch.view_as_complex({pairs}) * self.turns).flatten(-2)",
                    f"{double}.to({cast})",
                    f"{double}.to({cast})",
                    f"{double}.float()",
                    f"{a}.transpose(0, -1)",
                    f"{a}.mT",
                    f"{a}[..., ::2]",
                    f"{a}.contiguous(memory_format=torch.{random.choice(formats[1:])})",
                    f"{a}.clone()",
                ]
            )
        )
    outputs = [draft.any() for _ in range(random.randint(1, 3))]
    dynamic = random.random() < 0.3 and len(inputs) == 1
    sizes = [random.randint(2, 8), random.randint(2, 8)] if dynamic else [None]
    return Case(
        draft.source(f"({', '.join(map(str, outputs))},)"),
        draft.buffers,
        _calls(random, tuple(inputs.values()), sizes),
        options={"truncate_double": random.random() < 0.8},
        dynamic=dynamic,
        torch_compile=not dynamic and random.random() < 0.15,
    )


def index_put_mask(random: Random) -> Case:
    """Writes at the True of a mask, with any number of dimensions before, in and behind the mask."""
    sizes = (3, 4, 2, 2)[: random.randint(1, 4)]
    dims = random.randint(1, min(len(sizes), 3))
    before = random.randint(0, len(sizes) - dims)
    masked = sizes[before : before + dims]
    most = torch.Size(masked).numel()
    count = random.randint(0, most)
    dtype = random.choice((*FLOATS[:2], *INTEGERS))
    written = [*sizes[:before], count, *sizes[before + dims :]]
    kept = written[random.randint(0, len(written)) :]
    shape = tuple(size if random.random() < 0.7 else 1 for size in kept)

    x, other = _numbers(random, sizes, dtype), _numbers(random, sizes, dtype)
    values = _numbers(random, shape, dtype)
    inputs = {"x": x, "mask": _mask(random, count, masked), "values": values, "other": other}
    place = ", ".join([*[":"] * before, "mask"])
    beside = dims == 1 and before == 0 and len(sizes) >= 2 and random.random() < 0.3
    if beside:
        indices = random.choices(range(sizes[1]), k=random.choice((count, 1)))
        inputs["index"] = torch.tensor(indices, dtype=torch.int64)
        place = random.choice(("mask, index", "mask, index, ...", "mask, 0"))

    draft = Draft(random, inputs, {})
    draft.do(random.choice(("h = x * 2", "h = x + other", "h = x.clone()")))
    holes = ", ".join(["None"] * before + ["mask"])
    for _ in range(random.randint(1, 2)):
        draft.do(
            random.choice(
                [
                    f"h[{place}] = values",
                    f"h[{place}] = values",
                    f"h[{place}] += values",
                    f"h[{place}] = 3",
                    f"h[{place}] *= 2",
                    f"h[{place}] = other[{place}]",
                    f"h[{place}] += other[{place}] * 2",
                    f"h = torch.ops.aten.index_put(h, [{holes}], values)",
                    f"h = torch.ops.aten.index_put(h, [{holes}], values, True)",
                    "h[:1] = 1",
                    "h = h + other",
                ]
            )
        )
    counts = [count, count] if beside else [count, random.randint(0, most), 0, most]
    calls = [tuple(inputs.values())]
    for other_count in counts:
        fresh = {name: _numbers(random, tuple(t.shape), t.dtype) for name, t in inputs.items()}
        fresh["mask"] = _mask(random, other_count, masked)
        if beside:
            fresh["index"] = inputs["index"]
        calls.append(tuple(fresh.values()))
    return Case(
        draft.source(random.choice(("h", "(h, h * 2)", "(h + 1, x)"))),
        {},
        calls,
        torch_compile=random.random() < 0.15,
        standard=random.random() < 0.8,
    )


def _mask(random: Random, count: int, shape: tuple[int, ...]) -> torch.Tensor:
    positions = random.sample(range(torch.Size(shape).numel()), count)
    mask = torch.zeros(torch.Size(shape).numel(), dtype=torch.bool)
    mask[positions] = True
    return mask.view(shape)


def uint8_select(random: Random) -> Case:
    """Frames of bytes taken out of a history, then cast; the same of other dtypes beside them."""
    shape = (random.randint(2, 4), 3, 2, 2)[: random.randint(1, 4)]
    dtypes = (torch.uint8, random.choice((torch.uint8, *FLOATS, *INTEGERS, torch.bool)))
    inputs = {f"x{i}": _numbers(random, shape, d, high=255) for i, d in enumerate(dtypes[: random.randint(1, 2)])}
    draft = Draft(random, inputs, {"history": _numbers(random, shape, torch.uint8, high=255)})
    for _ in range(random.randint(2, 8)):
        history = draft.any(lambda t: t.dtype == torch.uint8) or "x0"
        a = draft.any(lambda t: t.dtype != torch.uint8) or f"{history}.float()"
        b = draft.any(lambda t: t.dtype != torch.uint8) or "self.history[0].float()"
        dim, at = random.randint(-len(shape), len(shape) - 1), random.choice((0, 1, -1))
        draft.let(
            random.choice(
                [
                    f"{history}[{at}]",
                    f"{history}.select({dim}, {at})",
                    f"{history}[..., {at}]",
                    f"{history}.unbind({dim})[{at}]",
                    f"{history}.float() / 255",
                    f"{history}.to({random.choice((*FLOATS, *INTEGERS))})",
                    f"{history}[{at}].float() / 255",
                    f"{history}[{at}].to(torch.int32) + 1",
                    f"self.history[{at}].float()",
                    f"{a} * 2",
                    f"{a} + {b}",
                    f"{a}[{at}]",
                    f"{a}.select({dim}, {at})",
                ]
            )
        )
    outputs = [draft.any() for _ in range(random.randint(1, 3))]
    dynamic = random.random() < 0.3 and len(inputs) == 1
    sizes = [random.randint(2, 8), random.randint(2, 8)] if dynamic else [None, None]
    return Case(
        draft.source(f"({', '.join(map(str, outputs))},)"),
        draft.buffers,
        _calls(random, tuple(inputs.values()), sizes, high=255),
        dynamic=dynamic,
        torch_compile=not dynamic and random.random() < 0.15,
    )


GENERATORS: dict[str, Callable[[Random], Case]] = {
    "output-tensors": output_tensors,
    "float64-casts": float64_casts,
    "index-put-mask": index_put_mask,
    "uint8-select": uint8_select,
}
