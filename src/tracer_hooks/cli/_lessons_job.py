"""What ``tracer-hooks lessons`` does."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from tracer_hooks._safe_text import on_screen
from tracer_hooks.cli._console import DONE, FAILED, err, out, out_wide, print_json
from tracer_hooks.cli._needed_store import needed_store
from tracer_hooks.cli._prompts_job import find_team
from tracer_hooks.errors import StoreError
from tracer_hooks.store import Lesson, LessonStore

if TYPE_CHECKING:
    from tracer_hooks._api import LearnedLessons
    from tracer_hooks.cli._improve_job import WritingModel

_LEARN = "tracer-hooks lessons learn --team NAME --base-url URL --model NAME"
_HIDDEN = {"kind"}
"""The weights of n-grams say nothing to people, nor to programs that do not weigh tasks as we do."""


def learn(
    store: Path | None, team: str, writer: WritingModel, *, agents: Sequence[str], attributor: str, as_json: bool
) -> int:
    """Learn, and say what came of it; gives the exit code."""
    from tracer_hooks._api import learn_lessons  # a list of lessons needs neither teams nor attributors

    path, chat = needed_store(store), writer.chat()
    with redirect_stdout(sys.stderr):  # what a function of the user's prints is no result of ours
        found = learn_lessons(team, chat=chat, store=path, attributor=attributor, agents=agents)
    if as_json:
        data = found.model_dump(mode="json", exclude={"learned"})
        print_json({**data, "learned": [_data(one) for one in found.learned]})
    else:
        for line in _learned_lines(found):
            out().print(on_screen(line), soft_wrap=True)
    return FAILED if found.stopped else DONE


def list_lessons(store: Path | None, team: str | None, *, as_json: bool) -> int:
    """Print one line for each lesson, team by team."""
    with LessonStore(needed_store(store), read_only=True) as lessons:
        known = lessons.lessons() if lessons.path.exists() else ()
    names = list(dict.fromkeys(one.team for one in known)) if team is None else [_find(known, team)]
    by_team = {name: [one for one in known if one.team == name] for name in names}
    if as_json:
        teams = [
            {
                "team": name,
                "team_name": of[-1].team_name,
                "framework": of[-1].framework,
                "lessons": list(map(_data, of)),
            }
            for name, of in by_team.items()
        ]
        print_json({"teams": teams})
    elif not by_team:
        err().print(f"no lessons yet; run: {_LEARN}", soft_wrap=True)
    else:
        console = out_wide()
        for name, of in by_team.items():
            console.print(on_screen(f"{of[-1].team_name or name} ({name})"), soft_wrap=True)
            console.print(_table(of))
    return DONE


def show_lesson(store: Path | None, team: str | None, number: int, *, as_json: bool) -> int:
    """Print one lesson with everything that is known of it."""
    with LessonStore(needed_store(store), read_only=True) as lessons:
        lesson = lessons.get(_team(lessons, team), number)
    if as_json:
        print_json(_data(lesson))
        return DONE
    for line in _lines(lesson):
        out().print(on_screen(line), soft_wrap=True)
    return DONE


def retire_lesson(store: Path | None, team: str | None, number: int, *, reason: str, as_json: bool) -> int:
    """Retire a lesson."""
    with LessonStore(needed_store(store)) as lessons:
        lesson = lessons.retire(_team(lessons, team), number, reason=reason or "taken back by hand")
    if as_json:
        print_json(_data(lesson))
    else:
        out().print(on_screen(f"lesson {number} for {lesson.agent}: retired"), soft_wrap=True)
    return DONE


def _team(lessons: LessonStore, wanted: str | None) -> str:
    if not lessons.path.exists():
        raise StoreError(f"there is no run store at {str(lessons.path)!r}, so no lessons. Run: {_LEARN}")
    return _find(lessons.lessons(), wanted)


def _find(known: Sequence[Lesson], wanted: str | None) -> str:
    return find_team({one.team: one.team_name for one in known}, wanted, what="lessons", learn=_LEARN)


def _data(lesson: Lesson) -> dict[str, Any]:
    return lesson.model_dump(mode="json", exclude=_HIDDEN)


def _table(lessons: Sequence[Lesson]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in ("lesson", "state", "agent", "with it", "without", "text"):
        table.add_column(title, overflow="fold")
    for one in lessons:
        sides = _passed(one.with_passes, one.with_runs), _passed(one.without_passes, one.without_runs)
        cells = (str(one.number), str(one.state), one.agent, *sides, one.text)
        table.add_row(*(Text(on_screen(cell)) for cell in cells))
    return table


def _lines(lesson: Lesson) -> Iterator[str]:
    yield f"lesson {lesson.number} for {lesson.agent}: {lesson.state}"
    yield lesson.text
    if lesson.reason:
        yield f"why: {lesson.reason}"
    yield f"runs of its kind that passed with it: {_passed(lesson.with_passes, lesson.with_runs)}"
    yield f"runs of its kind that passed without it: {_passed(lesson.without_passes, lesson.without_runs)}"
    learnt, changed = (f"{moment.astimezone():%Y-%m-%d %H:%M}" for moment in (lesson.created_at, lesson.changed_at))
    yield f"learnt {learnt}, changed {changed}"
    facts = lesson.provenance
    runs = facts.get("runs")
    if isinstance(runs, list):
        yield f"from {facts.get('failures', len(runs))} failed runs: {', '.join(str(one) for one in runs[:10])}"
    tasks = facts.get("tasks")
    for task in tasks if isinstance(tasks, list) else ():
        yield f"  at: {' '.join(str(task).split())}"


def _learned_lines(found: LearnedLessons) -> Iterator[str]:
    yield f"{found.failures} failed runs of {found.team_name} that nobody has learnt from yet"
    for count, why in (
        (found.unblamed, "are laid on no agent"),
        (found.too_few, "are too few of their kind: three are needed"),
        (found.covered, "are of a kind that there is a lesson for"),
    ):
        if count:
            yield f"  {count} {why}"
    for one in found.learned:
        yield f"lesson {one.number} for {one.agent}, on trial: {one.text}"
    for refused in found.refused:
        yield f"no lesson for {refused.agent} from {refused.failures} failures: {refused.why}"
    if found.stopped:
        yield f"Broken off: {found.stopped}. What was learnt is kept; the same command goes on."
    if found.learned:
        yield 'Give them: hook(lessons="learned") in your code. Without it nothing changes.'
    elif not found.refused:
        yield "There is nothing to learn from these."


def _passed(passes: int, runs: int) -> str:
    return f"{passes}/{runs} ({passes / runs:.0%})" if runs else "-"
