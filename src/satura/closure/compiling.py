"""Rules become a program: constants as ids, bodies sorted, special kinds of rules recognized.

Invariant: every rule of the set lands in exactly one part of the program, or `compile_rules`
refuses it by name and line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from satura.closure.equality import take_equality_rules
from satura.closure.program import (
    FIRST,
    REST,
    SCHEMA_CLASSES,
    SCHEMA_PREDICATES,
    TYPE,
    Along,
    CompiledRule,
    Condition,
    ForEach,
    FromList,
    LiteralRule,
    Pattern,
    Program,
    Slot,
    Stratum,
    TermRule,
)
from satura.errors import UnsupportedError
from satura.rules.expression import SAME_VALUE, Call, conjuncts, variables_of
from satura.rules.model import (
    Assignment,
    Atom,
    Chain,
    Every,
    Filter,
    Member,
    Negation,
    Pair,
    Rule,
    RuleSet,
    Variable,
)
from satura.rules.model import Slot as TermSlot
from satura.rules.scope import local_variables
from satura.rules.strata import stratify
from satura.terms.ids import term_id
from satura.terms.ntriples import Term
from satura.vocab import OWL_SAME_AS, RDF_TYPE


def compile_rules(rules: RuleSet, *, plain: bool = False) -> Program:
    """Turn a rule set into a program.

    A program is `plain` if asked for, and if its rules have to be run in strata.
    """
    rules = replace(rules, rules=tuple(rule for rule in rules if rule.head or rule.false))
    levels = stratify(replace(rules, rules=tuple(rule for rule in rules if not rule.false)))
    plain = plain or len(levels) > 1
    term_rules, others = ([], list(rules.rules)) if plain else _take_term_rules(rules.rules)
    equality = False
    if not plain:
        equality, others = take_equality_rules(others)
    listed = {p for rule in others for p in _list_predicates(rule)}
    compiled = {id(rule): _compile(rule, listed, plain, equality) for rule in others}
    literal_rules = [] if plain else [x for x in map(_as_literal_rule, compiled.values()) if x]
    about_literals = {x.rule.rule.id for x in literal_rules}
    rest = [rule for rule in compiled.values() if rule.id not in about_literals]
    concluding = [rule for rule in rest if not rule.rule.false]
    schema = [p for rule in rest for p in rule.schema]
    schema += [p for x in literal_rules for p in x.rule.schema]
    reads_lists = any(rule.lists or rule.loops for rule in rest)
    predicates = {p for _, p, _ in schema if isinstance(p, int) and p != TYPE}
    if reads_lists:
        predicates |= {FIRST, REST}
    if plain:
        schema_rules: list[CompiledRule] = []
        strata = tuple(
            Stratum(
                tuple(compiled[id(rule)] for rule in level.once),
                tuple(compiled[id(rule)] for rule in level.general),
            )
            for level in levels
        )
        preliminary: list[CompiledRule] = []
    else:
        preliminary = [rule for rule in concluding if rule.rule.once or rule.rule.data]
        schema_rules = [x for x in concluding if x.is_schema and x not in preliminary]
        general = [x for x in concluding if not x.is_schema and x not in preliminary]
        strata = (Stratum((), tuple(general)),)
    return Program(
        name=rules.name,
        schema_rules=tuple(schema_rules),
        strata=strata,
        preliminary=tuple(preliminary),
        false_rules=tuple(rule for rule in rest if rule.rule.false),
        term_rules=tuple(term_rules),
        literal_rules=tuple(literal_rules),
        data=frozenset((term_id(s), term_id(p), term_id(o)) for s, p, o in rules.data),
        schema_predicates=frozenset(predicates),
        schema_classes=frozenset(o for _, p, o in schema if p == TYPE and isinstance(o, int)),
        names=_names(rules),
        equality=equality,
        plain=plain,
        reads_lists=reads_lists,
    )


def _names(rules: RuleSet) -> Mapping[int, Term]:
    texts = {text for triple in rules.data for text in triple} | {RDF_TYPE}
    for rule in rules:
        for atom in rule.every_atom:
            texts |= {slot for slot in atom.slots if isinstance(slot, str)}
    return {term_id(text): text for text in texts}


def is_schema_atom(atom: Atom) -> bool:
    """Say whether a rule's atom reads schema."""
    if atom.p == RDF_TYPE:
        return atom.o in SCHEMA_CLASSES
    return atom.p in SCHEMA_PREDICATES


