"""A knowledge base: a store, a session, and the questions one asks of them.

This is what users hold. Everything returned is a lazy DataFrame over one snapshot; the columns
`s p o` (and `g` for asserted triples) hold N-Triples terms, or 64-bit ids with `ids=True`.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from satura.closure.saturate import Limits
from satura.errors import ConfigError
from satura.maintain.apply import Maintainer
from satura.maintain.changes import changed_frame, decode_net, is_few, net_change
from satura.maintain.create import create_store
from satura.maintain.model import Algorithm, Outcome
from satura.maintain.rule_sets import set_rules
from satura.pipeline import OnError, Summary, materialize_store
from satura.progress import Watcher
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules
from satura.store import Store, StoreInfo
from satura.store.sameness import SameAs
from satura.stream.batches import OnBadMessage
from satura.stream.report import BatchReport
from satura.stream.sources import BatchLimits, open_feed, open_source
from satura.stream.streaming import FeedFrom, Stream, parse_trigger, start_stream
from satura.terms.ids import term_id
from satura.terms.ntriples import read_term
from satura.updating import Data, apply_patch, graph_name, read_given, remove_graph, update
from satura.violations import decoded_violations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class KnowledgeBase:
    """A saturated set of triples. Make it with `satura.materialize` or `satura.open`."""

    def __init__(self, spark: SparkSession, store: Store, summary: Summary | None = None) -> None:
        self.spark = spark
        self.store = store
        self.summary = summary
        """What the run did that made this, or None if it was opened."""
        self._maintainer: Maintainer | None = None

    @property
    def info(self) -> StoreInfo:
        """Counts, rule set, version and size of the snapshot."""
        return self.store.info

    def asserted(self, *, ids: bool = False) -> DataFrame:
        """Return what was given: `s p o g`, where `g` is null in the default graph."""
        return self._terms(self.store.frame(self.spark, "asserted"), ids)

    def graph(self, name: str) -> DataFrame:
        """Return the asserted triples of one named graph, given by its IRI."""
        frame = self.store.frame(self.spark, "asserted")
        return self._terms(frame.where(frame["g"] == term_id(graph_name(name))), ids=False)

    def rejects(self) -> DataFrame:
        """Return the input that was skipped: `file line column reason text`."""
        return self.store.rejects(self.spark)

    def violations(self) -> DataFrame:
        """Return what contradicts the rules: `rule`, `witnesses` (variable to term)."""
        return decoded_violations(self.store, self.store.violations(self.spark))

    def inferred(self, *, ids: bool = False, same_as: SameAs = "expand") -> DataFrame:
        """Return what is entailed and was not given: `s p o`."""
        return self._terms(self.store.inferred(self.spark, same_as=same_as), ids)

    def closure(self, *, ids: bool = False, same_as: SameAs = "expand") -> DataFrame:
        """Return both: the distinct triples `s p o`, asserted or inferred.

        With `same_as="representatives"`, of terms that are the same only one is spoken of, and
        `owl:sameAs` says who stands for whom.
        """
        return self._terms(self.store.closure(self.spark, same_as=same_as), ids)

    def triples(
        self, *, s: str | None = None, p: str | None = None, o: str | None = None,
        ids: bool = False,
    ) -> DataFrame:  # fmt: skip
        """Return the triples of the closure with the given terms, reading few files.

        Terms are N-Triples text: `<http://example.org/alice>`, `"1"^^<…>`, `_:b`.
        """
        ids_ = [None if text is None else term_id(read_term(text)) for text in (s, p, o)]
        frame = self.store.closure(self.spark, s=ids_[0], p=ids_[1], o=ids_[2])
        if ids:
            return frame
        return self.store.decode(self.spark, frame, ["s", "p", "o"], size="small")

    def add(
        self, data: Data, *, graph: str | None = None, format: str | None = None,
        on_error: OnError = "fail", algorithm: Algorithm = "auto",
    ) -> Outcome:  # fmt: skip
        """Assert statements, and infer what follows; return what changed.

        `data` is paths, as for `materialize`, or a DataFrame with columns `s p o` and perhaps `g`
        of N-Triples text. Statements that name no graph go to `graph`.
        """
        given = read_given(
            data, graph=graph, format=format, on_error=on_error, session=self._session
        )
        return self._updated(update(self._open_maintainer(), given, algorithm=algorithm))

    def remove(
        self, data: Data, *, graph: str | None = None, format: str | None = None,
        on_error: OnError = "fail", algorithm: Algorithm = "auto",
    ) -> Outcome:  # fmt: skip
        """Take back assertions, and what follows from them alone; return what changed.

        What is still entailed stays, as inferred. Statements that name no graph are taken from
        `graph`, by default the default graph.
        """
        given = read_given(
            data, graph=graph, format=format, on_error=on_error, session=self._session
        )
        maintainer = self._open_maintainer()
        return self._updated(update(maintainer, removed=given, algorithm=algorithm))

    def remove_graph(self, name: str, *, algorithm: Algorithm = "auto") -> Outcome:
        """Take back all assertions of a named graph, given by its IRI."""
        return self._updated(remove_graph(self._open_maintainer(), name, algorithm=algorithm))

    def apply(
        self, added: Data | None = None, removed: Data | None = None, *,
        graph: str | None = None, format: str | None = None,
        on_error: OnError = "fail", algorithm: Algorithm = "auto",
    ) -> Outcome:  # fmt: skip
        """Assert and take back statements in one commit; what is in both is asserted."""
        coming, going = (
            None
            if data is None
            else read_given(
                data, graph=graph, format=format, on_error=on_error, session=self._session
            )
            for data in (added, removed)
        )
        return self._updated(update(self._open_maintainer(), coming, going, algorithm=algorithm))

    def apply_patch(
        self, path: str | Path, *, on_error: OnError = "fail", algorithm: Algorithm = "auto"
    ) -> list[Outcome]:
        """Apply an RDF Patch, one commit for each of its transactions; return what each changed.

        An error in one of them leaves those before it committed.
        """
        maintainer = self._open_maintainer()
        try:
            return list(apply_patch(maintainer, path, on_error=on_error, algorithm=algorithm))
        finally:
            self.store = maintainer.store

    def set_rules(self, rules: str | Path | RuleSet) -> Outcome:
        """Close the store under other rules, in one commit; assertions stay."""
        rule_set = rules if isinstance(rules, RuleSet) else load_rules(str(rules))
        return self._updated(set_rules(self._open_maintainer(), rule_set, session=self._session))

    def changes(self, from_version: int, to_version: int | None = None) -> DataFrame:
        """Return the net difference of the closures of two versions: `s p o _change asserted`.

        `_change` is `added` or `removed`, `asserted` whether the triple is asserted in the later
        version, or was in the earlier. Without `to_version`, up to the version that is open.
        """
        before = Store.open(self.store.path, from_version)
        after = self.store if to_version is None else Store.open(self.store.path, to_version)
        if not is_few(before, after):
            return changed_frame(self.spark, before, after)
        return self.spark.createDataFrame(decode_net(net_change(before, after), before, after))

    def stream(
        self, source: str, *, trigger: str = "1s", schema: Sequence[str | Path] = (),
        feed: str | None = None, feed_from: FeedFrom = "everything", format: str | None = None,
        max_files: int | None = None, max_offsets: int = 100_000, max_bytes: int | None = None,
        on_error: OnBadMessage = "quarantine", name: str | None = None, retries: int = 10,
        watch: Callable[[BatchReport], None] | None = None,
        kafka: Mapping[str, str] | None = None,
    ) -> Stream:  # fmt: skip
        """Apply what arrives at a source, batch by batch; return what is under way at once.

        `source` and `feed` are written as for `satura stream`; `watch` is called after each batch,
        `kafka` are options of Kafka's clients. `refresh` shows what has been applied.
        """
        limits = BatchLimits(max_files, max_offsets, max_bytes)
        published = None if feed is None else open_feed(feed, self._session, kafka)
        return start_stream(
            self.spark, self.store.path,
            open_source(source, format=format, limits=limits, kafka=kafka),
            schema=schema, feed=published, feed_from=feed_from, trigger=parse_trigger(trigger),
            on_error=on_error, name=name, retries=retries, watch=watch or (lambda _: None),
        )  # fmt: skip

    def refresh(self) -> None:
        """Go on with the current snapshot, after others may have committed."""
        self.store = Store.open(self.store.path)
        if self._maintainer is not None:
            self._maintainer.adopt(self.store)

    def _open_maintainer(self) -> Maintainer:
        """Return what applies changes; what it has read stays for the next one."""
        if self._maintainer is None:
            self._maintainer = Maintainer(self.store, self._session)
        return self._maintainer

    def _updated(self, outcome: Outcome) -> Outcome:
        self.store = self._open_maintainer().store
        return outcome

    def _session(self) -> SparkSession:
        return self.spark

    def _terms(self, frame: DataFrame, ids: bool) -> DataFrame:
        if ids:
            return frame
        columns = [name for name in frame.columns if name in ("s", "p", "o", "g")]
        return self.store.decode(self.spark, frame, columns)


def materialize(
    spark: SparkSession,
    paths: str | Path | Sequence[str | Path],
    rules: str | Path | RuleSet = "rdfs",
    store: str | Path | None = None,
    *,
    format: str | None = None,
    on_error: OnError = "fail",
    overwrite: bool = False,
    fail_on_violation: bool = False,
    max_rounds: int | None = None,
    max_facts: int | None = None,
    timeout: float | None = None,
    watcher: Watcher | None = None,
) -> KnowledgeBase:
    """Close RDF files under rules and return the result.

    `paths` are files, directories or globs; `rules` is the name of a built-in rule set, the path
    of a rule file or a `RuleSet`. Without `store` the result lives in a temporary directory that
    goes when the knowledge base does.

    `max_rounds` of joins without a fixpoint, more than `max_facts` in the closure or `timeout`
    seconds end the run with `LimitError`; the store is then as it was.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise ConfigError("INPUT-NONE", "no input was given", "name at least one file or directory")
    scratch = tempfile.mkdtemp(prefix="satura-store-") if store is None else None
    target = scratch or store
    if target is None:
        raise AssertionError  # one of the two was given
    try:
        opened, summary = materialize_store(
            spark, given, store=target, rules=rules, format=format,
            on_error=on_error, overwrite=overwrite, fail_on_violation=fail_on_violation,
            limits=Limits(max_rounds, max_facts, timeout), watcher=watcher,
        )  # fmt: skip
    except BaseException:
        if scratch is not None:
            rmtree(scratch, ignore_errors=True)
        raise
    kb = KnowledgeBase(spark, opened, summary)
    if scratch is not None:
        weakref.finalize(kb, rmtree, scratch, ignore_errors=True)
    return kb


def create(
    spark: SparkSession, path: str | Path, rules: str | Path | RuleSet = "rdfs"
) -> KnowledgeBase:
    """Make a store that nothing is asserted in yet, for updates or a stream to fill."""
    return KnowledgeBase(spark, create_store(path, rules))


def open(spark: SparkSession, path: str | Path, version: int | None = None) -> KnowledgeBase:
    """Open the current snapshot of a store, or an earlier version of it."""
    return KnowledgeBase(spark, Store.open(path, version))
