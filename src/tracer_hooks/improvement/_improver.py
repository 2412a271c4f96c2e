"""``improve``: the phases of an improvement, one after the other, in a folder that can be gone on with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracer_hooks._lazy import require
from tracer_hooks._text import counted
from tracer_hooks.budget import Spending
from tracer_hooks.config import StorePlace
from tracer_hooks.datasets import write_atomically
from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.endpoint import Chat
from tracer_hooks.errors import BudgetSpentError, ConfigError
from tracer_hooks.improvement._improvement import (
    ImproveEstimate,
    Improvement,
    ImproveOptions,
    ImprovePhase,
    ImproveProgress,
    Outcome,
    PhaseCounter,
)
from tracer_hooks.improvement._plan import JournaledChat, Split, plan_digest
from tracer_hooks.improvement._prompt_search import blame_mass, search_prompts
from tracer_hooks.improvement._prompt_writer import JudgedRun
from tracer_hooks.improvement._rewriter import LLMRewriter
from tracer_hooks.improvement._team_trials import PromptedTeam, TeamTrials, earlier_failures, earlier_passed
from tracer_hooks.improvement._version_trial import ImprovementState, TrialOfVersion, put_on_trial
from tracer_hooks.journal import Journal
from tracer_hooks.rerun import check_for
from tracer_hooks.runtime import Check
from tracer_hooks.schema import RunOutcome, Usage
from tracer_hooks.store import PromptStore, PromptVersion, fingerprint
from tracer_hooks.tasks import SuiteTask

RESULT = "improvement.json"
"""The result's file in the folder of the job."""
_FEWEST_FAILURES = 3
_FIRST_RUNS = 3
_ANEW = "begin anew with another --out DIR: what was run is kept"
_ENOUGH_RUNS = 30
"""Runs after which no further round of tasks is begun in search of failures."""


