"""Feedback that one agent reads."""

from __future__ import annotations

from tracer_hooks.repairs import Failure, Repair, RepairTarget, attempt_failed


class FeedbackInMessage:
    """Adds what the check said to the message that one agent is shown: the agent of the step, else the blamed one.

    None where the check said nothing that may be told, or nobody is blamed.
    """

    name = "feedback_in_message"

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repairs.RepairStrategy`."""
        agent = failure.agent if step is None else failure.agent_at(step)
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
