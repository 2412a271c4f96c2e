"""Questions to the judge with the reply that it should give, or with the label that rewards one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from tracer_hooks.diagnosis import JudgeOptions, StepScores, StructuralAttributor
from tracer_hooks.errors import AttributionError, TrainingError
from tracer_hooks.extension import cached_property
from tracer_hooks.schema import ErrorMode, Evidence, Trajectory
from tracer_hooks_models.teaching import (
    JudgeQuestion,
    JudgeQuestions,
    answerable_steps,
    choice_reply,
    evidence_quote,
)
from tracer_hooks_models.training.data._rows import BadRows, LabeledRow, PromptRow, SFTRow


class Candidates:
    """Ranks the steps of a run without looking at its label.

    Args:
        trajectory: What happened.
        proposer: Scores the steps; the shipped ``structural`` by default.
    """

    def __init__(self, trajectory: Trajectory, proposer: StructuralAttributor | None = None) -> None:
        self._trajectory = trajectory
        self._proposer = proposer or StructuralAttributor()

    @cached_property
    def scores(self) -> StepScores | None:
        """Return the proposer's scores of every step; None for a run with nothing in it."""
        return self._proposer.score(self._trajectory)

    @cached_property
    def belief(self) -> tuple[float, ...]:
        """The belief in every step."""
        return (0.0,) * len(self._trajectory.steps) if self.scores is None else self.scores.belief()

    def first(self, count: int) -> dict[int, float]:
        """The ``count`` likeliest steps with their weights, as the attributor ``judge`` takes them."""
        ranked = sorted(range(len(self.belief)), key=lambda step: (-self.belief[step], step))[:count]
        return {step: self.belief[step] for step in ranked if self.belief[step] > 0}

    def likeliest_of(self, agents: set[str]) -> int:
        """The likeliest step of these agents, for a label that names no step."""
        steps = [step.index for step in self._trajectory.steps if step.agent in agents]
        return max(steps, key=lambda step: (self.belief[step], -step))


_SURE = 0.9
"""Stated probability of a label that is proven; a weak one is stated with as much less."""
_OTHER = 0.5
_MOST_EVIDENCE = 2
_MOST_QUOTE = 160


def verdict_reply(row: LabeledRow, step: int, candidates: Candidates) -> str:
    """One JSON object with the fields that the prompt asks for, in its order.

    The reason is the labeller's where there is one, else what the error mode means; the quotations are those of
    ``structural`` where they stand in the labelled step, else the step's first words. Every quotation stands in the run
    word for word.
    """
    run = row.trajectory
    agent = run.steps[step].agent
    modes = [mode for name, mode in row.gold.pairs if name == agent] or [None]
    evidence = _evidence(row, step, candidates)
    # One object for each pair: a second mode of the same agent is a fault of its own.
    others = [(name, mode) for name, mode in row.gold.pairs if (name, mode) != (agent, modes[0])]
    return json.dumps(
        {
            "reason": _reason(row, step, agent, modes[0], evidence),
            "verdict": "fault",
            "agent": agent,
            "step": step,
            "error_mode": None if modes[0] is None else modes[0].value,
            "probability": round(_SURE * row.labeled.weight, 2),
            "evidence": [{"step": one.step, "quote": one.quote, "why": one.why} for one in evidence],
            "other_faults": [_other(name, mode) for name, mode in others],
            "alternatives": [],
        },
        ensure_ascii=False,
    )


def _reason(row: LabeledRow, step: int, agent: str, mode: ErrorMode | None, evidence: list[Evidence]) -> str:
    if row.gold.reason:
        return row.gold.reason
    said = f"In step {step} {agent} left the right course"
    if mode is not None:
        said += f" ({mode.title}): {mode.definition}"
    found = next((one.why for one in evidence if one.why), "")
    return f"{said.rstrip('.')}. {found}".strip()


def _evidence(row: LabeledRow, step: int, candidates: Candidates) -> list[Evidence]:
    steps = row.trajectory.steps
    told = candidates.scores.evidence if candidates.scores is not None else ()
    found = []
    for one in told:
        quote = evidence_quote(steps[one.step], one.quote) if one.step == step and one.quote else None
        if quote:
            found.append(Evidence(step=step, quote=_short(quote), why=one.why))
    first = evidence_quote(steps[step], "")
    if not found and first:
        found.append(Evidence(step=step, quote=_short(first), why=""))
    return found[:_MOST_EVIDENCE]


def _short(quote: str) -> str:
    return quote if len(quote) <= _MOST_QUOTE else quote[:_MOST_QUOTE].rsplit(None, 1)[0]


def _other(agent: str, mode: ErrorMode | None) -> dict[str, Any]:
    return {"agent": agent, "error_mode": None if mode is None else mode.value, "probability": _OTHER}


