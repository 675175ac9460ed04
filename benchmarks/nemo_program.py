"""Write a rule set of Satura as a Nemo program: `nemo_program.py RULES OUTPUT.rls`.

Nemo then does the same work from the same text. All triples live in one relation, `triple`, as in
the rule texts of the W3C; nothing is specialized by hand, and the rules of equality stay as they
are written. Conditions over RDF lists become recursive predicates over `rdf:first` and `rdf:rest`:

- `SOME` is `member(list, m)` and `PAIR` is `pair(list, a, b)`, a before b;
- `EVERY` and `CHAIN` get a predicate for each rule, which grows from the end of the list to its
  head, and only along lists that the rule's own patterns reach (`…_cell`);
- in rules of three and more patterns, those of the vocabulary of RDFS and OWL read a relation of
  their own (`view_…`), and where several speak of the ontology they are joined first (`setup_…`).
  Without either, Nemo starts some of these joins from the data and one university takes it longer
  than ten minutes;
- a list has to end in `rdf:nil` (`ended`), as it does for Satura. Cells in a cycle are the one
  case that differs: Satura enters no cell twice, recursion may.

A rule with the head `false` becomes `violation("id")`. A rule with a filter Nemo has no equal for
is left out, and the header of the program names it; in `owl2-rl` these are the five about
the value spaces of datatypes (`dt-…`), none of which concludes a triple about the university data.

Reading rules needs Satura, so this runs in its environment, and before anything is measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from satura.rules.expression import SAME_VALUE, Call, Constant, Expression, conjuncts
from satura.rules.lists import FIRST, NIL, REST
from satura.rules.model import (
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
from satura.rules.reader import load_rules
from satura.rules.scope import local_variables, named_variables, occurring_in
from satura.vocab import OWL, RDF_TYPE, RDFS

TRIPLE = "triple"
VOCABULARIES = (RDFS, OWL)
MANY = 3
ENDED = (
    f"ended({NIL}) .",
    f"ended(?l) :- {TRIPLE}(?l, {FIRST}, ?m), {TRIPLE}(?l, {REST}, ?r), ended(?r) .",
)
MEMBER = (
    f"member(?l, ?m) :- {TRIPLE}(?l, {FIRST}, ?m), {TRIPLE}(?l, {REST}, ?r), ended(?r) .",
    f"member(?l, ?m) :- {TRIPLE}(?l, {FIRST}, ?n), {TRIPLE}(?l, {REST}, ?r), member(?r, ?m) .",
)
PAIR = (
    f"pair(?l, ?a, ?b) :- {TRIPLE}(?l, {FIRST}, ?a), {TRIPLE}(?l, {REST}, ?r), member(?r, ?b) .",
    f"pair(?l, ?a, ?b) :- {TRIPLE}(?l, {FIRST}, ?n), {TRIPLE}(?l, {REST}, ?r), pair(?r, ?a, ?b) .",
)


class NotExpressibleError(ValueError):
    """A rule needs something that Nemo does not have."""


@dataclass(frozen=True, slots=True)
class Program:
    """The rules of a Nemo program, and the ids of those that could not be written."""

    lines: tuple[str, ...]
    left_out: tuple[str, ...]
    violations: bool


@dataclass(slots=True)
class Written:
    """One rule on its way: the atoms of its body, and the rules of its own predicates."""

    body: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    views: dict[str, str] = field(default_factory=dict)


def atom(pattern: Atom) -> str:
    """Write a triple pattern; constants are N-Triples text, which Nemo reads as it is."""
    return call(TRIPLE, pattern.slots)


def call(predicate: str, slots: Sequence[Slot]) -> str:
    """Write an atom of any predicate.

    >>> call("member", (Variable("l"), "<e:a>"))
    'member(?l, <e:a>)'
    """
    return f"{predicate}({', '.join(map(str, slots))})"


def condition(expression: Expression) -> str:
    """Write one conjunct of a filter: inequality of terms, or equality with a constant's value."""
    match expression:
        case Call("!", (Call("SAMETERM", (Variable() as left, Variable() as right)),)):
            return f"{left} != {right}"
        case Call(name, (Variable() as left, Constant(term))) if name == SAME_VALUE:
            return f"{left} = {term}"  # Nemo keeps numbers by value
    raise NotExpressibleError(str(expression))


