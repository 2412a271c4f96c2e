"""Calibration of the user's own team: one call builds, fits, measures, and hook uses what came of it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.errors import ConfigError
from tracer_hooks.runtime._calibrated import CARD, CalibratedAttributors, TeamCard
from tracer_hooks.schema import LabelSource, Step, Trajectory
from tracer_hooks.store import fingerprint
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab import CalibrateOptions, Calibration, Calibrator, calibrate
from tracer_hooks_lab._adaptation import SHIPPED, AdaptationReport

pytest.importorskip("sklearn")

TASKS = [SuiteTask(id=f"t{i}", text=f"What is {i} plus {i + 3}?", reference=str(2 * i + 3)) for i in range(4, 24)]
BY_TEXT = {task.text: task for task in TASKS}
OPTIONS = CalibrateOptions(injected=14, faults_per_run=3, workers=1, trials=4, folds=2)


def team_builder(slips: int = 5) -> Callable[..., Any]:
    """A planner, a solver and a checker; the solver slips in the first run of every ``slips``-th task."""
    asked: Counter[str] = Counter()
    lock = threading.Lock()

    def build_team(prompts: Any = None) -> Any:
        @tracer_hooks.model(name="counting")
        def ask(messages: list[dict[str, str]]) -> str:
            role, text = messages[0]["content"], messages[-1]["content"]
            task = next(task for task in TASKS if task.text in text)
            said = [line.removeprefix("It makes ") for line in text.splitlines() if line.startswith("It makes ")]
            value = said[-1] if said else str(task.reference)
            with lock:
                asked[role + text] += 1
                is_first = asked[role + text] == 1
            if "solver" in role and is_first and int(task.id[1:]) % slips == 0:
                value = str(int(value.rstrip(".")) + 7)
            return f"ANSWER: {value}" if "checker" in role else f"It makes {value}"

        def member(name: str) -> Callable[[str, str], str]:
            @tracer_hooks.agent(name=name)
            def act(task: str, said: str) -> str:
                told = {"role": "system", "content": f"You are the {name}."}
                return ask([told, {"role": "user", "content": f"{task}\n{said}"}])

            return act

        planner, solver, checker = member("planner"), member("solver"), member("checker")

        def sums(task: str) -> str:
            plan = planner(task, "")
            return checker(task, f"{plan}\n{solver(task, plan)}")

        return sums

    return build_team


def is_right(result: tracer_hooks.RunResult, task: str) -> bool:
    return result.text.rpartition("ANSWER: ")[2] == BY_TEXT[task].reference


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRACER_HOOKS_STORE", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    """One calibration for all tests that look at what came of it; the store is in its folder, too."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("calibrated")
        patch.chdir(home)
        patch.delenv("TRACER_HOOKS_STORE", raising=False)
        return calibrate(team_builder(), TASKS, check=is_right, folder=home / "data", options=OPTIONS)


def test_one_call_builds_fits_measures_and_stores(calibrated: Calibration, monkeypatch: pytest.MonkeyPatch) -> None:
    result, home = calibrated, calibrated.folder.parents[2]
    monkeypatch.chdir(home)
    monkeypatch.delenv("TRACER_HOOKS_STORE", raising=False)
    sources = Counter(one.label_source for one in result.data.labeled)
    assert sources[LabelSource.INJECTED] >= 10
    assert sources[LabelSource.COUNTERFACTUAL] >= 2
    natural = [one.decisive for one in result.data.labeled if one.label_source is LabelSource.COUNTERFACTUAL]
    assert {(one.agent, one.step) for one in natural if one is not None} == {("solver", 1)}
    assert result.kept.startswith("fitted to")
    assert result.folder == home / ".tracer_hooks" / "attributors" / fingerprint("python", "sums")
    assert {"structural.json", CARD, "calibration.json"} <= {path.name for path in result.folder.iterdir()}
    assert result.card.agents == ("planner", "solver", "checker")
    assert {row.group for row in result.report.rows} == {"natural failures", "injected faults"}
    run = tracer_hooks.run(team_builder(slips=1), TASKS[0].text, check=is_right, store="off")
    assert run.attribution is not None
    assert run.attribution.attributor.startswith("structural/3+fit"), "hook finds the fitted attributor by itself"
    other = tracer_hooks.run(team_builder(slips=1), TASKS[1].text, check=is_right, store="off", attributor="structural")
    assert other.attribution is not None
    assert other.attribution.attributor == "structural/1", "a name that was asked for is not overruled"


def test_too_few_tasks_are_refused(here: Path) -> None:
    with pytest.raises(ConfigError, match="3 tasks are too few"):
        calibrate(team_builder(), TASKS[:3], check=is_right, folder=here / "data")


def test_an_attributor_that_cannot_be_fitted_is_refused(here: Path) -> None:
    with pytest.raises(ConfigError, match="'contrast' cannot be fitted"):
        Calibrator(team_builder(), TASKS, folder=here, options=CalibrateOptions(attributor="contrast"))


def run_of(*agents: str) -> Trajectory:
    steps = tuple(Step(index=i, agent=agent, content="said") for i, agent in enumerate(agents))
    return Trajectory(run_id="r", framework="python", team="sums", steps=steps)


def test_where_no_fit_is_better_nothing_is_stored_and_what_was_is_removed(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = here / ".tracer_hooks" / "attributors" / fingerprint("python", "sums")
    old.mkdir(parents=True)
    (old / CARD).write_text(TeamCard(framework="python", team="sums", agents=("planner",)).model_dump_json())
    monkeypatch.setattr(AdaptationReport, "best", property(lambda report: SHIPPED))
    result = calibrate(team_builder(), TASKS, check=is_right, folder=here / "data", options=OPTIONS)
    assert result.folder is None
    assert result.kept == "as shipped"
    assert not old.exists()
    assert (here / "data" / "calibration.json").is_file()


def test_only_the_team_itself_is_judged_by_it(calibrated: Calibration, caplog: pytest.LogCaptureFixture) -> None:
    known = CalibratedAttributors(calibrated.folder.parent)
    assert known.attributor_for(run_of("planner", "solver", "checker")) is not None
    assert known.attributor_for(run_of("solver")) is not None, "a run that was broken off early"
    assert known.attributor_for(run_of("buyer", "seller", "judge")) is None
    assert "it was fitted to a team with the agents planner, solver, checker" in caplog.text
    other = run_of("planner").model_copy(update={"team": "another"})
    assert known.attributor_for(other) is None


def test_a_damaged_attributor_is_one_log_line(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = here / "attributors" / fingerprint("python", "sums")
    folder.mkdir(parents=True)
    card = TeamCard(framework="python", team="sums", agents=("planner",))
    (folder / CARD).write_text(card.model_dump_json())
    (folder / "structural.json").write_text("{")
    known = CalibratedAttributors(here / "attributors")
    assert known.attributor_for(run_of("planner")) is None
    assert known.attributor_for(run_of("planner")) is None
    assert caplog.text.count("does not use the fitted attributor") == 1
