"""Figures of a judge beside answers without reading, on the same runs, with intervals over questions.

- **three orders**: the step with the highest mean log-probability over the three orders of the options, in which every
  step has had every letter once. This decides.
- **one reply**: the share of the three greedy replies that are right; one that cannot be read is wrong.
- **with structural's**: the same as three orders, with the logarithm of `structural`'s weight added, as the judge of
  the protocol `shortlist` answers.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from _judge_answers import LETTERS, Answer
from _judge_parts import OTHER_QUESTIONS, OTHER_TEAM, Choice

from tracer_hooks.evaluation._measure import Measure
from tracer_hooks.evaluation._resampling import Resampling

ZERO_SHOT, SFT, GRPO = "as it comes", "after SFT", "after SFT and GRPO"
TRAINED = ("sft", "grpo")
FIRST = "structural's first"
RANK, PLACE, NAME, LETTER = (
    "not reading: usual rank",
    "not reading: usual place in time",
    "not reading: the agents' names",
    "not reading: always one letter",
)
_DRAWS = 10_000
Answers = Mapping[str, Mapping[str, Sequence[Answer]]]


def report(choices: Mapping[str, Sequence[Choice]], answers: Answers, parts: Mapping[str, Mapping[str, Any]]) -> str:
    """All tables, for the runs that every way has answered."""
    lines = [f"- {name}: {_counted(part['kinds'])}" for name, part in parts.items()]
    trained = [choice for name in TRAINED for choice in choices[name]]
    for part in (OTHER_QUESTIONS, OTHER_TEAM):
        counted = [one for one in choices[part] if all(one.run in found for found in answers.values())]
        if counted:
            lines += ["", f"**{part}**: {_parted(counted)}", "", *_tables(counted, trained, answers)]
    return "\n".join(lines)


def blind_answers(trained: Sequence[Choice]) -> dict[str, Callable[[Choice], float]]:
    """How right it is to answer without reading, by what was right most often in the runs that were trained on."""
    rank = _most(Counter(place for one in trained for place in range(len(one.right)) if one.right[place]))
    in_time = _most(Counter(place for one in trained for place, right in enumerate(_by_time(one)) if right))
    faults = name_shares(trained)
    return {
        FIRST: lambda one: float(one.right[0]),
        RANK: lambda one: float(one.right[rank]),
        PLACE: lambda one: float(_by_time(one)[in_time]),
        NAME: lambda one: float(one.right[_likeliest(one, faults)]),
        LETTER: lambda one: sum(one.right) / len(one.right),  # every step has every letter once
    }


def name_shares(trained: Sequence[Choice]) -> dict[str, float]:
    """How often a candidate by an agent of that name was right, drawn to the mean of all as by two more runs."""
    seen: defaultdict[str, list[bool]] = defaultdict(list)
    for one in trained:
        for agent, right in zip(one.agents, one.right, strict=True):
            seen[agent].append(right)
    every = [right for found in seen.values() for right in found]
    mean = sum(every) / len(every)
    return {name: (sum(found) + 2 * mean) / (len(found) + 2) for name, found in seen.items()} | {"": mean}


def three_orders(choice: Choice, answers: Sequence[Answer], *, weighed: bool = False) -> bool:
    """Whether the step is right that all orders together make likeliest."""
    sums = beliefs_of(answers)
    if weighed:
        sums = [one + math.log(max(1e-9, weight)) for one, weight in zip(sums, choice.weights, strict=True)]
    return choice.right[max(range(len(sums)), key=lambda place: (sums[place], -place))]


def beliefs_of(answers: Sequence[Answer]) -> list[float]:
    """Mean log-probability of each of `structural`'s three, among the three."""
    sums = [0.0] * len(answers[0].order)
    for one in answers:
        total = math.log(sum(math.exp(value) for value in one.logprobs))
        for place, value in zip(one.order, one.logprobs, strict=True):
            sums[place] += (value - total) / len(answers)
    return sums


def one_reply(choice: Choice, answers: Sequence[Answer]) -> float:
    """The share of the greedy replies that are right."""
    return sum(one.letter is not None and choice.right[one.order[one.letter]] for one in answers) / len(answers)


def valid_share(answers: Sequence[Answer]) -> float:
    """The share of the greedy replies that the judge would accept."""
    return sum(one.letter is not None for one in answers) / len(answers)


