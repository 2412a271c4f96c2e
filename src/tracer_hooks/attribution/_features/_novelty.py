"""What a step brings in that was not there, and whether it survives into the answer."""

from __future__ import annotations

import numpy as np

from tracer_hooks.attribution._features._marks import first_of, highest
from tracer_hooks.attribution._features._view import Column, View


def novelty(view: View) -> dict[str, Column]:
    """New words, numbers and names, and what becomes of them."""
    count = view.count
    words: set[str] = set(view.task_words)
    numbers: set[str] = set(view.trace.task_numbers)
    names: set[str] = set()
    new_words, new_numbers, new_names = view.column(), view.column(), view.column()
    fresh: list[tuple[set[str], set[str]]] = []
    for index, text in enumerate(view.texts):
        own_words, own_numbers, own_names = set(text.words), set(text.numbers), set(text.names)
        fresh.append((own_words - words, own_numbers - numbers))
        new_words[index] = len(fresh[-1][0]) / max(1, len(own_words))
        new_numbers[index] = len(fresh[-1][1])
        new_names[index] = len(own_names - names)
        words |= own_words
        numbers |= own_numbers
        names |= own_names
    return {
        "novelty: share of new words": new_words,
        "novelty: log new numbers": np.log1p(new_numbers),
        "novelty: log new names": np.log1p(new_names),
        "novelty: first new number of the run": first_of(new_numbers > 0),
        **_survival(view, fresh),
        "overlap: with the task": np.array(
            [len(view.task_words & set(text.words)) / max(1, len(text.words)) for text in view.texts]
        ),
        "overlap: with the answer": np.array(
            [len(view.final_words & set(text.words)) / max(1, len(view.final_words)) for text in view.texts]
        ),
        "overlap: numbers shared with the answer": np.array(
            [len(view.final_numbers & text.numbers) / max(1, len(view.final_numbers)) for text in view.texts]
        ),
        "overlap: log words of the answer not yet said": _unsaid(view, count),
    }


def _survival(view: View, fresh: list[tuple[set[str], set[str]]]) -> dict[str, Column]:
    task = view.task_words
    answer = view.final_words - task
    brought = np.array([len(words & answer) / max(1, len(answer)) for words, _ in fresh])
    numbers = np.array([float(len(own & view.final_numbers)) for _, own in fresh])
    reused = view.column()
    last = {number: index for index, text in enumerate(view.texts) for number in text.numbers}
    for index, (_, own) in enumerate(fresh):
        reused[index] = sum(last[number] > index for number in own) / max(1, len(own))
    return {
        "survival: share of the answer's words first said here": brought,
        "survival: says most of the answer first": highest(brought),
        "survival: numbers of the answer first said here": np.minimum(numbers, 3.0),
        "survival: first number of the answer": first_of(numbers > 0),
        "survival: share of its new numbers used later": reused,
    }


def _unsaid(view: View, count: int) -> Column:
    left = set(view.final_words)
    out = view.column()
    for index in range(count):
        out[index] = np.log1p(len(left))
        left -= set(view.texts[index].words)
    return out
