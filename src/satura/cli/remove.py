"""`satura remove`: take back assertions. Starts Spark only for what is large."""

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
from satura.errors import ConfigError


def remove(
    store: StoreArgument,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE…", help="Files, directories, globs, or - for stdin."),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            metavar="G",
            help="The graph of statements that name none; without files, all of that graph.",
        ),
    ] = None,
    format: FormatOption = None,
    on_error: OnErrorOption = "fail",
    algorithm: AlgorithmOption = "auto",
    as_json: Json = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> None:
    """Remove statements from a store, with everything that follows from them alone."""
    from satura.maintain.apply import Maintainer  # noqa: PLC0415
    from satura.store import Store  # noqa: PLC0415
    from satura.updating import read_given, remove_graph, update  # noqa: PLC0415

    if not inputs and graph is None:
        raise ConfigError(
            "REMOVE-WHAT", "neither a file nor --graph was given",
            "name what is to be removed: `satura remove DIR FILE` or `satura remove DIR --graph G`",
        )  # fmt: skip
    opened = Store.open(store)
    start = partial(start_session, master=master, memory=memory, ui=ui)
    with when_needed(start) as session:
        maintainer = Maintainer(opened, session)
        if inputs:
            given = read_given(
                inputs, graph=graph, format=format, on_error=on_error, session=session
            )
            outcome = update(maintainer, removed=given, algorithm=algorithm)
        else:
            outcome = remove_graph(maintainer, graph or "", algorithm=algorithm)
    show_outcome(outcome, as_json)
