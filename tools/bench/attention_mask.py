"""The size of an engine with an attention mask, stock and with fix 7 (mask-fold-marks).

    python tools/bench/attention_mask.py
    python tools/bench/attention_mask.py --mask bool --mask tril --lengths 256,512

Each engine is one decomposed attention over `length` tokens (`two` has two of them). Both sides of a row are built in
the same run, each in a process of its own that imports the installed torch_tensorrt. `growth` is the slope of the
least-squares line of log(bytes) over log(length): 0 does not grow, 2 grows with the square. Building needs no GPU.
"""

from __future__ import annotations

from collections.abc import Callable

import click
import torch
from rich.console import Console
from rich.table import Table
from torch.nn.functional import scaled_dot_product_attention

from _measuring import Numbers, growth, process_with

HEADS, HEAD_DIM = 2, 8

Positions = torch.Tensor
"""The numbers of the tokens, (length,) int64."""


# --- masks ---


def boolean(i: Positions) -> torch.Tensor:
    return i[:, None] >= i


def window(i: Positions) -> torch.Tensor:
    return (i[:, None] >= i) & (i[:, None] - i < 64)


def tril(i: Positions) -> torch.Tensor:
    return torch.ones(len(i), len(i), dtype=torch.bool).tril()


def triu(i: Positions) -> torch.Tensor:
    return torch.full((len(i), len(i)), float("-inf")).triu(1)


def floats(i: Positions) -> torch.Tensor:
    return torch.where(i[:, None] >= i, 0.0, float("-inf"))


def distance(i: Positions) -> torch.Tensor:
    return -0.25 * (i[:, None] - i).abs().to(torch.float32)


MASKS: dict[str, tuple[Callable[[Positions], torch.Tensor] | None, str]] = {
    "is_causal": (None, "no mask, but is_causal=True"),
    "bool": (boolean, "i >= j"),
    "window": (window, "(i >= j) & (i - j < 64)"),
    "tril": (tril, "ones().tril()"),
    "triu": (triu, "full(-inf).triu(1)"),
    "float": (floats, "where(i >= j, 0, -inf)"),
    "distance": (distance, "-0.25 * |i - j|"),
    "padding": (boolean, "(i >= j) & padding, an input"),
    "two": (boolean, "i >= j, for two attentions"),
}


class Attention(torch.nn.Module):
    """Attention under one of MASKS."""

    def __init__(self, mask: str) -> None:
        super().__init__()
        self.mask = mask

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, padding: torch.Tensor | None = None
    ) -> torch.Tensor:
        """q, k, v and the output: (1, HEADS, length, HEAD_DIM) float32; padding: (1, 1, 1, length) bool."""
        make, _ = MASKS[self.mask]
        if make is None:
            return scaled_dot_product_attention(q, k, v, is_causal=True)
        mask = make(torch.arange(q.shape[2]))
        if padding is not None:
            mask = mask & padding
        for _ in range(2 if self.mask == "two" else 1):
            q = scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return q


# --- measuring ---


def engine_bytes(mask: str, length: int) -> int:
    """The size of the engine that the torch_tensorrt of this process builds."""
    import torch_tensorrt

    inputs = [torch.zeros(1, HEADS, length, HEAD_DIM) for _ in range(3)]
    if mask == "padding":
        inputs.append(torch.ones(1, 1, 1, length, dtype=torch.bool))
    program = torch.export.export(Attention(mask).eval(), tuple(inputs))
    engine = torch_tensorrt.dynamo.convert_exported_program_to_serialized_trt_engine(
        program, inputs=inputs, decompose_attention=True, min_block_size=1
    )
    return len(engine)


# --- showing ---


SIZES = Numbers(least=2)


@click.command(help=__doc__, context_settings={"max_content_width": 120})
@click.option("--mask", "masks", multiple=True, type=click.Choice(list(MASKS)), help="Only this; may be repeated.")
@click.option(
    "--lengths", type=SIZES, default="256,512,1024,2048", show_default=True, help="Of the sequence."
)
def main(masks: tuple[str, ...], lengths: list[int]) -> None:
    with process_with("no-gpu") as stock, process_with("no-gpu,mask-fold-marks") as fixed:
        for mask in [name for name in MASKS if name in (masks or MASKS)]:
            table = Table(title=f"{mask}: {MASKS[mask][1]}", title_justify="left")
            for column in ("length", "stock, MB", "fixed, MB", "stock/fixed"):
                table.add_column(column, justify="right", min_width=11)
            sizes: dict[str, dict[int, int]] = {"stock": {}, "fixed": {}}
            with Console(stderr=True).status(mask) as status:
                for length in lengths:
                    status.update(f"{mask}, {length:,} tokens")
                    for side, process in (("stock", stock), ("fixed", fixed)):
                        sizes[side][length] = process.submit(engine_bytes, mask, length).result()
                    shown = [f"{of[length] / 1e6:,.2f}" for of in sizes.values()]
                    ratio = sizes["stock"][length] / sizes["fixed"][length]
                    table.add_row(f"{length:,}", *shown, f"{ratio:,.1f}", end_section=length == lengths[-1])
            table.add_row("growth", *(f"n^{growth(of):.2f}" if len(of) > 1 else "-" for of in sizes.values()), "")
            Console().print(table)


if __name__ == "__main__":
    main()
