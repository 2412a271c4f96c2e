"""Runs for training and for testing a judge of `structural`'s first three steps, dealt out before anything is trained.

A run counts only where its label makes some of the three right and others wrong: where all are right or all are wrong
no answer can differ, and reading cannot matter. Where a label names agents and no step, a step is right when its agent
is at fault; that rule holds for every way of answering.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tracer_hooks.attribution import StructuralAttributor
from tracer_hooks.attribution.teaching import answerable_steps
from tracer_hooks.errors import TrainingError
from tracer_hooks.schema import save_jsonl
from tracer_hooks.training.data import (
    Candidates,
    JudgeTaskOptions,
    LabeledRow,
    LabeledRows,
    PromptRow,
    SplitOptions,
    prompt_rows,
    split_rows,
)

OTHER_QUESTIONS, OTHER_TEAM = "other questions", "team left out"
OPTIONS = 3


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One run as a choice among three steps, the one that `structural` finds likeliest first."""

    run: str
    """Line of the data."""
    question: int
    """Runs of one question have one number."""
    team: str
    steps: tuple[int, ...]
    weights: tuple[float, ...]
    """Of `structural`."""
    agents: tuple[str, ...]
    right: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How many runs each part has at the most."""

    sft: int
    grpo: int
    tested: int
    """Of each part that is reported."""


@dataclass(frozen=True)
class Part:
    """Runs of one part."""

    name: str
    choices: tuple[Choice, ...]
    rows: tuple[LabeledRow, ...]
    """In the same order."""
    kinds: Mapping[str, int]
    """How many runs that were looked at are a choice, and how many are none, for each reason."""


class Dealer:
    """Deals out runs by whole questions and teams.

    Args:
        asked: How runs become questions.
        count_tokens: Of the model's tokenizer.
        seed: Of what is drawn.
    """

    def __init__(self, asked: JudgeTaskOptions, count_tokens: Callable[[str], int], seed: int) -> None:
        self._asked, self._count_tokens, self._seed = asked, count_tokens, seed
        self._numbers: dict[str, int] = {}
        self._structural = StructuralAttributor()

    def deal(self, found: LabeledRows, team: str, sizes: Sizes) -> list[Part]:
        """The parts "sft", "grpo", and the two that are reported: other questions, and a team left out."""
        drawn = self._drawn(found.rows, team, sizes)
        splits = split_rows(
            LabeledRows(drawn, found.clean),
            SplitOptions(valid_share=_tested_share(sizes), leave_out_teams=(team,), seed=self._seed),
        )
        trained = iter(splits.train)
        return [
            self._part("sft", trained, sizes.sft),
            self._part("grpo", trained, sizes.grpo),
            self._part(OTHER_QUESTIONS, iter(splits.valid), sizes.tested),
            self._part(OTHER_TEAM, iter(splits.left_out), sizes.tested),
        ]

    def _drawn(self, rows: Sequence[LabeledRow], team: str, sizes: Sizes) -> tuple[LabeledRow, ...]:
        """Three times what is needed, since about every second run is no choice."""
        chance = random.Random(self._seed)
        left_out = [row for row in rows if row.team == team]
        others = [row for row in rows if row.team != team]
        chance.shuffle(left_out)
        chance.shuffle(others)
        wanted = 3 * (sizes.sft + sizes.grpo + sizes.tested)
        return (*others[:wanted], *left_out[: 3 * sizes.tested])

    def _part(self, name: str, rows: Iterable[LabeledRow], most: int) -> Part:
        choices: list[Choice] = []
        kept: list[LabeledRow] = []
        kinds: Counter[str] = Counter()
        while len(choices) < most:
            row = next(rows, None)  # type: ignore[call-overload]
            if row is None:
                break
            kind, choice = self._choice(row)
            kinds[kind] += 1
            if choice is not None:
                choices.append(choice)
                kept.append(row)
        return Part(name, tuple(choices), tuple(kept), dict(kinds))

    def _choice(self, row: LabeledRow) -> tuple[str, Choice | None]:
        weighed = Candidates(row.trajectory, self._structural).first(self._asked.top_k)
        allowed = set(answerable_steps(row.trajectory))
        steps = tuple(step for step in weighed if step in allowed)[:OPTIONS]
        right = tuple(is_right(row, step) for step in steps)
        kind = kind_of(right)
        if kind != "a choice":
            return kind, None
        try:
            asked = prompt_rows([row], self._asked, self._count_tokens).rows
        except TrainingError:
            return "longer than the context", None
        assert all(set(one.options) == set(steps) for one in asked)
        question = row.labeled.question_id or row.trajectory.task
        return kind, Choice(
            run=row.source.rpartition(":")[2],
            question=self._numbers.setdefault(question, len(self._numbers)),
            team=row.team,
            steps=steps,
            weights=tuple(round(weighed[step], 6) for step in steps),
            agents=tuple(row.trajectory.steps[step].agent for step in steps),
            right=right,
        )


def is_right(row: LabeledRow, step: int) -> bool:
    """Whether a step answers the question by the label: the step itself, or any of an agent at fault."""
    if row.gold.step is not None:
        return step == row.gold.step
    return row.trajectory.steps[step].agent in {agent for agent, _ in row.gold.pairs}


def kind_of(right: Sequence[bool]) -> str:
    """Whether a run is a choice, and why not."""
    if len(right) < OPTIONS:
        return "fewer than three candidates"
    if all(right):
        return "all three right"
    return "a choice" if any(right) else "none of the three right"


def questions_of(row: LabeledRow, asked: JudgeTaskOptions, count_tokens: Callable[[str], int]) -> tuple[PromptRow, ...]:
    """The run's question in its three orders."""
    return prompt_rows([row], asked, count_tokens).rows


def write_parts(parts: Iterable[Part], folder: Path) -> None:
    """Write the runs of each part, and ``parts.json`` with the choices."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {}
    for part in parts:
        save_jsonl(folder / file_of(part.name), [row.labeled for row in part.rows])
        told[part.name] = {"kinds": part.kinds, "choices": [asdict(choice) for choice in part.choices]}
    (folder / "parts.json").write_text(json.dumps(told) + "\n", encoding="utf-8")


def read_choices(told: Mapping[str, Mapping[str, object]]) -> dict[str, list[Choice]]:
    """The choices of each part from ``parts.json`` or from the outcomes."""
    found: dict[str, list[Choice]] = {}
    for name, part in told.items():
        listed = part["choices"]
        assert isinstance(listed, list)
        found[name] = [
            Choice(**{key: tuple(value) if isinstance(value, list) else value for key, value in one.items()})
            for one in listed
        ]
    return found


def file_of(part: str) -> str:
    """Name of the file with a part's runs."""
    return f"{part.replace(' ', '_')}.jsonl"


def _tested_share(sizes: Sizes) -> float:
    return sizes.tested / (sizes.sft + sizes.grpo + sizes.tested)
