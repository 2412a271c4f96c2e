"""The arms of the experiment: how new instructions are looked for, at the same number of runs of the team."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tracer_hooks.improvement import (
    GepaWriter,
    JudgedRun,
    LLMRewriter,
    PromptCase,
    PromptWriter,
    SearchOptions,
    SearchResult,
    Trials,
    search_prompts,
)
from tracer_hooks.repairs import Chat
from tracer_hooks.schema import Attribution, Candidate
from tracer_hooks.suites import SuiteTask

METRIC_CALLS: Final = 200
NO_CHANGE: Final = "no change"
AGAIN: Final = "no change, again"
"""A second run of everything with the team's own prompts: what passed in the first one is formerly passed."""
_GEPA_MINIBATCH: Final = 3
"""The default of ``gepa.optimize``."""


class ShuffledDiagnoses:
    """Trials whose diagnoses name an agent drawn at random, at a step of its own, without evidence.

    Args:
        trials: Runs the team.
        seed: Of the draws.
    """

    def __init__(self, trials: Trials, seed: int) -> None:
        self._trials, self._random = trials, random.Random(seed)

    def run(self, tasks: Sequence[SuiteTask], prompts: Mapping[str, str]) -> list[JudgedRun]:
        """The runs, with other diagnoses."""
        return [self._shuffled(run) for run in self._trials.run(tasks, prompts)]

    def _shuffled(self, run: JudgedRun) -> JudgedRun:
        found = run.attribution
        if found is None or found.abstained:
            return run
        step = self._random.choice([one for one in run.trajectory.steps if one.agent])
        drawn = Attribution(
            run_id=found.run_id,
            agent=step.agent,
            step=step.index,
            confidence=found.confidence,
            candidates=(Candidate(agent=step.agent, step=step.index, score=1.0),),
        )
        return run.model_copy(update={"attribution": drawn})


@dataclass(frozen=True)
class Arm:
    """One way of looking for instructions.

    Attributes:
        name: Its name in the tables.
        writer: Makes who writes.
        options: How is searched.
        knows_first: Whether every reading task is run once before the search, so that there are failures to read; those
            runs are a part of its budget.
        is_shuffled: Whether diagnoses are drawn at random.
    """

    name: str
    writer: Callable[[Chat], PromptWriter]
    options: SearchOptions
    knows_first: bool = True
    is_shuffled: bool = False


ARMS: Final = (
    Arm(
        "gepa alone",
        GepaWriter,
        SearchOptions(metric_calls=METRIC_CALLS, minibatch=_GEPA_MINIBATCH, selector="round_robin"),
        knows_first=False,
    ),
    Arm("ours", LLMRewriter, SearchOptions(metric_calls=METRIC_CALLS)),
    Arm("ours, diagnoses drawn at random", LLMRewriter, SearchOptions(metric_calls=METRIC_CALLS), is_shuffled=True),
)


LARGE_MODEL: Final = "edits by a large model"
"""One answer of a large model to each agent's request, without a search: what the writer is worth."""
_ANSWERS: Final = Path(__file__).parent / "data" / "prompt_learning" / "large_model.json"


def edited_by_large_model(name: str, own: Mapping[str, str], runs: Sequence[JudgedRun]) -> dict[str, str] | None:
    """The team's instructions with the edits that are on file, held to the rewriter's rules; None without any.

    Args:
        name: Model, suite and seed.
        own: The team's own instructions.
        runs: The reading tasks with these instructions.
    """
    answers = json.loads(_ANSWERS.read_text(encoding="utf-8")).get(name)
    if answers is None:
        return None
    texts = dict(own)
    for agent, answer in answers.items():
        blamed = tuple(run for run in runs if run.blamed == agent)
        case = PromptCase(agent=agent, instructions=own[agent], own=own[agent], runs=blamed)
        written = LLMRewriter(lambda messages, answer=answer: answer).write(case)
        if written.text is None:
            raise ValueError(f"{name}, {agent}: {written.rejected}")
        texts[agent] = written.text
    return texts


def searched(
    arm: Arm,
    own: Mapping[str, str],
    tasks: tuple[Sequence[SuiteTask], Sequence[SuiteTask]],
    trials: Trials,
    chat: Chat,
    seed: int,
) -> SearchResult:
    """What an arm finds."""
    runs: Trials = ShuffledDiagnoses(trials, seed) if arm.is_shuffled else trials
    known = runs.run(tasks[0], own) if arm.knows_first else []
    return search_prompts(own, tasks, runs, arm.writer(chat), replace(arm.options, seed=seed), known=known)


def file_name(name: str) -> str:
    """The folder of a part's or an arm's journal."""
    return name.replace(" ", "_").replace(",", "")
