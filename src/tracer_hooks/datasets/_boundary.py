"""The one boundary between files that strangers wrote and everything that works with runs.

Whatever happens while a record is read ends here, as a :class:`LoadedRecord` that names the file, the record in it and
the reason. A reader says what it knows to be wrong with :class:`TrajectoryError`; anything else that it raises is a
fault of ours that one odd value found, and must not hide the good records beside it. ``TRACER_HOOKS_STRICT=1`` raises
that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pydantic import ValidationError

from tracer_hooks._first_problem import first_problem
from tracer_hooks._guard import is_strict
from tracer_hooks._limits import brief, too_many
from tracer_hooks.datasets._record import LoadedRecord
from tracer_hooks.errors import ConfigError, MissingExtraError, TracerHooksError, TrajectoryError


def refused(source: object, reason: str) -> LoadedRecord:
    """The record of ``source`` that could not be read; a long reason is cut in its middle."""
    name = str(source)
    told = reason.removeprefix(f"{name!r}: ")
    return LoadedRecord(source=name, error=TrajectoryError(f"{name!r}: {brief(told)}"))


def read_record(source: object, read: Callable[[], LoadedRecord]) -> LoadedRecord:
    """What ``read`` gives, or the reason why it gives nothing."""
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
