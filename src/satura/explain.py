"""Why a triple is in the closure: one derivation, down to asserted triples.

The asserted triples that could support a conclusion are looked up in the store, closed together
with the schema in memory while every step is written down, and the steps to the triple are read
back. One derivation is shown; there may be others, and `support` says how many.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from satura.errors import ConfigError
from satura.jobs import collect_first, described
from satura.reference import Facts, solve
from satura.rules.evaluate import Context
from satura.rules.model import Atom, RuleSet, Variable
from satura.rules.reader import read_rules
from satura.rules.scope import local_variables
from satura.terms.ids import term_id
from satura.terms.ntriples import Triple

if TYPE_CHECKING:
    from satura.kb import KnowledgeBase

MAX_TRIPLES: Final = 5_000
"""Most asserted triples around a conclusion, and most schema triples, that are looked at."""


@dataclass(frozen=True, slots=True)
class Step:
    """One application of a rule."""

    triple: Triple
    rule: str
    premises: tuple[Triple, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A triple, what it comes from, and the steps between, conclusion last.

    `axioms` are triples that the rule set states itself.
    """

    triple: Triple
    asserted: tuple[Triple, ...]
    axioms: tuple[Triple, ...]
    steps: tuple[Step, ...]


def explain(kb: KnowledgeBase, triple: Triple) -> Explanation | None:
    """Return one derivation of a triple, or None if it is not in the closure."""
    spark, store = kb.spark, kb.store
    s, p, o = (term_id(text) for text in triple)
    if store.closure(spark, s=s, p=p, o=o).isEmpty():
        return None
    asserted = store.frame(spark, "asserted").select("s", "p", "o")
    # A linear rule moves subject and object about, so a root shares a term with the conclusion.
    near = asserted.where(F.col("s").isin(s, o) | F.col("o").isin(s, o)).distinct()
    # Rules about whatever is used as a predicate need one triple that uses it.
    using = asserted.where(F.col("p").isin(s, o)).limit(1)
    schema = store.frame(spark, "schema").join(asserted, ["s", "p", "o"], "left_semi")
    rules = read_rules(store.info.rules, source=store.info.rule_set, name=store.info.rule_set)
    with described(spark, "look up what could entail the triple"):
        found: set[Triple] = set()
        for frame in (schema, near, using):
            decoded = store.decode(spark, frame.limit(MAX_TRIPLES), ["s", "p", "o"], size="small")
            found |= {(r["s"], r["p"], r["o"]) for r in collect_first(decoded, MAX_TRIPLES)}
    explanation = trace(rules, found, triple)
    if explanation is None:
        raise ConfigError(
            "EXPLAIN-LARGE", f"no derivation was found among the triples around `{triple[0]}`",
            f"only {MAX_TRIPLES} triples that share a term with the conclusion are looked at",
        )  # fmt: skip
    return explanation


def pick(kb: KnowledgeBase, count: int) -> list[Triple]:
    """Return some inferred triples, of different predicates and objects where there are such."""
    inferred = kb.store.inferred(kb.spark)
    kinds = inferred.groupBy("p", "o").agg(F.min("s").alias("s")).select("s", "p", "o")
    with described(kb.spark, "pick inferred triples"):
        decoded = kb.store.decode(
            kb.spark, kinds.orderBy("p", "o").limit(count), ["s", "p", "o"], size="small"
        )
        return [(r["s"], r["p"], r["o"]) for r in collect_first(decoded, count)]


def trace(rules: RuleSet, asserted: Iterable[Triple], triple: Triple) -> Explanation | None:
    """Close triples while writing down every step, and read back the steps to one."""
    given = set(asserted)
    facts = Facts({*given, *rules.data})
    steps: dict[Triple, Step] = {}
    context = Context()
    while triple not in facts.triples:
        new: dict[Triple, Step] = {}
        for rule in rules:
            for solution in solve(rule.body, {}, facts, facts, context, local_variables(rule)):
                premises = tuple(_ground(atom, solution) for atom in rule.atoms)
                for head in rule.head:
                    conclusion = _ground(head, solution)
                    if conclusion not in facts.triples:
                        step = Step(conclusion, rule.id, premises)
                        # Of several derivations always the same one, whatever the order of sets.
                        new[conclusion] = min(new.get(conclusion, step), step, key=_rank)
        if not facts.add(new):
            return None
        steps |= new
    ordered: list[Step] = []
    leaves: list[Triple] = []
    _unfold(triple, steps, ordered, leaves)
    return Explanation(
        triple,
        asserted=tuple(leaf for leaf in leaves if leaf in given),
        axioms=tuple(leaf for leaf in leaves if leaf not in given),
        steps=tuple(ordered),
    )


def _rank(step: Step) -> tuple[str, tuple[Triple, ...]]:
    return step.rule, step.premises


def _unfold(
    triple: Triple, steps: dict[Triple, Step], ordered: list[Step], leaves: list[Triple]
) -> None:  # fmt: skip
    if triple in leaves or any(step.triple == triple for step in ordered):
        return
    if triple not in steps:
        leaves.append(triple)
        return
    for premise in steps[triple].premises:
        _unfold(premise, steps, ordered, leaves)
    ordered.append(steps[triple])


def _ground(atom: Atom, solution: dict[Variable, str]) -> Triple:
    s, p, o = (solution[slot] if isinstance(slot, Variable) else slot for slot in atom.slots)
    return s, p, o
