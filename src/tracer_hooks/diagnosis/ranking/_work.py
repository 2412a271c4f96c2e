"""Rounds of work, agreement between agents, and what is new in a step, as features."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from itertools import pairwise

import numpy as np

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._reading._errors import limit_reached
from tracer_hooks.diagnosis.ranking._language import ENDS
from tracer_hooks.diagnosis.ranking._view import (
    BESIDE,
    SAME,
    Column,
    View,
    first_of,
    highest,
    last_of,
    lowest,
    quick,
)
from tracer_hooks.schema import StepKind

_NEAR = 0.6


def repetition(view: View) -> dict[str, Column]:
    """How much a step says again what was said."""
    alike = view.likeness
    return {
        "repetition: like an earlier step": alike.earlier,
        "repetition: like the agent's own earlier steps": alike.own_earlier,
        "repetition: like another agent's earlier steps": alike.others_earlier,
        "repetition: the agent says it again later": alike.own_later,
        "repetition: the same again": (alike.earlier > SAME).astype(float),
        "repetition: first of a loop": first_of((alike.own_later > SAME) & (alike.own_earlier < _NEAR)),
        "repetition: log near copies in the run": np.log1p(alike.copies),
    }


def agreement(view: View) -> dict[str, Column]:
    """Stated answers against those of the others, and steps against the common ground of the run."""
    answers = [text.answer for text in view.texts]
    stated = Counter(answer for answer in answers if answer is not None)
    final = next((answer for answer in reversed(answers) if answer is not None), None)
    commonest = stated.most_common(1)[0] if stated else (None, 0)
    own_last: dict[str, str] = {}
    changed, odd, lone, against_final = view.column(), view.column(), view.column(), view.column()
    introduces = view.column()
    seen: set[str] = set()
    for index, answer in enumerate(answers):
        if answer is None:
            continue
        agent = view.agents[index]
        changed[index] = float(own_last.get(agent, answer) != answer)
        own_last[agent] = answer
        odd[index] = float(commonest[1] > 1 and answer != commonest[0])
        lone[index] = float(stated[answer] == 1 and len(stated) > 1)
        against_final[index] = float(answer != final)
        introduces[index] = float(answer == final and answer not in seen)
        seen.add(answer)
    return {
        "agreement: changes its own answer": changed,
        "agreement: answer that the majority does not share": odd,
        "agreement: answer that nobody shares": lone,
        "agreement: answer other than the last one": against_final,
        "agreement: first to state the last answer": introduces,
        **_common_ground(view),
    }


def _common_ground(view: View) -> dict[str, Column]:
    """How far a step is from the centre of the run, of its neighbours in time, and of others in the same place."""
    overall, peers, lengths = view.likeness.overall, view.column(), view.column()
    said = [float(np.log1p(len(text.said))) for text in view.texts]
    for index, agent in enumerate(view.agents):
        first = max(0, index - BESIDE)
        near = [j for j in range(first, min(view.count, index + BESIDE + 1)) if view.agents[j] != agent]
        if near:
            peers[index] = sum(view.likeness.beside[index, j - index + BESIDE] for j in near) / len(near)
            lengths[index] = said[index] - sum(said[j] for j in near) / len(near)
    return {
        "agreement: like the rest of the run": overall,
        "agreement: like its neighbours": peers,
        "agreement: longer than its neighbours": lengths,
        "agreement: least like the rest": lowest(overall),
    }


def novelty(view: View) -> dict[str, Column]:
    """New words, numbers and names, and what becomes of them."""
    count = view.count
    words: set[str] = set(view.task_words)
    numbers: set[str] = set(view.run.task_numbers)
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


# The progress ledger of Magentic-One (autogen-agentchat 0.4 and later, and autogen-magentic-one before it).
LOOP = quick(r'"is_in_loop"\s*:\s*\{[^{}]*"answer"\s*:\s*true', "is_in_loop")
NO_PROGRESS = quick(r'"is_progress_being_made"\s*:\s*\{[^{}]*"answer"\s*:\s*false', "is_progress_being_made")
_LIMIT = re.compile(
    r"\bmax(?:imum)?(?: number of)? (?:rounds?|turns?|steps?|time|iterations?|messages?)\b.{0,20}\b(?:reached|exceeded)"
    r"|\b(?:time|step|turn|round|iteration) limit (?:reached|exceeded)",
    re.IGNORECASE,
)
STALLED = quick(
    r"\bstalled|replanning|re-?plan\b|\bnew plan\b|stuck in a loop|going in circles",
    "stalled|replan|re-plan|new plan|stuck in a loop|going in circles",
)
_OBSERVATION = quick(
    r"screenshot|viewport|^address:|search results?\b|exitcode:|code output|^title:"
    r"|metadata was extracted|https?://\S+\s+\S",
    "screenshot|viewport|address:|search result|exitcode:|code output|title:|metadata was extracted|http",
    re.I | re.M,
)
_HEAD = 4_000
_CLOSING = 500
_EARLY = 3


class _Work:
    """The acts that do the work: no person, no report, no planning, no routing."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.count = view.count

    @cached_property
    def replies(self) -> list[int]:
        view = self.view
        own = [i for i in view.acts if view.agents[i] not in view.planners and not view.is_routing[i]]
        return [i for i in own if not (i == 0 and view.run.is_brief(i))] or own or view.acts

    @cached_property
    def ended(self) -> bool:
        """Whether the run came to an end of its own: the planner's last word where there is one, else a closing word.

        A run that ran into a limit did not, even if somebody then asked it for its answer so far.
        """
        view = self.view
        last, said = view.steps[-1], view.texts[-1].said
        if limit_reached(view.run) or _LIMIT.search(last.content[:_CLOSING]):
            return False
        if view.planners:
            return last.agent in view.planners and last.kind is not StepKind.HANDOFF and not view.is_routing[-1]
        closing = ENDS.is_in(said.lower()) or "final answer" in said.lower()
        return closing or bool(view.trajectory.final_output)

    @cached_property
    def verdict(self) -> Column:
        """1 where a planner finds that the work goes in a circle or nowhere."""
        view = self.view
        return view.flags(
            [step.agent in view.planners and _is_disappointed(step.content[:_HEAD]) for step in view.steps]
        )

    @cached_property
    def verdict_on(self) -> Column:
        """1 at the replies that the next word of a planner is so disappointed of."""
        out = np.zeros(self.count)
        for index in self.replies:
            following = next(
                (j for j in range(index + 1, min(self.count, index + 4)) if not self.view.is_routing[j]), None
            )
            if following is not None:
                out[index] = self.verdict[following]
        return out


