"""From the signals of all rules to a belief over the steps."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules._signal import DECISIVE, MODERATE, STRONG, Family, Signal
from tracer_hooks.schema import AgentFault, Candidate, ErrorMode

MAX_CANDIDATES = 10
_FAULT_THRESHOLD = 0.25

NOTHING_SEEN = -1.0
"""Log-odds of a step on which no rule has a word."""

# The share of belief that the kind of the best evidence earns. People who label failed runs contradict each other in
# every fourth case, and rules see only the surface. Values are trusted no further than they earned on the development
# half of Who&When: told the expected answer, the step that first brought the wrong value in was the labelled one in
# 36 % of runs of 5 to 10 steps and in 10 % of runs of 50. So trust in them falls with the length of the run.
_TRUST_VALUE = 0.5
_SHORT_RUN = 10
_TELL_HOW = (Family.ARITHMETIC, Family.PROVENANCE, Family.CONTRADICTION, Family.IGNORED_INPUT, Family.TOOL)
# A value that the wrong answer was followed back to, and that a calculation or a source contradicts.
_FOLLOWED_BACK = DECISIVE + MODERATE
_TRUST = ((_FOLLOWED_BACK, 0.8), (DECISIVE, 0.7), (STRONG, 0.5), (MODERATE, 0.4), (0.0, 0.3))


@dataclass(frozen=True, slots=True)
class Belief:
    """The ranking of the steps, and what speaks for the first."""

    candidates: tuple[Candidate, ...]
    top: tuple[Signal, ...]
    """The signals on the first candidate's step, the strongest first."""
    strength: float
    """Weight of the strongest signal of all, positions left aside."""


def combine(trace: RunReading, signals: Sequence[Signal]) -> Belief:
    """Softmax over the steps of the summed log-odds; of each family only the strongest signal on a step counts."""
    weights: dict[int, dict[Family, float]] = defaultdict(dict)
    for signal in signals:
        family = weights[signal.step]
        family[signal.family] = max(family.get(signal.family, 0.0), signal.weight)
    scores = {
        index: sum(weights[index].values()) if index in weights else NOTHING_SEEN for index in {*trace.acts, *weights}
    }
    total = sum(math.exp(score) for score in scores.values())
    ranked = sorted(scores, key=lambda index: (-scores[index], index))
    first = ranked[0]
    top = tuple(sorted((one for one in signals if one.step == first), key=lambda one: -one.weight))
    trust = trust_in(top, len(trace.steps))
    candidates = tuple(
        Candidate(agent=trace.steps[index].agent, step=index, score=round(trust * math.exp(scores[index]) / total, 6))
        for index in ranked[:MAX_CANDIDATES]
    )
    strength = max((one.weight for one in signals if one.family is not Family.POSITION), default=0.0)
    return Belief(candidates, top, strength)


def faults_of(trace: RunReading, signals: Sequence[Signal]) -> tuple[AgentFault, ...]:
    """Every agent and mode that the signals speak for, by noisy-or, above the threshold."""
    doubt: dict[tuple[str, ErrorMode], float] = {}
    for signal in signals:
        if signal.family is Family.POSITION:
            continue
        key = (trace.steps[signal.step].agent, signal.mode)
        believed = 0.8 * signal.weight / (signal.weight + STRONG)
        doubt[key] = doubt.get(key, 1.0) * (1.0 - believed)
    found = [
        AgentFault(agent=agent, error_mode=mode, score=round(1.0 - rest, 4))
        for (agent, mode), rest in doubt.items()
        if 1.0 - rest >= _FAULT_THRESHOLD
    ]
    return tuple(sorted(found, key=lambda fault: (-fault.score, fault.agent, fault.error_mode or "")))


def trust_in(top: Sequence[Signal], length: int) -> float:
    """The share of belief that the best evidence on a step earns, for want of a calibration on labelled runs."""
    if any(one.family is Family.VALUE and one.weight >= DECISIVE for one in top):
        return _TRUST_VALUE * min(1.0, math.sqrt(_SHORT_RUN / max(1, length)))
    strongest = max((one.weight for one in top), default=0.0)
    return next(trust for weight, trust in _TRUST if strongest >= weight)


def mode_in(signals: Sequence[Signal]) -> ErrorMode | None:
    """The error mode that the signals on one step speak for; None without signals.

    That a value is wrong does not yet say how the agent went wrong: a signal that does, such as a sum that does not add
    up or a failed tool, is believed before it.
    """
    heaviest = max(signals, key=lambda one: one.weight, default=None)
    if heaviest is None or heaviest.family is not Family.VALUE:
        return heaviest.mode if heaviest is not None else None
    telling = [one for one in signals if one.family in _TELL_HOW and one.weight >= MODERATE]
    return max(telling, key=lambda one: one.weight).mode if telling else heaviest.mode
