"""What a model replies to questions, and how good that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tracer_hooks.attribution.teaching import JudgeAnswer, prompt_ids, read_choice, read_verdict
from tracer_hooks.training.data import PromptRow
from tracer_hooks.training.rewards import RewardOptions, reward


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Shares among questions, from 0 to 1."""

    questions: int
    valid: float
    """Replies that the judge would accept."""
    step: float | None
    """Exact steps, among labels with a step."""
    agent: float
    """Exact agents; of a label with several, any of them."""
    reward: float
    """Mean reward."""


def reply(model: Any, tokenizer: Any, ids: Sequence[int], *, max_tokens: int) -> str:
    """The greedy reply to a prompt, as the attributor ``judge`` gets it."""
    given = torch.tensor([list(ids)], device=next(model.parameters()).device)
    with torch.inference_mode():
        written = model.generate(
            input_ids=given,
            attention_mask=torch.ones_like(given),
            do_sample=False,
            max_new_tokens=max_tokens,
            pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id,
        )
    return str(tokenizer.decode(written[0, given.shape[1] :], skip_special_tokens=True))


def answer_in(text: str, row: PromptRow) -> JudgeAnswer | None:
    """What a reply to a row says; None for one that the judge would not accept."""
    if row.options:
        return read_choice(text, row.options, row.trajectory)
    return read_verdict(text, row.trajectory)


def figures_of(
    model: Any,
    tokenizer: Any,
    rows: Sequence[PromptRow],
    *,
    max_tokens: int,
    rewarded: RewardOptions | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Figures | None:
    """How a model answers some questions; None where there are none."""
    if not rows:
        return None
    was_training = model.training
    model.eval()
    answers = []
    for row in rows:
        text = reply(model, tokenizer, prompt_ids(tokenizer, row.messages), max_tokens=max_tokens)
        answers.append(answer_in(text, row))
        tick()
    model.train(was_training)
    with_step = [(one, row.gold) for one, row in zip(answers, rows, strict=True) if row.gold.step is not None]
    agents = [(one, {agent for agent, _ in row.gold.pairs}) for one, row in zip(answers, rows, strict=True)]
    return Figures(
        questions=len(rows),
        valid=_share([one is not None for one in answers]),
        step=_share([one is not None and one.step == gold.step for one, gold in with_step]) if with_step else None,
        agent=_share([one is not None and one.agent in known for one, known in agents]),
        reward=sum(reward(one, row.gold, rewarded) for one, row in zip(answers, rows, strict=True)) / len(rows),
    )


def _share(right: Sequence[bool]) -> float:
    return sum(right) / len(right)
