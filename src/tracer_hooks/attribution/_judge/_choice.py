"""A choice among labelled options, free of the judge's liking for a label or a place."""

from __future__ import annotations

import math
import random
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tracer_hooks.attribution._judge._budget import BudgetSpentError
from tracer_hooks.attribution._judge._case import ReplyError
from tracer_hooks.attribution._judge._chat import ChatReply
from tracer_hooks.attribution._judge._interview import Interview, Question
from tracer_hooks.attribution._judge._replies import ChoiceReply

MOST_OPTIONS = 12
_SMOOTHING = 0.5


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that can be chosen."""

    key: object
    """What it stands for."""
    text: str
    """How the prompt shows it."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A question with options."""

    prompt: str
    """Name of the template, which shows ``options``."""
    values: Mapping[str, object]
    """What else the template is filled with."""
    options: Sequence[Option]
    """Two to twelve."""


@dataclass(frozen=True, slots=True)
class _Answer:
    chosen: int
    logprobs: Sequence[float] | None
    """Of each option, normalised."""


def choose(interview: Interview, choice: Choice) -> list[float]:
    """Probability of each option, in the order of ``choice.options``.

    The question is asked several times, each time with the labels moved on by some places, in an order that the seed
    shuffles. Where the model tells log-probabilities they are averaged: over all rotations every option has had every
    label once, so a bias for labels cancels out. Elsewhere choices are counted.

    Raises:
        BudgetSpentError: Not even one question could be asked.
    """
    answers: list[_Answer] = []
    for order in orders(interview, choice):
        try:
            answers.append(_ask(interview, choice, order))
        except BudgetSpentError:
            if not answers:
                raise
            break
    return _beliefs(answers, len(choice.options))


def orders(interview: Interview, choice: Choice) -> list[list[int]]:
    """The orders in which the options are shown: one shuffled by the seed, moved on by some places each time."""
    count, options = len(choice.options), interview.desk.options
    order = list(range(count))
    random.Random(f"{options.seed}:{interview.case.trajectory.run_id}:{choice.prompt}").shuffle(order)
    turns = min(count, options.rotations)
    starts = [turn * count // turns for turn in range(turns)]
    return [order[start:] + order[:start] for start in starts]


def labels_for(count: int) -> tuple[str, ...]:
    """The letters that so many options go by."""
    return tuple(string.ascii_uppercase[:count])


def values_of(choice: Choice, order: Sequence[int]) -> dict[str, object]:
    """What the template is filled with when the options stand in this order."""
    pairs = zip(labels_for(len(order)), order, strict=True)
    return {**choice.values, "options": "\n".join(f"{label}) {choice.options[place].text}" for label, place in pairs)}


def choose_from_many(interview: Interview, choice: Choice) -> dict[object, float]:
    """Probability of each option by its key, however many there are.

    More than twelve are put into groups, in their order, and the winners meet; those that lose have probability 0.
    """
    if len(choice.options) == 1:
        return {choice.options[0].key: 1.0}
    finalists = list(choice.options)
    while len(finalists) > MOST_OPTIONS:
        groups = [finalists[start : start + MOST_OPTIONS] for start in range(0, len(finalists), MOST_OPTIONS)]
        finalists = [_winner(interview, replace(choice, options=group)) for group in groups]
    found: dict[object, float] = dict.fromkeys((option.key for option in choice.options), 0.0)
    beliefs = choose(interview, replace(choice, options=finalists))
    return found | {option.key: belief for option, belief in zip(finalists, beliefs, strict=True)}


def _winner(interview: Interview, choice: Choice) -> Option:
    if len(choice.options) == 1:
        return choice.options[0]
    beliefs = choose(interview, choice)
    return choice.options[max(range(len(beliefs)), key=lambda position: beliefs[position])]


def _ask(interview: Interview, choice: Choice, order: Sequence[int]) -> _Answer:
    labels = labels_for(len(order))

    def read(reply: ChoiceReply, raw: ChatReply) -> _Answer:
        label = reply.choice.strip().strip(")").upper()
        if label not in labels:
            raise ReplyError(f"there is no option {reply.choice!r}: expected one of {', '.join(labels)}")
        logprobs = None
        if raw.label_logprobs is not None:
            by_place = _normalised([raw.label_logprobs[each] for each in labels])
            logprobs = [by_place[order.index(position)] for position in range(len(order))]
        return _Answer(order[labels.index(label)], logprobs)

    values = values_of(choice, order)
    return interview.ask(Question(prompt=choice.prompt, values=values, kind=ChoiceReply, read=read, labels=labels))


def _beliefs(answers: Sequence[_Answer], count: int) -> list[float]:
    told = [answer.logprobs for answer in answers if answer.logprobs is not None]
    if len(told) == len(answers):
        means = [sum(each[position] for each in told) / len(told) for position in range(count)]
        return [math.exp(value) for value in _normalised(means)]
    votes = [sum(answer.chosen == position for answer in answers) + _SMOOTHING for position in range(count)]
    return [vote / sum(votes) for vote in votes]


def _normalised(logprobs: Sequence[float]) -> list[float]:
    top = max(logprobs)
    total = top + math.log(sum(math.exp(value - top) for value in logprobs))
    return [value - total for value in logprobs]
