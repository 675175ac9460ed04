"""`FILTER`, `SET`, `NOT` and fresh blank nodes, tried on the solutions of a join.

Ids say whether two terms are one and whether a term is a literal; that is compiled. Everything
else looks inside terms: their texts are joined from the dictionary, and the evaluator that the
reference uses judges whole batches in Python.

Where terms are represented by one of their equals, a condition is tried on every choice of
members, and holds if it does for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from satura.closure.equality import Equality
from satura.closure.joins import TIMES, columns_of
from satura.closure.program import Condition
from satura.closure.representatives import members
from satura.closure.shapes import Shape
from satura.rules.evaluate import (
    Context,
    assigned,
    describe,
    fresh_blank,
    is_true,
    rule_seed,
)
from satura.rules.expression import Call, Expression, variables_of
from satura.rules.model import Assignment, Atom, Filter, Negation, Rule, Variable, bound_by
from satura.terms.ids import id_column, term_id
from satura.terms.ntriples import Term, is_blank

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Matches = Callable[[Negation, list[str]], "DataFrame"]
"""Gives the solutions of the patterns inside a `NOT`, a column per variable in the given order."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What conditions are tried with: the dictionary, equality, the facts for `NOT`, the time."""

    terms: DataFrame
    equality: Equality
    matches: Matches | None = None
    now: Term = ""


def apply_conditions(shape: Shape, solutions: DataFrame, trial: Trial) -> DataFrame:
    """Keep the solutions that pass, with a column for each variable that is assigned."""
    names = columns_of(shape)
    kept = solutions.columns
    read = sorted({names[name] for name in _read(shape) if names.get(name) in kept})
    if trial.equality and read:
        solutions = _with_members(solutions, read, trial)
    else:
        solutions = solutions.select("*", *(F.col(x).alias(f"m_{x}") for x in read))
    slow: list[Condition] = []
    for condition in shape.conditions:
        quick = None
        if isinstance(condition, Filter):
            quick = _quick(condition.expression, names, solutions.columns)
        if quick is not None:
            solutions = solutions.where(quick)
        elif not isinstance(condition, Negation):
            slow.append(condition)
    if slow or _fresh(shape):
        solutions, kept = _judge(shape, solutions, slow, names, trial, kept)
    for condition in shape.conditions:
        if isinstance(condition, Negation):
            solutions = _without(solutions, condition, _before(shape, condition, names), trial)
    solutions = solutions.select(*kept)
    return solutions.dropDuplicates() if trial.equality and read else solutions


def _read(shape: Shape) -> set[str]:
    """Return the variables whose terms conditions look at."""
    found: set[str] = set()
    for condition in shape.conditions:
        if isinstance(condition, Filter):
            found |= {v.name for v in variables_of(condition.expression)}
        elif isinstance(condition, Negation) and condition.data:
            found |= {v.name for atom in condition.atoms for v in atom.variables}
    return found


def _before(shape: Shape, negation: Negation, names: dict[str, str]) -> dict[str, str]:
    """Return the columns of the variables that have a value where a `NOT` stands.

    One of the same name that gets its value later is another variable.
    """
    if shape.source is None:
        return names
    body = shape.source.rule.body
    at = next(i for i, element in enumerate(body) if element == negation)
    bound = {v.name for element in body[:at] for v in bound_by(element)}
    return {name: column for name, column in names.items() if name in bound}


def _with_members(solutions: DataFrame, columns: Sequence[str], trial: Trial) -> DataFrame:
    """Add, for each column, one row per term equal to its value."""
    pairs = members(solutions.sparkSession, trial.equality)
    for column in columns:
        renamed = pairs.select(F.col("representative").alias("_r"), F.col("member").alias("_m"))
        joined = solutions.join(renamed, F.col(column) == F.col("_r"), "left")
        solutions = joined.withColumn(f"m_{column}", F.coalesce("_m", column)).drop("_r", "_m")
    return solutions


