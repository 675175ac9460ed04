"""`satura compact`: fewer files with the same rows, and old versions deleted."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table

from satura.cli.console import out, start_session
from satura.cli.options import Json, Master, Memory, StoreArgument, Ui
from satura.errors import ConfigError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def compact(
    store: StoreArgument,
    retain: Annotated[
        str,
        typer.Option("--retain", metavar="TIME", help="Keep versions superseded since: 7d, 12h."),
    ] = "7d",
    full: Annotated[
        bool, typer.Option("--full", help="Write all rows anew, even where few files are added.")
    ] = False,
    as_json: Json = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> None:
    """Merge the files that updates left, and delete what only old versions need."""
    from satura.store import Store, Upkeep, vacuum  # noqa: PLC0415
    from satura.store.compaction import compact as run  # noqa: PLC0415
    from satura.store.compaction import needs_spark, plan_full  # noqa: PLC0415
    from satura.store.upkeep import plan_upkeep  # noqa: PLC0415

    kept = read_duration(retain)
    before = Store.open(store)
    policy = Upkeep(max_layers=1, retain=kept)
    plan = plan_full(before) if full else plan_upkeep(before, policy, spark=True)
    large = needs_spark(plan)
    session: AbstractContextManager[SparkSession | None] = (
        start_session(master=master, memory=memory, ui=ui) if large else nullcontext()
    )
    with session as spark:
        after = run(before, plan, spark)
    removed = vacuum(after.path, kept)
    if as_json:
        data = {
            "store": after.info.path, "version": after.version, "compacted": after is not before,
            "files_before": before.info.files, "files": after.info.files,
            "bytes_before": before.info.bytes, "bytes": after.info.bytes,
            "deleted": [str(path) for path in removed],
        }  # fmt: skip
        typer.echo(json.dumps(data, indent=2))
        return
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right", overflow="fold")
    table.add_row("store", after.info.path)
    table.add_row("version", f"{after.version:,}")
    table.add_row("files", f"{before.info.files:,} → {after.info.files:,}")
    table.add_row("bytes", f"{before.info.bytes:,} → {after.info.bytes:,}")
    table.add_row("files deleted", f"{len(removed):,}")
    out.print(table)


def read_duration(text: str) -> timedelta:
    """Read a number with a unit.

    >>> read_duration("36h")
    datetime.timedelta(days=1, seconds=43200)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip())
    if not found:
        raise ConfigError(
            "RETAIN-SYNTAX",
            f"`{text}` is not a time",
            "give a number and s, m, h, d or w: `7d`, `12h`, `0s`",
        )
    return timedelta(seconds=float(found[1]) * UNITS[found[2]])
