"""Where the answer was made, when nothing shows what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._following import Trail
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._plans import Planned, plans_of, rests_on
from tracer_hooks.diagnosis._provenance._swaps import swapped_arguments
from tracer_hooks.diagnosis._reading._text import canonical
from tracer_hooks.values import Calculation

_NOT_COMMUTATIVE = frozenset("-/")


def fallbacks(ledger: Ledger, trail: Trail) -> Iterator[Departure]:
    """Where the answer was made, the likeliest kind first.

    A calculation that was asked for comes before one that could stand the wrong way round, and that before what could
    not.
    """
    yield from (planned_value(ledger, one) for one in trail.planned)
    for entry, calculation in trail.derived:
        if calculation is not None:
            yield from _unfollowed(ledger, entry, calculation)
    for entry, calculation in reversed(trail.derived):
        if calculation is not None and not _NOT_COMMUTATIVE.isdisjoint(calculation.operators):
            yield _swappable(ledger, entry, calculation)
    for entry in trail.observed:
        yield from swapped_arguments(ledger, entry)
        if ledger.of_step(entry.step, Place.USED):
            yield _asked_of_a_tool(ledger, entry)
    for entry, calculation in trail.derived:
        if calculation is not None or ledger.is_new(entry):
            yield _brought_in(ledger, entry, calculation)


def planned_value(ledger: Ledger, planned: Planned) -> Departure:
    """The step that asks for the calculation which a value of the answer is the result of."""
    entry, plan = planned.entry, planned.plan
    steps, value = ledger.trace.steps, entry.value.text.strip()
    why = f"{steps[plan.step].agent!r} asks for {plan.written!r}, and that gives "
    if not planned.is_answer:
        why += f"{value}, which the rejected answer rests on"
    elif canonical(ledger.trace.final_text.strip()) == canonical(value):
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


def _unfollowed(ledger: Ledger, entry: Entry, calculation: Calculation) -> Iterator[Departure]:
    """A right calculation, but not with the numbers of the one that the act before it asks for."""
    plan = plans_of(ledger).before(entry.step)
    if plan is None:
        return
    parts = {abs(one) for one in plan.expression.parts}
    own = ledger.calculations(entry.step)
    if any(rests_on(one, parts) or one.stated.value == plan.expression.value for one in own):
        return
    steps = ledger.trace.steps
    yield Departure(
        kind=DepartureKind.UNFOLLOWED,
        step=entry.step,
        why=f"{steps[plan.step].agent!r} asks for {plan.written!r} in step {plan.step}; "
        f"{steps[entry.step].agent!r} works out {calculation.left!r} instead",
        quote=entry.quote_of(calculation),
        value=None,
        sources=(plan.step,),
        strength=0.45,
        leads_to_answer=True,
    )


def _swappable(ledger: Ledger, entry: Entry, calculation: Calculation) -> Departure:
    agent = ledger.trace.steps[entry.step].agent
    return Departure(
        kind=DepartureKind.SWAPPED,
        step=entry.step,
        why=f"the answer rests on {calculation.left!r}, which {agent!r} works out here",
        quote=entry.quote_of(calculation),
        value=calculation.stated.text.strip(),
        strength=0.45,
        leads_to_answer=True,
    )


def _asked_of_a_tool(ledger: Ledger, entry: Entry) -> Departure:
    agent, text = ledger.trace.steps[entry.step].agent, entry.value.text.strip()
    return Departure(
        kind=DepartureKind.SWAPPED,
        step=entry.step,
        why=f"{text!r} of the answer comes from what {agent!r} asked "
        f"{repr(entry.tool) if entry.tool is not None else 'a tool'} for",
        quote=entry.quote,
        value=text,
        strength=0.4 if len(ledger.of_step(entry.step, Place.USED)) > 1 else 0.3,
        leads_to_answer=True,
    )


def _brought_in(ledger: Ledger, entry: Entry, calculation: Calculation | None) -> Departure:
    text, agent = entry.value.text.strip(), ledger.trace.steps[entry.step].agent
    return Departure(
        kind=DepartureKind.BROUGHT_IN,
        step=entry.step,
        why=f"{agent!r} works {text!r} out here"
        if calculation is not None
        else f"{agent!r} is the first to say {text!r}",
        quote=entry.quote_of(calculation),
        value=None,
        strength=0.2,
        leads_to_answer=True,
    )
