"""Questions to the dictionary of terms: texts, and rules that are about terms and not triples.

The dictionary has every term once, so what is true of a term is asked once, however many triples
it stands in. A JVM expression lets through at least the terms wanted; the few that come back are
judged by the same evaluator the reference uses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.derive import IDS
from satura.closure.literals import equal_literals, solve_literals, wanted_bindings
from satura.closure.local import apply_term_rule
from satura.closure.program import Fact, LiteralRule, Program, TermRule
from satura.closure.relevance import Relevance
from satura.closure.saturate import Closed
from satura.closure.schema import Binding, ground
from satura.closure.texts import Texts
from satura.errors import LimitError
from satura.jobs import described, find_first
from satura.rules.evaluate import Context, is_true
from satura.rules.expression import Call, Constant, Expression
from satura.rules.model import Variable
from satura.terms.literals import make_xsd
from satura.terms.ntriples import Term

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_TERMS: Final = 1_000_000


class Dictionary:
    """The table of all terms (id, term) of a run, and the texts fetched from it so far."""

    def __init__(self, spark: SparkSession, terms: DataFrame, names: Mapping[int, Term]) -> None:
        self.spark = spark
        self.terms = terms
        self.names = names
        self.texts = Texts(self._fetch)

    def _fetch(self, ids: Collection[int]) -> Mapping[int, Term]:
        known = {key: self.names[key] for key in ids if key in self.names}
        rest = sorted(set(ids) - set(known))
        if not rest:
            return known
        if len(rest) > MAX_TERMS:
            raise LimitError(
                "LIMIT-TERMS", f"conditions look at more than {MAX_TERMS} terms of the schema"
            )
        wanted = self.spark.createDataFrame(pa.table({"id": pa.array(rest, pa.int64())}))
        with described(self.spark, "look up terms"):
            found = self.terms.join(F.broadcast(wanted), "id").limit(len(rest)).toArrow()
        pairs = zip(found["id"].to_pylist(), found["term"].to_pylist(), strict=True)
        return known | dict(pairs)

    def prefetch(self, ids: Collection[int]) -> None:
        """Fetch texts, and those of equal terms, in one go."""
        every = {member for term in ids for member in self.texts.equality.class_of(term)}
        if every:
            self.texts.of(every)

    def add(self, terms: DataFrame) -> None:
        """Add terms that rules have made."""
        self.terms = self.terms.unionByName(terms)

    def term_facts(self, program: Program) -> list[Fact]:
        """Return what the term rules of a program conclude."""
        facts: list[Fact] = []
        for rule in program.term_rules:
            maybe = F.lit(True)
            for expression in rule.condition:
                maybe &= prefilter(expression, rule.variable)
            named = self._bounded(self.terms.where(maybe), rule.id)
            facts += apply_term_rule(rule, satisfying(rule, {**named, **program.names}))
        return facts

    def literal_facts(
        self,
        closed: Closed,
        relevance: Relevance,
        *,
        skip: Callable[[LiteralRule], bool] = lambda _: False,
    ) -> DataFrame | None:
        """Return what the rules about single literals conclude, as far as others can use it."""
        jobs = [
            (rule, binding)
            for rule in closed.program.literal_rules
            if len(rule.variables) == 1 and not rule.rule.rule.false and not skip(rule)
            for binding in wanted_bindings(rule, closed, self.texts, relevance.may_be)
        ]
        if not jobs:
            return None
        known = {key: text for _, binding in jobs for key, text in self._texts(binding).items()}
        literals = self.terms.where("id < 0")

        def conclude(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            texts = Texts(lambda ids: {key: known[key] for key in ids})
            for batch in batches:
                named = dict(zip(batch["id"].to_pylist(), batch["term"].to_pylist(), strict=True))
                facts = [
                    ground(head, found)
                    for rule, binding in jobs
                    for found in solve_literals(rule, binding, named, texts)
                    for head in rule.rule.head
                ]
                columns: list[tuple[int, ...]] = list(zip(*facts, strict=True)) or [(), (), ()]
                yield pa.RecordBatch.from_arrays(
                    [pa.array(column, pa.int64()) for column in columns], schema=IDS
                )

        return literals.mapInArrow(conclude, "s long, p long, o long")

    def _texts(self, binding: Binding) -> dict[int, Term]:
        known = self.texts.of(set(binding.values()))
        return {key: known[key] for key in binding.values()}

    def equal_literals(self, program: Program) -> list[Fact]:
        """Return what the rules about two literals of one value conclude."""
        rules = [x for x in program.literal_rules if len(x.variables) == 2]
        if not rules:
            return []
        # Most literals are plain strings, and a plain string has one spelling.
        odd = self.terms.where("id < 0 and (term like '%>' or term rlike '@[^\"]*[A-Z][^\"]*$')")
        if not find_first(odd, 1):
            return []
        keyed = odd.mapInArrow(_keys, "id long, term string, key string")
        again = keyed.where("key like '\"%'").select("key").distinct()
        plain = self.terms.where("id < 0").join(again, F.col("term") == F.col("key"))
        every = keyed.unionByName(plain.select("id", "term", "key")).distinct()
        several = every.groupBy("key").count().where("count > 1").select("key")
        named = self._bounded(every.join(several, "key").select("id", "term"), rules[0].id)
        return [fact for rule in rules for fact in equal_literals(rule, named)]

    def violating(self, rule: LiteralRule) -> DataFrame | None:
        """Return the literals (id) of which a rule about single literals holds."""
        # A plain string is never ill-typed, and most literals are plain strings.
        odd = self.terms.where("id < 0 and term like '%>'")
        if not find_first(odd, 1):
            return None

        def find(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            texts = Texts(lambda _: {})
            for batch in batches:
                named = dict(zip(batch["id"].to_pylist(), batch["term"].to_pylist(), strict=True))
                solutions = solve_literals(rule, {}, named, texts)
                found = [binding[rule.variables[0]] for binding in solutions]
                yield pa.RecordBatch.from_arrays([pa.array(found, pa.int64())], names=["id"])

        return odd.mapInArrow(find, "id long")

    def _bounded(self, terms: DataFrame, rule: str) -> dict[int, Term]:
        found = terms.select("id", "term").limit(MAX_TERMS + 1).toArrow()
        if found.num_rows > MAX_TERMS:
            raise LimitError("LIMIT-TERMS", f"rule `{rule}` concerns more than {MAX_TERMS} terms")
        return dict(zip(found["id"].to_pylist(), found["term"].to_pylist(), strict=True))


def _keys(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add a key to literals that is the same for two of the same value."""
    from satura.terms.datatypes import value_key  # noqa: PLC0415

    for batch in batches:
        keys = [value_key(text) for text in batch["term"].to_pylist()]
        yield pa.RecordBatch.from_arrays(
            [batch["id"], batch["term"], pa.array(keys, pa.string())], names=["id", "term", "key"]
        )


