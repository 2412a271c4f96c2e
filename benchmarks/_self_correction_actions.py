"""What a retry may do, by a short name, and which of them an arm takes in which round.

An action's name is ``plain``, ``task``, ``message:AGENT``, ``template``, ``resume:STEP``, or a step with one of the
others, such as ``resume:STEP+message:AGENT``. None of them depends on earlier retries, so arms share trials: the n-th
time that an arm takes an action on a failure it is given the action's n-th trial. Where two arms do the same, they get
the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from _self_correction_teams import Changes

from tracer_hooks.suites.architectures._architecture import Said

Row = Mapping[str, Any]
Chooser = Callable[[Row, int], str]
"""The action of a failure in a round, which counts from 0."""

PLAIN: Final = "plain"
TASK: Final = "task"
TEMPLATE: Final = "template"


def changes_of(action: str, failure: Row) -> Changes:
    """What an action changes in a retry of this failure."""
    kept: Sequence[Said] = ()
    task_note, notes, prompts = "", {}, {}
    for part in action.split("+"):
        what, _, where = part.partition(":")
        if what == "resume":
            kept = [Said(turn["agent"], turn["text"]) for turn in failure["turns"][: int(where)]]
        elif what == "message":
            notes[where] = failure["feedback"]
        elif what == TASK:
            task_note = failure["feedback"]
        elif what == TEMPLATE:
            prompts[failure["rewrite"]["agent"]] = failure["rewrite"]["after"]
        elif what != PLAIN:
            raise ValueError(f"unknown action {action!r}")
    return Changes(kept=kept, task_note=task_note, notes=notes, prompts=prompts)


def resume(step: int | None, note_for: str | None = None) -> str:
    """The name of resuming at a step, told something or not; at the first step it is a run from scratch."""
    parts = [f"resume:{step}"] if step else []
    parts += [f"message:{note_for}"] if note_for else []
    return "+".join(parts) or PLAIN


def _blamed(failure: Row) -> tuple[int | None, str | None]:
    return failure["blame"]["step"], failure["blame"]["agent"]


def _true(failure: Row) -> tuple[int, str]:
    return failure["truth"], failure["turns"][failure["truth"]]["agent"]


def in_message(failure: Row, round_: int) -> str:
    """The feedback in the blamed agent's message."""
    return resume(None, _blamed(failure)[1])


def resumed(failure: Row, round_: int) -> str:
    """From the blamed step on, and one step earlier in each later round."""
    step = _blamed(failure)[0]
    return resume(None if step is None else max(step - round_, 0))


def resumed_oracle(failure: Row, round_: int) -> str:
    """From the step that is really the first wrong one."""
    return resume(_true(failure)[0])


def resumed_told(failure: Row, round_: int) -> str:
    """From the blamed step on, whose agent is told."""
    step, agent = _blamed(failure)
    return resume(None if step is None else max(step - round_, 0), agent)


def resumed_told_oracle(failure: Row, round_: int) -> str:
    """From the true step on, whose agent is told."""
    return resume(*_true(failure))


def rewritten(failure: Row, round_: int) -> str:
    """The lesson without a model in the blamed agent's instructions."""
    return TEMPLATE if failure["rewrite"] else PLAIN


ARMS: Final[Mapping[str, Chooser]] = {
    "plain": lambda failure, round_: PLAIN,
    "resume": resumed,
    "feedback_in_task": lambda failure, round_: TASK,
    "feedback_in_message": in_message,
    "resume_oracle": resumed_oracle,
    "resume+feedback_in_message": resumed_told,
    "oracle_resume+feedback": resumed_told_oracle,
    "rewritten_instructions": rewritten,
}
"""Arms that need nothing but the failure."""
