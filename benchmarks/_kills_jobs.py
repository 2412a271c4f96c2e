"""Jobs that are killed, and go on when they are started again: data sets, calibrations, better prompts."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from _kills_ground import Found, Life, Say, Work, integrity

import tracer_hooks
import tracer_hooks_lab
from tracer_hooks.tasks import SuiteTask


def sum_tasks(count: int) -> list[SuiteTask]:
    """Sums, each with its answer."""
    return [
        SuiteTask(id=f"t{n}", text=f"What is {n} plus {n + 3}?", reference=str(2 * n + 3)) for n in range(4, count + 4)
    ]


def sum_team(slips: int = 0) -> Callable[..., Any]:
    """A planner, a solver and a checker; the solver slips when it is first asked each ``slips``-th task."""
    asked: set[str] = set()

    def build_team(prompts: Any = None) -> Any:
        @tracer_hooks.model(name="counting")
        def ask(messages: list[dict[str, str]]) -> str:
            role, text = messages[0]["content"], messages[-1]["content"]
            first = int(re.findall(r"\d+", text)[0])
            said = re.findall(r"It makes (\d+)", text)
            value = int(said[-1]) if said else 2 * first + 3
            if "solver" in role and slips and first % slips == 0 and text not in asked:
                asked.add(text)
                value += 7
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


def is_sum(result: tracer_hooks.RunResult, task: str) -> bool:
    """The check of the sums."""
    return result.text == f"ANSWER: {2 * int(re.findall(r'[0-9]+', task)[0]) + 3}"


class _Job(Work):
    """A job in a folder for each round; a round ends when a process has come to the end of the job."""

    def folder_of(self, folder: Path, round_: int) -> Path:
        return folder / f"round-{round_}"

    def told(self, say: Say) -> Callable[[Any], None]:
        """Notes what the display is told: so many units of a phase are done, and in the journal."""
        return lambda progress: say(phase=str(progress.phase), done=progress.done, resumed=progress.resumed)

    def look(self, folder: Path, life: Life) -> list[str]:
        """Damaged lines of the journal, units that it holds twice."""
        journal = self.folder_of(folder, life.round) / "journal.jsonl"
        if not journal.exists():
            return []
        lines = journal.read_bytes().split(b"\n")[:-1]
        try:
            units = Counter(json.loads(line)["unit"] for line in lines)
        except ValueError as error:
            return [f"round {life.round}: the journal is damaged: {error}"]
        return [f"round {life.round}: {unit} is there {count} times" for unit, count in units.items() if count > 1]

    def counted(self, lives: Sequence[Life]) -> Found:
        """Units that were said to be done, and those of them that a later life did not find done."""
        found = Found(acknowledged=0, rounds=sum(not life.killed and not life.error for life in lives))
        done: Counter[tuple[int, str]] = Counter()
        for life in lives:
            begun: set[str] = set()
            for line in life.said:
                if "phase" not in line:
                    continue
                key = (life.round, line["phase"])
                if line["phase"] not in begun:
                    begun.add(line["phase"])
                    found.lost += max(0, done[key] - line["resumed"])
                found.acknowledged += max(0, line["done"] - done[key])
                done[key] = max(done[key], line["done"])
        return found


class DataSet(_Job):
    """``build_dataset`` with two workers, resumed."""

    name = "data set"
    lines = 20

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        import sklearn.feature_extraction.text  # noqa: F401 - of the audit; once, not in every child

    def build(self, folder: Path, say: Say) -> Any:
        return tracer_hooks_lab.build_dataset(
            folder,
            sum_team(),
            sum_tasks(8),
            check=is_sum,
            name="sums",
            faults=2,
            strategies=("response_corruption",),
            workers=2,
            on_progress=self.told(say),
        )

    def work(self, folder: Path, life: int, round_: int, say: Say) -> None:
        data = self.build(self.folder_of(folder, round_), say)
        say(whole=_comparable(data))

    def found(self, folder: Path, lives: list[Life]) -> Found:
        found = self.counted(lives)
        wholes = [line["whole"] for life in lives for line in life.said if "whole" in line]
        alone = _apart(lambda say: say(whole=_comparable(self.build(folder / "undisturbed", say))), folder)
        found.damaged += [f"round {n}: another data set" for n, whole in enumerate(wholes) if whole != alone]
        for life in lives:
            if not life.killed:
                continue
            for path in self.folder_of(folder, life.round).glob("*.json*"):
                try:
                    text = path.read_text()
                    [json.loads(line) for line in ([text] if path.suffix == ".json" else text.splitlines())]
                except ValueError as error:
                    found.damaged.append(f"{path.name} of round {life.round}: {error}")
        return found


class Calibrate(_Job):
    """``calibrate``, resumed: it builds a data set, fits, and stores the fitted attributor."""

    name = "calibrate"
    lines = 60
    span_s = 2.0

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        import scipy.optimize  # noqa: F401 - once, not in every child

    def work(self, folder: Path, life: int, round_: int, say: Say) -> None:
        from tracer_hooks_lab import CalibrateOptions, Calibrator

        options = CalibrateOptions(injected=14, faults_per_run=3, workers=2, trials=4, folds=2)
        home = self.folder_of(folder, round_)
        job = Calibrator(
            sum_team(slips=5), sum_tasks(20), check=is_sum, folder=home, options=options, on_progress=self.told(say)
        )
        done = job.fit(job.build(), out=home / "attributors")
        say(fitted=None if done.folder is None else str(done.folder))

    def look(self, folder: Path, life: Life) -> list[str]:
        said = [line["fitted"] for line in life.said if "fitted" in line]
        home = self.folder_of(folder, life.round) / "attributors"
        return super().look(folder, life) + _half(home, expected=bool(said and said[-1]))

    def found(self, folder: Path, lives: list[Life]) -> Found:
        found = self.counted(lives)
        found.acknowledged += sum("fitted" in line for life in lives for line in life.said)
        return found


class Calibrated(Work):
    """One fitted attributor is stored over another one, again and again; from the first time on one must be there."""

    name = "fitted attributor stored anew"
    lines = 4
    span_s = 0.02

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        from tracer_hooks.diagnosis import get_attributor

        get_attributor("structural")

    def work(self, folder: Path, life: int, round_: int, say: Say) -> None:
        from tracer_hooks.runtime import TeamCard, save_calibrated

        for turn in range(1_000_000):
            labels = life * 1000 + turn
            card = TeamCard(framework="python", team="sums", agents=("planner", "solver"), labels=labels)
            save_calibrated(folder / "attributors", _Numbered(labels), card)
            say(labels=labels)

    def look(self, folder: Path, life: Life) -> list[str]:
        self._stored = getattr(self, "_stored", False) or bool(life.said)
        return _half(folder / "attributors", expected=self._stored)

    def found(self, folder: Path, lives: list[Life]) -> Found:
        return Found(acknowledged=sum(len(life.said) for life in lives))


class _Numbered:
    """The attributor as shipped, with a second file that tells which saving it is of."""

    def __init__(self, number: int) -> None:
        self._number = number

    def save(self, directory: Path) -> None:
        from tracer_hooks.diagnosis import get_attributor

        shipped: Any = get_attributor("structural")
        shipped.save(directory)
        (directory / "number").write_text(str(self._number))


class Improve(_Job):
    """``improve``, resumed: the search, the trial and the accepted version of the prompts."""

    name = "improve"
    lines = 150
    _own: Mapping[str, str] = {"planner": "You are the planner.", "solver": "You are the solver. Add the numbers."}

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        import gepa  # noqa: F401 - once, not in every child
        import sqlalchemy  # noqa: F401

    def work(self, folder: Path, life: int, round_: int, say: Say) -> None:
        say(**self.improved(self.folder_of(folder, round_), say))

    def improved(self, folder: Path, say: Say) -> dict[str, Any]:
        from tracer_hooks.improvement import AcceptanceRule, ImproveOptions, Improver

        chance = random.Random(3)
        tasks = [
            SuiteTask(id=f"t{n}", text=f"What is {chance.randint(11, 99)} plus {chance.randint(11, 99)}?")
            for n in range(40)
        ]
        options = ImproveOptions(metric_calls=50, minibatch=3, workers=1, rule=AcceptanceRule(most_pairs=60))
        done = Improver(
            self.team,
            tasks,
            folder=folder,
            check=self.is_right,
            store=folder.with_suffix(".sqlite"),
            options=options,
            chat=lambda messages: "MISTAKE: the carry is lost\nADD: Do not forget the carry.",
            on_progress=lambda progress: say(seen=str(progress.phase)),
        ).run()
        return {"outcome": done.outcome, "pairs": len(done.pairs), "texts": dict(done.texts)}

    def team(self, prompts: Mapping[str, str] | None = None) -> Any:
        """The solver forgets to carry unless it is told about it."""
        told = {**self._own, **(prompts or {})}

        @tracer_hooks.agent(name="planner", instructions=told["planner"])
        def planner(task: str) -> str:
            return "Add {} and {}".format(*re.findall(r"\d+", task)[:2])

        @tracer_hooks.agent(name="solver", instructions=told["solver"])
        def solver(plan: str) -> str:
            a, b = map(int, re.findall(r"\d+", plan)[:2])
            right = "carry" in told["solver"] or a % 10 + b % 10 < 10
            return f"{a} + {b} = {a + b - (0 if right else 10)}"

        return lambda task: solver(planner(task))

    def is_right(self, result: tracer_hooks.RunResult, task: str) -> tracer_hooks.Verdict:
        a, b = map(int, re.findall(r"\d+", task)[:2])
        got = result.text.rpartition("= ")[2]
        return tracer_hooks.Verdict(passed=got == str(a + b), reason=f"got {got}")

    def found(self, folder: Path, lives: list[Life]) -> Found:
        from tracer_hooks.store import PromptState, PromptStore

        found = self.counted(lives)
        alone = _apart(lambda say: say(**self.improved(folder / "undisturbed", say)), folder)
        for round_ in range(found.rounds):
            ends = [line for life in lives if life.round == round_ for line in life.said if "outcome" in line]
            if not ends or ends[-1] != alone:
                found.damaged.append(f"round {round_} ended as {ends[-1:]}, undisturbed it ends as {alone}")
        for store in folder.glob("round-*.sqlite"):
            found.damaged += integrity(store)
            with PromptStore(store, read_only=True) as prompts:
                versions = prompts.versions()
            found.doubled += max(0, len(versions) - 1)
            ended = int(store.stem.rpartition("-")[2]) < found.rounds
            found.lost += ended and [one.state for one in versions] != [PromptState.ACCEPTED]
        found.acknowledged = sum(len(life.said) for life in lives)
        return found


def _comparable(data: Any) -> list[Any]:
    """What has to be equal in two builds of one plan: all but ids and times."""
    return json.loads(  # type: ignore[no-any-return]
        json.dumps(
            [
                [
                    item.question_id,
                    None if item.decisive is None else [item.decisive.agent, item.decisive.step],
                    item.fault_id,
                    [[step.agent, step.content] for step in item.trajectory.steps],
                ]
                for item in [*data.labeled, *data.clean]
            ]
        )
    )


def _half(home: Path, *, expected: bool) -> list[str]:
    """What is wrong with the fitted attributors in a folder: one is whole or absent."""
    from tracer_hooks.runtime._calibrated import CARD, CalibratedAttributors
    from tracer_hooks.schema import Trajectory

    there = [path.parent for path in home.glob(f"*/{CARD}")]
    trajectory = Trajectory(run_id="r", framework="python", team="sums")
    loaded = CalibratedAttributors(home).attributor_for(trajectory)
    if loaded is None:
        return ["a fitted attributor is there by half"] if there else ["it is gone"] if expected else []
    wrong = []
    for folder in there:
        card = json.loads((folder / CARD).read_text())
        number = folder / "number"
        if number.exists() and number.read_text() != str(card["labels"]):
            wrong.append(f"the card is of saving {card['labels']}, the attributor of {number.read_text()}")
    return wrong


def _apart(job: Callable[[Say], None], folder: Path) -> Any:
    """The last line that ``job`` notes in a process of its own: this one starts no thread, since it forks."""
    import os

    path = folder / "apart.jsonl"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            lines: list[Any] = []
            job(lambda **line: lines.append(line))
            path.write_text(json.dumps(lines[-1]))
            code = 0
        finally:
            os._exit(code)
    os.waitpid(child, 0)
    last = json.loads(path.read_text())
    return last.get("whole", last)
