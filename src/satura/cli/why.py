"""`satura why`: the asserted triples that an inferred one comes from."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from satura.cli.console import out, start_session
from satura.cli.options import At, Json, Master, Memory, StoreArgument, Ui
from satura.errors import ConfigError


def why(
    store: StoreArgument,
    triple: Annotated[
        list[str] | None,
        typer.Argument(metavar="S P O", help="A triple, as three N-Triples terms."),
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample", help="Explain some inferred triples instead.")
    ] = 0,
    at: At = None,
    as_json: Json = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> int:
    """Show one derivation of a triple, down to what was asserted."""
    from satura.explain import explain, pick  # noqa: PLC0415
    from satura.kb import open as open_kb  # noqa: PLC0415
    from satura.store import Store  # noqa: PLC0415
    from satura.terms.ntriples import read_term  # noqa: PLC0415

    if bool(triple) == (sample > 0) or len(triple or ()) not in (0, 3):
        raise ConfigError(
            "WHY-WHAT", "give a triple as three terms, or --sample N",
            "for example: satura why DIR '<http://e/a>' '<http://e/p>' '\"text\"'",
        )  # fmt: skip
    Store.open(store, at)
    with start_session(master=master, memory=memory, ui=ui) as spark:
        kb = open_kb(spark, store, at)
        if triple:
            s, p, o = (read_term(text) for text in triple)
            wanted = [(s, p, o)]
        else:
            wanted = pick(kb, sample)
        found = [(asked, explain(kb, asked)) for asked in wanted]
    if as_json:
        typer.echo(json.dumps([None if e is None else asdict(e) for _, e in found], indent=2))
        return 0 if all(e for _, e in found) else 1
    for asked, explanation in found:
        out.print(" ".join(asked), markup=False, style="bold")
        if explanation is None:
            out.print("  is not in the closure")
            continue
        if not explanation.steps:
            out.print(f"  is {'asserted' if explanation.asserted else 'an axiom of the rule set'}")
            continue
        for leaf in explanation.asserted:
            out.print("  asserted  " + " ".join(leaf), markup=False)
        for leaf in explanation.axioms:
            out.print("  axiom     " + " ".join(leaf), markup=False)
        for step in explanation.steps:
            out.print(f"  {step.rule:<9} " + " ".join(step.triple), markup=False)
    return 0 if all(e for _, e in found) else 1
