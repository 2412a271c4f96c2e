"""Page of a run, and the index of many."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tracer_hooks._files import make_folder, opener
from tracer_hooks._text import counted
from tracer_hooks.repair import PastTrial
from tracer_hooks.report._course import lane_map
from tracer_hooks.report._diagnosis import diagnosis_view
from tracer_hooks.report._run import ReportAttempt, ReportRun, next_acts
from tracer_hooks.report._steps import StepViews, roles_of, shown_steps, texts_of
from tracer_hooks.report._trials import evidence_of_replays, tree_view
from tracer_hooks.report._way import ValueWay, value_way
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
    prompt_diff,
)
from tracer_hooks.schema import Attribution, RunOutcome, Usage

if TYPE_CHECKING:
    import jinja2

PAGE_BUDGET = 1_500_000
"""Bytes that the texts of all steps may take together; the rest of the page comes on top."""


def render_html(
    run: ReportRun, *, nav: Sequence[tuple[str, str, bool]] = (), template: str = "run.html.j2", **more: Any
) -> str:
    """The report of ``run`` as a self-contained page, with ``nav``, links to the other pages of a site.

    A server has its own ``template`` for the run to label, and ``more`` variables: ``stylesheet`` and ``scripts``,
    addresses, and ``labels``, the label of each attempt, by its key. Otherwise the page loads nothing from anywhere,
    works without JavaScript, and stays small: long texts and very long runs are cut, with a note that says so.
    Everything from the run is escaped.
    """
    limit, trials = _limit(run), _trials(run)
    views = [
        _attempt_view(run, attempt, f"a{position}", limit, trials)
        for position, attempt in enumerate(run.attempts, start=1)
    ]
    first = run.attempts[0].trajectory if run.attempts else None
    task = run.task or (first.task if first else "")
    at_top = next((place for place, each in enumerate(run.attempts) if _told(each) is not None), -1)
    script = asset("page.js")
    return draw(
        template,
        team=one_line(run.team or (first.team if first else "") or "Unnamed team", 200),
        framework=one_line(run.framework or (first.framework if first else ""), 60),
        task=excerpt(task, limit=8000, fold_from=240) if task else None,
        outcome=run.attempts[-1].trajectory.outcome if run.attempts else RunOutcome.UNKNOWN,
        attempts=views,
        shown={view["key"]: view["shown"] for view in views},
        top=views[at_top] if views else None,
        acts=next_acts(run, run.attempts[at_top]) if views else (),
        evidence=tuple(evidence_of_replays(run)),
        tree=tree_view(run, views) if views else None,
        facts=(
            *_facts(run.attempts, trials),
            # all attempts of a call are on the same prompts
            *(f"prompts: {attempt.prompts}" for attempt in run.attempts[:1] if attempt.prompts),
        ),
        generated_at=run.generated_at,
        nav=nav,
        script=script,
        # Only this very script may run: a second wall, should escaping ever fail.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **more,
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


def _attempt_view(
    run: ReportRun, attempt: ReportAttempt, key: str, limit: int, trials: Mapping[int, PastTrial]
) -> View:
    trajectory, attribution = attempt.trajectory, _told(attempt)
    steps = shown_steps(trajectory, attribution)
    way = value_way(attribution, trajectory) if attribution is not None else ValueWay()
    roles = roles_of(attribution, way.passed_on)
    places = {name: one_line(place, 200) for name, place in run.places.items()}
    got = (attribution.got if attribution is not None else None) or ""
    expected = trajectory.reference or (attribution.expected if attribution is not None else None)
    way_steps = [stop.step for stop in way.stops]
    return dict(
        key=key,
        number=attempt.number,
        run=trajectory,
        verdict=_UNDIAGNOSED[trajectory.outcome],
        reason_title=_REASONS[trajectory.outcome],
        notes=attempt.notes,
        facts=_facts([attempt], trials),
        output=_short(trajectory.final_output or got, got),
        reference=_short(expected),
        diagnosis=None if attribution is None else diagnosis_view(attribution, trajectory, way),
        code=_code(attribution, places),
        map=lane_map(steps, trajectory.agent_names, roles, way_steps, places) if steps else None,
        steps=StepViews(steps, attribution, roles, places, limit=limit),
        shown=frozenset(step.index for step in steps),
    )


def _told(attempt: ReportAttempt) -> Attribution | None:
    """The diagnosis; that a run which succeeded shows no sign of failure is none."""
    found = attempt.attribution
    has_succeeded = attempt.trajectory.outcome is RunOutcome.SUCCEEDED
    return None if found is None or (has_succeeded and found.certainty is None) else found


_REASONS = {
    RunOutcome.SUCCEEDED: "Why it counts as succeeded",
    RunOutcome.FAILED: "Why it counts as failed",
    RunOutcome.UNKNOWN: "How it ended",
}
_UNDIAGNOSED = {
    RunOutcome.SUCCEEDED: "The run succeeded.",
    RunOutcome.FAILED: "The run failed, and it was not diagnosed.",
    RunOutcome.UNKNOWN: "Nothing says whether this run failed.",
}


def _code(attribution: Attribution | None, places: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Where the blamed agent stands in the user's code, as far as it was recorded."""
    if attribution is None or attribution.certainty not in ("clear", "likely"):
        return ()
    agent = attribution.agent or ""
    keys = ((f"agent {agent}", agent), (f"prompt {agent}", "its prompt"))
    return tuple((what, places[key]) for key, what in keys if key in places)


