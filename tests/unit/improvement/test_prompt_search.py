"""The search by GEPA: whose failures are read, who is rewritten, what is refused, and when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracer_hooks.improvement import (
    ImproveOptions,
    PromptCase,
    SearchResult,
    WrittenPrompt,
    search_prompts,
)
from tracer_hooks.tasks import SuiteTask

from ._runs import OWN, MadeUpTrials, judged, task

READ = [task(number) for number in range(8)]
COMPARE = [task(number) for number in range(20, 26)]


class Writer:
    """Writes the same sentence for every agent."""

    name = "made up"
    reads_only_blamed = True

    def __init__(self, sentence: str = "Mind the carry.", error: Exception | None = None) -> None:
        self.cases: list[PromptCase] = []
        self._sentence, self._error = sentence, error

    def write(self, case: PromptCase) -> WrittenPrompt:
        self.cases.append(case)
        if self._error is not None:
            raise self._error
        return WrittenPrompt(text=f"{case.instructions} {self._sentence} {len(self.cases)}.")


def with_carry(given: SuiteTask, prompts: Mapping[str, str]) -> bool:
    return "carry" in prompts["solver"] or int(given.id[1:]) % 3 == 0


def search(writer: Any, trials: MadeUpTrials, **more: Any) -> SearchResult:
    known = more.pop("known", ())
    shown = more.pop("shown", ())
    options = ImproveOptions(**{"metric_calls": 80, "minibatch": 4, **more})
    return search_prompts(OWN, (READ, COMPARE), trials, writer, options, known=known, shown=shown)


def test_what_helps_is_found() -> None:
    found = search(Writer(), MadeUpTrials(with_carry))
    assert "carry" in found.best.texts["solver"]
    assert found.best.score == 1.0
    assert found.candidates[0].texts == OWN
    assert found.stopped.startswith("every comparing task passes, after ")


def test_what_does_no_good_leaves_the_teams_own_as_the_best() -> None:
    found = search(Writer("Hurry up."), MadeUpTrials(with_carry))
    assert found.best.texts == OWN
    assert found.refused
    assert all("on its first tasks in all" in one.why for one in found.refused)


def test_no_more_runs_are_made_than_allowed() -> None:
    trials = MadeUpTrials(with_carry)
    known = trials.run(READ, OWN)
    found = search(Writer("Hurry up."), trials, known=known, metric_calls=60)
    assert len(trials.asked) <= 60
    assert "of at most 60 runs are used" in found.stopped


def test_only_failures_laid_on_the_agent_are_read_and_none_of_comparing_tasks() -> None:
    writer = Writer("Hurry up.")
    search(writer, MadeUpTrials(with_carry, blamed="solver"))
    assert {case.agent for case in writer.cases} == {"solver"}
    for case in writer.cases:
        assert all(run.blamed == "solver" and run.task in {one.id for one in READ} for run in case.runs)


def test_failures_of_other_runs_are_read_too() -> None:
    writer = Writer("Hurry up.")
    stored = [judged(SuiteTask(id="run-1", text="An old task"), said="1")]
    search(writer, MadeUpTrials(with_carry), shown=stored)
    assert any(run.task == "run-1" for run in writer.cases[0].runs)


def test_the_same_seed_gives_the_same_search() -> None:
    def asked(seed: int) -> list[tuple[str, dict[str, str]]]:
        trials = MadeUpTrials(with_carry)
        search(Writer("Hurry up."), trials, seed=seed)
        return trials.asked

    assert asked(3) == asked(3)
    assert asked(3) != asked(4)


def test_what_was_dropped_is_shown_to_the_writer_the_next_time() -> None:
    writer = Writer("Hurry up.")
    search(writer, MadeUpTrials(with_carry))
    assert [len(case.tried) for case in writer.cases[:3]] == [0, 1, 2]


def test_a_text_that_tells_an_answer_is_refused_and_never_run() -> None:
    trials = MadeUpTrials(with_carry)
    stored = [judged(one, reference="seven hundred and seven") for one in READ]
    found = search(Writer("Answer seven hundred and seven."), trials, shown=stored)
    assert any(one.why == "it tells the expected answer of a task" for one in found.refused)
    assert not any("seven hundred" in text for _, prompts in trials.asked for text in prompts.values())


def test_a_writer_that_fails_again_and_again_ends_the_search() -> None:
    trials = MadeUpTrials(with_carry)
    found = search(Writer(error=RuntimeError("no route to the model")), trials, metric_calls=1_000)
    assert found.stopped == "the model that writes instructions failed 3 times: RuntimeError: no route to the model"
    assert len(trials.asked) < 40
    assert found.best.texts == OWN


class Speechless(Writer):
    """Never has anything new to say."""

    def write(self, case: PromptCase) -> WrittenPrompt:
        self.cases.append(case)
        return WrittenPrompt(rejected="it was tried before")


def test_a_writer_with_nothing_new_to_say_does_not_use_up_the_runs() -> None:
    trials, writer = MadeUpTrials(with_carry), Speechless()
    found = search(writer, trials, metric_calls=1_000)
    assert found.stopped == f"8 times in a row nothing was written that could be used, after {len(trials.asked)} runs"
    assert len(writer.cases) == 8
    assert found.tried == 0
