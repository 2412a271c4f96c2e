"""``tracer-hooks issues``: what is found in stored runs again and again."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracer_hooks._text import counted
from tracer_hooks.cli._options import (
    Json,
    Kind,
    Since,
    Store,
    Tag,
    finding_kind,
    since_of,
    store_to_read,
    tags_of,
)
from tracer_hooks.cli.console import ProgressDisplay, err, out, print_json

if TYPE_CHECKING:  # at run time with the work: help needs no records
    from tracer_hooks.diagnosis import RecurringFinding, RecurringFindings
    from tracer_hooks.report import RunFilter
    from tracer_hooks.store import RunStore

_MOST_SHOWN = 20


def issues_command(
    since: Since = None,
    team: Annotated[str | None, typer.Option(help="Only runs of this team.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only what is found about this agent.")] = None,
    kind: Kind = None,
    tag: Tag = None,
    limit: Annotated[int, typer.Option(help="How many runs are looked at, the newest first.", min=1)] = 1_000,
    diagnose: Annotated[
        bool, typer.Option("--diagnose", help="Diagnose first what never was, and keep that with the runs.")
    ] = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Say what is found in stored runs again and again, and in how many.

    A burst of runs, less than a minute apart, is one incident. Findings are those of the runs' diagnoses: runs that
    were never diagnosed, such as imported ones, are left out and counted, unless --diagnose is given.
    """
    from tracer_hooks.diagnosis import RecurringFindings, recurring_findings
    from tracer_hooks.report import RunFilter

    began, wanted, tags = since_of(since), finding_kind(kind), tags_of(tag)
    found = RecurringFindings()
    with store_to_read(store, read_only=not diagnose) as kept:
        if kept.exists():
            if diagnose:
                _diagnose(kept, RunFilter(team=team, since=began, tags=tags), limit, hidden=as_json)
            found = recurring_findings(kept, since=began, team=team, agent=agent, kind=wanted, tags=tags, limit=limit)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    for issue in found.issues[:_MOST_SHOWN]:
        _show(issue)
    if len(found.issues) > _MOST_SHOWN:
        err().print(f"and {len(found.issues) - _MOST_SHOWN} more; all of them: tracer-hooks issues --json")
    err().print(_summary(found, any_run=not (since or team or tags), any_finding=not (agent or kind)), soft_wrap=True)


def _diagnose(kept: RunStore, asked: RunFilter, limit: int, *, hidden: bool) -> None:
    """Diagnose stored runs of any outcome, and keep that; how many it cannot be done for costs a line."""
    from tracer_hooks.batch import BatchJob, DiagnoseSettings, in_process, store_parts

    parts = store_parts(kept.place, **asked.asked, limit=limit, with_successes=True)
    job = BatchJob(parts, DiagnoseSettings(), out=None)
    with ProgressDisplay(err(), transient=True, on_terminals_only=True, hidden=hidden) as bars:
        counts = job.run(in_process, lambda told: bars.update("runs", "diagnosing", told.parts, len(job.parts)))
    if counts.failed:
        url = f"sqlite:///{kept.place}" if isinstance(kept.place, Path) else kept.name
        said = f"{counted(counts.failed, 'run')} cannot be diagnosed. Run: tracer-hooks diagnose {url}"
        err().print(said, style="yellow", soft_wrap=True)


def _show(issue: RecurringFinding) -> None:
    facts = [counted(issue.incidents, "incident"), f"{counted(issue.runs, 'run')} ({issue.share:.0%})"]
    facts += [_period(issue.first_seen, issue.last_seen), counted(issue.tokens, "token")]
    out().print(issue.sentence, style="bold", soft_wrap=True)
    out().print(f"  {', '.join(facts)}", soft_wrap=True)
    if issue.came_back_after is not None:
        out().print(f"  came back after version {issue.came_back_after} of the prompts", soft_wrap=True)
    place = "" if issue.example.step is None else f", step {issue.example.step}"
    out().print(f"  such as run {issue.example.run_id[:12]}{place}: {issue.example.text}", soft_wrap=True)


def _period(first: datetime, last: datetime) -> str:
    began, ended = (f"{moment.astimezone():%Y-%m-%d %H:%M}" for moment in (first, last))
    return began if began == ended else f"{began} to {ended}"


def _summary(found: RecurringFindings, *, any_run: bool, any_finding: bool) -> str:
    """How much was looked at, and, where nothing came of it, what to do next."""
    if found.looked_at + found.unread + found.undiagnosed == 0:
        if any_run:
            return "no runs yet; hook a team, or run: tracer-hooks demo"
        return "no run is like that; see what there is: tracer-hooks runs list"
    said = f"{counted(found.looked_at, 'run')} looked at, {found.failed} failed"
    said += f", {found.unread} could not be read" if found.unread else ""
    if found.undiagnosed_failures or not found.looked_at:
        more = f"{found.undiagnosed:,} more were never diagnosed, {found.undiagnosed_failures:,} of which did not pass"
        return f"{said}; {more}. Diagnose them: tracer-hooks issues --diagnose"
    if found.issues:
        return said
    if any_finding:
        return f"{said}, and nothing is found in them; look at one: tracer-hooks diagnose RUN"
    return f"{said}, and nothing of this kind or agent is found in them; leave out --kind and --agent"
