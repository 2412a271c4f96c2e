"""Search for better prompts with GEPA: the team as its adapter, and the agents that are blamed most."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tracer_hooks._guard import logger
from tracer_hooks._lazy import require
from tracer_hooks.errors import BudgetSpentError
from tracer_hooks.improvement._improvement import ImproveOptions
from tracer_hooks.improvement._prompt_writer import (
    JudgedRun,
    PromptCase,
    PromptWriter,
    Trials,
    TriedPrompt,
    WrittenPrompt,
)
from tracer_hooks.schema import Attribution
from tracer_hooks.tasks import SuiteTask

Candidate = Mapping[str, str]
"""Instructions by agent."""


class TeamAdapter:
    """GEPA's adapter of a team (``gepa.core.adapter.GEPAAdapter`` of version 0.1.4).

    ``evaluate`` runs the team with a candidate's instructions. The reflective data of an agent are the failures that
    the diagnosis lays on it, with evidence and masked feedback, or all runs of its batch as the writer wants. Texts are
    written by ``writer``, and refused where they tell the expected answer of a task.

    What was written is ``refused`` where it was not even tried, and ``tried`` where the team was run with it and it was
    not kept. Of the tasks ``read`` a failure was shown to the writer, which raised ``faults`` times in a row, ``fault``
    last, and wrote nothing that could be used ``barren`` times in a row.
    """

    def __init__(self, trials: Trials, writer: PromptWriter, own: Candidate, readable: Set[str]) -> None:
        self.refused: list[TriedPrompt] = []
        self.tried: list[TriedPrompt] = []
        self.faults, self.fault, self.barren = 0, "", 0
        self.read: set[str] = set()
        self._readable = readable
        self._batch = require("gepa.core.adapter", extra="improve", feature="Improving prompts").EvaluationBatch
        self._trials, self._writer, self._own = trials, writer, dict(own)
        self._known: dict[tuple[tuple[str, str], ...], list[JudgedRun]] = {}
        self._parents: dict[tuple[tuple[str, str], ...], Candidate] = {}

    def evaluate(self, batch: list[SuiteTask], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        """Run the team on each task of ``batch`` once."""
        runs = self._trials.run(batch, candidate)
        if capture_traces:
            self.learn(candidate, runs)
        return self._batch(
            outputs=[run.trajectory.run_id for run in runs],
            scores=[run.score for run in runs],
            trajectories=runs if capture_traces else None,
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The runs that each agent's new instructions are written from."""
        return {
            agent: [{"run": run} for run in self._runs_for(agent, candidate, eval_batch.trajectories or ())]
            for agent in components_to_update
        }

    def propose_new_texts(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        """New instructions of these agents; of those alone for whom some were written that may be used."""
        texts: dict[str, str] = {}
        for agent in components_to_update:
            runs = tuple(record["run"] for record in reflective_dataset.get(agent, ()))
            text = self._written(agent, candidate, runs)
            texts |= {agent: text} if text is not None else {}
        self.barren = 0 if texts else self.barren + 1
        if texts:
            self._parents[_key({**candidate, **texts})] = dict(candidate)
        return texts

    def learn(self, candidate: Candidate, runs: Sequence[JudgedRun]) -> None:
        """Take runs into account that were made with a candidate's instructions."""
        self._known.setdefault(_key(candidate), []).extend(run for run in runs if run.task in self._readable)

    def failures_of(self, candidate: Candidate) -> list[JudgedRun]:
        """The failures of a candidate so far."""
        return [run for run in self._known.get(_key(candidate), ()) if not run.passed]

    def _runs_for(self, agent: str, candidate: Candidate, batch: Sequence[JudgedRun]) -> list[JudgedRun]:
        """A batch; or the failures laid on an agent: of the batch, the candidate, and those that it was made from."""
        if not self._writer.reads_only_blamed:
            return list(batch)
        runs, chain = list(reversed(batch)), list[Candidate]()
        ancestor: Candidate | None = candidate
        while ancestor is not None and ancestor not in chain:
            runs += reversed(self.failures_of(ancestor))
            chain.append(ancestor)
            ancestor = self._parents.get(_key(ancestor))
        found: dict[str, JudgedRun] = {}
        for run in runs:
            if run.blamed == agent:
                found.setdefault(run.task, run)
        return list(found.values())

    def _written(self, agent: str, candidate: Candidate, runs: tuple[JudgedRun, ...]) -> str | None:
        tools = next((spec.tools for run in runs for spec in run.trajectory.agents if spec.name == agent), ())
        case = PromptCase(
            agent=agent,
            instructions=candidate[agent],
            own=self._own[agent],
            runs=runs,
            tried=tuple(prompt for prompt in self.tried if prompt.agent == agent),
            tools=tuple(tools),
            others=tuple(other for other in candidate if other != agent),
        )
        self.read |= {run.task for run in runs if not run.passed}
        try:
            written = self._writer.write(case)
        except BudgetSpentError:
            raise
        except Exception as error:  # the user's model, or a third party's writer
            self.faults, self.fault = self.faults + 1, f"{type(error).__name__}: {error}"
            written = WrittenPrompt(rejected=f"writing it failed ({self.fault})")
        else:
            self.faults = 0
        why = written.rejected
        if written.text is not None and any(run.secrets.are_added(written.text, case.instructions) for run in runs):
            why = "it tells the expected answer of a task"
        if why:
            self.refused.append(TriedPrompt(agent=agent, text=written.text or "", why=why))
        return None if why else written.text


def _key(candidate: Candidate) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(candidate.items()))


