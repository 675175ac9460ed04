"""Lines from a socket, to try things out.

A socket cannot be asked again: what was under way when a stream is killed is lost. Everything else
about a stream is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from satura.errors import LimitError
from satura.jobs import described
from satura.stream.intake import Intake
from satura.stream.messages import Message, MessageFormat, take_messages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


MAX_LINES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Socket:
    """A server that sends lines."""

    host: str
    port: int
    format: MessageFormat = "auto"

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return f"socket://{self.host}:{self.port}"

    def check(self) -> None:
        """Take the server on trust: many serve one connection only, and that is the stream's."""

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the lines that come, as a streaming frame."""
        return (
            spark.readStream.format("socket")
            .option("host", self.host)
            .option("port", self.port)
            .option("includeTimestamp", "true")
            .load()
        )

    def read(self, frame: DataFrame) -> Intake:
        """Read the lines of a batch."""
        with described(frame.sparkSession, "read the lines of the batch"):
            table = frame.limit(MAX_LINES + 1).toArrow()
        if table.num_rows > MAX_LINES:
            raise LimitError(
                "LIMIT-LINES", f"more than {MAX_LINES:,} lines came at once",
                "a socket is for trying things out; use a directory or a topic",
            )  # fmt: skip
        intake = Intake()
        seconds = [moment.timestamp() for moment in table["timestamp"].to_pylist()]
        messages = (
            Message(self.label, "", value.encode(), when)
            for value, when in zip(table["value"].to_pylist(), seconds, strict=True)
        )
        take_messages(intake, messages, self.format)
        return intake
