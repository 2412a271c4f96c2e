"""``tracer-hooks runs``: list, show, export, delete, prune, import and copy runs of the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracer_hooks._text import counted
from tracer_hooks.cli._options import (
    Expected,
    Failed,
    FileFormat,
    Format,
    Json,
    Kind,
    Outcome,
    OutcomeName,
    Reason,
    RunId,
    Since,
    Store,
    Tag,
    existing_store,
    finding_kind,
    needed_store,
    records_in,
    since_of,
    stated_by,
    store_option,
    store_to_read,
    tags_of,
)
from tracer_hooks.cli.console import FAILED, ProgressDisplay, err, out_wide, print_json, write_result
from tracer_hooks.cli.console import out as out_console
from tracer_hooks.config import Retention, parse_age
from tracer_hooks.errors import ConfigError, TrajectoryError

if TYPE_CHECKING:  # at run time with the work: help needs no store, and a list no report
    from rich.table import Table

    from tracer_hooks.datasets import LoadedRecord, OutcomeOverride
    from tracer_hooks.repair import RepairLog
    from tracer_hooks.schema import Attribution, FindingKind, Step, Trajectory
    from tracer_hooks.store import RunStore, RunSummary, StoredRun
    from tracer_hooks.telemetry import ContentPolicy

runs_app = typer.Typer(help="The local run store.", invoke_without_command=True)

_COLUMNS = {
    "run": 12,
    "began": 11,
    "framework": 9,
    "team": 8,
    "#": 1,
    "outcome": 9,
    "blamed": 14,
    "found": 12,
    "task": 12,
}
"""The table's columns with the least width at which each is of use; the last ones are left out where it is narrow."""
_GAP = 2
_OUTCOME, _NEEDED = list(_COLUMNS).index("outcome"), list(_COLUMNS).index("found")
_MOST_TASK = 60
_STYLES = {"succeeded": "green", "failed": "red", "unknown": "yellow"}
_MOST_SHOWN = 10

_SEARCHED = 5_000
"""The newest runs, in which those are looked for that a diagnosis is asked of."""
_BATCH = 200
_BESIDE = ("tags", "parent", "source")
"""What ``runs export`` writes of a run beside its trajectory."""

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Ask nobody.")]


class CertaintyName(StrEnum):
    """Certainties that ``--certainty`` takes."""

    CLEAR = "clear"
    LIKELY = "likely"
    WEAK = "weak"


class ExportFormat(StrEnum):
    """Formats that ``runs export`` writes."""

    TRAJECTORY = "trajectory"
    OTLP = "otlp"
    HTML = "html"


@runs_app.callback()
def runs(context: typer.Context) -> None:
    """The local run store; without a command, the list of runs."""
    if context.invoked_subcommand is None:
        list_runs()


@runs_app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(help="How many at most.", min=1)] = 20,
    team: Annotated[str | None, typer.Option(help="Only this team.")] = None,
    outcome: Annotated[OutcomeName | None, typer.Option(case_sensitive=False, help="Only runs that ended so.")] = None,
    since: Since = None,
    agent: Annotated[str | None, typer.Option(help="Only runs whose diagnosis names this agent.")] = None,
    kind: Kind = None,
    certainty: Annotated[CertaintyName | None, typer.Option(help="Only diagnoses that are so sure.")] = None,
    tag: Tag = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """List runs, newest first; an agent with a question mark is a place to start, and not to blame."""
    from tracer_hooks.schema import RunOutcome

    with store_to_read(store) as kept:
        wanted = None if outcome is None else RunOutcome(outcome)
        asked = (agent, finding_kind(kind), certainty)
        began, tags = since_of(since), tags_of(tag)
        most = limit if asked == (None, None, None) else max(limit, _SEARCHED)
        is_there = kept.exists()
        summaries = kept.list(limit=most, team=team, outcome=wanted, since=began, tags=tags) if is_there else ()
        listed = list(islice((pair for pair in _diagnosed(kept, summaries) if _fits(pair[1], *asked)), limit))
        teams = {each.team for each in kept.list(limit=_SEARCHED)} if is_there and not listed else set()
    if as_json:
        print_json({"runs": [summary.model_dump(mode="json") | _diagnosis_json(found) for summary, found in listed]})
    elif listed:
        out_wide().print(_table(listed))
    elif not teams:
        err().print("no runs yet; hook a team, or run: tracer-hooks demo")
    elif team is not None and team not in teams:
        err().print(f"no run of a team {team!r}; there are runs of: {', '.join(sorted(teams))}", soft_wrap=True)
    else:
        err().print("no run is like that; see them all: tracer-hooks runs list")


