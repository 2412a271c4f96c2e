"""The ways of asking a judge which step was the decisive error: all steps at once or in windows, each, or by halves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tracer_hooks.diagnosis.judge._calls import JudgeSession, Question
from tracer_hooks.diagnosis.judge._case import (
    NO_FAULT,
    JudgeCase,
    JudgeVerdict,
    judged,
    plain_verdict,
    verdict_of,
    with_remark,
)
from tracer_hooks.diagnosis.judge._prompts import find_quote, flat
from tracer_hooks.diagnosis.judge._replies import (
    HalfReply,
    ReplyError,
    StepJudgement,
    StepReply,
    VerdictReply,
    WindowFinding,
    WindowReply,
)
from tracer_hooks.errors import OutputParseError

ALL_AT_ONCE = "all_at_once"
"""The prompt of the question about the whole run."""
_WINDOW, _WINDOW_VERDICT = "window_findings", "window_verdict"
_STEP_BY_STEP, _BINARY_SEARCH, _EXPLAIN = "step_by_step", "binary_search", "explain"
_WINDOW_OVERLAP = 2
"""Steps that neighbouring windows share."""
_TABLE_SHARE = 4
"""A quarter of the room for steps goes to the table."""
_MOST_QUOTED = 8
_ROW_CHARS = 240
_LEAST, _MOST = 0.01, 0.99
"""Bounds of a stated probability."""


def fits(session: JudgeSession) -> bool:
    """Test if the whole run fits one prompt without cutting its steps shorter than usual."""
    return session.transcript.fits(session.room(ALL_AT_ONCE))


def whole_run(session: JudgeSession, focus: Iterable[int] = ()) -> dict[str, object]:
    """The values of the template: the run, and of one beyond the context mostly the steps in ``focus``."""
    transcript = session.transcript
    return {"steps": transcript.fitted(transcript.everything, session.room(ALL_AT_ONCE), focus=focus)}


def all_at_once(session: JudgeSession, focus: Iterable[int] = ()) -> JudgeVerdict:
    """Ask for agent and step at once; a run beyond the context is cut step by step until it fits.

    Args:
        session: About the run.
        focus: Steps that are cut last, when there is another method that proposes some.
    """
    case = session.case
    return session.ask(
        Question(
            prompt=ALL_AT_ONCE,
            values=whole_run(session, focus),
            kind=VerdictReply,
            read=lambda reply, _: verdict_of(reply, case),
        )
    )


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One checked finding."""

    step: int
    agent: str
    kind: str
    text: str
    quote: str
    """Stands in the step word for word; empty when what the judge quoted does not."""
    suspicion: float

    @property
    def line(self) -> str:
        """The row as the prompts show it."""
        quoted = f' | "{self.quote}"' if self.quote else ""
        return f"step {self.step} | {self.agent} | {self.kind} | {self.suspicion:.2f} | {self.text}{quoted}"


