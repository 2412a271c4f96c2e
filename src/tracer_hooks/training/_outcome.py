"""What came of a run, told in the same words by ``metrics.json`` and by the card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tracer_hooks._atomic_files import write_files
from tracer_hooks.training._config import RunConfig
from tracer_hooks.training._model_card import Card, write_card
from tracer_hooks.training._run import METRICS, options_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run."""

    kind: str
    """How it was trained."""
    title: str
    """Of the card, after the model's name."""
    summary: str
    """One sentence of the card: what the model is, and what it was trained from."""
    training: Mapping[str, Any]
    """How training went."""
    trajectories: Mapping[str, int]
    """How many each part has."""
    left_out: Mapping[str, int]
    """How many rows were left out or completed, for each reason."""
    figures: Mapping[str, Mapping[str, Any] | None]
    """Of each part that was held out; None where there was nothing to ask."""
    card_figures: Mapping[str, Mapping[str, Any] | None] | None = None
    """Those of the card, where it shows fewer."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """What only this kind of run has."""

    @property
    def metrics(self) -> dict[str, Any]:
        """What stands in ``metrics.json``."""
        return {
            "kind": self.kind,
            "training": dict(self.training),
            "trajectories": dict(self.trajectories),
            "left_out": dict(self.left_out),
            **self.more,
            "figures": dict(self.figures),
        }


def write_outcome(config: RunConfig, outcome: Outcome) -> None:
    """Write ``metrics.json`` and the card.

    Raises:
        OSError: One of them cannot be written.
    """
    write_card(
        config.out,
        Card(
            title=f"{config.out.name}: {outcome.title}",
            summary=outcome.summary,
            options=options_of(config),
            parts=outcome.trajectories,
            left_out=outcome.left_out,
            figures=outcome.figures if outcome.card_figures is None else outcome.card_figures,
        ),
    )
    # The last file of a run: where it stands, the run is done.
    write_files({config.out / METRICS: (json.dumps(outcome.metrics, indent=1, default=str) + "\n").encode()})
