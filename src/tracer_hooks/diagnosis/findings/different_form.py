"""``different_form``: the answer is the expected value in another unit, factor or form.

Silent without an expected answer, and where no plain factor or form explains the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tracer_hooks.diagnosis._reading._run import RunReading, read_outcome
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome
from tracer_hooks.values import Quantity, expressions_in, quantities_in

_KIND = FindingKind.DIFFERENT_FORM
_FACTORS = (1000, 100, 60, 24, 7, 12, 1_000_000)
_LONGEST = 200


def find(run: RunReading) -> Iterator[Finding]:
    """The one finding of a failed run whose answer is the expected one in another form."""
    expected, got, speaker = read_outcome(run).expected, run.answer.text, run.last_speaker
    if run.trajectory.outcome is not RunOutcome.FAILED or not expected or speaker is None or len(got) > _LONGEST:
        return
    wanted, stated = _only(expected[0]), _only(got)
    how = _unevaluated(got, wanted) if wanted is not None else None
    if how is None and wanted is not None and stated is not None:
        how = _factor(wanted.value, stated.value)
    if how is None:
        return
    yield finding(
        run,
        _KIND,
        f"The answer, {got!r}, is the expected {expected[0].strip()!r} {how}",
        step=speaker,
        quote=run.locate(speaker, got, "content"),
        claimed=got,
        right=expected[0].strip(),
        leads_to_answer=True,
    )


def _only(text: str) -> Quantity | None:
    """The one quantity of a text."""
    found = [each for each in quantities_in(text) if not each.is_label]
    return found[0] if len(found) == 1 else None


def _factor(wanted: Fraction, stated: Fraction) -> str | None:
    """The factor between two values, in words."""
    if not wanted or not stated or wanted == stated:
        return None
    for factor in _FACTORS:
        if stated == wanted * factor:
            return f"times {factor:,}"
        if stated * factor == wanted:
            return f"divided by {factor:,}"
    return "with the other sign" if stated == -wanted else None


def _unevaluated(got: str, wanted: Quantity | None) -> str | None:
    """A calculation in the place of its result."""
    written = [each for each in expressions_in(got) if wanted is not None and each.value == wanted.value]
    return "as a calculation that is not worked out" if written else None


KIND = KindOfFinding(
    kind=_KIND,
    definition="The answer is the expected value in another unit, factor or form.",
    find=find,
    mode=ErrorMode.FM_1_1,
    advice=lambda found: f"Say in the prompt of {found.agent!r} in which unit and form the answer is wanted.",
)
