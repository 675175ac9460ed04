"""One rule of a Jena file as a rule of this model: its terms, its patterns, its order.

Words are told apart as Jena's own parser does it, in the same order of tests. Every clause is
looked at even if one before it is not taken over, so that a reader learns of all at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final
from urllib.parse import quote

import pyoxigraph as ox
from lark import Token

from satura.errors import ParseError, RuleError, UnsupportedError, did_you_mean
from satura.rules.jena_builtins import ARGUMENTS, Refused, Surroundings, match, refuse, translate
from satura.rules.model import Assignment, Atom, BodyElement, Position, Rule, Slot, Variable
from satura.rules.names import Names
from satura.rules.syntax import ParseTree
from satura.terms.literals import make_literal, make_xsd
from satura.terms.ntriples import Term, canonical
from satura.vocab import PREFIXES

RULE_SPACE: Final = "urn:jena-rule:"
# Prefixes that Jena knows without a declaration.
KNOWN_PREFIXES: Final = {**PREFIXES, "eg": "http://www.hpl.hp.com/semweb/2003/eg#"}
SCHEMES: Final = ("http", "https", "urn", "file", "ftp", "mailto")
INTS: Final = range(-(2**31), 2**31)


class JenaError(UnsupportedError):
    """Something of a Jena rule file that is not taken over."""

    construct = ""


def refusal(names: Names, refused: Refused, at: ParseTree | Token | Position) -> JenaError:
    """Return the error that says what is not taken over, and where."""
    message = f"{refused.construct} is not taken over from Jena"
    error = names.fault(JenaError, "RULE-JENA", message, at=at, hint=refused.hint)
    assert isinstance(error, JenaError)
    error.construct = refused.construct
    return error


def absolute(written: str, names: Names, at: Token) -> str:
    """Return an IRI as it is written; Jena resolves none."""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.\-]*:", written):
        message = f"the IRI `<{written}>` is relative and there is no base"
        raise names.fault(
            RuleError, "RULE-RELATIVE-IRI", message, at=at, hint="write the IRI in full"
        )
    try:
        return canonical(ox.NamedNode(written))[1:-1]
    except ValueError as error:
        message = f"`<{written}>` is not an IRI: {error}"
        raise names.fault(ParseError, "RULE-SYNTAX", message, at=at) from error


class RuleReading:
    """One rule while it is read: its variables, and the faults of its clauses."""

    def __init__(self, tree: ParseTree, names: Names, number: int) -> None:
        self.tree = tree
        self.names = names
        self.number = number
        self.faults: list[ParseError] = []
        words = tree.scan_values(lambda value: isinstance(value, Token) and value.type == "WORD")
        self.written = {str(word)[1:] for word in words if word.startswith("?")}
        self.variables: dict[str, Variable] = {}
        self.backward = any(
            isinstance(child, Token) and child.type == "ARROW" and child == "<-"
            for child in tree.children
        )

    def rule(self) -> Rule | None:
        """Return the rule, or nothing if a part of it is not taken over."""
        body_tree, head_tree = (c for c in self.tree.children if not isinstance(c, Token))
        if self.backward:
            body_tree, head_tree = head_tree, body_tree
        body = self.body([c for c in body_tree.children if not isinstance(c, Token)])
        head = self.head([c for c in head_tree.children if not isinstance(c, Token)])
        if self.faults:
            return None
        name = next(
            (str(c)[:-1].rstrip() for c in self.tree.children
             if isinstance(c, Token) and c.type == "NAME"), None,
        )  # fmt: skip
        return Rule(
            id=name or f"rule-{self.number}",
            head=tuple(head),
            body=tuple(body),
            position=self.names.position(self.tree),
            iri=RULE_SPACE + quote(name, safe="-._~") if name else None,
        )

    def head(self, clauses: Sequence[ParseTree]) -> list[Atom]:
        atoms: list[Atom] = []
        for clause in clauses:
            with self.collecting(clause):
                if clause.data == "nested":
                    hint = "write one rule with the patterns of both bodies"
                    raise Refused("a rule in the head of a rule", hint)
                if clause.data == "call":
                    name = str(clause.children[0])
                    if name in ARGUMENTS:
                        raise Refused(f"`{name}` in a head", "tests belong in the body")
                    raise refuse(name)
                s, p, o = self.triple(clause, wild=False)
                atoms.append(Atom(s, p, o))
        if self.backward and len(clauses) > 1:
            refused = Refused("a backward rule with several heads", "write one rule for each")
            self.faults.append(refusal(self.names, refused, self.tree))
        return atoms

    def body(self, clauses: Sequence[ParseTree]) -> list[BodyElement]:
        if not self.backward:
            clauses = sorted(clauses, key=lambda clause: clause.data != "triple")
        elements: list[BodyElement] = []
        bound: set[Variable] = set()
        nodes: set[Variable] = set()
        for clause in clauses:
            around = Surroundings(
                bound, nodes, self.fresh, self.names.position(clause), self.backward
            )
            with self.collecting(clause):
                if clause.data == "nested":
                    raise Refused("a rule in the body of a rule", "write it as a rule of its own")
                if clause.data == "triple":
                    made: list[BodyElement] = [*match(self.triple(clause, wild=True), around)]
                else:
                    made = self.call(clause, around)
                elements += made
                for element in made:
                    if isinstance(element, Atom):
                        bound |= element.variables
                        nodes |= {s for s in (element.s, element.p) if isinstance(s, Variable)}
                    elif isinstance(element, Assignment):
                        bound.add(element.variable)
        return elements

    @contextmanager
    def collecting(self, clause: ParseTree) -> Iterator[None]:
        """Note the first fault of a clause, so that those of the next are found too."""
        try:
            yield
        except Refused as refused:
            self.faults.append(refusal(self.names, refused, clause))
        except ParseError as error:
            self.faults.append(error)

    def call(self, tree: ParseTree, around: Surroundings) -> list[BodyElement]:
        name = str(tree.children[0])
        if name not in ARGUMENTS:
            raise refuse(name)
        slots = [self.slot(node, wild=True) for node in tree.children[1:]]
        least, most = ARGUMENTS[name]
        if name == "regex" and len(slots) > most:
            raise Refused("`regex` with capture groups", "test with two arguments")
        if not least <= len(slots) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            message = f"`{name}` takes {wanted} arguments, found {len(slots)}"
            raise self.names.fault(ParseError, "RULE-SYNTAX", message, at=tree)
        return translate(name, slots, around)

    def triple(self, tree: ParseTree, *, wild: bool) -> list[Slot]:
        slots = [self.slot(node, wild=wild) for node in tree.children]
        if len(slots) != 3:
            message = f"found a triple of {len(slots)} terms, expected 3"
            raise self.names.fault(ParseError, "RULE-SYNTAX", message, at=tree)
        return slots

    def slot(self, tree: ParseTree | Token, *, wild: bool) -> Slot:
        """Return the slot of a node, or raise an error that points at it."""
        assert not isinstance(tree, Token)
        token = tree.children[0]
        assert isinstance(token, Token)
        try:
            return self.node(tree, token, wild=wild)
        except Refused as refused:
            raise refusal(self.names, refused, token) from None

    def node(self, tree: ParseTree, token: Token, *, wild: bool) -> Slot:
        """Tell what a node is, with the tests of Jena's parser in their order."""
        if tree.data == "call":
            hint = "there are no structured literals; say it in triples"
            raise Refused(f"the functor `{token}(…)`", hint)
        if tree.data == "literal":
            return self.literal(tree, token)
        if token.startswith("?") and len(token) > 1:
            return self.variable(str(token)[1:])
        if token in ("_", "*"):
            if not wild:
                raise Refused(f"the wild card `{token}` in a head", "use a variable of the body")
            return self.fresh()
        if token.startswith("<") and token.endswith(">"):
            return f"<{absolute(str(token)[1:-1], self.names, token)}>"
        if token.startswith("_"):
            raise Refused(f"the blank node `{token}`", "no file can name a blank node of the data")
        if ":" in token:
            return f"<{self.expand(str(token), token)}>"
        return self.number_literal(token)

    def variable(self, name: str) -> Variable:
        """Return a variable, under another name if SPARQL-RL cannot write Jena's."""
        if name not in self.variables:
            plain = re.sub(r"\W", "_", name)
            self.variables[name] = Variable(plain if plain == name else self.unused(plain))
        return self.variables[name]

    def fresh(self) -> Variable:
        return Variable(self.unused("any"))

    def unused(self, stem: str) -> str:
        number = 1
        while f"{stem}{number}" in self.written:
            number += 1
        self.written.add(f"{stem}{number}")
        return f"{stem}{number}"

    def literal(self, tree: ParseTree, token: Token) -> Term:
        # A backslash only says that the next character means itself.
        lexical = re.sub(r"\\(.)", r"\1", str(token)[1:-1])
        if len(tree.children) == 1:
            return make_literal(lexical)
        suffix = tree.children[1]
        assert isinstance(suffix, Token)
        if suffix.type == "LANG":
            try:
                return make_literal(lexical, language=str(suffix)[1:])
            except ValueError as error:
                message = f"`{suffix}` is not a language tag"
                raise self.names.fault(ParseError, "RULE-SYNTAX", message, at=suffix) from error
        datatype = str(suffix)[2:]
        if datatype.startswith("<") and datatype.endswith(">"):
            return make_literal(lexical, f"<{absolute(datatype[1:-1], self.names, suffix)}>")
        return make_literal(lexical, f"<{self.expand(datatype, suffix)}>")

    def expand(self, written: str, token: Token) -> str:
        """Return the IRI of a prefixed name, or of an IRI without angle brackets."""
        prefix, colon, local = written.partition(":")
        prefixes = {**KNOWN_PREFIXES, **self.names.prefixes}
        if colon and prefix in prefixes:
            self.names.used.add(prefix)
            return absolute(prefixes[prefix] + local, self.names, token)
        if not colon or prefix in SCHEMES:
            return absolute(written, self.names, token)
        raise self.names.fault(
            RuleError,
            "RULE-UNKNOWN-PREFIX",
            f"the prefix `{prefix}:` is not declared",
            at=token,
            hint=did_you_mean(prefix, prefixes) or f"add `@prefix {prefix}: <…>`",
        )

    def number_literal(self, token: Token) -> Term:
        if re.fullmatch(r"-?[0-9]+", token) and int(token) in INTS:
            return make_xsd(str(token), "int")
        if re.fullmatch(r"-?[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?", token):
            return make_xsd(str(token), "float")
        if re.match(r"-?[0-9]", token):
            hint = f"Jena reads it as a string; write `'{token}'^^xsd:integer` or xsd:double"
            raise Refused(f"the number `{token}`", hint)
        hint = "Jena reads a bare word as a relative IRI; write an IRI or a literal, such as "
        raise Refused(f"the bare word `{token}`", f"{hint}`'{token}'^^xsd:boolean`")
