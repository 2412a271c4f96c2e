"""``tracer-hooks label``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracer_hooks.attribution import Attributor, get_attributor
from tracer_hooks.cli._console import DONE, FAILED, err, out, print_json
from tracer_hooks.cli._inputs import FileFormat, records_of
from tracer_hooks.cli._label_file import LabelFile, key_of, labelled, told_apart
from tracer_hooks.cli._label_prompts import Move, ask, show_run
from tracer_hooks.cli._label_table import read_table
from tracer_hooks.datasets import LoadedRecord, Stated
from tracer_hooks.errors import TracerHooksError
from tracer_hooks.schema import Candidate, ErrorMode, RunOutcome, Trajectory

_MOST_CANDIDATES = 3
_Candidates = Callable[[Trajectory], Sequence[Candidate]]


@dataclass(frozen=True)
class _Item:
    """One run to label."""

    source: str
    place: str
    """As ``file#record``, counted from 0."""
    trajectory: Trajectory
    question_id: str | None


@dataclass
class _Counts:
    """What became of the runs."""

    labelled: int = 0
    skipped: int = 0
    there: int = 0
    bad: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class LabelJob:
    """One call of the command."""

    targets: Sequence[str]
    out: Path
    from_csv: Path | None
    stated: Stated
    attributor: str
    file_format: FileFormat
    as_json: bool
    store: Path | None

    def run(self) -> int:
        """Label what can be labelled; gives the exit code."""
        counts = _Counts()
        chosen = get_attributor(self.attributor)  # a wrong name ends the call before any work
        file = LabelFile(self.out)
        items = list(self._items(counts))
        if self.from_csv is not None:
            self._from_table(self.from_csv, items, file, counts)
        else:
            self._ask(items, file, counts, lambda run: _candidates(chosen, run, self.stated.expected))
        self._show(counts, len(file.labels))
        return FAILED if counts.bad else DONE

    def _items(self, counts: _Counts) -> Iterator[_Item]:
        for target in self.targets:
            records = records_of(target, file_format=self.file_format, store=self.store)
            for number, record in enumerate(records):
                item = self._item(record, f"{target}#{number}", counts)
                if item is not None:
                    yield item

    def _item(self, record: LoadedRecord, place: str, counts: _Counts) -> _Item | None:
        if record.error is not None or record.trajectory is None:
            counts.bad.append(f"left out: {record.error}")
            return None
        trajectory = self.stated.of(record.trajectory).trajectory
        if not trajectory.steps:
            counts.bad.append(f"left out: {record.source!r} has no step that could be labelled")
            return None
        if trajectory.outcome is RunOutcome.SUCCEEDED:
            counts.bad.append(f"left out: {record.source!r} succeeded, so that no step made it fail. Else: --failed")
            return None
        # A label says that the run failed.
        told = trajectory.model_copy(update={"outcome": RunOutcome.FAILED})
        return _Item(record.source, place, told, record.question_id)

    def _from_table(self, path: Path, items: Sequence[_Item], file: LabelFile, counts: _Counts) -> None:
        by_name: dict[str, list[Trajectory]] = {}
        for item in items:
            for name in {item.trajectory.run_id, item.source, item.place}:
                by_name.setdefault(name, []).append(item.trajectory)
        question_of = {key_of(item.trajectory): item.question_id for item in items}
        rows, problems = read_table(path, by_name)
        counts.bad += problems
        for row in rows:
            key = key_of(row.trajectory)
            new = labelled(row.trajectory, row.agent, row.step, row.mode, question_id=question_of[key])
            standing = file.labels[key] if key in file.labels else file.add(new)
            if standing is None:
                counts.labelled += 1
            elif told_apart(standing) == told_apart(new):
                counts.there += 1
            else:
                counts.bad.append(f"line {row.line}: {str(self.out)!r} labels the run otherwise already; left as it is")

    def _ask(self, items: Sequence[_Item], file: LabelFile, counts: _Counts, candidates: _Candidates) -> None:
        open_items = [item for item in items if key_of(item.trajectory) not in file.labels]
        counts.there = len(items) - len(open_items)
        position = 0
        skipped: set[int] = set()
        given: dict[int, str] = {}
        while position < len(open_items):
            item = open_items[position]
            file.look()
            if key_of(item.trajectory) in file.labels:  # another session was here
                counts.there += 1
                open_items.pop(position)
                continue
            named = candidates(item.trajectory)
            show_run(item.source, item.trajectory, named, number=position + 1, of=len(open_items))
            answer = ask(item.trajectory, named)
            if answer is Move.QUIT:
                break
            if answer is Move.BACK:
                position = max(0, position - 1)
                skipped.discard(position)
                if position in given:
                    file.remove(given.pop(position))
                continue
            if isinstance(answer, Move):
                skipped.add(position)
            elif not self._added(file, item, answer, counts):
                open_items.pop(position)
                continue
            else:
                given[position] = key_of(item.trajectory)
            position += 1
        counts.labelled, counts.skipped = len(given), len(skipped)

    def _added(self, file: LabelFile, item: _Item, answer: tuple[str, int, ErrorMode | None], counts: _Counts) -> bool:
        """Whether the answer is in the file now, and not one that another session gave while this one was asked."""
        new = labelled(item.trajectory, *answer, question_id=item.question_id)
        other = file.add(new)
        if other is None:
            return True
        if told_apart(other) == told_apart(new):
            counts.there += 1
        else:
            agent, step = told_apart(other) or ("nobody", 0)
            counts.bad.append(
                f"{item.place}: another session has labelled it meanwhile, {agent!r} at step {step}; left as it is"
            )
        return False

    def _show(self, counts: _Counts, total: int) -> None:
        for line in counts.bad:
            err().print(line, style="yellow", soft_wrap=True)
        if self.as_json:
            document = {"out": str(self.out), "labelled": counts.labelled, "already_there": counts.there}
            print_json({**document, "skipped": counts.skipped, "left_out": counts.bad, "labels": total})
            return
        said = f"{counts.labelled} labelled, {counts.there} already there, {counts.skipped} skipped"
        out().print(f"{said}, {len(counts.bad)} left out; {total} in {self.out}", soft_wrap=True)
        if total:
            out().print(f"use them: tracer-hooks fit --labels {self.out} --out FOLDER", soft_wrap=True)


def _candidates(attributor: Attributor, trajectory: Trajectory, expected: str | None) -> Sequence[Candidate]:
    try:
        return attributor.attribute(trajectory, reference=expected).candidates[:_MOST_CANDIDATES]
    except TracerHooksError as error:  # a label can be given without them
        err().print(f"no candidates: {error}", style="yellow", soft_wrap=True)
        return ()
