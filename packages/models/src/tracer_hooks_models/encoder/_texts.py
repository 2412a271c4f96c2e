"""Input of the encoder: texts of steps, their token ids, speakers, places and structural features."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.errors import AttributionError
from tracer_hooks.extension import Role, brief, features_of, fold, read_bytes, reason_of, require, roles_of
from tracer_hooks.schema import Step, Trajectory, to_text
from tracer_hooks_models._shipped import refuse_changed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_NO_AGENT = frozenset(("system", "developer"))

# Far more characters than any budget of tokens needs; spares the tokenizer pages of a tool's output.
_LONGEST = 1200


@dataclass(frozen=True, slots=True)
class EncodedStepText:
    """The four texts of one step; any of them may be empty."""

    task: str
    """What the team was asked."""
    before: str
    """The message that the step answers."""
    own: str
    """What the agent wrote, and what its tools gave."""
    after: str
    """The next step's words."""


@dataclass(frozen=True, slots=True)
class TrajectoryText:
    """A trajectory as the encoder reads it; every tuple has one entry for each step."""

    steps: tuple[EncodedStepText, ...]
    agents: tuple[str, ...]
    """Names of the agents that acted, in the order of their first step; people and system prompts are left out."""
    speakers: tuple[int, ...]
    """Position in :attr:`agents` of who acted; -1 for a person or a system prompt, who cannot be at fault."""
    reporters: tuple[bool, ...]
    """Whether the step only says what a machine printed."""


def text_of(trajectory: Trajectory) -> TrajectoryText:
    """The texts, speakers and roles of a trajectory's steps."""
    spoken = [_said(step) for step in trajectory.steps]
    roles = roles_of(trajectory)
    agents: dict[str, int] = {}
    speakers = [
        -1 if role is Role.PERSON or fold(step.agent) in _NO_AGENT else agents.setdefault(step.agent, len(agents))
        for step, role in zip(trajectory.steps, roles, strict=True)
    ]
    task = _clip(trajectory.task)
    steps = tuple(
        EncodedStepText(
            task=task,
            before=_answered(step, spoken),
            own=spoken[k],
            after=spoken[k + 1] if k + 1 < len(spoken) else "",
        )
        for k, step in enumerate(trajectory.steps)
    )
    return TrajectoryText(steps, tuple(agents), tuple(speakers), tuple(role is Role.REPORTER for role in roles))


def _answered(step: Step, spoken: list[str]) -> str:
    for source in reversed(step.inputs):
        if source.text:
            return _clip(source.text)
        if source.step is not None and 0 <= source.step < step.index:
            return spoken[source.step]
    return spoken[step.index - 1] if step.index else ""


def _said(step: Step) -> str:
    parts = [_unwrapped(step.content)]
    for call in step.tool_calls:
        parts.append(f"{call.name}({'' if call.arguments is None else to_text(call.arguments)})")
        parts.append(f"error: {call.error}" if call.error is not None else call.result or "")
    if step.error:
        parts.append(f"error: {step.error}")
    if step.recipient:
        parts.append(f"to {step.recipient}")
    return _clip("\n".join(part for part in parts if part))


def _unwrapped(content: str) -> str:
    """The text of a list of content parts that was logged as Python or JSON source, else the content as it is."""
    if not content.startswith("[{") or ("'text'" not in content[:40] and '"text"' not in content[:40]):
        return content
    try:
        parts = ast.literal_eval(content)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return content
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part) or content


