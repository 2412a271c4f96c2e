"""A trajectory as arrays: the candidate steps with their tokens, speakers, places and structural features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._features import features_of
from tracer_hooks.attribution.encoder._texts import TrajectoryText, text_of
from tracer_hooks.attribution.encoder._tokens import StepTokenizer, StepTokens
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import Step, Trajectory


@dataclass(frozen=True, slots=True)
class Reading:
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


def read(trajectory: Trajectory, tokenizer: StepTokenizer, features: Sequence[str]) -> Reading:
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
    return Reading(
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


def _features(trajectory: Trajectory, names: Sequence[str]) -> NDArray[np.float32]:
    if not names:
        return np.zeros((len(trajectory.steps), 0), np.float32)
    table = features_of(trajectory)
    places = {name: k for k, name in enumerate(table.names)}
    missing = [name for name in names if name not in places]
    if missing:
        raise AttributionError(
            f"the encoder's weights use the structural feature {missing[0]!r}, which this version does not compute: "
            "train them again with `tracer-hooks train contrastive`"
        )
    values = table.standardised()[:, [places[name] for name in names]]
    return np.clip(values, -4.0, 4.0).astype(np.float32)
