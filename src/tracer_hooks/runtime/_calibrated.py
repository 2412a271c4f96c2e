"""Attributors that were fitted to the user's own teams, found by the team they belong to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field, ValidationError

from tracer_hooks._files import remove_folder, replaced_folder, seal, whole_folder, write_files
from tracer_hooks._guard import logger, warn_once
from tracer_hooks._reading import parse_json, read_bytes
from tracer_hooks.config import StorePlace, home_folder
from tracer_hooks.diagnosis import Attributor, get_attributor
from tracer_hooks.errors import TracerHooksError
from tracer_hooks.schema import Record, Text, Trajectory
from tracer_hooks.store import fingerprint

CARD = "team.json"
_ALIKE = 0.5
"""A run whose agents are less than half the calibrated team's is one of another team of the same name."""
_READ_TRIES = 3
"""A folder that is replaced while it is read is read again, so often."""
_NOTHING: Mapping[str, bytes] = MappingProxyType({})


class TeamCard(Record):
    """The team that an attributor was fitted to."""

    framework: Text
    """The framework."""
    team: Text
    """The team's name."""
    agents: tuple[Text, ...] = Field(min_length=1)
    """Its agents."""
    labels: int = 0
    """Labelled failures that it was fitted to."""

    @property
    def fingerprint(self) -> str:
        """Names the team's folder: readable, and different for teams whose names differ in signs only."""
        return fingerprint(self.framework, self.team)


def team_card(trajectories: Sequence[Trajectory]) -> TeamCard:
    """The card of the team whose runs these are."""
    agents = dict.fromkeys(name for trajectory in trajectories for name in trajectory.agent_names)
    first = trajectories[0]
    return TeamCard(framework=first.framework, team=first.team, agents=tuple(agents), labels=len(trajectories))


def attributors_folder(store: StorePlace | None = None) -> Path:
    """Return the folder of fitted attributors: beside the run store, or where it would be."""
    return home_folder(store) / "attributors"


class CalibratedAttributors:
    """The fitted attributors in a folder; each is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, tuple[TeamCard, Attributor] | None] = {}

    def attributor_for(self, trajectory: Trajectory) -> Attributor | None:
        """The attributor that was fitted to the team of this run; None when there is none, or it cannot be read."""
        name = fingerprint(trajectory.framework, trajectory.team)
        if name not in self._read:
            self._read[name] = self._load(self._folder / name)
        found = self._read[name]
        if found is None:
            return None
        card, attributor = found
        agents = set(trajectory.agent_names)
        if agents and len(agents & set(card.agents)) < _ALIKE * len(agents):
            warn_once(
                f"other agents {name}",
                "tracer-hooks does not use the attributor in %s: it was fitted to a team with the agents %s",
                str(self._folder / name),
                ", ".join(card.agents),
            )
            return None
        return attributor

    def _load(self, folder: Path) -> tuple[TeamCard, Attributor] | None:
        for _ in range(_READ_TRIES):
            place = whole_folder(folder)
            before = _identity(place)
            found = self._load_from(place)
            if before == _identity(place):
                return found
        return found

    def _load_from(self, folder: Path) -> tuple[TeamCard, Attributor] | None:
        if not (folder / CARD).is_file():
            return None
        try:
            card = TeamCard.model_validate(parse_json(read_bytes(folder / CARD)))
            return card, get_attributor(folder)
        except (OSError, ValueError, ValidationError, TracerHooksError) as error:
            logger.warning("tracer-hooks does not use the fitted attributor in %s: %s", folder, error)
            return None


def _identity(folder: Path) -> int | None:
    try:
        return os.stat(folder).st_ino
    except OSError:
        return None


def forget_calibrated(folder: Path, card: TeamCard) -> None:
    """Remove the attributor that was fitted to this team earlier, if there is one."""
    target = folder / card.fingerprint
    if (whole_folder(target) / CARD).is_file():
        remove_folder(target)


def save_calibrated(folder: Path, attributor: Any, card: TeamCard, beside: Mapping[str, bytes] = _NOTHING) -> Path:
    """Write a fitted attributor under its team's fingerprint; gives its folder. Takes effect in the next process.

    The folder takes the place of an earlier one as a whole: whatever happens, card and attributor belong together.
    """
    target = folder / card.fingerprint
    with replaced_folder(target) as new:
        attributor.save(new)
        written = {CARD: (card.model_dump_json(indent=2) + "\n").encode(), **beside}
        write_files({new / name: data for name, data in written.items()})
        seal(new.rglob("*"))  # an attributor of another distribution knows nothing of whose folder it is
    return target