def _is_disappointed(text: str) -> bool:
    lower = text.lower()
    return any(pattern.is_in(lower) for pattern in (LOOP, NO_PROGRESS, STALLED))


def work(view: View) -> dict[str, Column]:
    """Where the work stood, as seen by who leads it."""
    rounds = _Work(view)
    nth = np.zeros(view.count)
    for number, index in enumerate(rounds.replies, start=1):
        nth[index] = number
    last = (nth == nth.max()).astype(float) * (nth > 0)
    early = ((nth > 0) & (nth <= _EARLY)).astype(float)
    ended, cut = float(rounds.ended), 1.0 - float(rounds.ended)
    led = float(bool(view.planners))
    planned = view.flags([agent in view.planners for agent in view.agents])
    before_verdict = (np.cumsum(rounds.verdict) == 0).astype(float)
    seen = view.flags([_OBSERVATION.is_in((text.said[:_HEAD] + text.shown[:500]).lower()) for text in view.texts])
    is_reply = (nth > 0).astype(float)
    return {
        "work: a reply": is_reply,
        "work: first reply": (nth == 1).astype(float),
        "work: second reply": (nth == 2).astype(float),
        "work: third reply": (nth == 3).astype(float),
        "work: fourth or fifth reply": ((nth == 4) | (nth == 5)).astype(float),
        "work: log number of the reply": np.log1p(nth),
        "work: last reply": last,
        "work: last reply of a run that ended": last * ended,
        "work: last reply of a run that was cut off": last * cut,
        "work: early reply of a run that was cut off": early * cut,
        "work: early reply of a run that ended": early * ended,
        "work: last thought of the planner before the end": last_of(planned) * ended,
        "work: reply by reasoning alone": is_reply * (1 - seen),
        "work: last reply, by reasoning alone, of a run that ended": last * ended * (1 - seen),
        "work: last reply before the planner's answer": last * ended * led,
        "work: early reply under a planner in a run that was cut off": early * cut * led,
        "work: first reply under a planner in a run that was cut off": (nth == 1) * cut * led,
        "work: second reply under a planner in a run that was cut off": (nth == 2) * cut * led,
        "work: shows what it observed": seen,
        "work: the planner is disappointed": rounds.verdict,
        "work: reply that the planner is disappointed of": rounds.verdict_on,
        "work: first reply that the planner is disappointed of": first_of(rounds.verdict_on),
        "work: last reply before the first disappointment": last_of(is_reply * before_verdict)
        * float(rounds.verdict.any()),
        "work: before any disappointment": before_verdict,
        "work: log disappointments so far": np.log1p(np.cumsum(rounds.verdict)),
        "work: request that is made again": _asked_again(view),
        "work: reply after which the request is made again": _reply_before_repeat(view, rounds.replies),
    }


def run(view: View) -> dict[str, Column]:
    """What is the same for all steps of a run; it tells trees which kind of run they look at."""
    rounds = _Work(view)
    constants = {
        "run: came to an end of its own": float(rounds.ended),
        "run: log steps": float(np.log1p(view.count)),
        "run: agents": float(min(8, len(set(view.agents)))),
        "run: has a planner": float(bool(view.planners)),
        "run: share of reports": float(np.mean(view.is_report)) if view.count else 0.0,
        "run: share of hand-offs": float(np.mean([s.kind is StepKind.HANDOFF for s in view.steps]))
        if view.count
        else 0.0,
        "run: planner disappointed": float(rounds.verdict.any()),
    }
    return {name: np.full(view.count, value) for name, value in constants.items()}


def _requests(view: View) -> list[int]:
    return [i for i in range(view.count) if view.steps[i].recipient is not None and not view.is_routing[i]]


def _asked_again(view: View) -> Column:
    out = view.column()
    asked = _requests(view)
    for here, later in pairwise(asked):
        out[here] = view.likeness.between(here, later)
    return out


def _reply_before_repeat(view: View, replies: list[int]) -> Column:
    out = view.column()
    asked = _requests(view)
    for here, later in pairwise(asked):
        last = bisect_left(replies, later) - 1
        if last >= 0 and replies[last] > here:
            out[replies[last]] = view.likeness.between(here, later)
    return out
