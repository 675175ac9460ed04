"""Random SPARQL-RL programs as text: recursive joins, and conditions in several strata.

Every program has predicates of its own space, so that many of them are one rule set and cost one
run. `conditional_program` sorts predicates into layers: a rule concludes something of its layer,
`NOT`, `SET` and fresh blank nodes read lower layers only, so every program can be stratified.
"""

from __future__ import annotations

from random import Random

from satura.terms.ntriples import Term, Triple
from satura.vocab import XSD

PREDICATES = 6
LAYERS = 3
THINGS = 4
VARIABLES = ("?x", "?y", "?z", "?w")


def prefix(space: str) -> str:
    return f"http://e/{space}/"


class _Writer:
    """Writes the rules of one program."""

    def __init__(self, seed: int, space: str) -> None:
        self.random = Random(f"program {seed}")
        self.space = space
        self.rules: list[str] = []

    def predicate(self, number: int) -> str:
        return f"<{prefix(self.space)}p{number}>"

    def thing(self) -> str:
        return f"<{prefix(self.space)}i{self.random.randrange(THINGS)}>"

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def atom(self, predicates: list[str], bound: list[str], *, anything: bool = False) -> str:
        """Return a pattern; most share a variable with those before."""
        s, o = self.random.choice(VARIABLES), self.random.choice(VARIABLES)
        if bound and self.maybe(0.8):
            shared = self.random.choice(bound)
            s, o = (shared, o) if self.maybe(0.5) else (s, shared)
        if self.maybe(0.1):
            o = s
        elif self.maybe(0.1):
            o = self.thing()
        elif self.maybe(0.05):
            s = self.thing()
        p = self.random.choice(predicates)
        if anything and self.maybe(0.15):
            p = self.random.choice(("?p", "?p", "?x"))
        return f"{s} {p} {o}"

    def head(self, predicates: list[str], bound: list[str], *, anything: bool = False) -> str:
        def slot() -> str:
            return self.random.choice(bound) if bound and self.maybe(0.85) else self.thing()

        p = self.random.choice(predicates)
        if anything and bound and self.maybe(0.1):
            p = self.random.choice(bound)
        return f"{slot()} {p} {slot()}"

    def add(self, head: list[str], body: list[str], *, data: bool = False) -> None:
        name = f"<{prefix(self.space)}r{len(self.rules)}>"
        where = "WHERE DATA" if data else "WHERE"
        self.rules.append(f"RULE {name} {{ {' . '.join(head)} }} {where} {{ {' '.join(body)} }}")


def names_in(patterns: list[str]) -> list[str]:
    """Return the variables of patterns, each once."""
    words = " ".join(patterns).split()
    return list(dict.fromkeys(word for word in words if word.startswith("?")))


def recursive_program(seed: int, space: str, *, anything: bool = True) -> str:
    """Return one to four rules of one to three patterns, recursive as it happens.

    With `anything`, predicates may be variables in bodies and heads.
    """
    to = _Writer(seed, space)
    predicates = [to.predicate(i) for i in range(3)]
    for _ in range(to.random.randint(1, 4)):
        body: list[str] = []
        for _ in range(to.random.choice((1, 2, 2, 2, 3))):
            body.append(to.atom(predicates, names_in(body), anything=anything))
        bound = names_in(body)
        heads = to.random.choice((1, 1, 2))
        to.add(
            [to.head(predicates, bound, anything=anything) for _ in range(heads)],
            [f"{pattern} ." for pattern in body],
        )
    return "\n".join(to.rules)


def conditional_program(seed: int, space: str) -> str:
    """Return three to seven rules with `FILTER`, `SET`, `NOT`, `DATA` and blank nodes."""
    to = _Writer(seed, space)
    width = PREDICATES // LAYERS
    layers = [[to.predicate(i) for i in range(n * width, (n + 1) * width)] for n in range(LAYERS)]
    for _ in range(to.random.randint(3, 7)):
        _conditional_rule(to, layers)
    return "\n".join(to.rules)


