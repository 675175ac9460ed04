"""Streams run by Spark: from directories, tables and sockets into a store."""

from __future__ import annotations

import gzip
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

import satura
from satura.errors import ConfigError, DataError, StoreError
from satura.generate.cut import Shares, cut
from satura.kb import KnowledgeBase
from satura.maintain.apply import Maintainer
from satura.rules.reader import load_rules
from satura.store import Store
from satura.stream.feed import PatchFeed, Span
from satura.stream.report import BatchReport
from satura.stream.sources import BatchLimits, open_source
from satura.stream.streaming import Stream, parse_trigger, start_stream
from satura.terms.ntriples import Triple
from satura.vocab import RDF_TYPE, RDFS
from tests.laws.graphs import graph
from tests.laws.owl_graphs import owl_graph
from tests.laws.test_streams import check, published

pytestmark = pytest.mark.spark

DOMAIN = f"<{RDFS}domain>"


def iri(name: str) -> str:
    return f"<http://e/{name}>"


def asserted(path: Path) -> set[Triple]:
    state = Maintainer(Store.open(path)).state
    rows = state.asserted()
    texts = state.terms({int(x) for x in set(rows.ravel().tolist())})
    return {(texts[s], texts[p], texts[o]) for s, p, o in rows.tolist()}


def run(
    spark: SparkSession, path: Path, source: str, *, feed: Path | None = None, **options: object
) -> list[BatchReport]:
    """Run a stream until nothing is left; return its reports."""
    reports: list[BatchReport] = []
    stream = start_stream(
        spark, path, open_source(source, **options),  # type: ignore[arg-type]
        feed=None if feed is None else PatchFeed(feed), trigger=parse_trigger("available-now"),
        watch=reports.append,
    )  # fmt: skip
    assert stream.await_end(300)
    assert stream.status.state == "finished"
    return reports


def quarantined(path: Path) -> list[dict[str, object]]:
    (table,) = path.glob("streams/*/quarantine")
    return list(DeltaTable(str(table)).to_pyarrow_table().to_pylist())


def put(file: Path, content: bytes, when: int) -> None:
    """Drop a file, whole and with a date."""
    partial = file.with_name(f".{file.name}")
    partial.write_bytes(content)
    os.utime(partial, (when, when))
    partial.rename(file)


def test_files_of_every_format(spark: SparkSession, tmp_path: Path) -> None:
    here = tmp_path / "in"
    (here / "deeper").mkdir(parents=True)
    put(here / "1.nt", b"<http://e/a> <http://e/p> <http://e/1> .\n", 1000)
    put(
        here / "2.nq.gz",
        gzip.compress(b"<http://e/a> <http://e/p> <http://e/2> <http://e/g> .\n"),
        1001,
    )
    put(here / "deeper" / "3 é%20.ttl", b"@prefix : <http://e/> . :a :p :3 .", 1002)
    put(here / "4.jsonld", b'{"@id": "http://e/a", "http://e/p": {"@id": "http://e/4"}}', 1003)
    put(
        here / "5.patch",
        b"TX .\nD <http://e/a> <http://e/p> <http://e/1> .\n"
        b"A <http://e/a> <http://e/p> <http://e/5> .\nTC .\n",
        1004,
    )
    rows = [("<http://e/a>", "<http://e/p>", "<http://e/6>", "added"),
            ("<http://e/a>", "<http://e/p>", "<http://e/4>", "removed")]  # fmt: skip
    table = pa.table(
        dict(zip(["s", "p", "o", "_change"], map(list, zip(*rows, strict=True)), strict=True))
    )
    pq.write_table(table, here / ".6")
    put(here / "6.parquet", (here / ".6").read_bytes(), 1005)
    put(here / "7.nt", b"<http://e/a> <http://e/p> <http://e/7> .\nnonsense\n", 1006)
    put(here / "8.nt.gz", b"not compressed", 1007)
    put(here / "9.unknown", b"what is this", 1008)
    (here / ".hidden.nt").write_bytes(b"<http://e/a> <http://e/p> <http://e/hidden> .\n")

    reports = run(spark, tmp_path / "kb", str(here), feed=tmp_path / "feed")
    assert len(reports) == 1 and reports[0].units == 9
    expected = {(iri("a"), iri("p"), iri(name)) for name in "23567"}
    assert asserted(tmp_path / "kb") == expected
    check(tmp_path / "kb", load_rules("rdfs"), expected, published(PatchFeed(tmp_path / "feed")))
    bad = quarantined(tmp_path / "kb")
    assert {Path(str(row["source"])).name for row in bad} == {"7.nt", "8.nt.gz", "9.unknown"}
    assert {row["raw"] for row in bad} >= {b"nonsense", b"what is this"}
    assert all(row["reason"] for row in bad)


