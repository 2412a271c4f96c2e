"""The teams of the real data set: short instructions that a model of 1.5 billion parameters can follow."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tracer_hooks import rerunner
from tracer_hooks.endpoint import Endpoint
from tracer_hooks.frameworks import Intervention
from tracer_hooks.replay import TeamRunner, Trial
from tracer_hooks.schema import Json, RunKind
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab.suites import check_of, get_suite

PLAN = "Write nothing else. Example: 3 * 5 + 2"
WORK = "Write nothing else. Example: 3 * 5 = 15, 15 + 2 = 17"
GIVE = "Write nothing else. Example: ANSWER: 17"

INSTRUCTIONS: Mapping[str, Mapping[str, str]] = {
    "planner_solver_checker": {
        "planner": f"You are the planner. Turn the task into one line of arithmetic. {PLAN}",
        "solver": (
            f"You are the solver. Work the planner's line out, one operation after the other, in one line. {WORK}"
        ),
        "checker": (
            "You are the checker. Check the solver's line against the task, and give the final number in one line. "
            f"{GIVE}"
        ),
    },
    "sop_pipeline": {
        "analyst": (
            "You are the analyst. List the numbers of the task with what they stand for, in one line. Write nothing "
            "else. Example: 3 boxes, 5 pens a box, 2 pens more"
        ),
        "designer": f"You are the designer. Turn the task and the analyst's list into one line of arithmetic. {PLAN}",
        "engineer": (
            f"You are the engineer. Work the designer's line out, one operation after the other, in one line. {WORK}"
        ),
        "reviewer": (
            "You are the reviewer. Check the engineer's line against the task, and give the final number in one line. "
            f"{GIVE}"
        ),
    },
    "debate": {
        **{
            f"debater_{number}": (
                f"You are the debater_{number}. Solve the task in one line of arithmetic, and give the number at its "
                "end. Write nothing else. Example: 3 * 5 = 15, 15 + 2 = 17, ANSWER: 17"
            )
            for number in (1, 2, 3)
        },
        "aggregator": (
            f"You are the aggregator. Choose the best of the debaters' answers, and give it in one line. {GIVE}"
        ),
    },
}
"""By architecture and agent."""

TEAMS = (
    ("langgraph", "planner_solver_checker"),
    ("autogen", "planner_solver_checker"),
    ("autogen", "sop_pipeline"),
    ("langgraph", "debate"),
)
"""Framework and architecture: three architectures in two frameworks."""
ROUNDS = {"planner_solver_checker": 0, "debate": 0}
"""Nobody is sent back, and the debaters speak once: every run has three or four steps."""


@dataclass(frozen=True)
class ShortSpokenTeam:
    """One of :data:`TEAMS`; a :class:`tracer_hooks.datasets.Subject`."""

    framework: str
    architecture: str
    endpoint: Endpoint

    @property
    def name(self) -> str:
        return f"{self.framework}/{self.architecture}"

    def described(self) -> dict[str, Json]:
        place = self.endpoint
        return {"model": place.model, "temperature": place.temperature, "max_tokens": place.max_tokens}

    def runner(self, task: SuiteTask) -> TeamRunner:
        return _Runner(self, task)

    def build(self) -> Any:
        build_team: Callable[..., Any] = importlib.import_module(f"tracer_hooks_{self.framework}.teams").build_team
        prompts = INSTRUCTIONS[self.architecture]
        return build_team(self.architecture, self.endpoint, prompts=prompts, rounds=ROUNDS.get(self.architecture))


@dataclass(frozen=True)
class _Runner:
    team: ShortSpokenTeam
    suite_task: SuiteTask

    @property
    def task(self) -> str:
        return self.suite_task.text

    def run(self, intervention: Intervention | None = None, *, kind: RunKind = RunKind.REPLAY) -> Trial:
        return rerunner(self.team.build, self.task, check=check_of(self.suite_task)).run(intervention, kind=kind)


def short_tasks(count: int, seed: int) -> list[SuiteTask]:
    """Word sums of two operations, without the line on the answer's form: a small model takes it for its own turn."""
    made = get_suite("word_sums").tasks(count, seed=seed, difficulty="easy")
    return [SuiteTask(id=one.id, text=one.text.partition("\n")[0], reference=one.reference) for one in made]
