"""Putting equal terms back: a store holds triples about representatives, readers want all.

Where no term is the same as another, nothing here is called. `equal` rows are (s, o, iri): a term,
its representative, whether the term is an IRI; representatives have a row too.

Invariant: the triples about representatives are distinct, so their expansions are disjoint, and no
duplicates have to be removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from pyspark.sql import functions as F  # noqa: N812

from satura.closure.program import PLACES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SameAs: TypeAlias = Literal["expand", "representatives"]


def about_representatives(asserted: DataFrame, derived: DataFrame, equal: DataFrame) -> DataFrame:
    """Return the closure said of representatives only, from distinct asserted triples."""
    others = equal.where("s <> o").select(F.col("s").alias("_other"))
    given = asserted.select(*PLACES)
    for place in PLACES:
        given = given.join(others, F.col(place) == F.col("_other"), "left_anti")
    return given.unionByName(derived.where("not asserted").select(*PLACES))


def expand(triples: DataFrame, equal: DataFrame) -> DataFrame:
    """Return triples with every member of a class in the place of its representative.

    What would not be RDF is left out: a literal as subject, a predicate that is not an IRI.
    """
    for place in PLACES:
        members = equal.select(
            F.col("o").alias("_representative"), F.col("s").alias("_member"), F.col("iri")
        )
        if place == "p":
            members = members.withColumn("_valid", F.col("iri"))
        elif place == "s":
            members = members.withColumn("_valid", F.col("_member") >= 0)
        else:
            members = members.withColumn("_valid", F.lit(True))
        joined = triples.join(members, F.col(place) == F.col("_representative"), "left")
        kept = joined.where(F.coalesce("_valid", F.lit(True)))
        triples = kept.withColumn(place, F.coalesce("_member", place)).select(*PLACES)
    return triples


def links(equal: DataFrame, same_as: int) -> DataFrame:
    """Return the triples that say who stands for whom: `member owl:sameAs representative`."""
    pairs = equal.where("s <> o and s >= 0")
    return pairs.select("s", F.lit(same_as).alias("p"), "o")


def without_blank_predicates(triples: DataFrame, equal: DataFrame) -> DataFrame:
    """Leave out triples whose predicate is the representative of its class but no IRI."""
    blank = equal.where("s = o and not iri").select(F.col("s").alias("_blank"))
    return triples.join(blank, F.col("p") == F.col("_blank"), "left_anti")
