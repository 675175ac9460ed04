"""What the stream builds on: the broker itself, and what Spark does with it and without it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamReader

from tests.kafka.broker import Broker
from tests.kafka.clients import Clients, Message

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Seen = list[Message]
Batches = dict[int, Seen]


def numbered(count: int, first: int = 0) -> list[Message]:
    """Return messages that differ in key and value; headers may repeat a name and be any bytes."""
    return [
        Message(b"k%d" % n, b"v%d" % n, (("h", b"\x00\xff"), ("h", b"%d" % n)))
        for n in range(first, first + count)
    ]


def reader(spark: SparkSession, broker: Broker, topic: str, **options: str) -> DataStreamReader:
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .options(**options)
    )


def messages(frame: DataFrame) -> Seen:
    return [
        Message(
            row.key and bytes(row.key), row.value and bytes(row.value),
            tuple((header.key, bytes(header.value)) for header in row.headers or ()),
            row.partition, row.offset,
        )
        for row in frame.collect()
    ]  # fmt: skip


def assert_each_once(batches: Batches, count: int) -> None:
    """Check that so many numbered messages are in the batches, in whatever order."""
    seen = [message for batch in batches.values() for message in batch]
    assert len(seen) == count
    assert set(seen) == set(numbered(count))


def start(source: DataStreamReader, batches: Batches, checkpoint: Path) -> StreamingQuery:
    """Start a query that keeps each batch; it looks for new messages five times a second.

    A batch that was done when the query ended, but was not noted as done, comes again: under the
    same number and with the same messages.
    """

    def keep(frame: DataFrame, number: int) -> None:
        found = messages(frame)
        assert set(batches.setdefault(number, found)) == set(found)

    writer = source.load().writeStream.foreachBatch(keep)
    writer = writer.option("checkpointLocation", str(checkpoint))
    return writer.trigger(processingTime="200 milliseconds").start()


def wait_for(condition: Callable[[], bool], query: StreamingQuery, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert query.isActive, query.exception()
        assert time.monotonic() < until, query.status
        time.sleep(0.05)


def test_messages_outlive_a_stop_and_a_kill(clients: Clients, broker: Broker) -> None:
    clients.create_topic("kept", partitions=3)
    sent = numbered(20)
    clients.produce("kept", sent)
    before = clients.consume("kept")
    assert len(before) == 20
    assert set(before) == set(sent)
    for end in (broker.stop, broker.kill):
        end()
        assert not broker.running
        broker.start()
        after = clients.consume("kept")
        places = [(message.partition, message.offset) for message in after]
        assert after == before
        assert places == [(message.partition, message.offset) for message in before]
    assert sum(clients.end_offsets("kept").values()) == 20


def test_what_the_broker_refuses_is_an_error(clients: Clients) -> None:
    clients.create_topic("compacted", cleanup_policy="compact")
    with pytest.raises(Exception, match="cannot accept message without key"):
        clients.produce("compacted", [Message(None, b"value")])
    assert clients.consume("compacted") == []


def test_a_transaction_counts_once_it_is_committed(clients: Clients) -> None:
    clients.create_topic("feed")
    aborted, committed = numbered(40), numbered(2, first=40)
    with clients.producer("feed-writer") as producer:
        producer.begin()
        producer.send("feed", committed)
        producer.flush()
        assert clients.consume("feed") == []
        assert clients.consume("feed", committed=False) == committed
        producer.commit()
        assert clients.consume("feed") == committed
        producer.begin()
        producer.send("feed", aborted)
        producer.flush()
        # Opening another producer of the same id ends what the first one has not committed.
        with clients.producer("feed-writer"), pytest.raises(Exception, match=r"epoch|[Ff]enced"):
            producer.commit()
    assert clients.consume("feed") == committed
    assert len(clients.consume("feed", committed=False)) == 42


def test_the_last_message_of_each_partition(clients: Clients) -> None:
    clients.create_topic("tail", partitions=3)
    with clients.producer("tail-writer") as producer:
        producer.begin()
        # All of one key are in one partition, so one of the three has no message at least.
        producer.send("tail", [Message(b"a", b"%d" % n) for n in range(5)])
        producer.send("tail", [Message(b"c", b"%d" % n) for n in range(3)])
        producer.commit()
        producer.begin()
        producer.send("tail", [Message(b"a", b"aborted") for _ in range(20)])
        producer.flush()
        producer.abort()
    everything = clients.consume("tail")
    assert len(everything) == 8
    last = {message.partition: message for message in everything}
    assert clients.last("tail") == [last[partition] for partition in sorted(last)]


def test_a_stream_reads_everything_once_in_bounded_batches(
    clients: Clients, kafka_spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    clients.create_topic("bounded", partitions=2)
    clients.produce("bounded", numbered(25))
    batches: Batches = {}
    source = reader(kafka_spark, broker, "bounded", maxOffsetsPerTrigger="10")
    query = start(source, batches, tmp_path / "checkpoint")
    wait_for(lambda: sum(map(len, batches.values())) >= 25, query)
    query.stop()
    # It goes on where it was, with what came in the meantime.
    clients.produce("bounded", numbered(5, first=25))
    query = start(source, batches, tmp_path / "checkpoint")
    wait_for(lambda: sum(map(len, batches.values())) >= 30, query)
    query.stop()
    assert all(len(batch) <= 10 for batch in batches.values())
    assert_each_once(batches, 30)


def test_spark_does_not_read_what_is_not_committed(
    clients: Clients, kafka_spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    clients.create_topic("settled")
    with clients.producer("settled-writer") as producer:
        for number in range(4):
            producer.begin()
            producer.send("settled", numbered(3, first=3 * number))
            producer.flush()
            (producer.commit if number % 2 else producer.abort)()
    batches: Batches = {}
    options = {"kafka.isolation.level": "read_committed"}
    query = start(reader(kafka_spark, broker, "settled", **options), batches, tmp_path / "check")
    wait_for(lambda: sum(map(len, batches.values())) >= 6, query)
    query.stop()
    seen = [message for batch in batches.values() for message in batch]
    assert seen == numbered(3, first=3) + numbered(3, first=9)


def test_a_stream_waits_for_a_broker_that_comes_back(
    clients: Clients, kafka_spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    clients.create_topic("waiting", partitions=2)
    clients.produce("waiting", numbered(20))
    batches: Batches = {}
    query = start(reader(kafka_spark, broker, "waiting"), batches, tmp_path / "checkpoint")
    wait_for(lambda: sum(map(len, batches.values())) >= 20, query)
    broker.kill()
    time.sleep(2)
    assert query.isActive, query.exception()
    broker.start()
    clients.produce("waiting", numbered(5, first=20))
    wait_for(lambda: sum(map(len, batches.values())) >= 25, query)
    query.stop()
    assert_each_once(batches, 25)


def test_a_stream_fails_when_the_broker_stays_away_and_can_be_started_again(
    clients: Clients, kafka_spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    clients.create_topic("gone", partitions=2)
    clients.produce("gone", numbered(20))
    batches: Batches = {}
    # By default this takes minutes: a minute for each try, and several tries.
    patience = {
        "kafka.request.timeout.ms": "500",
        "kafka.default.api.timeout.ms": "1000",
        "fetchOffset.numRetries": "1",
    }
    source = reader(kafka_spark, broker, "gone", **patience)
    query = start(source, batches, tmp_path / "checkpoint")
    wait_for(lambda: sum(map(len, batches.values())) >= 20, query)
    broker.kill()
    try:
        with pytest.raises(StreamingQueryException, match="TimeoutException"):
            query.awaitTermination(30)
    finally:
        broker.start()
    clients.produce("gone", numbered(5, first=20))
    query = start(source, batches, tmp_path / "checkpoint")
    wait_for(lambda: sum(map(len, batches.values())) >= 25, query)
    query.stop()
    assert_each_once(batches, 25)
