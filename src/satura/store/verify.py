"""Check a store against itself: files against the log, ids against terms, rows against counts.

Each check has a name of its own and says what it found, with an example. The checks of files run
on the driver and come first; if one fails, the others are not run, for they would only repeat it.
Whether the closure *is* the closure is for the caller to supply as `entailment`: the store knows
no rules.

Invariant: verifying writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from satura.errors import CorruptStoreError
from satura.jobs import described
from satura.store import commits, delta, layout
from satura.store.collisions import find_collision
from satura.store.delta import DataFile
from satura.store.layout import KIND_COLUMNS, KINDS, TERMS_COLUMNS
from satura.store.store import Store, check_file
from satura.terms.ids import id_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    """What all checks found; `skipped` names those not run because an earlier one failed."""

    checks: tuple[Check, ...]
    skipped: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.skipped and all(check.ok for check in self.checks)


Entailment: TypeAlias = "Callable[[SparkSession, Store], Check]"


def verify(spark: SparkSession, store: Store, *, entailment: Entailment | None = None) -> Report:
    """Run every check on a snapshot.

    Reads all of it about six times; the largest shuffles are those of the asserted and derived
    rows by triple and of all distinct ids.
    """
    files = tuple(_run(name, partial(check, store)) for name, check in _FILE_CHECKS)
    if not all(check.ok for check in files):
        rest = [name for name, _ in _DATA_CHECKS] + ["entailment"] * (entailment is not None)
        return Report(files, tuple(rest))
    checks = [*files]
    for name, check in _DATA_CHECKS:
        with described(spark, f"verify {name}"):
            checks.append(_run(name, partial(check, spark, store)))
    if entailment is not None:
        with described(spark, "verify entailment"):
            checks.append(_run("entailment", partial(_check_entailment, spark, store, entailment)))
    return Report(tuple(checks))


# A check returns what it examined and the fault it found, if any.
_Finding: TypeAlias = tuple[str, str | None]


def _run(name: str, check: Callable[[], _Finding]) -> Check:
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        examined, fault = check()
    except CorruptStoreError as error:
        return Check(name, False, error.message)
    except (PySparkException, Py4JError) as error:
        return Check(name, False, f"cannot be read: {commits.first_line(error)}")
    return Check(name, fault is None, examined if fault is None else fault)


def _files_of(store: Store) -> Iterable[tuple[Path, DataFile, layout.Columns]]:
    for file in store.facts_snapshot.files:
        columns = next((KIND_COLUMNS[kind] for kind in KINDS if kind == file.kind), None)
        if columns is None:
            raise CorruptStoreError("STORE-CORRUPT", f"`{file.path}` has kind `{file.kind}`")
        yield store.facts_snapshot.table, file, columns
    for file in store.terms_snapshot.files:
        yield store.terms_snapshot.table, file, TERMS_COLUMNS


def _check_files(store: Store) -> _Finding:
    count = 0
    for table, file, _ in _files_of(store):
        check_file(table / file.path, file.size)
        count += 1
    for name, size in store.info.beside.items():
        check_file(store.path / name, size)
        count += 1
    return f"{count} files, {store.info.bytes} bytes", None


def _check_footers(store: Store) -> _Finding:
    rows = 0
    for table, file, columns in _files_of(store):
        footer = delta.read_footer(table / file.path, columns)
        if footer.num_rows != file.rows:
            return "", f"`{file.path}` has {footer.num_rows} rows, the log says {file.rows}"
        stats = delta.statistics(footer)
        bounds = {c: (low, stats["maxValues"][c]) for c, low in stats["minValues"].items()}
        if any(bounds.get(column) != bound for column, bound in file.bounds.items()):
            return "", f"`{file.path}` has bounds {bounds}, the log says {dict(file.bounds)}"
        rows += file.rows
    return f"{rows} rows", None


def _check_readable(spark: SparkSession, store: Store) -> _Finding:
    """Decode every value of every column, and so every page of every file."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    frames = [*(store.frame(spark, kind) for kind in KINDS), store.terms(spark)]
    for frame in frames:
        frame.agg(F.bit_xor(F.xxhash64(*frame.columns))).first()
    return "every page was read", None


def _check_positions(spark: SparkSession, store: Store) -> _Finding:
    """A subject, predicate or graph is no literal; nothing but a graph is null."""
    for kind in KINDS:
        frame = store.frame(spark, kind)
        faults = [f"{place} is null" for place in ("s", "p", "o") if place in frame.columns]
        if kind != "equal":
            faults += ["s < 0", "p < 0"]
        if "g" in frame.columns:
            faults.append("g < 0")
        row = frame.where(" or ".join(faults)).first()
        if row is not None:
            return "", f"a {kind} row has a literal or null where none can stand: {row.asDict()}"
    return "no literal is a subject, predicate or graph", None


def _check_decodable(spark: SparkSession, store: Store) -> _Finding:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    used = []
    for kind in KINDS:
        frame = store.frame(spark, kind)
        places = [c for c in ("s", "p", "o", "g") if c in frame.columns]
        used.append(frame.select(F.explode(F.array(*places)).alias("id")))
    ids = reduce(lambda a, b: a.unionAll(b), used).where("id is not null").distinct()
    lost = ids.join(store.terms(spark), "id", "left_anti").first()
    return "every id has a term", None if lost is None else f"no term has the id {lost['id']}"


