"""`satura stream`: saturate RDF as it arrives; `satura stream report`: look at a run afterwards."""

from __future__ import annotations

import json
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.live import Live
from rich.table import Table

from satura.cli.console import err, out, start_session
from satura.cli.options import Json, Master, Memory, Ui
from satura.cli.outcomes import add_changes, sums_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from satura.stream.report import BatchReport
    from satura.stream.streaming import Stream

app = typer.Typer(help="Saturate RDF as it arrives.", no_args_is_help=False)

SHOWN = 12
"""Batches that the live table shows."""
SUMMED = (
    "statements", "rejected", "asserted_added", "asserted_removed", "inferred_added",
    "inferred_removed", "closure_added", "closure_removed", "looked_up", "rows_read", "files_read",
    "seconds",
)  # fmt: skip
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
        with stopping() as is_stopped, ExitStack() as stack:
            if metrics is not None:
                from satura.stream.metrics import Metrics  # noqa: PLC0415

                listener = Metrics(metrics, name or opened.label)
                spark.streams.addListener(listener)
                stack.callback(spark.streams.removeListener, listener)
                shown.watchers.append(listener.watch)
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
    sums = _Sums()
    for one in reports:
        sums.add(one)
    out.print(_table(reports))
    out.print(sums.table())


class _Shown:
    """The batches of a stream, as somebody at a terminal or a program wants to see them."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._last: deque[BatchReport] = deque(maxlen=SHOWN)
        self._sums = _Sums()
        self.watchers: list[Callable[[BatchReport], None]] = []

    def add(self, report: BatchReport) -> None:
        """Take the report of a batch."""
        self._last.append(report)
        self._sums.add(report)
        if self._as_json:
            typer.echo(json.dumps(asdict(report)))
        for watch in self.watchers:
            watch(report)

    def follow(self, running: Stream, is_stopped: Callable[[], bool]) -> None:
        """Wait for the end of a stream, or for somebody who stops it."""
        live = Live(console=err, refresh_per_second=4, transient=True)
        with live if err.is_terminal else nullcontext():
            while not running.await_end(0.2):
                if err.is_terminal:
                    live.update(self._live(running))
                if is_stopped():
                    running.stop()

    def _live(self, running: Stream) -> Table:
        table, status = _table([*self._last]), running.status
        table.caption = f"{status.state} {status.message}".strip()
        return table

    def summary(self, running: Stream) -> Table:
        """Return what all batches did."""
        table = self._sums.table()
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


class _Sums:
    """What batches did in all, without keeping them: a stream may have any number."""

    def __init__(self) -> None:
        self._sums: Counter[str] = Counter()
        self._version: int | None = None

    def add(self, report: BatchReport) -> None:
        """Take the report of a batch."""
        self._sums["batches"] += 1
        for name in SUMMED:
            self._sums[name] += getattr(report, name)
        self._version = report.version

    def table(self) -> Table:
        """Return them for people."""
        sums, table = self._sums, sums_table()
        table.add_row("batches", f"{sums['batches']:,}")
        table.add_row("statements", f"{sums['statements']:,}")
        add_changes(table, sums)
        for name in ("rejected", "looked_up", "rows_read", "files_read"):
            table.add_row(name.replace("_", " "), f"{sums[name]:,}")
        table.add_row("seconds", f"{sums['seconds']:.2f} s")
        if self._version is not None:
            table.add_row("version", str(self._version))
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
