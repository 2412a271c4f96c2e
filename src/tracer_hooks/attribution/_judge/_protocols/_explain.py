"""Why a step that was found in another way is the decisive one: its mode and the passages that show it."""

from __future__ import annotations

from tracer_hooks.attribution._judge._interview import Interview, Question
from tracer_hooks.attribution._judge._replies import Judgement
from tracer_hooks.attribution._judge._verdict import Verdict, judged, with_remark
from tracer_hooks.errors import OutputParseError

PROMPT = "explain"


def explained(interview: Interview, found: Verdict) -> Verdict:
    """``found`` with error mode, faults and quotations; or an abstention, when the judge thinks better of it.

    Agent and step are known by now, so a reason that stays unusable costs the reason only, and the evidence says so.
    """
    case, transcript = interview.case, interview.transcript
    interview.best = found
    room = interview.room(PROMPT, step=found.step)
    steps = transcript.fitted(transcript.everything, room, focus=[found.step])
    question = Question(
        prompt=PROMPT,
        values={"step": found.step, "steps": steps},
        kind=Judgement,
        read=lambda reply, _: judged(case, found, reply),
    )
    try:
        return interview.ask(question)
    except OutputParseError:
        return with_remark(case, found, "the judge gave no usable reason for this step")
