"""A failed run as those may see it who write repairs: without the expected answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracer_hooks.repairs._masking import hidden
from tracer_hooks.repairs._past_trial import PastTrial
from tracer_hooks.repairs._secrets import Secrets
from tracer_hooks.schema import Attribution, ErrorMode, Evidence, Trajectory


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A failed run, and what was tried to recover it.

    Attributes:
        trajectory: The run, without reference answer and without the check's own words.
        attribution: The diagnosis; where its evidence tells the expected answer, that is hidden, or left out.
        feedback: What the team may be told of the check's reason; None where it may be told nothing.
        steps: The steps that a trial can resume at.
        tried: The trials so far.
    """

    trajectory: Trajectory
    attribution: Attribution | None = None
    feedback: str | None = None
    steps: tuple[int, ...] = ()
    tried: tuple[PastTrial, ...] = ()

    @classmethod
    def of(
        cls,
        run: Trajectory,
        attribution: Attribution | None = None,
        *,
        feedback: str | None = None,
        steps: Iterable[int] = (),
        tried: Iterable[PastTrial] = (),
    ) -> Failure:
        """The filtered failure of a run whose trajectory may hold the expected answer.

        Args:
            run: The failed run.
            attribution: Its diagnosis.
            feedback: What the team may be told; checked by the caller.
            steps: The steps that a trial can resume at.
            tried: The trials so far.
        """
        secrets = Secrets.of(run)
        if attribution is not None:
            evidence = _without_answer(run, attribution.evidence, secrets)
            attribution = attribution.model_copy(update={"evidence": evidence, "explanation": None})
        return cls(
            trajectory=run.model_copy(update={"reference": None, "outcome_reason": None}),
            attribution=attribution,
            feedback=feedback,
            steps=tuple(sorted(set(steps))),
            tried=tuple(tried),
        )

    @property
    def agent(self) -> str | None:
        """The blamed agent; None without a diagnosis."""
        found = self.attribution
        return found.agent if found is not None and not found.abstained else None

    @property
    def step(self) -> int | None:
        """The blamed step; None without a diagnosis."""
        found = self.attribution
        return found.step if found is not None and not found.abstained else None

    @property
    def error_mode(self) -> ErrorMode | None:
        """The diagnosed error mode."""
        return self.attribution.error_mode if self.agent is not None and self.attribution is not None else None

    def agent_at(self, step: int) -> str | None:
        """Agent that acts at ``step``; None where the run has no such step."""
        steps = self.trajectory.steps
        return steps[step].agent if 0 <= step < len(steps) else None

    def instructions(self, agent: str) -> str | None:
        """The agent's instructions; None where they are not known."""
        return self.trajectory.instructions_of(agent)


def _without_answer(run: Trajectory, evidence: Sequence[Evidence], secrets: Secrets) -> tuple[Evidence, ...]:
    """The evidence with the expected answer hidden: "6 * 11 + 13 is [hidden], not 77" still says what is wrong.

    Where the run itself comes by the answer, evidence that tells it is left out: it would say where to find it.
    """
    if not any(secrets.are_in(f"{one.why}\n{one.quote}") for one in evidence):
        return tuple(evidence)
    is_in_run = any(
        secrets.are_in(text)
        for step in run.steps
        for text in (step.content, *(call.result or "" for call in step.tool_calls))
    )
    kept = []
    for one in evidence:
        why = hidden(one.why, secrets)
        if why == one.why and not secrets.are_in(one.quote):
            kept.append(one)
        elif why is not None and not is_in_run and not secrets.are_in(f"{why}\n{one.quote}"):
            kept.append(one.model_copy(update={"why": why}))
    return tuple(kept)
