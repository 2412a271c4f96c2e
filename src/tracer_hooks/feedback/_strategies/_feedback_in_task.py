"""Feedback that everybody reads."""

from __future__ import annotations

from tracer_hooks.repairs import Failure, Repair, RepairTarget, attempt_failed, for_prompt


class FeedbackInTask:
    """Adds what the check said to the task. None where the check said nothing that may be told."""

    name = "feedback_in_task"

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repairs.RepairStrategy`."""
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
