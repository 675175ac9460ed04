"""`satura stream`: saturate RDF as it arrives; `satura stream report`: look at a run afterwards."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.live import Live
from rich.table import Table

from satura.cli.console import err, out, start_session
from satura.cli.options import Json, Master, Memory, Ui

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from satura.stream.report import BatchReport
    from satura.stream.streaming import Stream

app = typer.Typer(help="Saturate RDF as it arrives.", no_args_is_help=False)

SHOWN = 12
"""Batches that the live table shows."""
STAGES = ("read", "look up", "maintain", "write", "commit", "compact", "publish")


@app.callback(invoke_without_command=True)
def stream(
    context: typer.Context,
    store: Annotated[
        str | None, typer.Option("--store", metavar="DIR", help="The store; made if there is none.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="SOURCE",
            help="A directory, kafka://HOST:PORT/TOPIC, delta:DIR or socket://HOST:PORT.",
        ),
    ] = None,
    rules: Annotated[
        str | None, typer.Option("--rules", help="Rule set of a new store; default: rdfs.")
    ] = None,
    schema: Annotated[
        list[str] | None,
        typer.Option("--schema", metavar="FILE", help="Added before the stream first begins."),
    ] = None,
    trigger: Annotated[
        str,
        typer.Option("--trigger", help="Time between batches, such as 10s, or available-now."),
    ] = "1s",
    feed: Annotated[
        str | None,
        typer.Option(
            "--feed", metavar="FEED",
            help="Where changes go: patch:DIR, delta:DIR or kafka://HOST:PORT/TOPIC.",
        ),
    ] = None,
    feed_from: Annotated[
        Literal["everything", "now"],
        typer.Option("--feed-from", help="What a new feed begins with."),
    ] = "everything",
    format: Annotated[
        str | None,
        typer.Option("--format", help="Format of files, or of messages: nt, nq, patch, json."),
    ] = None,
    max_files: Annotated[
        int | None, typer.Option("--max-files", min=1, help="Files in a batch.")
    ] = None,
    max_offsets: Annotated[
        int, typer.Option("--max-offsets", min=1, help="Messages in a batch.")
    ] = 100_000,
    max_bytes: Annotated[
        int | None, typer.Option("--max-bytes", min=1, help="Bytes of files in a batch.")
    ] = None,
    on_error: Annotated[
        Literal["quarantine", "fail"],
        typer.Option("--on-error", help="What to do about what cannot be read."),
    ] = "quarantine",
    retries: Annotated[
        int, typer.Option("--retries", min=0, help="Failures in a row that are waited out.")
    ] = 10,
    name: Annotated[
        str | None, typer.Option("--name", help="Of this stream; default: made of the source.")
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option("--metrics", metavar="FILE", help="Keep numbers there, for Prometheus."),
    ] = None,
    kafka: Annotated[
        list[str] | None,
        typer.Option("--kafka", metavar="KEY=VALUE", help="An option of Kafka's clients."),
    ] = None,
    packages: Annotated[
        str | None,
        typer.Option(
            "--packages", metavar="COORDINATES", rich_help_panel="Spark",
            help="Connectors by Maven coordinates; for Kafka the one of this Spark by default.",
        ),
    ] = None,
    jars: Annotated[
        str | None,
        typer.Option(
            "--jars", metavar="FILES", rich_help_panel="Spark", help="Connectors as files."
        ),
    ] = None,
    as_json: Json = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> None:  # fmt: skip
    """Apply what arrives to a store, batch by batch, until it is stopped (Ctrl-C)."""
    if context.invoked_subcommand is not None:
        return
    if store is None or source is None:
        raise typer.BadParameter("`--store` and `--from` are needed")
    from satura.stream.sources import BatchLimits, open_feed, open_source  # noqa: PLC0415
    from satura.stream.streaming import parse_trigger, start_stream  # noqa: PLC0415

    limits = BatchLimits(max_files, max_offsets, max_bytes)
    settings = _settings(kafka or ())
    opened = open_source(source, format=format, limits=limits, kafka=settings)
    started: list[SparkSession] = []
    published = open_feed(feed, lambda: started[0], settings) if feed is not None else None
    when = parse_trigger(trigger)
    config = _connectors(
        packages, jars, any((x or "").startswith("kafka:") for x in (source, feed))
    )
    with start_session(master=master, memory=memory, ui=ui, jit="thorough", config=config) as spark:
        started.append(spark)
        shown = _Shown(as_json)
        listener = None
        if metrics is not None:
            from satura.stream.metrics import Metrics  # noqa: PLC0415

            listener = Metrics(metrics, name or opened.label)
            spark.streams.addListener(listener)
            shown.watchers.append(listener.watch)
        with stopping() as is_stopped, ExitStack() as stack:
            if listener is not None:
                stack.callback(spark.streams.removeListener, listener)
            running = start_stream(
                spark, store, opened, rules=rules, schema=schema or (), feed=published,
                feed_from=feed_from, trigger=when, on_error=on_error, name=name, retries=retries,
                watch=shown.add,
            )  # fmt: skip
            shown.follow(running, is_stopped)
    if not as_json:
        out.print(shown.summary(running))


def _settings(given: Sequence[str]) -> dict[str, str]:
    """Read options of Kafka's clients."""
    found = {}
    for text in given:
        key, is_there, value = text.partition("=")
        if not is_there:
            raise typer.BadParameter(f"`--kafka {text}` has no `=`")
        found[key] = value
    return found


