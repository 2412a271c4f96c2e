"""The team as GEPA sees it: texts by agent go in, runs with verdicts come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from tracer_hooks._optional import require
from tracer_hooks.errors import BudgetSpentError
from tracer_hooks.improvement._judged_run import JudgedRun, Trials
from tracer_hooks.improvement._prompt_writer import PromptCase, PromptWriter, TriedPrompt, WrittenPrompt
from tracer_hooks.repairs import Repair, RepairScope, RepairTarget, leaks
from tracer_hooks.schema import Usage
from tracer_hooks.tasks import SuiteTask

Candidate = Mapping[str, str]
"""Instructions by agent."""


class TeamAdapter:
    """GEPA's adapter of a team (``gepa.core.adapter.GEPAAdapter`` of version 0.1.4).

    ``evaluate`` runs the team with a candidate's instructions. The reflective data of an agent are the failures that
    the diagnosis lays on it, with evidence and masked feedback; GEPA's own writer gets all runs of its batch. Texts are
    written by ``writer``, and refused where they tell the expected answer of a task.

    Args:
        trials: Runs the team.
        writer: Writes new instructions.
        own: The instructions that the team came with.
        readable: The ids of the tasks whose failures may be read; candidates are compared on others.

    Attributes:
        refused: What was written and not even tried, with the reason.
        usage: Tokens that the writing took.
        faults: How often in a row the writer raised.
        fault: What it raised last.
        barren: How often in a row nothing was written that could be used.
    """

    def __init__(self, trials: Trials, writer: PromptWriter, own: Candidate, readable: Set[str]) -> None:
        self.refused: list[TriedPrompt] = []
        self.usage = Usage()
        self.faults, self.fault = 0, ""
        self.barren = 0
        self._readable = readable
        self._batch = require("gepa.core.adapter", extra="improve", feature="Improving prompts").EvaluationBatch
        self._trials, self._writer, self._own = trials, writer, dict(own)
        self._known: dict[tuple[tuple[str, str], ...], list[JudgedRun]] = {}
        self._parents: dict[tuple[tuple[str, str], ...], Candidate] = {}
        self._tried: list[TriedPrompt] = []

    # --- GEPA's protocol -------------------------------------------------------------------------------------------
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
        texts = {}
        for agent in components_to_update:
            runs = tuple(one["run"] for one in reflective_dataset.get(agent, ()))
            written = self._written(agent, candidate, runs)
            if written.text is not None:
                texts[agent] = written.text
        self.barren = 0 if texts else self.barren + 1
        if texts:
            self._parents[_key({**candidate, **texts})] = dict(candidate)
        return texts

    # --- what the search asks --------------------------------------------------------------------------------------
    def learn(self, candidate: Candidate, runs: Sequence[JudgedRun]) -> None:
        """Take runs into account that were made with a candidate's instructions."""
        self._known.setdefault(_key(candidate), []).extend(run for run in runs if run.task in self._readable)

    def failures_of(self, candidate: Candidate) -> list[JudgedRun]:
        """The failures of a candidate so far."""
        return [run for run in self._known.get(_key(candidate), ()) if not run.passed]

    def not_kept(self, agent_texts: Mapping[str, str], why: str) -> None:
        """Remember that a candidate with these new texts was tried and not kept."""
        self._tried += [TriedPrompt(agent=agent, text=text, why=why) for agent, text in agent_texts.items()]

    # --- details ---------------------------------------------------------------------------------------------------
    def _runs_for(self, agent: str, candidate: Candidate, batch: Sequence[JudgedRun]) -> list[JudgedRun]:
        if not self._writer.reads_only_blamed:
            return list(batch)
        found: dict[str, JudgedRun] = {}
        for run in [*reversed(batch), *reversed(self._with_ancestors(candidate))]:
            if run.blamed == agent:
                found.setdefault(run.task, run)
        return list(found.values())

    def _with_ancestors(self, candidate: Candidate) -> list[JudgedRun]:
        """The failures of a candidate and of those that it was made from, its own last."""
        chain: list[Candidate] = [candidate]
        while (parent := self._parents.get(_key(chain[-1]))) is not None and parent not in chain:
            chain.append(parent)
        return [run for one in reversed(chain) for run in self.failures_of(one)]

    def _written(self, agent: str, candidate: Candidate, runs: tuple[JudgedRun, ...]) -> WrittenPrompt:
        tools = next((spec.tools for run in runs for spec in run.trajectory.agents if spec.name == agent), ())
        case = PromptCase(
            agent=agent,
            instructions=candidate[agent],
            own=self._own[agent],
            runs=runs,
            tried=tuple(one for one in self._tried if one.agent == agent),
            tools=tuple(tools),
            others=tuple(other for other in candidate if other != agent),
        )
        try:
            written = self._writer.write(case)
        except BudgetSpentError:
            raise
        except Exception as error:  # the user's model, or a third party's writer
            self.faults, self.fault = self.faults + 1, f"{type(error).__name__}: {error}"
            written = WrittenPrompt(rejected=f"writing it failed ({self.fault})")
        else:
            self.faults = 0
        self.usage += written.usage
        why = written.rejected
        if written.text is not None and _tells_an_answer(written.text, case):
            why = "it tells the expected answer of a task"
        if why:
            self.refused.append(TriedPrompt(agent=agent, text=written.text or "", why=why))
            return WrittenPrompt(rejected=why)
        return written


def _tells_an_answer(text: str, case: PromptCase) -> bool:
    repair = Repair(
        strategy="improve",
        scope=RepairScope.TEAM,
        target=RepairTarget.INSTRUCTIONS,
        agent=case.agent,
        text=text,
    )
    return any(leaks(repair, run.secrets, instructions=case.instructions) for run in case.runs)


def _key(candidate: Candidate) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(candidate.items()))