def windowed(session: JudgeSession) -> JudgeVerdict:
    """Have each window read for claims, symptoms, errors and corrections, then decide on all of them together.

    The decision sees the table, the most suspicious steps at length, and stubs of the others as far as they fit.
    """
    case, transcript = session.case, session.transcript
    room = session.room(_WINDOW, table="", first=0, last=len(case.steps) - 1)
    size = room - room // _TABLE_SHARE
    rows: list[FindingRow] = []
    for window in transcript.windows(size, _WINDOW_OVERLAP):
        rows += _read_window(session, window, _table(session, rows, room // _TABLE_SHARE), size)
        session.best = _suspect(case, rows) or session.best
    return _decide(session, rows)


def _read_window(session: JudgeSession, window: range, table: str, size: int) -> list[FindingRow]:
    return session.ask(
        Question(
            prompt=_WINDOW,
            values={
                "table": table,
                "first": window[0],
                "last": window[-1],
                "steps": session.transcript.fitted(window, size),
            },
            kind=WindowReply,
            steps=window,
            read=lambda reply, _: _checked(reply.findings, window, session.case),
        )
    )


def _checked(findings: Sequence[WindowFinding], window: range, case: JudgeCase) -> list[FindingRow]:
    """The findings about steps of the window.

    Raises:
        ReplyError: There are findings, and none is about a step of the window.
    """
    inside = [finding for finding in findings if finding.step in window]
    if findings and not inside:
        raise ReplyError(f"no finding is about a step that you were shown: expected {window[0]} to {window[-1]}")
    return [
        FindingRow(
            step=finding.step,
            agent=case.shown_owner(finding.step),
            kind=finding.kind,
            text=flat(finding.text, _ROW_CHARS),
            quote=flat(find_quote(case.steps[finding.step], finding.quote) or "", _ROW_CHARS),
            suspicion=finding.suspicion,
        )
        for finding in inside
    ]


def _decide(session: JudgeSession, rows: Sequence[FindingRow]) -> JudgeVerdict:
    case, transcript = session.case, session.transcript
    room = session.room(_WINDOW_VERDICT, table="")
    table = _table(session, rows, room // _TABLE_SHARE)
    left = room - session.resources.model.count_tokens(table)
    quoted = dict.fromkeys(row.step for row in _by_suspicion(rows))
    focus = list(quoted)[:_MOST_QUOTED] or [case.answerable[-1]]
    return session.ask(
        Question(
            prompt=_WINDOW_VERDICT,
            values={"table": table, "steps": transcript.fitted(transcript.everything, left, focus=focus)},
            kind=VerdictReply,
            read=lambda reply, _: verdict_of(reply, case),
        )
    )


def _table(session: JudgeSession, rows: Sequence[FindingRow], room: int) -> str:
    """The rows in order of their steps; when they are too many, the least suspicious are left out."""
    kept: list[FindingRow] = []
    for row in _by_suspicion(dict.fromkeys(rows)):
        room -= session.resources.model.count_tokens(row.line) + 1
        if room < 0:
            break
        kept.append(row)
    return "\n".join(row.line for row in sorted(kept, key=lambda row: row.step))


def _by_suspicion(rows: Iterable[FindingRow]) -> list[FindingRow]:
    return sorted(rows, key=lambda row: -row.suspicion)


def _suspect(case: JudgeCase, rows: Sequence[FindingRow]) -> JudgeVerdict | None:
    beliefs: dict[int, float] = {}
    for row in rows:
        if row.step in case.answerable and row.kind in ("claim", "error") and row.suspicion > 0:
            beliefs[row.step] = max(row.suspicion, beliefs.get(row.step, 0.0))
    return plain_verdict(case, beliefs, "the most suspicious step so far") if beliefs else None


def step_by_step(session: JudgeSession) -> JudgeVerdict:
    """Ask of each step whether it is the decisive one, and stop at the first yes.

    Without a yes, the most suspicious step of a failed run is the answer; a run that is not known to have failed has
    no fault.
    """
    case, stated = session.case, dict[int, float]()
    for step in case.answerable:
        reply = _ask_step(session, step)
        stated[step] = max(_LEAST, reply.probability)
        if reply.is_decisive:
            # The steps before it were passed over, whatever probability was stated for them.
            beliefs = {index: min(belief, stated[step]) for index, belief in stated.items()}
            found = replace(plain_verdict(case, beliefs, ""), step=step)
            return judged(case, found, _judgement(reply))
        session.best = plain_verdict(case, stated, "the most suspicious step so far")
    found = plain_verdict(case, stated, "the judge called no step decisive: this is the most suspicious one")
    return found if case.is_failure else replace(found, abstention=NO_FAULT)


def _ask_step(session: JudgeSession, step: int) -> StepReply:
    before = range(step + 1)
    steps = session.transcript.fitted(before, session.room(_STEP_BY_STEP, step=step), focus=[step])
    return session.ask(
        Question(
            prompt=_STEP_BY_STEP, values={"step": step, "steps": steps}, kind=StepReply, read=lambda reply, _: reply
        )
    )


def _judgement(reply: StepReply) -> StepJudgement:
    return StepJudgement(
        reason=reply.reason,
        error_mode=reply.error_mode,
        probability=reply.probability,
        evidence=reply.evidence,
    )


def binary_search(session: JudgeSession) -> JudgeVerdict:
    """Ask which half holds the decisive step, again and again; a last question asks for mode and evidence.

    What the judge states of each half is shared evenly by the steps in it, so steps of a half that was passed over keep
    a belief.
    """
    case = session.case
    left: Sequence[int] = case.answerable
    beliefs = dict.fromkeys(left, 1.0 / len(left))
    while len(left) > 1:
        middle = (len(left) + 1) // 2
        first, second = left[:middle], left[middle:]
        reply = _ask_half(session, first, second)
        taken, passed = (first, second) if reply.half == "first" else (second, first)
        mass, stated = sum(beliefs[step] for step in left), min(_MOST, max(0.5, reply.probability))
        beliefs |= {step: mass * stated / len(taken) for step in taken}
        beliefs |= {step: mass * (1 - stated) / len(passed) for step in passed}
        left = taken
        session.best = plain_verdict(case, beliefs, f"the search had come to the steps {left[0]} to {left[-1]}")
    # The step that the search ends on is the answer, also when its path was a doubtful one.
    beliefs = {step: min(belief, beliefs[left[0]]) for step, belief in beliefs.items()}
    return explained(session, JudgeVerdict(step=left[0], beliefs=beliefs))


def _ask_half(session: JudgeSession, first: Sequence[int], second: Sequence[int]) -> HalfReply:
    halves = {"first": _named(first), "second": _named(second)}
    stretch = range(first[0], second[-1] + 1)
    steps = session.transcript.fitted(stretch, session.room(_BINARY_SEARCH, **halves))
    return session.ask(
        Question(prompt=_BINARY_SEARCH, values={**halves, "steps": steps}, kind=HalfReply, read=lambda reply, _: reply)
    )


def _named(steps: Sequence[int]) -> str:
    return f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"


def explained(session: JudgeSession, found: JudgeVerdict) -> JudgeVerdict:
    """``found`` with error mode, faults and quotations; or an abstention, when the judge thinks better of it.

    Agent and step are known by now, so a reason that stays unusable costs the reason only, and the evidence says so.
    """
    case, transcript = session.case, session.transcript
    session.best = found
    room = session.room(_EXPLAIN, step=found.step)
    steps = transcript.fitted(transcript.everything, room, focus=[found.step])
    question = Question(
        prompt=_EXPLAIN,
        values={"step": found.step, "steps": steps},
        kind=StepJudgement,
        read=lambda reply, _: judged(case, found, reply),
    )
    try:
        return session.ask(question)
    except OutputParseError:
        return with_remark(case, found, "the judge gave no usable reason for this step")
