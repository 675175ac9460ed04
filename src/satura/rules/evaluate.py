"""Evaluates the expressions of `FILTER` and `SET` over typed literals (SPARQL 1.2, section 17).

An expression has a value, which is a term, or fails; a failure makes a `FILTER` false and drops the
solution of a `SET`, so `EvaluationError` never reaches the user. `NOW()` is one instant for a whole
evaluation and is passed in. `UUID`, `STRUUID` and `BNODE` are functions of the solution they are
asked for, so that a run can be repeated and two engines agree.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import xxhash

from satura.rules.expression import CASTS, Call, Constant, Expression
from satura.rules.functions import FUNCTIONS, cast, text_of
from satura.rules.model import Rule, Variable
from satura.rules.operators import (
    EvaluationError,
    boolean,
    combine,
    compare,
    effective_boolean,
    equal,
)
from satura.terms.literals import make_literal, make_xsd
from satura.terms.ntriples import Term

Solution = Mapping[Variable, Term]
ZERO: Final = make_xsd("0", "integer")


@dataclass(frozen=True, slots=True)
class Context:
    """What an expression may know besides its solution.

    `seed` names the rule and then the solution, `place` the assignment that is being worked out;
    `BNODE` and `UUID` need them. `computed` are the variables whose values are computed.
    """

    now: Term = ""
    seed: str = ""
    place: str = ""
    computed: frozenset[Variable] = frozenset()


def is_true(expression: Expression, solution: Solution, context: Context) -> bool:
    """Say whether a filter keeps a solution."""
    try:
        return effective_boolean(evaluate(expression, solution, context))
    except EvaluationError:
        return False


def assigned(expression: Expression, solution: Solution, context: Context) -> Term | None:
    """Return the value an assignment gives, or None if it fails."""
    try:
        return evaluate(expression, solution, context)
    except EvaluationError:
        return None


def rule_seed(rule: Rule) -> str:
    """Return the text that names a rule where it makes terms, so that a run can be repeated."""
    return "\0".join((rule.id, *map(str, rule.head), *map(str, rule.atoms)))


def describe(solution: Solution) -> list[str]:
    """Return a text per variable; the same solution always gives the same."""
    return sorted(f"{variable}={term}" for variable, term in solution.items())


def fresh_blank(*parts: str) -> Term:
    """Return the blank node that stands for these parts; others get others."""
    return f"_:b{xxhash.xxh3_128_hexdigest(chr(0).join(parts).encode())}"


def evaluate(expression: Expression, solution: Solution, context: Context) -> Term:
    """Return the value of an expression, or raise `EvaluationError`."""
    if isinstance(expression, Variable):
        if expression not in solution:
            raise EvaluationError(f"{expression} has no value")
        return solution[expression]
    if isinstance(expression, Constant):
        return expression.term
    if expression.function in FORMS:
        return FORMS[expression.function](expression, solution, context)
    arguments = [evaluate(argument, solution, context) for argument in expression.arguments]
    return _apply(expression.function, arguments)


def _apply(name: str, arguments: list[Term]) -> Term:
    if name in ("=", "!="):
        return boolean(equal(arguments[0], arguments[1]) == (name == "="))
    if name in ("<", ">", "<=", ">="):
        return boolean(compare(name, arguments[0], arguments[1]))
    if name in ("+", "-", "*", "/"):
        left, right = arguments if len(arguments) == 2 else (ZERO, arguments[0])
        return combine(name, left, right)
    if name == "!":
        return boolean(not effective_boolean(arguments[0]))
    if name in CASTS:
        return cast(arguments[0], name)
    return FUNCTIONS[name](*arguments)


def _logical(call: Call, solution: Solution, context: Context) -> Term:
    """Evaluate `||` and `&&`: one decisive side outweighs a failure of the other."""
    decisive = call.function == "||"
    failure: EvaluationError | None = None
    for argument in call.arguments:
        try:
            if effective_boolean(evaluate(argument, solution, context)) == decisive:
                return boolean(decisive)
        except EvaluationError as error:
            failure = error
    if failure:
        raise failure
    return boolean(not decisive)


def _membership(call: Call, solution: Solution, context: Context) -> Term:
    """Evaluate `IN` and `NOT IN`, a chain of `=` joined by `||`."""
    needle = evaluate(call.arguments[0], solution, context)
    failure: EvaluationError | None = None
    for argument in call.arguments[1:]:
        try:
            if equal(needle, evaluate(argument, solution, context)):
                return boolean(call.function == "IN")
        except EvaluationError as error:
            failure = error
    if failure:
        raise failure
    return boolean(call.function != "IN")


def _if(call: Call, solution: Solution, context: Context) -> Term:
    condition = effective_boolean(evaluate(call.arguments[0], solution, context))
    return evaluate(call.arguments[1 if condition else 2], solution, context)


def _now(_call: Call, _solution: Solution, context: Context) -> Term:
    return context.now


def _uuid(call: Call, _solution: Solution, context: Context) -> Term:
    made = uuid.uuid5(uuid.NAMESPACE_URL, f"{context.seed}\0{context.place}")
    return f"<urn:uuid:{made}>" if call.function == "UUID" else make_literal(str(made))


def _bnode(call: Call, solution: Solution, context: Context) -> Term:
    if not call.arguments:
        return fresh_blank("BNODE", context.seed, context.place)
    label = text_of(evaluate(call.arguments[0], solution, context)).lexical
    return fresh_blank("BNODE", context.seed, "label", label)


FORMS: Final[dict[str, Callable[[Call, Solution, Context], Term]]] = {
    "||": _logical,
    "&&": _logical,
    "IN": _membership,
    "NOT IN": _membership,
    "IF": _if,
    "NOW": _now,
    "UUID": _uuid,
    "STRUUID": _uuid,
    "BNODE": _bnode,
}
"""Functional forms: calls that do not simply evaluate all their arguments first."""
