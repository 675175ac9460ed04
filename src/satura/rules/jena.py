"""Reads the text of Jena's general purpose rules as rules of this model.

A rule is taken over only if it means here what it means to Jena; the rest is refused by name and
place, never passed over. Three things of Jena's engines are spelled out: a forward rule runs its
built-in calls after all its patterns, a literal in a pattern is compared by its value, and a rule
without a body states triples. A backward rule is read as the forward rule of the same logic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Final

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from satura.errors import ParseError, SaturaError
from satura.rules.checks import Fault
from satura.rules.jena_builtins import Refused
from satura.rules.jena_rule import (
    KNOWN_PREFIXES,
    RULE_SPACE,
    JenaError,
    RuleReading,
    absolute,
    refusal,
)
from satura.rules.model import Position, Rule
from satura.rules.names import Names
from satura.rules.strata import can_match
from satura.rules.syntax import excerpt_of
from satura.terms.ntriples import Triple

SUFFIX: Final = ".rules"
INCLUDES: Final = {"rdfs": "satura:rdfs"}
NO_INCLUDES: Final = ("owl", "owlmini", "owlmicro")
_IRI = r"(<[^<>\s]*>|[^\s<>]+)\s*\.?\s*(?:(?:#|//).*)?"
PREFIX_LINE: Final = re.compile(rf"@prefix\s+(\S*?):?\s+{_IRI}")
INCLUDE_LINE: Final = re.compile(rf"@include\s+{_IRI}")
WORDS: Final = {
    "WORD": "a term",
    "STRING": "a literal",
    "ARROW": "`->` or `<-`",
    "DOT": "`.`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "NAME": "a rule name",
    "TYPE": "a datatype",
    "LANG": "a language tag",
    "PREFIX_LINE": "`@prefix`",
    "INCLUDE_LINE": "`@include`",
    "$END": "the end of the text",
}


@dataclass(frozen=True, slots=True)
class Include:
    """An `@include` and the IRI that it is read as."""

    iri: str
    position: Position


@dataclass(slots=True)
class JenaText:
    """What a text says: rules, triples, includes, faults, and notes that a linter shows."""

    rules: list[Rule] = field(default_factory=list)
    data: list[Triple] = field(default_factory=list)
    includes: list[Include] = field(default_factory=list)
    faults: list[SaturaError] = field(default_factory=list)
    notes: list[Fault] = field(default_factory=list)


def is_jena(source: str) -> bool:
    """Say whether a file, told by its name or IRI, holds rules of Jena."""
    return source.endswith(SUFFIX)


def read_jena(text: str, names: Names) -> JenaText:
    """Read a text; what is wrong with one rule does not hide the next."""
    read = JenaText()
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        read.faults.append(_syntax_error(error, text, names))
        return read
    rules = [child for child in tree.children if not isinstance(child, Token)]
    lines = [child for child in tree.children if isinstance(child, Token)]
    # As in Jena, a prefix holds for the whole file, and includes come first.
    for line in lines:
        try:
            _directive(line, names, read)
        except ParseError as error:
            read.faults.append(error)
    backward: list[Rule] = []
    forward: list[Rule] = []
    for number, rule_tree in enumerate(rules, start=1):
        try:
            reading = RuleReading(rule_tree, names, number)
            rule = reading.rule()
        except RecursionError:
            message = "the rule is nested too deeply"
            read.faults.append(names.fault(ParseError, "RULE-SYNTAX", message, at=rule_tree))
            continue
        read.faults += reading.faults
        if rule is None:
            continue
        if not rule.body and not any(atom.variables for atom in rule.head):
            read.data += [(str(a.s), str(a.p), str(a.o)) for a in rule.head]
            continue
        read.rules.append(rule)
        (backward if reading.backward else forward).append(rule)
    read.notes += _hybrid_notes(forward, backward)
    _settle_prefixes(names, read.rules)
    return read


def first_of(faults: Sequence[SaturaError]) -> SaturaError:
    """Return the error to raise: one that names all that is not taken over, or the first fault."""
    refused = [fault for fault in faults if isinstance(fault, JenaError)]
    if len(refused) < 2:
        return refused[0] if refused else faults[0]
    first = refused[0]
    listed = ", ".join(
        f"{fault.construct} (line {fault.line})"
        if fault.source == first.source
        else f"{fault.construct} ({fault.source}:{fault.line})"
        for fault in refused
    )
    return JenaError(
        "RULE-JENA",
        f"{len(refused)} things are not taken over from Jena: {listed}",
        f"{first.hint}; `satura rules lint` shows each in its place",
        source=first.source,
        line=first.line,
        column=first.column,
        excerpt=first.excerpt,
    )


@cache
def _parser() -> Lark:
    grammar = resources.files("satura.rules").joinpath("jena_rules.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", propagate_positions=True)


def _syntax_error(error: UnexpectedInput, text: str, names: Names) -> ParseError:
    at_end = isinstance(error, UnexpectedEOF) or (
        isinstance(error, UnexpectedToken) and error.token.type == "$END"
    )
    place = len(text.rstrip()) if at_end else (error.pos_in_stream or 0)
    line = text.count("\n", 0, place) + 1
    word = re.match(r"[^\s()\[\],]+|.", text[place:])
    found = "the end of the text" if at_end or not word else f"`{word[0][:30]}`"
    if isinstance(error, UnexpectedCharacters):
        expected = set(error.allowed or ())
    elif isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected or ())
    else:
        expected = set()
    wanted = ", ".join(sorted({WORDS.get(name, f"`{name}`") for name in expected}))
    return ParseError(
        "RULE-SYNTAX",
        f"found {found}, expected one of {wanted}",
        "a rule is `[name: (?a p ?b) -> (?b q ?a)]`, or without brackets with a final ` .`",
        source=names.source,
        line=line,
        column=place - (text.rfind("\n", 0, place) + 1) + 1,
        excerpt=excerpt_of(text, line),
    )


def _directive(line: Token, names: Names, read: JenaText) -> None:
    """Take a `@prefix` or an `@include` line."""
    form = PREFIX_LINE if line.type == "PREFIX_LINE" else INCLUDE_LINE
    found = form.fullmatch(str(line).rstrip())
    if not found:
        message = f"found `{line}`, expected `@prefix p: <…>` or `@include <…>`"
        raise names.fault(ParseError, "RULE-SYNTAX", message, at=line)
    written = found[found.lastindex or 1].removeprefix("<").removesuffix(">")
    if form is PREFIX_LINE:
        names.prefixes[found[1]] = absolute(written, names, line)
        names.declared[found[1]] = names.position(line)
    elif written.lower() in NO_INCLUDES:
        hint = (
            "no built-in rule set is the same; leave the line out, and choose one of "
            "`satura rules list` with `--rules`"
        )
        raise refusal(names, Refused(f"`@include <{written}>`", hint), line)
    elif written.lower() in INCLUDES:
        builtin = INCLUDES[written.lower()]
        read.includes.append(Include(builtin, names.position(line)))
        message = (
            f"`@include <{written}>` is read as `{builtin}`, which concludes the same about "
            "instances, but not the axioms and types of RDFS itself that Jena adds"
        )
        hint = "import `satura:rdfs-full` from a `.srl` file to have those too"
        read.notes.append(Fault("LINT-JENA", message, hint, names.position(line)))
    else:
        local = Token.new_borrow_pos("IRIREF", f"<{written}>", line)
        read.includes.append(Include(names.resolve(local), names.position(line)))


def _hybrid_notes(forward: Sequence[Rule], backward: Sequence[Rule]) -> Iterator[Fault]:
    for rule in forward:
        atoms = [*rule.atoms, *(atom for negation in rule.negations for atom in negation.atoms)]
        for other in backward:
            if any(can_match(atom, head) for atom in atoms for head in other.head):
                message = (
                    f"`{rule.id}` reads what the backward rule `{other.id}` concludes; here it "
                    "sees that, as a forward rule of Jena's hybrid engine it would not"
                )
                hint = "rules have no direction here; see that this is meant"
                yield Fault("LINT-JENA", message, hint, rule.position)


def _settle_prefixes(names: Names, rules: Sequence[Rule]) -> None:
    """Keep the prefixes that SPARQL-RL can write, and add those of Jena that were used."""
    used = {name: KNOWN_PREFIXES[name] for name in sorted(names.used & KNOWN_PREFIXES.keys())}
    names.prefixes = {
        name: iri
        for name, iri in {**used, **names.prefixes}.items()
        if re.fullmatch(r"(?:[A-Za-z](?:[\w\-]*\w)?)?", name)
    }
    if any(rule.iri for rule in rules):
        names.prefixes.setdefault("rule", RULE_SPACE)
