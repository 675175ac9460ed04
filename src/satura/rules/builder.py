"""Parse tree to rules: expands the short forms of triples until only triple patterns are left.

`;` and `,` lists, `[ … ]`, collections and the paths `/` and `^` all become plain atoms. A blank
node means something else in each place: in `DATA` a blank node of this document, in a head a fresh
one per solution, in a body a variable nobody can name (SPARQL-RL section 6.4).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal

import xxhash
from lark import Token

from satura.errors import ParseError, UnsupportedError, did_you_mean
from satura.rules.expression import ARITY, CASTS, EXTENSIONS, Call, Constant, Expression
from satura.rules.lists import FIRST, NIL, REST
from satura.rules.model import (
    Assignment,
    Atom,
    BodyElement,
    Chain,
    Every,
    Filter,
    ListCondition,
    Member,
    Negation,
    Pair,
    Rule,
    Slot,
    Variable,
)
from satura.rules.names import Names
from satura.rules.syntax import ParseTree
from satura.terms.ntriples import Triple
from satura.vocab import RDF_TYPE

Place = Literal["data", "head", "body"]

BINARY: Final = {"or_expression": "||", "and_expression": "&&"}


class Block:
    """The atoms of one `{ … }`, and the blank nodes or variables made for them."""

    def __init__(self, names: Names, place: Place, *, taken: Iterable[str] = ()) -> None:
        self.names = names
        self.place = place
        self.taken = set(taken)
        self.blanks: dict[str, Slot] = {}
        self.elements: list[BodyElement] = []

    def fresh(self, label: str | None = None) -> Slot:
        """Return what a blank node stands for here; the same label gives the same thing."""
        if label is not None and label in self.blanks:
            return self.blanks[label]
        number = len(self.taken) + 1
        while f"blank{number}" in self.taken:
            number += 1
        self.taken.add(f"blank{number}")
        made: Slot = f"_:blank{number}"
        if self.place == "body":
            made = Variable(f"blank{number}")
        elif self.place == "data":
            # The same document always gives the same nodes, two documents never share one.
            document = xxhash.xxh64_hexdigest(self.names.source.encode())
            made = f"_:d{document}n{number}"
        self.blanks[label or f"[{number}]"] = made
        return made

    def add_triples(self, tree: ParseTree) -> None:
        for same_subject in _subtrees(tree):
            subject, *rest = _subtrees(same_subject)
            slot = self.slot(subject)
            for property_list in rest:
                self.add_properties(slot, property_list)

    def add_properties(self, subject: Slot, tree: ParseTree) -> None:
        for verb_objects in _subtrees(tree):
            verb, objects = _subtrees(verb_objects)
            for node in _subtrees(objects):
                self.add_path(subject, verb, self.slot(node))

    def add_path(self, subject: Slot, verb: ParseTree, target: Slot) -> None:
        """Add the atoms of one verb, which is a variable, an IRI or a path."""
        if verb.data == "var":
            self.elements.append(Atom(subject, self.variable(verb), target))
            return
        steps = list(self.steps(verb))
        if self.place != "body" and (len(steps) > 1 or steps[0][1]):
            raise self.names.fault(
                ParseError, "RULE-SYNTAX", "a path can stand only in the body of a rule", at=verb
            )
        for number, (predicate, inverse) in enumerate(steps, start=1):
            end = target if number == len(steps) else self.fresh()
            s, o = (end, subject) if inverse else (subject, end)
            self.elements.append(Atom(s, predicate, o))
            subject = end

    def steps(self, path: ParseTree) -> Iterator[tuple[str, bool]]:
        """Yield the predicates of a path and whether each is walked backwards."""
        for step in _subtrees(path):
            (element,) = _subtrees(step)
            backwards = isinstance(step.children[0], Token)
            inner = element.children[0]
            if isinstance(inner, Token):
                yield RDF_TYPE, backwards
            elif inner.data == "iri":
                yield self.names.iri(inner), backwards
            else:
                nested = list(self.steps(inner))
                if backwards:
                    nested = [(predicate, not flag) for predicate, flag in reversed(nested)]
                yield from nested

    def slot(self, tree: ParseTree) -> Slot:
        """Return the slot of a node, adding the atoms of a nested one."""
        if tree.data == "var":
            return self.variable(tree)
        if tree.data == "iri":
            return self.names.iri(tree)
        if tree.data == "nil":
            return NIL
        if tree.data == "blank_node":
            label = str(tree.children[0])
            return self.fresh(label if label.startswith("_:") else None)
        if tree.data == "blank_node_property_list":
            node = self.fresh()
            for property_list in _subtrees(tree):
                self.add_properties(node, property_list)
            return node
        if tree.data == "collection":
            return self.collection(list(_subtrees(tree)))
        return self.names.literal(tree)

    def collection(self, members: list[ParseTree]) -> Slot:
        cells = [self.fresh() for _ in members]
        tails: list[Slot] = [*cells[1:], NIL]
        for cell, member, tail in zip(cells, members, tails, strict=True):
            self.elements.append(Atom(cell, FIRST, self.slot(member)))
            self.elements.append(Atom(cell, REST, tail))
        return cells[0]

    def variable(self, tree: ParseTree) -> Variable:
        if self.place == "data":
            raise self.names.fault(
                ParseError,
                "RULE-SYNTAX",
                f"found the variable `{tree.children[0]}` in a DATA block, expected a term",
                at=tree,
                hint="DATA holds triples; for patterns write a rule",
            )
        return Variable(str(tree.children[0])[1:])

    @property
    def atoms(self) -> tuple[Atom, ...]:
        return tuple(element for element in self.elements if isinstance(element, Atom))


def build_data(tree: ParseTree, block: Block) -> tuple[Triple, ...]:
    """Return the triples of a `DATA` block; `block` carries the blank nodes of the document."""
    start = len(block.elements)
    for triples in _subtrees(tree):
        block.add_triples(triples)
    slots = (atom.slots for atom in block.atoms[start:])
    return tuple((str(s), str(p), str(o)) for s, p, o in slots)


def build_rule(tree: ParseTree, names: Names, *, rule_id: str) -> Rule:
    """Return the rule of a `rule` node; `rule_id` is its id if it has no name."""
    variables = {str(token)[1:] for token in tree.scan_values(_is_variable)}
    children = list(_subtrees(tree))
    iri = names.iri(children.pop(0))[1:-1] if children[0].data == "iri" else None
    head_tree, body_tree = children
    head = Block(names, "head", taken=variables)
    for triples in _subtrees(head_tree):
        head.add_triples(triples)
    body = Block(names, "body", taken=variables)
    _add_body(body, body_tree)
    return Rule(
        id=_local_name(iri) if iri else rule_id,
        head=head.atoms,
        body=tuple(body.elements),
        position=names.position(tree),
        iri=iri,
        data=_has_data(tree),
        false=head_tree.data == "false_head",
    )


def _add_body(block: Block, tree: ParseTree) -> None:
    """Add the elements of a body, or of the inside of a `NOT`, in the order they are written."""
    for node in _subtrees(tree):
        position = block.names.position(node)
        if node.data == "triples_block":
            block.add_triples(node)
        elif node.data == "filter":
            block.elements.append(Filter(build_expression(node.children[-1], block), position))
        elif node.data == "assignment":
            variable, expression = _subtrees(node)
            block.elements.append(
                Assignment(block.variable(variable), build_expression(expression, block), position)
            )
        elif node.data != "negation":
            block.elements.append(_build_list_condition(node, block))
        else:
            inner = Block(block.names, "body", taken=block.taken)
            inner.blanks = block.blanks
            _add_body(inner, next(_subtrees(node)))
            block.taken |= inner.taken
            elements = tuple(e for e in inner.elements if isinstance(e, Atom | Filter))
            block.elements.append(Negation(elements, _has_data(node), position))


def _build_list_condition(tree: ParseTree, block: Block) -> ListCondition:
    position = block.names.position(tree)
    nodes = list(_subtrees(tree))
    if tree.data == "chain":
        sequence, start, end = map(block.slot, nodes)
        return Chain(sequence, start, end, position)
    first = block.variable(nodes[0])
    if tree.data == "member":
        return Member(first, block.slot(nodes[1]), position)
    if tree.data == "pair":
        return Pair(first, block.variable(nodes[1]), block.slot(nodes[2]), position)
    inner = Block(block.names, "body", taken=block.taken)
    inner.blanks = block.blanks
    inner.add_triples(nodes[2])
    block.taken |= inner.taken
    return Every(first, block.slot(nodes[1]), inner.atoms, position)


def build_expression(tree: ParseTree | Token, block: Block) -> Expression:
    """Return the expression of a node below `FILTER` or `SET`."""
    assert not isinstance(tree, Token)
    kind = str(tree.data)
    if kind == "var":
        return block.variable(tree)
    if kind == "iri":
        return Constant(block.names.iri(tree))
    if kind in ("rdf_literal", "numeric_literal", "boolean_literal", "signed_literal"):
        return Constant(block.names.literal(tree))
    operands = [build_expression(child, block) for child in _subtrees(tree)]
    operators = [str(token) for token in tree.children if isinstance(token, Token)]
    if kind in BINARY:
        return Call(BINARY[kind], tuple(operands))
    if kind in ("comparison", "addition", "product", "unary"):
        return Call(operators[0], tuple(operands))
    if kind == "membership":
        negated = any(operator.upper() == "NOT" for operator in operators)
        return Call("NOT IN" if negated else "IN", tuple(operands))
    if kind == "signed_addition":
        return Call("+", tuple(operands))
    if kind == "signed_product":
        return operands[0] if len(operands) == 1 else Call(operators[0], tuple(operands))
    return _build_call(tree, operands, block)


def _build_call(tree: ParseTree, operands: list[Expression], block: Block) -> Expression:
    """Return a call of a function or a cast, checked against the number of arguments it takes."""
    if tree.data == "iri_or_function" and len(tree.children) == 1:
        return operands[0]
    if tree.data == "builtin_call":
        name = str(tree.children[0]).upper()
        least, most = ARITY[name]
        arguments = tuple(operands)
    else:
        name = str(operands[0])
        least = most = EXTENSIONS.get(name, 1)
        arguments = tuple(operands[1:])
        if name not in CASTS and name not in EXTENSIONS:
            known = f"what is called by IRI is one of {', '.join(sorted((*CASTS, *EXTENSIONS)))}"
            raise block.names.fault(
                UnsupportedError,
                "RULE-UNSUPPORTED",
                f"the function `{name}` is not supported",
                at=tree,
                hint=did_you_mean(name, (*CASTS, *EXTENSIONS)) or known,
            )
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise block.names.fault(
            ParseError,
            "RULE-SYNTAX",
            f"`{name}` takes {wanted} arguments, found {len(arguments)}",
            at=tree,
        )
    return Call(name, arguments)


def _subtrees(tree: ParseTree) -> Iterator[ParseTree]:
    return (child for child in tree.children if not isinstance(child, Token))


def _is_variable(token: Token | ParseTree) -> bool:
    return isinstance(token, Token) and token.type == "VAR"


def _has_data(tree: ParseTree) -> bool:
    return any(isinstance(child, Token) and child.type == "DATA" for child in tree.children)


def _local_name(iri: str) -> str:
    return re.split(r"[/#:]", iri.rstrip("/#:"))[-1] or iri
