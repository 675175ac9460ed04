"""`satura cut`: a data set as the micro-batches of a stream. Starts no Spark."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from satura.cli.console import err
from satura.cli.options import FormatOption, Json

if TYPE_CHECKING:
    from satura.generate.cut import CutSummary


def cut(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT…", help="Files, directories, globs, or - for stdin."),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="Where to write.")],
    batches: Annotated[int, typer.Option("--batches", "-n", help="How many batches.")],
    schema: Annotated[
        Literal["spread", "first", "last"], typer.Option("--schema", help="Where schema goes.")
    ] = "spread",
    shuffle: Annotated[bool, typer.Option("--shuffle", help="In random order.")] = False,
    duplicates: Annotated[
        float, typer.Option("--duplicates", help="Part of the statements that is sent again.")
    ] = 0.0,
    deletions: Annotated[
        float, typer.Option("--deletions", help="Part of the statements that is deleted later.")
    ] = 0.0,
    reinsertions: Annotated[
        float,
        typer.Option("--reinsertions", help="Part of the deleted ones that is inserted again."),
    ] = 0.0,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same bytes.")] = 0,
    format: FormatOption = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    as_json: Json = False,
) -> None:
    """Cut RDF into micro-batches, with its schema spread over them."""
    from satura.generate.cut import cut as cut_inputs  # noqa: PLC0415
    from satura.generate.schedule import Shares  # noqa: PLC0415

    summary = cut_inputs(
        inputs, output, batches, schema=schema, shuffle=shuffle,
        shares=Shares(duplicates, deletions, reinsertions),
        seed=seed, format=format, overwrite=overwrite,
    )  # fmt: skip
    if as_json:
        typer.echo(json.dumps(asdict(summary), indent=2))
    else:
        _show(summary)


def _show(summary: CutSummary) -> None:
    batches = "1 batch" if len(summary.batches) == 1 else f"{len(summary.batches):,} batches"
    err.print(f"{summary.statements:,} statements, {summary.schema:,} of them schema, in {batches}")
    if summary.blank_nodes:
        err.print("as RDF Patch, where a blank node is the same in every batch")
    if summary.repeated:
        err.print(f"{summary.repeated:,} repeated in the input, which are left out")
    if summary.duplicates or summary.deletions:
        err.print(
            f"{summary.duplicates:,} sent again, {summary.deletions:,} deleted,"
            f" {summary.reinsertions:,} inserted again; {summary.final:,} in the end"
        )
