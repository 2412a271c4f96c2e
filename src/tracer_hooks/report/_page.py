"""Page of a run, and the index of many."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from tracer_hooks._files import make_folder, opener
from tracer_hooks._text import counted
from tracer_hooks.repair import PastTrial
from tracer_hooks.report._diagnosis import diagnosis_view
from tracer_hooks.report._steps import shown_steps, step_views, texts_of, timeline
from tracer_hooks.report._trials import ReportAttempt, ReportRun, trials_view
from tracer_hooks.report._wording import (
    OUTCOMES,
    Excerpt,
    View,
    clean,
    duration,
    excerpt,
    fair_limit,
    in_seconds,
    one_line,
)
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory, Usage

if TYPE_CHECKING:
    import jinja2

PAGE_BUDGET = 1_500_000
"""Bytes that the texts of all steps may take together; the rest of the page comes on top."""


def render_html(run: ReportRun) -> str:
    """The report of ``run`` as a self-contained page.

    The page loads nothing from anywhere, works without JavaScript, and stays small: long texts and very long runs are
    cut, with a note that says so. Everything from the run is escaped.
    """
    limit = _limit(run)
    trials = _trials(run)
    attempts = [
        _attempt_view(attempt, position, limit, trials.get(attempt.number))
        for position, attempt in enumerate(run.attempts, start=1)
    ]
    shown = {attempt["key"]: attempt["shown"] for attempt in attempts}
    first = run.attempts[0].trajectory if run.attempts else None
    last = run.attempts[-1].trajectory if run.attempts else None
    outcome = last.outcome if last is not None else RunOutcome.UNKNOWN
    task = run.task or (first.task if first else "")
    script = asset("report.js")
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            team=one_line(run.team or (first.team if first else "") or "Unnamed team", 200),
            framework=one_line(run.framework or (first.framework if first else ""), 60),
            task=excerpt(task, limit=8000, fold_from=600) if task else None,
            outcome=outcome.value,
            outcome_word=OUTCOMES[outcome],
            attempts=attempts,
            tried=None
            if run.repair is None
            else trials_view(run.repair, run.attempts, lambda key, step: step in shown.get(key, ())),
            facts=(
                *_facts([_PageBudget.of(each.trajectory, trials.get(each.number)) for each in run.attempts]),
                # all attempts of a call are on the same prompts
                *(clean(f"prompts: {attempt.prompts}") for attempt in run.attempts[:1] if attempt.prompts),
            ),
            generated_at=run.generated_at,
            style=asset("report.css"),
            script=script,
            # Only this very script may run: a second wall, should escaping ever fail.
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def write_html(path: str | os.PathLike[str], run: ReportRun) -> Path:
    """Write the report of ``run`` to ``path``, over an earlier one, and return the path.

    Raises:
        OSError: The file cannot be written.
    """
    return write_page(path, render_html(run))


def write_page(path: str | os.PathLike[str], text: str) -> Path:
    """Write a page that the user alone may read, over an earlier one."""
    target = Path(path)
    make_folder(target.parent)
    with open(target, "w", encoding="utf-8", opener=opener) as file:
        file.write(text)
    return target


def _attempt_view(attempt: ReportAttempt, position: int, limit: int, trial: PastTrial | None) -> View:
    trajectory, attribution = attempt.trajectory, attempt.attribution
    steps = shown_steps(trajectory, attribution)
    shown = frozenset(step.index for step in steps)
    return dict(
        key=f"a{position}",
        number=attempt.number,
        outcome=trajectory.outcome.value,
        outcome_word=OUTCOMES[trajectory.outcome],
        reason=one_line(trajectory.outcome_reason or "", 600),
        notes=tuple(one_line(note, 600) for note in attempt.notes),
        facts=_facts([_PageBudget.of(trajectory, trial)]),
        run_id=one_line(trajectory.run_id, 80),
        output=_short(trajectory.final_output),
        reference=_short(trajectory.reference),
        diagnosis=_diagnosis(attempt, shown),
        timeline=timeline(trajectory, steps, attribution) if steps else None,
        steps=step_views(trajectory, steps, attribution, limit=limit),
        shown=shown,
        step_count=len(trajectory.steps),
    )


def _diagnosis(attempt: ReportAttempt, shown: frozenset[int]) -> View | None:
    if attempt.attribution is None:
        return None
    return diagnosis_view(attempt.attribution, shown, attempt.trajectory)


def _limit(run: ReportRun) -> int:
    shown = (shown_steps(attempt.trajectory, attempt.attribution) for attempt in run.attempts)
    return fair_limit(chain.from_iterable(texts_of(steps) for steps in shown), PAGE_BUDGET)


def _short(text: str | None) -> Excerpt | None:
    return excerpt(text, limit=4000, fold_from=400) if text and text.strip() else None


class _PageBudget(NamedTuple):
    """Steps, seconds and tokens of one attempt."""

    steps: int
    seconds: float | None
    usage: Usage

    @classmethod
    def of(cls, trajectory: Trajectory, trial: PastTrial | None) -> _PageBudget:
        """Of a trial what was live: the steps that it kept cost nothing, and have the times of the failed run."""
        if trial is None:
            return cls(len(trajectory.steps), duration(trajectory), trajectory.usage)
        is_whole = trial.repair.resume_from is None
        return cls(len(trajectory.steps), duration(trajectory) if is_whole else trial.seconds or None, trial.usage)


def _trials(run: ReportRun) -> dict[int, PastTrial]:
    """The trials by the number of their attempt."""
    trials = run.repair.trials if run.repair is not None else ()
    return {trial.attempt: trial for trial in trials if trial.attempt is not None}


def _facts(spent: list[_PageBudget]) -> tuple[str, ...]:
    steps = sum(part.steps for part in spent)
    usage = sum((part.usage for part in spent), Usage())
    known = [part.seconds for part in spent if part.seconds is not None]
    facts = [counted(steps, "step")]
    if known:
        facts.append(in_seconds(sum(known)))
    if usage != Usage():
        facts.append(f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")
    return tuple(clean(fact) for fact in facts if fact)


@functools.cache
def asset(name: str) -> str:
    """A template, style sheet or script of the package."""
    return files("tracer_hooks.report").joinpath("templates", name).read_text(encoding="utf-8")


@functools.cache
def environment() -> jinja2.Environment:
    """The template environment, with everything escaped."""
    import jinja2  # not with the module: `import tracer_hooks` stays fast for those who never make a page

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


@dataclass(frozen=True, kw_only=True)
class IndexEntry:
    """One input of a batch: a run with its report, or what was wrong with it."""

    source: str
    """Where it came from."""
    run: ReportRun | None = None
    """Its report; None when it could not be read."""
    problem: str | None = None
    """Why it could not be read."""


def write_index(path: Path, entries: Sequence[IndexEntry]) -> Path:
    """Write a page that lists ``entries``, and beside it, in ``<name>_files/``, the report of each run."""
    folder = path.with_name(f"{path.stem}_files")
    rows = []
    for number, entry in enumerate(entries, start=1):
        page = ""
        if entry.run is not None:
            page = f"{folder.name}/{number}.html"
            write_html(folder / f"{number}.html", entry.run)
        rows.append(_index_row(entry, page))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_render(rows, entries), encoding="utf-8")
    return path


def _render(rows: Sequence[View], entries: Sequence[IndexEntry]) -> str:
    answers = [_attribution(entry) for entry in entries]
    abstained = [answer.abstained for answer in answers if answer is not None]
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            rows=rows,
            named=abstained.count(False),
            abstained=abstained.count(True),
            failed=answers.count(None),
            style=asset("style.css"),
            generated_at=datetime.now(UTC),
        )
    )


def _index_row(entry: IndexEntry, page: str) -> View:
    row: View = dict(source=one_line(entry.source, 200), page=quote(page), problem="")
    answer = _attribution(entry)
    if answer is None:
        return row | dict(problem=one_line(entry.problem or "no diagnosis", 300))
    if answer.abstained:
        return row | dict(problem=one_line(answer.abstained_reason or "abstained", 300))
    return row | dict(
        agent=one_line(answer.agent or "", 120),
        step="" if answer.step is None else str(answer.step),
        mode=f"{answer.error_mode} {answer.error_mode.title}" if answer.error_mode is not None else "",
        confidence=f"{answer.confidence:.0%}, {answer.certainty}",
    )


def _attribution(entry: IndexEntry) -> Attribution | None:
    return entry.run.attempts[-1].attribution if entry.run is not None and entry.run.attempts else None
