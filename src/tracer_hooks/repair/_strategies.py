"""Strategies of repair: what each tells whom."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from tracer_hooks._guard import warn_once
from tracer_hooks.endpoint import Chat, ask
from tracer_hooks.repair._failure import (
    Failure,
    RepairStrategy,
    attempt_failed,
    error_mode_at,
    for_prompt,
    notes_on,
    shortened,
)
from tracer_hooks.repair._repair import PastTrial, Repair, RepairTarget
from tracer_hooks.schema import Step

_STEP_CHARACTERS = 1_500
_RUN_CHARACTERS = 12_000
_MOST_SENTENCES = 2
_LONGEST = 400
_SENTENCE = re.compile(r".+?(?:[.!?…](?=\s|$)|$)")
_ROLE = (
    "You advise one member of a team of assistants. The team has failed at a task and tries again. You do not know the "
    "right answer."
)


class FromScratch:
    """Makes the whole run again and says nothing: what every other repair has to beat."""

    name = "from_scratch"

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repair.RepairStrategy`; None at a step."""
        if step is not None:
            return None
        return Repair(strategy=self.name, reason="the whole run is made again, nothing is said")


class Resample:
    """Asks the agent of the step the very same again; what came before it stays as it was."""

    name = "resample"

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repair.RepairStrategy`; None without a step."""
        agent = failure.agent_at(step) if step is not None else None
        if step is None or agent is None:
            return None
        reason = f"{agent!r} is asked again at step {step}, all before it is kept"
        return Repair(strategy=self.name, agent=agent, resume_from=step, reason=reason)


class FeedbackInTask:
    """Adds what the check said to the task. None where the check said nothing that may be told."""

    name = "feedback_in_task"

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repair.RepairStrategy`."""
        text = attempt_failed(failure.feedback)
        if text is None or (step is not None and failure.agent_at(step) is None):
            return None
        return Repair(
            strategy=self.name,
            target=RepairTarget.TASK,
            text=for_prompt(text),
            resume_from=step,
            reason="everybody who is shown the task is told why the earlier attempt failed",
        )


class FeedbackInMessage:
    """Adds what the check said to the message that one agent is shown: the agent of the step, else the blamed one.

    None where the check said nothing that may be told, or nobody is blamed.
    """

    name = "feedback_in_message"

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repair.RepairStrategy`."""
        agent = failure.agent_at(step)
        text = attempt_failed(failure.feedback)
        if agent is None or text is None:
            return None
        return Repair(
            strategy=self.name,
            target=RepairTarget.MESSAGE,
            agent=agent,
            text=text,
            resume_from=step,
            reason=f"{agent!r} is told why the earlier attempt failed",
        )


class WrittenGuidance:
    """Has a language model write one or two sentences for the agent of the step, else for the blamed one.

    The model sees the run, the diagnosis, what may be told of the check's reason and what was tried before; the
    expected answer is not among it. None where nobody is blamed, or the model writes nothing.

    Args:
        chat: Asks the model: its text alone, or with its usage. An exception of it is the caller's to handle.
    """

    name = "guidance"

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repair.RepairStrategy`."""
        agent = failure.agent_at(step)
        if agent is None:
            return None
        shown = "\n\n".join(_parts(failure, agent, step))
        reply = ask(self._chat, [{"role": "system", "content": _ROLE}, {"role": "user", "content": shown}])
        written = _sentences(reply.text)
        if not written:
            return None
        return Repair(
            strategy=self.name,
            target=RepairTarget.MESSAGE,
            agent=agent,
            text=written,
            resume_from=step,
            usage=reply.usage,
            reason=f"{agent!r} is given guidance that a language model wrote",
        )


def _parts(failure: Failure, agent: str, step: int | None) -> list[str]:
    parts = [f"Task of the team:\n{failure.trajectory.task}"]
    instructions = failure.instructions(agent)
    if instructions:
        parts.append(f"Instructions of {agent}:\n{instructions}")
    parts.append(f"What was done:\n{shortened(steps_as_text(failure.trajectory.steps), _RUN_CHARACTERS)}")
    if failure.feedback:
        parts.append(f"Why it failed:\n{failure.feedback}")
    mode = error_mode_at(failure, step)
    if mode is not None:
        parts.append(f"Suspected mistake: {mode.definition}")
    parts += [f"Suspicious: {note}" for note in notes_on(failure, step)]
    tried = [_tried(trial) for trial in failure.tried if trial.repair.text]
    if tried:
        parts.append("Told before, without success:\n" + "\n".join(tried))
    where = "before it begins" if step is None else f"before it acts again at [{step}]"
    parts.append(
        f"Write one or two short sentences that {agent} is told {where}: what to do in another way. They must not "
        "change the form of its reply, and must not say what the answer is. Write nothing but these sentences."
    )
    return parts


def _tried(trial: PastTrial) -> str:
    whom = trial.repair.agent or "everybody"
    return f"to {whom}: {shortened(' '.join(trial.repair.text.split()), _LONGEST)}"


def _sentences(text: str) -> str:
    """The first two sentences, on one line, without quotation marks or a fence around them."""
    plain = " ".join(line for line in text.split() if not line.startswith("```")).strip("\"'“”*` ")
    kept = " ".join(match.group().strip() for match in list(_SENTENCE.finditer(plain))[:_MOST_SENTENCES])
    return shortened(kept, _LONGEST)


def steps_as_text(steps: Iterable[Step]) -> str:
    """One line for each step: who acts, what is said, and what tools gave."""
    return "\n".join(
        f"[{step.index}] {step.agent}: {cut(step.content)}{tools_as_text(step)}".rstrip() for step in steps
    )


def tools_as_text(step: Step) -> str:
    """The tool calls of a step; empty without any."""
    calls = [f"{c.name}({json.dumps(c.arguments)}) -> {c.result or c.error or ''}" for c in step.tool_calls]
    return "".join(f" [{cut(call)}]" for call in calls)


def cut(text: str) -> str:
    """``text`` without the end of a very long one."""
    return text if len(text) <= _STEP_CHARACTERS else text[:_STEP_CHARACTERS] + " ..."


def proposal(strategy: RepairStrategy, failure: Failure, step: int | None) -> Repair | None:
    """Return what a strategy proposes, signed with its name; None where that cannot be carried out.

    What is added to the task or to a message goes through the team's model calls, and where none was recorded there is
    no way in.

    Raises:
        TypeError: The strategy gave something else than a repair.
        Exception: What the strategy raises.
    """
    repair: object = strategy.propose(failure, step)
    if repair is None:
        return None
    if not isinstance(repair, Repair):
        raise TypeError(f"the strategy {strategy.name!r} gave {type(repair).__name__!r}, expected a Repair or None")
    if repair.target is RepairTarget.REPLY:
        _leave_out(strategy, "proposed what an agent says: such a run is not the team's own work")
        return None
    if repair.target in (RepairTarget.TASK, RepairTarget.MESSAGE) and not failure.steps:
        return None
    if repair.resume_from is not None and repair.resume_from not in failure.steps:
        _leave_out(strategy, "proposed to resume at a step that the run cannot be resumed at")
        return None
    return repair.model_copy(update={"strategy": strategy.name})


def _leave_out(strategy: RepairStrategy, why: str) -> None:
    """Say once why a proposal of a strategy is not used."""
    warn_once(
        f"repair strategy {strategy.name} {why}",
        "repair strategy %r %s. That proposal is left out; this is said once",
        strategy.name,
        why,
    )
