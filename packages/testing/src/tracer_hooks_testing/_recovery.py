"""Duties: retries, resumed runs and other instructions reach the agent that they name."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks import RetryBoundary
from tracer_hooks.frameworks import Capability
from tracer_hooks.repair import Failure, Repair, RepairLog, RepairTarget
from tracer_hooks.schema import Attribution, Candidate, Trajectory
from tracer_hooks.store import PromptArm, PromptStore, PromptTally, fingerprint
from tracer_hooks.testing import Rule, ScriptedLLM, ToolCallReply, When
from tracer_hooks_testing._base import ContractBase, every_way
from tracer_hooks_testing._teams import TASK, ContractTeams, Scenario, calls_then_says

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
        """See :class:`~tracer_hooks.diagnosis.Attributor`."""
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
        """See :class:`~tracer_hooks.repair.RepairStrategy`."""
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
            tools="replayable",
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
        assert log.passed_from is not None
        assert run.trajectory.steps[log.passed_from].agent == "writer"
        assert log.kept_usage.input_tokens > 0
        assert trial.usage.input_tokens < sum(step.usage.input_tokens for step in run.trajectory.steps if step.usage)

    @staticmethod
    def _asked(llm: ScriptedLLM) -> list[Any]:
        names = ("researcher", "writer", "reviewer")
        return [next(name for name in names if request.is_from(name)) for request in llm.requests]


_MORE = "Write it in one short sentence."
_MARKS = ("apple", "berry")


@dataclass
class _Accepted:
    """A version of a team's prompts that is accepted, with another text for the writer."""

    store: PromptStore
    team: str
    own: str
    text: str
    llm: ScriptedLLM
    since: int
    """How many requests its model had been sent before."""

    def told(self, mark: str = "") -> list[str]:
        """List what the writer was told in each of its requests: the version's text, or the team's own."""
        asked = [one.system for one in self.llm.requests[self.since :] if one.is_from("writer") and mark in one.text]
        return [self.text if self.text in system else self.own for system in asked if self.own in system]

    @property
    def live(self) -> PromptTally:
        """Tally since the version was accepted."""
        return self.store.get(self.team, 1).live


class _Draws:
    """Stands for a random generator that says what the test wants."""

    def __init__(self, *values: float) -> None:
        self._values = list(values)

    def random(self) -> float:
        """The next value."""
        return self._values.pop(0)


