"""One question about the whole run, its steps numbered."""

from __future__ import annotations

from tracer_hooks.attribution._judge._interview import Interview, Question
from tracer_hooks.attribution._judge._replies import VerdictReply
from tracer_hooks.attribution._judge._verdict import Verdict, verdict_of

PROMPT = "all_at_once"


def fits(interview: Interview) -> bool:
    """Whether the whole run fits one prompt without cutting its steps shorter than usual."""
    return interview.transcript.fits(interview.room(PROMPT))


def all_at_once(interview: Interview) -> Verdict:
    """Ask for agent and step at once; a run beyond the context is cut step by step until it fits."""
    case, transcript = interview.case, interview.transcript
    steps = transcript.fitted(transcript.everything, interview.room(PROMPT))
    return interview.ask(
        Question(
            prompt=PROMPT,
            values={"steps": steps},
            kind=VerdictReply,
            read=lambda reply, _: verdict_of(reply, case),
        )
    )
