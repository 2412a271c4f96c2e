"""Runs beyond the context: a table of claims and evidence from one window after another, then one decision on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracer_hooks.attribution._judge._case import Case, ReplyError
from tracer_hooks.attribution._judge._fence import flat
from tracer_hooks.attribution._judge._interview import Interview, Question
from tracer_hooks.attribution._judge._quotes import find_quote
from tracer_hooks.attribution._judge._replies import Finding, VerdictReply, WindowReply
from tracer_hooks.attribution._judge._verdict import Verdict, plain_verdict, verdict_of

PROMPT, FINAL = "window_findings", "window_verdict"
_TABLE_SHARE = 4
"""A quarter of the room for steps goes to the table."""
_MOST_QUOTED = 8
_ROW_CHARS = 240


@dataclass(frozen=True, slots=True)
class Row:
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


def windowed(interview: Interview) -> Verdict:
    """Have each window read for claims, symptoms, errors and corrections, then decide on all of them together.

    The decision sees the table, the most suspicious steps at length, and stubs of the others as far as they fit.
    """
    case, transcript, options = interview.case, interview.transcript, interview.desk.options
    room = interview.room(PROMPT, table="", first=0, last=len(case.steps) - 1)
    for_steps = room - room // _TABLE_SHARE
    size = min(for_steps, options.window_tokens or for_steps)
    rows: list[Row] = []
    for window in transcript.windows(size, options.window_overlap):
        rows += _read_window(interview, window, _table(interview, rows, room // _TABLE_SHARE), size)
        interview.best = _suspect(case, rows) or interview.best
    return _decide(interview, rows)


def _read_window(interview: Interview, window: range, table: str, size: int) -> list[Row]:
    return interview.ask(
        Question(
            prompt=PROMPT,
            values={
                "table": table,
                "first": window[0],
                "last": window[-1],
                "steps": interview.transcript.fitted(window, size),
            },
            kind=WindowReply,
            steps=window,
            read=lambda reply, _: _checked(reply.findings, window, interview.case),
        )
    )


def _checked(findings: Sequence[Finding], window: range, case: Case) -> list[Row]:
    """The findings about steps of the window.

    Raises:
        ReplyError: There are findings, and none is about a step of the window.
    """
    inside = [finding for finding in findings if finding.step in window]
    if findings and not inside:
        raise ReplyError(f"no finding is about a step that you were shown: expected {window[0]} to {window[-1]}")
    return [
        Row(
            step=finding.step,
            agent=case.shown_owner(finding.step),
            kind=finding.kind,
            text=flat(finding.text, _ROW_CHARS),
            quote=flat(find_quote(case.steps[finding.step], finding.quote) or "", _ROW_CHARS),
            suspicion=finding.suspicion,
        )
        for finding in inside
    ]


def _decide(interview: Interview, rows: Sequence[Row]) -> Verdict:
    case, transcript = interview.case, interview.transcript
    room = interview.room(FINAL, table="")
    table = _table(interview, rows, room // _TABLE_SHARE)
    left = room - interview.desk.model.count_tokens(table)
    quoted = dict.fromkeys(row.step for row in _by_suspicion(rows))
    focus = list(quoted)[:_MOST_QUOTED] or [case.answerable[-1]]
    return interview.ask(
        Question(
            prompt=FINAL,
            values={"table": table, "steps": transcript.fitted(transcript.everything, left, focus=focus)},
            kind=VerdictReply,
            read=lambda reply, _: verdict_of(reply, case),
        )
    )


def _table(interview: Interview, rows: Sequence[Row], room: int) -> str:
    """The rows in order of their steps; when they are too many, the least suspicious are left out."""
    kept: list[Row] = []
    for row in _by_suspicion(dict.fromkeys(rows)):
        room -= interview.desk.model.count_tokens(row.line) + 1
        if room < 0:
            break
        kept.append(row)
    return "\n".join(row.line for row in sorted(kept, key=lambda row: row.step))


def _by_suspicion(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -row.suspicion)


def _suspect(case: Case, rows: Sequence[Row]) -> Verdict | None:
    beliefs: dict[int, float] = {}
    for row in rows:
        if row.step in case.answerable and row.kind in ("claim", "error") and row.suspicion > 0:
            beliefs[row.step] = max(row.suspicion, beliefs.get(row.step, 0.0))
    return plain_verdict(case, beliefs, "the most suspicious step so far") if beliefs else None
