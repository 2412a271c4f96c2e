"""Following the wrong answer back to the step where it departs from what the run was given and shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind, Link, Origin
from tracer_hooks.diagnosis._provenance._derivation import derivation_of
from tracer_hooks.diagnosis._provenance._dropped import left_out_of_sum, left_out_of_total
from tracer_hooks.diagnosis._provenance._ledger import Entry, Ledger, Place
from tracer_hooks.diagnosis._provenance._misreadings import misread_field, slip_of
from tracer_hooks.diagnosis._provenance._plans import (
    Planned,
    brought_in,
    plan_behind,
    planned_value,
    swappable,
    swapped_arguments,
)
from tracer_hooks.diagnosis._provenance._values import Kind, Sighting, Texts, is_same, number_key
from tracer_hooks.values import Calculation, Quantity

MAX_FOLLOWED = 32
"""Values of one run that are followed back."""
_CHARS = 3_000
_PLAIN_SLIP = 0.9
_MOST_CLAIMS = 12
_NOT_COMMUTATIVE = frozenset("-/")


class Trail:
    """The way back from the answer, and what was found on it."""

    def __init__(self, ledger: Ledger) -> None:
        self.departures: list[Departure] = []
        self.links: list[tuple[Link, Entry]] = []
        """The source of each value that was followed, with the place where it came in."""
        self.planned: list[Planned] = []
        """Values of the answer that an earlier step asked for, as a calculation."""
        self._derived: list[tuple[Entry, Calculation | None]] = []
        """The places where values of the answer were worked out, with the calculation where it is written."""
        self._observed: list[Entry] = []
        """Tool results that a value of the answer comes from."""
        self._ledger = ledger
        self._seen: list[Sighting] = []

    def follow(self, value: Sighting, *, is_answer: bool = False) -> None:
        """Follow one value back, and the values that it was worked out from."""
        if len(self._seen) >= MAX_FOLLOWED or any(is_same(value, seen) for seen in self._seen):
            return
        self._seen.append(value)
        first = self._introduction(value, is_answer=is_answer)
        if first is None:
            return
        if first.place is Place.GIVEN:
            self._link(first, Origin.GIVEN, None)
        elif self._is_planned(first, is_answer=is_answer):
            return
        elif first.place is Place.SHOWN:
            self._shown(first)
        elif first.place is Place.USED:
            self._asserted(first)
        else:
            self._said(first)
            self._misnamed(first)

    def makers(self) -> Iterator[Departure]:
        """Find where the answer was made, when nothing shows what is wrong with it, the likeliest kind first.

        A calculation that was asked for comes before one that could stand the wrong way round, and that before what
        could not.
        """
        ledger = self._ledger
        yield from (planned_value(ledger, planned) for planned in self.planned)
        for entry, calculation in reversed(self._derived):
            if calculation is not None and not _NOT_COMMUTATIVE.isdisjoint(calculation.operators):
                yield swappable(ledger, entry, calculation)
        for entry in self._observed:
            yield from swapped_arguments(ledger, entry)
        for entry, calculation in self._derived:
            if calculation is not None or ledger.is_new(entry):
                yield brought_in(ledger, entry, calculation)

    def _introduction(self, value: Sighting, *, is_answer: bool) -> Entry | None:
        """Find where a value came into the run; of the task only where the answer does not depart from it."""
        found = self._ledger.occurrences(value)
        given = next((entry for entry in found if entry.place is Place.GIVEN), None)
        if given is not None and not is_answer:
            return given
        return next((entry for entry in found if entry.place is not Place.GIVEN), given)

    def _is_planned(self, entry: Entry, *, is_answer: bool) -> bool:
        """Tell whether an earlier step asked for the calculation that gives a value; then its numbers are followed."""
        plan = plan_behind(self._ledger, entry)
        if plan is None:
            return False
        calculations = self._ledger.calculations(entry.step)
        stated = any(each.stated.value == entry.value.number for each in calculations)
        is_worked_out = stated and all(each.holds for each in calculations)
        self.planned.append(Planned(entry, plan, is_answer, is_worked_out))
        at = next(iter(self._ledger.of_step(plan.step, Place.SAID)), None)
        self._link(entry, Origin.DERIVED, at, operands=(plan.written,))
        for operand in (_as_sighting(each, self._ledger.texts) for each in plan.expression.operands):
            known = self._ledger.before(operand, plan.step)
            if operand.is_telling or known is None or known.place is Place.SAID:
                self.follow(operand)
        return True

    def _said(self, entry: Entry) -> None:
        calendar = [
            each
            for each in self._ledger.date_calculations(entry.step)
            if each.start <= entry.value.start < each.end
            and (each.stated.startswith(entry.text) or entry.value.date is not None)
        ]
        wrong_date = next((each for each in calendar if not each.holds), None)
        if wrong_date is not None:
            self._depart(DepartureKind.MISCALCULATED, entry, wrong_date.correction)
            return
        stating = [
            each for each in self._ledger.calculations(entry.step) if each.stated.start == entry.value.start
        ] or [each for each in self._ledger.calculations(entry.step) if each.stated.value == entry.value.number]
        wrong = next((each for each in stating if not each.holds), None)
        if wrong is not None:
            self._depart(DepartureKind.MISCALCULATED, entry, wrong.correction, calculation=wrong)
        elif stating:
            self._worked_out(entry, stating[0])
        elif calendar:
            self._link(entry, Origin.DERIVED, None)
            self._derived.append((entry, None))
        else:
            self._asserted(entry)

    def _worked_out(self, entry: Entry, calculation: Calculation) -> None:
        self._derived.append((entry, calculation))
        operands = [_as_sighting(each, self._ledger.texts) for each in calculation.operands]
        dropped = left_out_of_sum(self._ledger, entry.step, calculation, operands)
        if dropped is None and set(calculation.operators) <= set("+="):
            dropped = left_out_of_total(self._ledger, entry)
        if dropped is not None:
            self.departures.append(replace(dropped, leads_to_answer=True))
        for operand in operands:
            known = self._ledger.before(operand, entry.step)
            self._link(entry, Origin.DERIVED, known, operands=(operand.text.strip(),))
            if operand.is_telling or known is None or known.place is Place.SAID:
                self.follow(operand)

    def _asserted(self, entry: Entry) -> None:
        """A value that no calculation in the step gives."""
        known = self._ledger.before(entry.value, entry.step, entry.place)
        if known is not None and known.place is not Place.USED:
            return
        slip = misread_field(self._ledger, entry) or slip_of(self._ledger, entry)
        dropped = left_out_of_total(self._ledger, entry) if slip is None else None
        if dropped is not None:
            self._add(dropped, entry, Origin.DROPPED)
            return
        own = [each for each in self._ledger.of_step(entry.step, Place.SAID) if each.value.start < entry.value.start]
        at_hand = [*self._ledger.at_hand(entry.step), *own]
        operands = derivation_of(entry.value, at_hand) if slip is None or slip.strength < _PLAIN_SLIP else None
        if operands is not None:
            for operand in operands:
                self._link(entry, Origin.DERIVED, operand, operands=(operand.text,))
            self._derived.append((entry, None))
            for operand in operands:
                if operand.value.is_telling:
                    self.follow(operand.value)
        elif slip is not None:
            self._add(slip, entry, Origin.CONTRADICTING)
        else:
            self._unsupported(entry)

    def _unsupported(self, entry: Entry) -> None:
        """A value that nothing before it gives."""
        value, ledger = entry.value, self._ledger
        if not value.is_telling or value.kind is Kind.NAME or ledger.is_cut or not ledger.is_new(entry):
            return
        agent = ledger.run.steps[entry.step].agent
        why = f"{agent!r} is the first to say {entry.text!r}; nothing before it in the run gives this value"
        self._depart(DepartureKind.UNSUPPORTED, entry, why, 0.5)

    def _shown(self, entry: Entry) -> None:
        self._observed.append(entry)
        for used in self._ledger.of_step(entry.step, Place.USED):
            if self._ledger.before(used.value, entry.step, Place.USED) is None:
                slip = slip_of(self._ledger, used)
                if slip is not None:
                    self.departures.append(replace(slip, leads_to_answer=True))
                elif used.value.is_telling:
                    self.follow(used.value)
            elif used.value.kind is Kind.NUMBER:
                self.follow(used.value)
        self._link(entry, Origin.OBSERVED, None, f"returned by {entry.tool!r}" if entry.tool else "")
        self._misnamed(entry)

    def _misnamed(self, entry: Entry) -> None:
        """The first of the later steps that says the known value of something else."""
        claims = [
            each
            for each in self._ledger.occurrences(entry.value)
            if each.place is Place.SAID and each.step >= entry.step
        ]
        for claim in claims[:_MOST_CLAIMS]:
            wrong = misread_field(self._ledger, claim)
            if wrong is not None:
                self.departures.append(replace(wrong, leads_to_answer=True))
                return

    def _add(self, departure: Departure, entry: Entry, origin: Origin) -> None:
        self.departures.append(replace(departure, leads_to_answer=True))
        self._link(entry, origin, None)

    def _depart(
        self,
        kind: DepartureKind,
        entry: Entry,
        why: str,
        strength: float = 1.0,
        *,
        calculation: Calculation | None = None,
    ) -> None:
        self.departures.append(
            Departure(
                kind=kind,
                step=entry.step,
                why=why,
                quote=entry.quote_of(calculation),
                value=entry.text,
                right=calculation.right if calculation is not None else None,
                strength=strength,
                leads_to_answer=True,
            )
        )
        origin = Origin.CONTRADICTING if kind is not DepartureKind.UNSUPPORTED else Origin.UNSUPPORTED
        written = calculation.operands if calculation is not None else ()
        operands = [_as_sighting(each, self._ledger.texts) for each in written]
        known = (self._ledger.before(each, entry.step) for each in operands)
        sources = [each for each in known if each is not None and 0 <= each.step < entry.step]
        for source in sources:
            self._link(entry, origin, source, why)
        if not sources:
            self._link(entry, origin, None, why)

    def _link(
        self, entry: Entry, origin: Origin, source: Entry | None, note: str = "", *, operands: tuple[str, ...] = ()
    ) -> None:
        at = None if source is None or not 0 <= source.step < entry.step else source.step
        self.links.append((Link(entry.text, max(0, entry.step), origin, at, note, operands), entry))


def _as_sighting(quantity: Quantity, texts: Texts) -> Sighting:
    found = texts.sightings(quantity.text)
    if len(found) == 1 and found[0].number is not None:
        return found[0]
    value = quantity.value
    return Sighting(
        Kind.NUMBER,
        (number_key(value),),
        quantity.text,
        0,
        0,
        number=value,
        unit=quantity.unit,
        decimals=quantity.decimals,
    )


def answers_of(ledger: Ledger, values: Sequence[str]) -> Iterator[Sighting]:
    """Values to follow back: the values that are known to be wrong, else all of the final answer.

    Values that the task names come last, since an answer often repeats them.
    """
    if values:
        for value in values:
            yield from ledger.texts.sightings(value)
        return
    found = ledger.texts.sightings(ledger.run.final_text[-_CHARS:])
    given = ledger.given()
    yield from sorted(found, key=lambda value: any(is_same(value, entry.value) for entry in given))
