"""Work on the run store's file, by several processes at once: runs, prompts, and a file of labels."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from _kills_ground import Found, Life, Say, Work, integrity

import tracer_hooks
from tracer_hooks.runtime._store_writer import writer_for
from tracer_hooks.store import PromptArm, PromptOutcome, PromptPhase, PromptStore, RunStore

TEAM = "autogen-maths-1234abcd"


class Runs(Work):
    """Four processes call a hooked team. Every second call fails, and is made again once.

    A call that others kept from writing for half a second returns before its commit, and the next ones do not wait.
    Such calls are told apart, since they promise nothing yet.
    """

    name = "run store"
    processes = 4
    lines = 8

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        import sqlalchemy  # noqa: F401 - once, not in every child

        from tracer_hooks.diagnosis import get_attributor

        get_attributor("auto")

    def work(self, folder: Path, life: int, round_: int, say: Say) -> None:
        letters = random.Random(life)

        @tracer_hooks.agent
        def clerk(task: str) -> str:
            return "17 + 25 = 42 " + "".join(letters.choices("abcdefgh ", k=4000))

        @tracer_hooks.hook(check=lambda result, task: task.endswith("0"), retries=1, store=folder / "runs.sqlite")
        def office(task: str) -> str:
            return clerk(task)

        writer = writer_for(folder / "runs.sqlite")
        for number in range(1_000_000):
            task = f"{life}: add {number} {number % 2}"
            office(task)
            early = writer.is_failing or bool(writer._waiting or writer._going)
            run = tracer_hooks.last_run(office)
            say(task=task, runs=[attempt.trajectory.run_id for attempt in run.attempts], early=early)

    def found(self, folder: Path, lives: list[Life]) -> Found:
        store = folder / "runs.sqlite"
        lines = [line for life in lives for line in life.said]
        said = [run_id for line in lines for run_id in line["runs"]]
        early = {run_id for line in lines if line["early"] for run_id in line["runs"]}
        damaged = integrity(store)
        with RunStore(store, read_only=True) as runs:
            listed = runs.list(limit=1_000_000)
            for one in listed[::10]:
                if not runs.get(one.run_id).trajectory.steps:
                    damaged.append(f"run {one.run_id} has no steps")
        attempts = Counter((one.task, one.attempt) for one in listed)
        stored = {one.run_id for one in listed}
        return Found(
            acknowledged=len(said),
            early=len(early),
            early_lost=len(early - stored),
            lost=len(set(said) - early - stored),
            doubled=sum(count - 1 for count in attempts.values()) + len(said) - len(set(said)),
            damaged=damaged,
        )


class Prompts(Work):
    """Three processes bring versions of prompts on their way, count runs for them, and take them back."""

    name = "prompts"
    processes = 3
    lines = 30

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        import sqlalchemy  # noqa: F401 - once, not in every child

    def work(self, folder: Path, life: int, round_: int, say: Say) -> None:
        prompts = PromptStore(folder / "runs.sqlite", busy_timeout_s=60)
        for turn in range(1_000_000):
            self._prompts(prompts, f"{life}-{turn}", say)

    def _prompts(self, prompts: PromptStore, name: str, say: Say) -> None:
        number = prompts.propose(f"{TEAM}-{name}", {"solver": name}, {"solver": "own"}).number
        say(version=name, state="proposed")
        team = f"{TEAM}-{name}"
        prompts.start_trial(team, number)
        say(version=name, state="on trial")
        for passed in (True, False):
            outcome = PromptOutcome(
                run_id=f"{name}-{passed}",
                arm=PromptArm.NEW,
                phase=PromptPhase.TRIAL,
                passed=passed,
                score=float(passed),
                counted_at=datetime.now(UTC),
            )
            prompts.count(team, number, outcome)
            say(version=name, counted=outcome.run_id)
        prompts.accept(team, number, evidence={"by": name})
        say(version=name, state="accepted")
        prompts.roll_back(team, number, reason=name)
        say(version=name, state="rolled back")

    def found(self, folder: Path, lives: list[Life]) -> Found:
        store = folder / "runs.sqlite"
        lines = [line for life in lives for line in life.said]
        found = Found(acknowledged=len(lines), damaged=integrity(store))
        order = ["proposed", "on trial", "accepted", "rolled back"]
        with PromptStore(store, read_only=True) as prompts:
            versions = {one.texts["solver"]: one for one in prompts.versions()}
            found.doubled += len(prompts.versions()) - len(versions)
            for team in prompts.teams():
                happened = Counter(event.what for event in prompts.events(team))
                found.doubled += sum(count - 1 for count in happened.values())
                runs = Counter(one.run_id for one in prompts.outcomes(team, 1))
                found.doubled += sum(count - 1 for count in runs.values())
                (version,) = prompts.versions(team)
                if version.trial.new_runs != len(runs):
                    found.damaged.append(f"{team}: {version.trial.new_runs} runs are counted, {len(runs)} are there")
            for line in lines:
                there = versions.get(line["version"])
                reached = there is not None and (
                    line["counted"] in {one.run_id for one in prompts.outcomes(there.team, there.number)}
                    if "counted" in line
                    else order.index(there.state.value) >= order.index(line["state"])
                )
                found.lost += not reached
        return found


class Labels(Work):
    """Three sessions add labels to one file, and every fifth takes the one before back."""

    name = "labels"
    processes = 3

    def work(self, folder: Path, life: int, round_: int, say: Say) -> None:
        from tracer_hooks.datasets._label_file import LabelFile, key_of, labelled
        from tracer_hooks.schema import Step, StepKind, Trajectory

        file = LabelFile(folder / "labels.jsonl")
        for turn in range(1_000_000):
            run_id = f"{life}-{turn}"
            steps = (Step(index=0, agent="clerk", kind=StepKind.MESSAGE, content="It is 41."),)
            label = labelled(Trajectory(run_id=run_id, steps=steps), "clerk", 0, None, question_id=None)
            say(begins=run_id)
            file.add(label)
            say(added=run_id)
            if turn % 5 == 4:
                say(removes=run_id)
                file.remove(key_of(label.trajectory))
                say(removed=run_id)

    def found(self, folder: Path, lives: list[Life]) -> Found:
        from tracer_hooks.schema import LabeledTrajectory, load_jsonl

        lines = [line for life in lives for line in life.said]
        ids = {what: [line[what] for line in lines if what in line] for what in ("added", "removes", "removed")}
        there = Counter(one.trajectory.run_id for one in load_jsonl(folder / "labels.jsonl", LabeledTrajectory))
        return Found(
            acknowledged=len(ids["added"]) + len(ids["removed"]),
            lost=len(set(ids["added"]) - set(ids["removes"]) - there.keys()) + len(set(ids["removed"]) & there.keys()),
            doubled=sum(count - 1 for count in there.values()),
        )
