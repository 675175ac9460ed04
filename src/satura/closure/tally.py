"""How often each linear rule has concluded something, without looking at the conclusions.

A row of the consequence table concludes the same forms from every root that fits it. So it is
enough to join roots with how many forms a row has from each rule, which are few, and to sum that:
nothing is concluded again and nothing is shuffled. What would have a literal as subject is no
triple and is not counted.

Invariant: the sum over all rules is the sum of `support`, but for schema facts, which count once
in their own support and belong to no rule here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.consequences import Consequences, Forms
from satura.closure.derive import MAX_BROADCAST_ROWS, MAX_LISTED
from satura.closure.program import Slot
from satura.closure.specialize import Form, O, S
from satura.jobs import collect_first, described

MAX_RULES: Final = 100_000
SUBJECTS: Final[dict[Slot, str]] = {S: "s", O: "o"}
"""Which term of a root must not be a literal, by what is the subject of a form."""


def tally(
    spark: SparkSession, roots: Sequence[DataFrame], made: Consequences, blank: Collection[int]
) -> dict[str, int]:
    """Count the conclusions of the roots by rule; those with a `blank` predicate are no triples."""
    facts = reduce(DataFrame.unionByName, roots)
    table, rules = made.derives, made.rules
    names: dict[str, int] = {}
    parts = [
        _count(facts, _lay_out(rows, labels, names, blank), keys)
        for facts, rows, labels, keys in (
            (facts, {(): table.any}, {(): rules.any}, []),
            (facts, *_as_tuples(table.predicate, rules.predicate), ["p"]),
            (facts, table.object, rules.object, ["p", "o"]),
            (facts, table.subject, rules.subject, ["p", "s"]),
            (facts.where("s = o"), *_as_tuples(table.loop, rules.loop), ["p"]),
        )
    ]
    found = [part for part in parts if part is not None]
    if not found:
        return {}
    total = reduce(DataFrame.unionByName, found).groupBy("rule").agg(F.sum("forms").alias("n"))
    by_number = {number: name for name, number in names.items()}
    with described(spark, "count by rule"):
        rows = collect_first(total, MAX_RULES)
    return {by_number[row["rule"]]: row["n"] for row in rows}


def _as_tuples(
    rows: Mapping[int, Forms], labels: Mapping[int, tuple[str, ...]]
) -> tuple[dict[Any, Forms], dict[Any, tuple[str, ...]]]:
    return {(p,): x for p, x in rows.items()}, {(p,): x for p, x in labels.items()}


def _lay_out(
    rows: Mapping[Any, Forms],
    labels: Mapping[Any, tuple[str, ...]],
    names: dict[str, int],
    blank: Collection[int],
) -> Counter[tuple[Any, int, str]]:
    """Count the forms of each row by rule and by what must not be a literal."""
    counts: Counter[tuple[Any, int, str]] = Counter()
    for key, forms in rows.items():
        for form, rule in zip(forms, labels.get(key, ()), strict=True):
            if _is_triple(form, blank):
                number = names.setdefault(rule, len(names))
                counts[key, number, SUBJECTS.get(form[0], "")] += 1
    return counts


def _is_triple(form: Form, blank: Collection[int]) -> bool:
    return form[1] not in blank and not (isinstance(form[0], int) and form[0] < 0)


def _count(
    facts: DataFrame, forms: Counter[tuple[Any, int, str]], keys: list[str]
) -> DataFrame | None:
    """Return (rule, forms): for each root the number of triples it makes by a rule."""
    if not forms:
        return None
    columns = {
        f"key_{name}": pa.array([key[i] for key, _, _ in forms], pa.int64())
        for i, name in enumerate(keys)
    }
    columns["rule"] = pa.array([rule for _, rule, _ in forms], pa.int32())
    columns["which"] = pa.array([which for _, _, which in forms], pa.string())
    columns["forms"] = pa.array(forms.values(), pa.int64())
    right = facts.sparkSession.createDataFrame(pa.table(columns))
    if len(forms) <= MAX_BROADCAST_ROWS:
        right = F.broadcast(right)
    predicates = {key[0] for key, _, _ in forms} if keys else set()
    if 0 < len(predicates) <= MAX_LISTED:
        facts = facts.where(F.col("p").isin(sorted(predicates)))
    on = [facts[key] == right[f"key_{key}"] for key in keys]
    joined = facts.join(right, on=on) if keys else facts.crossJoin(right)
    which = F.col("which")
    lost = ((which == "s") & (F.col("s") < 0)) | ((which == "o") & (F.col("o") < 0))
    return joined.where(~lost).select("rule", "forms")
