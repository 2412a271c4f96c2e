"""Labels that a person gives on a page: the file that they go into, and the order in which failed runs are asked."""

from __future__ import annotations

import hashlib
import shlex
import threading
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tracer_hooks._text import counted
from tracer_hooks.datasets._label_file import LabelFile, key_of, labelled, labelled_place, mode_named
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.schema import Attribution, ErrorMode, FindingKind, LabeledTrajectory, RunOutcome, Trajectory, to_json
from tracer_hooks.store import RunStore, RunSummary

LOOKED_AT = 1_000
"""Failed runs that the queue is made of, the newest."""
_FEWEST, _FEWEST_TASKS = 5, 3
"""What ``tracer-hooks fit`` needs."""
_STEPS_LISTED = 400
_SHORT = 12


class LabelConflictError(Exception):
    """Another label was given to the run meanwhile; it stays."""


QueuedRun = tuple[RunSummary, tuple[str, ...]]
"""A failed run that is to be labelled, and why it is asked now, in words."""


class LabelDesk:
    """The labelled file of a server; safe to use from several threads, beside other sessions that add to the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file: LabelFile | None = None
        self._stamp: object = None

    def labels(self) -> Mapping[str, LabeledTrajectory]:
        """All labels of the file, also those of others.

        Raises:
            DatasetError: The file cannot be read.
        """
        with self._lock:
            return self._looked().labels

    def give(self, trajectory: Trajectory, step: int, mode: str, *, seen: str) -> None:
        """Label the run: ``step``, and the agent that acted there, made it fail.

        Raises:
            ConfigError: The run has no such step, or there is no such error mode.
            LabelConflictError: The run does not have the label, or none, that the person saw.
            DatasetError: The file cannot be read or written.
        """
        if not 0 <= step < len(trajectory.steps):
            raise ConfigError(f"there is no step {step}, expected one from 0 to {len(trajectory.steps) - 1}")
        named = mode_named(mode) if mode else None
        if mode and named is None:
            raise ConfigError(f"{mode[:40]!r} is no error mode, expected a code such as 'FM-2.6', or none")
        failed = trajectory.model_copy(update={"outcome": RunOutcome.FAILED})  # which is what a label says
        new = labelled(failed, trajectory.steps[step].agent, step, named, question_id=None)
        with self._lock:
            file = self._looked()
            standing = file.labels.get(key_of(failed))
            if standing is not None and standing.decisive == new.decisive:
                return  # sent twice
            self._refuse_other(standing, seen)
            self._refuse_other(file.add(new), "")
            self._stamp = None

    def take_back(self, trajectory: Trajectory, *, seen: str) -> None:
        """Take the label of the run back; without one nothing happens.

        Raises:
            LabelConflictError: It has another label than the person saw.
            DatasetError: The file cannot be read or written.
        """
        with self._lock:
            file = self._looked()
            standing = file.labels.get(key_of(trajectory))
            if standing is None:
                return
            self._refuse_other(standing, seen)
            file.remove(key_of(trajectory))
            self._stamp = None

    def form(self, trajectory: Trajectory, found: Attribution | None) -> dict[str, Any] | None:
        """What the form about one attempt shows and sends; None for a run that did not fail, or did nothing."""
        if trajectory.outcome is RunOutcome.SUCCEEDED or not trajectory.steps:
            return None
        label, problem = None, ""
        try:
            label = self.labels().get(key_of(trajectory))
        except DatasetError as error:
            problem = str(error)
        blamed = found.step if found is not None and found.certainty is not None else None
        steps = trajectory.steps
        return dict(
            run_id=trajectory.run_id,
            seen=_digest(label),  # so that no other label is replaced unseen
            given=_in_words(label),
            blamed="" if blamed is None else f"step {blamed}, {steps[blamed].agent}",
            step=blamed,
            steps=steps if len(steps) <= _STEPS_LISTED else (),
            last=len(steps) - 1,
            modes=tuple(ErrorMode),
            problem=problem,
        )

    def commands(self, labels: Mapping[str, LabeledTrajectory], run_id: str) -> tuple[str, tuple[str, ...]]:
        """What makes the labels count, in a sentence and as commands; nothing without labels."""
        if not labels:
            return "", ()
        tasks = len({label.trajectory.task for label in labels.values()})
        if len(labels) < _FEWEST or tasks < _FEWEST_TASKS:
            return (
                f"An attributor is fitted to {_FEWEST} or more labelled runs of {_FEWEST_TASKS} or more tasks; so "
                f"far: {counted(len(labels), 'label')} of {counted(tasks, 'task')}."
            ), ()
        folder = self.path.with_name(f"{self.path.stem}-fitted")
        where, out = shlex.quote(str(self.path)), shlex.quote(str(folder))
        return (
            "The first command fits an attributor to them, and says what that gained on labels that it had not seen; "
            "the second one uses it. Until then, diagnoses stay as they are."
        ), (
            f"tracer-hooks fit --labels {where} --out {out}",
            f"tracer-hooks diagnose {shlex.quote(run_id[:_SHORT] or 'RUN')} --attributor {out}",
        )

    def _looked(self) -> LabelFile:
        """The file as it is; called while locked."""
        try:
            found = self.path.stat()
            stamp: object = (found.st_mtime_ns, found.st_size, found.st_ino)
        except OSError:
            stamp = "none"
        if self._file is None:
            self._file = LabelFile(self.path, option="--labels")
        elif stamp != self._stamp:
            self._file.look()
        self._stamp = stamp
        return self._file

    def _refuse_other(self, standing: LabeledTrajectory | None, seen: str) -> None:
        if _digest(standing) != seen:
            told = f"It is labelled {_in_words(standing)} now" if standing is not None else "It has no label now"
            raise LabelConflictError(f"The label of this run was changed meanwhile, and stays so. {told}.")


def queue_of(store: RunStore) -> tuple[QueuedRun, ...]:
    """The newest failed runs in the order in which a label tells most: by uncertainty times size of the issue.

    An issue are the runs in which the same kind of thing is found about the same agent. Of a call one attempt is asked.
    """
    if not store.exists():
        return ()
    failed = store.list(limit=LOOKED_AT, outcome=RunOutcome.FAILED, with_replays=False)
    known = store.attributions(*(run.run_id for run in failed if run.confidence is not None))
    issues = {run.run_id: _issues(known.get(run.run_id)) for run in failed}
    sizes = Counter(issue for own in issues.values() for issue in own)
    ranked: list[tuple[float, QueuedRun]] = []
    for run in failed:
        size = max((sizes[issue] for issue in issues[run.run_id]), default=1)
        unsure = 1.0 if run.confidence is None or run.abstained else 1.0 - run.confidence
        said = "not diagnosed" if run.confidence is None else "nobody is blamed" if run.abstained else ""
        why = (
            said or f"confidence {run.confidence:.0%}",
            f"{size:,} failed runs of this kind" if size > 1 else "the only one of its kind",
        )
        ranked.append((unsure * size, (run, why)))
    ranked.sort(key=lambda each: -each[0])  # stable: the newest first among equals
    calls: dict[str, QueuedRun] = {}
    for _, each in ranked:
        calls.setdefault(each[0].session_id, each)
    return tuple(calls.values())


def unlabelled(queue: Collection[QueuedRun], labels: Mapping[str, LabeledTrajectory]) -> list[QueuedRun]:
    """Those of the queue that have no label."""
    known = {label.trajectory.run_id for label in labels.values()}
    return [(run, why) for run, why in queue if run.run_id not in known]


def _issues(found: Attribution | None) -> set[tuple[FindingKind, str]]:
    if found is None:
        return set()
    telling = (each for each in found.findings if each.leads_to_answer or each.kind is not FindingKind.ANSWER_ORIGIN)
    return {(each.kind, each.agent or "") for each in telling}


def _digest(label: LabeledTrajectory | None) -> str:
    return "" if label is None else hashlib.sha256(to_json(label).encode()).hexdigest()[:16]


def _in_words(label: LabeledTrajectory | None) -> str:
    place = None if label is None else labelled_place(label)
    return "" if place is None else f"step {place[1]}, {place[0]}"
