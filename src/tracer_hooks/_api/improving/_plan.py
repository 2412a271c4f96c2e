"""What a job's folder is for: the runs in it are of these tasks and options, and of no others."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from tracer_hooks._api.improving._digest import digest
from tracer_hooks._api.improving._improve_options import ImproveOptions
from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement import Split
from tracer_hooks.journal import Journal


class ImprovePlan:
    """The part of a job that may not change from one session to the next.

    Args:
        folder: Of the job.
        split: Its tasks.
        options: How.
        writer: Name of who writes.
        from_store: Whether failures of stored runs propose.
    """

    def __init__(self, folder: Path, split: Split, options: ImproveOptions, writer: str, *, from_store: bool) -> None:
        self._folder = folder
        rule = {name: value for name, value in asdict(options.rule).items() if name != "most_pairs"}
        tasks = [[task.suite, task.id, task.text, task.reference] for part in split.parts for task in part]
        plan = {
            "tasks": tasks,
            "options": [options.metric_calls, options.minibatch, options.selector, writer],
            "more": [options.seed, list(options.agents), from_store, options.attributor, options.feedback],
            "rule": rule,
        }
        self._digest = digest(plan)

    def keep(self, journal: Journal) -> None:
        """Note what the folder is for; see :meth:`expect`."""
        self.expect(journal)
        journal.add("plan", {"digest": self._digest})

    def expect(self, journal: Journal) -> None:
        """Refuse a folder that was begun for something else.

        Raises:
            ConfigError: It holds a job with other tasks or options.
        """
        if "plan" in journal and journal["plan"]["digest"] != self._digest:
            raise ConfigError(
                f"{str(self._folder)!r} holds an improvement with other tasks or options; only limits, workers and the "
                "number of pairs may change. Take another folder with --out DIR"
            )
