"""Kafka's own clients, in the JVM of the session: what Satura writes and reads is checked by them.

The connector brings them along. A message is bytes all through, as it is for Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql import SparkSession

# A broker that is gone is an error after seconds; by default a client waits for a minute or two.
SECONDS: Final = 20
LIMITS: Final = {
    "request.timeout.ms": str(SECONDS * 500),
    "default.api.timeout.ms": str(SECONDS * 1000),
}
PRODUCER_LIMITS: Final = {
    "request.timeout.ms": str(SECONDS * 500),
    "delivery.timeout.ms": str(SECONDS * 1000),
    "max.block.ms": str(SECONDS * 1000),
}

Header = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it was sent, and where it is."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    partition: int = field(default=-1, compare=False)
    offset: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class Producer:
    """A producer of the JVM; `begin`, `commit` and `abort` are for one with a transactional id."""

    jvm: Any
    client: Any
    answers: list[Any] = field(default_factory=list)

    def send(self, topic: str, messages: Iterable[Message]) -> None:
        """Hand messages to the client, which sends them when it likes; see `flush`."""
        for message in messages:
            record = self.jvm.org.apache.kafka.clients.producer.ProducerRecord(
                topic, message.key, message.value
            )
            for name, value in message.headers:
                record.headers().add(name, value)
            self.answers.append(self.client.send(record))

    def flush(self) -> None:
        """Wait until the broker has all messages; raise what it said if it refused one."""
        self.client.flush()
        while self.answers:
            self.answers.pop().get()

    def begin(self) -> None:
        self.client.beginTransaction()

    def commit(self) -> None:
        self.client.commitTransaction()

    def abort(self) -> None:
        self.client.abortTransaction()


@dataclass(frozen=True, slots=True)
class Clients:
    """Clients of the broker at `bootstrap`."""

    spark: SparkSession
    bootstrap: str

    def create_topic(self, topic: str, partitions: int = 1, **settings: str) -> None:
        """Make a topic; settings are written with `_` for `.`, such as `cleanup_policy`."""
        admin = self._kafka.admin
        new = admin.NewTopic(topic, partitions, 1)
        new.configs({name.replace("_", "."): value for name, value in settings.items()})
        client = admin.AdminClient.create(self._properties(LIMITS))
        try:
            client.createTopics([new]).all().get()
        finally:
            client.close()

    def produce(self, topic: str, messages: Iterable[Message]) -> None:
        """Send messages and wait until the broker has them."""
        with self.producer() as producer:
            producer.send(topic, messages)
            producer.flush()

    @contextmanager
    def producer(self, transactional_id: str | None = None) -> Iterator[Producer]:
        """Open a producer; with an id, one whose messages count once their transaction does.

        Opening one ends what an earlier producer of that id left open.
        """
        settings = dict(PRODUCER_LIMITS)
        if transactional_id is not None:
            settings["transactional.id"] = transactional_id
        serializer = self._jvm.org.apache.kafka.common.serialization.ByteArraySerializer
        client = self._kafka.producer.KafkaProducer(
            self._properties(settings), serializer(), serializer()
        )
        try:
            if transactional_id is not None:
                client.initTransactions()
            yield Producer(self._jvm, client)
        finally:
            client.close(self._seconds(SECONDS))

    def consume(self, topic: str, *, committed: bool = True) -> list[Message]:
        """Return all messages in order, by partition; by default only those that count."""
        with self._consumer(committed) as consumer:
            partitions = self._assign(consumer, topic)
            consumer.seekToBeginning(partitions)
            return self._read_to_end(consumer, partitions)

    def last(self, topic: str) -> list[Message]:
        """Return the last message that counts of each partition that has one.

        The last offset of a partition may be the mark of a transaction, and those before it may be
        of one that was aborted: so look further back until a message is found.
        """
        found = []
        with self._consumer(committed=True) as consumer:
            for partition in self._assign(consumer, topic):
                consumer.assign([partition])
                first = consumer.beginningOffsets([partition])[partition]
                end = consumer.endOffsets([partition])[partition]
                back = 2
                messages: list[Message] = []
                while end > first and not messages:
                    start = max(first, end - back)
                    consumer.seek(partition, start)
                    messages = self._read_to_end(consumer, [partition])
                    if start == first:
                        break
                    back *= 8
                found += messages[-1:]
        return found

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the offset after the last one that can be read, of each partition."""
        with self._consumer(committed=True) as consumer:
            ends = consumer.endOffsets(self._assign(consumer, topic))
            return {partition.partition(): end for partition, end in ends.items()}

    @property
    def _jvm(self) -> Any:
        return self.spark._jvm

    @property
    def _kafka(self) -> Any:
        return self._jvm.org.apache.kafka.clients

    def _properties(self, settings: dict[str, str]) -> Any:
        properties = self._jvm.java.util.Properties()
        for name, value in (settings | {"bootstrap.servers": self.bootstrap}).items():
            properties.setProperty(name, value)
        return properties

    def _seconds(self, number: int) -> Any:
        return self._jvm.java.time.Duration.ofSeconds(number)

    @contextmanager
    def _consumer(self, committed: bool) -> Iterator[Any]:
        level = "read_committed" if committed else "read_uncommitted"
        settings = LIMITS | {"isolation.level": level, "enable.auto.commit": "false"}
        deserializer = self._jvm.org.apache.kafka.common.serialization.ByteArrayDeserializer
        consumer = self._kafka.consumer.KafkaConsumer(
            self._properties(settings), deserializer(), deserializer()
        )
        try:
            yield consumer
        finally:
            consumer.close()

    def _assign(self, consumer: Any, topic: str) -> list[Any]:
        make = self._jvm.org.apache.kafka.common.TopicPartition
        numbers = sorted(info.partition() for info in consumer.partitionsFor(topic))
        partitions = [make(topic, number) for number in numbers]
        consumer.assign(partitions)
        return partitions

    def _read_to_end(self, consumer: Any, partitions: list[Any]) -> list[Message]:
        ends = consumer.endOffsets(partitions)
        found = []
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            records = consumer.poll(self._jvm.java.time.Duration.ofMillis(200)).iterator()
            found += [_message(record) for record in records]
        return sorted(found, key=lambda message: (message.partition, message.offset))


def _message(record: Any) -> Message:
    headers = tuple((header.key(), header.value()) for header in record.headers().toArray())
    return Message(record.key(), record.value(), headers, record.partition(), record.offset())
