"""Which terms satisfy the condition of a term rule.

The dictionary is asked, once, with a JVM expression that lets through at least the terms wanted;
the few that come back are judged by the same evaluator the reference uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.local import apply_term_rule
from satura.closure.program import Fact, Program, TermRule
from satura.errors import LimitError
from satura.rules.evaluate import Context, is_true
from satura.rules.expression import Call, Constant, Expression
from satura.rules.model import Variable
from satura.terms.literals import make_xsd
from satura.terms.ntriples import Term

MAX_TERMS: Final = 1_000_000


def term_facts(program: Program, terms: DataFrame) -> list[Fact]:
    """Return what the term rules of a program conclude, given the table of all terms (id, term)."""
    facts: list[Fact] = []
    for rule in program.term_rules:
        maybe = F.lit(True)
        for expression in rule.condition:
            maybe &= prefilter(expression, rule.variable)
        found = terms.where(maybe).limit(MAX_TERMS + 1).toArrow()
        if found.num_rows > MAX_TERMS:
            raise LimitError(
                "LIMIT-TERMS", f"rule `{rule.id}` concerns more than {MAX_TERMS} terms"
            )
        named = dict(zip(found["id"].to_pylist(), found["term"].to_pylist(), strict=True))
        facts += apply_term_rule(rule, satisfying(rule, named | dict(program.names)))
    return facts


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
