"""Conditions on the driver: filters over ids whose texts are fetched when first needed.

Where terms are represented by one of their equals, a filter holds if it does for some choice of
members: what it then lets a rule conclude is said of all of them anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product

from satura.closure.equality import Equality
from satura.rules.evaluate import Context, is_true
from satura.rules.expression import Call, Expression, variables_of
from satura.rules.model import Variable
from satura.terms.ntriples import Term


class Texts:
    """The texts of terms, fetched in batches, and which terms are the same."""

    def __init__(self, fetch: Callable[[Collection[int]], Mapping[int, Term]]) -> None:
        self.equality = Equality()
        self._fetch = fetch
        self._known: dict[int, Term] = {}

    def of(self, ids: Collection[int]) -> Mapping[int, Term]:
        """Return the text of each id."""
        missing = {term for term in ids if term not in self._known}
        if missing:
            self._known.update(self._fetch(missing))
        return self._known

    def hold(self, expressions: Sequence[Expression], binding: Mapping[str, int]) -> bool:
        """Say whether all expressions are true of a binding, or of some equals of its terms."""
        names = sorted({v.name for x in expressions for v in variables_of(x)})
        choices = [self.equality.class_of(binding[name]) for name in names]
        return any(
            all(self._is_true(x, dict(zip(names, chosen, strict=True))) for x in expressions)
            for chosen in product(*choices)
        )

    def _is_true(self, expression: Expression, values: Mapping[str, int]) -> bool:
        quick = _quick(expression, values)
        if quick is not None:
            return quick
        wanted = [v.name for v in variables_of(expression)]
        text = self.of({values[name] for name in wanted})
        return is_true(
            expression, {Variable(name): text[values[name]] for name in wanted}, Context()
        )


def _quick(expression: Expression, values: Mapping[str, int]) -> bool | None:
    """Answer what ids alone say: whether two terms are one, whether one is a literal."""
    if not isinstance(expression, Call):
        return None
    if expression.function == "!":
        inner = _quick(expression.arguments[0], values)
        return None if inner is None else not inner
    ids = [values[x.name] for x in expression.arguments if isinstance(x, Variable)]
    if len(ids) != len(expression.arguments):
        return None
    if expression.function == "SAMETERM":
        return ids[0] == ids[1]
    return ids[0] < 0 if expression.function == "ISLITERAL" else None
