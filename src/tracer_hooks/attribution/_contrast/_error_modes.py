"""The error mode, where the kind of difference tells it."""

from __future__ import annotations

from tracer_hooks.attribution._contrast._claims import Claim, ClaimKind, parts_of
from tracer_hooks.attribution._contrast._comparison import Comparison
from tracer_hooks.attribution._contrast._divergence import Divergences
from tracer_hooks.attribution._contrast._marks import VALUES, Divergence, Mark
from tracer_hooks.schema import ErrorMode

_TOLD = {
    Divergence.MISSING_CHECK: ErrorMode.FM_3_2,
    Divergence.REPEAT: ErrorMode.FM_1_3,
    Divergence.EARLY_END: ErrorMode.FM_3_1,
}


def error_mode_of(divergences: Divergences, step: int) -> ErrorMode | None:
    """How the agent of a step went wrong, as far as the comparison shows it.

    A missing check, a repetition and an early end have a mode of their own. A step that uses another value than the
    passing runs, although the right one stood in the run before, contradicts its agent's own words (FM-2.6) or
    disregards what others told it (FM-2.5). Any other difference does not tell the mode.
    """
    kind = divergences.kind_of(step)
    if kind is None:
        return None
    if kind in (*VALUES, Divergence.MISPLACED):
        marks = [mark for mark in divergences.marks if mark.step == step and mark.divergence in VALUES]
        modes = (_ignored_value(divergences.comparison, mark) for mark in marks)
        return next((mode for mode in modes if mode is not None), None)
    return _TOLD.get(kind)


def _ignored_value(comparison: Comparison, mark: Mark) -> ErrorMode | None:
    """The mode when the value that a passing run has in this place stood in the run before the step."""
    if mark.claim is None or mark.claim.kind is not ClaimKind.ARGUMENT:
        return None
    expected = _expected(comparison, mark, mark.claim)
    if not expected:
        return None
    run = comparison.run
    agent = run.steps[mark.step].act.agent
    said: list[Claim] = list(run.steps[mark.step].made)
    told: list[Claim] = []
    for earlier in run.steps[: mark.step]:
        (said if earlier.act.agent == agent else told).extend(earlier.made)
        told.extend(earlier.received)
    if expected <= parts_of(said):
        return ErrorMode.FM_2_6
    return ErrorMode.FM_2_5 if expected <= parts_of(told) else None


def _expected(comparison: Comparison, mark: Mark, claim: Claim) -> set[Claim]:
    """The numbers and codes that a passing run passes to the same argument in this place."""
    if mark.instead is None:
        return set()
    other = comparison.pairings[mark.instead.run].other.steps[mark.instead.step]
    same = [one for one in other.made if one.kind is ClaimKind.ARGUMENT and one.slot == claim.slot]
    return {part for part in parts_of(same) if part.kind in (ClaimKind.NUMBER, ClaimKind.CODE)}
