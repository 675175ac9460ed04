"""A store opened for reading: one snapshot of facts, and the terms that belong to it.

Opening reads the log of `facts` first, then `terms` at the version that the facts' commit names;
terms may have run ahead, in a transaction that is running or that crashed. What is opened never
changes: a later commit is seen by opening again.

Invariant: a frame reads exactly the files of the snapshot, never what merely lies in a directory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from satura import __version__
from satura.errors import CorruptStoreError, FormatVersionError, StoreError
from satura.jobs import collect_first, described
from satura.parquet import read_files
from satura.store import delta, layout, sameness
from satura.store.delta import DataFile, Ids, Snapshot
from satura.store.layout import Kind
from satura.store.sameness import SameAs
from satura.terms.ids import term_id
from satura.vocab import OWL_SAME_AS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SAME_AS: Final = term_id(OWL_SAME_AS)

# One partition of a hash join holds about this many terms, some 150 MB on the heap.
TERMS_PER_PARTITION: Final = 500_000


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows a snapshot has, and what the input lost on the way."""

    asserted: int  # distinct (s, p, o, g)
    derived: int  # triples with a derivation, asserted too or not
    inferred: int  # derived and not asserted
    closure: int  # distinct (s, p, o), asserted or inferred
    schema: int  # triples of the closed schema
    equal: int = 0  # terms that are the same as others
    violations: int = 0  # solutions of rules that conclude `false`
    rejected: int = 0  # statements skipped as malformed
    duplicates: int = 0  # statements that were there already