def satisfying(rule: TermRule, terms: Mapping[int, Term]) -> Iterable[int]:
    """Return the ids of those terms that satisfy a rule's condition."""
    context = Context(make_xsd(datetime.now(UTC).isoformat(), "dateTime"))
    return [
        key
        for key, text in terms.items()
        if all(is_true(condition, {rule.variable: text}, context) for condition in rule.condition)
    ]


def prefilter(expression: Expression, variable: Variable) -> Column:
    """Return a JVM condition on `term` that holds at least where the expression is true."""
    term = F.col("term")
    if expression == Call("ISIRI", (variable,)):
        return F.startswith(term, F.lit("<"))
    if isinstance(expression, Call) and expression.function in ("REGEX", "STRSTARTS"):
        text, wanted, *flags = expression.arguments
        if text == Call("STR", (variable,)) and isinstance(wanted, Constant) and not flags:
            # Only where the text of the constant is plain: no escapes, no other regex dialect.
            plain = wanted.term[1:-1].replace("\\\\", "\\")
            if expression.function == "STRSTARTS" and "\\" not in plain:
                return F.contains(term, F.lit(plain))
            anchored = plain.removeprefix("^").removesuffix("$")
            if expression.function == "REGEX" and "(" not in anchored:
                return F.rlike(term, F.lit(anchored))
    return F.lit(True)
