"""What a folder was begun with: a build that goes on there must go on with the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from tracer_hooks.datasets._labeled import write_atomically
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.schema import Json, Record, to_json
from tracer_hooks.suites import SuiteTask

NAME = "build.json"
_MAY_GROW = ("repeats", "faults_per_run")


class BuildPlan(Record):
    """What shapes the data of one folder."""

    teams: dict[str, dict[str, Json]]
    """The teams, with what is known of them."""
    tasks: dict[str, str]
    """The tasks by ``suite/id``, each with a digest of what it asks and how it is graded."""
    options: dict[str, Json]
    """The options, see :meth:`BuildOptions.described`."""

    @classmethod
    def of(
        cls, teams: Mapping[str, Mapping[str, Json]], tasks: Iterable[SuiteTask], options: Mapping[str, Json]
    ) -> BuildPlan:
        """The plan of these teams and tasks."""
        return cls(
            teams={name: dict(known) for name, known in teams.items()},
            tasks={f"{task.suite}/{task.id}": _digest(task) for task in tasks},
            options=dict(options),
        )

    def keep(self, folder: Path) -> None:
        """Write it to ``folder``, unless another plan is there that it does not go on with.

        More teams, tasks, repeats and faults a run go on; everything else has to be as it was.

        Raises:
            ConfigError: The folder was begun with something else; the message names it.
            DatasetError: The file cannot be read or written.
        """
        place = folder / NAME
        earlier = _read(place)
        if earlier is not None:
            differences = list(_differences(earlier, self))
            if differences:
                raise ConfigError(
                    f"{str(folder)!r} was begun with other options: {'; '.join(differences)}. Give the earlier ones, "
                    "or another folder; only more teams, tasks, repeats and faults go on in the same one"
                )
        if earlier != self:
            write_atomically({place: f"{self.model_dump_json(indent=2)}\n".encode()})


def _read(place: Path) -> BuildPlan | None:
    try:
        return BuildPlan.model_validate_json(place.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise DatasetError(
            f"cannot read {str(place)!r}, which says what the folder was begun with: {error}. Take another folder"
        ) from error


def _differences(earlier: BuildPlan, now: BuildPlan) -> Iterator[str]:
    for name in sorted({*earlier.options, *now.options}):
        before, after = earlier.options.get(name), now.options.get(name)
        if before != after and not _grows(name, before, after):
            yield f"{name} was {_shown(before)} and is {_shown(after)}"
    yield from _other("team", earlier.teams, now.teams)
    yield from _other("task", earlier.tasks, now.tasks)


def _grows(name: str, before: Json, after: Json) -> bool:
    if name == "natural":
        return before is False and after is True
    return name in _MAY_GROW and isinstance(before, int) and isinstance(after, int) and after > before


def _other(
    what: str, before: Mapping[str, Json | dict[str, Json]], after: Mapping[str, Json | dict[str, Json]]
) -> Sequence[str]:
    lost = [name for name in before if name not in after]
    changed = [name for name in before if name in after and before[name] != after[name]]
    found = []
    if lost:
        found.append(f"{len(lost)} {what}s are missing, such as {lost[0]!r}")
    if changed:
        name = changed[0]
        how = "" if what == "task" else f" ({_shown(before[name])}, now {_shown(after[name])})"
        found.append(f"the {what} {name!r} is another one{how}")
    return found


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _digest(task: SuiteTask) -> str:
    return hashlib.sha256(to_json(task).encode()).hexdigest()[:16]
