"""Closing a set of asserted triples on Spark, whole: schema, joins, then the one pass.

Materializing and verifying share this, so what is checked is what was computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.backend import MEMORY_FACTS, SparkBackend
from satura.closure.derive import Roots, derive
from satura.closure.dictionary import Dictionary
from satura.closure.equality import Equality
from satura.closure.literals import said_of_others
from satura.closure.program import (
    ASSERTED_ORIGIN,
    PLACES,
    TERM_ORIGIN,
    Fact,
    Program,
)
from satura.closure.representatives import rewrite
from satura.closure.saturate import Closed, Progress, saturate
from satura.closure.schema import fill
from satura.closure.scratch import Scratch
from satura.closure.specialize import Form
from satura.closure.tally import Tally
from satura.errors import LimitError
from satura.jobs import collect_first

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


MAX_BLANK: Final = 100_000


@dataclass(frozen=True, slots=True)
class Saturated:
    """A closed schema, the joins done, and everything ready for the pass."""

    spark: SparkSession
    backend: SparkBackend
    closed: Closed
    equality: Equality
    blank: frozenset[int]
    rounds: int
    passes: int
    tally: Tally
    about_terms: frozenset[Fact]
    """What rules about terms conclude."""

    def schema_table(self) -> pa.Table:
        """Return the triples of the closed schema, with where each is from."""
        return schema_table(self.closed, self.about_terms, self.blank)

    def roots(self) -> list[Fact]:
        """Return the facts of `SparkBackend.also_given`, without those of blank predicates."""
        facts = self.backend.also_given(self.closed, self.equality)
        return [fact for fact in facts if fact[1] not in self.blank]

    def derive(self) -> DataFrame:
        """Return (s, p, o, support, joined, asserted) of all that is derived; see `derive`."""
        asserted, roots = self._given()
        table = self.closed.consequences.derives
        return derive(self.spark, asserted, roots, table, self.tally, hidden=self.blank)

    def fired_and_derivations(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return how many instances of each joined rule have fired, and what all rules derived.

        The latter is how often each rule, joined or not, has concluded a triple, asserted too or
        not. Linear rules are counted when what `derive` returns is written. Rules between schema
        and schema are not counted: the driver closes them at once.
        """
        conclusions = self.backend.conclusions()
        counts = Counter(self.tally.counts())
        counts.update(conclusions)
        return self.closed.program.instances(conclusions), dict(counts.most_common())

    def _given(self) -> tuple[DataFrame, Roots]:
        """Return the asserted triples about representatives, and the other roots of the pass."""
        asserted = self.backend.asserted.select("s", "p", "o")
        replaced = None
        if self.equality:
            old = asserted.select(F.struct("s", "p", "o").alias("old"), "s", "p", "o")
            here = rewrite(self.spark, old, self.equality)
            changed = F.struct("s", "p", "o") != F.col("old")
            replaced = here.where(changed).select("s", "p", "o").distinct()
            asserted = here.where(~changed).select("s", "p", "o")
            replaced = replaced.join(asserted, ["s", "p", "o"], "left_anti")
        joined = self.backend.joined(self.equality)
        heads = list(_head_forms(self.closed, preliminary=bool(self.backend.preliminary)))
        return asserted, Roots(self.roots(), joined, heads, replaced)


def _head_forms(closed: Closed, *, preliminary: bool) -> Iterable[Form]:
    """Yield the forms that conclusions of joins have."""
    if closed.program.plain or preliminary:
        yield "s", "p", "o"
    for shape in closed.shapes:
        for row in shape.rows:
            binding = dict(zip(shape.parameters, row[1:], strict=True))
            yield from (fill(head, binding) for head in shape.head)


def close(
    spark: SparkSession,
    program: Program,
    asserted: DataFrame,
    terms: DataFrame,
    scratch: Path,
    *,
    progress: Progress | None = None,
    memory_facts: int | None = None,
) -> Saturated:
    """Close distinct triples (s, p, o) under a program, up to the last pass over the data.

    Up to `memory_facts` facts that joins need are joined on the driver.
    """
    in_memory = MEMORY_FACTS if memory_facts is None else memory_facts
    dictionary = Dictionary(spark, terms, program.names)
    progress = progress or Progress()
    extra = frozenset(dictionary.equal_literals(program))
    backend = SparkBackend(
        spark, asserted, dictionary, Scratch(spark, scratch), progress, extra, in_memory
    )
    about_terms = frozenset(dictionary.term_facts(program))
    done = saturate(program, backend, about_terms, dictionary.texts)
    backend.extra |= said_of_others(done.closed, done.equality, dictionary.texts)
    blank = _blank_predicates(done.closed, done.equality, backend, program.names)
    return Saturated(
        spark,
        backend,
        done.closed,
        done.equality,
        blank,
        progress.rounds,
        done.passes,
        Tally(done.closed.consequences.rules),
        about_terms,
    )


def schema_table(closed: Closed, about_terms: Collection[Fact], blank: Collection[int]) -> pa.Table:
    """Return the triples of a closed schema that are RDF, with where each is from.

    `blank` are predicates that are blank nodes. The columns are those of `layout.KIND_COLUMNS`.
    """
    rows = [
        (*fact, ASSERTED_ORIGIN * (fact not in closed.roots) + TERM_ORIGIN * (fact in about_terms))
        for fact in closed.schema
        if fact[0] >= 0 and fact[1] >= 0 and fact[1] not in blank
    ]
    columns = list(zip(*rows, strict=True)) or [()] * 4
    types = (pa.int64(), pa.int64(), pa.int64(), pa.int32())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.table(arrays, names=[*PLACES, "origin"])


def _blank_predicates(
    closed: Closed, equality: Equality, backend: SparkBackend, names: Mapping[int, str]
) -> frozenset[int]:
    """Return the predicates of conclusions that are blank nodes: such triples are not RDF.

    A blank node that is equal to an IRI stays: the triple is one about the IRI.
    """
    heads = list(_head_forms(closed, preliminary=bool(backend.preliminary)))
    forms: list[Form] = [*closed.consequences.derives.all_forms(), *closed.roots, *heads]
    unknown = {p for _, p, _ in forms if isinstance(p, int) and p not in names and p >= 0}
    unknown = {p for p in unknown if p not in equality.members}
    found: set[int] = set()
    blank = backend.dictionary.terms.where("id >= 0 and term not like '<%'").select("id")
    if unknown:
        named = blank.where(F.col("id").isin(sorted(unknown)))
        found |= {row["id"] for row in collect_first(named, len(unknown))}
    concluded = backend.concluded_facts(equality)
    if concluded is not None and any(isinstance(p, str) for _, p, _ in heads):
        used = blank.join(concluded.select(F.col("p").alias("id")), "id", "left_semi")
        rows = collect_first(used, MAX_BLANK + 1)
        if len(rows) > MAX_BLANK:
            raise LimitError(
                "LIMIT-TERMS", f"rules conclude triples of more than {MAX_BLANK} blank predicates",
                "a predicate that is a blank node is not RDF; look at what the head has there",
            )  # fmt: skip
        found |= {row["id"] for row in rows if row["id"] not in equality.members}
    return frozenset(found)