@dataclass(frozen=True, slots=True)
class CommitMetadata:
    """What the caller knows of a snapshot; the transaction adds the rest."""

    rule_set: str
    rules: str  # the text of the rule set
    counts: Counts
    extra: Mapping[str, Any] = field(default_factory=dict)  # JSON, kept as given

    @property
    def rules_sha256(self) -> str:
        return hashlib.sha256(self.rules.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """What a snapshot says of itself."""

    path: str
    version: int  # of the facts table
    txn: str
    created: str  # ISO 8601, UTC
    format_version: int
    satura_version: str
    rule_set: str
    rules_sha256: str
    rules: str
    terms_version: int
    terms: int  # distinct terms
    counts: Counts
    beside: Mapping[str, int]  # files of skipped input and of violations, and their sizes
    bytes: int  # of the snapshot's data files; older ones on disk are not counted
    files: int
    extra: Mapping[str, Any]


class Store:
    """A snapshot of a store. Make it with `Store.open`."""

    def __init__(self, path: Path, info: StoreInfo, facts: Snapshot, terms: Snapshot) -> None:
        self.path = path
        self.info = info
        self.facts_snapshot = facts
        self.terms_snapshot = terms

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """Open the current snapshot; only logs are read, no data file is touched."""
        root = layout.store_path(path)
        try:
            found = layout.is_store(root)
        except OSError as error:
            raise delta.unreadable(root / layout.FACTS, error) from error
        if not found:
            raise StoreError("STORE-MISSING", f"there is no store at `{root}`", _nearby(root))
        facts = delta.read_snapshot(root / layout.FACTS)
        recorded = _recorded(root, facts.version)
        terms = delta.read_snapshot(root / layout.TERMS, int(recorded["terms_version"]))
        return cls(root, _info(root, recorded, facts, terms), facts, terms)

    @property
    def version(self) -> int:
        """The version of the facts table, which is that of the store."""
        return self.info.version

    def frame(
        self, spark: SparkSession, kind: Kind, *, s: Ids = None, p: Ids = None, o: Ids = None
    ) -> DataFrame:
        """Return the rows of a kind, only those with the given subjects, predicates or objects.

        Files whose bounds exclude every match are not read. Columns: `s p o g` of asserted,
        `s p o support joins asserted` of derived, `s p o` of schema, `s o iri` of equal. No job
        is run.
        """
        files = delta.prune(self.facts_snapshot.files, kind=kind, s=s, p=p, o=o)
        frame = self._read(spark, self.facts_snapshot, files, layout.KIND_COLUMNS[kind])
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
            check_file(self.path / name, size)
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
            frame = _decode_few(frame, terms, few)
        many = [c for c in columns if c not in few]
        if many:
            partitions = -(-self.info.terms // TERMS_PER_PARTITION)
            default = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
            spread = terms.repartition(max(partitions, default), "id").hint("shuffle_hash")
            frame = reduce(lambda f, c: _decode_column(f, spread, c), many, frame)
        return frame

    def _read(
        self,
        spark: SparkSession,
        snapshot: Snapshot,
        files: Collection[DataFile],
        columns: layout.Columns,
    ) -> DataFrame:
        for file in files:
            check_file(snapshot.table / file.path, file.size)
        paths = [snapshot.table / file.path for file in files]
        return read_files(spark, paths, layout.ddl(columns))


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


def record(metadata: CommitMetadata) -> dict[str, Any]:
    """Return what is recorded with a commit, but for what the transaction itself knows."""
    return {
        "format_version": layout.FORMAT_VERSION,
        "satura_version": __version__,
        "rule_set": metadata.rule_set,
        "rules_sha256": metadata.rules_sha256,
        "rules": metadata.rules,
        "counts": asdict(metadata.counts),
        "extra": dict(metadata.extra),
    }


def _recorded(root: Path, version: int) -> dict[str, Any]:
    """Find what Satura recorded last; other Delta tools may have compacted the table since."""
    facts = root / layout.FACTS
    for earlier in range(version, -1, -1):
        found = delta.read_metadata(facts, earlier)
        if found is not None:
            break
        if not layout.log_file(facts, earlier).exists():
            break
    if found is None:
        raise CorruptStoreError(
            "STORE-UNREADABLE",
            f"`{facts}` is a Delta table, but no commit of Satura is in its log",
            "give the directory of a store that Satura wrote",
        )
    given = found.get("format_version")
    if given != layout.FORMAT_VERSION:
        raise FormatVersionError(
            "STORE-FORMAT",
            f"the store at `{root}` has format version {given}, this release reads "
            f"{layout.FORMAT_VERSION}",
            f"it was written by Satura {found.get('satura_version')}: use that release, "
            "or build the store again",
        )
    return found


def _info(root: Path, recorded: Mapping[str, Any], facts: Snapshot, terms: Snapshot) -> StoreInfo:
    try:
        return StoreInfo(
            path=str(root),
            version=facts.version,
            txn=recorded["txn"],
            created=recorded["created"],
            format_version=recorded["format_version"],
            satura_version=recorded["satura_version"],
            rule_set=recorded["rule_set"],
            rules_sha256=recorded["rules_sha256"],
            rules=recorded["rules"],
            terms_version=terms.version,
            terms=terms.rows,
            counts=Counts(**recorded["counts"]),
            beside=recorded["beside"],
            bytes=facts.size + terms.size,
            files=len(facts.files) + len(terms.files),
            extra=recorded["extra"],
        )
    except (KeyError, TypeError) as error:
        raise CorruptStoreError(
            "STORE-UNREADABLE",
            f"the commit metadata of `{root}` lacks or misspells {error}",
            "restore the log from a copy, or build the store again",
        ) from error


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


def _decode_few(frame: DataFrame, terms: DataFrame, columns: Collection[str]) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    ids = frame.select(F.explode(F.array(*columns)).alias("id")).where("id is not null").distinct()
    found = F.broadcast(terms.join(F.broadcast(ids), "id", "left_semi"))
    return reduce(lambda f, c: _decode_column(f, found, c), columns, frame)


def _decode_column(frame: DataFrame, terms: DataFrame, column: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    key, text = f"__id_{column}", f"__term_{column}"
    dictionary = terms.select(F.col("id").alias(key), F.col("term").alias(text))
    joined = frame.join(dictionary, F.col(column) == F.col(key), "left")
    return joined.select(*(_decoded(c, text) if c == column else F.col(c) for c in frame.columns))


def _decoded(column: str, text: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    lost = F.concat(F.lit("no term for id "), F.col(column), F.lit("; run `satura verify`"))
    return F.coalesce(
        F.col(text), F.when(F.col(column).isNotNull(), F.raise_error(lost).cast("string"))
    ).alias(column)
