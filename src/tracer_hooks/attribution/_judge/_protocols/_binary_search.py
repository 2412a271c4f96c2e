"""Half of a stretch of steps at a time, until one step is left."""

from __future__ import annotations

from collections.abc import Sequence

from tracer_hooks.attribution._judge._interview import Interview, Question
from tracer_hooks.attribution._judge._protocols._explain import explained
from tracer_hooks.attribution._judge._replies import HalfReply
from tracer_hooks.attribution._judge._verdict import Verdict, plain_verdict

PROMPT = "binary_search"
_MOST = 0.99


def binary_search(interview: Interview) -> Verdict:
    """Ask which half holds the decisive step, again and again; a last question asks for mode and evidence.

    What the judge states of each half is shared evenly by the steps in it, so steps of a half that was passed over keep
    a belief.
    """
    case = interview.case
    left: Sequence[int] = case.answerable
    beliefs = dict.fromkeys(left, 1.0 / len(left))
    while len(left) > 1:
        middle = (len(left) + 1) // 2
        first, second = left[:middle], left[middle:]
        reply = _ask(interview, first, second)
        taken, passed = (first, second) if reply.half == "first" else (second, first)
        mass, stated = sum(beliefs[step] for step in left), min(_MOST, max(0.5, reply.probability))
        beliefs |= {step: mass * stated / len(taken) for step in taken}
        beliefs |= {step: mass * (1 - stated) / len(passed) for step in passed}
        left = taken
        interview.best = plain_verdict(case, beliefs, f"the search had come to the steps {left[0]} to {left[-1]}")
    # The step that the search ends on is the answer, also when its path was a doubtful one.
    beliefs = {step: min(belief, beliefs[left[0]]) for step, belief in beliefs.items()}
    return explained(interview, Verdict(step=left[0], beliefs=beliefs))


def _ask(interview: Interview, first: Sequence[int], second: Sequence[int]) -> HalfReply:
    halves = {"first": _named(first), "second": _named(second)}
    stretch = range(first[0], second[-1] + 1)
    steps = interview.transcript.fitted(stretch, interview.room(PROMPT, **halves))
    return interview.ask(
        Question(prompt=PROMPT, values={**halves, "steps": steps}, kind=HalfReply, read=lambda reply, _: reply)
    )


def _named(steps: Sequence[int]) -> str:
    return f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
