"""Another try of one step."""

from __future__ import annotations

from tracer_hooks.repairs import Failure, Repair


class Resample:
    """Asks the agent of the step the very same again; what came before it stays as it was."""

    name = "resample"

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repairs.RepairStrategy`; None without a step."""
        agent = failure.agent_at(step) if step is not None else None
        if step is None or agent is None:
            return None
        reason = f"{agent!r} is asked again at step {step}, all before it is kept"
        return Repair(strategy=self.name, agent=agent, resume_from=step, reason=reason)
