"""A store opened for reading: one snapshot of facts, and the terms that belong to it.

Opening reads the log of `facts` first, then `terms` at the version that the facts' commit names;
terms may have run ahead, in a transaction that is running or that crashed. What is opened never
changes: a later commit is seen by opening again.

Invariant: a frame reads exactly the files of the snapshot, never what merely lies in a directory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from satura.errors import CorruptStoreError, StoreError
from satura.jobs import collect_first, described
from satura.parquet import read_files
from satura.store import commits, delta, layout, sameness
from satura.store.decoding import decode_few, decode_many
from satura.store.delta import DataFile, Ids, Snapshot
from satura.store.history import Entry, read_history
from satura.store.horizon import no_such_version, read_horizon
from satura.store.layers import overlaid
from satura.store.layout import Kind
from satura.store.metadata import StoreInfo, describe, find_recorded
from satura.store.sameness import SameAs
from satura.terms.ids import term_id
from satura.vocab import OWL_SAME_AS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAME_AS: Final = term_id(OWL_SAME_AS)


class Store:
    """A snapshot of a store. Make it with `Store.open`."""

    def __init__(self, path: Path, info: StoreInfo, facts: Snapshot, terms: Snapshot) -> None:
        self.path = path
        self.info = info
        self.facts_snapshot = facts
        self.terms_snapshot = terms

    @classmethod
    def open(cls, path: str | Path, version: int | None = None) -> Store:
        """Open the current snapshot, or an earlier one; only logs are read, no data file is."""
        root = layout.store_path(path)
        try:
            found = layout.is_store(root)
        except OSError as error:
            raise commits.unreadable(root / layout.FACTS, error) from error
        if not found:
            raise StoreError("STORE-MISSING", f"there is no store at `{root}`", _nearby(root))
        facts_table = root / layout.FACTS
        latest = commits.latest_version(facts_table)
        if version is not None and (latest is None or not read_horizon(root) <= version <= latest):
            raise no_such_version(root, version, latest)
        facts = delta.read_snapshot(facts_table, latest if version is None else version)
        recorded = find_recorded(root, facts.version).data
        terms = delta.read_snapshot(root / layout.TERMS, int(recorded["terms_version"]))
        return cls(root, describe(root, recorded, facts, terms), facts, terms)

    @staticmethod
    def history(path: str | Path, limit: int | None = None) -> list[Entry]:
        """Return the versions of a store, the latest first."""
        return read_history(path, limit)

    @property
    def version(self) -> int:
        """The version of the facts table, which is that of the store."""
        return self.info.version

    def frame(
        self, spark: SparkSession, kind: Kind, *, s: Ids = None, p: Ids = None, o: Ids = None
    ) -> DataFrame:
        """Return the rows of a kind, only those with the given subjects, predicates or objects.

        Files whose bounds exclude every match are not read. Columns: `s p o g` of asserted,
        `s p o support joined asserted` of derived, `s p o origin` of schema, `s o iri` of equal.
        No job is run.
        """
        files = delta.prune(self.facts_snapshot.files, kind=kind, s=s, p=p, o=o)
        layers = {since: [x for x in files if x.since == since] for since in _sinces(files)}
        frames = [
            self._read(spark, self.facts_snapshot, layer, layout.KIND_COLUMNS[kind])
            for layer in (layers.values() or [()])
        ]
        frame = overlaid(kind, frames, sum(x.rows for x in files) - _base_rows(layers))
        for column, ids in (("s", s), ("p", p), ("o", o)):
            if ids is not None:
                frame = frame.where(frame[column].isin(*delta.as_ids(ids)))
        return frame

    def inferred(
        self, spark: SparkSession, *, s: Ids = None, p: Ids = None, o: Ids = None,
        same_as: SameAs = "expand",
    ) -> DataFrame:  # fmt: skip
        """Return the triples `s p o` that are entailed and not asserted."""
        if self.info.counts.equal:
            closure = self.closure(spark, s=s, p=p, o=o, same_as=same_as)
            given = self.frame(spark, "asserted", s=s, p=p, o=o).select("s", "p", "o")
            return closure.join(given.distinct(), ["s", "p", "o"], "left_anti")
        derived = self.frame(spark, "derived", s=s, p=p, o=o)
        return derived.where(~derived["asserted"]).select("s", "p", "o")

    def closure(
        self, spark: SparkSession, *, s: Ids = None, p: Ids = None, o: Ids = None,
        same_as: SameAs = "expand",
    ) -> DataFrame:  # fmt: skip
        """Return the distinct triples `s p o`, asserted or inferred.

        One shuffle when there are named graphs, for a triple may stand in several; else none.
        Where terms are the same as others, `same_as` says whether all triples about all of them
        are returned, or those about their representatives and who stands for whom.
        """
        if self.info.counts.equal:
            return self._closure_of_equals(spark, s, p, o, same_as)
        asserted = self._asserted(spark, s, p, o)
        return asserted.unionAll(self.inferred(spark, s=s, p=p, o=o))

    def _asserted(self, spark: SparkSession, s: Ids, p: Ids, o: Ids) -> DataFrame:
        """Return the distinct asserted triples."""
        asserted = self.frame(spark, "asserted", s=s, p=p, o=o).select("s", "p", "o")
        files = delta.prune(self.facts_snapshot.files, kind="asserted")
        if any(file.nulls.get("g") != file.rows for file in files):
            asserted = asserted.distinct()
        return asserted

    def _closure_of_equals(
        self, spark: SparkSession, s: Ids, p: Ids, o: Ids, same_as: SameAs
    ) -> DataFrame:
        equal = self.frame(spark, "equal")
        # Whoever asks for a term asks for all that is said of its representative.
        near = [self._representatives(spark, ids) for ids in (s, p, o)]
        asserted = self._asserted(spark, *near)
        derived = self.frame(spark, "derived", s=near[0], p=near[1], o=near[2])
        triples = sameness.about_representatives(asserted, derived, equal)
        if same_as == "expand":
            triples = sameness.expand(triples, equal)
        else:
            triples = sameness.without_blank_predicates(triples, equal)
            triples = triples.unionByName(sameness.links(equal, SAME_AS)).distinct()
        for column, ids in (("s", s), ("p", p), ("o", o)):
            if ids is not None:
                triples = triples.where(triples[column].isin(*delta.as_ids(ids)))
        return triples

    def _representatives(self, spark: SparkSession, ids: Ids) -> Ids:
        """Return ids and their representatives."""
        if ids is None:
            return None
        given = delta.as_ids(ids)
        equal = self.frame(spark, "equal", s=given)
        with described(spark, "look up equal terms"):
            found = collect_first(equal.select("o"), len(given))
        return frozenset((*given, *(row["o"] for row in found)))

    def terms(self, spark: SparkSession) -> DataFrame:
        """Return the dictionary `id term`; each id stands in one row."""
        snapshot = self.terms_snapshot
        return self._read(spark, snapshot, snapshot.files, layout.TERMS_COLUMNS)

    def rejects(self, spark: SparkSession) -> DataFrame:
        """Return the input that was skipped: `file line column reason text`."""
        files = self._beside(layout.REJECTS)
        return read_files(spark, files, layout.ddl(layout.REJECTS_COLUMNS))

    def violations(self, spark: SparkSession) -> DataFrame:
        """Return what rules that conclude `false` found: `rule names terms triples`, in ids."""
        files = self._beside(layout.VIOLATIONS)
        return read_files(spark, files, layout.ddl(layout.VIOLATIONS_COLUMNS))

    def _beside(self, directory: str) -> list[Path]:
        """Return the files in a directory beside the tables that belong to the snapshot."""
        wanted = {n: size for n, size in self.info.beside.items() if Path(n).parts[0] == directory}
        for name, size in wanted.items():
            self.require(self.path / name, size)
        return [self.path / name for name in wanted]

    def decode(
        self,
        spark: SparkSession,
        frame: DataFrame,
        columns: Collection[str],
        *,
        size: Literal["small", "large"] = "large",
    ) -> DataFrame:
        """Replace ids by their terms in these columns; null stays null.

        `small` is for answers and samples: the frame is evaluated once, now, and kept; its
        distinct ids are broadcast against one scan of the terms, and the terms found are broadcast
        back. `large` is for exports: one shuffle of the frame and of the terms for each of `s` and
        `o`, joined by hash in partitions sized from the dictionary. Predicates and graphs are few,
        so their columns are joined by broadcast there too; the frame is then evaluated twice and
        must give the same rows both times, which a `limit` without an order does not.

        An id without a term fails the job that evaluates the result.
        """
        terms = self.terms(spark)
        if size == "small":
            with described(spark, "evaluate what is to be decoded"):
                frame = frame.localCheckpoint()
        few = [c for c in columns if size == "small" or c in ("p", "g")]
        if few:
            frame = decode_few(frame, terms, few)
        many = [c for c in columns if c not in few]
        return decode_many(frame, terms, many, self.info.terms) if many else frame

    def require(self, path: Path, expected: int) -> None:
        """Check that a file of the snapshot is there; say so if the snapshot was vacuumed."""
        try:
            check_file(path, expected)
        except CorruptStoreError as error:
            if self.version < read_horizon(self.path):
                latest = commits.latest_version(self.path / layout.FACTS)
                raise no_such_version(self.path, self.version, latest) from error
            raise

    def _read(
        self,
        spark: SparkSession,
        snapshot: Snapshot,
        files: Collection[DataFile],
        columns: layout.Columns,
    ) -> DataFrame:
        for file in files:
            self.require(snapshot.table / file.path, file.size)
        paths = [snapshot.table / file.path for file in files]
        return read_files(spark, paths, layout.ddl(columns))


def _sinces(files: Iterable[DataFile]) -> list[int]:
    return sorted({file.since for file in files})


def _base_rows(layers: Mapping[int, Sequence[DataFile]]) -> int:
    return sum(file.rows for file in next(iter(layers.values()), ()))


def check_file(path: Path, expected: int) -> None:
    """Check that a file of a snapshot is there and as long as the log says."""
    hint = "run `satura verify`; restore the file from a copy, or build the store again"
    try:
        size = path.stat().st_size
    except OSError as error:
        raise CorruptStoreError(
            "STORE-CORRUPT", f"`{path}` is missing, the log names it", hint
        ) from error
    if size != expected:
        raise CorruptStoreError(
            "STORE-CORRUPT", f"`{path}` has {size} bytes, the log says {expected}", hint
        )


def _nearby(root: Path) -> str:
    if not root.exists():
        return "check the path; `satura materialize` makes a store"
    if root.parent.name and layout.is_store(root.parent):
        return f"did you mean `{root.parent}`?"
    inside = [child for child in (root.iterdir() if root.is_dir() else ()) if child.is_dir()]
    near = next((child for child in sorted(inside) if layout.is_store(child)), None)
    if near is not None:
        return f"did you mean `{near}`?"
    return "the directory has no committed snapshot; `satura materialize` makes a store"
