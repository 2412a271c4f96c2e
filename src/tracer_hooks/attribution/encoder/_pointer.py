"""A pointer fitted to a user's own labels, on top of the shipped one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._atomic_files import write_files
from tracer_hooks.attribution._weight_files import finite, read_weights
from tracer_hooks.errors import AttributionError

if TYPE_CHECKING:
    from tracer_hooks.attribution.encoder._engine import Scored

POINTER = "pointer.json"


@dataclass(frozen=True, slots=True)
class Pointer:
    """Logits of the steps: ``slope`` times the shipped pointer, and a linear function of the step's design row."""

    slope: float
    weights: tuple[float, ...]
    spread: tuple[float, ...]
    """What each column of the design is divided by."""
    features: tuple[str, ...]
    """Names of the structural features in the design."""

    def logits(self, scored: Scored) -> NDArray[np.float64]:
        """(n,): log-belief, up to a constant, of each candidate step.

        Raises:
            AttributionError: The pointer was fitted on top of another encoder.
        """
        design = design_of(scored)
        if design.shape[1] != len(self.weights):
            raise AttributionError(
                f"the fitted pointer reads {len(self.weights)} numbers a step and this encoder gives "
                f"{design.shape[1]}: run `tracer-hooks fit` again"
            )
        logits: NDArray[np.float64] = self.slope * scored.pointer + (design / np.array(self.spread)) @ np.array(
            self.weights
        )
        return logits

    def save(self, directory: Path) -> None:
        """Write the pointer beside the weights of its encoder."""
        write_files({directory / POINTER: (json.dumps(asdict(self)) + "\n").encode()})

    @classmethod
    def load(cls, directory: Path) -> Pointer | None:
        """The fitted pointer of a folder; None when there is none.

        Raises:
            AttributionError: The file is damaged.
        """
        path = directory / POINTER
        if not path.is_file():
            return None
        again = "Run: tracer-hooks fit --attributor encoder --labels PATH --out DIR"
        return read_weights(path, cls._of, what="fitted pointer", again=again)

    @classmethod
    def _of(cls, data: Mapping[str, Any]) -> Pointer:
        weights, spread = (tuple(map(finite, data[key])) for key in ("weights", "spread"))
        if len(weights) != len(spread) or any(one <= 0 for one in spread):
            raise ValueError("'spread' must hold a positive number for each of 'weights'")
        if not all(isinstance(name, str) for name in data["features"]):
            raise ValueError("'features' must be a list of names")
        return cls(slope=finite(data["slope"]), weights=weights, spread=spread, features=tuple(data["features"]))


def design_of(scored: Scored) -> NDArray[np.float64]:
    """(n, columns): the step's state, the structural features, and the log-odds of its agent, less their means."""
    agent = scored.agents[scored.reading.speakers][:, None]
    design = np.concatenate([scored.states, scored.reading.features.astype(np.float64), agent], axis=1)
    centred: NDArray[np.float64] = design - design.mean(axis=0, keepdims=True)
    return centred
