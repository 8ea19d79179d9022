"""Run one reproduction by its fix's slug; exits with 1 where the bug shows."""

from __future__ import annotations

import importlib
import json
import logging
import pkgutil
import sys
import warnings
from dataclasses import asdict

import click

from . import Finding, __path__

NAMES = sorted(m.name.replace("_", "-") for m in pkgutil.iter_modules(__path__) if m.name != "__main__")


@click.command()
@click.argument("name", type=click.Choice(NAMES))
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def main(name: str, as_json: bool) -> None:
    """Show a bug of torch_tensorrt on real input, or that it is gone."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    finding: Finding = importlib.import_module(f"{__package__}.{name.replace('-', '_')}").reproduce()
    if as_json:
        click.echo(json.dumps(asdict(finding)))
    else:
        verdict = "as it should be" if finding.well else "WRONG"
        click.echo(f"{finding.what}\n  wanted  {finding.wanted}\n  got     {finding.got}  ({verdict})")
        click.echo(f"  {finding.seconds:.1f} s")
    sys.exit(not finding.well)


if __name__ == "__main__":
    main()
