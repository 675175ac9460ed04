"""From RDF inputs to a committed store: read, encode, close, commit.

The text is parsed twice and nothing is cached: once for the dictionary of terms, once for the
triples. Parsing is cheap in the JVM; keeping 10 M parsed lines is not. Strictness is paid per
distinct term instead of per line: a line is cut at its spaces on trust, and if the dictionary then
holds anything that is not certainly a valid term, all is read again line by line.

Invariant: the store is untouched until the one commit at the end.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from satura.closing import check_into, close_into, count_closure
from satura.closure.compiling import compile_rules
from satura.closure.program import Program
from satura.closure.saturate import Limits, Progress
from satura.clustering import hashed_clustering, plan_clustering, shuffle_keys
from satura.coverage import not_acted_on
from satura.errors import DataError
from satura.failures import translated
from satura.io.inputs import Input, find_inputs, text_size
from satura.io.lines import check_files, check_terms
from satura.io.reading import Reading, open_reading
from satura.io.sample import sample_predicates
from satura.jobs import shuffled_rows
from satura.parquet import count_nulls, count_rows, data_files
from satura.progress import Stage, Stages, Watcher
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules
from satura.rules.writer import write_rules
from satura.stopping import deadline
from satura.store import CommitMetadata, Counts, Store, Transaction, begin, check_collisions
from satura.store.collisions import MAX_SORTED, has_repeated_ids
from satura.terms.ids import id_column, term_id

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

OnError = Literal["fail", "skip"]

BYTES_PER_FILE: Final = 128 << 20
"""Input text that makes one file of triples."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did.

    `fired` has the instances of joined rules, `derivations` how often each rule concluded a triple,
    `not_acted_on` how often the input uses what of RDFS and OWL no rule mentions.
    """

    store: str
    version: int
    rules: str
    inputs: int
    counts: Counts
    terms: int
    bytes: int
    seconds: float
    rounds: int
    fired: Mapping[str, int]
    derivations: Mapping[str, int]
    not_acted_on: Mapping[str, int]
    stages: tuple[Stage, ...]


def materialize_store(
    spark: SparkSession,
    paths: Sequence[str | Path],
    *,
    store: str | Path,
    rules: str | Path | RuleSet = "rdfs",
    format: str | None = None,
    on_error: OnError = "fail",
    overwrite: bool = False,
    limits: Limits | None = None,
    fail_on_violation: bool = False,
    watcher: Watcher | None = None,
) -> tuple[Store, Summary]:
    """Read inputs, close them under rules, and commit the result as one snapshot of a store."""
    progress = Progress(limits or Limits())
    rule_set = rules if isinstance(rules, RuleSet) else load_rules(str(rules))
    program = compile_rules(rule_set)
    stages = Stages(spark, watcher)
    with tempfile.TemporaryDirectory(prefix="satura-") as spool:
        with stages.stage("find inputs"):
            inputs = find_inputs([str(path) for path in paths], format=format, spool=Path(spool))
        with begin(store, overwrite=overwrite) as txn:
            with deadline(spark, progress.limits.timeout), translated():
                reading = _read(spark, txn, inputs, program, on_error, stages)
                duplicates = _write_asserted(spark, txn, reading, stages)
                asserted = txn.read_facts(spark, "asserted")
                if _names_graphs(txn.facts_dir("asserted")):
                    asserted = asserted.select("s", "p", "o").distinct()
                terms = txn.read_terms(spark)
                saturated = close_into(txn, program, asserted, terms, progress, stages)
                rows = count_rows(txn.facts_dir("asserted"))
                progress.facts(rows + count_rows(txn.facts_dir("derived")))
                violations = check_into(txn, saturated, stages, fail=fail_on_violation)
                counts = _count(spark, txn, reading, duplicates, violations, stages)
                with stages.stage("count derivations"):
                    fired, derivations = saturated.fired_and_derivations()
                with stages.stage("look for what no rule acts on"):
                    ignored = not_acted_on(txn.read_facts(spark, "asserted"), rule_set)
            with stages.stage("commit"):
                text, extra = write_rules(rule_set), {"not_acted_on": ignored}
                committed = txn.commit(CommitMetadata(rule_set.name, text, counts, extra))
    info = committed.info
    return committed, Summary(
        store=info.path, version=info.version, rules=rule_set.name, inputs=len(inputs),
        counts=counts, terms=info.terms, bytes=info.bytes,
        seconds=time.monotonic() - progress.started,
        rounds=saturated.rounds, fired=fired, derivations=derivations, not_acted_on=ignored,
        stages=tuple(stages.done),
    )  # fmt: skip


def _read(
    spark: SparkSession,
    txn: Transaction,
    inputs: Sequence[Input],
    program: Program,
    on_error: OnError,
    stages: Stages,
) -> Reading:
    """Parse everything, write the dictionary of terms and check every one of them."""
    with stages.stage("read documents"):
        reading = open_reading(spark, inputs, staging=str(txn.staging), on_error=on_error)
    with stages.stage("read terms") as stage:
        _write_terms(spark, txn, reading, program)
        stage.rows = count_rows(txn.terms_dir)
    with stages.stage("check terms"):
        suspects = _suspects(spark, txn) if reading.has_lines else []
    if suspects:
        log.info("doubtful term %s: every line is now checked by itself", suspects[0])
        reading = reading.restart_strict()
    # A line that the fast path did not vouch for left a NULL among the terms.
    if suspects or count_nulls(txn.terms_dir, "term"):
        with stages.stage("read other lines"):
            reading.parse_rest()
            reading.raise_faults()
        with stages.stage("read terms again") as stage:
            rmtree(txn.terms_dir)
            _write_terms(spark, txn, reading, program)
            stage.rows = count_rows(txn.terms_dir)
    else:
        reading.raise_faults()
    with stages.stage("check ids"):
        # Terms are distinct, so only a collision repeats an id; sorting ids here is the quick way.
        files = data_files(txn.terms_dir)
        if count_rows(txn.terms_dir) > MAX_SORTED or has_repeated_ids(files):
            check_collisions(spark, txn.read_terms(spark))
    return reading


def _suspects(spark: SparkSession, txn: Transaction) -> list[str]:
    """Return terms that are not certainly valid; the quick way first."""
    found = check_files(data_files(txn.terms_dir))
    return check_terms(spark, txn.read_terms(spark)) if found is None else found


def _write_terms(spark: SparkSession, txn: Transaction, reading: Reading, program: Program) -> None:
    """Write each distinct term once, with its id."""
    constants = spark.createDataFrame(pa.table({"term": sorted(program.names.values())}))
    # A missing graph must not look like a missing predicate, which is NULL in lines not read yet.
    columns = "stack(4, s, p, o, coalesce(g, p))" if reading.has_graphs else "stack(3, s, p, o)"
    terms = reading.triples().select(F.expr(columns).alias("term")).unionByName(constants)
    txn.write_terms(terms.distinct().select(id_column(F.col("term")).alias("id"), "term"))


def _write_asserted(spark: SparkSession, txn: Transaction, reading: Reading, stages: Stages) -> int:
    """Write each distinct triple once, clustered by predicate; return the duplicates dropped."""
    size = text_size(reading.inputs)
    files = max(spark.sparkContext.defaultParallelism, -(-size // BYTES_PER_FILE))
    weights = {term_id(p): n for p, n in sample_predicates(reading.inputs).items()}
    clustering = plan_clustering(weights, files) if weights else hashed_clustering(files)
    keys = F.array(*(F.lit(key) for key in shuffle_keys(clustering.files)))
    columns = ["s", "p", "o", "g"] if reading.has_graphs else ["s", "p", "o"]
    ids = reading.triples().select(
        *(id_column(F.col(name)).alias(name) for name in columns[:3]),
        *(
            F.when(F.col(name).isNotNull(), id_column(F.col(name))).alias(name)
            for name in columns[3:]
        ),
    )
    keyed = ids.withColumn("file", keys[clustering.column()])
    distinct = keyed.repartition(clustering.files, "file").dropDuplicates()
    if not reading.has_graphs:
        distinct = distinct.withColumn("g", F.lit(None))
    with stages.stage("write asserted triples") as stage:
        txn.write_facts("asserted", distinct.select("s", "p", "o", "g"))
        stage.rows = count_rows(txn.facts_dir("asserted"))
    if not stage.rows:
        raise DataError(
            "RDF-EMPTY", "the input holds no triples", "check the paths and formats of the input"
        )
    read = shuffled_rows(spark, "write asserted triples: write asserted facts")
    # Spark's own count costs nothing; should its books not be there, the lines are counted.
    return (reading.triples().count() if read is None else read) - stage.rows


def _count(
    spark: SparkSession,
    txn: Transaction,
    reading: Reading,
    duplicates: int,
    violations: int,
    stages: Stages,
) -> Counts:
    with stages.stage("count"):
        asserted, derived = txn.facts_dir("asserted"), txn.facts_dir("derived")
        equal = count_rows(txn.facts_dir("equal"))
        triples = count_rows(asserted)
        given = txn.read_facts(spark, "asserted").select("s", "p", "o")
        if _names_graphs(asserted):
            given = given.distinct()
            triples = given.count()
        closure = count_closure(txn, given, triples)
        rejected = 0
        if reading.on_error == "skip" and reading.faults.total:
            rejected = reading.faults.total
            txn.write_rejects(reading.rejects())
        return Counts(
            asserted=count_rows(asserted),
            derived=count_rows(derived),
            inferred=closure - triples,
            closure=closure,
            schema=count_rows(txn.facts_dir("schema")),
            equal=equal,
            violations=violations,
            rejected=rejected,
            duplicates=duplicates,
        )


def _names_graphs(asserted: Path) -> bool:
    """Say whether any asserted row is in a named graph, so that a triple may stand in several."""
    return count_nulls(asserted, "g") != count_rows(asserted)
