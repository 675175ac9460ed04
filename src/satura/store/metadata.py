"""What a commit records of itself, and what a snapshot says of itself when it is opened.

The record is JSON under `satura` in the `commitInfo` of a commit to facts. The text of the rules is
recorded by the commit that brings it; later ones name that commit under `rules_at`, for rules are
long and updates many.

Invariant: `rules_at` names a commit that has the text itself, never one that names another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from satura import __version__
from satura.errors import CorruptStoreError, FormatVersionError
from satura.store import commits, layout
from satura.store.delta import Snapshot, Step

Operation: TypeAlias = Literal["materialize", "add", "remove", "apply", "compact", "rules"]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows a snapshot has, and what the input lost on the way."""

    asserted: int  # distinct (s, p, o, g)
    derived: int  # triples with a derivation, asserted too or not
    inferred: int  # derived and not asserted
    closure: int  # distinct (s, p, o), asserted or inferred
    schema: int  # triples of the closed schema
    equal: int = 0  # terms that are the same as others
    violations: int = 0  # solutions of rules that conclude `false`
    rejected: int = 0  # statements skipped as malformed
    duplicates: int = 0  # statements that were there already


@dataclass(frozen=True, slots=True)
class CommitMetadata:
    """What the caller knows of a snapshot; the transaction adds the rest."""

    rule_set: str
    rules: str  # the text of the rule set
    counts: Counts
    extra: Mapping[str, Any] = field(default_factory=dict)  # JSON, kept as given
    operation: Operation = "materialize"
    change: Mapping[str, Any] = field(default_factory=dict)  # JSON: what came, went and was spent
    step: Step | None = None  # of the application whose work this is

    @property
    def rules_sha256(self) -> str:
        return hashlib.sha256(self.rules.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """What a snapshot says of itself."""

    path: str
    version: int  # of the facts table
    txn: str
    created: str  # ISO 8601, UTC
    format_version: int
    satura_version: str
    rule_set: str
    rules_sha256: str
    rules: str
    terms_version: int
    terms: int  # distinct terms
    counts: Counts
    beside: Mapping[str, int]  # files of skipped input and of violations, and their sizes
    bytes: int  # of the snapshot's data files; older ones on disk are not counted
    files: int
    extra: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What Satura recorded with a commit, and with which."""

    version: int
    data: Mapping[str, Any]


UNKNOWN: Final = "no commit of Satura is in its log"


def record(metadata: CommitMetadata, before: Recorded | None) -> dict[str, Any]:
    """Return what is recorded with a commit, but for what the transaction itself knows.

    `before` is what the version before has recorded.
    """
    data = {
        "format_version": layout.FORMAT_VERSION,
        "satura_version": __version__,
        "operation": metadata.operation,
        "change": dict(metadata.change),
        "rule_set": metadata.rule_set,
        "rules_sha256": metadata.rules_sha256,
        "counts": asdict(metadata.counts),
        "extra": dict(metadata.extra),
    }
    if before is not None and before.data.get("rules_sha256") == metadata.rules_sha256:
        data["rules_at"] = before.data.get("rules_at", before.version)
    else:
        data["rules"] = metadata.rules
    return data


def find_recorded(root: Path, version: int) -> Recorded:
    """Find what Satura recorded last; other Delta tools may have compacted the table since."""
    facts = root / layout.FACTS
    for earlier in range(version, -1, -1):
        found = commits.read_metadata(facts, earlier)
        if found is not None:
            break
        if not layout.log_file(facts, earlier).exists():
            break
    if found is None:
        raise CorruptStoreError(
            "STORE-UNREADABLE",
            f"`{facts}` is a Delta table, but {UNKNOWN}",
            "give the directory of a store that Satura wrote",
        )
    given = found.get("format_version")
    if given != layout.FORMAT_VERSION:
        raise FormatVersionError(
            "STORE-FORMAT",
            f"the store at `{root}` has format version {given}, this release reads "
            f"{layout.FORMAT_VERSION}",
            f"it was written by Satura {found.get('satura_version')}: use that release, "
            "or build the store again",
        )
    return Recorded(earlier, found)


def describe(
    root: Path, recorded: Mapping[str, Any], facts: Snapshot, terms: Snapshot
) -> StoreInfo:
    """Return what a snapshot says of itself."""
    try:
        return StoreInfo(
            path=str(root),
            version=facts.version,
            txn=recorded["txn"],
            created=recorded["created"],
            format_version=recorded["format_version"],
            satura_version=recorded["satura_version"],
            rule_set=recorded["rule_set"],
            rules_sha256=recorded["rules_sha256"],
            rules=_rules(root, recorded),
            terms_version=terms.version,
            terms=terms.rows,
            counts=Counts(**recorded["counts"]),
            beside=recorded["beside"],
            bytes=facts.size + terms.size,
            files=len(facts.files) + len(terms.files),
            extra=recorded["extra"],
        )
    except (KeyError, TypeError) as error:
        raise CorruptStoreError(
            "STORE-UNREADABLE",
            f"the commit metadata of `{root}` lacks or misspells {error}",
            "restore the log from a copy, or build the store again",
        ) from error


def _rules(root: Path, recorded: Mapping[str, Any]) -> str:
    if "rules" in recorded:
        return str(recorded["rules"])
    return _rules_at(root / layout.FACTS, recorded["rules_at"], recorded["rules_sha256"])


@lru_cache(maxsize=16)
def _rules_at(facts: Path, version: int, sha256: str) -> str:
    found = commits.read_metadata(facts, version) or {}
    text = str(found["rules"])
    if hashlib.sha256(text.encode()).hexdigest() != sha256:
        raise CorruptStoreError(
            "STORE-UNREADABLE",
            f"the rules that version {version} of `{facts}` records are not those meant",
            "restore the log from a copy, or build the store again",
        )
    return text
