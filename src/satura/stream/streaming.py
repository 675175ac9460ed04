"""A stream from a source into a store: started, watched, stopped, and begun again after failures.

Spark's Structured Streaming keeps account of what has arrived; `batches` does the work. What passes
(a lost broker, a full disk, a busy store) is waited for, longer each time; what does not pass ends
the stream with its error.

Invariant: however often a stream is begun again, every batch is applied once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from satura.errors import (
    ConfigError,
    ConflictError,
    CorruptStoreError,
    ExecutionError,
    SaturaError,
    SourceError,
    StoreError,
)
from satura.failures import translate
from satura.maintain.apply import Maintainer
from satura.maintain.create import create_store
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules
from satura.rules.writer import write_rules
from satura.store import Store
from satura.store.delta import Step, last_step
from satura.store.layout import FACTS, STREAMS, is_store, store_path
from satura.store.writing import writable
from satura.stream.batches import Batches, OnBadMessage, Source
from satura.stream.feed import Feed
from satura.stream.publishing import Publisher
from satura.stream.report import BatchReport
from satura.updating import change_of, read_given

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger(__name__)

State: TypeAlias = Literal["starting", "running", "waiting", "stopped", "finished", "failed"]
FeedFrom: TypeAlias = Literal["everything", "now"]
CHECKPOINT: Final = "checkpoint"
ABOUT: Final = "stream.json"
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
_TRIGGER: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a batch begins: after so many seconds, or until nothing is left (None)."""

    seconds: float | None = 0.0

    def options(self) -> dict[str, Any]:
        """Return what Spark calls it."""
        if self.seconds is None:
            return {"availableNow": True}
        return {"processingTime": f"{round(self.seconds * 1000)} milliseconds"}


def parse_trigger(text: str) -> Trigger:
    """Return the trigger that a user named.

    >>> parse_trigger("10s"), parse_trigger("available-now")
    (Trigger(seconds=10.0), Trigger(seconds=None))
    """
    if text == "available-now":
        return Trigger(None)
    found = _TRIGGER.fullmatch(text.strip())
    if found is None:
        raise ConfigError(
            "STREAM-TRIGGER", f"`{text}` is no trigger",
            "give a time such as `10s`, `500ms` or `1m`, or `available-now`",
        )  # fmt: skip
    return Trigger(float(found[1]) * _UNITS[found[2]])


@dataclass(frozen=True, slots=True)
class Status:
    """How a stream is doing."""

    state: State
    message: str = ""
    batch: int | None = None
    version: int | None = None
    failures: int = 0
    """How often it has failed since the last batch."""