def _quick(expression: Expression, names: dict[str, str], columns: Sequence[str]) -> Column | None:
    """Return a condition that ids alone answer, compiled."""
    if not isinstance(expression, Call):
        return None
    if expression.function == "!":
        inner = _quick(expression.arguments[0], names, columns)
        return None if inner is None else ~inner
    if expression.function == "&&":
        parts = [_quick(x, names, columns) for x in expression.arguments]
        found = [part for part in parts if part is not None]
        return found[0] & found[1] if len(found) == 2 else None
    found_ids = [f"m_{names.get(x.name)}" for x in expression.arguments if isinstance(x, Variable)]
    if len(found_ids) != len(expression.arguments) or not set(found_ids) <= set(columns):
        return None
    ids = [F.col(name) for name in found_ids]
    if expression.function == "SAMETERM":
        return ids[0] == ids[1]
    return ids[0] < 0 if expression.function == "ISLITERAL" else None


def _fresh(shape: Shape) -> list[Term]:
    """Return the blank nodes of the head, each of which stands for a fresh one per solution."""
    if shape.source is None:
        return []
    found = [slot for atom in shape.source.rule.head for slot in atom.slots]
    return list(dict.fromkeys(x for x in found if isinstance(x, str) and is_blank(x)))


def fresh_columns(shape: Shape) -> dict[int, str]:
    """Return the column that takes the place of each blank node of a head, by its id."""
    return {term_id(blank): f"fresh{i}" for i, blank in enumerate(_fresh(shape))}


def _judge(
    shape: Shape,
    solutions: DataFrame,
    conditions: Sequence[Condition],
    names: dict[str, str],
    trial: Trial,
    kept: list[str],
) -> tuple[DataFrame, list[str]]:
    """Evaluate conditions on texts; add the ids and texts of terms that are made."""
    rule = shape.source.rule if shape.source else None
    fresh = _fresh(shape)
    computed = {x.variable.name for x in conditions if isinstance(x, Assignment)}
    if fresh or computed:
        wanted = {n for n in names if names[n] in solutions.columns}
    else:
        wanted = {
            v.name for x in conditions if isinstance(x, Filter) for v in variables_of(x.expression)
        }
    order = sorted(wanted)
    for name in order:
        column = names[name]
        source = f"m_{column}" if f"m_{column}" in solutions.columns else column
        texts = trial.terms.select(F.col("id").alias("_id"), F.col("term").alias(f"t_{column}"))
        solutions = solutions.join(texts, F.col(source) == F.col("_id")).drop("_id")
    made = [f"made_{names[name]}" for name in sorted(computed)]
    made += [f"made_fresh{i}" for i in range(len(fresh))]
    judge = _Judge(tuple(conditions), rule, tuple(order), tuple(sorted(computed)), tuple(fresh),
                   trial.now, {name: names[name] for name in order}, tuple(made))  # fmt: skip
    schema = StructType(list(solutions.schema.fields))  # `add` changes a schema in place
    for column in made:
        schema = schema.add(column, "string")
    judged = solutions.mapInArrow(judge, schema)
    for name in sorted(computed):
        column, text = names[name], F.col(f"made_{names[name]}")
        if column in kept:
            judged = judged.where(F.col(column) == id_column(text))
        else:
            judged = judged.withColumn(column, id_column(text))
    for i in range(len(fresh)):
        judged = judged.withColumn(f"fresh{i}", id_column(F.col(f"made_fresh{i}")))
    added = [names[name] for name in sorted(computed) if names[name] not in kept]
    return judged, [*kept, *added, *(f"fresh{i}" for i in range(len(fresh))), *made]


