"""A stream of real runs whose tasks drift from kind to kind: without lessons, with learnt ones, with shuffled ones.

Every arm runs every task once, in the same order, batch by batch, each with a run store of its own. Between batches the
arm ``learned`` learns from its failures with ``tracer_hooks.learn_lessons``, and ``hook(lessons="learned")`` gives,
counts, keeps and retires what was learnt. ``shuffled`` has as many lessons, for the same agents and kinds of task, with
the texts of lessons for other kinds: it tells what a lesson says from that something is said.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from _self_correction_human_eval import human_eval_tasks
from _self_correction_tasks import code_tasks, judge, word_sums
from _self_correction_teams import CODE, WORD_SUMS, asker, plan_for, recorded_team

import tracer_hooks
from tracer_hooks import Verdict
from tracer_hooks.datasets import Journal
from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import RunResult
from tracer_hooks.improvement import NEAR, nearness
from tracer_hooks.store import Lesson, LessonDraft, LessonStore
from tracer_hooks.suites import Endpoint, SuiteTask, get_suite

PLAIN, LEARNED, SHUFFLED = "no lessons", "learned", "shuffled"
ARMS: Final = (PLAIN, LEARNED, SHUFFLED)
TEAM: Final = "lessons_stream"
_MAX_TOKENS: Final = {WORD_SUMS: 64, CODE: 400}
_WRITING_TOKENS: Final = 120
_MAIN_SHARE: Final = 0.8
"""Of a part of the stream, how many tasks are of its own kind; the others are of the next one."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """One task of the stream."""

    task: SuiteTask
    kind: str
    part: int
    """Which part of the stream it is in, from 0; the main kind changes with the part."""


def kinds_of(suite: str, count: int, seed: int) -> dict[str, list[SuiteTask]]:
    """Tasks of several kinds that one team can work on."""
    if suite == WORD_SUMS:
        others = {name: list(get_suite(name).tasks(count, seed=seed)) for name in ("arithmetic", "logic")}
        return {WORD_SUMS: word_sums(count, seed), **others}
    known = {task.id for task in human_eval_tasks()}
    tasks = code_tasks()
    random.Random(seed).shuffle(tasks)
    own = [task for task in tasks if task.id not in known]
    return {"exercises": own, "HumanEval": [task for task in tasks if task.id in known]}


def stream_of(suite: str, count: int, seed: int) -> list[Place]:
    """So many tasks, no two alike: as many parts as there are kinds, each mostly of one kind and else of the next.

    Raises:
        SystemExit: There are not so many tasks.
    """
    chance = random.Random(f"stream {suite} {seed}")
    left = {kind: list(tasks) for kind, tasks in kinds_of(suite, count, seed).items()}
    names = list(left)
    places: list[Place] = []
    for at in range(count):
        part = at * len(names) // count
        main, following = names[part], names[(part + 1) % len(names)]
        wanted = main if chance.random() < _MAIN_SHARE else following
        kind = wanted if left[wanted] else max(left, key=lambda name: len(left[name]))
        if not left[kind]:
            raise SystemExit(f"{suite} has {at} tasks for a stream, {count} are wanted: give a smaller --tasks")
        places.append(Place(left[kind].pop(0), kind, part))
    return places


class Stream:
    """All arms on one stream.

    Args:
        suite: The suite whose team works.
        seed: Of the tasks and of what is shuffled.
        asked: The command line.
    """

    def __init__(self, suite: str, seed: int, asked: argparse.Namespace) -> None:
        endpoint = Endpoint(
            base_url=asked.base_url, model=asked.model, temperature=asked.temperature, max_tokens=_MAX_TOKENS[suite]
        )
        self.suite, self.seed, self.batch = suite, seed, int(asked.batch)
        self.places = stream_of(suite, asked.tasks, seed)
        self.folder = Path(asked.journal) / f"{asked.model}-{suite}-{seed}"
        self.journals = {arm: Journal(self.folder / arm.replace(" ", "_")) for arm in ARMS}
        self._plan = plan_for(suite, endpoint)
        self._by_text = {place.task.text: place.task for place in self.places}
        self._complete = asker(replace(endpoint, max_tokens=_WRITING_TOKENS))

    def run(self, pool: ThreadPoolExecutor) -> None:
        """Run what no earlier start has run."""
        for first in range(0, len(self.places), self.batch):
            numbers = range(first, min(first + self.batch, len(self.places)))
            jobs = [pool.submit(self._once, arm, number) for arm in ARMS for number in numbers]
            for job in jobs:
                job.result()
            self._learn(first)

    def store(self, arm: str) -> Path:
        """The run store of an arm."""
        return self.journals[arm].path.parent / "runs.sqlite"

    def _once(self, arm: str, number: int) -> None:
        unit, place = f"run/{number:05}", self.places[number]
        journal = self.journals[arm]
        if unit in journal:
            return
        team = recorded_team(self._plan)

        def lessons_stream(task: str) -> str:
            return team(task)

        assert lessons_stream.__name__ == TEAM, "learn_lessons finds the team by this name"
        options: dict[str, Any] = {} if arm == PLAIN else {"lessons": "learned"}
        hooked = tracer_hooks.hook(
            check=self._check, store=self.store(arm), attributor="structural", diagnose="inline", **options
        )(lessons_stream)
        hooked(place.task.text)
        run = tracer_hooks.last_run(hooked)
        assert run is not None, "a hooked call has a run"
        usages = [step.usage for step in run.trajectory.steps if step.usage is not None]
        journal.add(
            unit,
            {
                "task": place.task.id,
                "kind": place.kind,
                "part": place.part,
                "passed": run.outcome is tracer_hooks.RunOutcome.SUCCEEDED,
                "lessons": [one.number for one in run.lessons if one.given],
                "withheld": [one.number for one in run.lessons if not one.given],
                "tokens": sum(usage.total for usage in usages),
            },
        )

    def _check(self, result: RunResult, task: str) -> Verdict:
        judged = judge(self.suite, self._by_text[task], result.text)
        return Verdict(passed=judged.passed, score=judged.score, reason=judged.reason, feedback=judged.feedback or None)

    def _learn(self, first: int) -> None:
        """Learn from the failures so far, and give the arm with shuffled lessons as many."""
        unit, journal = f"learn/{first:05}", self.journals[LEARNED]
        if unit not in journal:
            try:
                found = tracer_hooks.learn_lessons(TEAM, chat=self._chat, store=self.store(LEARNED))
            except ConfigError:  # nothing has failed yet
                journal.add(unit, {"learned": [], "refused": [], "tokens": 0})
            else:
                if found.stopped:
                    raise SystemExit(f"{found.stopped}. The same command goes on")
                learned = [{"number": one.number, "agent": one.agent, "text": one.text} for one in found.learned]
                refused = [one.why for one in found.refused]
                journal.add(unit, {"learned": learned, "refused": refused, "tokens": found.usage.total})
        unit = f"states/{first:05}"
        for arm in (LEARNED, SHUFFLED):
            if arm == SHUFFLED:
                self._shuffle()
            if unit not in self.journals[arm]:
                states = {str(one.number): str(one.state) for one in self.lessons(arm)}
                self.journals[arm].add(unit, {"states": states})

    def lessons(self, arm: str) -> tuple[Lesson, ...]:
        """The lessons of an arm, the oldest first."""
        if not self.store(arm).exists():
            return ()
        with LessonStore(self.store(arm)) as lessons:
            return lessons.lessons()

    def _shuffle(self) -> None:
        """For each lesson that was learnt, one for the same agent and kind that was written for another kind."""
        learned = self.lessons(LEARNED)
        with LessonStore(self.store(SHUFFLED)) as lessons:
            for one, text in shuffled(learned, self.seed).items():
                draft = LessonDraft(
                    agent=learned[one].agent,
                    text=text,
                    kind=learned[one].kind,
                    runs=_runs_of(learned[one]),  # the key by which a second start finds it there
                    team_name=learned[one].team_name,
                    framework=learned[one].framework,
                )
                lessons.propose(learned[one].team, draft)

    def _chat(self, messages: Sequence[Mapping[str, str]]) -> Mapping[str, Any]:
        message = self._complete([dict(one) for one in messages])
        return {"content": message["content"], "usage": message.get("usage")}


def shuffled(learned: Sequence[Lesson], seed: int) -> dict[int, str]:
    """By place in ``learned``, the text of a lesson for another kind of task, of the same agent where there is one.

    A lesson for which there is none yet waits until there is.
    """
    texts: dict[int, str] = {}
    for at, one in enumerate(learned):
        others = [other for other in learned if nearness(one.kind, other.kind) < NEAR]
        others = [other for other in others if other.agent == one.agent] or others
        if others:
            # Drawn by the lesson's own number: what was drawn stays as it is when more are learnt, since it is kept.
            texts[at] = random.Random(f"{seed} {one.number}").choice(others).text
    return texts


def _runs_of(lesson: Lesson) -> tuple[str, ...]:
    """The failed runs that a lesson comes from."""
    runs = lesson.provenance["runs"]
    assert isinstance(runs, list), "the store keeps them as a list"
    return tuple(map(str, runs))
