"""What an update did, as a table for people or as JSON for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from satura.cli.console import out

if TYPE_CHECKING:
    from satura.maintain.model import Outcome

KINDS = ("asserted", "inferred", "closure")


def show_outcome(outcome: Outcome, as_json: bool) -> None:
    """Print what one update did."""
    if as_json:
        typer.echo(json.dumps(as_data(outcome), indent=2))
        return
    table = sums_table()
    _add_changes(table, [outcome])
    table.add_row("algorithm", outcome.algorithm)
    table.add_row("why", outcome.why)
    _add_cost(table, [outcome])
    _add_store(table, outcome)
    out.print(table)


def show_outcomes(outcomes: Sequence[Outcome], as_json: bool) -> None:
    """Print what the transactions of a patch did, in sum; as JSON each for itself."""
    if as_json:
        data = {"transactions": [as_data(outcome) for outcome in outcomes]}
        typer.echo(json.dumps(data, indent=2))
        return
    table = sums_table()
    table.add_row("transactions", f"{len(outcomes):,}")
    table.add_section()
    _add_changes(table, outcomes)
    for name, times in Counter(f"{x.algorithm}: {x.why}" for x in outcomes).items():
        table.add_row(name, f"{times:,}")
    _add_cost(table, outcomes)
    if outcomes:
        _add_store(table, outcomes[-1])
    out.print(table)


def as_data(outcome: Outcome) -> Mapping[str, Any]:
    """Return an outcome as it is printed for programs."""
    counts = outcome.counts
    return {
        "store": outcome.store,
        "version": outcome.version,
        "changed": outcome.changed,
        **{
            kind: {change: getattr(counts, f"{kind}_{change}") for change in ("added", "removed")}
            for kind in KINDS
        },
        "algorithm": outcome.algorithm,
        "why": outcome.why,
        "rejected": outcome.rejected,
        "estimate": outcome.estimate,
        "looked_up": outcome.looked_up,
        "rows_read": outcome.rows_read,
        "files_read": outcome.files_read,
        "rounds": outcome.rounds,
        "seconds": round(outcome.seconds, 4),
        "stages": {name: round(seconds, 4) for name, seconds in outcome.stages.items()},
    }


def sums_table() -> Table:
    """Return a table of names and numbers."""
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right", overflow="fold")
    return table


def add_changes(table: Table, sums: Mapping[str, int]) -> None:
    """Add how many triples came and went, by the names of `Counted`."""
    for kind in KINDS:
        table.add_row(kind, f"+{sums[f'{kind}_added']:,} -{sums[f'{kind}_removed']:,}")


def _add_changes(table: Table, outcomes: Sequence[Outcome]) -> None:
    sums: Counter[str] = Counter()
    for outcome in outcomes:
        sums.update(asdict(outcome.counts))
    add_changes(table, sums)
    if rejected := sum(x.rejected for x in outcomes):
        table.add_row("rejected", f"{rejected:,}")
    table.add_section()


def _add_cost(table: Table, outcomes: Sequence[Outcome]) -> None:
    table.add_row("rows read", f"{sum(x.rows_read for x in outcomes):,}")
    table.add_row("files read", f"{sum(x.files_read for x in outcomes):,}")
    table.add_row("total", f"{sum(x.seconds for x in outcomes):.2f} s")
    table.add_section()


def _add_store(table: Table, last: Outcome) -> None:
    table.add_row("store", last.store)
    table.add_row("version", str(last.version))