class PromptsContract(ContractBase):
    """``hook(prompts="accepted")``. These go through :func:`tracer_hooks.hook`, as users do."""

    @every_way
    def test_accepted_prompts_reach_the_model_and_not_the_team(self, way: str) -> None:
        llm = self.llm(Scenario.PIPELINE)
        team = self.build("pipeline", llm)
        with self._accepted(llm, team) as accepted:
            before = self._seen_of(team)
            with self._with_prompts(team, accepted):
                assert self.conduct(way, team, TASK)
                run = self._last_of(team)
            assert accepted.told() == [accepted.text]
            assert run.prompts is not None
            assert (run.prompts.version, run.prompts.arm, run.prompts.told) == (1, PromptArm.NEW, 1)
            assert run.trajectory.instructions_of("writer") == accepted.text
            (writer,) = [step for step in run.trajectory.steps if step.agent == "writer"]
            assert _MORE in str(writer.inputs) or _MORE in str(run.tape.model_dump())
            assert (accepted.live.new_runs, accepted.live.new_passes) == (1, 1)
            assert self._seen_of(team) == before
            self.conduct(way, team, TASK)  # unhooked, the team is as it was
            assert accepted.told() == [accepted.text, accepted.own]

    def test_without_being_asked_for_they_are_not_used(self) -> None:
        llm = self.llm(Scenario.PIPELINE)
        team = self.build("pipeline", llm)
        with self._accepted(llm, team) as accepted, self._with_prompts(team, accepted, prompts="own"):
            self.run(team)
            run = self._last_of(team)
            assert accepted.told() == [accepted.own]
            assert run.prompts is None
            assert accepted.live == PromptTally()

    def test_a_team_that_changed_since_keeps_its_own(self, caplog: Any) -> None:
        llm = self.llm(Scenario.PIPELINE)
        team = self.build("pipeline", llm)
        with self._accepted(llm, team, own="Something else.") as accepted, self._with_prompts(team, accepted):
            for _ in range(2):
                self.run(team)
                assert self._last_of(team).prompts is None
            assert not [request for request in llm.requests[accepted.since :] if _MORE in request.text]
            assert accepted.live == PromptTally()
        said = [record.getMessage() for record in caplog.records if "does not use version 1" in record.getMessage()]
        assert len(said) == 1
        assert "'writer'" in said[0]
        assert "tracer-hooks improve" in said[0]

    def test_what_is_rolled_back_is_not_used_any_more(self) -> None:
        self.monkeypatch.setattr("tracer_hooks.runtime._prompt_watch._FRESH_S", 0.0)
        llm = self.llm(Scenario.PIPELINE)
        team = self.build("pipeline", llm)
        with self._accepted(llm, team) as accepted, self._with_prompts(team, accepted):
            self.run(team)
            accepted.store.roll_back(accepted.team, 1, reason="it got worse")
            self.run(team)
            assert accepted.told() == [accepted.text, accepted.own]
            assert self._last_of(team).prompts is None

    def test_calls_on_the_new_and_on_the_old_prompts_overlap(self) -> None:
        self.monkeypatch.setattr("tracer_hooks.runtime._prompts._RANDOM", _Draws(0.9, 0.1))
        both = threading.Barrier(2)

        def found(request: Any) -> str:
            if any(mark in request.text for mark in _MARKS):
                both.wait(_WAIT_S)  # none goes on before the other one is as far
            return "The table says 42."

        rules = [When(agent=name).then(found if name == "researcher" else "It is 42.") for name in _AGENTS]
        llm = self.llm(rules)
        first = self.build("pipeline", llm)
        teams = [first, first if self.teams.runs_at_once else self.build("pipeline", llm)]
        with self._accepted(llm, first) as accepted:
            arms: dict[str, Any] = {}

            def note(attempt: Any) -> None:
                arms[attempt.trajectory.task] = attempt.prompts.arm

            hooked = [
                tracer_hooks.hook(team, **_options(accepted, prompt_control=0.5, on_attempt=note)) for team in teams
            ]
            try:
                self._both_at_once(hooked)
                for team in hooked:
                    self._last_of(team)
            finally:
                for team in hooked:
                    tracer_hooks.unhook(team)
            told = {mark: accepted.told(mark) for mark in _MARKS}
            assert sorted(arms.values()) == [PromptArm.NEW, PromptArm.OLD]
            for task, arm in arms.items():
                (mark,) = [mark for mark in _MARKS if mark in task]
                assert told[mark] == [accepted.text if arm is PromptArm.NEW else accepted.own]

    # --- helpers ---------------------------------------------------------------------------------------------------
    def _both_at_once(self, teams: Sequence[Any]) -> None:
        calls = [(team, f"Buy {mark}.") for team, mark in zip(teams, _MARKS, strict=True)]
        if type(self.teams).arun is ContractTeams.arun:
            with ThreadPoolExecutor(len(calls)) as pool:
                list(pool.map(lambda call: self.teams.run(*call), calls))
            return

        async def together() -> None:
            await asyncio.gather(*(self.teams.arun(*call) for call in calls))

        self.run_async(together())

    @contextmanager
    def _accepted(self, llm: ScriptedLLM, team: Any, own: str | None = None) -> Iterator[_Accepted]:
        """An accepted version for ``team``, whose own instructions are read from a run, as ``improve`` does it."""
        # A call that cannot read them in time goes on without: on a busy machine that would be a matter of chance.
        self.monkeypatch.setattr("tracer_hooks.runtime._prompt_watch.PATIENCE_S", _WAIT_S)
        with self.observe(team) as observer:
            self.run(team)
        seen = observer.trajectory
        present = seen.instructions_of("writer")
        assert present is not None
        with tempfile.TemporaryDirectory() as folder, PromptStore(Path(folder) / "runs.sqlite") as store:
            name = fingerprint(seen.framework, seen.team)
            text = f"{present.rstrip()} {_MORE}"
            version = store.propose(name, {"writer": text}, {"writer": own or present}, team_name=seen.team)
            store.start_trial(name, version.number)
            store.accept(name, version.number)
            yield _Accepted(store, name, present.strip(), text, llm, len(llm.requests))

    @contextmanager
    def _with_prompts(self, team: Any, accepted: _Accepted, **options: Any) -> Iterator[None]:
        hooked = tracer_hooks.hook(team, **_options(accepted, **options))
        try:
            yield
        finally:
            tracer_hooks.unhook(hooked)

    @staticmethod
    def _last_of(team: Any) -> tracer_hooks.TeamRun:
        run = tracer_hooks.last_run(team)
        assert run is not None
        return run.wait(_WAIT_S)

    def _seen_of(self, team: Any) -> Any:
        """Return what can be seen of the team from outside."""
        texts = [[text for text in vars(part).values() if isinstance(text, str)] for part in self.teams.parts(team)]
        return list(self.adapter.describe(team).agents), texts


_AGENTS = ("researcher", "writer", "reviewer")


def _options(accepted: _Accepted, **options: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"check": lambda result: True, "prompts": "accepted", "diagnose": "inline"}
    return {**given, "store": accepted.store.path, **options}
