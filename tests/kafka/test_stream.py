"""From a topic to a store to a topic, while the stream and the broker are killed."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from deltalake import DeltaTable

from satura.reference import close
from satura.rules.reader import load_rules
from satura.terms.ntriples import Triple
from satura.vocab import RDF_TYPE, RDFS
from tests.kafka import jars
from tests.kafka.broker import Broker
from tests.kafka.clients import Clients, Message
from tests.laws.test_streams import check
from tests.stream.process import StreamProcess

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

SUBCLASS, DOMAIN = f"<{RDFS}subClassOf>", f"<{RDFS}domain>"
BAD = [b"<http://e/s> nonsense .", b'{"s": "<http://e/s>"}', b"\xff\xfe"]


def operations(seed: int) -> list[tuple[Triple, bool]]:
    """Return a few hundred additions and removals, of schema too."""
    random = Random(seed)
    classes = [f"<http://e/C{i}>" for i in range(6)]
    pool: list[Triple] = [(a, SUBCLASS, b) for a in classes for b in classes if a < b]
    pool += [(f"<http://e/p{i}>", DOMAIN, c) for i, c in enumerate(classes)]
    pool += [(f"<http://e/x{i}>", RDF_TYPE, random.choice(classes)) for i in range(60)]
    pool += [(f"<http://e/x{i}>", f"<http://e/p{i % 6}>", '"a b"@en') for i in range(60)]
    random.shuffle(pool)
    found = [(triple, True) for triple in pool]
    found += [(triple, random.random() < 0.4) for triple in random.choices(pool, k=120)]
    return found


def message(triple: Triple, add: bool, number: int) -> Message:
    """Write an operation in one of the formats, which tell themselves apart."""
    s, p, o = triple
    if number % 3 == 0:
        data = {"s": s, "p": p, "o": o, "_change": "added" if add else "removed"}
        return Message(None, json.dumps([data] if number % 2 else data).encode())
    if add and number % 3 == 1:
        return Message(None, f"{s} {p} {o} .\n".encode())
    return Message(None, f"{'A' if add else 'D'} {s} {p} {o} .".encode())


def published(clients: Clients, topic: str) -> set[Triple]:
    """Add up the feed, checking that no change is missing and none is there twice."""
    found: set[Triple] = set()
    previous = None
    for one in clients.consume(topic):
        headers = {name: int(value) for name, value in one.headers}
        if headers["to"] != previous:
            assert headers.get("from") == previous
            previous = headers["to"]
        for row in json.loads(one.value or b""):
            triple = (row["s"], row["p"], row["o"])
            assert (triple in found) == (row["_change"] == "removed"), row
            (found.add if row["_change"] == "added" else found.remove)(triple)
    return found


def test_from_topic_to_store_to_topic(broker: Broker, clients: Clients, tmp_path: Path) -> None:
    clients.create_topic("rdf")
    clients.create_topic("closure")
    given = operations(1)
    every = [message(triple, add, number) for number, (triple, add) in enumerate(given)]
    for number, bad in enumerate(BAD):
        every.insert(40 * number + 20, Message(None, bad))
    clients.produce("rdf", every[:60])
    connector = ",".join(str(jar) for jar in jars.connector().jars)
    address = f"kafka://{broker.bootstrap}"
    stream = StreamProcess(
        ["--from", f"{address}/rdf", "--feed", f"{address}/closure", "--jars", connector,
         "--trigger", "100ms", "--max-offsets", "15", "--rules", "rdfs",
         "--kafka", "request.timeout.ms=4000", "--kafka", "default.api.timeout.ms=8000"],
        tmp_path / "kb", tmp_path / "log",
    )  # fmt: skip
    stream.start()
    stream.wait_for(lambda reports: len(reports) >= 2)
    stream.kill()
    clients.produce("rdf", every[60:120])
    stream.start()
    stream.wait_for(lambda reports: sum(x.units for x in reports) >= 75)
    broker.kill()
    broker.start()
    clients.produce("rdf", every[120:])
    stream.wait_for(lambda reports: sum(x.units for x in reports) >= len(every))
    assert stream.stop() == 0

    asserted: set[Triple] = set()
    for triple, add in given:
        (asserted.add if add else asserted.discard)(triple)
    rules = load_rules("rdfs")
    assert close(rules, asserted) - asserted, "something is inferred"
    check(tmp_path / "kb", rules, asserted, published(clients, "closure"))
    reports = stream.reports()
    assert [x.batch for x in reports] == list(range(len(reports)))
    assert sum(x.units for x in reports) == len(every)
    kept = DeltaTable(str(tmp_path / "kb" / "streams" / "it" / "quarantine")).to_pyarrow_table()
    assert sorted(kept["raw"].to_pylist()) == sorted(BAD)
    assert set(kept["source"].to_pylist()) == {f"{address}/rdf"}
    assert all(x.startswith("0:") for x in kept["offset"].to_pylist())
