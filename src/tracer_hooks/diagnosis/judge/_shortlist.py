"""The first few steps of another method, chosen among in one question, free of a liking for a label or a place."""

from __future__ import annotations

import math
import random
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tracer_hooks.diagnosis.judge._calls import JudgeBudgetSpentError, JudgeSession, Question
from tracer_hooks.diagnosis.judge._case import NO_FAULT, NOBODY, JudgeCase, JudgeVerdict, plain_verdict
from tracer_hooks.diagnosis.judge._prompts import flat, opening
from tracer_hooks.diagnosis.judge._protocols import explained
from tracer_hooks.diagnosis.judge._replies import ChoiceReply, ReplyError
from tracer_hooks.endpoint import ChatCompletion

SHORTLIST = "shortlist"
"""The prompt of the question."""
MOST = 3
"""How many steps are chosen among."""
_LEAST = 1e-3
"""Neither side can rule a step out alone."""
_OPENING_CHARS = 100
_SMOOTHING = 0.5


@dataclass(frozen=True, slots=True)
class StepOption:
    """One thing that can be chosen."""

    step: int | None
    """The step that it stands for; None for "no agent"."""
    text: str
    """How the prompt shows it."""


@dataclass(frozen=True, kw_only=True)
class ShortlistChoice:
    """The question with its options and the run."""

    steps: str
    """The run; the same for every order of the options, so that servers can keep it."""
    options: Sequence[StepOption]
    """One to four."""


@dataclass(frozen=True, slots=True)
class _ChoiceAnswer:
    chosen: int
    logprobs: Sequence[float] | None
    """Of each option, normalised."""


def shortlist(session: JudgeSession, weights: Mapping[int, float]) -> JudgeVerdict:
    """Ask which of three candidates it is, in every rotation of their order.

    The answer is the step with the highest sum of two logarithms: of the candidate's weight, and of the judge's belief
    averaged over the rotations. With independent errors that is Bayes' rule, with the candidate's weight as the prior.

    Args:
        session: About the run.
        weights: Weight of each candidate, from :func:`first_of`.
    """
    case = session.case
    mass = min(1.0, sum(weights.values()))
    session.best = plain_verdict(case, weights, "the candidate with the highest weight")
    found = _choose(session, shortlist_choice(session, sorted(weights)))
    logs = {
        step: math.log(max(_LEAST, weight)) + math.log(max(_LEAST, found[step])) for step, weight in weights.items()
    }
    top = max(logs.values())
    odds = {step: math.exp(value - top) for step, value in logs.items()}
    beliefs = {step: mass * value / sum(odds.values()) for step, value in odds.items()}
    if found.get(None, 0.0) > max(found[step] for step in weights):
        suspect = plain_verdict(case, beliefs, "the most suspicious step, which need not be at fault")
        return replace(suspect, abstention=NO_FAULT)
    best = max(beliefs, key=lambda step: (beliefs[step], -step))
    return explained(session, JudgeVerdict(step=best, beliefs=beliefs))


def first_of(case: JudgeCase, candidates: Mapping[int, float]) -> dict[int, float]:
    """The candidates that are chosen among, with their weights."""
    allowed = {step: weight for step, weight in candidates.items() if step in case.answerable and weight > 0}
    return dict(sorted(allowed.items(), key=lambda item: (-item[1], item[0]))[:MOST])


def shortlist_choice(session: JudgeSession, steps: Sequence[int]) -> ShortlistChoice:
    """The question which of ``steps`` it is; where the run may have gone well, that none is can be chosen too."""
    case, transcript = session.case, session.transcript
    options = [
        StepOption(step, f"step {step}, by {case.shown_owner(step)}: {_opening_of(case, step)}") for step in steps
    ]
    if not case.is_failure:
        options.append(StepOption(None, NOBODY))
    room = session.room(SHORTLIST, options="\n".join(f"X) {option.text}" for option in options))
    return ShortlistChoice(steps=transcript.fitted(transcript.everything, room, focus=steps), options=options)


def orders(session: JudgeSession, choice: ShortlistChoice) -> list[list[int]]:
    """The orders in which the options are shown: one shuffled by the seed, moved on by some places each time."""
    count, options = len(choice.options), session.resources.options
    order = list(range(count))
    random.Random(f"{options.seed}:{session.case.trajectory.run_id}:{SHORTLIST}").shuffle(order)
    turns = min(count, options.rotations)
    starts = [turn * count // turns for turn in range(turns)]
    return [order[start:] + order[:start] for start in starts]


def labels_for(count: int) -> tuple[str, ...]:
    """The letters that so many options go by."""
    return tuple(string.ascii_uppercase[:count])


def values_of(choice: ShortlistChoice, order: Sequence[int]) -> dict[str, object]:
    """The values of the template when the options stand in this order."""
    pairs = zip(labels_for(len(order)), order, strict=True)
    return {
        "steps": choice.steps,
        "options": "\n".join(f"{label}) {choice.options[place].text}" for label, place in pairs),
    }


def _choose(session: JudgeSession, choice: ShortlistChoice) -> dict[int | None, float]:
    """Probability of each option by its step.

    The question is asked several times, each time with the labels moved on by some places, in an order that the seed
    shuffles. Where the model tells log-probabilities they are averaged: over all rotations every option has had every
    label once, so a bias for labels cancels out. Elsewhere choices are counted.

    Raises:
        JudgeBudgetSpentError: Not even one question could be asked.
    """
    options = choice.options
    if len(options) == 1:
        return {options[0].step: 1.0}
    answers: list[_ChoiceAnswer] = []
    for order in orders(session, choice):
        try:
            answers.append(_ask(session, choice, order))
        except JudgeBudgetSpentError:
            if not answers:
                raise
            break
    beliefs = _beliefs(answers, len(options))
    return {option.step: belief for option, belief in zip(options, beliefs, strict=True)}


def _ask(session: JudgeSession, choice: ShortlistChoice, order: Sequence[int]) -> _ChoiceAnswer:
    labels = labels_for(len(order))

    def read(reply: ChoiceReply, raw: ChatCompletion) -> _ChoiceAnswer:
        label = reply.choice.strip().strip(")").upper()
        if label not in labels:
            raise ReplyError(f"there is no option {reply.choice!r}: expected one of {', '.join(labels)}")
        logprobs = None
        if raw.label_logprobs is not None:
            by_place = _normalised([raw.label_logprobs[offered] for offered in labels])
            logprobs = [by_place[order.index(position)] for position in range(len(order))]
        return _ChoiceAnswer(order[labels.index(label)], logprobs)

    values = values_of(choice, order)
    return session.ask(Question(prompt=SHORTLIST, values=values, kind=ChoiceReply, read=read, labels=labels))


def _beliefs(answers: Sequence[_ChoiceAnswer], count: int) -> list[float]:
    logprobs = [answer.logprobs for answer in answers if answer.logprobs is not None]
    if len(logprobs) == len(answers):
        means = [sum(values[position] for values in logprobs) / len(logprobs) for position in range(count)]
        return [math.exp(value) for value in _normalised(means)]
    votes = [sum(answer.chosen == position for answer in answers) + _SMOOTHING for position in range(count)]
    return [vote / sum(votes) for vote in votes]


def _normalised(logprobs: Sequence[float]) -> list[float]:
    top = max(logprobs)
    total = top + math.log(sum(math.exp(value - top) for value in logprobs))
    return [value - total for value in logprobs]


def _opening_of(case: JudgeCase, step: int) -> str:
    """The first words of a step, for an option."""
    return flat(opening(case.steps[step]) or case.steps[step].kind.value, _OPENING_CHARS)
