"""A team that calculates with what it is shown, and tasks for it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tracer_hooks
from tracer_hooks.replay import ReplayOptions, ToolRules, ToolUse
from tracer_hooks.schema import LabeledTrajectory
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab.datasets import BuildObserver, BuildOptions, DatasetBuilder
from tracer_hooks_lab.faults import FaultStrategy
from tracer_hooks_lab.subjects import OwnTeam

REPLAY = ReplayOptions(tools=ToolRules(default=ToolUse.REBUILT), placebo=False)


@dataclass
class Chain:
    """A team of three; ``before`` may answer, or raise, in the model's place."""

    before: Callable[[str, str], str | None] = lambda name, shown: None
    runs: list[str] = field(default_factory=list)

    def __call__(self, prompts: object = None) -> Callable[[str], str]:
        adder, doubler, writer = (self._member(name) for name in ("adder", "doubler", "writer"))

        def team(task: str) -> str:
            self.runs.append(task)
            return writer(doubler(adder(task)))

        return team

    def _member(self, name: str) -> Callable[[str], str]:
        @tracer_hooks.model(name="rules")
        def ask(messages: list[dict[str, str]]) -> str:
            shown = messages[-1]["content"]
            said = self.before(name, shown)
            found = [int(one) for one in re.findall(r"\d+", shown)]
            if said is not None:
                return said
            if name == "adder":
                return f"The sum of all the numbers is {sum(found)}."
            if name == "doubler":
                return f"The sum of both is {2 * found[-1]}."
            return f"The sum in the end is {found[-1]}."

        @tracer_hooks.agent(name=name, instructions=f"You are {name}.")
        def act(shown: str) -> str:
            return ask([{"role": "system", "content": name}, {"role": "user", "content": shown}])

        return act


def tasks(count: int) -> list[SuiteTask]:
    return [
        SuiteTask(
            id=f"t{n}", text=f"Shelf {n} has {2 * n + 3} red and {5 * n + 1} blue pens.", reference=str(16 * n + 8)
        )
        for n in range(count)
    ]


def options(**changes: object) -> BuildOptions:
    strategies = (FaultStrategy.RESPONSE_CORRUPTION,)
    fields = {"strategies": strategies, "workers": 1, "faults_per_run": 2, "replay": REPLAY, **changes}
    return BuildOptions(**fields)  # type: ignore[arg-type]  # the fields of the class


def builder(
    folder: Path,
    team: Callable[..., object] | None = None,
    count: int = 4,
    on_progress: Callable[[BuildObserver], None] | None = None,
    check: Callable[..., object] | None = None,
    **changes: object,
) -> DatasetBuilder:
    subject = OwnTeam(target=team or Chain(), name="chain", check=check)  # type: ignore[arg-type]
    given = tasks(count)
    return DatasetBuilder(folder, [subject], lambda _: given, options(**changes), on_progress=on_progress)


def comparable(items: Sequence[LabeledTrajectory]) -> list[object]:
    """What has to be equal in two builds of the same plan: all but ids and times."""
    return [
        (
            item.question_id,
            item.decisive,
            item.fault_id,
            [(step.agent, step.content) for step in item.trajectory.steps],
            {key: of for key, of in item.verification.items() if key not in ("seconds", "clean_run_id")},
        )
        for item in items
    ]
