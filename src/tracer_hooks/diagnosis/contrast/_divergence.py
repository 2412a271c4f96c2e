"""Points of divergence: how strongly each step speaks for being one, and the answer."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._wording import grouped, one_line
from tracer_hooks.diagnosis.contrast._comparison import ContrastedRuns
from tracer_hooks.diagnosis.contrast._marks import (
    VALUES,
    DivergenceKind,
    Instead,
    Mark,
    changed_acts,
    extra_steps,
    foreign_values,
    misplaced_values,
    missing_steps,
    unlike_content,
)
from tracer_hooks.diagnosis.contrast._run_view import Claim, ClaimKind, parts_of
from tracer_hooks.schema import ErrorMode, Evidence, EvidenceKind, Step

_RULES = (foreign_values, misplaced_values, extra_steps, changed_acts, missing_steps, unlike_content)
_MOST: Mapping[DivergenceKind, float] = {
    DivergenceKind.CLAIM: 1.5,
    DivergenceKind.ARGUMENT: 1.5,
    DivergenceKind.MISPLACED: 2.5,
    DivergenceKind.MISSING_CHECK: 1.2,
    DivergenceKind.EARLY_END: 0.8,
    DivergenceKind.REPEAT: 0.8,
    DivergenceKind.AGENT: 0.6,
    DivergenceKind.MISSING: 0.7,
    DivergenceKind.ACT: 0.6,
    DivergenceKind.EXTRA: 0.6,
    DivergenceKind.CONTENT: 1.0,
}
"""What differences of one kind can add to a step at most, however many there are."""
_CLEAR = 1.5
"""Weight from which a difference is as clear as can be."""
_FURTHER, _FURTHER_COUNTED = 0.08, 4.0
"""How much each further difference of the same kind counts, and up to what weight of them together."""


@dataclass(frozen=True)
class Divergences:
    """What was found in one run.

    Args:
        comparison: The run beside passing ones.
    """

    comparison: ContrastedRuns

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """Every difference, by step, the weightiest first."""
        found = [mark for rule in _RULES for mark in rule(self.comparison) if mark.weight > 0]
        return tuple(sorted(found, key=lambda mark: (mark.step, -_MOST[mark.divergence] * mark.weight)))

    @cached_property
    def by_step(self) -> tuple[dict[DivergenceKind, float], ...]:
        """For each step, what each kind of difference adds to its strength."""
        weights: list[dict[DivergenceKind, list[float]]] = [defaultdict(list) for _ in self.comparison.run.steps]
        for mark in self.marks:
            weights[mark.step][mark.divergence].append(mark.weight)
        return tuple(
            {kind: _MOST[kind] * _together(found) for kind, found in _values_as_one(each).items()} for each in weights
        )

    @cached_property
    def strengths(self) -> tuple[float, ...]:
        """For each step, how strongly it speaks for being the point of divergence; at least 0.

        The sum over the kinds of difference, each saturating.
        """
        return tuple(sum(each.values()) for each in self.by_step)

    @property
    def strongest(self) -> float:
        """The strength of the clearest difference among the team's acts; 0 for a run like the passing ones."""
        return max((self.strengths[index] for index in self.comparison.run.acts), default=0.0)

    @cached_property
    def overall(self) -> tuple[float, ...]:
        """The strengths where it is asked whether the run failed and which agents are at fault, and not which step is.

        Values out of place are left out: passing runs that take another way have such values too, and an agent that is
        wrong throughout shows it in other ways.
        """
        return tuple(
            sum(value for kind, value in each.items() if kind is not DivergenceKind.MISPLACED) for each in self.by_step
        )

    @property
    def alarm(self) -> float:
        """How much speaks for the run having failed, by the clearest of the team's acts."""
        return max((self.overall[index] for index in self.comparison.run.acts), default=0.0)

    def part_of(self, mark: Mark) -> float:
        """What the differences of a mark's kind add to its step."""
        kinds = self.by_step[mark.step]
        same = VALUES if mark.divergence in VALUES else (mark.divergence,)
        return max(kinds.get(kind, 0.0) for kind in same)

    def kind_of(self, step: int) -> DivergenceKind | None:
        """The kind of difference that speaks most for a step."""
        kinds = self.by_step[step]
        return max(kinds, key=lambda kind: kinds[kind], default=None)


