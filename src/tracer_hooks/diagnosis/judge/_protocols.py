"""The ways of asking which step was the decisive error: all at once, in windows, or among a few."""

from __future__ import annotations

import math
import random
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tracer_hooks.diagnosis.judge._calls import JudgeBudgetSpentError, JudgeSession, Question
from tracer_hooks.diagnosis.judge._prompts import find_quote, flat, opening
from tracer_hooks.diagnosis.judge._replies import (
    NO_FAULT,
    ChoiceReply,
    JudgeCase,
    JudgeVerdict,
    ReplyError,
    StepJudgement,
    VerdictReply,
    WindowFinding,
    WindowReply,
    judged,
    plain_verdict,
    verdict_of,
    with_remark,
)
from tracer_hooks.endpoint import ChatCompletion
from tracer_hooks.errors import OutputParseError

SHORTLIST = "shortlist"
"""The prompt of the question which of a few steps it is."""
MOST = 3
"""How many steps are chosen among."""
NOBODY = "no agent made a decisive error"
"""How a choice offers that there is no fault."""
ALL_AT_ONCE = "all_at_once"
"""The prompt of the question about the whole run."""
_WINDOW, _WINDOW_VERDICT = "window_findings", "window_verdict"
_EXPLAIN = "explain"
_WINDOW_OVERLAP = 2
"""Steps that neighbouring windows share."""
_TABLE_SHARE = 4
"""A quarter of the room for steps goes to the table."""
_MOST_QUOTED = 8
_ROW_CHARS = 240


def whole_run(session: JudgeSession, focus: Iterable[int] = ()) -> dict[str, object]:
    """The values of the template: the run, and of one beyond the context mostly the steps in ``focus``."""
    return session.values(ALL_AT_ONCE, session.transcript.everything, focus)


def all_at_once(session: JudgeSession, focus: Iterable[int] = ()) -> JudgeVerdict:
    """Ask for agent and step at once; a run beyond the context is cut step by step until it fits, ``focus`` last."""
    return _ask_verdict(session, ALL_AT_ONCE, whole_run(session, focus))


def _ask_verdict(session: JudgeSession, prompt: str, values: Mapping[str, object]) -> JudgeVerdict:
    case = session.case
    return session.ask(
        Question(prompt=prompt, values=values, kind=VerdictReply, read=lambda reply, _: verdict_of(reply, case))
    )


