"""Violations: the solutions of rules that conclude `false`, with the triples that make them so.

They are looked for once everything is closed, and never become part of the closure. Facts whose
subject is a literal count here: that a literal should be of a datatype it does not belong to is
the commonest fault of data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.backend import looked_at
from satura.closure.conditions import apply_conditions
from satura.closure.consequences import Table
from satura.closure.derive import conclude, facts_frame
from satura.closure.joins import FactsOf, columns_of, solve
from satura.closure.memory import Facts, solve_in_memory
from satura.closure.program import PLACES, Fact, LiteralRule, Pattern, Slot
from satura.closure.relevance import Relevance, find_relevance
from satura.closure.representatives import rewrite
from satura.closure.rounds import Run
from satura.closure.saturate import EMPTY_TABLE
from satura.closure.schema import Binding, ground
from satura.closure.shapes import Shape, fit_memory
from satura.closure.specialize import O, named_shapes
from satura.closure.whole import Saturated
from satura.rules.expression import Call, Expression, conjuncts
from satura.rules.model import Filter, Rule, Variable
from satura.rules.scope import named_variables

if TYPE_CHECKING:
    from pyspark.sql import Column

SCHEMA: Final = (
    "rule string, names array<string>, terms array<long>, "
    "triples array<struct<s:long,p:long,o:long>>"
)


def find_violations(saturated: Saturated) -> DataFrame | None:
    """Return all violations (rule, names, terms, triples), or None if there can be none."""
    closed, backend = saturated.closed, saturated.backend
    shapes = named_shapes(closed.program.false_rules, closed.schema, backend.dictionary.texts)
    # Patterns over literals as subjects look at few facts; do not let them drag in all types.
    literal = [shape for shape in shapes if is_about_literals(shape)]
    others = [shape for shape in shapes if shape not in literal]
    found = [
        *_solutions(saturated, others, literals_only=False),
        *_solutions(saturated, literal, literals_only=True),
        *_ill_typed(saturated),
    ]
    return reduce(DataFrame.unionByName, found) if found else None


def is_about_literals(shape: Shape) -> bool:
    """Say whether a shape has one pattern, the subject of which must be a literal."""
    if len(shape.body) != 1:
        return False
    subject = shape.body[0][0]
    return any(
        part == Call("ISLITERAL", (Variable(str(subject)),))
        for condition in shape.conditions
        if isinstance(condition, Filter)
        for part in conjuncts(condition.expression)
    )


def _solutions(
    saturated: Saturated, shapes: Sequence[Shape], *, literals_only: bool
) -> list[DataFrame]:
    """Return the solutions of shapes, as violations."""
    relevance = find_relevance(shapes)
    if not shapes:
        return []
    backend = saturated.backend
    run = Run(backend, saturated.closed, saturated.equality, relevance)
    table = relevance.restrict(saturated.closed.consequences.derives)
    roots = _roots(saturated, relevance, shapes)
    if literals_only:
        facts = _about_literals(saturated, roots, table)
        run.table = EMPTY_TABLE
        run.start(facts)
    else:
        run.start(roots)
    if run.total <= backend.memory_facts and fit_memory(shapes):
        return _in_memory(saturated, run, shapes)
    return _on_spark(saturated, run, shapes)


def _on_spark(saturated: Saturated, run: Run, shapes: Sequence[Shape]) -> list[DataFrame]:
    backend = saturated.backend
    present = run.present()
    found = []
    for shape in shapes:
        parts = [run.relevance.parts_of(shape, pattern, run.parts) for pattern in shape.body]
        if any(part is not None and part.isdisjoint(present) for part in parts):
            continue
        solutions = solve(saturated.spark, shape, 0, _parts_of(run, parts))
        if shape.conditions:
            solutions = apply_conditions(shape, solutions, backend.trial(run.facts()))
        found.append(_as_violations(shape, solutions))
    return found


def _parts_of(run: Run, parts: Sequence[Collection[int] | None]) -> FactsOf:
    return lambda i: run.facts(parts=parts[i])


def _in_memory(saturated: Saturated, run: Run, shapes: Sequence[Shape]) -> list[DataFrame]:
    """Solve on the driver, where a job each would take longer than the work."""
    facts = Facts()
    facts.add(run.bring(saturated.backend.memory_facts), 0)
    saturated.backend.dictionary.prefetch(looked_at(shapes, facts.rounds))
    texts = saturated.backend.dictionary.texts
    rows = {
        as_row(shape, found) for shape in shapes for found in solve_in_memory(shape, facts, texts)
    }
    return [saturated.spark.createDataFrame(sorted(rows), SCHEMA)] if rows else []


def as_row(
    shape: Shape, found: Binding
) -> tuple[str, tuple[str, ...], tuple[int, ...], tuple[Fact, ...]]:
    """Return a solution as a violation: rule, names, terms, triples."""
    rule = _rule(shape)
    names = tuple(v.name for v in named_variables(rule) if v.name in found)
    patterns = (*(shape.source.schema if shape.source else ()), *shape.body)
    triples = tuple(ground(pattern, found) for pattern in patterns)
    return rule.id, names, tuple(found[name] for name in names), triples


def _roots(saturated: Saturated, relevance: Relevance, shapes: Sequence[Shape]) -> DataFrame:
    """Return everything that facts follow from, literals as subjects included."""
    spark, backend, equality = saturated.spark, saturated.backend, saturated.equality
    roots = backend.roots(equality).unionByName(facts_frame(spark, saturated.roots()))
    joined = backend.concluded_facts(equality)
    if joined is not None:
        roots = roots.unionByName(joined)
    about = backend.dictionary.literal_facts(
        saturated.closed, relevance, skip=lambda rule: all(_rules_out(rule, x) for x in shapes)
    )
    if about is not None:
        roots = roots.unionByName(rewrite(spark, about, equality))
    return roots


def _rules_out(rule: LiteralRule, shape: Shape) -> bool:
    """Say whether what a rule about literals concludes fails the conditions of a shape.

    That a literal is of the datatypes it belongs to violates nothing that asks for one to which it
    does not belong; and there are as many such facts as literals times datatypes.
    """
    if len(shape.body) != 1 or len(rule.rule.head) != 1:
        return False
    names = dict(zip(rule.rule.head[0], shape.body[0], strict=True))
    wanted = {
        part for x in shape.conditions if isinstance(x, Filter) for part in conjuncts(x.expression)
    }
    given = [
        part
        for x in rule.rule.conditions
        if isinstance(x, Filter)
        for part in conjuncts(x.expression)
    ]
    return any(Call("!", (_renamed(part, names),)) in wanted for part in given)


def _renamed(expression: Expression, names: Mapping[Slot, Slot]) -> Expression:
    if isinstance(expression, Variable):
        return Variable(str(names.get(expression.name, expression.name)))
    if isinstance(expression, Call):
        return Call(expression.function, tuple(_renamed(x, names) for x in expression.arguments))
    return expression


def _about_literals(saturated: Saturated, roots: DataFrame, table: Table) -> DataFrame:
    """Return the facts whose subject is a literal."""
    spark = saturated.spark
    turned = table.map_forms(lambda forms: tuple(form for form in forms if form[0] == O))
    objects = conclude(spark, roots.where("o < 0"), turned)
    subjects = roots.where("s < 0")
    following = conclude(spark, subjects, table)
    return objects.unionByName(subjects).unionByName(following).where("s < 0")


def _ill_typed(saturated: Saturated) -> list[DataFrame]:
    """Return the violations of rules about single literals."""
    dictionary = saturated.backend.dictionary
    frames = []
    for rule in saturated.closed.program.literal_rules:
        if rule.rule.rule.false and len(rule.variables) == 1 and not rule.rule.schema:
            literals = dictionary.violating(rule)
            if literals is not None:
                frames.append(_as_literal_violations(rule, literals))
    return frames


def _as_literal_violations(rule: LiteralRule, literals: DataFrame) -> DataFrame:
    return literals.select(
        F.lit(rule.id).alias("rule"),
        F.array(F.lit(rule.variables[0])).alias("names"),
        F.array("id").alias("terms"),
        F.lit(None).cast("array<struct<s:long,p:long,o:long>>").alias("triples"),
    )


def _as_violations(shape: Shape, solutions: DataFrame) -> DataFrame:
    """Return solutions as violations."""
    columns = columns_of(shape)
    rule = _rule(shape)
    names = [v.name for v in named_variables(rule) if v.name in columns]

    def value(slot: Slot) -> Column:
        return F.col(columns[slot]) if isinstance(slot, str) else F.lit(slot)

    def triple(pattern: Pattern) -> Column:
        return F.struct(
            *(
                value(slot).cast("long").alias(name)
                for slot, name in zip(pattern, PLACES, strict=True)
            )
        )

    schema: Collection[Pattern] = shape.source.schema if shape.source else ()
    triples = [triple(pattern) for pattern in (*schema, *shape.body)]
    empty = F.lit(None).cast("array<struct<s:long,p:long,o:long>>")
    return solutions.select(
        F.lit(rule.id).alias("rule"),
        F.array(*map(F.lit, names)).cast("array<string>").alias("names"),
        F.array(*(F.col(columns[name]) for name in names)).cast("array<long>").alias("terms"),
        (F.array(*triples) if triples else empty).alias("triples"),
    ).distinct()


def _rule(shape: Shape) -> Rule:
    if shape.source is None:
        raise TypeError(shape)  # shapes of false rules are named ones
    return shape.source.rule
