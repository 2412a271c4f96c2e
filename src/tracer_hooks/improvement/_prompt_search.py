"""The search for better instructions, by GEPA."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tracer_hooks._guard import logger
from tracer_hooks._optional import require
from tracer_hooks.errors import BudgetSpentError, ConfigError
from tracer_hooks.improvement._blame import BlameSelector
from tracer_hooks.improvement._gepa_adapter import TeamAdapter
from tracer_hooks.improvement._judged_run import JudgedRun, Trials
from tracer_hooks.improvement._prompt_writer import PromptWriter, TriedPrompt
from tracer_hooks.schema import Usage
from tracer_hooks.tasks import SuiteTask

_MOST_FAULTS = 3
_MOST_BARREN = 8
"""Rounds without a text that could be used; each takes a minibatch of runs."""
Selector = Literal["blame", "round_robin"]
"""Whose instructions are rewritten next: agents by the blame for the failures, or each in turn."""


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How better instructions are searched."""

    metric_calls: int = 200
    """Runs of the team that the search may take."""
    minibatch: int = 6
    """Tasks on which a candidate is first compared with what it was made from."""
    selector: Selector = "blame"
    """Whose instructions are rewritten next."""
    seed: int = 0
    """Of every random choice."""


@dataclass(frozen=True, kw_only=True)
class FoundCandidate:
    """Instructions that the search kept, the first of them being the team's own."""

    texts: Mapping[str, str]
    """By agent."""
    score: float
    """Mean score on the comparing tasks; the greatest of many is too kind."""


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """What a search came to."""

    candidates: tuple[FoundCandidate, ...]
    """All that were run on every comparing task, in the order of their discovery."""
    refused: tuple[TriedPrompt, ...]
    """Texts that were not run at all, or were no better on their first few tasks."""
    usage: Usage
    """Tokens of the writing."""
    stopped: str
    """Why it ended, in words."""
    tried: int = 0
    """Candidates that the team was run with, the first one not counted."""
    is_cut: bool = False
    """Whether the budget of the job ended it, or a model that gave no answer, so that it can be gone on with."""

    @property
    def best(self) -> FoundCandidate:
        """The one with the greatest score; the team's own where none is above it."""
        return max(self.candidates, key=lambda one: one.score)


class _Quiet:
    """GEPA's logger."""

    def log(self, message: str) -> None:
        logger.debug("gepa: %s", message)


class _Ledger:
    """Listens to GEPA: what was tried and not kept is shown to the writer, and reported.

    Args:
        adapter: Where it is kept.
        on_event: Told in words what happened.
    """

    def __init__(self, adapter: TeamAdapter, on_event: Callable[[str], None]) -> None:
        self.dropped: list[TriedPrompt] = []
        self._adapter, self._tell = adapter, on_event
        self._texts: dict[str, str] = {}

    def on_proposal_end(self, event: Any) -> None:
        self._texts = dict(event["new_instructions"])

    def on_candidate_accepted(self, event: Any) -> None:
        self._tell(f"new instructions for {', '.join(self._texts)} did better on their first tasks")

    def on_candidate_rejected(self, event: Any) -> None:
        why = f"a score of {event['new_score']:.3g} on its first tasks in all, and {event['old_score']:.3g} before"
        self._adapter.not_kept(self._texts, why)
        self.dropped += [TriedPrompt(agent=agent, text=text, why=why) for agent, text in self._texts.items()]
        self._tell(f"new instructions for {', '.join(self._texts)} were dropped: {why}")


class _Stop:
    """Ends the search: when another round might take more runs than are left, nobody writes any more, or all is right.

    Args:
        adapter: Knows whether the writer still writes.
        calls: Runs that the search may take.
        before: Runs that were made before it, and count.
        round_: Runs that one round takes at most.
    """

    def __init__(self, adapter: TeamAdapter, calls: int, before: int, round_: int) -> None:
        self.reason = ""
        self.candidates: list[FoundCandidate] = []
        self._adapter, self._calls, self._before, self._round = adapter, calls, before, round_

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


def search_prompts(
    own: Mapping[str, str],
    tasks: tuple[Sequence[SuiteTask], Sequence[SuiteTask]],
    trials: Trials,
    writer: PromptWriter,
    options: SearchOptions,
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
    needed = len(known) + 2 * (len(tasks[1]) + min(options.minibatch, len(tasks[0])))
    if options.metric_calls < needed:
        raise ConfigError(
            f"metric_calls is {options.metric_calls!r}, expected at least {needed}: {len(known)} runs were made "
            f"before, and one round takes the other {needed - len(known)}"
        )
    gepa = require("gepa", extra="improve", feature="Improving prompts")
    readable = {task.id for task in tasks[0]} | {run.task for run in shown}
    adapter = TeamAdapter(trials, writer, own, readable)
    adapter.learn(own, [*shown, *known])
    ledger = _Ledger(adapter, on_event)
    selector = BlameSelector(adapter.failures_of, seed=options.seed) if options.selector == "blame" else "round_robin"
    minibatch = min(options.minibatch, len(tasks[0]))
    stop = _Stop(adapter, options.metric_calls, len(known), len(tasks[1]) + 2 * minibatch)
    try:
        result = gepa.optimize(
            seed_candidate=dict(own),
            trainset=list(tasks[0]),
            valset=list(tasks[1]),
            adapter=adapter,
            reflection_minibatch_size=minibatch,
            module_selector=selector,
            stop_callbacks=stop,
            logger=_Quiet(),
            callbacks=[ledger, stop],
            track_best_outputs=False,
            seed=options.seed,
            raise_on_exception=True,
        )
    except BudgetSpentError as error:
        found, stopped, is_cut = stop.candidates, str(error), True
        if not found:
            raise
    else:
        pairs = zip(result.candidates, result.val_aggregate_scores, strict=True)
        found = [FoundCandidate(texts=dict(texts), score=score) for texts, score in pairs]
        stopped, is_cut = stop.reason, adapter.faults >= _MOST_FAULTS
    refused = (*adapter.refused, *ledger.dropped)
    return SearchResult(
        candidates=tuple(found),
        refused=refused,
        usage=adapter.usage,
        stopped=stopped,
        tried=len(found) - 1 + len(ledger.dropped),
        is_cut=is_cut,
    )
