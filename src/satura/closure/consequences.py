"""The consequence table: what follows from one triple under the closed schema, all at once.

The linear rules, specialized to the schema, say what one triple entails. Their transitive closure
is computed *symbolically*, once per signature instead of once per triple: start from the triple
`(S, p, O)` with unknown subject and object, apply every rule that fits, and again to what comes
out. What is left are *forms*, triples over S, P, O and constants. Evaluating a form needs only the
triple itself, so one pass over the data derives everything that linear rules can.

Rows are kept by what they depend on, the more special only holding what the more general lacks:
`any` triple, its `predicate`, its predicate and `object` (`rdf:type` and its class), its predicate
and `subject`, its predicate if subject and object are the same (`loop`).

A form that is itself schema goes to `feeds` and is not followed: that fact joins the schema, the
schema is closed again, and the fact is a root of the pass like any asserted triple.

Invariant: the union of the forms of all rows that fit a triple, grounded, is exactly what the
linear rules derive from it without passing through another schema fact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

from satura.closure.program import TYPE, Fact, Program, Slot
from satura.closure.specialize import Form, Head, LinearForms, O, P, S

SYMBOLS: Final = frozenset((S, P, O))
Forms = tuple[Form, ...]
Key = TypeVar("Key", int, tuple[int, int])


class Table(NamedTuple):
    """Forms by what they depend on."""

    any: Forms
    predicate: Mapping[int, Forms]
    object: Mapping[tuple[int, int], Forms]
    subject: Mapping[tuple[int, int], Forms]
    loop: Mapping[int, Forms]

    def of(self, fact: Fact) -> Iterator[Fact]:
        """Yield the conclusions of one triple, grounded."""
        s, p, o = fact
        for forms in (
            self.any,
            self.predicate.get(p, ()),
            self.object.get((p, o), ()),
            self.subject.get((p, s), ()),
            self.loop.get(p, ()) if s == o else (),
        ):
            for form in forms:
                yield instantiate(form, s, p, o)

    def all_forms(self) -> Iterator[Form]:
        """Yield every form of every row."""
        yield from self.any
        for rows in (self.predicate, self.object, self.subject, self.loop):
            for forms in rows.values():
                yield from forms

    def map_forms(self, change: Callable[[Forms], Forms]) -> Table:
        """Change the forms of every row; rows left without any are dropped."""

        def changed(rows: Mapping[Key, Forms]) -> dict[Key, Forms]:
            return {key: kept for key, forms in rows.items() if (kept := change(forms))}

        return Table(
            change(self.any),
            changed(self.predicate),
            changed(self.object),
            changed(self.subject),
            changed(self.loop),
        )

    def __bool__(self) -> bool:
        return any(len(rows) > 0 for rows in self)


class Concluders(NamedTuple):
    """For each form of a table, in its place, the rule that concludes it.

    Several rules may conclude a form; it is the one by which it was found first.
    """

    any: tuple[str, ...] = ()
    predicate: Mapping[int, tuple[str, ...]] = MappingProxyType({})
    object: Mapping[tuple[int, int], tuple[str, ...]] = MappingProxyType({})
    subject: Mapping[tuple[int, int], tuple[str, ...]] = MappingProxyType({})
    loop: Mapping[int, tuple[str, ...]] = MappingProxyType({})


NO_RULES: Final = Concluders()


@dataclass(frozen=True, slots=True)
class Consequences:
    """The two tables of a program under a closed schema, and which rules the first is from."""

    derives: Table
    feeds: Table
    rules: Concluders = NO_RULES


def instantiate(form: Form, s: int, p: int, o: int) -> Fact:
    """Ground a form with the terms of a triple."""
    a, b, c = form
    return (
        s if a is S else o if a is O else p if a is P else a,
        p if b is P else s if b is S else o if b is O else b,
        o if c is O else s if c is S else p if c is P else c,
    )  # type: ignore[return-value]


class NotLinearError(Exception):
    """Linear rules feed each other in a way that no table can hold; they have to be joined."""


def build_consequences(program: Program, forms: LinearForms) -> Consequences:
    """Close linear rules symbolically, or raise `NotLinearError`."""
    return _Builder(program, forms).build()


Found = dict[Form, str]
"""Forms, each with the rule that concludes it."""


@dataclass(slots=True)
class _Rows:
    """The forms of every row so far, schema or not."""

    any: Found
    predicate: dict[int, Found] = field(default_factory=dict)
    object: dict[tuple[int, int], Found] = field(default_factory=dict)
    subject: dict[tuple[int, int], Found] = field(default_factory=dict)
    loop: dict[int, Found] = field(default_factory=dict)

    def of(self, s: int, p: int, o: int) -> set[Form]:
        """Return what the rows that fit a triple say of it, grounded; the triple included."""
        fitting = {*self.any, *self.predicate.get(p, ())}
        fitting |= {*self.object.get((p, o), ()), *self.subject.get((p, s), ())}
        if s == o:
            fitting.update(self.loop.get(p, ()))
        return {instantiate(form, s, p, o) for form in fitting} | {(s, p, o)}


class _Builder:
    """Closes the forms of every signature; holds the indexes that this needs."""

    def __init__(self, program: Program, rules: LinearForms) -> None:
        self.program = program
        self.rules = rules
        self.object_keys: dict[int, set[int]] = {TYPE: set(program.schema_classes)}
        for p, o in rules.object:
            self.object_keys.setdefault(p, set()).add(o)
        self.subject_keys: dict[int, set[int]] = {}
        for p, s in rules.subject:
            self.subject_keys.setdefault(p, set()).add(s)

    def build(self) -> Consequences:
        general, needs = self.expand((S, P, O))
        if needs:
            raise NotLinearError(
                "a rule over every predicate concludes `rdf:type` of a class found in the data"
            )
        if self.rules.loop and self.expand((S, P, S))[0].keys() - _rename(general, O, S):
            raise NotLinearError(
                "a rule over every predicate feeds a rule that wants subject and object equal"
            )
        rows = _Rows(general)
        for p in self.rules.predicates() | self.program.schema_predicates | {TYPE}:
            self._add_rows(rows, p)
        return Consequences(
            self._table(rows, schema=False),
            self._table(rows, schema=True),
            Concluders(
                self._rules_of(rows.any),
                self._rules_of_all(rows.predicate),
                self._rules_of_all(rows.object),
                self._rules_of_all(rows.subject),
                self._rules_of_all(rows.loop),
            ),
        )

    def _table(self, rows: _Rows, *, schema: bool) -> Table:
        return Table(
            any=self._pick(rows.any, schema),
            predicate=self._pick_all(rows.predicate, schema),
            object=self._pick_all(rows.object, schema),
            subject=self._pick_all(rows.subject, schema),
            loop=self._pick_all(rows.loop, schema),
        )

    def _add_rows(self, rows: _Rows, p: int) -> None:
        """Expand every case of one predicate, and check that no two cases make a third."""
        forms, needs = self.expand((S, p, O))
        rows.predicate[p] = _without(forms, self._said(rows.any, P, p))
        both: set[tuple[int, int]] = set()
        for o in needs.get(O, ()):
            found, further = self.expand((S, p, o))
            rows.object[p, o] = _without(found, self._said(forms, O, o))
            both |= {(s, o) for s in further.get(S, ())}
        for s in needs.get(S, ()):
            found, further = self.expand((s, p, O))
            rows.subject[p, s] = _without(found, self._said(forms, S, s))
            both |= {(s, o) for o in further.get(O, ())}
        if self.rules.loop:
            found, further = self.expand((S, p, S))
            rows.loop[p] = _without(found, self._said(forms, O, S))
            both |= {(s, s) for s in further.get(S, ())}
        for s, o in both:
            if not self.expand((s, p, o))[0].keys() <= rows.of(s, p, o):
                raise NotLinearError(f"subject and object of {p} matter at once")

    def _said(self, forms: Iterable[Form], symbol: str, value: Slot) -> set[Form]:
        """Return what more general rows say of a case.

        A form that is schema only in this case (`?x a ?c`, and the class is `rdfs:Datatype`) is not
        said by them: it has to feed the schema.
        """
        is_schema = self.program.is_schema
        return {
            said
            for form in forms
            for said in _rename([form], symbol, value)
            if is_schema(said) is is_schema(form)
        }

    def expand(self, start: Form) -> tuple[Found, dict[str, set[int]]]:
        """Return all forms that follow from `start`, and by which values to tell cases apart.

        An unknown (S or O) is taken to be none of the constants that rules look for. Where a rule
        looks for constants in the place of an unknown, those constants are reported, and the
        caller expands again with each of them.
        """
        seen: Found = {start: ""}
        stack = [start]
        needs: dict[str, set[int]] = {}
        is_schema = self.program.is_schema
        while stack:
            s, p, o = form = stack.pop()
            if form != start and is_schema(form):
                continue
            for heads in self._heads(form, needs):
                for a, b, c, rule in heads:
                    found = (
                        s if a is S else o if a is O else p if a is P else a,
                        p if b is P else s if b is S else o if b is O else b,
                        o if c is O else s if c is S else p if c is P else c,
                    )
                    if found not in seen:
                        seen[found] = rule
                        stack.append(found)
                        if found[2] in SYMBOLS and found[1] in self.object_keys:
                            self._need(needs, found[2], self.object_keys[found[1]])
        del seen[start]
        return seen, needs

    def _need(self, needs: dict[str, set[int]], symbol: Slot, values: Collection[int]) -> None:
        if isinstance(symbol, str):
            needs.setdefault(symbol, set()).update(values)

    def _heads(self, form: Form, needs: dict[str, set[int]]) -> Iterator[Sequence[Head]]:
        s, p, o = form
        rules = self.rules
        yield rules.any
        if not isinstance(p, int):
            if p is not P:
                raise NotLinearError("a rule takes a predicate from a subject or object")
            return
        yield rules.predicate.get(p, ())
        if isinstance(o, int):
            yield rules.object.get((p, o), ())
        elif p in self.object_keys:
            needs.setdefault(o, set()).update(self.object_keys[p])
        if isinstance(s, int):
            yield rules.subject.get((p, s), ())
        elif p in self.subject_keys:
            needs.setdefault(s, set()).update(self.subject_keys[p])
        if s == o:
            yield rules.loop.get(p, ())
        elif p in rules.loop:
            # A constant on one side: it is a loop for that one value of the other.
            for symbol, constant in ((s, o), (o, s)):
                if isinstance(symbol, str) and isinstance(constant, int):
                    needs.setdefault(symbol, set()).add(constant)

    def _pick(self, forms: Iterable[Form], schema: bool) -> Forms:
        return tuple(form for form in forms if self.program.is_schema(form) is schema)

    def _pick_all(self, rows: Mapping[Key, Found], schema: bool) -> dict[Key, Forms]:
        picked = {key: self._pick(forms, schema) for key, forms in rows.items()}
        return {key: forms for key, forms in picked.items() if forms}

    def _rules_of(self, forms: Found) -> tuple[str, ...]:
        return tuple(rule for form, rule in forms.items() if not self.program.is_schema(form))

    def _rules_of_all(self, rows: Mapping[Key, Found]) -> dict[Key, tuple[str, ...]]:
        found = {key: self._rules_of(forms) for key, forms in rows.items()}
        return {key: rules for key, rules in found.items() if rules}


def _without(forms: Found, others: Collection[Form]) -> Found:
    return {form: rule for form, rule in forms.items() if form not in others}


def _rename(forms: Iterable[Form], symbol: str, value: Slot) -> set[Form]:
    return {
        (
            value if a is symbol else a,
            value if b is symbol else b,
            value if c is symbol else c,
        )
        for a, b, c in forms
    }
