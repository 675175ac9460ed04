"""`satura export`: triples of a store as N-Triples, N-Quads, Turtle or Parquet."""

from __future__ import annotations

from typing import Annotated

import typer

from satura.cli.console import err, start_session
from satura.cli.options import At, Master, Memory, SameAsOption, StoreArgument, Ui
from satura.errors import ConfigError


def export(
    store: StoreArgument,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PATH", help="File or directory; - is stdout.")
    ] = "-",
    asserted: Annotated[bool, typer.Option("--asserted", help="What was given.")] = False,
    inferred: Annotated[bool, typer.Option("--inferred", help="What is entailed only.")] = False,
    closure: Annotated[bool, typer.Option("--closure", help="Both (the default).")] = False,
    graph: Annotated[
        str | None,
        typer.Option("--graph", metavar="G", help="Asserted triples of one named graph, by IRI."),
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="nt, nq, ttl or parquet; default: by extension.")
    ] = None,
    at: At = None,
    same_as: SameAsOption = "expand",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> None:
    """Write triples of a store to a file, a directory or standard output."""
    from satura.io.writing import Export, guess_export, write_triples  # noqa: PLC0415
    from satura.kb import open as open_kb  # noqa: PLC0415
    from satura.store import Store  # noqa: PLC0415

    if asserted + inferred + closure > 1:
        raise ConfigError(
            "EXPORT-WHAT", "more than one of --asserted, --inferred and --closure was given",
            "give one of them",
        )  # fmt: skip
    if graph is not None and (inferred or closure):
        raise ConfigError(
            "EXPORT-WHAT", "a graph holds asserted triples only", "give --graph with --asserted"
        )
    if format is not None and format not in tuple(Export):
        raise ConfigError(
            "EXPORT-FORMAT", f"there is no format `{format}`", f"one of {', '.join(Export)}"
        )
    chosen = Export(format) if format is not None else guess_export(output)
    Store.open(store, at)  # fail before Spark starts
    with start_session(master=master, memory=memory, ui=ui) as spark:
        kb = open_kb(spark, store, at)
        if asserted or graph is not None:
            frame = kb.asserted() if graph is None else kb.graph(graph)
        else:
            frame = kb.inferred(same_as=same_as) if inferred else kb.closure(same_as=same_as)
        if chosen not in (Export.NQ, Export.PARQUET) and "g" in frame.columns:
            # One triple in two graphs is one line where graphs are not written.
            frame = frame.drop("g").distinct()
        write_triples(frame, output, format=chosen, overwrite=overwrite)
    if output != "-":
        err.print(f"written to {output}", markup=False)