def windowed(session: JudgeSession) -> JudgeVerdict:
    """Have each window read for claims, symptoms, errors and corrections, then decide on all of them together.

    The decision sees the table, the most suspicious steps at length, and stubs of the others as far as they fit.
    """
    case, transcript = session.case, session.transcript
    room = session.room(_WINDOW, table="", first=0, last=len(case.steps) - 1)
    size = room - room // _TABLE_SHARE
    rows: list[WindowFinding] = []
    for window in transcript.windows(size, _WINDOW_OVERLAP):
        rows += _read_window(session, window, _table(session, rows, room // _TABLE_SHARE), size)
        session.best = _suspect(case, rows) or session.best
    return _decide(session, rows)


def _read_window(session: JudgeSession, window: range, table: str, size: int) -> list[WindowFinding]:
    bounds = {"first": window[0], "last": window[-1]}
    return session.ask(
        Question(
            prompt=_WINDOW,
            values={"table": table, **bounds, "steps": session.transcript.fitted(window, size)},
            kind=WindowReply,
            steps=window,
            read=lambda reply, _: _checked(reply.findings, window, session.case),
        )
    )


def _checked(findings: Sequence[WindowFinding], window: range, case: JudgeCase) -> list[WindowFinding]:
    """The findings about steps of the window, with quotations only where they stand in their step.

    Raises:
        ReplyError: There are findings, and none is about a step of the window.
    """
    inside = [finding for finding in findings if finding.step in window]
    if findings and not inside:
        raise ReplyError(f"no finding is about a step that you were shown: expected {window[0]} to {window[-1]}")
    return [
        finding.model_copy(
            update={
                "text": flat(finding.text, _ROW_CHARS),
                "quote": flat(find_quote(case.steps[finding.step], finding.quote) or "", _ROW_CHARS),
            }
        )
        for finding in inside
    ]


def _decide(session: JudgeSession, rows: Sequence[WindowFinding]) -> JudgeVerdict:
    case, transcript = session.case, session.transcript
    room = session.room(_WINDOW_VERDICT, table="")
    table = _table(session, rows, room // _TABLE_SHARE)
    left = room - session.resources.model.count_tokens(table)
    quoted = dict.fromkeys(row.step for row in _by_suspicion(rows))
    focus = list(quoted)[:_MOST_QUOTED] or [case.answerable[-1]]
    steps = transcript.fitted(transcript.everything, left, focus=focus)
    return _ask_verdict(session, _WINDOW_VERDICT, {"table": table, "steps": steps})


def _table(session: JudgeSession, rows: Sequence[WindowFinding], room: int) -> str:
    """The rows in order of their steps; when they are too many, the least suspicious are left out."""
    kept: list[tuple[int, str]] = []
    for row in _by_suspicion(dict.fromkeys(rows)):
        quoted = f' | "{row.quote}"' if row.quote else ""
        agent = session.case.shown_owner(row.step)
        line = f"step {row.step} | {agent} | {row.kind} | {row.suspicion:.2f} | {row.text}{quoted}"
        room -= session.resources.model.count_tokens(line) + 1
        if room < 0:
            break
        kept.append((row.step, line))
    return "\n".join(line for _, line in sorted(kept, key=lambda row: row[0]))


def _by_suspicion(rows: Iterable[WindowFinding]) -> list[WindowFinding]:
    return sorted(rows, key=lambda row: -row.suspicion)


def _suspect(case: JudgeCase, rows: Sequence[WindowFinding]) -> JudgeVerdict | None:
    beliefs: dict[int, float] = {}
    for row in rows:
        if row.step in case.answerable and row.kind in ("claim", "error") and row.suspicion > 0:
            beliefs[row.step] = max(row.suspicion, beliefs.get(row.step, 0.0))
    return plain_verdict(case, beliefs, "the most suspicious step so far") if beliefs else None


def explained(session: JudgeSession, found: JudgeVerdict) -> JudgeVerdict:
    """``found`` with error mode, faults and quotations; or an abstention, when the judge thinks better of it.

    Agent and step are known by now, so a reason that stays unusable costs the reason only, and the evidence says so.
    """
    case = session.case
    session.best = found
    question = Question(
        prompt=_EXPLAIN,
        values=session.values(_EXPLAIN, session.transcript.everything, [found.step], step=found.step),
        kind=StepJudgement,
        read=lambda reply, _: judged(case, found, reply),
    )
    try:
        return session.ask(question)
    except OutputParseError:
        return with_remark(case, found, "the judge gave no usable reason for this step")


_LEAST_BELIEF = 1e-3
"""Neither side can rule a step out alone."""
_OPENING_CHARS = 100
_SMOOTHING = 0.5


class StepOption(NamedTuple):
    """One thing that can be chosen."""

    step: int | None
    """The step that it stands for; None for "no agent"."""
    text: str
    """How the prompt shows it."""


class ShortlistChoice(NamedTuple):
    """The question with its options and the run."""

    steps: str
    """The run; the same for every order of the options, so that servers can keep it."""
    options: Sequence[StepOption]
    """One to four."""


class _ChoiceAnswer(NamedTuple):
    chosen: int
    logprobs: Sequence[float] | None
    """Of each option, normalised."""


def shortlist(session: JudgeSession, weights: Mapping[int, float]) -> JudgeVerdict:
    """Ask which of three candidates it is, in every rotation of their order.

    The answer is the step with the highest sum of two logarithms: of the candidate's weight, and of the judge's belief
    averaged over the rotations. With independent errors that is Bayes' rule, with the candidate's weight as the prior.
    """
    case = session.case
    mass = min(1.0, sum(weights.values()))
    session.best = plain_verdict(case, weights, "the candidate with the highest weight")
    found = _choose(session, shortlist_choice(session, sorted(weights)))
    logs = {
        step: math.log(max(_LEAST_BELIEF, weight)) + math.log(max(_LEAST_BELIEF, found[step]))
        for step, weight in weights.items()
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
    case = session.case
    options = [StepOption(step, _described(case, step)) for step in steps]
    if not case.is_failure:
        options.append(StepOption(None, NOBODY))
    shown = "\n".join(f"X) {option.text}" for option in options)
    values = session.values(SHORTLIST, session.transcript.everything, steps, options=shown)
    return ShortlistChoice(steps=str(values["steps"]), options=options)


def orders(session: JudgeSession, choice: ShortlistChoice) -> list[list[int]]:
    """The orders in which the options are shown: every rotation of one that the seed shuffles."""
    order = list(range(len(choice.options)))
    random.Random(f"{session.resources.options.seed}:{session.case.trajectory.run_id}:{SHORTLIST}").shuffle(order)
    return [order[start:] + order[:start] for start in range(len(order))]


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

    The question is asked once for each rotation of the options. Where the model tells log-probabilities they are
    averaged: over all rotations every option has had every label once, so a bias for labels cancels out. Elsewhere
    choices are counted.

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


def _described(case: JudgeCase, step: int) -> str:
    words = flat(opening(case.steps[step]) or case.steps[step].kind.value, _OPENING_CHARS)
    return f"step {step}, by {case.shown_owner(step)}: {words}"
