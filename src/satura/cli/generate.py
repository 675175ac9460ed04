"""`satura generate`: seeded data of any size to try things with."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from satura.cli.console import err, start_session
from satura.cli.options import Json, Master, Memory, Ui

app = typer.Typer(help="Generate data.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Generate data."""


@app.command("university")
def university(
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="Where to write.")],
    universities: Annotated[
        int, typer.Option("--universities", "-n", help="How many; about 130 000 triples each.")
    ] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same bytes.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    as_json: Json = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> None:
    """Write universities in the shape of the LUBM benchmark, with their ontology."""
    from satura.generate.university import generate_university  # noqa: PLC0415

    with start_session(master=master, memory=memory, ui=ui) as spark:
        summary = generate_university(
            spark, universities=universities, seed=seed, output=output, overwrite=overwrite
        )
    if as_json:
        typer.echo(json.dumps(asdict(summary), indent=2))
    else:
        err.print(f"{summary.triples:,} triples in {summary.files} files, {summary.seconds:.1f} s")
