"""A broker for the tests here, and a session that can talk to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from satura.local_spark import find_java
from tests.kafka import jars
from tests.kafka.broker import Broker
from tests.kafka.clients import Clients


@pytest.fixture(scope="session")
def kafka_spark(spark: SparkSession) -> SparkSession:
    """Return the session that all tests share, with the connector added to it."""
    try:
        connector = jars.connector()
    except jars.JarsMissingError as missing:
        pytest.skip(f"no connector of Spark for Kafka: {missing}")
    for jar in connector.jars:
        spark.sql(f"ADD JAR '{jar}'")
    return spark


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Return a running broker; a test that ends it starts it again."""
    try:
        found = jars.broker()
    except jars.JarsMissingError as missing:
        pytest.skip(f"no Kafka broker: {missing}")
    with Broker(tmp_path_factory.mktemp("kafka"), found, find_java()) as started:
        yield started


@pytest.fixture
def clients(kafka_spark: SparkSession, broker: Broker) -> Clients:
    return Clients(kafka_spark, broker.bootstrap)
