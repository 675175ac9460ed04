"""`satura apply`: an RDF Patch, one commit for each of its transactions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from satura.cli.console import start_session, when_needed
from satura.cli.options import (
    AlgorithmOption,
    Json,
    Master,
    Memory,
    OnErrorOption,
    StoreArgument,
    Ui,
)
from satura.cli.outcomes import show_outcomes

if TYPE_CHECKING:
    from satura.maintain.model import Outcome


def apply(
    store: StoreArgument,
    patch: Annotated[str, typer.Argument(metavar="CHANGES", help="An RDF Patch, or - for stdin.")],
    on_error: OnErrorOption = "fail",
    algorithm: AlgorithmOption = "auto",
    as_json: Json = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> None:
    """Apply additions and removals to a store, each transaction in one commit."""
    from satura.maintain.apply import Maintainer  # noqa: PLC0415
    from satura.store import Store  # noqa: PLC0415
    from satura.updating import apply_patch  # noqa: PLC0415

    opened = Store.open(store)
    outcomes: list[Outcome] = []
    start = partial(start_session, master=master, memory=memory, ui=ui)
    try:
        with when_needed(start) as session:
            maintainer = Maintainer(opened, session)
            for outcome in apply_patch(maintainer, patch, on_error=on_error, algorithm=algorithm):
                outcomes.append(outcome)  # What was done is shown even if the next one fails.
    finally:
        show_outcomes(outcomes, as_json)
