"""How data becomes a change: files, frames, patches, graphs, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import satura
from satura import updating
from satura.errors import ConfigError, ConflictError, DataError, LimitError, ParseError
from satura.maintain.apply import Maintainer
from satura.maintain.create import create_store
from satura.store import Store
from satura.terms.ntriples import Triple
from satura.updating import Given, apply_patch, graph_name, read_given, update
from satura.vocab import OWL
from tests.unit.maintain.stores import asserted, change, closure, iri, new_store, quads, triple

ANN = triple("ann", "a", "Student")
BOB = triple("bob", "a", "Student")


def no_session() -> SparkSession:
    raise AssertionError("this was not to need Spark")


def read(path: Path | list[Path], **options: object) -> Given:
    return read_given(path, session=no_session, **options)  # type: ignore[arg-type]


def line(one: Triple) -> str:
    return f"{' '.join(one)} .\n"


def test_statements_without_a_graph_go_to_the_one_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "data.nq"
    path.write_text(line(ANN) + f"{' '.join(BOB)} {iri('g')} .\n")
    assert read(path).quads == [*quads([ANN]), *quads([BOB], "g")]
    assert read(path, graph="http://e/h").quads == [*quads([ANN], "h"), *quads([BOB], "g")]


def test_graph_is_no_literal() -> None:
    assert graph_name("_:b") == "_:b"
    with pytest.raises(ConfigError, match="cannot name a graph"):
        graph_name('"text"')
    with pytest.raises(ConfigError, match="TERM-SYNTAX"):
        graph_name("no iri")


def test_file_that_is_removed_takes_its_blank_nodes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "data.ttl"
    path.write_text("<http://e/ann> <http://e/knows> _:x , [] .")
    maintainer = new_store(tmp_path / "store")
    update(maintainer, read(path))
    assert len(asserted(maintainer.store)) == 2
    update(maintainer, removed=read(path))
    assert not asserted(maintainer.store)


def test_bad_input_changes_nothing_or_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "data.nt"
    path.write_text(line(ANN) + "nonsense\n" + line(BOB))
    with pytest.raises(DataError, match=r"data\.nt:2"):
        read(path)
    maintainer = new_store(tmp_path / "store")
    outcome = update(maintainer, read(path, on_error="skip"))
    assert (outcome.counts.asserted_added, outcome.rejected) == (2, 1)
    assert "data.nt:2" in caplog.text


def test_no_input_is_an_error() -> None:
    with pytest.raises(ConfigError, match="INPUT-NONE"):
        read([])


def test_patch_is_one_commit_for_each_transaction(tmp_path: Path) -> None:
    patch = tmp_path / "some.patch"
    patch.write_text(f"TX .\nA {line(ANN)}TC .\nTX .\nD {line(ANN)}A {line(BOB)}TC .\n")
    maintainer = new_store(tmp_path / "store")
    outcomes = list(apply_patch(maintainer, patch))
    assert [x.version for x in outcomes] == [1, 2]
    assert [x.counts.asserted_added for x in outcomes] == [1, 1]
    assert asserted(Store.open(tmp_path / "store", 1)) == set(quads([ANN]))
    assert asserted(maintainer.store) == set(quads([BOB]))


def test_error_in_a_patch_leaves_the_transactions_before_it(tmp_path: Path) -> None:
    patch = tmp_path / "some.patch"
    patch.write_text(f"TX .\nA {line(ANN)}TC .\nTX .\nA {line(BOB)}A oops .\nTC .\n")
    maintainer = new_store(tmp_path / "store")
    with pytest.raises(ParseError, match="PATCH-SYNTAX") as caught:
        list(apply_patch(maintainer, patch))
    assert caught.value.line == 6
    assert "the transaction before it is committed, the store is at version 1" in str(caught.value)
    assert asserted(Store.open(tmp_path / "store")) == set(quads([ANN]))


def test_error_in_applying_says_where_in_the_patch(tmp_path: Path) -> None:
    patch = tmp_path / "some.patch"
    patch.write_text(f"A {line(ANN)}")
    maintainer = new_store(tmp_path / "store")
    change(Maintainer(maintainer.store), quads([BOB]))
    with pytest.raises(ConflictError, match=r"some\.patch:1: the transaction") as caught:
        list(apply_patch(maintainer, patch))
    assert "nothing of the patch is committed" in str(caught.value)


def test_what_no_rule_acts_on_is_counted_on(tmp_path: Path) -> None:
    def counted() -> object:
        return Store.open(tmp_path / "store").info.extra["not_acted_on"]

    union = (iri("A"), f"<{OWL}unionOf>", iri("l"))
    functional = (iri("p"), triple("", "a", "")[1], f"<{OWL}FunctionalProperty>")
    maintainer = new_store(tmp_path / "store")
    change(maintainer, [*quads([union, functional]), *quads([union], "g")])
    assert counted() == {"owl:unionOf": 2, "owl:FunctionalProperty": 1}
    change(maintainer, quads([union, ANN]), quads([functional, triple("x", "a", "y")]))
    assert counted() == {"owl:unionOf": 2}
    change(maintainer, removed=[*quads([union], "g"), *quads([union], "h")])
    assert counted() == {"owl:unionOf": 1}


@pytest.mark.spark
class TestKnowledgeBase:
    """The methods that users call."""

    @pytest.fixture
    def kb(self, spark: SparkSession, tmp_path: Path) -> satura.KnowledgeBase:
        create_store(tmp_path / "store")
        return satura.open(spark, tmp_path / "store")

    def test_frames_are_added_and_removed(
        self, kb: satura.KnowledgeBase, spark: SparkSession
    ) -> None:
        rows = [*quads([ANN, BOB]), (iri("ann"), iri("knows"), "_:b", iri("g"))]
        frame = spark.createDataFrame(rows, "s string, p string, o string, g string")
        assert kb.add(frame).counts.asserted_added == 3
        assert {tuple(row) for row in kb.asserted().collect()} == set(rows)
        # What a knowledge base returns can be given back to it, blank nodes included.
        assert kb.remove(kb.asserted().where("g is not null")).counts.asserted_removed == 1
        assert kb.remove(kb.asserted().drop("g")).counts.asserted_removed == 2
        assert kb.info.counts.asserted == 0

    def test_terms_of_frames_are_made_canonical(
        self, kb: satura.KnowledgeBase, spark: SparkSession
    ) -> None:
        row = ("<http://e/\\u0061nn>", "<http://e/p>", '"x"@EN')
        kb.add(spark.createDataFrame([row], "s string, p string, o string"))
        assert asserted(kb.store) == {(iri("ann"), "<http://e/p>", '"x"@en', None)}

    @pytest.mark.parametrize(
        "row", [("ann", "<a:p>", "<a:o>"), ('"l"', "<a:p>", "<a:o>"), ("<a:s>", None, "<a:o>")]
    )
    def test_bad_term_in_a_frame_is_an_error(
        self, kb: satura.KnowledgeBase, spark: SparkSession, row: tuple[str, ...]
    ) -> None:
        frame = spark.createDataFrame([row], "s string, p string, o string")
        with pytest.raises(DataError, match=r"column `[sp]`"):
            kb.add(frame)
        assert kb.add(frame, on_error="skip").rejected == 1
        assert kb.info.version == 0

    def test_frame_without_the_columns_is_an_error(
        self, kb: satura.KnowledgeBase, spark: SparkSession
    ) -> None:
        with pytest.raises(ConfigError, match="INPUT-TABLE-COLUMNS"):
            kb.add(spark.range(1))

    def test_too_many_statements_are_refused(
        self, kb: satura.KnowledgeBase, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(updating, "MAX_STATEMENTS", 1)
        frame = spark.createDataFrame([ANN, BOB], "s string, p string, o string")
        with pytest.raises(LimitError, match="LIMIT-UPDATE"):
            kb.add(frame)

    def test_tables_and_what_is_large_are_read_by_spark(
        self, kb: satura.KnowledgeBase, spark: SparkSession, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        table, text = tmp_path / "table.parquet", tmp_path / "data.nt"
        spark.createDataFrame([ANN], "s string, p string, o string").write.parquet(str(table))
        text.write_text(line(BOB) + line(ANN))
        assert kb.add(table).counts.asserted_added == 1
        monkeypatch.setattr(updating, "is_small", lambda inputs: False)
        assert kb.add([text, table]).counts.asserted_added == 1
        assert asserted(kb.store) == set(quads([ANN, BOB]))

    def test_apply_adds_and_removes_in_one_commit(
        self, kb: satura.KnowledgeBase, tmp_path: Path
    ) -> None:
        first, second = tmp_path / "1.nt", tmp_path / "2.nt"
        first.write_text(line(ANN))
        second.write_text(line(BOB))
        kb.add(first)
        outcome = kb.apply(added=second, removed=first)
        assert (outcome.version, outcome.counts.asserted_removed) == (2, 1)
        assert asserted(kb.store) == set(quads([BOB]))
        assert {row["_change"] for row in kb.changes(1).collect()} == {"added", "removed"}
        assert kb.changes(1, 1).count() == 0

    def test_graphs_and_patches(self, kb: satura.KnowledgeBase, tmp_path: Path) -> None:
        patch = tmp_path / "some.patch"
        patch.write_text(f"A {' '.join(ANN)} {iri('g')} .\nA {line(BOB)}")
        [outcome] = kb.apply_patch(patch)
        assert outcome.counts.asserted_added == 2
        assert kb.graph("http://e/g").count() == 1
        kb.remove_graph("http://e/g")
        assert closure(kb.store) == {BOB}

    def test_refreshes_after_a_conflict(
        self, kb: satura.KnowledgeBase, spark: SparkSession, tmp_path: Path
    ) -> None:
        path = tmp_path / "data.nt"
        path.write_text(line(ANN))
        change(Maintainer(kb.store), quads([BOB]))
        with pytest.raises(ConflictError):
            kb.add(path)
        kb.refresh()
        assert kb.add(path).version == 2
        assert asserted(kb.store) == set(quads([ANN, BOB]))
        assert satura.open(spark, tmp_path / "store", version=1).info.counts.asserted == 1
        with pytest.raises(satura.errors.StoreError, match="STORE-VERSION"):
            satura.open(spark, tmp_path / "store", version=7)

    def test_other_rules(self, kb: satura.KnowledgeBase, tmp_path: Path) -> None:
        path = tmp_path / "data.nt"
        path.write_text(line(ANN))
        kb.add(path)
        assert kb.set_rules("rdfs-full").counts.inferred_added > 100
        assert kb.info.rule_set == "rdfs-full"
        assert not kb.set_rules("rdfs-full").changed
