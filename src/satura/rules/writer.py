"""Writes rules as SPARQL-RL text: for `satura rules show`, explanations and documentation.

What is written reads back as the same rules. Short forms are not restored: a path or `[ … ]` comes
out as the triple patterns it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from satura.rules.expression import ARITY, CASTS, EXTENSIONS, Call, Constant, Expression
from satura.rules.model import (
    Assignment,
    Atom,
    BodyElement,
    Chain,
    Every,
    Filter,
    ListCondition,
    Member,
    Pair,
    Rule,
    RuleSet,
    Slot,
    Variable,
)
from satura.terms.literals import LANG_STRING, split_literal
from satura.terms.ntriples import Term, is_iri, is_literal
from satura.vocab import RDF_TYPE, XSD_STRING

Prefixes = Sequence[tuple[str, str]]


def write_rules(rules: RuleSet) -> str:
    """Return the text of a whole rule set, imports included."""
    lines = [f"PREFIX {prefix}: <{iri}>" for prefix, iri in rules.prefixes]
    if rules.data:
        statements = (write_atom(Atom(*triple), rules.prefixes) for triple in rules.data)
        lines += ["", "DATA {", *(f"  {statement} ." for statement in statements), "}"]
    for rule in rules:
        lines += ["", write_rule(rule, rules.prefixes)]
    return "\n".join(lines) + "\n"


def write_rule(rule: Rule, prefixes: Prefixes = ()) -> str:
    """Return the text of one rule on one line."""
    name = f"{write_slot(f'<{rule.iri}>', prefixes)} " if rule.iri else ""
    atoms = " . ".join(write_atom(atom, prefixes) for atom in rule.head)
    head = "false" if rule.false else f"{{ {atoms} }}"
    where = "WHERE DATA" if rule.data else "WHERE"
    return f"RULE {name}{head} {where} {{ {_elements(rule.body, prefixes)} }}"


def write_atom(atom: Atom, prefixes: Prefixes = ()) -> str:
    """Return the text of a triple pattern, without its final dot."""
    verb = "a" if atom.p == RDF_TYPE else write_slot(atom.p, prefixes)
    return f"{write_slot(atom.s, prefixes)} {verb} {write_slot(atom.o, prefixes)}"


def write_slot(slot: Slot, prefixes: Prefixes = ()) -> str:
    """Return the text of a term or variable, with the first prefix that fits."""
    if isinstance(slot, Variable):
        return str(slot)
    if is_iri(slot):
        return _shorten(slot, prefixes)
    if is_literal(slot):
        parts = split_literal(slot)
        if parts.datatype not in (XSD_STRING, LANG_STRING):
            quoted = slot[: slot.rindex('"') + 1]
            return f"{quoted}^^{_shorten(parts.datatype, prefixes)}"
    return slot


def _shorten(iri: Term, prefixes: Prefixes) -> str:
    for prefix, namespace in prefixes:
        local = iri[1:-1].removeprefix(namespace)
        if iri[1:].startswith(namespace) and re.fullmatch(r"[A-Za-z0-9_](?:[\w\-]*\w)?", local):
            return f"{prefix}:{local}"
    return iri


def _elements(elements: Iterable[BodyElement], prefixes: Prefixes) -> str:
    return " . ".join(_element(element, prefixes) for element in elements)


def _element(element: BodyElement, prefixes: Prefixes) -> str:
    if isinstance(element, Atom):
        return write_atom(element, prefixes)
    if isinstance(element, Filter):
        return f"FILTER({write_expression(element.expression, prefixes)})"
    if isinstance(element, Assignment):
        return f"SET({element.variable} := {write_expression(element.expression, prefixes)})"
    if isinstance(element, ListCondition):
        return _list_condition(element, prefixes)
    keyword = "NOT DATA" if element.data else "NOT"
    return f"{keyword} {{ {_elements(element.body, prefixes)} }}"


def _list_condition(condition: ListCondition, prefixes: Prefixes) -> str:
    sequence = write_slot(condition.list, prefixes)
    if isinstance(condition, Member):
        return f"SOME {condition.member} IN {sequence}"
    if isinstance(condition, Pair):
        return f"PAIR {condition.first} {condition.second} IN {sequence}"
    if isinstance(condition, Every):
        inner = _elements(condition.body, prefixes)
        return f"EVERY {condition.member} IN {sequence} {{ {inner} }}"
    assert isinstance(condition, Chain)
    start, end = (write_slot(slot, prefixes) for slot in (condition.start, condition.end))
    return f"CHAIN {sequence} FROM {start} TO {end}"


def write_expression(expression: Expression, prefixes: Prefixes = ()) -> str:
    """Return the text of an expression, with every operation in brackets."""
    if isinstance(expression, Variable):
        return str(expression)
    if isinstance(expression, Constant):
        return write_slot(expression.term, prefixes)
    arguments = [write_expression(a, prefixes) for a in expression.arguments]
    if expression.function in CASTS or expression.function in EXTENSIONS:
        return f"{_shorten(expression.function, prefixes)}({', '.join(arguments)})"
    return _call(expression, arguments)


def _call(call: Call, arguments: list[str]) -> str:
    name = call.function
    if name in ARITY or name in CASTS:
        return f"{name}({', '.join(arguments)})"
    if name in ("IN", "NOT IN"):
        return f"({arguments[0]} {name} ({', '.join(arguments[1:])}))"
    if len(arguments) == 1:
        return f"({name} {arguments[0]})"
    return f"({arguments[0]} {name} {arguments[1]})"
