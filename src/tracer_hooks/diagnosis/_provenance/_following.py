"""Following the wrong answer back to the step where it departs from what the run was given and shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tracer_hooks.diagnosis._provenance._asked import is_asked_for
from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind, Link, Origin
from tracer_hooks.diagnosis._provenance._derivation import derivation_of
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._misfields import misread_field
from tracer_hooks.diagnosis._provenance._omissions import left_out_of_sum, left_out_of_total
from tracer_hooks.diagnosis._provenance._plans import Planned, plans_of
from tracer_hooks.diagnosis._provenance._sameness import is_same
from tracer_hooks.diagnosis._provenance._sightings import Kind, Sighting, number_key, ratio_of
from tracer_hooks.diagnosis._provenance._slips import slip_of
from tracer_hooks.diagnosis._provenance._terms import is_due, is_free_day, off_by_one
from tracer_hooks.diagnosis._provenance._texts import Texts
from tracer_hooks.values import Calculation, Quantity

MAX_FOLLOWED = 32
"""Values of one run that are followed back."""
_CHARS = 3_000
_SURE = 1.0
_PLAIN_SLIP = 0.9
_SMALL_LIST = 4
_MOST_CLAIMS = 12


class Trail:
    """What was found on the way back from the answer."""

    def __init__(self, ledger: Ledger) -> None:
        self.departures: list[Departure] = []
        self.links: list[tuple[Link, Entry]] = []
        """Where each value that was followed comes from, with the place where it came in."""
        self.derived: list[tuple[Entry, Calculation | None]] = []
        """Where values of the answer were worked out, with the calculation where it is written."""
        self.observed: list[Entry] = []
        """Tool results that a value of the answer comes from."""
        self.planned: list[Planned] = []
        """Values of the answer that an earlier step asked for, as a calculation."""
        self._ledger = ledger
        self._seen: list[Sighting] = []

    def follow(self, value: Sighting, *, is_answer: bool = False) -> None:
        """Follow one value back, and the values that it was worked out from."""
        if len(self._seen) >= MAX_FOLLOWED or any(is_same(value, one) for one in self._seen):
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
            self._observed(first)
        elif first.place is Place.USED:
            self._asserted(first)
        else:
            self._said(first)
            self._misnamed(first)

    def _introduction(self, value: Sighting, *, is_answer: bool) -> Entry | None:
        """Where a value came into the run. A small number stands in many places: there the step that works it out."""
        found = self._ledger.occurrences(value)
        given = next((one for one in found if one.place is Place.GIVEN), None)
        if given is not None and not is_answer:
            return given
        found = [one for one in found if one.place is not Place.GIVEN]
        if not value.is_telling:
            found = [one for one in found if one.place is Place.SAID and self._states(one)] or found
        elif value.kind is Kind.DATE:
            found = [one for one in found if not self._is_listed(one) and not is_free_day(one)] or found
        return found[0] if found else given

    def _is_listed(self, entry: Entry) -> bool:
        """Tell whether a date is only one of a row of dates, as in a calendar."""
        dates = [one for one in self._ledger.of_step(entry.step, entry.place) if one.value.kind is Kind.DATE]
        return len(dates) > _SMALL_LIST

    def _states(self, entry: Entry) -> bool:
        results = [one.stated.value for one in self._ledger.calculations(entry.step)]
        dates = [one.stated for one in self._ledger.date_calculations(entry.step)]
        return entry.value.number in results or entry.value.text.strip() in dates

    def _is_planned(self, entry: Entry, *, is_answer: bool) -> bool:
        """Tell whether an earlier step asked for the calculation that gives a value; then its numbers are followed."""
        plan = plans_of(self._ledger).behind(entry)
        if plan is None:
            return False
        calculations = self._ledger.calculations(entry.step)
        stated = any(one.stated.value == entry.value.number for one in calculations)
        is_worked_out = stated and all(one.holds for one in calculations)
        self.planned.append(Planned(entry, plan, is_answer, is_worked_out))
        at = next(iter(self._ledger.of_step(plan.step, Place.SAID)), None)
        self._link(entry, Origin.DERIVED, at, operands=(plan.written,))
        for operand in (_as_sighting(one, self._ledger.texts) for one in plan.expression.operands):
            known = self._ledger.before(operand, plan.step)
            if operand.is_telling or known is None or known.place is Place.SAID:
                self.follow(operand)
        return True

    def _said(self, entry: Entry) -> None:
        calendar = [
            one
            for one in self._ledger.date_calculations(entry.step)
            if _is_about(one.stated, one.start, one.end, entry)
        ]
        wrong_date = next((one for one in calendar if not one.holds), None)
        if wrong_date is not None:
            self._depart(DepartureKind.MISCALCULATED, entry, wrong_date.correction, _SURE)
            return
        stating = [one for one in self._ledger.calculations(entry.step) if one.stated.start == entry.value.start] or [
            one for one in self._ledger.calculations(entry.step) if one.stated.value == entry.value.number
        ]
        wrong = next((one for one in stating if not one.holds), None)
        if wrong is not None:
            self._depart(DepartureKind.MISCALCULATED, entry, wrong.correction, _SURE, calculation=wrong)
        elif stating:
            self._derived(entry, stating[0])
        elif calendar:
            self._link(entry, Origin.DERIVED, None)
            self.derived.append((entry, None))
        else:
            self._asserted(entry)

    def _derived(self, entry: Entry, calculation: Calculation) -> None:
        self.derived.append((entry, calculation))
        operands = [_as_sighting(one, self._ledger.texts) for one in calculation.operands]
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
        term = off_by_one(self._ledger, entry)
        if term is not None:
            self.departures.append(replace(term, leads_to_answer=True))
            self._link(entry, Origin.CONTRADICTING, None)
            return
        slip = self._slip(entry)
        dropped = left_out_of_total(self._ledger, entry) if slip is None else None
        if dropped is not None:
            self.departures.append(replace(dropped, leads_to_answer=True))
            self._link(entry, Origin.DROPPED, None)
            return
        own = [one for one in self._ledger.of_step(entry.step, Place.SAID) if one.value.start < entry.value.start]
        at_hand = [*self._ledger.at_hand(entry.step), *own]
        operands = derivation_of(entry.value, at_hand) if slip is None or slip.strength < _PLAIN_SLIP else None
        if operands is not None:
            for one in operands:
                self._link(entry, Origin.DERIVED, one, operands=(one.value.text.strip(),))
            self.derived.append((entry, None))
            for one in operands:
                if one.value.is_telling:
                    self.follow(one.value)
        elif slip is not None:
            self.departures.append(replace(slip, leads_to_answer=True))
            self._link(entry, Origin.CONTRADICTING, None)
        else:
            self._unsupported(entry)

    def _slip(self, entry: Entry) -> Departure | None:
        if is_due(self._ledger, entry):
            return None
        return misread_field(self._ledger, entry) or slip_of(self._ledger, entry)

    def _unsupported(self, entry: Entry) -> None:
        """A value that nothing before it gives."""
        value, ledger = entry.value, self._ledger
        if not value.is_telling or value.kind is Kind.NAME or self._is_term(value) or ledger.is_cut:
            return
        if not ledger.is_new(entry):
            return
        agent, text = ledger.trace.steps[entry.step].agent, value.text.strip()
        why = f"{agent!r} is the first to say {text!r}; nothing before it in the run gives this value"
        strength = 0.5 if is_asked_for(value, ledger.trace.trajectory.task) else 0.25
        self._depart(DepartureKind.UNSUPPORTED, entry, why, strength)

    def _is_term(self, value: Sighting) -> bool:
        """Whether it is the name of a thing rather than of one item, such as "PyPDF2", in a run that reads no ids."""
        return value.kind is Kind.CODE and not self._ledger.is_of_ids

    def _observed(self, entry: Entry) -> None:
        self.observed.append(entry)
        wrong = ""
        for used in self._ledger.of_step(entry.step, Place.USED):
            if self._ledger.before(used.value, entry.step, Place.USED) is None:
                slip = slip_of(self._ledger, used)
                if slip is not None:
                    self.departures.append(replace(slip, leads_to_answer=True))
                    wrong = wrong or f" for {used.value.text.strip()}"
                elif used.value.is_telling:
                    self.follow(used.value)
            elif used.value.kind is Kind.NUMBER:
                self.follow(used.value)
        self._link(entry, Origin.OBSERVED, None, f"returned by {entry.tool!r}{wrong}" if entry.tool else "")
        self._misnamed(entry)

    def _misnamed(self, entry: Entry) -> None:
        """The first of the later steps that says the known value of something else."""
        claims = [
            one for one in self._ledger.occurrences(entry.value) if one.place is Place.SAID and one.step >= entry.step
        ]
        for claim in claims[:_MOST_CLAIMS]:
            wrong = misread_field(self._ledger, claim)
            if wrong is not None:
                self.departures.append(replace(wrong, leads_to_answer=True))
                return

    def _depart(
        self, kind: DepartureKind, entry: Entry, why: str, strength: float, *, calculation: Calculation | None = None
    ) -> None:
        self.departures.append(
            Departure(
                kind=kind,
                step=entry.step,
                why=why,
                quote=entry.quote_of(calculation),
                value=entry.value.text.strip(),
                right=calculation.right if calculation is not None and not calculation.holds else None,
                strength=strength,
                leads_to_answer=True,
            )
        )
        origin = Origin.CONTRADICTING if kind is not DepartureKind.UNSUPPORTED else Origin.UNSUPPORTED
        written = calculation.operands if calculation is not None else ()
        operands = [_as_sighting(one, self._ledger.texts) for one in written]
        known = (self._ledger.before(one, entry.step) for one in operands)
        sources = [one for one in known if one is not None and 0 <= one.step < entry.step]
        for source in sources:
            self._link(entry, origin, source, why)
        if not sources:
            self._link(entry, origin, None, why)

    def _link(
        self, entry: Entry, origin: Origin, source: Entry | None, note: str = "", *, operands: tuple[str, ...] = ()
    ) -> None:
        at = None if source is None or not 0 <= source.step < entry.step else source.step
        link = Link(entry.value.text.strip(), max(0, entry.step), origin, at, note, operands)
        self.links.append((link, entry))


def _is_about(stated: str, start: int, end: int, entry: Entry) -> bool:
    return start <= entry.value.start < end and (
        stated.startswith(entry.value.text.strip()) or entry.value.date is not None
    )


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
        ratio=ratio_of(value),
        unit=quantity.unit,
        decimals=quantity.decimals,
    )


def answers_of(ledger: Ledger, values: Sequence[str]) -> Iterator[Sighting]:
    """What is to be followed back: the values that are known to be wrong, else all of the final answer.

    Values that the task names come last, since an answer often repeats them.
    """
    if values:
        for value in values:
            yield from ledger.texts.sightings(value)
        return
    found = ledger.texts.sightings(ledger.trace.final_text[-_CHARS:])
    given = ledger.given()
    known = [any(is_same(one, other.value) for other in given) for one in found]
    yield from (one for one, is_known in zip(found, known, strict=True) if not is_known)
    yield from (one for one, is_known in zip(found, known, strict=True) if is_known)