def _clip(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 2 * _LONGEST else f"{text[:_LONGEST]}\n{text[-_LONGEST:]}"


TOKENIZER = "tokenizer.json"
"""The tokenizer's file in a model's folder."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Most tokens for each part of a step; of :attr:`own_head` and :attr:`own_tail` the middle is left out."""

    task: int = 10
    before: int = 16
    own_head: int = 40
    own_tail: int = 30
    after: int = 10


@dataclass(frozen=True, slots=True)
class StepTokens:
    """One step's token ids."""

    ids: tuple[int, ...]
    """The whole sequence, special tokens included."""
    own: tuple[int, int]
    """Where the step's own words begin and end in it."""


class StepTokenizer:
    """Cuts step texts into token ids.

    Args:
        directory: A folder with ``tokenizer.json``.
        budget: Tokens for each part.
    """

    def __init__(self, directory: Path, budget: Budget | None = None) -> None:
        tokenizers = require("tokenizers", extra="models", feature="the attributor 'encoder'")
        path = directory / TOKENIZER
        refuse_changed(path)
        try:
            self._tokenizer: Tokenizer = tokenizers.Tokenizer.from_str(read_bytes(path).decode("utf-8"))
        except Exception as error:  # the library raises a bare Exception
            raise AttributionError(
                f"{str(path)!r} is no tokenizer ({brief(reason_of(error))}): fetch or train the encoder again"
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._budget = budget or Budget()
        self._cls, self._sep = self._special("[CLS]"), self._special("[SEP]")
        self._known: dict[str, list[int]] = {}

    def tokens_of(self, steps: tuple[EncodedStepText, ...]) -> list[StepTokens]:
        """One sequence for each step."""
        self._read({text for step in steps for text in (step.task, step.before, step.own, step.after)})
        found = [self._one(step) for step in steps]
        self._known.clear()
        return found

    def _read(self, texts: set[str]) -> None:
        ordered = sorted(texts)
        encoded = self._tokenizer.encode_batch(ordered, add_special_tokens=False)
        self._known = {text: one.ids for text, one in zip(ordered, encoded, strict=True)}

    def _one(self, step: EncodedStepText) -> StepTokens:
        budget, known = self._budget, self._known
        own = known[step.own]
        if len(own) > budget.own_head + budget.own_tail:
            own = [*own[: budget.own_head], self._sep, *own[len(own) - budget.own_tail :]]
        before = known[step.before]
        ids = [self._cls, *known[step.task][: budget.task], self._sep]
        ids += [*before[max(0, len(before) - budget.before) :], self._sep]
        start = len(ids)
        ids += [*own, self._sep]
        return StepTokens((*ids, *known[step.after][: budget.after], self._sep), (start, start + max(1, len(own))))

    def _special(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise ValueError(f"the tokenizer has no token {token!r}")
        return found


@dataclass(frozen=True, slots=True)
class EncoderInput:
    """The n steps of a trajectory that an agent took; those of people and system prompts are left out."""

    text: TrajectoryText
    tokens: tuple[StepTokens, ...]
    """The candidate steps' tokens."""
    steps: NDArray[np.int64]
    """(n,): index of each candidate step in the trajectory."""
    speakers: NDArray[np.int64]
    """(n,): position of its agent in ``text.agents``."""
    positions: NDArray[np.float32]
    """(n,): place in the run, from 0 to 1."""
    reporters: NDArray[np.float32]
    """(n,): 1 where the step only says what a machine printed."""
    features: NDArray[np.float32]
    """(n, F): structural features, normalised within the trajectory."""


def read(trajectory: Trajectory, tokenizer: StepTokenizer, features: Sequence[str]) -> EncoderInput:
    """Read a trajectory.

    Args:
        trajectory: What happened.
        tokenizer: Cuts the steps' texts.
        features: Names of the structural features that are wanted, in this order.

    Raises:
        AttributionError: There is no structural feature of one of these names.
    """
    text = text_of(trajectory)
    steps = np.array([k for k, speaker in enumerate(text.speakers) if speaker >= 0], np.int64)
    total = max(1, len(text.steps) - 1)
    return EncoderInput(
        text=text,
        tokens=tuple(tokenizer.tokens_of(tuple(text.steps[k] for k in steps))) if len(steps) else (),
        steps=steps,
        speakers=np.array([text.speakers[k] for k in steps], np.int64),
        positions=(steps / total).astype(np.float32),
        reporters=np.array([text.reporters[k] for k in steps], np.float32),
        features=_features(trajectory, features)[steps] if len(steps) else np.zeros((0, len(features)), np.float32),
    )


def feature_names() -> tuple[str, ...]:
    """The structural features that this version computes, in the order in which an encoder is trained on them."""
    blank = Trajectory(run_id="names", task="", steps=(Step(index=0, agent="agent", content="text"),))
    return features_of(blank).names


RETIRED = tuple(f"rules: {it}" for it in ("handoff", "ignored input", "repetition", "termination", "verification"))
"""Features of rules that are gone, which shipped weights still read: 0, as of a run without such a signal."""


def _features(trajectory: Trajectory, names: Sequence[str]) -> NDArray[np.float32]:
    if not names:
        return np.zeros((len(trajectory.steps), 0), np.float32)
    table = features_of(trajectory)
    columns = dict.fromkeys(RETIRED, np.zeros(len(table.values)))
    columns.update(zip(table.names, table.standardised().T, strict=True))
    missing = next((name for name in names if name not in columns), None)
    if missing is not None:
        raise AttributionError(
            f"the encoder's weights use the structural feature {missing!r}, which this version does not compute: "
            "train them again with `tracer-hooks train contrastive`"
        )
    return np.stack([columns[name] for name in names], axis=1).clip(-4.0, 4.0).astype(np.float32)
