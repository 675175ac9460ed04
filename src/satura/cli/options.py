"""Options that several verbs share."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        help="Spark master; default: all cores of this machine.",
        rich_help_panel="Spark",
    ),
]
Memory = Annotated[
    str, typer.Option("--memory", help="Heap of the local JVM.", rich_help_panel="Spark")
]
Ui = Annotated[
    bool, typer.Option("--ui", help="Serve the Spark UI while running.", rich_help_panel="Spark")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
StoreArgument = Annotated[str, typer.Argument(metavar="DIR", help="Directory of a store.")]
SameAsOption = Annotated[
    Literal["expand", "representatives"],
    typer.Option(
        "--same-as",
        help="Of terms that are the same: triples about all of them, or about one and "
        "`owl:sameAs` for the others.",
    ),
]
At = Annotated[
    int | None,
    typer.Option("--at", metavar="VERSION", help="An earlier version; default: the current one."),
]
AlgorithmOption = Annotated[
    Literal["auto", "counting", "dred", "recompute"],
    typer.Option("--algorithm", help="How the closure is brought up to date."),
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="Format of the inputs, whatever their names say.")
]
OnErrorOption = Annotated[
    Literal["fail", "skip"], typer.Option("--on-error", help="What to do about bad input.")
]
