"""Reads rule sets: SPARQL-RL and Jena text, files and the built-in library, imports included.

Everything takes one path: a user's file, a built-in set and an imported one are read, checked and
merged the same way. Reading never evaluates anything and reaches only local files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from lark import Token

from satura.errors import ConfigError, ParseError, RuleError, SaturaError, did_you_mean
from satura.rules.builder import Block, build_data, build_rule
from satura.rules.checks import Fault, find_faults
from satura.rules.jena import SUFFIX as JENA_SUFFIX
from satura.rules.jena import first_of, is_jena, read_jena
from satura.rules.model import Position, Rule, RuleSet
from satura.rules.names import Names
from satura.rules.strata import stratify
from satura.rules.syntax import ParseTree, parse
from satura.terms.ntriples import Triple

BUILTIN_SCHEME: Final = "satura:"
SUFFIX: Final = ".srl"

Importer = Callable[[str], str]


def builtin_names() -> tuple[str, ...]:
    """Return the names of the built-in rule sets, sorted.

    >>> "rdfs" in builtin_names()
    True
    """
    library = resources.files("satura.rules").joinpath("library")
    names = (entry.name for entry in library.iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)))


def builtin_text(name: str) -> str:
    """Return the text of a built-in rule set."""
    if name not in builtin_names():
        raise _unknown(name)
    library = resources.files("satura.rules").joinpath("library")
    return library.joinpath(name + SUFFIX).read_text("utf-8")


def load_rules(name_or_path: str) -> RuleSet:
    """Load a built-in rule set by name, or a file by path, and see that it can be stratified."""
    text, source, base = read_source(name_or_path)
    rule_set = read_rules(text, source=source, name=Path(name_or_path).stem, base=base)
    stratify(rule_set)
    return rule_set


def read_source(name_or_path: str) -> tuple[str, str, str]:
    """Return the text, source name and base IRI of a built-in rule set or a file."""
    if name_or_path in builtin_names():
        iri = BUILTIN_SCHEME + name_or_path
        return builtin_text(name_or_path), iri, iri
    path = Path(name_or_path)
    if path.suffix not in (SUFFIX, JENA_SUFFIX) and not path.is_file():
        raise _unknown(name_or_path)
    try:
        return path.read_text("utf-8"), str(path), path.resolve().as_uri()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "RULES-UNREADABLE", f"the rule file `{path}` cannot be read: {error}"
        ) from error


def read_rules(
    text: str,
    *,
    source: str,
    name: str | None = None,
    base: str | None = None,
    importer: Importer | None = None,
) -> RuleSet:
    """Read a rule set from text; check that it and everything it imports is well formed.

    The text is in SPARQL-RL, or in Jena's language if the name of the source ends in `.rules`.
    Whether it can be stratified is a question of evaluation, and asked by whoever evaluates it.
    `importer` turns the IRI of an import into text; by default it reads local files and
    `satura:` names. Raises the first fault found; `satura.rules.lint` collects all.
    """
    reading = Reading(importer or read_import)
    reading.read(text, source=source, base=base)
    if reading.faults:
        raise first_of(reading.faults)
    return reading.rule_set(name or source, source)


def read_import(iri: str) -> str:
    """Return the text of an imported rule set: a built-in one or a local file."""
    if iri.startswith(BUILTIN_SCHEME):
        return builtin_text(iri.removeprefix(BUILTIN_SCHEME))
    parts = urlsplit(iri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise ConfigError(
            "RULES-IMPORT", f"`<{iri}>` is not a local file", "copy the rule set beside yours"
        )
    if not parts.path.endswith((SUFFIX, JENA_SUFFIX)):
        # An excerpt in an error message must not show a line of some other file.
        raise ConfigError(
            "RULES-IMPORT", f"`<{iri}>` is not a rule file (`*{SUFFIX}`, `*{JENA_SUFFIX}`)"
        )
    try:
        return Path(unquote(parts.path)).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("RULES-IMPORT", f"`<{iri}>` cannot be read: {error}") from error


def _unknown(name: str) -> ConfigError:
    names = builtin_names()
    files = f"a file ends in `{SUFFIX}` or `{JENA_SUFFIX}`"
    known = f"the built-in rule sets are {', '.join(names)}; {files}"
    near = did_you_mean(name, names)
    return ConfigError(
        "RULES-UNKNOWN", f"there is no rule set `{name}`", f"{near} {known}" if near else known
    )


class Reading:
    """One run over a rule file and its imports, collecting rules, triples and faults."""

    def __init__(self, importer: Importer) -> None:
        self.importer = importer
        self.rules: list[Rule] = []
        self.data: dict[Triple, None] = {}
        self.prefixes: dict[str, str] = {}
        self.faults: list[SaturaError] = []
        self.notes: list[Fault] = []
        self.visited: set[str] = set()
        self.main: Names | None = None

    def read(self, text: str, *, source: str, base: str | None) -> None:
        """Read one file; a fault in one rule does not hide those of the next."""
        if base is not None:
            self.visited.add(base)
        names = Names(text, source=source, base=base)
        self.main = self.main or names
        if is_jena(source):
            self._read_jena(text, names)
        else:
            self._read_statements(text, names)
        # An importing file is done after what it imports, so its own prefixes win.
        self.prefixes = {**self.prefixes, **names.prefixes}

    def _read_statements(self, text: str, names: Names) -> None:
        block = Block(names, "data")
        for node in _statements(parse(text, source=names.source)):
            try:
                self._statement(node, names, block)
            except ParseError as error:
                self.faults.append(error)
            except RecursionError:
                message = "the statement is nested too deeply"
                self.faults.append(names.fault(ParseError, "RULE-SYNTAX", message, at=node))

    def _read_jena(self, text: str, names: Names) -> None:
        read = read_jena(text, names)
        self.faults += read.faults
        self.notes += read.notes
        for include in read.includes:
            try:
                self._import(include.iri, include.position, names)
            except ParseError as error:
                self.faults.append(error)
        self.data.update(dict.fromkeys(read.data))
        for rule in read.rules:
            self._rule(rule, names)

    def _statement(self, node: ParseTree, names: Names, block: Block) -> None:
        tokens = [child for child in node.children if isinstance(child, Token)]
        if node.data == "base_decl":
            names.declare_base(tokens[1])
        elif node.data == "prefix_decl":
            names.declare_prefix(tokens[1], tokens[2])
        elif node.data == "imports_decl":
            (tree,) = (child for child in node.children if not isinstance(child, Token))
            self._import(names.iri(tree)[1:-1], names.position(tree), names)
        elif node.data == "data":
            self.data.update(dict.fromkeys(build_data(node, block)))
        elif node.data == "rule":
            self._rule(build_rule(node, names, rule_id=f"rule-{len(self.rules) + 1}"), names)

    def _rule(self, rule: Rule, names: Names) -> None:
        for fault in find_faults(rule):
            self.faults.append(
                names.fault(
                    RuleError, fault.code, fault.message, at=fault.position, hint=fault.hint
                )
            )
        self.rules.append(rule)

    def _import(self, iri: str, position: Position, names: Names) -> None:
        if iri in self.visited:
            return
        self.visited.add(iri)
        try:
            text = self.importer(iri)
        except (SaturaError, OSError) as error:
            reason = error.message if isinstance(error, SaturaError) else str(error)
            hint = error.hint if isinstance(error, SaturaError) else None
            raise names.fault(
                ParseError, "RULE-IMPORT", f"the import failed: {reason}", at=position, hint=hint
            ) from error
        self.read(text, source=iri, base=iri)

    def rule_set(self, name: str, source: str) -> RuleSet:
        """Return what was read; ids are made unique, the first to come keeps its own."""
        taken: set[str] = set()
        rules: list[Rule] = []
        for rule in self.rules:
            unique, number = rule.id, 1
            while unique in taken:
                number += 1
                unique = f"{rule.id}-{number}"
            taken.add(unique)
            rules.append(rule if unique == rule.id else replace(rule, id=unique))
        return RuleSet(name, tuple(rules), tuple(self.data), tuple(self.prefixes.items()), source)


def _statements(tree: ParseTree) -> Iterator[ParseTree]:
    return (child for child in tree.children if not isinstance(child, Token))
