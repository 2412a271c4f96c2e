"""Calculations that one step asks for and a later one works out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tracer_hooks.diagnosis._provenance._entries import Entry, Place, is_read, without_code
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._text import StepPassage
from tracer_hooks.values import Calculation, Expression, expressions_in

_CHARS = 12_000
_MOST_ALIKE = 8
"""Calculations with the same result that are looked at, the earliest first."""
_SHORT = 14
"""Steps up to which a number that is only repeated is taken to be that of the plan."""
_PROGRAM = re.compile(
    r"```(?:python|py|sh|bash|js|javascript|sql|java|c|cpp)\b"
    r"|^[ \t]*(?:def \w+\(|class \w+[:(]|import \w+|from [\w.]+ import |return\b|print\("
    r"|for \w+ in \b.*:\s*$|elif .*:\s*$|while .*:\s*$|(?:let|const|var) \w+ ?=|#include\b|function \w+\()",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A calculation that an agent writes down without working it out."""

    step: int
    expression: Expression
    passage: StepPassage

    @property
    def quote(self) -> str | None:
        """The sentence around it."""
        return self.passage.quote_at(self.expression.start, self.expression.end) or None

    @property
    def written(self) -> str:
        """The calculation in the agent's own signs, in one line."""
        return " ".join(self.expression.text.split())


@dataclass(frozen=True, slots=True)
class Planned:
    """A value that a step says since an earlier one asked for the calculation that gives it."""

    entry: Entry
    plan: Plan
    is_answer: bool
    is_worked_out: bool
    """Whether the step that says it writes the calculation out, and all its calculations are right."""


class Plans:
    """The calculations that agents of a run ask for; each step is read once."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._by_step: dict[int, list[Plan]] = defaultdict(list)
        self._by_value: dict[Fraction, list[Plan]] = defaultdict(list)
        for plan in _plans_of(ledger):
            self._by_step[plan.step].append(plan)
            self._by_value[plan.expression.value].append(plan)

    def behind(self, entry: Entry) -> Plan | None:
        """The earliest calculation that was asked for before a step says its result, and that the step follows."""
        number = entry.value.number
        asked = self._by_value.get(number, [])[:_MOST_ALIKE] if number is not None else []
        return next((one for one in asked if one.step < entry.step and self._follows(entry, one)), None)

    def before(self, step: int) -> Plan | None:
        """The calculation that the act right before a step asks for; None when that names other numbers too."""
        acts = self._ledger.trace.acts
        place = acts.index(step) if step in self._acts else 0
        asked = self._by_step.get(acts[place - 1], ()) if place > 0 else ()
        return asked[0] if len(asked) == 1 and self._is_all_of(asked[0]) else None

    def _is_all_of(self, plan: Plan) -> bool:
        """Tell whether a step has no number beside the calculation."""
        numbers = (one.value for one in self._ledger.of_step(plan.step, Place.SAID) if one.value.number is not None)
        return all(plan.expression.start <= one.start < plan.expression.end for one in numbers)

    @property
    def _acts(self) -> frozenset[int]:
        return self._ledger.remember(("acts",), lambda: frozenset(self._ledger.trace.acts))

    def _follows(self, entry: Entry, plan: Plan) -> bool:
        """Tell whether a step works with the numbers of the plan, and makes no mistake where it states the result."""
        parts = {abs(one) for one in plan.expression.parts}
        if entry.place is Place.SHOWN:
            used = self._ledger.of_step(entry.step, Place.USED)
            return bool(used) and all(one.value.number is None or abs(one.value.number) in parts for one in used)
        stating = [one for one in self._ledger.calculations(entry.step) if one.stated.value == entry.value.number]
        if stating:
            return all(one.holds for one in stating) and self._is_of(parts, entry.step, stating)
        is_near = entry.value.is_telling and len(self._ledger.trace.steps) <= _SHORT
        return is_near or self._ledger.trace.next_act(plan.step) == entry.step

    def _is_of(self, parts: set[Fraction], step: int, stating: list[Calculation]) -> bool:
        """Tell whether one of the calculations that state the result rests on the plan's numbers alone."""
        known = set(parts)
        for one in self._ledger.calculations(step):
            if one.holds and rests_on(one, known):
                known.add(abs(one.stated.value))
                if one in stating:
                    return True
        return False


def plans_of(ledger: Ledger) -> Plans:
    """The calculations that agents of a run ask for; read once for a run."""
    return ledger.remember(("plans",), lambda: Plans(ledger))


def rests_on(calculation: Calculation, numbers: set[Fraction]) -> bool:
    """Tell whether a calculation has no other numbers than those."""
    return all(abs(one.value) in numbers for one in calculation.operands)


def _plans_of(ledger: Ledger) -> Iterator[Plan]:
    trace = ledger.trace
    acts = [step for step in trace.acts if trace.roles[step] is Role.AGENT and is_read(step, len(trace.steps))]
    texts = [(step, passage) for step in acts if (passage := trace.content(step)) is not None]
    if any(_PROGRAM.search(passage.text) for _, passage in texts):
        return  # in a run of programs an expression is code
    given: set[tuple[Fraction, tuple[Fraction, ...]]] | None = None
    for step, passage in texts:
        if trace.is_brief(step):
            continue
        for expression in ledger.expressions(step):
            if given is None:
                given = set(_given(ledger))
            if _signature(expression) not in given:
                yield Plan(step, expression, passage)


def _given(ledger: Ledger) -> Iterator[tuple[Fraction, tuple[Fraction, ...]]]:
    """The calculations of the task, of what persons said and of the agents' instructions."""
    trace = ledger.trace
    texts = [trace.trajectory.task, *(agent.instructions or "" for agent in trace.trajectory.agents)]
    texts += [one.content for one in trace.steps if trace.roles[one.index] is Role.PERSON]
    texts += [shown.text for one in trace.steps[:1] for shown in one.inputs if shown.step is None and shown.text]
    for text in texts:
        yield from map(_signature, expressions_in(without_code(text[:_CHARS])))


def _signature(expression: Expression) -> tuple[Fraction, tuple[Fraction, ...]]:
    return expression.value, tuple(sorted(abs(one.value) for one in expression.operands))
