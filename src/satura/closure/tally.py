"""How often each linear rule concludes a triple, counted while the pass runs.

Every form knows the rule that concludes it, so the pass only has to add up what goes by: one sum
for each rule that is in the table, no query of its own.

Invariant: without joins the sum over all rules is the sum of `support`, but for schema facts, which
count once in their own support and belong to no rule here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.consequences import Concluders

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Labels = Mapping[Any, Sequence[str]]


@dataclass(slots=True)
class Tally:
    """The rules of a table by number, and what was counted when the frame was last written."""

    rules: Concluders
    numbers: dict[str, int] = field(default_factory=dict)
    _observation: Observation | None = None

    def number(self, rule: str) -> int:
        """Return the number of a rule."""
        return self.numbers.setdefault(rule, len(self.numbers))

    def watch(self, conclusions: DataFrame) -> DataFrame:
        """Count the rows of each rule in the column `rule` as they go by."""
        if not self.numbers:
            return conclusions
        self._observation = Observation()
        sums = [
            F.count(F.when(F.col("rule") == number, True)).alias(f"r{number}")
            for number in self.numbers.values()
        ]
        return conclusions.observe(self._observation, *sums)

    def counts(self) -> dict[str, int]:
        """Return the count of each rule that concluded something, once the frame was evaluated."""
        if self._observation is None:
            return {}
        try:
            found = self._observation.get
        except Py4JJavaError:
            return {}  # the plan had nothing to conclude, so there was nothing to watch
        return {
            rule: found[f"r{number}"]
            for rule, number in self.numbers.items()
            if found.get(f"r{number}")
        }
