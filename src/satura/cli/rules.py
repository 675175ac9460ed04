"""`satura rules`: which rule sets there are, what they say, whether a file is well formed.

And those of a store, which may be replaced.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from satura.cli.console import err, out, start_session, when_needed
from satura.cli.options import Json, Master, Memory, StoreArgument, Ui
from satura.cli.outcomes import show_outcome

app = typer.Typer(
    help="List, show and check rule sets, or set those of a store.", no_args_is_help=True
)


@app.command("list")
def list_sets(as_json: Json = False) -> None:
    """List the built-in rule sets."""
    from dataclasses import asdict  # noqa: PLC0415

    from satura.rules.catalog import list_rules  # noqa: PLC0415

    entries = list_rules()
    if as_json:
        typer.echo(json.dumps([asdict(entry) for entry in entries], indent=2))
        return
    table = Table("name", "rules", "triples", "what it is")
    for entry in entries:
        table.add_row(*(str(value) for value in asdict(entry).values()))
    out.print(table)


@app.command("show")
def show(
    name: Annotated[
        str, typer.Argument(help="Built-in rule set or path of a .srl or .rules file.")
    ],
    rule: Annotated[str | None, typer.Argument(help="Id of one rule.")] = None,
) -> None:
    """Print a rule set, or one rule of it."""
    from satura.rules.catalog import show_rules  # noqa: PLC0415

    typer.echo(show_rules(name, rule).rstrip())


@app.command("lint")
def lint(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Rule files, .srl or .rules.")
    ],
) -> int:
    """Check rule files; exit code 1 if one has an error."""
    from satura.rules.lint import RuleWarning  # noqa: PLC0415
    from satura.rules.lint import lint as check  # noqa: PLC0415
    from satura.rules.reader import read_source  # noqa: PLC0415

    failed = False
    for file in files:
        text, source, base = read_source(str(file))
        found = check(text, source, base=base)
        for problem in found:
            warning = isinstance(problem, RuleWarning)
            failed |= not warning
            out.print(f"{'warning' if warning else 'error'}: {problem}", markup=False)
        if not found:
            err.print(f"{file}: ok", markup=False)
    return 1 if failed else 0


@app.command("set")
def set_store(
    store: StoreArgument,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE", help="Built-in rule set or path of a .srl or .rules file."
        ),
    ],
    as_json: Json = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> None:
    """Close a store under other rules; what is asserted stays."""
    from satura.maintain.apply import Maintainer  # noqa: PLC0415
    from satura.maintain.rule_sets import (  # noqa: PLC0415
        is_closed_again,
        is_same,
        set_rules,
    )
    from satura.rules.reader import load_rules  # noqa: PLC0415
    from satura.store import Store  # noqa: PLC0415

    rule_set, opened = load_rules(name), Store.open(store)
    start = partial(start_session, master=master, memory=memory, ui=ui)
    with when_needed(start) as session:
        maintainer = Maintainer(opened, session)
        if not is_same(opened, rule_set):
            again = is_closed_again(maintainer, rule_set)
            what = "closing again" if again else "counting what changes of"
            asserted = opened.info.counts.asserted
            err.print(f"{what} {asserted:,} asserted triples under {rule_set.name}")
        outcome = set_rules(maintainer, rule_set, session=session)
    show_outcome(outcome, as_json)
