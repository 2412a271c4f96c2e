"""Attributors that were fitted to the user's own teams, found by the team they belong to."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from tracer_hooks._background import start_daemon
from tracer_hooks._files import remove_folder, replaced_folder, seal, whole_folder, write_files
from tracer_hooks._guard import logger, warn_once
from tracer_hooks._reading import parse_json, read_bytes
from tracer_hooks.config import ServerUrl, StorePlace, home_folder, store_place
from tracer_hooks.diagnosis import Attributor, get_attributor
from tracer_hooks.errors import StoreError, TracerHooksError
from tracer_hooks.runtime._store_writer import SERVER_PATIENCE_S, warn_of_store
from tracer_hooks.schema import Record, Text, Trajectory
from tracer_hooks.store import fingerprint

if TYPE_CHECKING:
    from tracer_hooks.store import AttributorStore

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
    """Return the folder of fitted attributors: beside the run store, or where it would be.

    Where the store is on a server, that holds them, and in the folder is what was read or written here.
    """
    return home_folder(store) / "attributors"


class CalibratedAttributors:
    """The fitted attributors in a folder, or of a store on a server; each is read once."""

    def __init__(self, folder: Path, store: StorePlace | None = None) -> None:
        self._folder = folder
        self._server = store if isinstance(store, ServerUrl) else None
        self._read: dict[str, tuple[TeamCard, Attributor] | None] = {}
        self._fetching: dict[str, threading.Thread] = {}

    def attributor_for(self, trajectory: Trajectory) -> Attributor | None:
        """The attributor that was fitted to the team of this run; None when there is none, or it cannot be read."""
        name = fingerprint(trajectory.framework, trajectory.team)
        if name not in self._read:
            is_fetched = self._is_fetched(name)  # what comes later is for later runs
            found = self._load(self._folder / name)
            if is_fetched:
                self._read[name] = found
        else:
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

    def _is_fetched(self, name: str) -> bool:
        if self._server is None:
            return True
        if name not in self._fetching:
            fetch = functools.partial(_fetch, self._server, name, self._folder / name)
            self._fetching[name] = start_daemon(fetch, "tracer-hooks-attributors")
        self._fetching[name].join(SERVER_PATIENCE_S)
        return not self._fetching[name].is_alive()

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


def _fetch(server: ServerUrl, name: str, folder: Path) -> None:
    """Put what those who share a store have fitted in place of what is here."""
    from tracer_hooks.store import AttributorStore

    try:
        with tempfile.TemporaryDirectory() as made, AttributorStore(server, read_only=True) as store:
            if store.exists() and store.get(name, Path(made)):
                with replaced_folder(folder) as new:
                    shutil.copytree(made, new, dirs_exist_ok=True)
                    seal(new.rglob("*"))
    except (StoreError, OSError) as error:
        warn_of_store(server, error, "uses the fitted attributor that is here, if any")


def _share(folder: Path, change: Callable[[AttributorStore], None]) -> None:
    """Change what a store on a server shares; nothing for a folder of the user's own, or a store in a file."""
    from tracer_hooks.store import AttributorStore

    place = store_place()
    if isinstance(place, ServerUrl) and folder == home_folder(place) / "attributors":
        try:
            change(AttributorStore(place))
        except StoreError as error:
            logger.warning("tracer-hooks changed the fitted attributor in %s, and for nobody else: %s", folder, error)


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
    _share(folder, lambda store: store.remove(card.fingerprint))


def save_calibrated(folder: Path, attributor: Any, card: TeamCard, beside: Mapping[str, bytes] = _NOTHING) -> Path:
    """Write a fitted attributor under its team's fingerprint; gives its folder. Takes effect in the next process.

    Where the run store is on a server, all who share that get it.

    The folder takes the place of an earlier one as a whole: whatever happens, card and attributor belong together.
    """
    target = folder / card.fingerprint
    with replaced_folder(target) as new:
        attributor.save(new)
        written = {CARD: (card.model_dump_json(indent=2) + "\n").encode(), **beside}
        write_files({new / name: data for name, data in written.items()})
        seal(new.rglob("*"))  # an attributor of another distribution knows nothing of whose folder it is
    _share(folder, lambda store: store.put(card.fingerprint, whole_folder(target)))
    return target