@dataclass(frozen=True, slots=True)
class _Judge:
    """Tries conditions on batches of solutions; travels to the workers."""

    conditions: tuple[Condition, ...]
    rule: Rule | None
    names: tuple[str, ...]
    computed: tuple[str, ...]
    fresh: tuple[Term, ...]
    now: Term
    columns: dict[str, str]
    made: tuple[str, ...] = ()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seed = rule_seed(self.rule) if self.rule else ""
        bound = self._bound_before()
        for batch in batches:
            texts = [batch[f"t_{self.columns[name]}"].to_pylist() for name in self.names]
            keep: list[int] = []
            made: list[list[Term]] = []
            rows = zip(*texts, strict=True) if texts else [()] * batch.num_rows
            for row, values in enumerate(rows):
                solution = dict(zip(map(Variable, self.names), values, strict=True))
                result = self._try(solution, seed, bound)
                if result is not None:
                    keep.append(row)
                    made.append(result)
            rest = batch.take(pa.array(keep, pa.int64()))
            count = len(self.computed) + len(self.fresh)
            added = [pa.array([row[i] for row in made], pa.string()) for i in range(count)]
            yield pa.RecordBatch.from_arrays(
                [*rest.columns, *added],
                names=[*batch.schema.names, *self.made],
            )

    def _try(
        self, solution: dict[Variable, Term], seed: str, bound: Sequence[frozenset[str]]
    ) -> list[Term] | None:
        for number, condition in enumerate(self.conditions):
            if isinstance(condition, Filter):
                if not is_true(condition.expression, solution, Context(self.now, seed)):
                    return None
            elif isinstance(condition, Assignment):
                matched = {v: t for v, t in solution.items() if v.name in bound[number]}
                place = Context(
                    self.now, "\0".join((seed, *describe(matched))), str(condition.variable)
                )
                value = assigned(condition.expression, solution, place)
                if value is None or solution.get(condition.variable, value) != value:
                    return None
                solution = {**solution, condition.variable: value}
        return [
            *(solution[Variable(name)] for name in self.computed),
            *(fresh_blank(seed, blank, *describe(solution)) for blank in self.fresh),
        ]

    def _bound_before(self) -> list[frozenset[str]]:
        """Return the variables that patterns before each condition bind."""
        if self.rule is None:
            return [frozenset()] * len(self.conditions)
        found = []
        for condition in self.conditions:
            before: set[str] = set()
            for element in self.rule.body:
                if element is condition or element == condition:
                    break
                if isinstance(element, Atom):
                    before |= {v.name for v in element.variables}
            found.append(frozenset(before - set(self.computed)))
        return found


def _without(
    solutions: DataFrame, negation: Negation, names: dict[str, str], trial: Trial
) -> DataFrame:
    """Drop the solutions for which the patterns inside `NOT` match."""
    assert trial.matches is not None
    inner = sorted({v.name for atom in negation.atoms for v in atom.variables})
    filters = [x for x in negation.body if isinstance(x, Filter)]
    found = trial.matches(negation, inner)
    here = {name: column for name, column in names.items() if column in solutions.columns}
    for name, column in list(here.items()):
        if negation.data and f"m_{column}" in solutions.columns:
            here[name] = f"m_{column}"  # what is given is not said of representatives
    shared = [name for name in inner if name in here]
    found = found.select(
        *(F.col(f"n{i}").alias(here[n] if n in shared else f"in_{i}") for i, n in enumerate(inner))
    )
    on = [here[name] for name in shared]
    if not filters:
        wanted = found.select(*on).distinct() if on else found.limit(1).select(F.lit(1).alias("_1"))
        if on:
            return solutions.join(wanted, on, "left_anti")
        return solutions.join(wanted, F.lit(True), "left_anti")
    keys = [column for column in solutions.columns if column != TIMES]
    joined = solutions.join(found, on) if on else solutions.crossJoin(found)
    column_of = {n: here[n] if n in shared else f"in_{i}" for i, n in enumerate(inner)} | here
    read = sorted({v.name for x in filters for v in variables_of(x.expression)})
    for name in read:
        column = column_of[name]
        if f"made_{column}" in joined.columns:  # not in the dictionary yet
            joined = joined.withColumn(f"t_{column}", F.col(f"made_{column}"))
            continue
        texts = trial.terms.select(F.col("id").alias("_id"), F.col("term").alias(f"t_{column}"))
        joined = joined.drop(f"t_{column}").join(texts, F.col(column) == F.col("_id")).drop("_id")
    judge = _Judge(tuple(filters), None, tuple(read), (), (), trial.now,
                   {name: column_of[name] for name in read})  # fmt: skip
    matched = joined.mapInArrow(judge, joined.schema).select(*keys).distinct()
    return solutions.join(matched, keys, "left_anti")