def _diagnosed(kept: RunStore, summaries: Sequence[RunSummary]) -> Iterator[tuple[RunSummary, Attribution | None]]:
    """Runs with their diagnoses, of which only so many are read at a time."""
    for start in range(0, len(summaries), _BATCH):
        batch = summaries[start : start + _BATCH]
        known = kept.attributions(*(run.run_id for run in batch if run.confidence is not None))
        yield from ((run, known.get(run.run_id)) for run in batch)


def _fits(
    found: Attribution | None, agent: str | None, kind: FindingKind | None, certainty: CertaintyName | None
) -> bool:
    """Tell whether a diagnosis is one that is asked for; None where anything will do."""
    if found is None:
        return agent is None and kind is None and certainty is None
    is_kind = kind is None or any(each.kind is kind for each in found.findings)
    return is_kind and agent in (None, found.agent) and certainty in (None, found.certainty)


def _diagnosis_json(found: Attribution | None) -> dict[str, Any]:
    if found is None:
        return {"certainty": None, "findings": []}
    return {"certainty": found.certainty, "findings": list(dict.fromkeys(each.kind.value for each in found.findings))}


@runs_app.command("show")
def show_run(run: RunId, as_json: Json = False, store: Store = None) -> None:
    """Show one run: its steps and its diagnosis."""
    from rich.text import Text

    with existing_store(store) as kept:
        found = kept.get(run, with_tape=False)
        forks = kept.forks_of(found.run_id)
    if as_json:
        print_json({**found.model_dump(mode="json"), "forks": [fork.run_id for fork in forks]})
        return
    from tracer_hooks.report import diagnosis_text, repair_text, stored_forks

    console = out_console()
    title = f"{found.team} ({found.framework}), attempt {found.attempt}: {found.outcome}"
    console.print(Text(title, style=_STYLES[found.outcome]))
    if found.outcome_reason:
        console.print(Text(found.outcome_reason))
    console.print(Text(f"task: {found.task}", style="dim"))
    if found.prompts is not None:
        console.print(Text(f"prompts: {found.prompts.words}", style="dim"))
    if found.tags:
        console.print(Text(f"tags: {', '.join(map('='.join, found.tags.items()))}", style="dim"))
    if found.parent is not None:
        from_where = f"forked from {found.parent.run_id} at step {found.parent.step}"
        console.print(Text(f"{from_where}: {found.parent.change or 'nothing was changed (control)'}", style="dim"))
    for fork in stored_forks(forks):
        console.print(Text(f"fork {fork.run_id} at step {fork.step}: {fork.change}; {fork.verdict}", style="dim"))
    for step in found.trajectory.steps:
        marked = found.attribution is not None and found.attribution.step == step.index
        head = f"{'>' if marked else ' '} {step.index:>3} {step.agent} [{step.kind}{_beside(found.trajectory, step)}] "
        text = step.error or step.content or ", ".join(call.name for call in step.tool_calls)
        line = Text(head, style="bold red" if marked else "").append(" ".join(text.split())[:120])
        console.print(line, soft_wrap=True)
    if found.attribution is not None:
        console.print(diagnosis_text(found.trajectory, found.attribution))
    if (log := _repairs(store, found)) is not None:
        console.print()
        console.print(repair_text(log, found.trajectory))


