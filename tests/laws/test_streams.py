"""Law 2: however a data set is cut into batches, in whatever order, the store is its closure.

Batches are handed over as Spark hands them over, without Spark; `tests/stream` runs streams.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pytest

from satura.maintain.apply import Maintainer
from satura.maintain.create import create_store
from satura.reference import close, is_rdf
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules
from satura.store import Store
from satura.store.rows import RowCache
from satura.stream.batches import Batches
from satura.stream.feed import DeltaFeed, Feed, PatchFeed, Span
from satura.stream.intake import Intake
from satura.stream.publishing import Publisher
from satura.stream.report import read_reports
from satura.terms.ntriples import Triple
from tests.laws.graphs import graph
from tests.laws.owl_graphs import owl_graph
from tests.laws.updates import Followed, assert_same, closure_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Operation = tuple[Triple, bool]

SIZES = {
    "rhodf": 20, "rdfs": 25, "rdfs-full": 6, "owl-horst": 8, "owl2-rl": 6, "owl-horst-full": 1,
    "owl2-rl-full": 1,
}  # fmt: skip
FULL = 8
"""How many times as many data sets `make soak` cuts."""


def random_cut(seed: int, triples: Iterable[Triple]) -> list[list[Operation]]:
    """Cut triples into 1 to 20 batches, with repetitions, deletions and re-insertions."""
    random = Random(f"cut {seed}")
    batches: list[list[Operation]] = [[] for _ in range(random.randint(1, 20))]
    last = len(batches) - 1
    shares = [random.choice([0, 0.2, 0.6]) for _ in range(3)]
    for triple in sorted(triples):
        at = random.randint(0, last)
        batches[at].append((triple, True))
        if random.random() < shares[0]:
            batches[random.randint(at, last)].append((triple, True))
        if random.random() < shares[1] and at < last:
            at = random.randint(at + 1, last)
            batches[at].append((triple, False))
            if random.random() < shares[2] and at < last:
                batches[random.randint(at + 1, last)].append((triple, True))
    for batch in batches:
        random.shuffle(batch)
    return batches


def final(batches: Iterable[Iterable[Operation]]) -> set[Triple]:
    """Return what is asserted after all batches."""
    here: set[Triple] = set()
    for batch in batches:
        for triple, add in batch:
            (here.add if add else here.discard)(triple)
    return here


@dataclass
class Given:
    """A source that hands over what it was given; batches are told apart by their number."""

    batches: list[list[Operation]]
    label: str = "given"

    def check(self) -> None: ...

    def frame(self, spark: SparkSession) -> DataFrame:
        raise NotImplementedError

    def read(self, frame: DataFrame) -> Intake:
        intake = Intake()
        for triple, add in self.batches[cast(int, frame)]:
            intake.take([(*triple, None)], add=add)
        return intake


@dataclass
class Noted:
    """A feed that checks that every change follows on the one before and changes something."""

    closure: set[Triple] = field(default_factory=set)
    version: int | None = None
    label: str = "noted"

    def last(self) -> int | None:
        return self.version

    def publish(self, span: Span, changes: Iterable[pa.RecordBatch]) -> int:
        assert span.previous == self.version
        rows = [row for batch in changes for row in batch.to_pylist()]
        for row in rows:
            triple = (row["s"], row["p"], row["o"])
            assert (triple in self.closure) == (row["_change"] == "removed"), row
            (self.closure.add if row["_change"] == "added" else self.closure.remove)(triple)
        self.version = span.version
        return len(rows)


def batches_of(path: Path, rules: RuleSet, source: Given, feed: Feed) -> Batches:
    """Make a stream into a store, new or not."""
    store = Store.open(path) if (path / "facts").exists() else create_store(path, rules)
    maintainer = Maintainer(store)
    directory = path / "streams" / "given"
    directory.mkdir(parents=True, exist_ok=True)
    publisher = Publisher(feed, _no_spark, RowCache())
    publisher.begin(maintainer.store, whole=True)
    return Batches(maintainer, source, directory, "given", publisher)


def _no_spark() -> SparkSession:
    raise AssertionError("small stores are read on the driver")


def check(path: Path, rules: RuleSet, asserted: set[Triple], published: set[Triple]) -> None:
    """Hold a store and what was published of it against the reference."""
    followed = Followed(rules, Maintainer(Store.open(path)), asserted)
    expected = {t for t in close(rules, asserted) if is_rdf(t)}
    assert_same(expected, closure_of(followed.maintainer.state), "the store")
    assert_same(expected, published, "the feed")
    # Nothing more to apply: all that a step checks is checked, rows and support included.
    followed.apply((frozenset(), frozenset()))


def run_cuts(tmp_path: Path, name: str, seeds: range) -> None:
    rules = load_rules(name)
    for seed in seeds:
        triples = owl_graph(seed, "s") if name.startswith("owl") else graph(seed, "s")
        source, feed = Given(random_cut(seed, triples)), Noted()
        path = tmp_path / str(seed)
        stream = batches_of(path, rules, source, feed)
        for number in range(len(source.batches)):
            stream.take(cast("DataFrame", number), number)
        check(path, rules, final(source.batches), feed.closure)
        assert [x.batch for x in read_reports(stream.directory)] == [*range(len(source.batches))]


@pytest.mark.parametrize("name", SIZES)
def test_cut_anyhow_the_store_is_the_closure(tmp_path: Path, name: str) -> None:
    run_cuts(tmp_path, name, range(SIZES[name]))


@pytest.mark.soak
@pytest.mark.parametrize("name", SIZES)
def test_cut_anyhow_at_full_size(tmp_path: Path, name: str) -> None:
    run_cuts(tmp_path, name, range(1000, 1000 + FULL * SIZES[name]))


@pytest.mark.parametrize("kind", ["patch", "delta"])
def test_batches_that_come_again_are_applied_once(tmp_path: Path, kind: str) -> None:
    """Batches are replayed as after a crash, with another writer in between."""
    rules = load_rules("rdfs")
    for seed in range(4):
        random = Random(seed)
        source = Given(random_cut(seed, graph(seed, "s")))
        path, place = tmp_path / f"{seed}", tmp_path / f"feed-{seed}"
        feed = PatchFeed(place) if kind == "patch" else DeltaFeed(place)
        other: set[Triple] = set()
        asserted: set[Triple] = set()
        for number, batch in enumerate(source.batches):
            stream = batches_of(path, rules, source, feed)
            for again in range(random.randint(1, 3)):
                if again and random.random() < 0.5:
                    stream = batches_of(path, rules, source, feed)
                stream.take(cast("DataFrame", number), number)
            asserted = final([[(t, True) for t in asserted], batch])
            if random.random() < 0.5:
                triple = (f"<http://e/{seed}-{number}>", "<http://e/p0>", "<http://e/o>")
                Followed(rules, Maintainer(Store.open(path)), set(asserted)).apply(
                    (frozenset({triple}), frozenset())
                )
                other.add(triple)
                asserted.add(triple)
        batches_of(path, rules, source, feed).publisher.catch_up(Store.open(path))  # type: ignore[union-attr]
        check(path, rules, asserted, published(feed))
        assert len(read_reports(path / "streams" / "given")) == len(source.batches)


def published(feed: Feed) -> set[Triple]:
    """Add up what was published, in order, checking that nothing is repeated or left out."""
    found, previous = set[Triple](), None
    for before, version, rows in _spans(feed):
        assert before == previous
        previous = version
        for triple, add in rows:
            assert (triple in found) != add, (version, triple, add)
            (found.add if add else found.remove)(triple)
    return found


def _spans(feed: Feed) -> Iterable[tuple[int | None, int, list[Operation]]]:
    if isinstance(feed, PatchFeed):
        from satura.io.patch import read_patch

        for file in sorted(feed.directory.glob("*.patch")):
            (transaction,) = read_patch(file)
            headers = {key: int(value.split('"')[1]) for key, value in transaction.headers}
            rows = [((c.s, c.p, c.o), c.add) for c in transaction.changes]
            yield headers.get("from"), headers["to"], rows
        return
    from deltalake import DeltaTable

    assert isinstance(feed, DeltaFeed)
    rows = DeltaTable(str(feed.table)).to_pyarrow_table().to_pylist()
    last = None
    for version in sorted({row["version"] for row in rows}):
        some = [row for row in rows if row["version"] == version]
        # Versions that changed nothing have no rows in a table.
        yield last, version, [((r["s"], r["p"], r["o"]), r["_change"] == "added") for r in some]
        last = version
