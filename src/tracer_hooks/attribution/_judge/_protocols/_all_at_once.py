"""One question about the whole run, its steps numbered."""

from __future__ import annotations

from collections.abc import Iterable

from tracer_hooks.attribution._judge._interview import Interview, Question
from tracer_hooks.attribution._judge._replies import VerdictReply
from tracer_hooks.attribution._judge._verdict import Verdict, verdict_of

PROMPT = "all_at_once"


def fits(interview: Interview) -> bool:
    """Whether the whole run fits one prompt without cutting its steps shorter than usual."""
    return interview.transcript.fits(interview.room(PROMPT))


def whole_run(interview: Interview, focus: Iterable[int] = ()) -> dict[str, object]:
    """What the template is filled with: the run, and of one beyond the context mostly the steps in ``focus``."""
    transcript = interview.transcript
    return {"steps": transcript.fitted(transcript.everything, interview.room(PROMPT), focus=focus)}


def all_at_once(interview: Interview, focus: Iterable[int] = ()) -> Verdict:
    """Ask for agent and step at once; a run beyond the context is cut step by step until it fits.

    Args:
        interview: About the run.
        focus: Steps that are cut last, when there is another method that proposes some.
    """
    case = interview.case
    return interview.ask(
        Question(
            prompt=PROMPT,
            values=whole_run(interview, focus),
            kind=VerdictReply,
            read=lambda reply, _: verdict_of(reply, case),
        )
    )