def _check_collisions(spark: SparkSession, store: Store) -> _Finding:
    found = find_collision(spark, store.terms(spark))
    if found is None:
        return "no two terms have one id", None
    return "", f"the id {found[0]} has the terms `{found[1]}` and `{found[2]}`"


def _check_terms_distinct(spark: SparkSession, store: Store) -> _Finding:
    twice = _repeated(store.terms(spark).select("id"))
    return f"{store.info.terms} terms", twice and f"terms has more than one row for {twice}"


def _check_term_ids(spark: SparkSession, store: Store) -> _Finding:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    wrong = store.terms(spark).where(~id_column(F.col("term")).eqNullSafe(F.col("id"))).first()
    if wrong is None:
        return "every id is the hash of its term", None
    return "", f"the term `{wrong['term']}` stands under {wrong['id']}, which is not its hash"


def _check_asserted_distinct(spark: SparkSession, store: Store) -> _Finding:
    twice = _repeated(store.frame(spark, "asserted"))
    return "asserted rows are distinct", twice and f"asserted more than once: {twice}"


def _check_derived_distinct(spark: SparkSession, store: Store) -> _Finding:
    twice = _repeated(store.frame(spark, "derived").select("s", "p", "o"))
    return "derived rows are distinct", twice and f"derived has more than one row for {twice}"


def _check_schema_distinct(spark: SparkSession, store: Store) -> _Finding:
    twice = _repeated(store.frame(spark, "schema").select("s", "p", "o"))
    return "schema rows are distinct", twice and f"schema has more than one row for {twice}"


def _check_equal(spark: SparkSession, store: Store) -> _Finding:
    """Every term has one representative, which represents itself."""
    equal = store.frame(spark, "equal")
    twice = _repeated(equal.select("s"))
    if twice:
        return "", f"more than one representative of {twice}"
    itself = equal.where("s = o").select("o")
    wrong = equal.join(itself, "o", "left_anti").first()
    if wrong is not None:
        return "", f"{wrong['o']} represents {wrong['s']} and not itself"
    return f"{store.info.counts.equal} terms are the same as others", None


def _check_support(spark: SparkSession, store: Store) -> _Finding:
    derived = store.frame(spark, "derived")
    known = "support is not null and joined is not null and asserted is not null"
    row = derived.where(f"not ({known} and (support > 0 or joined))").first()
    return (
        "every derived row has support or is concluded by a join",
        None if row is None else f"without: {row.asDict()}",
    )


def _check_asserted_flag(spark: SparkSession, store: Store) -> _Finding:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    given = store.frame(spark, "asserted").select("s", "p", "o", F.lit(True).alias("given"))
    joined = store.frame(spark, "derived").join(given.distinct(), ["s", "p", "o"], "left")
    wrong = joined.where(F.coalesce("given", F.lit(False)) != F.col("asserted")).first()
    if wrong is None:
        return "derived rows say rightly whether they are asserted", None
    says = "asserted" if wrong["asserted"] else "not asserted"
    return "", f"marked as {says}, wrongly: {_triple(wrong.asDict())}"


def _check_counts(spark: SparkSession, store: Store) -> _Finding:
    counts = store.info.counts
    found = {
        "asserted": store.frame(spark, "asserted").count(),
        "derived": store.frame(spark, "derived").count(),
        "inferred": store.inferred(spark).count(),
        "closure": store.closure(spark).distinct().count(),
        "schema": store.frame(spark, "schema").count(),
        "equal": store.frame(spark, "equal").count(),
        "violations": store.violations(spark).count(),
    }
    wrong = [
        f"{name} {rows}, recorded {getattr(counts, name)}"
        for name, rows in found.items()
        if rows != getattr(counts, name)
    ]
    text = ", ".join(f"{rows} {name}" for name, rows in found.items())
    return text, "; ".join(wrong) or None


def _check_entailment(spark: SparkSession, store: Store, entailment: Entailment) -> _Finding:
    found = entailment(spark, store)
    return found.detail, None if found.ok else found.detail


def _repeated(frame: DataFrame) -> str | None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    columns = frame.columns
    row = frame.groupBy(*columns).agg(F.count(F.lit(1)).alias("rows")).where("rows > 1").first()
    return None if row is None else str({c: row[c] for c in columns})


def _triple(row: dict[str, object]) -> str:
    return str({column: row[column] for column in ("s", "p", "o")})


_FILE_CHECKS: Final[tuple[tuple[str, Callable[[Store], _Finding]], ...]] = (
    ("files", _check_files),
    ("footers", _check_footers),
)
_DATA_CHECKS: Final[tuple[tuple[str, Callable[[SparkSession, Store], _Finding]], ...]] = (
    ("readable", _check_readable),
    ("positions", _check_positions),
    ("decodable", _check_decodable),
    ("collisions", _check_collisions),
    ("terms-distinct", _check_terms_distinct),
    ("term-ids", _check_term_ids),
    ("asserted-distinct", _check_asserted_distinct),
    ("derived-distinct", _check_derived_distinct),
    ("schema-distinct", _check_schema_distinct),
    ("equal", _check_equal),
    ("support", _check_support),
    ("asserted-flag", _check_asserted_flag),
    ("counts", _check_counts),
)
