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


@app.command("updates")
def updates(
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="Where to write.")],
    universities: Annotated[
        int, typer.Option("--universities", "-n", help="How many universities the data has.")
    ] = 1,
    seed: Annotated[int, typer.Option("--seed", help="The seed of the data.")] = 0,
    patches: Annotated[bool, typer.Option("--patch", help="Write RDF Patch too.")] = False,
    plain: Annotated[int, typer.Option("--plain", help="Triples of update 2.")] = 16_000,
    emails: Annotated[int, typer.Option("--emails", help="Triples of update 3.")] = 8_000,
    departments: Annotated[
        int, typer.Option("--departments", help="At most so many in each university of 5 and 6.")
    ] = 25,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    as_json: Json = False,
) -> None:
    """Write six updates of the data of `generate university`, to add to it and to remove."""
    from satura.generate.updates import Sizes, generate_updates  # noqa: PLC0415

    done = generate_updates(
        universities=universities, seed=seed, output=output, patches=patches, overwrite=overwrite,
        sizes=Sizes(plain=plain, emails=emails, departments=departments),
    )  # fmt: skip
    if as_json:
        typer.echo(json.dumps([asdict(update) for update in done], indent=2))
        return
    for update in done:
        err.print(
            f"{update.number} {update.what}: {update.added:,} to add, {update.removed:,} to remove"
        )
