"""Labelled trajectories as questions to the judge: with the reply it should give, or with the label that rewards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, Literal, TypeVar

from tracer_hooks.attribution import JudgeOptions
from tracer_hooks.attribution.teaching import (
    JudgeQuestion,
    JudgeQuestions,
    answerable_steps,
    choice_reply,
)
from tracer_hooks.errors import AttributionError, TrainingError
from tracer_hooks.training.data._candidates import Candidates
from tracer_hooks.training.data._labelled import BadRows
from tracer_hooks.training.data._rationale import verdict_reply
from tracer_hooks.training.data._rows import LabeledRow, PromptRow, SFTRow

JudgeTask = Literal["verdict", "shortlist"]
"""What is asked: agent, step and mode of the whole run, or which of the first three candidates it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTaskOptions:
    """How labelled trajectories become questions."""

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
    """What some labelled trajectories gave."""

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
        # Three options have three rotations; the judge asks all of them.
        asking = JudgeQuestions(replace(options.judge, rotations=3), self.count_tokens)
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
