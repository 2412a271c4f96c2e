"""What fitting to a team's own labels gained, and which fit is to be kept."""

from __future__ import annotations

from tracer_hooks.evaluation._measure import Measure
from tracer_hooks.schema import Record

SHIPPED = "as shipped"
ON_INJECTED = "fitted to injected faults"
ON_NATURAL = "fitted to natural failures"
ON_BOTH = "fitted to both"
POSITION = "most frequent step"
AGENT = "most frequent agent, first step"

INJECTED = "injected faults"
NATURAL = "natural failures"

FITTED = (ON_INJECTED, ON_NATURAL, ON_BOTH)

_MORE = 2
"""How many times as many answers a fit must put right as it puts wrong."""


class AdaptationRow(Record):
    """One method on one kind of failures."""

    method: str
    """Who answers."""
    group: str
    """Which failures."""
    step: Measure
    """Exact-step accuracy."""
    agent: Measure
    """Exact-agent accuracy."""
    step_gain: Measure | None = None
    """Exact-step accuracy minus that of the method that it is compared with, here the attributor as shipped unless
    said otherwise, over the same draws of questions."""
    agent_gain: Measure | None = None
    """The same for the agent."""
    righted: int | None = None
    """Runs whose step it names and that method does not; None for that one itself."""
    wronged: int | None = None
    """Runs whose step that method names and it does not."""


class AdaptationReport(Record):
    """What fitting gains, every run judged without any label of its question."""

    rows: tuple[AdaptationRow, ...]
    """Every method on every group."""
    labels: dict[str, int]
    """How many labelled runs there are of each group, weak labels left out."""
    weak: int = 0
    """How many weak labels were learnt from as well."""
    questions: int
    """Different questions."""
    folds: int
    """Folds of whole questions."""
    seed: int
    """Of the folds and the draws."""

    @property
    def judged_on(self) -> str:
        """The failures that decide: the natural ones, which are what is to be diagnosed, where there are any."""
        return NATURAL if self.labels.get(NATURAL, 0) else INJECTED

    @property
    def best(self) -> str:
        """What is to be kept: the fit to both, unless another fit does better, or none is worth it.

        Natural failures decide, however few: a fit that another one beats on them is not kept. Where they say the same
        of several, the injected faults decide among those; where these do too, the fit to both comes first, then that
        to natural failures. The best fit is worth it only when it puts more than twice as many natural failures right
        as it puts wrong, so that it is less likely to have gained by chance; where it changes none of them, the
        injected faults say.
        """
        measured = [method for method in FITTED if self.row(method, self.judged_on) is not None]
        if not measured:
            return SHIPPED
        best = max(measured, key=lambda method: (*self._right(method), FITTED.index(method)))
        return best if self._is_worth_it(best) else SHIPPED

    def _is_worth_it(self, method: str) -> bool:
        row = self.row(method, self.judged_on)
        if row is None or self._right(method) <= self._right(SHIPPED):
            return False
        if row.righted is None or row.wronged is None:
            return True
        return row.righted > _MORE * row.wronged or row.righted == row.wronged == 0

    def _right(self, method: str) -> tuple[float, float]:
        """Exact steps in natural failures, then in injected faults."""
        rows = [self.row(method, group) for group in (NATURAL, INJECTED)]
        natural, injected = (0.0 if row is None else round(row.step.value, 9) for row in rows)
        return natural, injected

    def row(self, method: str, group: str) -> AdaptationRow | None:
        """One row; None when it was not measured."""
        return next((row for row in self.rows if (row.method, row.group) == (method, group)), None)