def _list_predicates(rule: Rule) -> set[TermSlot]:
    """Return the predicates of the patterns that lead a rule to the lists it looks into."""
    heads = {x.list for x in rule.body if isinstance(x, Member | Pair | Every | Chain)}
    found: set[TermSlot] = set()
    for wanted in heads:
        if not isinstance(wanted, Variable):
            continue
        leading = {atom.p for atom in rule.atoms if atom.o == wanted and isinstance(atom.p, str)}
        if not leading - {RDF_TYPE}:
            raise _refuse(
                rule,
                f"the list `{wanted}` is not the object of a pattern with a constant predicate",
                "lead to the list by a property, as `?c owl:intersectionOf ?list` does",
            )
        found |= leading
    return found


def _compile(rule: Rule, listed: set[TermSlot], plain: bool, equality: bool) -> CompiledRule:
    looks = [x for x in rule.body if isinstance(x, Member | Pair | Every | Chain)]
    if plain and looks:
        raise _refuse(
            rule,
            "a condition over lists cannot stand beside rules that need strata",
            "put the rules with `NOT` or `SET` into a rule set of their own",
        )
    schema: list[Pattern] = []
    instance: list[Pattern] = []
    driver = not plain and not rule.data and not rule.once
    for atom in rule.atoms:
        is_schema = driver and (is_schema_atom(atom) or atom.p in listed)
        (schema if is_schema else instance).append(_pattern(atom))
    lists = [
        FromList(
            (x.member.name,) if isinstance(x, Member) else (x.first.name, x.second.name),
            _slot(x.list),
        )
        for x in looks
        if isinstance(x, Member | Pair)
    ]
    loops = [_loop(rule, x) for x in looks if isinstance(x, Every | Chain)]
    known = {s for p in schema for s in p} | {n for x in lists for n in x.names}
    tests: list[Filter] = []
    conditions: list[Condition] = []
    irreflexive = False
    for element in rule.body:
        if equality and isinstance(element, Filter) and _is_irreflexive(rule, element):
            irreflexive = True
        elif isinstance(element, Filter) and driver and _reads(element) <= known:
            tests.append(element)
        elif isinstance(element, Filter | Assignment | Negation):
            conditions.append(element)
    return CompiledRule(
        rule.id, tuple(_pattern(atom) for atom in rule.head), tuple(schema), tuple(instance), rule,
        tuple(lists), tuple(loops), tuple(tests), tuple(conditions), irreflexive,
    )  # fmt: skip


def _is_irreflexive(rule: Rule, element: Filter) -> bool:
    """Say whether a filter only keeps a rule from concluding that a term equals itself.

    Among representatives that is a comparison of ids, and needs no text.
    """
    if len(rule.head) != 1 or rule.head[0].p != OWL_SAME_AS:
        return False
    a, _, b = rule.head[0].slots
    match element.expression:
        case Call("!", (Call("SAMETERM", (x, y)),)):
            return {x, y} == {a, b}
    return False


def _reads(element: Filter) -> set[Slot]:
    return {variable.name for variable in variables_of(element.expression)}


def _loop(rule: Rule, element: Every | Chain) -> ForEach | Along:
    if isinstance(element, Chain):
        return Along(_slot(element.list), _slot(element.start), _slot(element.end))
    inner = {v.name for atom in element.body for v in atom.variables}
    own = frozenset(inner & {v.name for v in local_variables(rule)})
    return ForEach(
        _slot(element.list), element.member.name, tuple(map(_pattern, element.body)), own
    )


def _pattern(atom: Atom) -> Pattern:
    s, p, o = (_slot(slot) for slot in atom.slots)
    return s, p, o