def _values_as_one(weights: dict[DivergenceKind, list[float]]) -> dict[DivergenceKind, list[float]]:
    """What a step says and what it passes to a tool are one kind of difference, under the name of the clearer one."""
    if not weights.keys() >= set(VALUES):
        return weights
    clearer = max(VALUES, key=lambda kind: max(weights[kind]))
    together = [weight for kind in VALUES for weight in weights[kind]]
    return {clearer: together, **{kind: found for kind, found in weights.items() if kind not in VALUES}}


def _together(weights: list[float]) -> float:
    """Differences of one kind in one step, in [0, 1]: the clearest counts, each further one adds a little.

    A sum would let a step that lists twenty prices outweigh the one that got a single price wrong.
    """
    clearest = max(weights)
    further = min(_FURTHER_COUNTED, sum(weights) - clearest)
    return (min(_CLEAR, clearest) + _FURTHER * further) / (_CLEAR + _FURTHER * _FURTHER_COUNTED)


_TOLD = {
    DivergenceKind.MISSING_CHECK: ErrorMode.FM_3_2,
    DivergenceKind.REPEAT: ErrorMode.FM_1_3,
    DivergenceKind.EARLY_END: ErrorMode.FM_3_1,
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
    if kind in (*VALUES, DivergenceKind.MISPLACED):
        marks = [mark for mark in divergences.marks if mark.step == step and mark.divergence in VALUES]
        modes = (_ignored_value(divergences.comparison, mark) for mark in marks)
        return next((mode for mode in modes if mode is not None), None)
    return _TOLD.get(kind)


def _ignored_value(comparison: ContrastedRuns, mark: Mark) -> ErrorMode | None:
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


def _expected(comparison: ContrastedRuns, mark: Mark, claim: Claim) -> set[Claim]:
    """The numbers and codes that a passing run passes to the same argument in this place."""
    if mark.instead is None:
        return set()
    other = comparison.pairings[mark.instead.run].other.steps[mark.instead.step]
    same = [one for one in other.made if one.kind is ClaimKind.ARGUMENT and one.slot == claim.slot]
    return {part for part in parts_of(same) if part.kind in (ClaimKind.NUMBER, ClaimKind.CODE)}


_SHARPNESS = 3.0
"""Log-belief for each unit of strength."""
_AGENT_BASE = -1.5
"""Log-odds of an agent that does in every step what the passing runs do."""
_CLEAREST, _UNLIKE = 0.25, 3.0
"""What an agent's clearest step, and the mean unlikeness of its words, add to the mean strength of its steps."""
_MODE_AT_ONE = 0.5
"""How probable a mode is when one step of strength 1 tells of it."""
_LEAST_ODDS = 1e-3


def step_scores(divergences: Divergences) -> tuple[float, ...]:
    """Log-belief of each step, up to a constant; ``-inf`` for persons and for those who only report."""
    run = divergences.comparison.run
    acts = set(run.acts)
    return tuple(
        _SHARPNESS * strength if index in acts else -math.inf for index, strength in enumerate(divergences.strengths)
    )


def agent_scores(divergences: Divergences) -> dict[str, float]:
    """Log-odds that each agent is at fault, from the clearest and the mean of its steps.

    What an agent's words are unlike counts for more here than for a single step: an agent that is wrong throughout
    differs in all of its steps.
    """
    run = divergences.comparison.run
    steps: dict[str, list[int]] = {}
    for index in run.acts:
        steps.setdefault(run.trajectory.steps[index].agent, []).append(index)
    scores = {}
    for name, own in steps.items():
        strengths = [divergences.overall[index] for index in own]
        unlike = fmean(divergences.by_step[index].get(DivergenceKind.CONTENT, 0.0) for index in own)
        scores[name] = _AGENT_BASE + _CLEAREST * max(strengths) + fmean(strengths) + _UNLIKE * unlike
    return scores


def mode_scores(divergences: Divergences) -> dict[tuple[str, ErrorMode], float]:
    """Log-odds of each pair of agent and error mode that a difference tells of."""
    run = divergences.comparison.run
    doubt: dict[tuple[str, ErrorMode], float] = {}
    for index in run.acts:
        mode = error_mode_of(divergences, index)
        if mode is not None:
            key = (run.trajectory.steps[index].agent, mode)
            doubt[key] = doubt.get(key, 1.0) * (1.0 - _MODE_AT_ONE) ** divergences.strengths[index]
    return {key: _log_odds(1.0 - rest) for key, rest in doubt.items()}


def _log_odds(probability: float) -> float:
    bounded = min(1.0 - _LEAST_ODDS, max(_LEAST_ODDS, probability))
    return math.log(bounded / (1.0 - bounded))


MAX_EVIDENCE = 4
_WORTH_TELLING = 0.25
"""Share of the strongest reason's part in the score from which another reason is told too."""
_VAGUE = (DivergenceKind.CONTENT,)
"""Told only when there is nothing better to say."""
_WHY = {
    DivergenceKind.CLAIM: "No passing run says {words!r}",
    DivergenceKind.ARGUMENT: "No passing run calls the tool with {words!r}",
    DivergenceKind.MISPLACED: "The passing runs mostly have another value than {words!r} in such a place",
    DivergenceKind.ACT: "The passing runs do something else here",
    DivergenceKind.AGENT: "Another agent acts here in the passing runs",
    DivergenceKind.EXTRA: "The passing runs have no such step",
    DivergenceKind.REPEAT: "The passing runs do this once, and here it is done again",
    DivergenceKind.MISSING: "The passing runs did something before this that is missing here",
    DivergenceKind.MISSING_CHECK: "The passing runs made a check before going on, and it is missing here",
    DivergenceKind.EARLY_END: "The passing runs went on after this",
    DivergenceKind.CONTENT: "The passing runs say something else here",
}


def evidence_for(divergences: Divergences, step: int) -> tuple[Evidence, ...]:
    """Why a step is named, the strongest reason first."""
    return grouped(_reasons(divergences, step), most=MAX_EVIDENCE)


def _reasons(divergences: Divergences, step: int) -> Iterator[Evidence]:
    marks = [mark for mark in divergences.marks if mark.step == step]
    told = _told_best([mark for mark in marks if mark.divergence not in _VAGUE]) or marks
    worth = _WORTH_TELLING * max((divergences.part_of(mark) for mark in told), default=0.0)
    for mark in sorted(told, key=lambda one: (-divergences.part_of(one), -one.weight)):
        if divergences.part_of(mark) < worth:
            break
        quote = _passage(divergences.comparison.run.reading, mark.step, mark.words)
        kind: EvidenceKind = "value" if mark.divergence in VALUES and quote else "sign"
        yield Evidence(step=step, quote=quote or "", why=_why(divergences.comparison, mark), kind=kind)


def _told_best(marks: list[Mark]) -> list[Mark]:
    """Without the values out of place of which it is told already that no passing run has them at all."""
    unheard = [mark.words for mark in marks if mark.divergence in VALUES]
    return [
        mark
        for mark in marks
        if mark.divergence is not DivergenceKind.MISPLACED or not any(mark.words in words for words in unheard)
    ]


def _passage(reading: RunReading, step: int, words: str) -> str | None:
    """The passage with the words that differ; in scripts without spaces they need not stand alone."""
    if not words:
        return None
    found = reading.locate(step, words)
    for passage in reading.passages(step) if found is None else ():
        at = passage.raw.find(words)
        if at >= 0:
            return passage.quote_raw(at, at + len(words))
    return found


def _why(comparison: ContrastedRuns, mark: Mark) -> str:
    why = _WHY[mark.divergence].format(words=one_line(mark.words))
    if mark.instead is None:
        return f"{why}."
    other = comparison.pairings[mark.instead.run].other.trajectory
    step = other.steps[mark.instead.step]
    return f"{why}; in the passing run {other.run_id!r}, step {step.index}, {step.agent!r} {_did(step, mark.instead)}."


def _did(step: Step, instead: Instead) -> str:
    if instead.value:
        return f"has {one_line(instead.value)!r}"
    if step.tool_calls:
        return "calls " + ", ".join(repr(call.name) for call in step.tool_calls[:3])
    if step.recipient:
        return f"hands over to {step.recipient!r}"
    return f"writes {one_line(step.content)!r}" if step.content.strip() else "acts"