def test_files_that_no_batch_can_hold(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satura.stream.files.MAX_ROWS", 3)
    here = tmp_path / "in"
    here.mkdir()
    statement = b"<http://e/a> <http://e/p> <http://e/1> .\n"
    put(here / "1.nt", statement, 1000)
    for name in ("large.patch", "large.nt", "large.ttl"):
        (here / f".{name}").touch()
        os.truncate(here / f".{name}", 300 << 20)  # takes no space
        (here / f".{name}").rename(here / name)
    pq.write_table(pa.table({name: [iri("x")] * 4 for name in "spo"}), here / "large.parquet")
    put(here / "broken.parquet", b"PAR1 or so", 1001)
    put(here / "deep.jsonld", b'{"http://e/p":' * 20_000 + b"1" + b"}" * 20_000, 1002)
    put(here / "deep.nt", statement + b"<<( " * 200_000 + b"\n", 1003)
    (here / "nowhere.nt").symlink_to(tmp_path / "nowhere")

    run(spark, tmp_path / "kb", str(here))
    assert asserted(tmp_path / "kb") == {(iri("a"), iri("p"), iri("1"))}
    reasons = {Path(str(row["source"])).name: str(row["reason"])
               for row in quarantined(tmp_path / "kb")}  # fmt: skip
    large = {f"large.{kind}" for kind in ("nt", "ttl", "patch", "parquet")}
    assert {name for name, reason in reasons.items() if "too large for a stream" in reason} == large
    assert reasons.keys() - large >= {"broken.parquet", "deep.jsonld", "deep.nt"}


@pytest.mark.parametrize("name", ["rdfs", "owl-horst"])
def test_a_cut_data_set(spark: SparkSession, tmp_path: Path, name: str) -> None:
    make = owl_graph if name == "owl-horst" else graph
    triples = {triple for seed in range(3) for triple in make(seed, f"s{seed}")}
    (tmp_path / "all.nt").write_text("".join(f"{s} {p} {o} .\n" for s, p, o in sorted(triples)))
    cut(
        [str(tmp_path / "all.nt")], tmp_path / "in", 7, schema="spread", shuffle=True,
        shares=Shares(duplicates=0.2, deletions=0.3, reinsertions=0.5), seed=3,
    )  # fmt: skip
    for number, file in enumerate(sorted((tmp_path / "in").iterdir())):
        os.utime(file, (number, number))
    final: set[Triple] = set()
    from satura.io.patch import net, read_patch

    for file in sorted((tmp_path / "in").iterdir()):
        for transaction in read_patch(file):
            added, removed = net(transaction)
            final = (final | {q[:3] for q in added}) - {q[:3] for q in removed}
    assert 0 < len(final) < len(triples)
    path = tmp_path / "kb"
    satura.create(spark, path, name)
    reports = run(spark, path, str(tmp_path / "in"), feed=tmp_path / "feed",
                  limits=BatchLimits(max_files=1))  # fmt: skip
    assert len(reports) == 7
    check(path, load_rules(name), final, published(PatchFeed(tmp_path / "feed")))


def test_a_table_and_its_changes(spark: SparkSession, tmp_path: Path) -> None:
    table, path = tmp_path / "table", tmp_path / "kb"

    def rows(names: Iterable[str]) -> pa.Table:
        return pa.table({"s": [iri(n) for n in names], "p": [iri("p")] * len(list(names)),
                         "o": [iri("o")] * len(list(names))})  # fmt: skip

    write_deltalake(str(table), rows("ab"))
    write_deltalake(str(table), rows("c"), mode="append")
    (first,) = run(spark, path, f"delta:{table}")
    assert first.asserted_added == 3
    write_deltalake(str(table), rows("de"), mode="append")
    DeltaTable(str(table)).delete(f"s = '{iri('a')}'")
    write_deltalake(str(table), rows("a"), mode="append")
    DeltaTable(str(table)).delete(f"s = '{iri('b')}'")
    reports = run(spark, path, f"delta:{table}", limits=BatchLimits(max_files=3))
    assert [x.batch for x in reports] == [1, 2]
    assert {s for s, _, _ in asserted(path)} == {iri(n) for n in "acde"}


def test_lines_of_a_socket(spark: SparkSession, tmp_path: Path) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            for n in range(5):
                connection.sendall(f"<http://e/{n}> <http://e/p> <http://e/o> .\n".encode())
            connection.sendall(b"D <http://e/1> <http://e/p> <http://e/o> .\nnonsense\n")
            time.sleep(60)

    threading.Thread(target=serve, daemon=True).start()
    kb = satura.create(spark, tmp_path / "kb")
    stream = kb.stream(f"socket://127.0.0.1:{port}", trigger="100ms")
    wait_until(lambda: (tmp_path / "kb").exists() and len(asserted(tmp_path / "kb")) == 4)
    wait_until(lambda: any((tmp_path / "kb").glob("streams/*/quarantine/_delta_log/*.json")))
    stream.stop(60)
    assert stream.status.state == "stopped"
    kb.refresh()
    assert kb.info.counts.asserted == 4
    server.close()


def wait_until(what: Callable[[], bool], patience: float = 120) -> None:
    deadline = time.monotonic() + patience
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_bad_message_may_stop_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    here = tmp_path / "in"
    here.mkdir()
    put(here / "1.nt", b"<http://e/a> <http://e/p> <http://e/1> .\nnonsense\n", 1000)
    kb = satura.create(spark, tmp_path / "kb")
    stream = kb.stream(str(here), trigger="available-now", on_error="fail")
    with pytest.raises(DataError) as caught:
        stream.await_end(120)
    assert caught.value.code == "STREAM-BAD-MESSAGE" and "1.nt:2" in str(caught.value)
    assert stream.status.state == "failed"
    assert asserted(tmp_path / "kb") == set()
    stream = kb.stream(str(here), trigger="available-now")
    assert stream.await_end(120)
    assert len(asserted(tmp_path / "kb")) == 1 and len(quarantined(tmp_path / "kb")) == 1


def test_what_passes_is_waited_for(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A feed that is away twice: the batch is applied once, and published when it is back."""
    monkeypatch.setattr("satura.stream.streaming.FIRST_PAUSE", 0.1)
    here = tmp_path / "in"
    here.mkdir()
    put(here / "1.nt", b"<http://e/a> <http://e/p> <http://e/1> .\n", 1000)
    failures: list[int] = []

    class Away(PatchFeed):
        def publish(self, span: Span, changes: Iterable[pa.RecordBatch]) -> int:
            if span.previous is not None and len(failures) < 2:
                failures.append(span.version)
                raise StoreError("STORE-WRITE", "no space is left", "free some")
            return super().publish(span, changes)

    seen: list[BatchReport] = []
    stream = start_stream(
        spark, tmp_path / "kb", open_source(str(here)), feed=Away(tmp_path / "feed"),
        trigger=parse_trigger("available-now"), watch=seen.append,
    )  # fmt: skip
    assert stream.await_end(120)
    assert failures == [1, 1]
    assert [(x.batch, x.replayed, x.asserted_added) for x in seen] == [(0, True, 1)]
    expected = {(iri("a"), iri("p"), iri("1"))}
    check(tmp_path / "kb", load_rules("rdfs"), expected, published(PatchFeed(tmp_path / "feed")))


def test_retries_come_to_an_end(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satura.stream.streaming.FIRST_PAUSE", 0.05)

    class Full(PatchFeed):
        def publish(self, span: Span, changes: Iterable[pa.RecordBatch]) -> int:
            if span.previous is not None:
                raise StoreError("STORE-WRITE", "no space is left", "free some")
            return super().publish(span, changes)

    here = tmp_path / "in"
    here.mkdir()
    put(here / "1.nt", b"<http://e/a> <http://e/p> <http://e/1> .\n", 1000)
    stream = start_stream(
        spark, tmp_path / "kb", open_source(str(here)), feed=Full(tmp_path / "feed"),
        trigger=parse_trigger("available-now"), retries=2,
    )  # fmt: skip
    with pytest.raises(StoreError, match="no space is left"):
        stream.await_end(120)
    assert stream.status.failures == 2


def test_another_writer_comes_first(spark: SparkSession, tmp_path: Path) -> None:
    """`satura add` from elsewhere while the stream runs: both are there in the end."""
    here, path = tmp_path / "in", tmp_path / "kb"
    here.mkdir()
    for n in range(12):
        put(here / f"{n}.nt", f"<http://e/s{n}> <http://e/p> <http://e/o> .\n".encode(), 1000 + n)
    satura.create(spark, path)
    other = KnowledgeBase(spark, Store.open(path))
    (tmp_path / "own").mkdir()
    seen: list[BatchReport] = []
    done: list[str] = []

    def write(report: BatchReport) -> None:
        """Commit between two batches, which the stream cannot know of."""
        seen.append(report)
        file = tmp_path / "own" / f"{report.batch}.nt"
        file.write_text(f"<http://e/t{report.batch}> <http://e/p> <http://e/o> .\n")
        other.refresh()
        other.add(file)
        done.append(f"t{report.batch}")

    stream = start_stream(
        spark, path, open_source(str(here), limits=BatchLimits(max_files=1)),
        feed=PatchFeed(tmp_path / "feed"), trigger=parse_trigger("available-now"), watch=write,
    )  # fmt: skip
    assert stream.await_end(300)
    assert len(seen) == 12 and sum(x.conflicts for x in seen) == 11
    expected = {(iri(n), iri("p"), iri("o")) for n in [*(f"s{n}" for n in range(12)), *done]}
    assert asserted(path) == expected
    run(spark, path, str(here), feed=tmp_path / "feed")
    check_feed = published(PatchFeed(tmp_path / "feed"))
    assert check_feed >= expected - {(iri("t11"), iri("p"), iri("o"))}


def test_it_begins_with_a_schema_once(spark: SparkSession, tmp_path: Path) -> None:
    here, path = tmp_path / "in", tmp_path / "kb"
    here.mkdir()
    schema = tmp_path / "schema.nt"
    schema.write_text(f"{iri('p')} {DOMAIN} {iri('C')} .\n")
    put(here / "1.nt", b"<http://e/a> <http://e/p> <http://e/o> .\n", 1000)

    def stream() -> Stream:
        return start_stream(
            spark, path, open_source(str(here)), rules="rhodf", schema=[schema],
            trigger=parse_trigger("available-now"),
        )  # fmt: skip

    assert stream().await_end(120)
    assert Store.open(path).info.counts.inferred == 1
    put(here / "2.patch", f"D {iri('p')} {DOMAIN} {iri('C')} .\n".encode(), 1001)
    assert stream().await_end(120)
    assert asserted(path) == {(iri("a"), iri("p"), iri("o"))}
    assert RDF_TYPE not in {p for _, p, _ in asserted(path)}
    with pytest.raises(ConfigError, match="closed under rhodf"):
        start_stream(spark, path, open_source(str(here)), rules="rdfs")
