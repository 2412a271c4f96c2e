"""One task of a suite, and files of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from pydantic import Field, ValidationError

from tracer_hooks._reading import first_problem
from tracer_hooks.answers import final_answer, matches_reference
from tracer_hooks.errors import ConfigError, DatasetError, MissingExtraError
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.schema import Json, Record, Text, to_json

USER_SUITE: Final = "user"
"""The suite's name of tasks from a user's own file."""
GROUP: Final = "tracer_hooks.suites"
"""Entry points of this group give the check of a suite's task and environment."""
_TEXT_KEYS: Final = ("task", "text")
_REFERENCE_KEYS: Final = ("reference", "expected", "answer")


class SuiteTask(Record):
    """Task that a team is asked, and what its grader needs."""

    id: Text = Field(min_length=1)
    """Unique in its suite; the same for the same seed, difficulty and place."""
    suite: Text = USER_SUITE
    """Name of the suite that grades it."""
    text: Text = Field(min_length=1)
    """What the team is asked, with how the final answer has to be written."""
    reference: Text | None = None
    """The expected answer as text, when there is one."""
    data: dict[str, Json] = Field(default_factory=dict)
    """What the grader needs beyond the reference; never shown to the team."""


def save_tasks(path: str | Path, tasks: Iterable[SuiteTask]) -> None:
    """Write tasks to ``path``, one JSON object a line, in UTF-8.

    Raises:
        DatasetError: The file cannot be written.
    """
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(to_json(task) + "\n" for task in tasks)
    except OSError as error:
        raise DatasetError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def load_tasks(path: str | Path) -> tuple[SuiteTask, ...]:
    """Read tasks from ``path``: what :func:`save_tasks` wrote, or a user's own file.

    A user's own file has one JSON object a line with ``task`` (or ``text``), and if wanted ``id`` and ``reference``
    (or ``expected`` or ``answer``). Other fields go into :attr:`SuiteTask.data`. A line without an id is named for
    the file and the line. Empty lines are passed over.

    Raises:
        DatasetError: The file cannot be read or has no task, or a line is not a task; the message names the line.
    """
    name = str(path)
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"cannot read {name!r}: {getattr(error, 'strerror', None) or error}") from error
    tasks: dict[tuple[str, str], SuiteTask] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            task = _read_line(line, default_id=f"{Path(path).stem}-{number}")
            if (task.suite, task.id) in tasks:
                raise DatasetError(f"the id {task.id!r} is already taken by an earlier line")
        except DatasetError as error:
            raise DatasetError(f"{name!r}, line {number}: {error}") from error
        tasks[task.suite, task.id] = task
    if not tasks:
        raise DatasetError(f'{name!r} holds no task; expected lines such as {{"task": "...", "reference": "..."}}')
    return tuple(tasks.values())


def _read_line(line: str, default_id: str) -> SuiteTask:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise DatasetError(f"expected a JSON object, got {type(data).__name__}")
    fields = data if "suite" in data else _from_user(data, default_id)
    try:
        return SuiteTask.model_validate(fields)
    except ValidationError as error:
        where, what = first_problem(error, whole="task")
        raise DatasetError(f"not a task: {where!r}: {what}") from error


def _from_user(data: dict[str, Any], default_id: str) -> dict[str, Any]:
    rest = dict(data)
    text = _take(rest, _TEXT_KEYS)
    if not isinstance(text, str) or not text.strip():
        raise DatasetError(f"expected the task's text under 'task', got {text!r}; the line has {sorted(data)}")
    reference, given_id = _take(rest, _REFERENCE_KEYS), rest.pop("id", None)
    extra = rest.pop("data", {})
    if not isinstance(extra, dict):
        raise DatasetError(f"expected an object under 'data', got {extra!r}")
    return {
        "id": default_id if given_id is None else _plain(given_id),
        "text": text,
        "reference": None if reference is None else _plain(reference),
        "data": {**rest, **extra},
    }


def _take(data: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """The first of ``keys`` that is there; two of them on one line would leave open which counts."""
    present = [key for key in keys if key in data]
    if len(present) > 1:
        raise DatasetError(f"has both {present[0]!r} and {present[1]!r}; keep one")
    return data.pop(present[0]) if present else None


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def check_of(task: SuiteTask, environment: Any = None) -> Callable[[RunResult, str], Verdict]:
    """The check of ``task``, for ``tracer_hooks.hook(check=...)``.

    A task from a user's own file is compared with its reference; a suite's task is graded by its suite.

    Args:
        task: The task that the team works on.
        environment: What the team's tools work on, where the suite has such.

    Raises:
        ConfigError: The task's suite is unknown, or nothing is there that it could be graded by.
        MissingExtraError: The distribution of the suites is not installed.
    """
    if task.suite != USER_SUITE:
        for point in entry_points(group=GROUP):
            found: Callable[[RunResult, str], Verdict] = point.load()(task, environment)
            return found
        raise MissingExtraError(f"the suite {task.suite!r}", "tracer-hooks[lab]")
    if task.reference is None:
        raise ConfigError(f"task {task.id!r} has no reference; add 'reference' to its line, or pass your own check")
    return lambda result, _text: _check_reference(task, result.text)


def _check_reference(task: SuiteTask, text: str) -> Verdict:
    if matches_reference(text, task.reference or ""):
        return Verdict(passed=True, score=1.0)
    return failed(f"{shown(final_answer(text))} is not the expected answer")


def failed(reason: str, score: float = 0.0) -> Verdict:
    """A failed verdict."""
    return Verdict(passed=False, reason=reason, score=score)


def shown(answer: str) -> str:
    """``answer`` quoted for a reason, cut to one short line."""
    return repr(answer if len(answer) <= 80 else answer[:77] + "...")