def blame_mass(runs: Iterable[JudgedRun], agents: Sequence[str]) -> dict[str, float]:
    """Return each agent's share of the blame, by the scores of all suspected steps; sums to at most 1."""
    mass = dict.fromkeys(agents, 0.0)
    count = 0
    for run in runs:
        found = None if run.passed else run.attribution
        if found is None or found.abstained:
            continue
        count, shares = count + 1, _shares(found)
        for agent in shares.keys() & mass.keys():
            mass[agent] += shares[agent]
    return {agent: share / count for agent, share in mass.items()} if count else mass


def _shares(found: Attribution) -> Mapping[str, float]:
    """One failure's blame by agent."""
    scores: dict[str, float] = {}
    for suspect in found.candidates:
        scores[suspect.agent] = scores.get(suspect.agent, 0.0) + max(0.0, suspect.score)
    total = sum(scores.values())
    if total <= 0:
        return {found.agent: 1.0} if found.agent is not None else {}
    return {agent: score / total for agent, score in scores.items()}


class BlameSelector:
    """A component selector of GEPA: draws one agent, each with the probability of its blame.

    It draws, and does not take the greatest, so that an agent that is blamed wrongly does not take all tries.
    """

    def __init__(self, failures: Callable[[Mapping[str, str]], Iterable[JudgedRun]], *, seed: int) -> None:
        self._failures, self._random = failures, random.Random(seed)

    def __call__(
        self,
        state: Any,
        trajectories: Sequence[JudgedRun],
        subsample_scores: Sequence[float],
        candidate_idx: int,
        candidate: Mapping[str, str],
    ) -> list[str]:
        """The agent to rewrite next; see ``gepa``'s ``ReflectionComponentSelector``."""
        agents = list(candidate)
        mass = blame_mass([*self._failures(candidate), *trajectories], agents)
        weights = [mass[agent] for agent in agents]
        if not any(weights):
            return [self._random.choice(agents)]
        return self._random.choices(agents, weights=weights)


_MOST_FAULTS = 3
_MOST_BARREN = 8
"""Rounds without a text that could be used; each takes a minibatch of runs."""


@dataclass(frozen=True, kw_only=True)
class FoundCandidate:
    """Instructions that the search kept, the first of them being the team's own."""

    texts: Mapping[str, str]
    """By agent."""
    score: float
    """Mean score on the comparing tasks; the greatest of many is too kind."""


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """Result of a search."""

    candidates: tuple[FoundCandidate, ...]
    """All that were run on every comparing task, in the order of their discovery."""
    refused: tuple[TriedPrompt, ...]
    """Texts that were not run at all, or were no better on their first few tasks."""
    stopped: str
    """Why it ended, in words."""
    tried: int = 0
    """Candidates that the team was run with, the first one not counted."""
    read: frozenset[str] = frozenset()
    """Tasks of which a failed run was shown to the writer: they are no evidence for what was written."""
    is_cut: bool = False
    """Whether the budget of the job ended it, or a model that gave no answer, so that it can be gone on with."""

    @property
    def best(self) -> FoundCandidate:
        """The one with the greatest score; the team's own where none is above it."""
        return max(self.candidates, key=lambda candidate: candidate.score)


