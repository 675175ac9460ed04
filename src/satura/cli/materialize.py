"""`satura materialize`: from RDF inputs to a store, or to a file of the closure."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer
from rich.table import Table

from satura.cli.console import add_not_acted_on, err, out, start_session, violations, watching
from satura.cli.options import Json, Master, Memory, SameAsOption, Ui
from satura.errors import ConfigError

if TYPE_CHECKING:
    from satura.kb import KnowledgeBase
    from satura.local_spark import Jit
    from satura.pipeline import Summary

LONG_RUN: Final = 500 << 20
"""Bytes of text from which it pays that the JVM compiles thoroughly."""

MOST_RULES: Final = 15
"""Rules that the table shows; `--json` has all."""


def materialize(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT…", help="Files, directories, globs, or - for stdin."),
    ],
    rules: Annotated[
        str,
        typer.Option("--rules", "-r", help="Built-in rule set or path of a .srl or .rules file."),
    ] = "rdfs",
    store: Annotated[
        str | None, typer.Option("--store", "-s", metavar="DIR", help="Where to keep the result.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Write the closure: .nt, .nq, .ttl [.gz], .parquet.",
        ),
    ] = None,
    same_as: SameAsOption = "expand",
    format: Annotated[
        str | None, typer.Option("--format", help="Format of the inputs, whatever their names say.")
    ] = None,
    on_error: Annotated[
        Literal["fail", "skip"], typer.Option("--on-error", help="What to do about bad input.")
    ] = "fail",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the store or file that is there.")
    ] = False,
    rejects: Annotated[
        str | None,
        typer.Option(
            "--rejects", metavar="FILE", help="Where skipped input is listed; default: rejects.tsv."
        ),
    ] = None,
    max_rounds: Annotated[
        int | None,
        typer.Option("--max-rounds", min=1, help="Rounds of joins after which to give up."),
    ] = None,
    max_facts: Annotated[
        int | None,
        typer.Option("--max-facts", min=1, help="Facts in the closure beyond which to give up."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=0, metavar="SECONDS", help="Time after which to give up."),
    ] = None,
    fail_on_violation: Annotated[
        bool,
        typer.Option("--fail-on-violation", help="Commit nothing if the data is inconsistent."),
    ] = False,
    as_json: Json = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> None:
    """Read RDF, add everything the rules entail, and keep the result."""
    from satura.io.writing import check_target, guess_export, write_triples  # noqa: PLC0415
    from satura.kb import materialize as run  # noqa: PLC0415
    from satura.rules.reader import load_rules  # noqa: PLC0415

    if store is None and output is None:
        raise ConfigError(
            "OUTPUT-NONE", "neither --store nor --output was given",
            "add `--store DIR` to keep a store, or `-o closure.nt` to write the closure",
        )  # fmt: skip
    if output == "-" and as_json:
        raise ConfigError(
            "OUTPUT-MIXED", "the closure and --json cannot both go to standard output",
            "write the closure to a file, or leave --json out",
        )  # fmt: skip
    rule_set = load_rules(rules)
    target = guess_export(output) if output is not None else None
    size = _check_early(inputs, format, store, overwrite)
    if output is not None:
        check_target(output, overwrite=overwrite)
    if rejects is not None:
        check_target(rejects, overwrite=True)
    jit: Jit = "quick" if size < LONG_RUN else "thorough"
    with start_session(master=master, memory=memory, ui=ui, jit=jit) as spark:
        with watching(spark) as watcher:
            kb = run(
                spark, list(inputs), rules=rule_set, store=store, format=format,
                on_error=on_error, overwrite=overwrite,
                fail_on_violation=fail_on_violation, max_rounds=max_rounds,
                max_facts=max_facts, timeout=timeout, watcher=watcher,
            )  # fmt: skip
        if output is not None and target is not None:
            closure = kb.closure(same_as=same_as)
            write_triples(closure, output, format=target, overwrite=overwrite)
        listed = None
        if kb.summary is None:
            raise AssertionError  # a knowledge base just made has one
        if kb.summary.counts.rejected:
            listed = _write_rejects(kb, rejects)
        _show(kb.summary, as_json, kept=store is not None, output=output, rejects=listed)
        if kb.summary.counts.violations:
            hint = f"; `satura check {store}` lists them" if store is not None else ""
            told = violations(kb.summary.counts.violations, kb.summary.rules)
            err.print(f"{told}{hint}", markup=False)


def _check_early(inputs: list[str], format: str | None, store: str | None, overwrite: bool) -> int:
    """Find what can be found wrong without Spark, which takes seconds to start.

    Return how many bytes of text there are to read, about.
    """
    from satura.io.inputs import find_inputs, text_size  # noqa: PLC0415
    from satura.store import begin  # noqa: PLC0415

    # What can be read only once is left alone.
    files = [name for name in inputs if name != "-" and not Path(name).is_fifo()]
    found = find_inputs(files, format=format, spool=Path())
    if store is not None:
        begin(store, overwrite=overwrite).rollback()
    return text_size(found)


def _write_rejects(kb: KnowledgeBase, path: str | None) -> str:
    """Write what was skipped as tab-separated values, to `rejects.tsv` if no place was given."""
    target = Path(path) if path is not None else Path("rejects.tsv")
    rows = kb.rejects().orderBy("file", "line").toLocalIterator()
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(("file", "line", "column", "reason", "text"))
        writer.writerows(tuple(row) for row in rows)
    return str(target)


def _show(
    summary: Summary, as_json: bool, *, kept: bool, output: str | None, rejects: str | None
) -> None:
    if as_json:
        data = asdict(summary)
        data["rules"], data["rule_set"] = data.pop("derivations"), data["rules"]
        del data["fired"]
        data["store"] = summary.store if kept else None
        data["output"] = output
        data["rejects"] = rejects
        for stage in data["stages"]:
            stage["seconds"] = round(stage["seconds"], 3)
        typer.echo(json.dumps(data, indent=2))
        return
    if output == "-":
        return
    counts = summary.counts
    table = Table(title=f"closure under {summary.rules}", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right", overflow="fold")
    rows = [
        ("asserted", counts.asserted), ("inferred", counts.inferred), ("closure", counts.closure),
        ("duplicates dropped", counts.duplicates), ("rejected", counts.rejected),
        ("violations", counts.violations),
        ("schema", counts.schema), ("terms", summary.terms),
    ]  # fmt: skip
    for name, number in rows:
        table.add_row(name, f"{number:,}")
    table.add_section()
    for stage in summary.stages:
        rate = "" if stage.rate is None else f"  {stage.rate:>12,.0f} rows/s"
        if stage.seconds >= 0.05:
            table.add_row(stage.name, f"{rate} {stage.seconds:8.1f} s")
    table.add_row("total", f"{summary.seconds:.1f} s")
    if summary.derivations:
        table.add_section()
        _add_derivations(table, summary)
    if summary.not_acted_on:
        table.add_section()
        add_not_acted_on(table, summary.rules, summary.not_acted_on)
    if kept:
        table.add_section()
        table.add_row("store", summary.store)
        table.add_row("version", str(summary.version))
        table.add_row("bytes", f"{summary.bytes:,}")
    if output:
        table.add_row("written to", output)
    if rejects:
        table.add_row("rejected lines", rejects)
    out.print(table)


def _add_derivations(table: Table, summary: Summary) -> None:
    """Add the rules that concluded most, and how often each did."""
    table.add_row("derivations by rule", "")
    ranked = sorted(summary.derivations.items(), key=lambda item: (-item[1], item[0]))
    for rule, times in ranked[:MOST_RULES]:
        table.add_row(f"  {rule}", f"{times:,}")
    if ranked[MOST_RULES:]:
        rest = sum(times for _, times in ranked[MOST_RULES:])
        table.add_row(f"  {len(ranked) - MOST_RULES} more rules", f"{rest:,}")
    table.add_row("rounds of joins", f"{summary.rounds:,}")
