"""Guidance that a language model writes."""

from __future__ import annotations

from tracer_hooks.repairs import Chat, Failure, Repair, RepairTarget, written_guidance


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
        """See :class:`~tracer_hooks.repairs.RepairStrategy`."""
        agent = failure.agent if step is None else failure.agent_at(step)
        if agent is None:
            return None
        written = written_guidance(self._chat, failure, agent, step)
        if not written.text:
            return None
        return Repair(
            strategy=self.name,
            target=RepairTarget.MESSAGE,
            agent=agent,
            text=written.text,
            resume_from=step,
            usage=written.usage,
            reason=f"{agent!r} is given guidance that a language model wrote",
        )