def _beside(run: Trajectory, step: Step) -> str:
    """The step of another agent, in a parallel branch, that went on when this one began."""
    for other in run.steps[: step.index]:
        # A tool call goes on while the agents that it calls are at work.
        is_other = other.agent != step.agent and not other.tool_calls
        if is_other and step.started_at and other.ended_at and step.started_at < other.ended_at:
            return f", beside step {other.index}"
    return ""


@runs_app.command("export")
def export_run(
    run: RunId,
    file_format: Annotated[ExportFormat, typer.Option("--format", help="What to write.")] = ExportFormat.TRAJECTORY,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file; default stdout.")] = None,
    store: Store = None,
) -> None:
    """Write one run as a trajectory, an OTLP trace with the diagnosis, or an HTML report."""
    from tracer_hooks.schema import KEPT_BESIDE, to_json

    with existing_store(store) as kept:
        found = kept.get(run, with_tape=file_format is ExportFormat.HTML)
        attempts = kept.attempts(found.session_id) if file_format is ExportFormat.HTML else ()
        forks = kept.forks_of(*(each.run_id for each in attempts))
    if file_format is ExportFormat.HTML:
        from tracer_hooks.report import ReportRun, render_html

        text = render_html(ReportRun.of_stored(attempts or (found,), forks, has_tape=found.tape is not None))
    elif file_format is ExportFormat.OTLP:
        from tracer_hooks.telemetry import export_request, to_spans

        text = json.dumps(export_request(to_spans(found.trajectory, found.attribution)), ensure_ascii=False) + "\n"
    else:
        text = to_json(found.trajectory)
        if beside := found.model_dump(mode="json", include=set(_BESIDE), exclude_defaults=True):
            text = json.dumps({**json.loads(text), KEPT_BESIDE: beside}, ensure_ascii=False)
        text += "\n"
    write_result(text, out, again="tracer-hooks runs export RUN --out FILE")


def _repairs(store: str | None, run: StoredRun) -> RepairLog | None:
    """Return what was tried in the call that ``run`` belongs to; it is stored with the last attempt."""
    from tracer_hooks.repair import RepairLog

    if run.repair is None:
        with existing_store(store) as kept:
            run = next(reversed(kept.attempts(run.session_id)), run)
    return None if run.repair is None else RepairLog.model_validate(run.repair)


