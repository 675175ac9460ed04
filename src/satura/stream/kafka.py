"""Topics of Apache Kafka: as a source of messages, and as a place for the change feed.

Spark's connector brings Kafka's own clients into the JVM; the feed is written with them, because
only they know transactions. A change is published in one transaction, to one partition, so that
whoever reads committed messages sees every change whole, once and in order.

Invariant: what a topic says last is up to which version it has the closure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from satura.errors import ConfigError, SourceError
from satura.failures import innermost
from satura.jobs import described
from satura.stream.feed import COLUMNS as CHANGED
from satura.stream.feed import Span
from satura.stream.intake import Intake
from satura.stream.messages import Message, MessageFormat, take_messages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEME: Final = "kafka://"
CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"
ROWS_PER_MESSAGE: Final = 500
WAIT: Final = 30
"""Seconds that a client waits for a broker."""
FROM, TO = "from", "to"
COLUMNS: Final = ("partition", "offset", "timestamp", "value")
Row: TypeAlias = tuple[int, int, datetime, bytes | None]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic whose messages are RDF."""

    servers: str
    topic: str
    format: MessageFormat = "auto"
    max_offsets: int = 100_000
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of Kafka's clients, such as `security.protocol`."""

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return f"{SCHEME}{self.servers}/{self.topic}"

    def check(self) -> None:
        """Take the broker on trust: one that is away may come back."""

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the messages that come, as a streaming frame."""
        from pyspark.errors import AnalysisException  # noqa: PLC0415

        reader = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.servers)
            .option("subscribe", self.topic)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", self.max_offsets)
            .option("kafka.isolation.level", "read_committed")
            # Messages that the broker has dropped are never passed over in silence.
            .option("failOnDataLoss", "true")
        )
        for name, value in self.options.items():
            reader = reader.option(f"kafka.{name}", value)
        try:
            frame = reader.load()
        except AnalysisException as error:
            raise _no_connector() from error
        return frame.select(*COLUMNS)

    def read(self, frame: DataFrame) -> Intake:
        """Read the messages of a batch: in order within a partition, by time between them."""
        with described(frame.sparkSession, "read the messages of the batch"):
            table = frame.toArrow()  # at most maxOffsetsPerTrigger of them
        rows = zip(*(table[name].to_pylist() for name in COLUMNS), strict=True)
        messages = (
            Message(self.label, f"{partition}:{offset}", value or b"", when.timestamp())
            for partition, offset, when, value in in_order(rows)
        )
        intake = Intake()
        take_messages(intake, messages, self.format)
        return intake


def _no_connector() -> ConfigError:
    return ConfigError(
        "STREAM-KAFKA-JARS", "Spark has no connector for Kafka",
        f"start the session with `spark.jars.packages={CONNECTOR}:VERSION`, or the command with "
        "`--packages` or `--jars`",
    )  # fmt: skip


def in_order(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield messages by time, but those of one partition always in the order of their offsets.

    >>> early, late = datetime(2026, 1, 1), datetime(2026, 1, 2)
    >>> rows = [(0, 8, early, b"b"), (1, 3, early, b"c"), (0, 7, late, b"a")]
    >>> [value for *_, value in in_order(rows)]
    [b'c', b'a', b'b']
    """
    latest: dict[int, datetime] = {}
    keyed = []
    for row in sorted(rows, key=lambda row: row[:2]):
        partition, offset, when, _ = row
        # A clock that went back does not put a message before one that came before it.
        latest[partition] = max(when, latest.get(partition, when))
        keyed.append(((latest[partition], partition, offset), row))
    keyed.sort(key=lambda pair: pair[0])
    return (row for _, row in keyed)


def parse_topic(text: str) -> tuple[str, str]:
    """Return the servers and the topic of an address.

    >>> parse_topic("kafka://one:9092,two:9092/triples")
    ('one:9092,two:9092', 'triples')
    """
    servers, _, topic = text.removeprefix(SCHEME).partition("/")
    if not servers or not topic or "/" in topic:
        raise ConfigError(
            "STREAM-SOURCE",
            f"`{text}` names no servers and topic",
            "give `kafka://HOST:PORT/TOPIC`",
        )
    return servers, topic


