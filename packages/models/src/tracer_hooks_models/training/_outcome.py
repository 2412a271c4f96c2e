"""Outcome of a training run: metrics.json and the model card, in the same words."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

from tracer_hooks.extension import write_files
from tracer_hooks_models.training._config import RunConfig
from tracer_hooks_models.training._run import METRICS, options_of

CARD = "README.md"
_NOT_TOLD = {"out", "resume", "log_every", "tensorboard"}
_LIBRARIES = ("tracer-hooks", "torch", "transformers", "trl", "peft", "accelerate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Contents of a card."""

    title: str
    summary: str
    """One or two sentences: what the model is and how it was trained."""
    options: Mapping[str, Any]
    parts: Mapping[str, int]
    """How many trajectories each part has."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many rows were left out or completed, for each reason."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Figures of each part that was held out: a dataclass or a mapping, all with the same keys."""


def write_card(folder: Path, card: Card) -> None:
    """Write the card to ``README.md`` of a folder."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tracer_hooks_models.training", "."),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    rows = {name: _plain(one) for name, one in card.figures.items() if one is not None}
    columns: Sequence[str] = list(next(iter(rows.values()), {}))
    text = environment.get_template("card.md.j2").render(
        title=card.title,
        summary=card.summary,
        folder=folder.name,
        options=[(key, value) for key, value in card.options.items() if key not in _NOT_TOLD and value is not None],
        versions=_versions(),
        parts=list(card.parts.items()),
        left_out=sorted(card.left_out.items()),
        columns=columns,
        figures=[(name, [_number(one.get(key)) for key in columns]) for name, one in rows.items()],
    )
    write_files({folder / CARD: text.encode()})


def _plain(figures: Any) -> dict[str, Any]:
    return asdict(figures) if is_dataclass(figures) and not isinstance(figures, type) else dict(figures)


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _number(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "-" if value is None else str(value)


def _versions() -> str:
    found = []
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return "With " + ", ".join(found) + "."


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Outcome of a run."""

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
        """Return the contents of ``metrics.json``."""
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
