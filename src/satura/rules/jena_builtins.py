"""Jena's built-in calls as elements of SPARQL-RL, where there are such that mean the same.

What each call means is what Jena's documentation and sources say: tests that do not apply to their
arguments fail, a call that computes a value compares it when its last argument has one, and every
argument without a value is a wild card of `noValue`. A call that means something else here, or
nothing, is `Refused` with what to write instead; none is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from satura.errors import did_you_mean
from satura.rules.expression import Call, Constant, Expression
from satura.rules.jena_regex import whole_match
from satura.rules.model import (
    Assignment,
    Atom,
    BodyElement,
    Filter,
    Negation,
    Position,
    Slot,
    Variable,
)
from satura.terms.datatypes import ILL_TYPED, NUMERIC, RECOGNIZED, value_of
from satura.terms.literals import LANG_STRING, make_literal, split_literal
from satura.terms.ntriples import is_iri, is_literal
from satura.vocab import XSD, XSD_STRING, term

COMPARISONS: Final = {"lessThan": "<", "greaterThan": ">", "le": "<=", "ge": ">="}
ARITHMETIC: Final = {"sum": "+", "difference": "-", "product": "*"}
EXTREMES: Final = {"min": "<", "max": ">"}
KINDS: Final = {"isLiteral": "ISLITERAL", "isBNode": "ISBLANK"}
NOT_KINDS: Final = {"notLiteral": "ISLITERAL", "notBNode": "ISBLANK"}
INSTANTS: Final = frozenset(term(XSD, name) for name in ("dateTime", "date", "time"))
BY_TERM: Final = frozenset((XSD_STRING, LANG_STRING))
UNORDERED: Final = tuple(Constant(term(XSD, name)) for name in ("string", "boolean"))

ARGUMENTS: Final[dict[str, tuple[int, int]]] = {
    **dict.fromkeys((*KINDS, *NOT_KINDS), (1, 1)),
    **dict.fromkeys((*COMPARISONS, "equal", "notEqual", "regex"), (2, 2)),
    **dict.fromkeys((*ARITHMETIC, *EXTREMES), (3, 3)),
    "noValue": (2, 3),
    **dict.fromkeys(("strConcat", "uriConcat", "makeTemp"), (1, 1_000)),
}
"""The calls that are taken over, with the least and greatest number of arguments."""

_WRITES = "a rule only concludes triples; leave the call out"
_LISTS = "write the rule in a `.srl` file, with patterns over rdf:first and rdf:rest"
REFUSED: Final[dict[str, str]] = {
    **dict.fromkeys(("drop", "remove"), "a rule never takes a triple away; leave the rule out"),
    **dict.fromkeys(("print", "hide"), _WRITES),
    **dict.fromkeys(("table", "tableAll"), "conclusions are always stored; leave the call out"),
    "now": "a closure does not depend on the clock; state the time as a triple",
    "addOne": "it computes in 32 bits and backwards too; write `sum(?a, 1, ?c)`",
    "quotient": "it cuts off the fraction of some numbers; in a `.srl` file write "
    "`SET(?c := ?a / ?b)`, or `xsd:integer(?a / ?b)` for the whole part",
    **dict.fromkeys(
        ("bound", "unbound"), "every variable has a value where it is used; leave the call out"
    ),
    **dict.fromkeys(
        ("isFunctor", "notFunctor"), "there are no structured literals; leave the call out"
    ),
    **dict.fromkeys(
        ("isDType", "notDType"),
        "in a `.srl` file write `FILTER(DATATYPE(?x) = …)`, which tests the datatype alone",
    ),
    "countLiteralValues": "rules do not count",
    **dict.fromkeys(("makeInstance", "makeSkolem"), "write `makeTemp(?x)`, or `uriConcat`"),
    **dict.fromkeys(
        (
            "listContains",
            "listNotContains",
            "listEntry",
            "listEqual",
            "listNotEqual",
            "listLength",
            "listMapAsObject",
            "listMapAsSubject",
            "assertDisjointPairs",
        ),
        _LISTS,
    ),
}
"""Jena's other calls, with what to do about each."""


