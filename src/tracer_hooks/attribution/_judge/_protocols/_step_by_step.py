"""One question for each step, with what came before it, until one is called decisive."""

from __future__ import annotations

from dataclasses import replace

from tracer_hooks.attribution._judge._case import NO_FAULT
from tracer_hooks.attribution._judge._interview import Interview, Question
from tracer_hooks.attribution._judge._replies import Judgement, StepReply
from tracer_hooks.attribution._judge._verdict import Verdict, judged, plain_verdict

PROMPT = "step_by_step"
_LEAST = 0.01


def step_by_step(interview: Interview) -> Verdict:
    """Ask of each step whether it is the decisive one, and stop at the first yes.

    Without a yes, the most suspicious step of a failed run is the answer; a run that is not known to have failed has
    no fault.
    """
    case, stated = interview.case, dict[int, float]()
    for step in case.answerable:
        reply = _ask(interview, step)
        stated[step] = max(_LEAST, reply.probability)
        if reply.is_decisive:
            # The steps before it were passed over, whatever probability was stated for them.
            beliefs = {index: min(belief, stated[step]) for index, belief in stated.items()}
            found = replace(plain_verdict(case, beliefs, ""), step=step)
            return judged(case, found, _judgement(reply))
        interview.best = plain_verdict(case, stated, "the most suspicious step so far")
    found = plain_verdict(case, stated, "the judge called no step decisive: this is the most suspicious one")
    return found if case.is_failure else replace(found, abstention=NO_FAULT)


def _ask(interview: Interview, step: int) -> StepReply:
    before = range(step + 1)
    steps = interview.transcript.fitted(before, interview.room(PROMPT, step=step), focus=[step])
    return interview.ask(
        Question(prompt=PROMPT, values={"step": step, "steps": steps}, kind=StepReply, read=lambda reply, _: reply)
    )


def _judgement(reply: StepReply) -> Judgement:
    return Judgement(
        reason=reply.reason,
        error_mode=reply.error_mode,
        probability=reply.probability,
        evidence=reply.evidence,
    )
