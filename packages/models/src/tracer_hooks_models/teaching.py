"""The lessons of a model that is to be a judge: the judge's own questions, and how its replies are read.

A model that is trained on these prompts and used by the attributor ``judge`` with the same options sees the same tokens
in both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracer_hooks.diagnosis import JudgeOptions
from tracer_hooks.endpoint import ChatCompletion, ChatMessage, ChatRequest
from tracer_hooks.errors import AttributionError
from tracer_hooks.extension import (
    ALL_AT_ONCE,
    JUDGE,
    SHORTLIST,
    ChoiceReply,
    JudgeCase,
    JudgeResources,
    JudgeSession,
    Meter,
    ReplyCache,
    ReplyError,
    VerdictReply,
    find_quote,
    first_of,
    header_chars,
    labels_for,
    opening,
    options_as_json,
    orders,
    parse_reply,
    shortlist_choice,
    values_of,
    verdict_of,
    whole_run,
)
from tracer_hooks.schema import ErrorMode, Step, Trajectory
from tracer_hooks_models.local_judge import base_of, prompt_ids, prompt_text

__all__ = [
    "JUDGE",
    "ChatMessage",
    "JudgeAnswer",
    "JudgeQuestion",
    "JudgeQuestions",
    "answerable_steps",
    "base_of",
    "choice_reply",
    "evidence_quote",
    "find_quote",
    "opening",
    "options_as_json",
    "prompt_ids",
    "prompt_text",
    "read_choice",
    "read_verdict",
    "write_judge_options",
]

_STEP_LINE = re.compile(r"^=== step (\d+) \| ", re.MULTILINE)
_CHOICE_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestion:
    """One question to a judge."""

    messages: tuple[ChatMessage, ...]
    """The prompt."""
    shown: frozenset[int]
    """The steps that stand in it; the others are left out, with a mark."""
    options: tuple[int | None, ...] = ()
    """Of a choice, the step that each label stands for, in the order of the labels; None for "no agent"."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the options."""
        return labels_for(len(self.options))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """The content of a reply, checked against the run."""

    agent: str | None
    """The agent that is named; None when the reply finds no fault of an agent."""
    step: int | None
    """The step that is named."""
    pairs: tuple[tuple[str, ErrorMode | None], ...] = ()
    """Every agent that is named, with its mode, as often as the reply names it; that of the answer first."""


class JudgeQuestions:
    """Asks about trajectories as the attributor ``judge`` does with the same options.

    Args:
        options: How the judge is asked; its model is not used.
        count_tokens: Of the model's tokenizer.
    """

    def __init__(self, options: JudgeOptions, count_tokens: Callable[[str], int]) -> None:
        self._options = options
        model = _Counter(options.context_tokens, count_tokens)
        self._resources = JudgeResources(model=model, options=options, cache=ReplyCache(None))

    def verdict(self, trajectory: Trajectory, focus: Iterable[int] = ()) -> JudgeQuestion:
        """The question of the protocol ``all-at-once``.

        Args:
            trajectory: What happened.
            focus: Steps that are cut last when the run is longer than the context.

        Raises:
            AttributionError: The context is too small for the question alone.
        """
        session = self._session(trajectory)
        messages = session.messages(ALL_AT_ONCE, whole_run(session, focus))
        return JudgeQuestion(messages=messages, shown=_shown(messages))

    def shortlist(self, trajectory: Trajectory, candidates: Mapping[int, float]) -> list[JudgeQuestion]:
        """The question of the protocol ``shortlist``, once for every order of the options that the judge tries.

        Args:
            trajectory: What happened.
            candidates: Weight of each step from another method.

        Raises:
            AttributionError: The context is too small for the question alone.
        """
        session = self._session(trajectory)
        steps = sorted(first_of(session.case, candidates))
        if not steps:
            return []
        choice = shortlist_choice(session, steps)
        found = []
        for order in orders(session, choice):
            messages = session.messages(SHORTLIST, values_of(choice, order))
            chosen = tuple(choice.options[place].step for place in order)
            found.append(JudgeQuestion(messages=messages, shown=_shown(messages), options=chosen))
        return found

    def _session(self, trajectory: Trajectory) -> JudgeSession:
        case = JudgeCase(trajectory, None, header_chars=header_chars(self._options.context_tokens))
        meter = Meter(self._options.budget)
        return JudgeSession(resources=self._resources, case=case, protocol=self._options.protocol, meter=meter)


def answerable_steps(trajectory: Trajectory) -> tuple[int, ...]:
    """The steps that may be the answer: those of the team's members, or all when only people acted."""
    return _case(trajectory).answerable


def read_verdict(text: str, trajectory: Trajectory) -> JudgeAnswer | None:
    """The content of a reply to :meth:`JudgeQuestions.verdict`; None for one that the judge would not accept."""
    case = _case(trajectory)
    try:
        reply = parse_reply(text, VerdictReply)
        verdict = verdict_of(reply, case)
        named = case.agent_named(reply.agent, at=verdict.step)
    except ReplyError:
        return None
    if verdict.abstention is not None:
        return JudgeAnswer(agent=None, step=None)
    pairs: list[tuple[str, ErrorMode | None]] = [(named, reply.error_mode)]
    for other in reply.other_faults:
        try:
            pairs.append((case.agent_named(other.agent), other.error_mode))
        except ReplyError:
            pairs.append((other.agent, other.error_mode))
    return JudgeAnswer(agent=named, step=verdict.step, pairs=tuple(pairs))


def read_choice(text: str, options: Sequence[int | None], trajectory: Trajectory) -> JudgeAnswer | None:
    """The content of a reply to :meth:`JudgeQuestions.shortlist`; None for one that the judge would not accept."""
    try:
        reply = parse_reply(text, ChoiceReply)
    except ReplyError:
        return None
    label, labels = reply.choice.strip().strip(")").upper(), labels_for(len(options))
    if label not in labels:
        return None
    step = options[labels.index(label)]
    agent = None if step is None else trajectory.steps[step].agent
    return JudgeAnswer(agent=agent, step=step, pairs=() if agent is None else ((agent, None),))


def choice_reply(label: str) -> str:
    """The reply that chooses ``label``."""
    return json.dumps({"choice": label})


def evidence_quote(step: Step, quote: str) -> str | None:
    """``quote`` as it stands in the step, else the step's first words; None for a step without text."""
    return (find_quote(step, quote) if quote else None) or opening(step)


def write_judge_options(directory: Path, options: JudgeOptions) -> Path:
    """Say beside a model's weights how it is asked; :func:`~tracer_hooks.diagnosis.get_attributor` reads it."""
    path = directory / JUDGE
    path.write_bytes(options_as_json(options))
    return path


def _case(trajectory: Trajectory) -> JudgeCase:
    return JudgeCase(trajectory, None, header_chars=_CHOICE_CHARS)


def _shown(messages: Sequence[ChatMessage]) -> frozenset[int]:
    return frozenset(int(number) for number in _STEP_LINE.findall(messages[-1].content))


class _Counter:
    """Counts tokens in place of a model."""

    name = identity = "teaching"

    def __init__(self, context_tokens: int, count_tokens: Callable[[str], int]) -> None:
        self.context_tokens = context_tokens
        self._count = count_tokens

    def count_tokens(self, text: str) -> int:
        return self._count(text)

    def complete(self, request: ChatRequest, *, timeout_s: float | None = None) -> ChatCompletion:
        raise AttributionError("a question for training is not asked")