@dataclass
class Stream:
    """A stream under way, in a thread of its own. Made by `start_stream`."""

    spark: SparkSession
    batches: Batches
    trigger: Trigger
    retries: int
    _status: Status = field(default_factory=lambda: Status("starting"), init=False)
    _error: SaturaError | None = field(default=None, init=False)
    _stop: threading.Event = field(default_factory=threading.Event, init=False)
    _query: StreamingQuery | None = field(default=None, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _failures: int = field(default=0, init=False)

    @property
    def status(self) -> Status:
        """How it is doing."""
        return self._status

    @property
    def directory(self) -> Path:
        """Where its checkpoint, its reports and its quarantine are."""
        return self.batches.directory

    def start(self) -> None:
        """Begin, and return at once."""
        watch = self.batches.watch

        def seen(report: BatchReport) -> None:
            self._failures = 0
            self._status = Status("running", "", report.batch, report.version)
            watch(report)

        self.batches.watch = seen
        self._thread = threading.Thread(target=self._run, name="satura-stream", daemon=True)
        self._thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """Stop after the batch that is under way, if there is one."""
        self._stop.set()
        # Spark would leave a batch under way to itself, and never wait for it.
        self.batches.close()
        query = self._query
        if query is not None and query.isActive:
            query.stop()
        self.await_end(timeout)

    def await_end(self, timeout: float | None = None) -> bool:
        """Wait until it ends; say whether it has. Raise what it failed with."""
        assert self._thread is not None, "it has been started"
        self._thread.join(timeout)
        if self._thread.is_alive():
            return False
        if self._error is not None:
            raise self._error
        return True

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._run_query()
            except Exception as error:
                cause = self._cause(error)
                if self._stop.is_set() or not self._may_retry(cause):
                    self._error = None if self._stop.is_set() else cause
                    break
                self._failures += 1
                pause = min(FIRST_PAUSE * 2 ** min(self._failures - 1, 10), LONGEST_PAUSE)
                log.warning("%s; trying again in %.0f s", cause, pause)
                self._set("waiting", f"{cause.message}; trying again in {pause:.0f} s")
                self._stop.wait(pause)
            else:
                break
        if self._error is not None:
            self._set("failed", str(self._error))
        else:
            self._set("stopped" if self._stop.is_set() else "finished")

    def _run_query(self) -> None:
        self._set("running")
        frame = self.batches.source.frame(self.spark)
        writer = (
            frame.writeStream.foreachBatch(self.batches.take)
            .option("checkpointLocation", str(self.directory / CHECKPOINT))
            .queryName(f"satura-{self.directory.name}-{uuid.uuid4().hex[:6]}")
            .trigger(**self.trigger.options())
        )
        self._query = writer.start()
        if self._stop.is_set():
            self._query.stop()
        self._query.awaitTermination()

    def _cause(self, error: Exception) -> SaturaError:
        """Return what a query failed with."""
        from py4j.protocol import Py4JError  # noqa: PLC0415
        from pyspark.errors import PySparkException  # noqa: PLC0415

        inner, self.batches.error = self.batches.error, None
        for found in (inner, error):
            if isinstance(found, SaturaError):
                return found
        if isinstance(inner, OSError):
            return StoreError("STREAM-FAILED", f"a batch failed: {inner}", "see to it and go on")
        if inner is None or isinstance(inner, PySparkException | Py4JError):
            return translate(str(inner or error))
        log.info("a batch failed", exc_info=inner)
        return SaturaError(
            "STREAM-INTERNAL", f"a batch failed: {type(inner).__name__}: {inner}",
            "run again with `satura --verbose stream …` for the whole error, and report it",
        )  # fmt: skip

    def _may_retry(self, cause: SaturaError) -> bool:
        passes = isinstance(cause, StoreError | ConflictError | ExecutionError | SourceError)
        passes = passes and not isinstance(cause, CorruptStoreError)
        return passes and self._failures < self.retries

    def _set(self, state: State, message: str = "") -> None:
        before = self._status
        self._status = Status(state, message, before.batch, before.version, self._failures)


def start_stream(
    spark: SparkSession,
    path: str | Path,
    source: Source,
    *,
    rules: str | Path | RuleSet | None = None,
    schema: Sequence[str | Path] = (),
    feed: Feed | None = None,
    feed_from: FeedFrom = "everything",
    trigger: Trigger | None = None,
    on_error: OnBadMessage = "quarantine",
    name: str | None = None,
    retries: int = 10,
    watch: Callable[[BatchReport], None] = lambda _: None,
) -> Stream:
    """Start a stream into a store, which is made if there is none; return it at once.

    `schema` is added before the stream first begins. A new feed begins with all that the store
    holds, or with what changes from now on. `name` tells this stream from others into the same
    store; by default it is made of the source.
    """
    source.check()
    root = store_path(path)
    maintainer = _open(spark, root, rules)
    directory = root / STREAMS / (name or default_name(source.label))
    application = _about(directory, source)
    if schema:
        _add_schema(maintainer, schema, Step(f"{application}-schema", 0))
    publisher = None
    if feed is not None:
        publisher = Publisher(feed, lambda: spark, maintainer.cache)
        publisher.begin(maintainer.store, whole=feed_from == "everything")
    batches = Batches(maintainer, source, directory, application, publisher, on_error, watch=watch)
    stream = Stream(spark, batches, trigger or Trigger(), retries)
    stream.start()
    return stream


def default_name(label: str) -> str:
    """Return a name for a stream from a source.

    >>> default_name("/data/in coming")
    'in-coming-9562d3'
    """
    words = re.sub(r"[^A-Za-z0-9]+", "-", label.rsplit("/", 1)[-1]).strip("-")[:40] or "stream"
    return f"{words}-{hashlib.sha256(label.encode()).hexdigest()[:6]}"


def _open(spark: SparkSession, root: Path, rules: str | Path | RuleSet | None) -> Maintainer:
    rule_set = None
    if rules is not None:
        rule_set = rules if isinstance(rules, RuleSet) else load_rules(str(rules))
    if not is_store(root):
        store = create_store(root, rule_set or load_rules("rdfs"))
    else:
        store = Store.open(root)
        if rule_set is not None and write_rules(rule_set) != store.info.rules:
            raise ConfigError(
                "STREAM-RULES",
                f"the store at `{root}` is closed under {store.info.rule_set}, not {rule_set.name}",
                f"leave out `--rules`, or run `satura rules set {root} {rule_set.name}` first",
            )
    return Maintainer(store, lambda: spark)


def _add_schema(maintainer: Maintainer, schema: Sequence[str | Path], step: Step) -> None:
    """Add what a stream begins with, once: what the stream has removed of it stays removed."""
    if last_step(maintainer.store.path / FACTS, step.application) is not None:
        return
    given = read_given([str(path) for path in schema], session=_no_session)
    maintainer.apply(change_of(given.quads, ()), step=step)


def _no_session() -> SparkSession:
    raise ConfigError(
        "STREAM-SCHEMA", "what a stream begins with is too large",
        "`satura materialize` it before the stream begins",
    )  # fmt: skip


def _about(directory: Path, source: Source) -> str:
    """Return the id of a stream, which is made when it first begins."""
    file = directory / ABOUT
    if file.is_file():
        about = json.loads(file.read_text())
        if about["source"] != source.label:
            raise ConfigError(
                "STREAM-NAME",
                f"the stream `{directory.name}` is from `{about['source']}`, not `{source.label}`",
                "give another `--name`",
            )
        return str(about["id"])
    made = f"satura-stream-{uuid.uuid4()}"
    about = {"id": made, "source": source.label}
    with writable(directory):
        directory.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps(about) + "\n")
        partial.rename(file)
    return made
