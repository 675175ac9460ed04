"""A knowledge base: a store, a session, and the questions one asks of them.

This is what users hold. Everything returned is a lazy DataFrame over one snapshot; the columns
`s p o` (and `g` for asserted triples) hold N-Triples terms, or 64-bit ids with `ids=True`.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from satura.closure.saturate import Limits
from satura.errors import ConfigError
from satura.pipeline import OnError, Summary, materialize_store
from satura.progress import Watcher
from satura.rules.model import RuleSet
from satura.store import Store, StoreInfo
from satura.store.sameness import SameAs
from satura.terms.ids import term_id
from satura.terms.ntriples import read_term
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

    @property
    def info(self) -> StoreInfo:
        """Counts, rule set, version and size of the snapshot."""
        return self.store.info

    def asserted(self, *, ids: bool = False) -> DataFrame:
        """Return what was given: `s p o g`, where `g` is null in the default graph."""
        return self._terms(self.store.frame(self.spark, "asserted"), ids)

    def graph(self, name: str) -> DataFrame:
        """Return the asserted triples of one named graph, given by its IRI."""
        text = name if name.startswith(("<", "_:")) else f"<{name}>"
        frame = self.store.frame(self.spark, "asserted")
        return self._terms(frame.where(frame["g"] == term_id(read_term(text))), ids=False)

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


def open(spark: SparkSession, path: str | Path) -> KnowledgeBase:
    """Open the current snapshot of a store."""
    return KnowledgeBase(spark, Store.open(path))