def _conditional_rule(to: _Writer, layers: list[list[str]]) -> None:
    level = to.random.randrange(LAYERS)
    below = [p for layer in layers[:level] for p in layer]
    data = to.maybe(0.12)
    every = [p for layer in layers for p in layer]
    makes = bool(below or data) and to.maybe(0.4)
    readable = every if data else below if makes else [*below, *layers[level]]
    body: list[str] = []
    patterns: list[str] = []
    # What comes last may use names that a NOT before it used for something else.
    late = to.maybe(0.2)
    for _ in range(to.random.choice((0, 1, 1, 2, 2)) if below or data else to.random.randint(1, 2)):
        patterns.append(to.atom(readable, names_in(patterns)))
    after = [patterns.pop()] if late and len(patterns) > 1 else []
    body += [f"{pattern} ." for pattern in patterns]
    if patterns and to.maybe(0.5):
        body.append(f"FILTER ( {_test(to, names_in(patterns))} )")
    if data or below or to.maybe(0.2):
        body += _negations(to, every if data else below, every, names_in(patterns))
    body += [f"{pattern} ." for pattern in after]
    bound = names_in([*patterns, *after])
    head = [to.head(layers[level], bound) for _ in range(to.random.choice((1, 1, 2)))]
    if makes and to.maybe(0.6):
        body, head = _assigned(to, body, head, bound)
        if to.maybe(0.3) and (data or below):
            body += _negations(to, every if data else below, every, [*bound, "?made"], chance=1.0)
    if makes and to.maybe(0.5):
        p = to.random.choice(layers[level])
        subject = to.random.choice(bound) if bound else to.thing()
        head += [f"{subject} {p} _:new", f"_:new {p} _:other"][: to.random.randint(1, 2)]
    to.add(head, body, data=data)


def _test(to: _Writer, bound: list[str]) -> str:
    """Return a condition: some are answered by ids, some look inside terms."""
    a, b = to.random.choice(bound), to.random.choice(bound)
    return to.random.choice(
        (
            f"isLITERAL({a})", f"!isLITERAL({a})", f"isIRI({a})", f"isBLANK({a})",
            f"sameTerm({a}, {b})", f"!sameTerm({a}, {b})", f"{a} != {b}", f"{a} = {b}",
            f"{a} > 1", f"STR({a}) < STR({b})", f'REGEX(STR({a}), "[02]$")',
            f"{a} IN ({to.thing()}, {to.thing()}, 2)",
            f"isLITERAL({a}) && !sameTerm({a}, {b})", f"isIRI({a}) || {a} = 2", "1 < 2",
        )
    )  # fmt: skip


def _negations(
    to: _Writer, readable: list[str], every: list[str], bound: list[str], chance: float = 0.35
) -> list[str]:
    if not to.maybe(chance):
        return []
    data = not readable or to.maybe(0.3)
    patterns: list[str] = []
    for _ in range(to.random.choice((1, 1, 2))):
        patterns.append(to.atom(every if data else readable, [*bound, *names_in(patterns)]))
    inner = [f"{pattern} ." for pattern in patterns]
    seen = names_in(patterns)
    if seen and to.maybe(0.4):
        inner.append(f"FILTER ( {_test(to, [*seen, *bound])} )")
    return [f"NOT {'DATA ' if data else ''}{{ {' '.join(inner)} }}"]


def _assigned(
    to: _Writer, body: list[str], head: list[str], bound: list[str]
) -> tuple[list[str], list[str]]:
    """Add an assignment or two; the first is used by the second, a filter, or the head."""
    a = to.random.choice(bound) if bound else "2"
    text = f'CONCAT(STR({a}), "+")'
    value = to.random.choice(
        (f"{a} + 1", f"STR({a})", text, f"IRI({text})", "UUID()", "STRUUID()", "BNODE()",
         f"IF(isLITERAL({a}), {a}, 7)", "1 + 1", f'BNODE("{to.random.randint(0, 1)}")')
    )  # fmt: skip
    body = [*body, f"SET ( ?made := {value} )"]
    if to.maybe(0.3):
        body.append("FILTER ( !isBLANK(?made) )")
    used = "?made"
    if to.maybe(0.3):
        body.append("SET ( ?more := CONCAT(STR(?made), STR(?made)) )")
        used = "?more"
    if to.maybe(0.8):
        s, p, _ = head[0].split()
        head = [f"{s} {p} {used}", *head[1:]]
    return body, head


def program_graph(
    seed: int, space: str, *, predicates: int = PREDICATES, most: int = 12
) -> frozenset[Triple]:
    """Return a graph over the predicates of a program, with literals and blank nodes in it."""
    random = Random(f"program graph {seed}")
    base = prefix(space)
    things: list[Term] = [f"<{base}i{n}>" for n in range(THINGS)]
    blanks = [f"_:{space}b{n}" for n in range(2)]
    numbers = [f'"{n}"^^<{XSD}integer>' for n in range(3)]
    found: set[Triple] = set()
    for _ in range(random.randint(most // 3, most)):
        o = random.choice([*things * 3, *blanks, *numbers, f'"text {space}"'])
        p = f"<{base}p{random.randrange(predicates)}>"
        found.add((random.choice([*things * 2, *blanks]), p, o))
    return frozenset(found)
