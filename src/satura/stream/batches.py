"""One micro-batch: read, applied in one commit, published, reported; each step at most once.

A batch that is tried again after a crash is known by its number, which the store's log has, and is
not applied twice; what of it is still to be published or reported, is. Other writers may commit in
between: the change is then made on top of theirs.

Invariant: after a batch the store is the closure of all that has arrived, and the feed says so.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from satura.errors import ConflictError, DataError
from satura.maintain.apply import Change, Clock, Maintainer
from satura.maintain.model import Counted, Outcome
from satura.store import Store, commits
from satura.store.delta import Step, last_step
from satura.store.layout import FACTS
from satura.stream.intake import Intake, Reject
from satura.stream.publishing import Publisher
from satura.stream.quarantine import put_rejects
from satura.stream.report import BatchReport, append_report, last_batch
from satura.updating import change_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

OnBadMessage: TypeAlias = Literal["quarantine", "fail"]
MAX_CONFLICTS: Final = 50
QUARANTINE: Final = "quarantine"


class StoppedError(Exception):
    """A batch came after the stream was stopped; it will come again."""


class Source(Protocol):
    """Where statements come from."""

    @property
    def label(self) -> str: ...

    def check(self) -> None:
        """Raise if nothing can be read here."""

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return what comes, as a streaming frame."""

    def read(self, frame: DataFrame) -> Intake:
        """Read a batch of it."""


@dataclass
class Batches:
    """Takes batches one after another."""

    maintainer: Maintainer
    source: Source
    directory: Path
    application: str
    publisher: Publisher | None = None
    on_error: OnBadMessage = "quarantine"
    watch: Callable[[BatchReport], None] = lambda _: None
    error: Exception | None = None
    """What the last batch failed with, as Spark hands on only its text."""
    _applied: int | None = field(default=None, init=False)
    _reported: int | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _is_closed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._look()
        self._reported = last_batch(self.directory)

    def take(self, frame: DataFrame, number: int) -> None:
        """Take a batch; what Spark calls."""
        with self._lock:
            try:
                self._take(frame, number)
            except Exception as error:
                self.error = error
                raise
            self.error = None

    def close(self) -> None:
        """Take no more batches; return when the one under way, if there is one, is done."""
        self._is_closed = True
        with self._lock:
            return

    def _take(self, frame: DataFrame, number: int) -> None:
        if self._is_closed:
            raise StoppedError
        step, clock = Step(self.application, number), Clock()
        if self._is_applied(number):
            if self._reported is None or self._reported < number:
                self._finish(self._remembered(step), clock)
            return
        with clock.stage("read"):
            intake = self.source.read(frame)
        if intake.rejects and self.on_error == "fail":
            raise _bad_messages(intake.rejects)
        with clock.stage("quarantine"):
            put_rejects(self.directory / QUARANTINE, step, intake.rejects)
        change = change_of(*intake.net())
        counts = self._counts(intake)
        schema = self.maintainer.store.info.counts.schema
        outcome, conflicts = self._apply(change, step, counts)
        for name, seconds in outcome.stages.items():
            clock.stages[name] = seconds
        self._applied = number
        report = _report(number, outcome, counts)
        after = self.maintainer.store.info.counts.schema
        report |= {"schema": after, "schema_change": after - schema, "conflicts": conflicts}
        self._finish(report, clock)

    def _apply(self, change: Change, step: Step, counts: dict[str, Any]) -> tuple[Outcome, int]:
        """Apply a change on the latest version, whoever made that."""
        for conflicts in range(MAX_CONFLICTS):
            try:
                extra = {"stream": counts | {"batch": step.number}}
                outcome = self.maintainer.apply(change, step=step, extra=extra)
            except ConflictError:
                log.info("another run committed; the batch is applied on top of it")
                time.sleep(random.uniform(0, 0.02 * (conflicts + 1)))
                self._look()
                if self._is_applied(step.number):
                    raise
            else:
                return outcome, conflicts
        raise ConflictError(
            "STREAM-CONFLICT", f"other writers came first {MAX_CONFLICTS} times",
            "let others write less often, or in larger changes",
        )  # fmt: skip

    def _finish(self, data: dict[str, Any], clock: Clock) -> None:
        """Publish what differs, and report the batch."""
        published = 0
        if self.publisher is not None:
            with clock.stage("publish"):
                published = self.publisher.catch_up(self.maintainer.store)
        now = datetime.now(UTC)
        oldest = data.pop("oldest")
        report = BatchReport(
            **data, published=published, seconds=round(clock.seconds, 4),
            time=now.isoformat(timespec="milliseconds"),
            stages={name: round(seconds, 4) for name, seconds in clock.stages.items()},
            lag=None if oldest is None else round(now.timestamp() - oldest, 3),
        )  # fmt: skip
        append_report(self.directory, report)
        self._reported = report.batch
        self.watch(report)

    def _remembered(self, step: Step) -> dict[str, Any]:
        """Return what the commit of a batch recorded that was made before this run."""
        facts = self.maintainer.store.path / FACTS
        for version in range(self.maintainer.store.version, -1, -1):
            data = commits.read_metadata(facts, version) or {}
            change = data.get("change", {})
            stream = change.get("stream", {})
            if stream.get("id") == step.application and stream.get("batch") == step.number:
                break
        known = {one.name: change.get(one.name, 0) for one in fields(Counted)}
        kept = {name: stream.get(name, 0) for name in ("statements", "units", "bytes", "rejected")}
        return {
            "batch": step.number, "version": version, "oldest": stream.get("oldest"), **kept,
            **known, "schema": data["counts"]["schema"], "schema_change": 0,
            "algorithm": change.get("algorithm", "none"), "why": "", "looked_up": 0, "rows_read": 0,
            "files_read": 0, "rounds": 0, "replayed": True,
        }  # fmt: skip

    def _counts(self, intake: Intake) -> dict[str, Any]:
        return {
            "id": self.application,
            "statements": intake.statements,
            "units": intake.units,
            "bytes": intake.size,
            "rejected": len(intake.rejects),
            "oldest": intake.oldest,
        }

    def _is_applied(self, number: int) -> bool:
        return self._applied is not None and self._applied >= number

    def _look(self) -> None:
        """Go on with the latest version, and see which batches it has."""
        self.maintainer.adopt(Store.open(self.maintainer.store.path))
        self._applied = last_step(self.maintainer.store.path / FACTS, self.application)


def _report(number: int, outcome: Outcome, counts: dict[str, Any]) -> dict[str, Any]:
    return {
        "batch": number,
        "version": outcome.version,
        **{name: counts[name] for name in ("statements", "units", "bytes", "rejected", "oldest")},
        **asdict(outcome.counts),
        "algorithm": outcome.algorithm,
        "why": outcome.why,
        "looked_up": outcome.looked_up,
        "rows_read": outcome.rows_read,
        "files_read": outcome.files_read,
        "rounds": outcome.rounds,
    }


def _bad_messages(rejects: list[Reject]) -> DataError:
    first = rejects[0]
    where = f"{first.source}:{first.offset}" if first.offset else first.source
    return DataError(
        "STREAM-BAD-MESSAGE",
        f"{len(rejects)} could not be read, the first: {where}: {first.reason}",
        "mend the source, or go on with `--on-error quarantine`; nothing of the batch is applied",
        total=len(rejects),
    )  # fmt: skip