class Refused(Exception):  # noqa: N818 (it is caught, and becomes an error with a place)
    """A construct that is not taken over."""

    def __init__(self, construct: str, hint: str) -> None:
        super().__init__(construct)
        self.construct = construct
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a call can know: variables with a value, those that are no literals, and new ones."""

    bound: Collection[Variable]
    resources: Collection[Variable]
    fresh: Callable[[], Variable]
    position: Position
    backward: bool


def refuse(name: str) -> Refused:
    """Return the refusal of a call that is not taken over."""
    known = (*ARGUMENTS, *REFUSED)
    unknown = "it is not one of Jena's own; say in patterns what it does, or leave the rule out"
    return Refused(f"`{name}`", REFUSED.get(name) or did_you_mean(name, known) or unknown)


def translate(name: str, given: Sequence[Slot], around: Surroundings) -> list[BodyElement]:
    """Return the elements that a call of a body stands for, or raise `Refused`."""
    if name not in ARGUMENTS:
        raise refuse(name)
    if name == "noValue":
        return [_no_value(given, around)]
    if name == "makeTemp":
        return _make_temp(given, around)
    arguments = [_expression(slot) for slot in given]
    if name in ARITHMETIC or name in EXTREMES or name in ("strConcat", "uriConcat"):
        return _compute(name, given[-1], arguments[:-1], around)
    if name == "notEqual" and not any(_is_resource(slot, around) for slot in given):
        # `!=` fails where Jena's test holds: for literals that cannot be compared.
        same = Filter(Call("=", tuple(arguments)), around.position)
        return [Negation((same,), data=False, position=around.position)]
    return [Filter(_test(name, given, arguments), around.position)]


def match(slots: Sequence[Slot], around: Surroundings) -> list[Atom | Filter]:
    """Return what a triple pattern stands for: Jena compares literals by their value."""
    filters: list[Atom | Filter] = []
    kept: list[Slot] = []
    for slot in slots:
        if _is_value(slot):
            variable = around.fresh()
            same = Call("=", (variable, _expression(slot)))
            filters.append(Filter(same, around.position))
            kept.append(variable)
        else:
            kept.append(slot)
    s, p, o = kept
    return [Atom(s, p, o), *filters]


def _is_value(slot: Slot) -> bool:
    if isinstance(slot, Variable) or not is_literal(slot) or value_of(slot) is ILL_TYPED:
        return False
    return split_literal(slot).datatype in RECOGNIZED - BY_TERM


def _expression(slot: Slot) -> Expression:
    return slot if isinstance(slot, Variable) else Constant(slot)


def _is_resource(slot: Slot, around: Surroundings) -> bool:
    return slot in around.resources if isinstance(slot, Variable) else is_iri(slot)


def _test(name: str, given: Sequence[Slot], arguments: list[Expression]) -> Expression:
    if name in KINDS:
        return Call(KINDS[name], tuple(arguments))
    if name in NOT_KINDS:
        return Call("!", (Call(NOT_KINDS[name], tuple(arguments)),))
    if name in ("equal", "notEqual"):
        return Call("=" if name == "equal" else "!=", tuple(arguments))
    if name == "regex":
        return _regex(given[1], arguments[0])
    order = Call(COMPARISONS[name], tuple(arguments))
    if any(_is_number_or_instant(slot) for slot in given):
        return order
    # Strings and booleans have an order in SPARQL and none in Jena.
    return Call("&&", (Call("NOT IN", (Call("DATATYPE", (arguments[0],)), *UNORDERED)), order))


def _is_number_or_instant(slot: Slot) -> bool:
    if isinstance(slot, Variable) or not is_literal(slot):
        return False
    return split_literal(slot).datatype in NUMERIC | INSTANTS


def _regex(pattern: Slot, text: Expression) -> Expression:
    if isinstance(pattern, Variable) or not is_literal(pattern):
        raise Refused("`regex` with a pattern that is not a string", "write the pattern out")
    lexical = split_literal(pattern).lexical
    translated = whole_match(lexical)
    if translated is None:
        raise Refused(
            f"`regex` with the Java pattern `{lexical}`",
            "look-around, flags, back references and Java's own classes differ between languages; "
            "write the pattern without them",
        )
    found = Call("REGEX", (Call("STR", (text,)), Constant(make_literal(translated))))
    return Call("&&", (Call("ISLITERAL", (text,)), found))


def _compute(
    name: str, result: Slot, arguments: list[Expression], around: Surroundings
) -> list[BodyElement]:
    """Return `SET` of a new variable, or a test of one that has a value."""
    elements: list[BodyElement] = []
    if name in ARITHMETIC:
        value: Expression = Call(ARITHMETIC[name], tuple(arguments))
    elif name in EXTREMES:
        left, right = arguments
        # Strings have an order in SPARQL and none in Jena.
        elements += [
            Filter(Call("ISNUMERIC", (argument,)), around.position)
            for argument in arguments
            if isinstance(argument, Variable)
        ]
        value = Call("IF", (Call(EXTREMES[name], (left, right)), left, right))
    else:
        value = Call("CONCAT", tuple(map(_text, arguments)))
        if name == "uriConcat":
            value = Call("IRI", (value,))
    if isinstance(result, Variable) and result not in around.bound:
        return [*elements, Assignment(result, value, around.position)]
    return [*elements, Filter(Call("=", (_expression(result), value)), around.position)]


def _text(argument: Expression) -> Expression:
    if isinstance(argument, Constant) and is_literal(argument.term):
        return Constant(make_literal(split_literal(argument.term).lexical))
    return Call("STR", (argument,))


def _no_value(given: Sequence[Slot], around: Surroundings) -> Negation:
    # A variable that has no value by now is a wild card, each time it is written.
    slots = [
        around.fresh() if isinstance(slot, Variable) and slot not in around.bound else slot
        for slot in given
    ]
    if len(slots) == 2:
        slots.append(around.fresh())
    return Negation(tuple(match(slots, around)), data=False, position=around.position)


def _make_temp(given: Sequence[Slot], around: Surroundings) -> list[BodyElement]:
    if around.backward:
        raise Refused("`makeTemp` in a backward rule", "write the rule with `->`")
    made: list[BodyElement] = []
    for slot in given:
        if not isinstance(slot, Variable):
            raise Refused("`makeTemp` of a term", "give it a variable")
        made.append(Assignment(slot, Call("BNODE", ()), around.position))
    return made
