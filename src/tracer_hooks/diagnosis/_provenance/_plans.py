"""Calculations that one step asks for and a later one works out, and where else the answer was made."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._ledger import Entry, Ledger, Place, without_code
from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._text import StepPassage, canonical
from tracer_hooks.schema import ToolCall
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
    """The step that says it writes the calculation out, and all its calculations are right."""


def plan_behind(ledger: Ledger, entry: Entry) -> Plan | None:
    """The earliest calculation that was asked for before a step says its result, and that the step follows."""
    if entry.value.number is None:
        return None
    asked = ledger.remember(("plans",), lambda: _plans_by_value(ledger)).get(entry.value.number, ())[:_MOST_ALIKE]
    return next((plan for plan in asked if plan.step < entry.step and _follows(ledger, entry, plan)), None)


def _follows(ledger: Ledger, entry: Entry, plan: Plan) -> bool:
    """Tell whether a step works with the numbers of the plan, and makes no mistake where it states the result."""
    parts = {abs(part) for part in plan.expression.parts}
    if entry.place is Place.SHOWN:
        used = ledger.of_step(entry.step, Place.USED)
        return bool(used) and all(each.value.number is None or abs(each.value.number) in parts for each in used)
    stating = [each for each in ledger.calculations(entry.step) if each.stated.value == entry.value.number]
    if stating:
        return all(each.holds for each in stating) and _rests_on(ledger, entry.step, stating, parts)
    is_near = entry.value.is_telling and len(ledger.run.steps) <= _SHORT
    return is_near or ledger.run.next_act(plan.step) == entry.step


def _rests_on(ledger: Ledger, step: int, stating: list[Calculation], parts: set[Fraction]) -> bool:
    """Tell whether one of the calculations that state the result rests on the plan's numbers alone."""
    known = set(parts)
    for calculation in ledger.calculations(step):
        if calculation.holds and all(abs(operand.value) in known for operand in calculation.operands):
            known.add(abs(calculation.stated.value))
            if calculation in stating:
                return True
    return False


def _plans_by_value(ledger: Ledger) -> dict[Fraction, list[Plan]]:
    """The calculations that agents ask for by what they give; in a run of programs an expression is code."""
    run = ledger.run
    plans: dict[Fraction, list[Plan]] = defaultdict(list)
    acts = [step for step in run.acts if run.roles[step] is Role.AGENT and ledger.is_read(step)]
    texts = [(step, passage) for step in acts if (passage := run.content(step)) is not None]
    if any(_PROGRAM.search(passage.text) for _, passage in texts):
        return plans
    given: set[tuple[Fraction, tuple[Fraction, ...]]] | None = None
    for step, passage in texts:
        for expression in ledger.expressions(step) if not run.is_brief(step) else ():
            given = set(_given(ledger)) if given is None else given
            if _signature(expression) not in given:
                plans[expression.value].append(Plan(step, expression, passage))
    return plans


def _given(ledger: Ledger) -> Iterator[tuple[Fraction, tuple[Fraction, ...]]]:
    """The calculations of the task, of what persons said and of the agents' instructions."""
    run = ledger.run
    texts = [run.trajectory.task, *(agent.instructions or "" for agent in run.trajectory.agents)]
    texts += [step.content for step in run.steps if run.roles[step.index] is Role.PERSON]
    texts += [shown.text for step in run.steps[:1] for shown in step.inputs if shown.step is None and shown.text]
    for text in texts:
        yield from map(_signature, expressions_in(without_code(text[:_CHARS])))


def _signature(expression: Expression) -> tuple[Fraction, tuple[Fraction, ...]]:
    return expression.value, tuple(sorted(abs(operand.value) for operand in expression.operands))


def planned_value(ledger: Ledger, planned: Planned) -> Departure:
    """The step that asks for the calculation which a value of the answer is the result of."""
    entry, plan = planned.entry, planned.plan
    steps, value = ledger.run.steps, entry.text
    why = f"{steps[plan.step].agent!r} asks for {plan.written!r}, and that gives "
    if not planned.is_answer:
        why += f"{value}, which the rejected answer rests on"
    elif canonical(ledger.run.final_text.strip()) == canonical(value):
        why += f"the rejected answer, {value}"
    else:
        why += f"{value}, which stands in the rejected answer"
    if planned.is_worked_out:
        why += f"; {steps[entry.step].agent!r} works it out without an error in step {entry.step}"
    return Departure(
        kind=DepartureKind.PLANNED,
        step=plan.step,
        why=why,
        quote=plan.quote,
        value=value,
        sources=(entry.step,) if planned.is_worked_out else (),
        strength=0.45 if planned.is_answer else 0.3,
        leads_to_answer=True,
    )