def list_condition(element: ListCondition, rule: Rule, number: int, written: Written) -> None:
    """Write a condition over a list, and the predicates it needs for itself."""
    if isinstance(element, Member):
        written.body.append(call("member", (element.list, element.member)))
        return
    if isinstance(element, Pair):
        written.body.append(call("pair", (element.list, element.first, element.second)))
        return
    name = f"{type(element).__name__.lower()}_{name_of(rule)}_{number}"
    written.own += cells(element.list, rule, name)
    if isinstance(element, Chain):
        written.own += chain(name)
        written.body.append(call(name, (element.list, element.start, element.end)))
    else:
        shared = shared_variables(element, rule)
        written.own += every(element, name, shared)
        written.body.append(call(name, (element.list, *shared)))


def shared_variables(element: Every, rule: Rule) -> list[Variable]:
    """Return the variables of an `EVERY` that have one value for all members, by name."""
    found = frozenset[Variable]().union(*(inner.variables for inner in element.body))
    return sorted(found - {element.member} - local_variables(rule), key=str)


def cells(head: Slot, rule: Rule, name: str) -> Iterator[str]:
    """Write which list cells matter to a rule: those of lists that its patterns name."""
    if isinstance(head, Variable):
        seeds = [atom(pattern) for pattern in rule.atoms if head in pattern.slots]
        yield f"{name}_cell({head}) :- {', '.join(seeds)} ."
    else:
        yield f"{name}_cell({head}) ."
    yield f"{name}_cell(?r) :- {name}_cell(?l), {TRIPLE}(?l, {REST}, ?r) ."


def steps(name: str, inner: str, last: str, longer: tuple[str, str]) -> Iterator[str]:
    """Write the two rules of a predicate that grows along a list from its end."""
    cell = f"{name}_cell(?list), {TRIPLE}(?list, {FIRST}, {inner})"
    yield f"{name}({last} :- {cell}, {TRIPLE}(?list, {REST}, {NIL}), {longer[0]} ."
    yield f"{name}({last} :- {cell}, {TRIPLE}(?list, {REST}, ?rest), {longer[1]} ."


def every(element: Every, name: str, shared: Sequence[Variable]) -> Iterator[str]:
    """Write `EVERY`: it holds of a list if it holds of the first member and of the rest."""

    def rename(slot: Slot) -> Slot:
        # `list` and `rest` may be names in the rule too
        return Variable(f"v_{slot.name}") if isinstance(slot, Variable) else slot

    inner = ", ".join(atom(Atom(*map(rename, pattern.slots))) for pattern in element.body)
    values = "".join(f", {rename(variable)}" for variable in shared)
    again = f"{inner}, {name}(?rest{values})"
    yield from steps(name, str(rename(element.member)), f"?list{values})", (inner, again))


def chain(name: str) -> Iterator[str]:
    """Write `CHAIN`: a step by the first property, then the way along the rest."""
    last = f"{TRIPLE}(?from, ?property, ?to)"
    longer = f"{TRIPLE}(?from, ?property, ?via), {name}(?rest, ?via, ?to)"
    yield from steps(name, "?property", "?list, ?from, ?to)", (last, longer))


def write_rule(rule: Rule, views: dict[str, str]) -> list[str]:
    """Write one rule: its own predicates first, then the rule itself; add the views it reads."""
    if rule.data or rule.once:
        raise NotExpressibleError(rule.id)
    written = Written(views=views)
    setup = setup_of(rule)
    for number, element in enumerate(rule.body):
        if number not in setup:
            write_element(element, rule, number, written)
    if setup:
        first = Written(views=views)
        for number in setup:
            write_element(rule.body[number], rule, number, first)
        bound = frozenset[Variable]().union(*(occurring_in(rule.body[n]) for n in setup))
        predicate = call(f"setup_{name_of(rule)}", sorted(bound, key=str))
        written.own.append(f"{predicate} :- {', '.join(first.body)} .")
        written.body.insert(0, predicate)
    head, last = ", ".join(map(atom, rule.head)), []
    if rule.false:
        head = call(f"bad_{name_of(rule)}", named_variables(rule))
        last = [f'violation("{rule.id}") :- {head} .']
    return [f"% {rule.id}", *written.own, f"{head} :- {', '.join(written.body)} .", *last]