def _table(listed: Sequence[tuple[RunSummary, Attribution | None]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    cells = [
        (
            summary.run_id[:12],
            f"{summary.started_at.astimezone():%m-%d %H:%M}",
            summary.framework,
            summary.team,
            str(summary.attempt),
            str(summary.outcome),
            _blamed(summary, found),
            _heading_kind(found),
            summary.task[:_MOST_TASK],
        )
        for summary, found in listed
    ]
    rows = [[" ".join(cell.split()) for cell in row] for row in cells]
    table = Table(box=None, pad_edge=False)
    for title, width in zip(_COLUMNS, widths := _fitted(rows, out_wide().width), strict=False):
        table.add_column(title, overflow="ellipsis", no_wrap=True, width=width)
    for row in rows:
        shown = row[: len(widths)]
        table.add_row(*(Text(cell, style=_STYLES[cell] if at == _OUTCOME else "") for at, cell in enumerate(shown)))
    return table


def _fitted(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Widths of the columns that are shown: those of their texts; where it is narrow, the widest gives way first."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, texts)) for texts in zip(_COLUMNS, *rows, strict=True)]
    least = [min(pair) for pair in zip(widths, _COLUMNS.values(), strict=True)]
    while len(least) > _NEEDED and sum(least) + _GAP * (len(least) - 1) > width:
        least.pop()
    widths = widths[: len(least)]
    over = sum(widths) + _GAP * (len(widths) - 1) - width
    while over > 0 and widths != least:
        widest = max(range(len(widths)), key=lambda at: (widths[at] > least[at], widths[at]))
        widths[widest] -= 1
        over -= 1
    return widths


def _blamed(summary: RunSummary, found: Attribution | None) -> str:
    """The blamed agent and step; of a weak diagnosis the place to start, with a question mark."""
    if summary.agent is None:
        return "nobody" if summary.abstained else "-"
    is_weak = found is not None and found.certainty == "weak"
    return f"{'? ' if is_weak else ''}{summary.agent}@{summary.step}"


def _heading_kind(found: Attribution | None) -> str:
    """The kind of the finding that heads the diagnosis: the one at the blamed step, where an agent is blamed."""
    if found is None or not found.findings:
        return "-"
    blamed = next((each for each in found.findings if each.step == found.step and each.leads_to_answer), None)
    return (found.heading_finding or blamed or found.findings[0]).kind.value


@runs_app.command("delete")
def delete_runs(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Ids of runs, or their beginnings.", show_default=False)
    ],
    only: Annotated[bool, typer.Option("--only", help="Leave the other attempts of the same calls.")] = False,
    yes: Yes = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Delete runs for good, with the other attempts of their calls: of a file their bytes are gone, too."""
    with existing_store(store, read_only=False) as kept:
        named = tuple(dict.fromkeys(map(kept.find_id, runs)))  # all are found before the first is deleted
        found = named if only else kept.calls_of(*named)
        lines = [f"run {run_id}{'' if run_id in named else ', another attempt of the same call'}" for run_id in found]
        if yes or _is_agreed(lines, as_json=as_json):
            _delete(kept, found, as_json=as_json)


@runs_app.command("prune")
def prune_runs(
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="Delete runs that began longer ago: 30d, 12h, 4w.", metavar="AGE")
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep", help="Keep the newest N whatever their age; alone, delete all others.", min=0, metavar="N"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many would be deleted.")] = False,
    yes: Yes = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Delete old runs for good. Prompts and counts that were learnt from them stay."""
    if older_than is None and keep is None:
        raise ConfigError("expected --older-than AGE, --keep N, or both: which runs are to go?")
    age = parse_age(older_than, name="--older-than") if older_than is not None else None
    with existing_store(store, read_only=False) as kept:
        found = kept.prune(Retention(older_than=age, keep=keep), dry_run=True)
        ids = tuple(summary.run_id for summary in found)  # what is shown, whatever becomes old meanwhile
        if dry_run or not found:
            if as_json:
                print_json({"would_delete" if dry_run else "deleted": list(ids), "wiped": None})
            elif dry_run:
                out_console().print(f"{counted(len(ids), 'run')} would be deleted")
            else:
                out_console().print("no run is that old; nothing was deleted")
        else:
            lines = [f"{run.run_id[:12]}  {run.started_at.astimezone():%Y-%m-%d %H:%M}  {run.team}" for run in found]
            if yes or _is_agreed(lines, as_json=as_json):
                _delete(kept, ids, as_json=as_json)


def _is_agreed(lines: Sequence[str], *, as_json: bool) -> bool:
    if as_json:
        raise ConfigError("--json asks nobody, expected --yes with it")
    for line in lines[:_MOST_SHOWN]:
        err().print(line, soft_wrap=True)
    if len(lines) > _MOST_SHOWN:
        err().print(f"and {len(lines) - _MOST_SHOWN} more")
    return typer.confirm(f"Delete {counted(len(lines), 'run')} for good?", err=True)


def _delete(kept: RunStore, found: Sequence[str], *, as_json: bool) -> None:
    """Delete runs, and say what stays of them."""
    others = [run_id for run_id in kept.calls_of(*found) if run_id not in set(found)]
    learnt = kept.learnt_from(*found)
    kept.delete(*found)
    is_wiped = kept.wipe()
    if as_json:
        print_json({"deleted": list(found), "wiped": is_wiped, "attempts_left": others, "counts": learnt})
        return
    out_console().print(f"{counted(len(found), 'run')} deleted")
    for line in _staying(others, learnt):
        out_console().print(line, soft_wrap=True)
    if not is_wiped:
        err().print(
            "another process is reading the store: what was deleted is out of its reach, and out of the file once "
            "this command is given again without that process"
            if isinstance(kept.place, Path)
            else "the server may keep what was deleted until it needs the room, and in its log and backups",
            soft_wrap=True,
        )


def _staying(attempts: Sequence[str], learnt: int) -> Iterator[str]:
    if attempts:
        yield f"of the same calls, with the same tasks, stay: {_listed_ids(attempts)}"
    if learnt:
        yield f"what was learnt from them stays, with their ids: {counted(learnt, 'count')} for prompts"


def _listed_ids(run_ids: Sequence[str]) -> str:
    shown = ", ".join(run_id[:12] for run_id in run_ids[:_MOST_SHOWN])
    return shown + (f" and {len(run_ids) - _MOST_SHOWN} more" if len(run_ids) > _MOST_SHOWN else "")


@dataclass(kw_only=True)
class _Taken:
    """Records by what became of them."""

    imported: list[str] = field(default_factory=list)
    there: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    bad: list[LoadedRecord] = field(default_factory=list)


@runs_app.command("import")
def import_runs(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files or folders.", show_default=False)],
    failed: Failed = False,
    outcome: Outcome = None,
    reason: Reason = None,
    expected: Expected = None,
    file_format: FileFormat = Format.AUTO,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Take runs from traces and files into the run store; a run that is there already is not taken twice.

    What is said of the runs holds for every run that is read, also for those that were imported before.
    """
    from tracer_hooks.store import RunStore

    stated = stated_by(failed=failed, outcome=outcome, reason=reason, expected=expected)
    taken = _Taken()
    with RunStore(needed_store(store)) as kept:
        for path in paths:
            for record in records_in(path, file_format=file_format):
                if record.error is not None or record.trajectory is None:
                    taken.bad.append(record)
                else:
                    _take(kept, record, record.trajectory, stated, taken)
    _show_taken(taken, as_json=as_json)
    if taken.bad:
        raise typer.Exit(FAILED)


def _take(kept: RunStore, record: LoadedRecord, read: Trajectory, stated: OutcomeOverride, taken: _Taken) -> None:
    from pydantic import ValidationError

    from tracer_hooks._reading import first_problem
    from tracer_hooks.datasets import OutcomeOverride
    from tracer_hooks.schema import KEPT_BESIDE, RunKind
    from tracer_hooks.telemetry import ContentPolicy, redacted_trajectory

    policy = ContentPolicy.of_record()
    trajectory = redacted_trajectory(stated.of(read).trajectory, policy)
    try:
        run = _imported(trajectory, _stored_beside(record, policy))
    except ValidationError as error:
        where, what = first_problem(error)
        taken.bad.append(replace(record, error=TrajectoryError(f"{record.source!r}: {KEPT_BESIDE}.{where}: {what}")))
        return
    if kept.add(run):
        taken.imported.append(trajectory.run_id)
        return
    there = kept.get(trajectory.run_id, with_tape=False)
    if there.kind is RunKind.IMPORTED and _unstated(there.trajectory) != _unstated(trajectory):
        # Records of different sets may bear the same id, such as "1".
        trajectory = trajectory.model_copy(update={"run_id": f"{trajectory.run_id}-{_digest(trajectory)}"})
        if kept.add(_imported(trajectory, _stored_beside(record, policy))):
            taken.imported.append(trajectory.run_id)
            return
        there = kept.get(trajectory.run_id, with_tape=False)
    taken.there.append(there.run_id)
    is_stated = stated != OutcomeOverride() and there.kind is RunKind.IMPORTED
    if is_stated and (there.outcome, there.outcome_reason) != (trajectory.outcome, trajectory.outcome_reason):
        kept.save(_imported(trajectory, {name: getattr(there, name) for name in ("started_at", *_BESIDE)}))
        taken.updated.append(there.run_id)


def _show_taken(taken: _Taken, *, as_json: bool) -> None:
    for record in taken.bad:
        err().print(f"could not be read: {record.error}", style="yellow", soft_wrap=True)
    if as_json:
        bad = [{"source": record.source, "error": str(record.error)} for record in taken.bad]
        document = {"imported": taken.imported, "already_there": taken.there, "updated": taken.updated}
        print_json({**document, "could_not_be_read": bad})
        return
    numbers = f"{len(taken.imported)} imported, {len(taken.there)} already there, {len(taken.bad)} could not be read"
    out_console().print(numbers, soft_wrap=True)
    if taken.updated:
        out_console().print(f"of those already there, {len(taken.updated)} now have the outcome that you say")
    for first in [*taken.imported, *taken.there][:1]:
        out_console().print(f"diagnose one: tracer-hooks diagnose {first}", soft_wrap=True)


def _imported(trajectory: Trajectory, more: Mapping[str, Any]) -> StoredRun:
    from tracer_hooks.schema import RunKind
    from tracer_hooks.store import StoredRun

    return StoredRun.of(trajectory, session_id=trajectory.run_id, kind=RunKind.IMPORTED, **more)


def _stored_beside(record: LoadedRecord, policy: ContentPolicy) -> dict[str, Any]:
    """What the file says of a run beside its trajectory; without content, its tags alone."""
    names = _BESIDE[:1] if policy.blocks_all else _BESIDE
    stored = record.stored or {}
    return {name: stored[name] if policy.blocks_all else policy.value(stored[name]) for name in names if name in stored}


def _unstated(trajectory: Trajectory) -> Trajectory:
    """Without what may be said of a run after it was imported, which makes no other run of it."""
    from tracer_hooks.schema import RunOutcome

    unstated: dict[str, Any] = {"outcome": RunOutcome.UNKNOWN, "outcome_reason": None, "reference": None}
    return trajectory.model_copy(update=unstated)


def _digest(trajectory: Trajectory) -> str:
    """Of the content, so that the same record gets the same id in every import."""
    from tracer_hooks.schema import to_json

    return hashlib.sha256(to_json(_unstated(trajectory)).encode()).hexdigest()[:8]


@runs_app.command("copy")
def copy_runs(
    from_store: Annotated[str | None, store_option("--from", "The store to copy from; default the usual one.")] = None,
    to_store: Annotated[str | None, store_option("--to", "The store to copy to; default the usual one.")] = None,
    as_json: Json = False,
) -> None:
    """Copy runs and prompts from one store into another, which keeps what it has; give it again to go on."""
    from tracer_hooks.store import RunStore, copy_store

    with (
        existing_store(from_store) as source,
        RunStore(needed_store(to_store), stays_open=True) as target,
        ProgressDisplay(err(), on_terminals_only=True, hidden=as_json) as bars,
    ):
        try:
            copied = copy_store(source, target, lambda done, total: bars.update("runs", "runs", done, total))
        except KeyboardInterrupt:
            bars.say("stopped; what was copied stays, and the same command goes on from there")
            raise
    if as_json:
        print_json({**copied.model_dump(mode="json"), "from": source.name, "to": target.name})
    else:
        there = f", {copied.runs_there} were there already" if copied.runs_there else ""
        out_console().print(f"{counted(copied.runs, 'run')} copied to {target.name}{there}", soft_wrap=True)
        there = f", {copied.teams_there} had prompts there, which stay as they are" if copied.teams_there else ""
        if copied.teams or copied.teams_there:
            out_console().print(f"prompts of {counted(copied.teams, 'team')} copied{there}", soft_wrap=True)
    if copied.left_out:
        err().print(f"damaged, and left out: {_listed_ids(copied.left_out)}", soft_wrap=True)
        raise typer.Exit(FAILED)
