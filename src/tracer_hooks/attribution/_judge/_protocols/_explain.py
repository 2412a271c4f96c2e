"""Why a step that was found in another way is the decisive one: its mode and the passages that show it."""

from __future__ import annotations

from tracer_hooks.attribution._judge._interview import Interview, Question
from tracer_hooks.attribution._judge._replies import Judgement
from tracer_hooks.attribution._judge._verdict import Verdict, judged

PROMPT = "explain"


def explained(interview: Interview, found: Verdict) -> Verdict:
    """``found`` with error mode, faults and quotations; or an abstention, when the judge thinks better of it."""
    case, transcript = interview.case, interview.transcript
    interview.best = found
    room = interview.room(PROMPT, step=found.step)
    steps = transcript.fitted(transcript.everything, room, focus=[found.step])
    return interview.ask(
        Question(
            prompt=PROMPT,
            values={"step": found.step, "steps": steps},
            kind=Judgement,
            read=lambda reply, _: judged(case, found, reply),
        )
    )