def _connectors(packages: str | None, jars: str | None, is_kafka: bool) -> dict[str, str]:
    """Return the settings that bring connectors into the session."""
    config = {}
    if jars is not None:
        config["spark.jars"] = jars
    if packages is None and jars is None and is_kafka:
        from pyspark import __version__  # noqa: PLC0415

        from satura.stream.kafka import CONNECTOR  # noqa: PLC0415

        packages = f"{CONNECTOR}:{__version__}"
    if packages is not None:
        config["spark.jars.packages"] = packages
    return config


@app.command("report")
def report(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A directory below `streams` in a store.")
    ],
    chart: Annotated[
        Path | None, typer.Option("--chart", metavar="FILE", help="Draw it there, as SVG.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what the batches of a stream did, and where the time went."""
    from satura.stream.chart import draw  # noqa: PLC0415
    from satura.stream.report import read_reports  # noqa: PLC0415

    reports = read_reports(run)
    if chart is not None:
        chart.write_text(draw(reports, f"{run.name}: {len(reports)} batches"), encoding="utf-8")
        err.print(f"drawn: {chart}")
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in reports], indent=2))
        return
    out.print(_table(reports))
    out.print(_sums(reports))


class _Shown:
    """The batches of a stream, as somebody at a terminal or a program wants to see them."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._last: list[BatchReport] = []
        self._all: list[BatchReport] = []
        self.watchers: list[Callable[[BatchReport], None]] = []

    def add(self, report: BatchReport) -> None:
        """Take the report of a batch."""
        self._all.append(report)
        self._last = self._all[-SHOWN:]
        if self._as_json:
            typer.echo(json.dumps(asdict(report)))
        for watch in self.watchers:
            watch(report)

    def follow(self, running: Stream, is_stopped: Callable[[], bool]) -> None:
        """Wait for the end of a stream, or for somebody who stops it."""
        if not err.is_terminal:
            while not running.await_end(0.2):
                if is_stopped():
                    running.stop()
            return
        with Live(console=err, refresh_per_second=4, transient=True) as live:
            while not running.await_end(0.2):
                live.update(self._live(running))
                if is_stopped():
                    running.stop()

    def _live(self, running: Stream) -> Table:
        table, status = _table(self._last), running.status
        table.caption = f"{status.state} {status.message}".strip()
        return table

    def summary(self, running: Stream) -> Table:
        """Return what all batches did."""
        table = _sums(self._all)
        table.add_row("run", str(running.directory))
        return table


def _table(reports: Sequence[BatchReport]) -> Table:
    table = Table()
    for name in ("batch", "in", "asserted", "inferred", "rejected", "schema", "looked up",
                 "rows read", "files", "rounds", "algorithm", *STAGES, "total", "lag"):  # fmt: skip
        table.add_column(name, justify="left" if name == "algorithm" else "right")
    for x in reports:
        table.add_row(
            str(x.batch), f"{x.statements:,}", f"+{x.asserted_added:,} -{x.asserted_removed:,}",
            f"+{x.inferred_added:,} -{x.inferred_removed:,}", f"{x.rejected:,}",
            f"{x.schema_change:+,}" if x.schema_change else "", f"{x.looked_up:,}",
            f"{x.rows_read:,}", f"{x.files_read:,}", str(x.rounds), x.algorithm,
            *(f"{x.stages[name]:.2f}" if name in x.stages else "" for name in STAGES),
            f"{x.seconds:.2f} s", "" if x.lag is None else f"{x.lag:.1f} s",
        )  # fmt: skip
    return table


def _sums(reports: Sequence[BatchReport]) -> Table:
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right", overflow="fold")
    table.add_row("batches", f"{len(reports):,}")
    table.add_row("statements", f"{sum(x.statements for x in reports):,}")
    for kind in ("asserted", "inferred", "closure"):
        added, removed = (
            sum(getattr(x, f"{kind}_{change}") for x in reports) for change in ("added", "removed")
        )
        table.add_row(kind, f"+{added:,} -{removed:,}")
    table.add_row("rejected", f"{sum(x.rejected for x in reports):,}")
    table.add_row("looked up", f"{sum(x.looked_up for x in reports):,}")
    table.add_row("rows read", f"{sum(x.rows_read for x in reports):,}")
    table.add_row("files read", f"{sum(x.files_read for x in reports):,}")
    table.add_row("seconds", f"{sum(x.seconds for x in reports):.2f} s")
    if reports:
        table.add_row("version", str(reports[-1].version))
    return table


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C and SIGTERM ask the stream to stop after its batch; a second Ctrl-C ends it."""
    asked: list[int] = []

    def ask(number: int, _frame: object) -> None:
        asked.append(number)
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
