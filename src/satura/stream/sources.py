"""The sources and feeds that a user can name.

| Text | Source |
| --- | --- |
| `DIR` | files dropped into a directory |
| `kafka://HOST:PORT/TOPIC` | messages of a topic |
| `delta:DIR` | a Delta table of terms, and its changes |
| `socket://HOST:PORT` | lines of text, to try things out: what is lost on the way stays lost |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from satura.errors import ConfigError
from satura.io.inputs import local_path
from satura.stream.batches import Source
from satura.stream.feed import DeltaFeed, Feed, PatchFeed
from satura.stream.files import Directory
from satura.stream.kafka import SCHEME, Topic, TopicFeed, parse_topic
from satura.stream.messages import MessageFormat
from satura.stream.sockets import Socket
from satura.stream.tables import VERSIONS, ChangedTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MESSAGE_FORMATS: tuple[MessageFormat, ...] = ("auto", "nt", "nq", "patch", "json")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much one batch may bring."""

    max_files: int | None = None
    max_offsets: int = 100_000
    max_bytes: int | None = None


def open_source(
    text: str,
    *,
    format: str | None = None,
    limits: BatchLimits | None = None,
    kafka: Mapping[str, str] | None = None,
) -> Source:
    """Return the source that a user named; `kafka` are options of Kafka's clients."""
    limits = limits or BatchLimits()
    if text.startswith(SCHEME):
        servers, topic = parse_topic(text)
        settings = dict(kafka or {})
        return Topic(servers, topic, _message_format(format), limits.max_offsets, settings)
    if text.startswith("delta:"):
        path = Path(text.removeprefix("delta:")).absolute()
        return ChangedTable(path, limits.max_files or VERSIONS)
    parts = urlsplit(text)
    if parts.scheme == "socket":
        if not parts.hostname or not parts.port:
            raise ConfigError(
                "STREAM-SOURCE", f"`{text}` names no host and port", "give `socket://HOST:PORT`"
            )
        return Socket(parts.hostname, parts.port, _message_format(format))
    if parts.scheme and parts.scheme != "file" and "://" in text:
        raise ConfigError(
            "STREAM-SOURCE", f"`{text}` is no source of a stream",
            "give a directory, `kafka://HOST:PORT/TOPIC`, `delta:DIR` or `socket://HOST:PORT`",
        )  # fmt: skip
    if limits.max_files is not None and limits.max_bytes is not None:
        raise ConfigError(
            "STREAM-LIMITS", "`--max-files` and `--max-bytes` exclude one another",
            "give one of them",
        )  # fmt: skip
    path = (local_path(text) or Path(text)).absolute()
    return Directory(path, format, limits.max_files, limits.max_bytes)


def open_feed(
    text: str, spark: Callable[[], SparkSession], kafka: Mapping[str, str] | None = None
) -> Feed:
    """Return the feed that a user named: `patch:DIR`, `delta:DIR`, `kafka://HOST:PORT/TOPIC`."""
    if text.startswith(SCHEME):
        return TopicFeed(*parse_topic(text), spark, dict(kafka or {}))
    kind, _, rest = text.partition(":")
    if kind == "patch" and rest:
        return PatchFeed(Path(rest).absolute())
    if kind == "delta" and rest:
        return DeltaFeed(Path(rest).absolute())
    raise ConfigError(
        "STREAM-FEED", f"`{text}` is no place for a change feed",
        "give `patch:DIR`, `delta:DIR` or `kafka://HOST:PORT/TOPIC`",
    )  # fmt: skip


def _message_format(name: str | None) -> MessageFormat:
    for known in MESSAGE_FORMATS:
        if name == known:
            return known
    if name is None:
        return "auto"
    raise ConfigError(
        "STREAM-FORMAT", f"messages cannot be in the format `{name}`",
        f"give one of {', '.join(MESSAGE_FORMATS)}",
    )  # fmt: skip
