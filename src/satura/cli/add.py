"""`satura add`: assert statements, and infer what follows. Starts Spark only for what is large."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from satura.cli.console import start_session, when_needed
from satura.cli.options import (
    AlgorithmOption,
    FormatOption,
    Json,
    Master,
    Memory,
    OnErrorOption,
    StoreArgument,
    Ui,
)
from satura.cli.outcomes import show_outcome


def add(
    store: StoreArgument,
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="FILE…", help="Files, directories, globs, or - for stdin."),
    ],
    graph: Annotated[
        str | None,
        typer.Option("--graph", metavar="G", help="Where statements go that name no graph."),
    ] = None,
    format: FormatOption = None,
    on_error: OnErrorOption = "fail",
    algorithm: AlgorithmOption = "auto",
    as_json: Json = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> None:
    """Add statements to a store, with everything that follows from them."""
    from satura.maintain.apply import Maintainer  # noqa: PLC0415
    from satura.store import Store  # noqa: PLC0415
    from satura.updating import read_given, update  # noqa: PLC0415

    opened = Store.open(store)
    start = partial(start_session, master=master, memory=memory, ui=ui)
    with when_needed(start) as session:
        given = read_given(inputs, graph=graph, format=format, on_error=on_error, session=session)
        outcome = update(Maintainer(opened, session), given, algorithm=algorithm)
    show_outcome(outcome, as_json)
