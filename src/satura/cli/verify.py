"""`satura verify`: is a store whole, and is it the closure of what is asserted?"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from satura.cli.console import err, out, start_session
from satura.cli.options import At, Json, Master, Memory, StoreArgument, Ui


def verify(
    store: StoreArgument,
    full: Annotated[
        bool, typer.Option("--full", help="Derive everything again, not a sample of subjects.")
    ] = False,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Also delete files that no readable version names."),
    ] = False,
    at: At = None,
    as_json: Json = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> int:
    """Check a store: files, ids, counts, and that the closure is what the rules entail."""
    from satura.recheck import SAMPLE, check_entailment  # noqa: PLC0415
    from satura.store import Store, find_orphans  # noqa: PLC0415
    from satura.store import repair as remove_orphans  # noqa: PLC0415
    from satura.store.verify import verify as run  # noqa: PLC0415

    opened = Store.open(store, at)
    removed = remove_orphans(opened.path) if repair else []
    orphans = find_orphans(opened.path)
    with start_session(master=master, memory=memory, ui=ui) as spark:
        check = partial(check_entailment, every=1 if full else SAMPLE)
        report = run(spark, opened, entailment=check)
    if as_json:
        data = asdict(report) | {
            "ok": report.ok,
            "orphans": [str(path) for path in orphans],
            "removed": [str(path) for path in removed],
        }
        typer.echo(json.dumps(data, indent=2))
    else:
        for item in report.checks:
            out.print(f"{'ok  ' if item.ok else 'FAIL'} {item.name}: {item.detail}", markup=False)
        for name in report.skipped:
            out.print(f"skip {name}: not run, because a check before it failed", markup=False)
        if removed:
            err.print(f"removed {len(removed)} files that no readable version names")
        if orphans:
            err.print(
                f"{len(orphans)} files belong to no readable version; "
                "`satura verify --repair` removes them"
            )
    return 0 if report.ok else 1