class Improver:
    """Improves the prompts of one team; what was done is kept in a folder, and the same job goes on.

    The arguments are those of :func:`improve`; not even the first run is made before :meth:`estimate` or :meth:`run`.

    Raises:
        ConfigError: There are too few tasks, or nothing says whether a run succeeded.
        MissingExtraError: ``gepa`` is not installed.
    """

    def __init__(
        self,
        target: Any,
        tasks: Sequence[SuiteTask],
        *,
        chat: Chat,
        folder: Path,
        check: Check | None = None,
        store: str | StorePlace | None = None,
        from_store: bool = False,
        options: ImproveOptions | None = None,
        on_progress: Callable[[ImproveProgress], None] = lambda progress: None,
    ) -> None:
        require("gepa", extra="improve", feature="Improving prompts")  # now, and not after the first runs
        self.options = options or ImproveOptions()
        self.folder, self.split = folder, Split.of(tasks, seed=self.options.seed)
        self.spending = Spending(self.options.cap)
        read, compare = map(len, self.split.halves())
        self.options.expect_enough_calls(read, compare, known=0 if from_store else read)
        self._journal = Journal(folder)
        self._chat = JournaledChat(chat, self._journal, self.spending)
        self._writer = self.options.writer or LLMRewriter(self._chat)
        self._team = PromptedTeam(target, check=check)
        for task in tasks:
            check_for(target, task, check)  # something has to say how a run on it ended
        self._store_path, self._from_store = store, from_store
        self._given: tuple[JudgedRun, ...] = ()
        self._plan = plan_digest(self.split, self.options, self._writer.name, from_store=from_store)
        self._counter, self._found = PhaseCounter(on_progress), ImprovementState()
        self._trial_options = replace(self.options, attributor=get_attributor(self.options.attributor))
        self._by_phase: dict[ImprovePhase, TeamTrials] = {}
        self._known: dict[str, JudgedRun] = {}

    def estimate(self, *, probes: int = 2) -> ImproveEstimate:
        """Estimate the most that all will take, after ``probes`` runs that count towards it; 0 for a guess without."""
        options = self.options
        runs = options.metric_calls + 2 * options.rule.most_pairs + 2 * len(self.split.unused)
        if not probes:
            return ImproveEstimate(runs=runs, tasks=self.split.sizes)
        with self._held():
            self._look_at_team()
            known = self._first_runs(self.split.propose[:probes])
        usage, prices = sum((run.usage for run in known), Usage()), options.cap
        cost = usage.cost(prices.input_price, prices.output_price) / len(known) * runs
        return ImproveEstimate(
            runs=runs,
            tasks=self.split.sizes,
            tokens_per_run=usage.total // len(known),
            seconds_per_run=sum(run.seconds for run in known) / len(known),
            cost=cost if prices.input_price or prices.output_price else None,
        )

    def run(self) -> Improvement:
        """Do what is left of the job; gives what it came to, which is kept in the folder, too."""
        with self._held():
            self._journal.add("plan", {"digest": self._plan})
            try:
                outcome, reason = self._course()
            except BudgetSpentError as error:
                outcome, reason = self._found.outcome, self._found.reason or str(error)
                self._found.stopped = str(error)
                self._counter.end(f"broken off: {error}")
            writing = self._chat.usage
            result = self._found.result(outcome, reason, split=self.split, spending=self.spending, writing=writing)
            write_atomically({self.folder / RESULT: (result.model_dump_json(indent=2) + "\n").encode()})
        return result

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the folder; one that was begun for something else is refused."""
        with self._journal.held():
            if "plan" in self._journal and self._journal["plan"]["digest"] != self._plan:
                raise ConfigError(
                    f"{str(self.folder)!r} holds an improvement with other tasks or options; only limits, workers and "
                    "the number of pairs may change. Take another folder with --out DIR"
                )
            yield

    def _course(self) -> tuple[Outcome, str]:
        found = self._found
        self._look_at_team()
        path, first, split = self._store_path, found.first, self.split
        assert first is not None
        if self._from_store:
            evidence = [task.text for task in (*split.accept, *split.unused)]
            self._given = earlier_failures(path, self._journal, first, self._trial_options, but=evidence)
        known = [task.text for part in split.parts for task in part] + [run.trajectory.task for run in self._given]
        found.passed_tasks = earlier_passed(path, self._journal, first, known, self._team.accepts)
        if not self._from_store:
            self._seek_failures()
        failures = [run for run in (*found.baseline, *self._given) if not run.passed]
        found.blame = blame_mass(failures, list(found.old))
        found.provenance = {
            "by": "tracer-hooks improve",
            "writer": self._writer.name,
            "seed": self.options.seed,
            "failures": len(failures),
            "runs": [run.trajectory.run_id for run in failures],
            "blame": dict(found.blame),
            "from_store": self._from_store,
            "job": str(self.folder),
        }
        failed = len(tasks_of(failures))
        if failed < _FEWEST_FAILURES:
            said = f"{failed} of {len(tasks_of(found.baseline))} proposing tasks failed in {len(found.baseline)} runs"
            if self._given:
                said = f"the run store holds {counted(failed, 'failed run')} of the team"
            needed = f"at least {_FEWEST_FAILURES} are needed to learn from"
            return "nothing to improve", f"{said}, and {needed}; add tasks that are harder for the team"
        if not any(found.blame.values()):
            return "nothing to improve", "no diagnosis blames an agent whose instructions are known"
        best = self._search()
        return self._none_better() if best is None else self._try(best)

    def _look_at_team(self) -> None:
        """Learn from a first run what the team is called, and what its agents are told."""
        found, wanted = self._found, self.options.agents
        if found.first is not None:
            return
        for task in self.split.propose[:_FIRST_RUNS]:
            first = self._first_runs([task])[0].trajectory
            has_raised = first.outcome is RunOutcome.FAILED and not (first.outcome_reason or "").startswith("check:")
            if not has_raised:
                break  # a run that came to its end shows all agents
        own = {spec.name: spec.instructions for spec in first.agents if spec.instructions and spec.instructions.strip()}
        missing = [agent for agent in wanted if agent not in own]
        if has_raised and (missing or not own):
            raise ConfigError(f"the team raised on its first tasks: {first.outcome_reason}. Correct that, and {_ANEW}")
        if missing:
            known = ", ".join(map(repr, own)) or "none"
            raise ConfigError(f"the instructions of {missing[0]!r} are not known, expected one of: {known}")
        if not own:
            named = "name the agents with tracer_hooks.agent(instructions=...)"
            raise ConfigError(f"the run shows no agent's instructions; {named}, and {_ANEW}")
        self._team.own = own
        found.first, found.team = first, fingerprint(first.framework, first.team)
        present = self._parent(own)
        told = {**own, **(present.texts if present is not None else {})}
        found.own, found.present = own, told
        found.old = {agent: text for agent, text in told.items() if not wanted or agent in wanted}
        self._team.present = {agent: text for agent, text in told.items() if agent not in found.old}
        if self._team.new_in(found.old):
            self._known.clear()  # it was told its own prompts, and not the present ones

    def _parent(self, own: Mapping[str, str]) -> PromptVersion | None:
        """The version whose prompts the team has at the start of the job; it is kept, since later ones may come."""
        found = self._found
        with PromptStore(self._store_path) as store:
            if "parent" not in self._journal:
                current = store.current(found.team)
                changed = [agent for agent, text in current.own.items() if own.get(agent) != text] if current else []
                number = current.number if current is not None else None
                self._journal.add("parent", {"number": number, "changed": changed})
            number, changed = self._journal["parent"]["number"], self._journal["parent"]["changed"]
            if number is None:
                return None
            named = f"version {number} of the prompts"
            if changed:
                found.notes.append(
                    f"{named} was made for other instructions of {changed[0]!r} than the team has now, so it was left "
                    "out: new prompts are compared with the team's own"
                )
                return None
            found.notes.append(f"{named} is in use: the team is run with it, and new prompts are compared with it")
            return store.get(found.team, int(number))

    def _seek_failures(self) -> None:
        """Run proposing tasks with the present prompts until some have failed, in rounds.

        First those to be read, then all others, then those that passed once more: they may fail the next time.
        """
        found, propose = self._found, self.split.propose
        read, compare = self.split.halves()
        room = self.options.metric_calls - self.options.one_round(len(propose), len(compare))
        found.baseline = self._first_runs(read)
        while len(found.baseline) < min(room, _ENOUGH_RUNS):
            known, failed = tasks_of(found.baseline), tasks_of(run for run in found.baseline if not run.passed)
            if len(failed) >= _FEWEST_FAILURES:
                return
            others = [task for task in propose if task.id not in known]
            what = "the other proposing tasks are run" if others else "those that passed are run again"
            said = f"{len(failed)} of {len(known)} tasks failed in {len(found.baseline)} runs"
            self._counter.say(f"{said}, and {_FEWEST_FAILURES} are needed to learn from: {what}")
            waiting = (others or [task for task in propose if task.id not in failed])[: room - len(found.baseline)]
            runs = self._trials(ImprovePhase.BASELINE, len(found.baseline) + len(waiting))
            found.baseline += runs.run(waiting, found.old)

    def _first_runs(self, tasks: Sequence[SuiteTask]) -> list[JudgedRun]:
        """One run a task with the present prompts, the same however often it is asked for."""
        new = [task for task in tasks if task.id not in self._known]
        runs = self._trials(ImprovePhase.BASELINE, len(self._known) + len(new)).run(new, self._found.old)
        self._known |= {run.task: run for run in runs}
        return [self._known[task.id] for task in tasks]

    def _search(self) -> Mapping[str, str] | None:
        """The best prompts that are found; None where none is better than the present ones."""
        found, options = self._found, self.options
        trials = self._trials(ImprovePhase.SEARCH, options.metric_calls - len(found.baseline))
        read, compare = self.split.halves()
        was_run = tasks_of(found.baseline)
        found.search = search_prompts(
            found.old,
            ([task for task in self.split.propose if task.id in was_run] or read, compare),
            trials,
            self._writer,
            options,
            known=found.baseline,
            shown=self._given,
            on_event=self._counter.say,
        )
        if found.search.is_cut and self.spending.refusal is not None:
            raise BudgetSpentError(found.search.stopped)
        self._counter.end(f"the search ended: {found.search.stopped}")
        best = found.search.best
        is_better = best.texts != found.old and best.score > found.search.candidates[0].score
        return best.texts if is_better else None

    def _none_better(self) -> tuple[Outcome, str]:
        """Return the outcome of a job whose search found nothing, and why."""
        search = self._found.search
        assert search is not None
        if search.is_cut:
            self._found.stopped = search.stopped
            return "stopped", search.stopped
        if search.tried:
            tried = f"{counted(search.tried, 'candidate')} that the team was run with"
            return "nothing found", f"{tried} did no better than the present prompts"
        if search.refused:
            why = Counter(prompt.why for prompt in search.refused).most_common(1)[0][0]
            return "nothing found", f"nothing that was written could be used, most often because: {why}"
        return "nothing found", "nothing was written: there were too few failures to write from"

    def _try(self, best: Mapping[str, str]) -> tuple[Outcome, str]:
        """Put the best prompts on trial, keep what comes of it, and run the tasks that were never used."""
        found, options = self._found, self.options
        told = {**found.present, **best}
        found.texts = {agent: text for agent, text in told.items() if text != found.own[agent]}
        if not found.texts:
            own = "the best prompts are the team's own; tracer-hooks prompts rollback goes back to them"
            return "nothing found", own
        assert found.search is not None
        # Tasks that passed before anything was proposed, and of which no failure was read, have proposed nothing.
        at_first = tasks_of(run for run in found.baseline if run.passed) - found.search.read
        passed = [*found.passed_tasks, *(task for task in self.split.propose if task.id in at_first)]
        rule = options.rule if passed else replace(options.rule, needs_passed=False)
        runs = self._trials(ImprovePhase.TRIAL, 2 * rule.most_pairs)
        with PromptStore(self._store_path) as store:
            version = put_on_trial(store, self._journal, found)
            found.version, found.outcome = version.number, "on trial"
            found.trial = trial = TrialOfVersion(
                store, version, runs, told, found.old, rule, batch=options.workers, seed=options.seed
            )
            try:
                found.outcome, found.reason = trial.decided(self.split.accept, passed)
            except BudgetSpentError:
                found.reason = trial.test.reason
                raise
        self._counter.end(f"the trial ended after {counted(trial.test.pairs, 'pair')}: {found.outcome}")
        unused = self.split.unused
        runs = self._trials(ImprovePhase.UNUSED, 2 * len(unused))
        after = runs.run(unused, told)
        found.unused = list(zip(after, runs.run(unused, found.old), strict=True))
        return found.outcome, found.reason

    def _trials(self, phase: ImprovePhase, total: int) -> TeamTrials:
        """The runs of a phase, which takes at most ``total``."""
        if phase not in self._by_phase:
            self._by_phase[phase] = TeamTrials(
                self._team,
                self._journal,
                self.spending,
                self._trial_options,
                name=phase.name.lower(),
                on_run=lambda run: self._counter.count(phase, run.passed),
            )
        self._counter.expect(phase, total)
        return self._by_phase[phase]


def tasks_of(runs: Iterable[JudgedRun]) -> set[str]:
    """The tasks of the runs."""
    return {run.task for run in runs}


def improve(
    target: Any,
    tasks: Sequence[SuiteTask | str],
    *,
    chat: Chat,
    check: Check | None = None,
    folder: str | Path = "improvement",
    store: str | StorePlace | None = None,
    from_store: bool = False,
    options: ImproveOptions | None = None,
    on_progress: Callable[[ImproveProgress], None] = lambda progress: None,
) -> Improvement:
    """Improve the prompts of a team: run it, diagnose what fails, propose, try on other tasks, keep what is better.

    The tasks are dealt out: the failures of some propose, others accept, and the rest is never used before the end, for
    the success before and after. What is accepted is kept in the run store as a version of the team's prompts;
    ``hook(prompts="accepted")`` uses it, ``tracer-hooks prompts`` shows it and takes it back.

    Args:
        target: A factory that builds the team, best with a parameter ``prompts``; a team; or a function of the task.
        tasks: What the team is asked; at least 16, better 60 or more.
        chat: Asks the language model that writes instructions: messages with ``role`` and ``content`` in, text out.
        check: Decides whether a run succeeded; default what the team was hooked with, else the tasks' references.
        folder: Where the journal and the result are kept; the same call goes on where a broken-off one was.
        store: The run store's file; default the usual one.
        from_store: Whether the failures of the team's stored runs propose, in the place of runs on the tasks.
        options: How.
        on_progress: Told of every run.

    Raises:
        ConfigError: There are too few tasks, nothing judges a run, or the folder was begun with something else.
        MissingExtraError: ``gepa`` is not installed.
        DatasetError: The folder cannot be used.
        ReplayError: The check raised, or the team's surroundings failed again and again.
        StoreError: The run store cannot be used.
    """
    dealt = [
        task if isinstance(task, SuiteTask) else SuiteTask(id=f"task-{i}", text=task) for i, task in enumerate(tasks)
    ]
    improver = Improver(
        target,
        dealt,
        chat=chat,
        check=check,
        folder=Path(folder),
        store=store,
        from_store=from_store,
        options=options,
        on_progress=on_progress,
    )
    return improver.run()
