"""Violations as users read them: terms in the place of ids.

The store keeps ids, because most violations are never looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from satura.jobs import collect_first, described

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from satura.kb import KnowledgeBase
    from satura.store import Store
    from satura.terms.ntriples import Term, Triple


MAX_EQUAL: Final = 1_000
"""Most equal terms that are looked up for a list of violations."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One solution of a rule that concludes `false`."""

    rule: str
    witnesses: tuple[tuple[str, Term], ...]
    triples: tuple[Triple, ...]
    equal: tuple[tuple[Term, tuple[Term, ...]], ...] = ()
    """Terms above that stand for others as well, and the others."""


def decoded_violations(store: Store, frame: DataFrame) -> DataFrame:
    """Return violations with terms: `rule`, and `witnesses` as a map from variable to term.

    `frame` is what `Store.violations` returns.
    """
    spark = frame.sparkSession
    keyed = frame.select("rule", "names", "terms").distinct()
    flat = keyed.select("rule", "names", "terms", F.posexplode_outer("terms").alias("place", "id"))
    texts = store.decode(spark, flat.select("id").distinct().withColumn("s", F.col("id")), ["s"])
    texts = texts.select("id", F.col("s").alias("text"))
    named = flat.join(texts, "id", "left")
    pairs = F.struct(F.element_at("names", F.col("place") + 1).alias("key"), F.col("text"))
    grouped = named.groupBy("rule", "names", "terms").agg(
        F.collect_list(F.when(F.col("text").isNotNull(), pairs)).alias("pairs")
    )
    return grouped.select("rule", F.map_from_entries("pairs").alias("witnesses"))


def shown_violations(kb: KnowledgeBase, limit: int) -> list[Violation]:
    """Return violations with their triples, at most `limit`, in a fixed order."""
    spark, store = kb.spark, kb.store
    ordered = store.violations(spark).orderBy("rule", "terms")
    with described(spark, "list violations"):
        rows = collect_first(ordered, limit)
        ids = {x for row in rows for x in row["terms"] or ()}
        ids |= {x for row in rows for triple in row["triples"] or () for x in triple}
        others = _equal_to(store, kb, ids)
        ids |= {x for many in others.values() for x in many}
        frame = spark.createDataFrame([(x, x) for x in sorted(ids)], "id long, s long")
        decoded = store.decode(spark, frame, ["s"], size="small") if ids else frame
        texts = {row["id"]: row["s"] for row in collect_first(decoded, len(ids) or 1)}
    return [
        Violation(
            row["rule"],
            tuple((n, texts[x]) for n, x in zip(row["names"], row["terms"], strict=True)),
            tuple((texts[s], texts[p], texts[o]) for s, p, o in row["triples"] or ()),
            tuple(
                (texts[x], tuple(sorted(texts[other] for other in others[x])))
                for x in sorted(set(row["terms"]))
                if x in others
            ),
        )
        for row in rows
    ]


def _equal_to(store: Store, kb: KnowledgeBase, ids: set[int]) -> dict[int, list[int]]:
    """Return, for those ids that are representatives, the terms they stand for, a few of each."""
    if not store.info.counts.equal or not ids:
        return {}
    equal = store.frame(kb.spark, "equal", o=frozenset(ids)).where("s <> o")
    found: dict[int, list[int]] = {}
    for row in collect_first(equal.orderBy("o", "s"), MAX_EQUAL):
        found.setdefault(row["o"], []).append(row["s"])
    return found