def setup_of(rule: Rule) -> list[int]:
    """Return the places of the body's elements that are about the ontology, if worth a predicate.

    They have to hang together, to be two or more, and to leave some pattern over.
    """
    if all(is_schema(pattern) for pattern in rule.atoms):
        return []
    chosen: list[int] = []
    bound: frozenset[Variable] = frozenset()
    for number, element in enumerate(rule.body):
        variables = occurring_in(element)
        fits = is_schema(element) and (not chosen or variables & bound)
        if fits or (isinstance(element, Filter) and variables <= bound):
            chosen.append(number)
            bound |= variables
    return chosen if len(chosen) > 1 else []


def is_schema(element: BodyElement) -> bool:
    """Say whether an element speaks of classes and properties, not of their instances."""
    if isinstance(element, Atom):
        named = element.o if element.p == RDF_TYPE else element.p
        return isinstance(named, str) and named[1:].startswith(VOCABULARIES)
    return isinstance(element, Member | Pair)


def view(pattern: Atom, views: dict[str, str]) -> str:
    """Write a pattern of the ontology as an atom of a relation of its own, noting its rule."""
    typed = pattern.p == RDF_TYPE
    named = str(pattern.o if typed else pattern.p)
    name = f"view_{named[1:-1].rpartition('#')[2]}"
    slots = (pattern.s,) if typed else (pattern.s, pattern.o)
    general = (Variable("s"),) if typed else (Variable("s"), Variable("o"))
    source = Atom(Variable("s"), pattern.p, pattern.o if typed else Variable("o"))
    views[name] = f"{call(name, general)} :- {atom(source)} ."
    return call(name, slots)


def name_of(rule: Rule) -> str:
    """Return the id of a rule as a part of predicate names."""
    return rule.id.replace("-", "_")


def write_element(element: BodyElement, rule: Rule, number: int, written: Written) -> None:
    """Write one element of a body."""
    if isinstance(element, Atom):
        apart = len(rule.atoms) >= MANY and is_schema(element)
        written.body.append(view(element, written.views) if apart else atom(element))
    elif isinstance(element, Filter):
        written.body += map(condition, conjuncts(element.expression))
    elif isinstance(element, ListCondition):
        list_condition(element, rule, number, written)
    else:
        raise NotExpressibleError(rule.id)


def write_rules(rules: RuleSet) -> Program:
    """Write a rule set; its `DATA` become facts."""
    lines = [f"{atom(Atom(*triple))} ." for triple in rules.data]
    kinds = {type(element) for rule in rules for element in rule.lists}
    lines += ENDED + MEMBER if kinds & {Member, Pair} else ()
    lines += PAIR if Pair in kinds else ()
    left_out = []
    views: dict[str, str] = {}
    for rule in rules:
        try:
            lines += write_rule(rule, views)
        except NotExpressibleError:
            left_out.append(rule.id)
    false = any(rule.false and rule.id not in left_out for rule in rules)
    return Program((*views.values(), *lines), tuple(left_out), false)


def text_of(rules: RuleSet) -> str:
    """Return the text of a program, without what it reads and writes of the triples.

    Violations are an output: Nemo works out only what an output needs.
    """
    program = write_rules(rules)
    names = ", ".join(program.left_out) or "nothing"
    lines = [f"% {rules.name}: {len(rules)} rules; left out: {names}", *program.lines]
    if program.violations:
        lines += ["@output violation .", '@export violation :- csv{resource="violations.csv"} .']
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", help="a built-in rule set or a rule file")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    arguments.output.write_text(text_of(load_rules(arguments.rules)), encoding="utf-8")
