"""One record of a data set, and the one boundary where files of strangers are read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tracer_hooks._guard import is_strict
from tracer_hooks._reading import brief, first_problem, too_many
from tracer_hooks.errors import ConfigError, MissingExtraError, TracerHooksError, TrajectoryError
from tracer_hooks.schema import LabeledTrajectory, Trajectory, to_json_value, to_text


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRecord:
    """One trajectory of a file, or the reason why there is none. Either ``trajectory`` or ``error`` is set."""

    source: str
    """The file's path; with ``:line`` or ``#position`` behind it when the file holds several records."""
    trajectory: Trajectory | None = None
    """What happened, without any label."""
    labeled: LabeledTrajectory | None = None
    """The same trajectory with its label, when the file has one."""
    stored: Mapping[str, Any] | None = None
    """What a run store kept of it beside the trajectory, as ``runs export`` writes it; nobody has checked it."""
    question_id: str | None = None
    """Groups the runs of one question, for data that is graded and not labelled."""
    error: TrajectoryError | None = None
    """Why the record could not be read."""


def refused(source: object, reason: str) -> LoadedRecord:
    """The record of ``source`` that could not be read; a long reason is cut in its middle."""
    name = str(source)
    told = reason.removeprefix(f"{name!r}: ")
    return LoadedRecord(source=name, error=TrajectoryError(f"{name!r}: {brief(told)}"))


def read_record(source: object, read: Callable[[], LoadedRecord]) -> LoadedRecord:
    """Return what ``read`` gives, or the reason why it gives nothing."""
    try:
        return _checked(read())
    except (ConfigError, MissingExtraError):
        raise
    except Exception as error:
        return refused(source, why(error))


def read_each(source: object, records: Iterable[LoadedRecord]) -> Iterator[LoadedRecord]:
    """Each of ``records``; where giving the next one fails, the reason, and no more of them."""
    given = iter(records)
    while True:
        try:
            record = _checked(next(given))
        except StopIteration:
            return
        except (ConfigError, MissingExtraError):
            raise
        except Exception as error:
            yield refused(source, why(error))
            return
        yield record


def _checked(record: LoadedRecord) -> LoadedRecord:
    if record.error is not None:
        return refused(record.source, str(record.error))
    trajectory = record.trajectory
    reason = too_many([step.agent for step in trajectory.steps]) if trajectory is not None else ""
    if reason:
        return refused(record.source, reason)
    return record


def why(error: Exception) -> str:
    """The reason in words; a fault of ours is raised when strict."""
    if isinstance(error, TracerHooksError):
        return str(error)
    if isinstance(error, ValidationError):
        where, what = first_problem(error)
        return f"{where!r}: {what}"
    if is_strict():
        raise error
    return f"the record is damaged, or of a kind that is not known: {type(error).__name__}: {error}"


def content_text(content: object) -> str:
    """The text of a message's content: a string, or the JSON of whatever else stands there."""
    if content is None:
        return ""
    if isinstance(content, str):
        return to_text(content)
    return json.dumps(to_json_value(content), ensure_ascii=False)


def letters(category: str) -> str:
    """A category without case, spaces and signs; the annotations spell some in several ways."""
    return "".join(char for char in category.casefold() if char.isalpha())


def digest(value: object) -> str:
    """Sixteen hex digits that stand for ``value``, the same on every machine."""
    text = json.dumps(to_json_value(value), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
