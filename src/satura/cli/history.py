"""`satura history`: the versions of a store and what made them. Reads the log only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from satura.cli.console import out
from satura.cli.options import Json, StoreArgument


def history(
    store: StoreArgument,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Show the latest N versions.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """List the versions of a store, the latest first, and what made each of them."""
    from satura.store import Store  # noqa: PLC0415

    entries = Store.open(store).history(store, limit)
    if as_json:
        typer.echo(json.dumps([asdict(entry) for entry in entries], indent=2))
        return
    table = Table()
    for name in ("version", "written", "operation"):
        table.add_column(name)
    for name in ("asserted", "inferred", "change"):
        table.add_column(name, justify="right")
    table.add_column("readable")
    for entry in entries:
        counts = entry.counts
        table.add_row(
            str(entry.version), entry.created, entry.operation,
            f"{counts.asserted:,}" if counts else "", f"{counts.inferred:,}" if counts else "",
            shown(entry.change), "yes" if entry.readable else "vacuumed",
        )  # fmt: skip
    out.print(table)


def shown(change: Mapping[str, Any]) -> str:
    """Say in short what a version changed: asserted and inferred triples that came and went.

    >>> shown({"asserted_added": 2, "asserted_removed": 1, "inferred_added": 4})
    '+2 -1, inferred +4'
    >>> shown({"files_before": 30})
    ''
    """
    parts = []
    for kind, before in (("asserted", ""), ("inferred", "inferred ")):
        came, went = (change.get(f"{kind}_{what}", 0) for what in ("added", "removed"))
        signed = [f"+{came:,}"] * bool(came) + [f"-{went:,}"] * bool(went)
        if signed:
            parts.append(before + " ".join(signed))
    return ", ".join(parts)