def _slot(slot: TermSlot) -> Slot:
    return slot.name if isinstance(slot, Variable) else term_id(slot)


def _refuse(rule: Rule, why: str, hint: str) -> UnsupportedError:
    return UnsupportedError(
        "RULE-UNSUPPORTED", f"rule `{rule.id}`: {why}", hint,
        source=rule.position.source, line=rule.position.line, column=rule.position.column,
    )  # fmt: skip


def _as_literal_rule(rule: CompiledRule) -> LiteralRule | None:
    """Return the rule as one about literals, if it only asks what literals there are.

    `?s ?p ?l FILTER(isLITERAL(?l))`, with subject and predicate used nowhere else, is that
    question; it must not be answered by looking at every triple.
    """
    if not rule.instance or rule.loops or rule.lists or rule.rule.once or rule.rule.data:
        return None
    if not all(isinstance(x, Filter) for x in rule.conditions):
        return None
    filters = [x for x in rule.conditions if isinstance(x, Filter)]
    parts = [part for x in filters for part in conjuncts(x.expression)]
    literals = {
        part.arguments[0].name
        for part in parts
        if isinstance(part, Call)
        and part.function == "ISLITERAL"
        and isinstance(part.arguments[0], Variable)
    }
    used = [slot for pattern in rule.instance for slot in pattern]
    elsewhere = {slot for pattern in (*rule.head, *rule.schema) for slot in pattern}
    elsewhere |= {name for x in filters for name in _reads(x)}
    found: list[str] = []
    for s, p, o in rule.instance:
        if o not in literals or not isinstance(o, str) or used.count(o) > 1:
            return None
        if any(isinstance(x, int) or x in elsewhere or used.count(x) > 1 for x in (s, p)):
            return None
        found.append(o)
    if len(found) == 2:
        # Any two literals would be too many; two of the same value are few.
        pair = set(map(Variable, found))
        if not any(
            isinstance(x, Call) and x.function == SAME_VALUE and set(x.arguments) == pair
            for x in parts
        ):
            return None
    return LiteralRule(rule.id, tuple(found), rule) if len(found) <= 2 else None


def _take_term_rules(rules: Iterable[Rule]) -> tuple[list[TermRule], list[Rule]]:
    """Take out the triples of rules that filter the subject, the predicate and the object alike.

    One such rule alone would need to know the position of a term; the three together do not, and
    the dictionary of all terms answers them.
    """
    groups: dict[object, dict[str, tuple[Rule, TermRule]]] = {}
    others: list[Rule] = []
    for rule in rules:
        found = _as_term_rule(rule)
        if found is None:
            others.append(rule)
        else:
            position, shape, term_rule = found
            groups.setdefault(shape, {})[position] = (rule, term_rule)
    taken: list[TermRule] = []
    for group in groups.values():
        if set(group) == {"s", "p", "o"}:
            taken.append(group["s"][1])
        else:
            others += [rule for rule, _ in group.values()]
    return taken, others


def _as_term_rule(rule: Rule) -> tuple[str, object, TermRule] | None:
    filters: Sequence[Filter] = rule.filters
    if len(rule.body) != 1 + len(filters) or len(rule.atoms) != 1 or not filters or rule.false:
        return None
    atom = rule.atoms[0]
    read = frozenset[Variable]().union(*(variables_of(f.expression) for f in filters))
    if len(atom.variables) != 3 or len(read) != 1:
        return None
    (variable,) = read
    if any(not head.variables <= read for head in rule.head):
        return None
    position = "spo"[atom.slots.index(variable)]
    # The same rule for another position differs only in the name of its variable.
    shape = (
        tuple(str(f.expression).replace(str(variable), "?") for f in filters),
        tuple(str(head).replace(str(variable), "?") for head in rule.head),
    )
    head = tuple(_pattern(h) for h in rule.head)
    condition = tuple(f.expression for f in filters)
    return position, shape, TermRule(rule.id, variable, condition, head)