def surprise(choice: Choice, answers: Sequence[Answer]) -> float:
    """Mean of -log of the probability that is given to right letters, among the three letters."""
    found = []
    for one in answers:
        total = sum(math.exp(value) for value in one.logprobs)
        good = sum(math.exp(value) for place, value in zip(one.order, one.logprobs, strict=True) if choice.right[place])
        found.append(-math.log(max(1e-12, good / total)))
    return sum(found) / len(found)


def _tables(counted: Sequence[Choice], trained: Sequence[Choice], answers: Answers) -> list[str]:
    drawn = Resampling([str(one.question) for one in counted], draws=_DRAWS, seed=0)
    blind = {way: [of(one) for one in counted] for way, of in blind_answers(trained).items()}
    ways = [way for way in (ZERO_SHOT, SFT, GRPO) if way in answers]
    given = {way: [answers[way][one.run] for one in counted] for way in ways}
    alone = {way: [float(three_orders(*one)) for one in zip(counted, given[way], strict=True)] for way in ways}
    lines = ["| answer | valid | three orders | one reply | with structural's |", "|---|--:|--:|--:|--:|"]
    for way in ways:
        pairs = list(zip(counted, given[way], strict=True))
        cells = [
            [valid_share(found) for _, found in pairs],
            alone[way],
            [one_reply(*one) for one in pairs],
            [float(three_orders(*one, weighed=True)) for one in pairs],
        ]
        lines.append(f"| {way} | {' | '.join(_shown(drawn.mean(np.array(cell))) for cell in cells)} |")
    lines += [f"| {way} |  | {_shown(drawn.mean(np.array(found)))} |  |  |" for way, found in blind.items()]
    lines += ["", "| three orders, points | difference (95 %) |", "|---|--:|"]
    for one, other in _compared(ways):
        theirs = alone[other] if other in alone else blind[other]
        found = drawn.difference(np.array(alone[one]), np.array(theirs))
        lines.append(f"| {one} minus {other} | {_shown(found, signed=True)} |")
    return [*lines, "", *_letters(counted, given)]


def _compared(ways: Sequence[str]) -> list[tuple[str, str]]:
    pairs = [(GRPO, other) for other in (ZERO_SHOT, SFT, FIRST, RANK, PLACE, NAME, LETTER)] + [(SFT, ZERO_SHOT)]
    return [(one, other) for one, other in pairs if one in ways and (other in ways or other not in (ZERO_SHOT, SFT))]


def _letters(counted: Sequence[Choice], given: Mapping[str, Sequence[Sequence[Answer]]]) -> list[str]:
    lines = [
        "| replies | A | B | C | unreadable | same step in all orders | surprise |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for way, found in given.items():
        said = Counter(one.letter for answers in found for one in answers)
        shares = [100 * said[letter] / said.total() for letter in (*range(len(LETTERS)), None)]
        same = 100 * sum(_is_steady(answers) for answers in found) / len(found)
        lost = sum(surprise(*one) for one in zip(counted, found, strict=True)) / len(counted)
        lines.append(f"| {way} | {' | '.join(f'{share:.0f}' for share in shares)} | {same:.0f} | {lost:.3f} |")
    evenly = sum(-math.log(sum(one.right) / len(one.right)) for one in counted) / len(counted)
    return [*lines, f"| evenly |  |  |  |  |  | {evenly:.3f} |"]


def _is_steady(answers: Sequence[Answer]) -> bool:
    chosen = {None if one.letter is None else one.order[one.letter] for one in answers}
    return len(chosen) == 1 and None not in chosen


def _by_time(choice: Choice) -> list[bool]:
    return [right for _, right in sorted(zip(choice.steps, choice.right, strict=True))]


def _likeliest(choice: Choice, shares: Mapping[str, float]) -> int:
    return max(range(len(choice.agents)), key=lambda place: (shares.get(choice.agents[place], shares[""]), -place))


def _most(found: Counter[int]) -> int:
    return min(found, key=lambda place: (-found[place], place))


def _shown(found: Measure | None, *, signed: bool = False) -> str:
    assert found is not None
    sign = "+" if signed else ""
    value = f"{100 * found.value:{sign}.1f}"
    return (
        value
        if found.low is None or found.high is None
        else (f"{value} ({100 * found.low:{sign}.1f} to {100 * found.high:{sign}.1f})")
    )


def _counted(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda item: -item[1]))


def _parted(counted: Sequence[Choice]) -> str:
    teams = Counter(one.team for one in counted)
    questions = len({one.question for one in counted})
    return f"{len(counted)} runs of {questions} questions ({_counted(teams)})"