def swappable(ledger: Ledger, entry: Entry, calculation: Calculation) -> Departure:
    """A difference or quotient that the answer rests on, which may stand the wrong way round."""
    agent = ledger.run.steps[entry.step].agent
    return Departure(
        kind=DepartureKind.SWAPPED,
        step=entry.step,
        why=f"the answer rests on {calculation.left!r}, which {agent!r} works out here",
        quote=entry.quote_of(calculation),
        value=calculation.stated.text.strip(),
        strength=0.45,
        leads_to_answer=True,
    )


def brought_in(ledger: Ledger, entry: Entry, calculation: Calculation | None) -> Departure:
    """The step that made a value of the answer, where nothing shows what is wrong with it."""
    agent = ledger.run.steps[entry.step].agent
    is_made = calculation is not None
    return Departure(
        kind=DepartureKind.BROUGHT_IN,
        step=entry.step,
        why=f"{agent!r} works {entry.text!r} out here" if is_made else f"{agent!r} is the first to say {entry.text!r}",
        quote=entry.quote_of(calculation),
        value=None,
        strength=0.2,
        leads_to_answer=True,
    )


_FIRST = re.compile(r"from|source|src|origin|start|departure|depart|sender|base|old|before|current", re.IGNORECASE)
_SECOND = re.compile(
    r"to|target|dest|destination|end|arrival|arrive|receiver|recipient|quote|new|after|into", re.IGNORECASE
)
_TO = r"\s(?:to|into|in|towards?|for|nach|→|->)\s"
_FAR = 60


def swapped_arguments(ledger: Ledger, entry: Entry) -> Iterator[Departure]:
    """The departure at a call that a value of the answer comes from, when the task has its two ends in other order."""
    step = ledger.run.steps[entry.step]
    for call in step.tool_calls:
        ends = _ends_of(call)
        if ends is None:
            continue
        (first_key, first), (second_key, second) = ends
        for where, said in _texts(ledger, entry.step):
            ahead, back = _goes(said, first, second), _goes(said, second, first)
            if ahead == back:
                continue
            if back:
                yield Departure(
                    kind=DepartureKind.SWAPPED,
                    step=entry.step,
                    why=f"{step.agent!r} asks {call.name!r} for {first_key} {first!r} and {second_key} {second!r}, "
                    f"but {where} goes from {second!r} to {first!r}",
                    quote=first,
                    value=entry.text,
                    strength=0.9,
                    leads_to_answer=True,
                )
            return


def _texts(ledger: Ledger, step: int) -> Iterator[tuple[str, str]]:
    yield "the task", ledger.run.trajectory.task[:4_000]
    for earlier in range(step - 1, max(-1, step - 6), -1):
        yield f"step {earlier}", ledger.run.steps[earlier].content[:4_000]


def _ends_of(call: ToolCall) -> tuple[tuple[str, str], tuple[str, str]] | None:
    if not isinstance(call.arguments, dict):
        return None
    words = {key: value for key, value in call.arguments.items() if isinstance(value, str) and 1 < len(value) <= 40}
    first = next(((key, value) for key, value in words.items() if _is_named(key, _FIRST)), None)
    second = next(((key, value) for key, value in words.items() if _is_named(key, _SECOND)), None)
    if first is None or second is None or first[1].casefold() == second[1].casefold():
        return None
    return first, second


def _is_named(key: str, names: re.Pattern[str]) -> bool:
    return any(names.fullmatch(part) for part in re.split(r"_|(?<=[a-z])(?=[A-Z])", key) if part)


def _goes(text: str, one: str, other: str) -> bool:
    """Tell whether a text goes from one to the other, or has an amount in one and asks for the other."""
    start, end = rf"(?<!\w){re.escape(one)}(?!\w)", rf"(?<!\w){re.escape(other)}(?!\w)"
    if re.search(rf"{start}[^.?!\n]{{0,{_FAR}}}?{_TO}[^.?!\n]{{0,20}}?{end}", text, re.IGNORECASE):
        return True
    amount = re.search(rf"\d\s?{re.escape(one)}(?!\w)", text)
    return amount is not None and re.search(rf"\b(?:in|to|into)\s{re.escape(other)}(?!\w)", text) is not None