@dataclass(frozen=True, slots=True)
class TopicFeed:
    """A topic to which changes are published.

    A message is a list of changes, objects with `s p o _change asserted`; its headers `from` and
    `to` name the versions. All of them are in partition 0, for their order matters.
    """

    servers: str
    topic: str
    spark: Callable[[], SparkSession]
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return f"{SCHEME}{self.servers}/{self.topic}"

    def last(self) -> int | None:
        """Return the version up to which changes are published."""
        with self._answering(), self._consumer() as consumer:
            jvm = self._jvm
            partition = jvm.org.apache.kafka.common.TopicPartition(self.topic, 0)
            consumer.assign([partition])
            first = consumer.beginningOffsets([partition])[partition]
            end = consumer.endOffsets([partition])[partition]
            # The last offsets may be marks of transactions, or of one that was aborted.
            back = 2
            while end > first:
                start = max(first, end - back)
                consumer.seek(partition, start)
                found = None
                while consumer.position(partition) < end:
                    for record in consumer.poll(jvm.java.time.Duration.ofMillis(200)).iterator():
                        header = record.headers().lastHeader(TO)
                        found = found if header is None else int(bytes(header.value()))
                if found is not None or start == first:
                    return found
                back *= 8
        return None

    def publish(self, span: Span, changes: Iterable[pa.RecordBatch]) -> int:
        """Send a change in one transaction."""
        number = 0
        headers = {FROM: span.previous, TO: span.version}
        with self._answering(), self._producer() as producer:
            record_of = self._jvm.org.apache.kafka.clients.producer.ProducerRecord
            producer.beginTransaction()
            answers: list[Any] = []
            rows = (row for batch in changes for row in batch.select(CHANGED).to_pylist())
            while (some := list(islice(rows, ROWS_PER_MESSAGE))) or not answers:
                number += len(some)
                key = str(span.version).encode()
                record = record_of(self.topic, 0, key, json.dumps(some).encode())
                for name, value in headers.items():
                    if value is not None:
                        record.headers().add(name, str(value).encode())
                answers.append(producer.send(record))
            producer.flush()
            for answer in answers:
                answer.get()
            producer.commitTransaction()
        return number

    @property
    def _jvm(self) -> Any:
        from py4j.java_gateway import JavaPackage  # noqa: PLC0415

        jvm: Any = self.spark()._jvm
        # What is no class is taken for a package.
        if isinstance(jvm.org.apache.kafka.clients.producer.KafkaProducer, JavaPackage):
            raise _no_connector()
        return jvm

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Say in one line what Kafka's clients say in many."""
        from py4j.protocol import Py4JError  # noqa: PLC0415

        try:
            yield
        except Py4JError as error:
            raise SourceError(
                "STREAM-LOST", f"`{self.label}` does not answer: {innermost(str(error))}",
                "the stream goes on where it was when the broker is there again",
            ) from error  # fmt: skip

    def _properties(self, settings: Mapping[str, str]) -> Any:
        properties = self._jvm.java.util.Properties()
        every = {**settings, **self.options, "bootstrap.servers": self.servers}
        for name, value in every.items():
            properties.setProperty(name, value)
        return properties

    @contextmanager
    def _producer(self) -> Iterator[Any]:
        settings = {
            # Whoever opens a producer of this id ends what an earlier one left open.
            "transactional.id": f"satura-feed-{self.topic}",
            "request.timeout.ms": str(WAIT * 500),
            "delivery.timeout.ms": str(WAIT * 1000),
            "max.block.ms": str(WAIT * 1000),
            # What a new feed begins with may be long; this is the most that brokers allow.
            "transaction.timeout.ms": "900000",
        }
        kind = self._jvm.org.apache.kafka.common.serialization.ByteArraySerializer
        producer = self._jvm.org.apache.kafka.clients.producer.KafkaProducer(
            self._properties(settings), kind(), kind()
        )
        try:
            producer.initTransactions()
            yield producer
        finally:
            producer.close(self._jvm.java.time.Duration.ofSeconds(WAIT))

    @contextmanager
    def _consumer(self) -> Iterator[Any]:
        settings = {
            "isolation.level": "read_committed",
            "enable.auto.commit": "false",
            "request.timeout.ms": str(WAIT * 500),
            "default.api.timeout.ms": str(WAIT * 1000),
        }
        kind = self._jvm.org.apache.kafka.common.serialization.ByteArrayDeserializer
        consumer = self._jvm.org.apache.kafka.clients.consumer.KafkaConsumer(
            self._properties(settings), kind(), kind()
        )
        try:
            yield consumer
        finally:
            consumer.close()
