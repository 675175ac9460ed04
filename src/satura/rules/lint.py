"""Finds everything that is wrong or odd about a rule file, not only the first fault.

A syntax error does not hide the rest: the statement it stands in is blanked out and the file is
read again. Oddities that are no faults are `RuleWarning`s: a rule that concludes only what it
reads, patterns that share no variable, an id or a prefix to clean up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from satura.errors import ParseError, RuleError, SaturaError
from satura.rules.jena import is_jena
from satura.rules.model import Atom, Filter, ListCondition, Position, Rule, Variable
from satura.rules.names import Names
from satura.rules.reader import Importer, Reading, read_import
from satura.rules.scope import occurring_in
from satura.rules.strata import stratify
from satura.rules.syntax import parse
from satura.terms.ntriples import is_literal

STATEMENT: Final = re.compile(r"^[ \t]*(RULE|DATA|PREFIX|BASE|IMPORTS|VERSION)\b", re.I | re.M)
MAX_SYNTAX_ERRORS: Final = 100


class RuleWarning(RuleError):  # noqa: N818 (a warning is what it is)
    """Something legal that is probably not meant."""


def lint(
    text: str, source: str, *, base: str | None = None, importer: Importer | None = None
) -> list[SaturaError]:
    """Return all faults and warnings of a rule file, in the order of the file."""
    readable, found = (text, []) if is_jena(source) else _blank_syntax_errors(text, source)
    reading = Reading(importer or read_import)
    reading.read(readable, source=source, base=base)
    found += reading.faults
    if not found:
        # Half a rule set says little about the whole, so this waits until all of it is read.
        try:
            stratify(reading.rule_set(source, source))
        except RuleError as error:
            found.append(error)
    main = reading.main
    assert main is not None
    rules = [rule for rule in reading.rules if rule.position.source == source]
    found += (_warning(main, n.code, n.message, n.hint, n.position) for n in reading.notes)
    found += _prefix_warnings(main)
    found += _id_warnings(main, reading.rules)
    for rule in rules:
        found += _rule_warnings(main, rule)
    return sorted(found, key=_place)


def _place(error: SaturaError) -> tuple[int, int]:
    if isinstance(error, ParseError):
        return error.line or 0, error.column or 0
    return 0, 0


def _blank_syntax_errors(text: str, source: str) -> tuple[str, list[SaturaError]]:
    """Return a text that parses, and the errors of the statements blanked out of it."""
    found: list[SaturaError] = []
    original = text.splitlines()
    while len(found) < MAX_SYNTAX_ERRORS:
        try:
            parse(text, source=source)
        except ParseError as error:
            line = error.line or 1
            if line <= len(original) and error.excerpt is not None:
                error.excerpt = original[line - 1]
            found.append(error)
            shorter = _without_statement(text, line, error.column or 1)
            if shorter == text:
                break
            text = shorter
        else:
            return text, found
    return "", found


def _without_statement(text: str, line: int, column: int) -> str:
    """Blank the statement around a place, line breaks excepted, so that positions stay true."""
    lines = text.splitlines(keepends=True)
    place = sum(map(len, lines[: line - 1])) + column - 1
    starts = [match.end() - len(match[1]) for match in STATEMENT.finditer(text)]
    start = place
    if not _parses(text[:place]):
        # The fault is in the statement before: a `RULE` in the middle of a rule ends that rule.
        start = max((s for s in starts if s < place), default=0)
    end = min((s for s in starts if s >= place and s > start), default=len(text))
    return text[:start] + re.sub(r"[^\r\n]", " ", text[start:end]) + text[end:]


def _parses(text: str) -> bool:
    try:
        parse(text, source="")
    except ParseError:
        return False
    return True


def _warning(names: Names, code: str, message: str, hint: str, at: Position) -> SaturaError:
    return names.fault(RuleWarning, code, message, at=at, hint=hint)


def _prefix_warnings(names: Names) -> Iterator[SaturaError]:
    for prefix, position in names.declared.items():
        if prefix not in names.used:
            message = f"the prefix `{prefix}:` is declared and never used"
            yield _warning(names, "LINT-UNUSED-PREFIX", message, "take the line out", position)


def _id_warnings(names: Names, rules: Sequence[Rule]) -> Iterator[SaturaError]:
    first: dict[str, Position] = {}
    for rule in rules:
        if rule.iri and rule.id in first:
            yield _warning(
                names,
                "LINT-DUPLICATE-ID",
                f"the rule id `{rule.id}` is taken by the rule at {first[rule.id]}",
                "give the rule another name; explanations and reports tell rules by it",
                rule.position,
            )
        first.setdefault(rule.id, rule.position)


def _rule_warnings(names: Names, rule: Rule) -> Iterator[SaturaError]:
    for atom in rule.head:
        if atom in rule.atoms:
            yield _warning(
                names,
                "LINT-NOTHING-NEW",
                f"`{rule.id}` concludes `{atom}`, which is a pattern of its body",
                "a conclusion that was read is nothing new; take it out of the head",
                rule.position,
            )
        if isinstance(atom.s, str) and is_literal(atom.s):
            yield _warning(
                names,
                "LINT-LITERAL-SUBJECT",
                f"`{rule.id}` concludes `{atom}`, whose subject is a literal",
                "such a conclusion can be read by rules but is no part of the result",
                rule.position,
            )
    links = [occurring_in(e) for e in rule.body if isinstance(e, Filter | ListCondition)]
    groups = connected(rule.atoms, links)
    if len(groups) > 1:
        shown = " and ".join(f"`{group[0]}`" for group in groups[:3])
        yield _warning(
            names,
            "LINT-CARTESIAN",
            f"the body of `{rule.id}` has {len(groups)} parts that share no variable: {shown}",
            "every solution of one is combined with every solution of the other; join them",
            rule.position,
        )


def connected(atoms: Sequence[Atom], links: Sequence[frozenset[Variable]] = ()) -> list[list[Atom]]:
    """Return the atoms grouped so that groups share no variable; ground atoms are left out.

    A link is a set of variables that some other element relates to each other.
    """
    groups: list[tuple[frozenset[Variable], list[Atom]]] = []
    for variables, own in [*((a.variables, [a]) for a in atoms), *((link, []) for link in links)]:
        joined = [group for group in groups if variables & group[0]]
        groups = [group for group in groups if not variables & group[0]]
        if variables:
            together = variables.union(*(group[0] for group in joined))
            groups.append((together, [*(a for group in joined for a in group[1]), *own]))
    return [group for _, group in groups if group]
