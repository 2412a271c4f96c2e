"""``tracer-hooks runs``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracer_hooks.cli._console import DONE, err, out, out_wide, print_json, write_result
from tracer_hooks.cli._needed_store import needed_store
from tracer_hooks.errors import ConfigError, StoreError
from tracer_hooks.schema import RunOutcome, to_json
from tracer_hooks.store import RunStore, RunSummary, StoredRun

if TYPE_CHECKING:  # at run time they are imported by the commands that need them: a list needs no report
    from rich.table import Table

    from tracer_hooks.repairs import RepairLog
    from tracer_hooks.report import ReportRun

_COLUMNS = {"run": 12, "began": 11, "team": 5, "attempt": 7, "outcome": 9, "blamed": 5, "task": 5}
"""The table's columns with the least width at which each is of use: an id that is cut shows no run."""

_MOST_NAME = 26

_STYLES = {RunOutcome.SUCCEEDED: "green", RunOutcome.FAILED: "red", RunOutcome.UNKNOWN: "yellow"}


def list_runs(store: Path | None, *, limit: int, team: str | None, outcome: str | None, as_json: bool) -> int:
    """Print summaries of runs, newest first."""
    with _open(store) as runs:
        summaries = runs.list(limit=limit, team=team, outcome=_outcome(outcome)) if runs.path.exists() else ()
    if as_json:
        print_json({"runs": [summary.model_dump(mode="json") for summary in summaries]})
    elif not summaries:
        err().print("no runs yet; hook a team, or run: tracer-hooks demo")
    else:
        console = out_wide()
        console.print(_table(summaries))
    return DONE


def show_run(store: Path | None, run_id: str, *, as_json: bool) -> int:
    """Print one run with its steps and diagnosis."""
    from rich.text import Text

    from tracer_hooks.report import diagnosis_text, repair_text

    run = _get(store, run_id)
    if as_json:
        print_json(run.model_dump(mode="json"))
        return DONE
    log = _repairs(store, run)
    console = out()
    console.print(
        Text(f"{run.team} ({run.framework}), attempt {run.attempt}: {run.outcome}", style=_STYLES[run.outcome])
    )
    if run.outcome_reason:
        console.print(Text(run.outcome_reason))
    console.print(Text(f"task: {run.task}", style="dim"))
    if run.prompts is not None:
        console.print(Text(f"prompts: {run.prompts.words}", style="dim"))
    for step in run.trajectory.steps:
        marked = run.attribution is not None and run.attribution.step == step.index
        line = Text(
            f"{'>' if marked else ' '} {step.index:>3} {step.agent} [{step.kind}] ", style="bold red" if marked else ""
        )
        line.append(" ".join((step.error or step.content or ", ".join(c.name for c in step.tool_calls)).split())[:120])
        console.print(line, soft_wrap=True)
    if run.attribution is not None:
        console.print(diagnosis_text(run.trajectory, run.attribution))
    if log is not None:
        console.print()
        console.print(repair_text(log, run.trajectory))
    return DONE


def export_run(store: Path | None, run_id: str, *, file_format: str, out: Path | None) -> int:
    """Write one run to a file or stdout."""
    run = _get(store, run_id)
    if file_format == "html":
        from tracer_hooks.report import render_html

        with _open(store) as runs:
            text = render_html(_report(runs.attempts(run.session_id) or (run,)))
    elif file_format == "otlp":
        import json

        from tracer_hooks.telemetry import export_request, to_spans

        text = json.dumps(export_request(to_spans(run.trajectory)), ensure_ascii=False) + "\n"
    else:
        text = to_json(run.trajectory) + "\n"
    write_result(text, out, again="tracer-hooks runs export RUN --out FILE")
    return DONE


def _open(store: Path | None) -> RunStore:
    return RunStore(needed_store(store), read_only=True)


def _get(store: Path | None, run_id: str) -> StoredRun:
    with _open(store) as runs:
        if not runs.path.exists():
            raise StoreError(f"there is no run store at {str(runs.path)!r}. Hook a team, or run: tracer-hooks demo")
        return runs.get(run_id, with_tape=False)


def _repairs(store: Path | None, run: StoredRun) -> RepairLog | None:
    """What was tried in the call that ``run`` belongs to; it is stored with the last attempt."""
    if run.repair is None:
        with _open(store) as runs:
            run = next(reversed(runs.attempts(run.session_id)), run)
    if run.repair is None:
        return None
    from tracer_hooks.repairs import RepairLog

    return RepairLog.model_validate(run.repair)


def _outcome(value: str | None) -> RunOutcome | None:
    if value is None:
        return None
    try:
        return RunOutcome(value.lower())
    except ValueError as error:
        raise ConfigError(f"--outcome is {value!r}, expected 'succeeded', 'failed' or 'unknown'") from error


def _table(summaries: tuple[RunSummary, ...]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title, width in _COLUMNS.items():
        table.add_column(title, overflow="ellipsis", no_wrap=True, min_width=width)
    for summary in summaries:
        blamed = (
            f"{summary.agent}@{summary.step}"
            if summary.agent is not None
            else ("-" if not summary.abstained else "none")
        )
        cells: list[Any] = [
            summary.run_id[:12],
            f"{summary.started_at.astimezone():%m-%d %H:%M}",
            _short(summary.team),
            str(summary.attempt),
            str(summary.outcome),
            _short(blamed),
            " ".join(summary.task.split())[:60],
        ]
        table.add_row(
            *(Text(cell, style=_STYLES[summary.outcome] if cell == summary.outcome else "") for cell in cells)
        )
    return table


def _short(name: str) -> str:
    """A name that leaves room for the run's id: one that is cut shows no run."""
    words = " ".join(name.split())
    return words if len(words) <= _MOST_NAME else f"{words[: _MOST_NAME - 1]}…"


def _report(attempts: tuple[StoredRun, ...]) -> ReportRun:
    from tracer_hooks.repairs import RepairLog
    from tracer_hooks.report import ReportAttempt, ReportRun

    return ReportRun(
        team=attempts[0].team,
        framework=attempts[0].framework,
        task=attempts[0].task,
        attempts=[
            ReportAttempt(
                number=a.attempt,
                trajectory=a.trajectory,
                attribution=a.attribution,
                prompts=a.prompts.words if a.prompts is not None else "",
            )
            for a in attempts
        ],
        repair=next((RepairLog.model_validate(a.repair) for a in reversed(attempts) if a.repair is not None), None),
    )
