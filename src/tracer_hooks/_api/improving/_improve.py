"""``tracer_hooks.improve``: better prompts, accepted on tasks that did not propose them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tracer_hooks._api.improving._improve_options import ImproveOptions
from tracer_hooks._api.improving._improvement import Improvement
from tracer_hooks._api.improving._improver import Improver
from tracer_hooks._api.improving._phases import ImproveProgress
from tracer_hooks._api.judging import Check
from tracer_hooks.repairs import Chat
from tracer_hooks.tasks import SuiteTask


def improve(
    target: Any,
    tasks: Sequence[SuiteTask | str],
    *,
    chat: Chat,
    check: Check | None = None,
    folder: str | Path = "improvement",
    store: str | Path | None = None,
    from_store: bool = False,
    options: ImproveOptions | None = None,
    on_progress: Callable[[ImproveProgress], None] = lambda progress: None,
) -> Improvement:
    """Improve the prompts of a team: run it, diagnose what fails, propose, try on other tasks, keep what is better.

    The tasks are dealt out: the failures of some propose, others accept, and the rest is never used before the end, for
    the success before and after. What is accepted is kept in the run store as a version of the team's prompts;
    ``hook(prompts="accepted")`` uses it, ``tracer-hooks prompts`` shows it and takes it back.

    Args:
        target: A factory that builds the team, best with a parameter ``prompts``; a team; or a function of the task.
        tasks: What the team is asked; at least 16, better 60 or more.
        chat: Asks the language model that writes instructions: messages with ``role`` and ``content`` in, text out.
        check: Decides whether a run succeeded; default what the team was hooked with, else the tasks' references.
        folder: Where the journal and the result are kept; the same call goes on where a broken-off one was.
        store: The run store's file; default the usual one.
        from_store: Whether the failures of the team's stored runs propose, in the place of runs on the tasks.
        options: How.
        on_progress: Told of every run.

    Raises:
        ConfigError: There are too few tasks, nothing judges a run, or the folder was begun with something else.
        MissingExtraError: ``gepa`` is not installed.
        DatasetError: The folder cannot be used.
        ReplayError: The check raised, or the team's surroundings failed again and again.
        StoreError: The run store cannot be used.
    """
    dealt = [
        task if isinstance(task, SuiteTask) else SuiteTask(id=f"task-{i}", text=task) for i, task in enumerate(tasks)
    ]
    improver = Improver(
        target,
        dealt,
        chat=chat,
        check=check,
        folder=Path(folder),
        store=store,
        from_store=from_store,
        options=options,
        on_progress=on_progress,
    )
    return improver.run()