JudgeTask = Literal["verdict", "shortlist"]
"""What is asked: agent, step and mode of the whole run, or which of the first three candidates it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTaskOptions:
    """Options by which labelled trajectories become questions."""

    task: JudgeTask = "verdict"
    context_tokens: int = 8_192
    """Tokens that prompt and reply may take together."""
    reply_tokens: int = 512
    """Tokens that a reply may take."""
    step_chars: int = 6_000
    """Characters of one step that are shown."""
    top_k: int = 5
    """How many candidates of ``structural`` a long run is centred on."""

    @property
    def judge(self) -> JudgeOptions:
        """The options with which the attributor ``judge`` asks the same."""
        return JudgeOptions(
            protocol="all-at-once" if self.task == "verdict" else "shortlist",
            proposer="structural",
            top_k=self.top_k,
            context_tokens=self.context_tokens,
            reply_tokens=self.reply_tokens,
            step_chars=self.step_chars,
            cache_dir=None,
        )


R = TypeVar("R", SFTRow, PromptRow)


@dataclass(frozen=True, slots=True)
class JudgeRows(Generic[R]):
    """Rows that some labelled trajectories gave."""

    rows: tuple[R, ...]
    left_out: Counter[str] = field(default_factory=Counter)
    """How many trajectories gave no row, for each reason, and how many labels had to be completed."""


def sft_rows(
    labeled: Iterable[LabeledRow],
    options: JudgeTaskOptions,
    count_tokens: Callable[[str], int],
    *,
    bad_rows: BadRows = "refuse",
    tick: Callable[[], None] = lambda: None,
) -> JudgeRows[SFTRow]:
    """Rows for supervised training: one for each labelled trajectory, or one for each order of the candidates.

    A label without a step gets the step of a faulty agent that ``structural`` finds likeliest; that is counted.

    Args:
        labeled: Labelled trajectories.
        options: What is asked, and in how many tokens.
        count_tokens: Of the model's tokenizer.
        bad_rows: A trajectory whose question alone is too long for the context: ``"refuse"`` stops at the first one and
            names it, ``"skip"`` leaves them out and counts them.
        tick: Called for each trajectory.

    Raises:
        TrainingError: The context is too small for a question.
    """
    return _built(labeled, partial(_sft_rows, _Asker(options, count_tokens)), bad_rows, tick)


def prompt_rows(
    labeled: Iterable[LabeledRow],
    options: JudgeTaskOptions,
    count_tokens: Callable[[str], int],
    *,
    bad_rows: BadRows = "refuse",
    tick: Callable[[], None] = lambda: None,
) -> JudgeRows[PromptRow]:
    """The same for reinforcement learning; see :func:`sft_rows`. A label without a step stays one."""
    return _built(labeled, partial(_prompt_rows, _Asker(options, count_tokens)), bad_rows, tick)


def _built(
    labeled: Iterable[LabeledRow],
    rows_of: Callable[[LabeledRow, Candidates, Counter[str]], Iterable[R]],
    bad_rows: BadRows,
    tick: Callable[[], None],
) -> JudgeRows[R]:
    rows: list[R] = []
    left_out: Counter[str] = Counter()
    for row in labeled:
        tick()
        try:
            rows += rows_of(row, Candidates(row.trajectory), left_out)
        except _TooLongError as problem:
            if bad_rows == "refuse":
                raise TrainingError(f"{row.source}: {problem}") from problem
            left_out["the question alone is too long"] += 1
    return JudgeRows(tuple(rows), left_out)


class _TooLongError(Exception):
    """The question about a run does not fit, with no step of it."""


_UNANSWERABLE = {
    "verdict": "the labelled step is not in the window",
    "shortlist": "the labelled step is not among the candidates",
}


def _right_steps(row: LabeledRow) -> set[int | None]:
    """The steps that are right by the label; any step of a faulty agent where it names none."""
    if row.gold.step is not None:
        return {row.gold.step}
    agents = {agent for agent, _ in row.gold.pairs}
    return {step.index for step in row.trajectory.steps if step.agent in agents}


@dataclass(frozen=True, slots=True)
class _Asker:
    """Asks about a labelled trajectory as the judge does."""

    options: JudgeTaskOptions
    count_tokens: Callable[[str], int]

    def questions(self, row: LabeledRow, candidates: Candidates) -> list[JudgeQuestion]:
        options, run = self.options, row.trajectory
        asking = JudgeQuestions(options.judge, self.count_tokens)
        try:
            if options.task == "shortlist":
                return asking.shortlist(run, candidates.first(options.top_k))
            return [asking.verdict(run, focus=candidates.first(options.top_k))]
        except AttributionError as error:
            too_small = str(error).partition(". Set ")[0]
            raise _TooLongError(
                f"{too_small}. Set context_tokens higher, or reply_tokens lower, or leave such rows out with "
                "bad_rows = 'skip'"
            ) from error


def _prompt_rows(asker: _Asker, row: LabeledRow, candidates: Candidates, left_out: Counter[str]) -> Iterator[PromptRow]:
    questions = asker.questions(row, candidates)
    right = _right_steps(row)
    can_be_right = [one for one in questions if right & (set(one.options) if one.options else one.shown)]
    if not can_be_right:
        left_out[_UNANSWERABLE[asker.options.task]] += 1
    for question in can_be_right:
        yield PromptRow(
            source=row.source,
            messages=question.messages,
            gold=row.gold,
            trajectory=row.trajectory,
            options=question.options,
        )


def _sft_rows(asker: _Asker, row: LabeledRow, candidates: Candidates, left_out: Counter[str]) -> Iterator[SFTRow]:
    step = row.gold.step
    if step is None:
        step = candidates.likeliest_of({agent for agent, _ in row.gold.pairs})
        left_out["step of the label guessed"] += 1
    if step not in answerable_steps(row.trajectory):
        left_out["the labelled step is a person's"] += 1
        return
    questions = asker.questions(row, candidates)
    for question in questions:
        if question.options:
            if step not in question.options:
                left_out[_UNANSWERABLE["shortlist"]] += 1
                return
            completion = choice_reply(question.labels[question.options.index(step)])
        elif step not in question.shown:
            left_out[_UNANSWERABLE["verdict"]] += 1
            return
        else:
            completion = verdict_reply(row, step, candidates)
        yield SFTRow(source=row.source, messages=question.messages, completion=completion, options=question.options)
    if not questions:
        left_out["nothing in the run to ask about"] += 1
