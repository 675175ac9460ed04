"""`satura info`: what a store holds. Reads the log only, so it needs no Spark."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer
from rich.table import Table

from satura.cli.console import add_not_acted_on, out
from satura.cli.options import At, Json, StoreArgument


def info(store: StoreArgument, at: At = None, as_json: Json = False) -> None:
    """Show what a store holds: counts, rules, version, size."""
    from satura.store import Store  # noqa: PLC0415

    found = Store.open(store, at).info
    if as_json:
        data = asdict(found)
        data |= data.pop("counts")
        typer.echo(json.dumps(data, indent=2, default=str))
        return
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right", overflow="fold")
    for name, value in (
        ("store", found.path),
        ("version", found.version),
        ("rules", found.rule_set),
    ):
        table.add_row(name, str(value))
    table.add_section()
    for name, number in asdict(found.counts).items():
        table.add_row(name, f"{number:,}")
    table.add_row("terms", f"{found.terms:,}")
    ignored = found.extra.get("not_acted_on")
    if ignored:
        table.add_section()
        add_not_acted_on(table, found.rule_set, ignored)
    table.add_section()
    table.add_row("files", f"{found.files:,}")
    table.add_row("bytes", f"{found.bytes:,}")
    table.add_row("written", found.created)
    table.add_row("by", f"satura {found.satura_version}, format {found.format_version}")
    out.print(table)