def _limit(run: ReportRun) -> int:
    shown = (shown_steps(attempt.trajectory, attempt.attribution) for attempt in run.attempts)
    return fair_limit(chain.from_iterable(texts_of(steps) for steps in shown), PAGE_BUDGET)


def _short(text: str | None, answer: str = "") -> Excerpt | None:
    """An answer; what is compared of it is marked where more is said around it."""
    if not text or not text.strip():
        return None
    quotes = [answer] if len(answer) < len(text) // 2 and any(map(str.isalnum, answer)) else []
    return excerpt(text, limit=4000, fold_from=240, quotes=quotes)


def _trials(run: ReportRun) -> dict[int, PastTrial]:
    """The trials by the number of their attempt."""
    trials = run.repair.trials if run.repair is not None else ()
    return {trial.attempt: trial for trial in trials if trial.attempt is not None}


def _facts(attempts: Sequence[ReportAttempt], trials: Mapping[int, PastTrial]) -> list[str]:
    """Steps, seconds and tokens of attempts.

    Of a trial what was live: the steps that it kept cost nothing, and have the times of the failed run.
    """
    steps, known, usage = 0, list[float | None](), Usage()
    for attempt in attempts:
        trajectory, trial = attempt.trajectory, trials.get(attempt.number)
        is_whole = trial is None or trial.repair.resume_from is None
        steps += len(trajectory.steps)
        known.append(duration(trajectory) if is_whole or trial is None else trial.seconds or None)
        usage += trajectory.usage if trial is None else trial.usage
    facts = [counted(steps, "step")]
    if seconds := [each for each in known if each is not None]:
        facts.append(in_seconds(sum(seconds)))
    if usage != Usage():
        facts.append(f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")
    return list(filter(None, facts))


@functools.cache
def asset(name: str) -> str:
    """A template, style sheet or script of the package."""
    return files("tracer_hooks.report").joinpath("templates", name).read_text(encoding="utf-8")


def draw(template: str, **told: object) -> str:
    """The page that a template makes of what it is told.

    Text is escaped, and what cannot be seen in it made visible, wherever a template shows it.
    """
    return (
        environment()
        .get_template(template)
        .render({"style": asset("style.css"), "generated_at": datetime.now(UTC), **told})
    )


@functools.cache
def environment() -> jinja2.Environment:
    """The template environment."""
    import jinja2  # not with the module: `import tracer_hooks` stays fast for those who never make a page

    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        finalize=lambda value: clean(value) if isinstance(value, str) and not hasattr(value, "__html__") else value,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.globals.update(line=one_line, excerpt=excerpt, diff=prompt_diff, outcomes=OUTCOMES)
    made.filters["line"] = one_line
    return made


def write_index(path: Path, entries: Sequence[tuple[str, ReportRun | str]]) -> Path:
    """Write a page that lists ``entries``, and beside it, in ``<name>_files/``, the report of each run.

    Args:
        path: The page.
        entries: Where each run came from, and its report, or why it could not be read.
    """
    folder = path.with_name(f"{path.stem}_files")
    rows: list[View] = []
    for number, (source, run) in enumerate(entries, start=1):
        found, page, problem = None, "", "no diagnosis"
        if isinstance(run, str):
            problem = run
        else:
            write_html(folder / f"{number}.html", run)
            page = quote(f"{folder.name}/{number}.html")
            found = run.attempts[-1].attribution if run.attempts else None
        is_named = found is not None and found.certainty in ("clear", "likely")
        if found is not None and not is_named:
            places = ", ".join(f"step {each.step} ({each.agent})" for each in found.places)
            start = f" Places to start: {places}." if found.certainty is not None and places else ""
            problem = f"{found.headline}{start}"
        rows.append(dict(source=source, page=page, found=found, is_named=is_named, problem=problem))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(draw("index.html.j2", rows=rows), encoding="utf-8")
    return path
