"""`satura check`: what contradicts the rules, and which triples make it so."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated

import typer

from satura.cli.console import err, out, start_session, violations
from satura.cli.options import At, Json, Master, Memory, StoreArgument, Ui


def check(
    store: StoreArgument,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="List at most so many violations.")
    ] = 100,
    at: At = None,
    as_json: Json = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> int:
    """List the violations of a store: rule, witnesses, and the triples involved.

    Exits with 0 if there are none and with 3 otherwise.
    """
    from satura.kb import KnowledgeBase  # noqa: PLC0415
    from satura.store import Store  # noqa: PLC0415
    from satura.violations import shown_violations  # noqa: PLC0415

    opened = Store.open(store, at)
    total = opened.info.counts.violations
    if not total:
        if as_json:
            typer.echo(json.dumps({"violations": 0, "listed": []}, indent=2))
        else:
            out.print(f"no violations of {opened.info.rule_set}")
        return 0
    with start_session(master=master, memory=memory, ui=ui) as spark:
        found = shown_violations(KnowledgeBase(spark, opened), limit)
    if as_json:
        listed = [
            {
                "rule": x.rule,
                "witnesses": dict(x.witnesses),
                "same_as": {term: list(others) for term, others in x.equal},
                "triples": x.triples,
            }
            for x in found
        ]
        typer.echo(json.dumps({"violations": total, "listed": listed}, indent=2))
        return 3
    for violation in found:
        witnesses = ", ".join(f"?{name} = {term}" for name, term in violation.witnesses)
        out.print(f"{violation.rule}: {witnesses}", markup=False, highlight=False, soft_wrap=True)
        for term, others in violation.equal:
            text = f"    {term} is the same as {', '.join(others)}"
            out.print(text, markup=False, highlight=False, soft_wrap=True)
        for triple in violation.triples:
            text = " ".join(triple)
            out.print(f"    {text} .", markup=False, highlight=False, soft_wrap=True)
    rules = Counter(violation.rule for violation in found)
    err.print(
        violations(total, opened.info.rule_set)
        + (f", {len(found)} listed" if len(found) < total else "")
        + f" ({', '.join(sorted(rules))})",
        markup=False,
    )
    return 3
