"""``tracer_hooks.build_dataset``: from a team and tasks to a folder with its card."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks.endpoint import Endpoint
from tracer_hooks.errors import ConfigError, DatasetError, FaultError
from tracer_hooks.tasks import SuiteTask
from tracer_hooks.testing import ScriptedLLM, When
from tracer_hooks_lab.building import build_dataset, dataset_build
from tracer_hooks_lab.datasets import BuildObserver
from tracer_hooks_lab.subjects import OwnTeam, SuiteTeam, probe_endpoint

QUICK = {"strategies": ["response_corruption"], "attributor": None, "workers": 1}


@tracer_hooks.model(name="rules")
def ask(messages: list[dict[str, str]]) -> str:
    found = [int(one) for one in re.findall(r"\d+", messages[-1]["content"])]
    return f"The sum of all the numbers is {sum(found)}."


@tracer_hooks.agent(name="adder", instructions="Add.")
def adder(shown: str) -> str:
    return ask([{"role": "user", "content": shown}])


@tracer_hooks.agent(name="writer", instructions="Write.")
def writer(shown: str) -> str:
    return ask([{"role": "user", "content": shown}])


def build_team(prompts: object = None) -> Callable[[str], str]:
    return lambda task: writer(adder(task))


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.jsonl"
    lines = [json.dumps({"task": f"Add {n + 2} and {3 * n + 1}.", "reference": 4 * n + 3}) for n in range(4)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_folder_has_everything_and_the_same_call_goes_on(tmp_path: Path, tasks: Path) -> None:
    seen: list[BuildObserver] = []
    out = tmp_path / "set"
    data = build_dataset(out, build_team, tasks, title="Sums", on_progress=seen.append, **QUICK)  # type: ignore[arg-type]
    assert len(data.clean) == 4
    assert data.labeled
    assert {one.verification["subject"] for one in data.labeled} == {"build_team"}
    made = {path.name for path in out.iterdir()}
    assert {"labeled.jsonl", "clean.jsonl", "discarded.jsonl", "stats.json", "card.md", "build.json"} <= made
    assert (out / "card.md").read_text().startswith("# Sums")
    assert {one.phase for one in seen} == {"runs", "faults", "failures"}
    again = build_dataset(out, build_team, tasks, title="Sums", **QUICK)  # type: ignore[arg-type]
    assert again.labeled == data.labeled
    with pytest.raises(ConfigError, match="seed was 0 and is 1"):
        build_dataset(out, build_team, tasks, seed=1, **QUICK)  # type: ignore[arg-type]


def test_what_nobody_can_judge_is_refused_before_any_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="task 'task-0' has no reference"):
        build_dataset(tmp_path / "a", build_team, ["Add 2 and 2."])
    with pytest.raises(DatasetError, match=r"missing\.jsonl"):
        build_dataset(tmp_path / "a", build_team, tmp_path / "missing.jsonl")
    assert not (tmp_path / "a").exists()


def test_the_check_of_the_call_or_of_the_hook_counts_more_than_the_reference() -> None:
    task = SuiteTask(id="1", text="Add 2 and 2.", reference="4")
    hooked = tracer_hooks.hook(build_team, check=lambda result: False, store="off")
    assert not OwnTeam(target=hooked, name="t").runner(task).run().passed
    assert not OwnTeam(target=build_team, name="t", check=lambda result: False).runner(task).run().passed
    assert OwnTeam(target=build_team, name="t").runner(task).run().passed


def test_options_are_checked(tmp_path: Path, tasks: Path) -> None:
    for options, error, said in (
        ({"fault": 1}, ConfigError, "unknown option 'fault'"),
        ({"proposer": "magic"}, ConfigError, "unknown proposer 'magic'"),
        ({"modes": ["FM-0.0"]}, FaultError, "unknown error mode"),
        ({"strategies": ["bribery"]}, ConfigError, "unknown strategy 'bribery'"),
        ({"workers": 0}, ConfigError, "workers is 0"),
    ):
        with pytest.raises(error, match=said):
            build_dataset(tmp_path / "set", build_team, tasks, **options)
    subject = OwnTeam(target=build_team, name="mine")
    with pytest.raises(ConfigError, match="expected them in OwnTeam"):
        build_dataset(tmp_path / "set", [subject], tasks, name="other")
    with pytest.raises(ConfigError, match="unknown framework 'perl'"):
        SuiteTeam(framework="perl", architecture="debate", endpoint=Endpoint(base_url="http://x", model="m"))


def test_the_estimate_says_how_much_there_is_to_do(tmp_path: Path, tasks: Path) -> None:
    build = dataset_build(tmp_path, build_team, tasks, repeats=2, faults=3, **QUICK)  # type: ignore[arg-type]
    plan = build.estimate()
    assert (plan.runs, plan.done, plan.faults, plan.replays) == (8, 0, 24, 144)
    build.run()
    assert build.estimate().done == 8


def test_a_model_that_does_not_answer_is_found_before_the_build() -> None:
    with ScriptedLLM(rules=[When().then("yes")]) as llm:
        probe_endpoint(Endpoint(base_url=llm.base_url, model="m"), "Are you there?")
        gone = Endpoint(base_url=llm.base_url, model="m")
    with pytest.raises(ConfigError, match=r"the model 'm' at 'http.*gives no answer.*--base-url"):
        probe_endpoint(gone, "Are you there?")
