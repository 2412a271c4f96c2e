"""Duties: a failed call goes on at the step that broke it, with the steps before it from the record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks import RetryBoundary
from tracer_hooks.frameworks import Capability
from tracer_hooks.repairs import Failure, Repair, RepairLog, RepairTarget
from tracer_hooks.schema import Attribution, Candidate, Trajectory
from tracer_hooks.testing._contract_base import ContractBase, every_way
from tracer_hooks.testing._scenarios import TASK, calls_then_says
from tracer_hooks.testing._scripted_llm import ScriptedLLM
from tracer_hooks.testing._scripted_replies import ToolCallReply
from tracer_hooks.testing._scripted_rules import Rule, When

_WAIT_S = 30.0
_HINT = "An earlier answer named the wrong number."
_WRONG, _RIGHT = "Six times seven makes 41.", "Six times seven makes 42."


@dataclass
class _Fixed:
    """Blames one agent, and proposes one repair at its step."""

    agent: str
    target: RepairTarget = RepairTarget.NOTHING
    name: str = "fixed"

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        """See :class:`~tracer_hooks.attribution.Attributor`."""
        step = next(step.index for step in trajectory.steps if step.agent == self.agent)
        blamed = Candidate(agent=self.agent, step=step, score=0.9)
        return Attribution(
            run_id=trajectory.run_id,
            agent=self.agent,
            step=step,
            confidence=0.9,
            candidates=(blamed,),
            attributor="fixed",
        )

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repairs.RepairStrategy`."""
        if step is None:
            return None
        told = {"target": self.target, "text": _HINT} if self.target is not RepairTarget.NOTHING else {}
        agent = self.agent if self.target is RepairTarget.MESSAGE else None
        return Repair(strategy=self.name, agent=agent, resume_from=step, **told)  # type: ignore[arg-type]


class RecoveryContract(ContractBase):
    """A call that failed is tried again from the middle. These go through :func:`tracer_hooks.hook`, as users do."""

    @every_way
    def test_a_failed_call_goes_on_at_the_blamed_step(self, way: str) -> None:
        writer = When(agent="writer").then(_WRONG, _RIGHT)
        with self._recovered(way, writer, _Fixed("writer")) as (llm, run):
            assert [request for request in self._asked(llm)] == ["researcher"] * 2 + ["writer", "reviewer"] * 2
            assert [step.content for step in run.trajectory.steps][-2] == _RIGHT
            assert len(run.trajectory.steps) == len(run.attempts[0].trajectory.steps)

    @pytest.mark.parametrize("target", [RepairTarget.TASK, RepairTarget.MESSAGE])
    @every_way
    def test_what_is_told_reaches_the_live_steps_alone(self, way: str, target: RepairTarget) -> None:
        writer = When(agent="writer", contains=_HINT).then(_RIGHT), When(agent="writer").then(_WRONG)
        with self._recovered(way, writer, _Fixed("writer", target)) as (llm, run):
            told = [_HINT in request.text for request in llm.requests]
            assert told[:4] == [False] * 4
            assert told[4]
            shown = "\n".join(text.text or "" for step in run.trajectory.steps for text in step.inputs)
            assert _HINT not in shown, "the record shows what the team itself asked"

    @contextmanager
    def _recovered(
        self, way: str, writer: Rule | tuple[Rule, ...], fixed: _Fixed
    ) -> Iterator[tuple[ScriptedLLM, tracer_hooks.TeamRun]]:
        """A call whose first attempt fails at the writer, and whose second passes."""
        self.needs(Capability.INTERVENE_MODEL)
        rules = [
            *calls_then_says(
                "researcher", [ToolCallReply("lookup", {"query": "six times seven"})], "The table says 42."
            ),
            *(writer if isinstance(writer, tuple) else (writer,)),
            When(agent="reviewer", contains=_RIGHT).then("Approved: six times seven makes 42."),
            When(agent="reviewer").then("Approved: six times seven makes 41."),
        ]
        llm = self.llm(rules)
        team = self.build("pipeline", llm)
        hooked = tracer_hooks.hook(
            team,
            check=lambda result: "makes 42" in result.text,
            retries=1,
            retry_streams=True,
            repair=fixed,
            attributor=fixed,
            diagnose="inline",
            store="off",
        )
        try:
            items = [item for item in self.conduct(way, hooked, TASK) if not isinstance(item, RetryBoundary)]
            assert items
            run = tracer_hooks.last_run(hooked)
            assert run is not None
            run.wait(_WAIT_S)
            self._is_recovered(run)
            yield llm, run
        finally:
            tracer_hooks.unhook(hooked)

    @staticmethod
    def _is_recovered(run: tracer_hooks.TeamRun) -> None:
        log = run.repair
        assert isinstance(log, RepairLog)
        (trial,) = log.trials
        assert (trial.passed, trial.note, log.stopped) == (True, "", "the run was recovered")
        assert log.verified is not None
        assert log.verified.agent == "writer"
        assert log.kept_usage.input_tokens > 0
        assert trial.usage.input_tokens < sum(step.usage.input_tokens for step in run.trajectory.steps if step.usage)

    @staticmethod
    def _asked(llm: ScriptedLLM) -> list[Any]:
        names = ("researcher", "writer", "reviewer")
        return [next(name for name in names if request.is_from(name)) for request in llm.requests]