class _Listener:
    """Listens to GEPA: what was tried and not kept is shown to the writer and reported; ends the search.

    It ends when another round might take more runs than are left, nobody writes any more, or all is right.
    """

    def __init__(self, adapter: TeamAdapter, tell: Callable[[str], None], calls: int, before: int, round_: int) -> None:
        self.reason = ""
        self.candidates: list[FoundCandidate] = []
        self._adapter, self._tell = adapter, tell
        self._calls, self._before, self._round = calls, before, round_
        self._texts: dict[str, str] = {}

    def __call__(self, gepa_state: Any) -> bool:
        used = self._before + gepa_state.total_num_evals
        if self._adapter.faults >= _MOST_FAULTS:
            self.reason = f"the model that writes instructions failed {_MOST_FAULTS} times: {self._adapter.fault}"
        elif self._adapter.barren >= _MOST_BARREN:
            self.reason = f"{_MOST_BARREN} times in a row nothing was written that could be used, after {used} runs"
        elif self.candidates and self.candidates[-1].score >= 1.0:
            self.reason = f"every comparing task passes, after {used} runs"
        elif used + self._round > self._calls:
            self.reason = f"{used} of at most {self._calls} runs are used, and another round may take {self._round}"
        return bool(self.reason)

    def on_valset_evaluated(self, event: Any) -> None:
        self.candidates.append(FoundCandidate(texts=dict(event["candidate"]), score=event["average_score"]))

    def on_proposal_end(self, event: Any) -> None:
        self._texts = dict(event["new_instructions"])

    def on_candidate_accepted(self, event: Any) -> None:
        self._tell(f"new instructions for {', '.join(self._texts)} did better on their first tasks")

    def on_candidate_rejected(self, event: Any) -> None:
        why = f"a score of {event['new_score']:.3g} on its first tasks in all, and {event['old_score']:.3g} before"
        self._adapter.tried += [TriedPrompt(agent=agent, text=text, why=why) for agent, text in self._texts.items()]
        self._tell(f"new instructions for {', '.join(self._texts)} were dropped: {why}")


def search_prompts(
    own: Mapping[str, str],
    tasks: tuple[Sequence[SuiteTask], Sequence[SuiteTask]],
    trials: Trials,
    writer: PromptWriter,
    options: ImproveOptions,
    *,
    known: Sequence[JudgedRun] = (),
    shown: Sequence[JudgedRun] = (),
    on_event: Callable[[str], None] = lambda said: None,
) -> SearchResult:
    """Search better instructions with GEPA; the same seed and the same runs give the same search.

    Args:
        own: The present instructions of the team's agents; only these agents are rewritten.
        tasks: Those whose failures are read, and those on which candidates are compared.
        trials: Runs the team.
        writer: Writes new instructions.
        options: How.
        known: Runs with the same instructions, made before; they count as metric calls.
        shown: Failures of runs that were made for another reason, to be read as well.
        on_event: Told in words what happened.

    Raises:
        MissingExtraError: ``gepa`` is not installed.
        ConfigError: The runs are too few for a single round.
        BudgetSpentError: What it may cost was spent before the first candidate was run on all comparing tasks.
    """
    options.expect_enough_calls(len(tasks[0]), len(tasks[1]), known=len(known))
    gepa = require("gepa", extra="improve", feature="Improving prompts")
    readable = {task.id for task in tasks[0]} | {run.task for run in shown}
    adapter = TeamAdapter(trials, writer, own, readable)
    adapter.learn(own, [*shown, *known])
    minibatch = min(options.minibatch, len(tasks[0]))
    listener = _Listener(adapter, on_event, options.metric_calls, len(known), len(tasks[1]) + 2 * minibatch)
    try:
        gepa.optimize(
            seed_candidate=dict(own),
            trainset=list(tasks[0]),
            valset=list(tasks[1]),
            adapter=adapter,
            reflection_minibatch_size=minibatch,
            module_selector=BlameSelector(adapter.failures_of, seed=options.seed),
            stop_callbacks=listener,
            logger=SimpleNamespace(log=lambda message: logger.debug("gepa: %s", message)),
            callbacks=[listener],
            track_best_outputs=False,
            seed=options.seed,
            raise_on_exception=True,
        )
        stopped, is_cut = listener.reason, adapter.faults >= _MOST_FAULTS
    except BudgetSpentError as error:
        if not listener.candidates:
            raise
        stopped, is_cut = str(error), True
    return SearchResult(
        candidates=tuple(listener.candidates),
        refused=(*adapter.refused, *adapter.tried),
        stopped=stopped,
        tried=len(listener.candidates) - 1 + len(adapter.tried),
        read=frozenset(adapter.read),
        is_cut=is_cut,
    )
