"""``tracer-hooks fork``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tracer_hooks._text import counted
from tracer_hooks.cli._options import (
    Answer,
    Json,
    RunId,
    Store,
    existing_store,
    file_text,
    needed_store,
    team_at_work,
    team_of,
    tool_option,
    tool_rules,
)
from tracer_hooks.cli.compare import comparison_lines
from tracer_hooks.cli.console import FAILED, TrialProgress, err, out, print_json
from tracer_hooks.errors import ConfigError

if TYPE_CHECKING:  # at run time with the work: help needs no records
    from tracer_hooks.replay import Trial

_TEAM = "MODULE:build_team"


def fork_command(
    run: RunId,
    at: Annotated[int, typer.Option("--at", help="The step to run on from.", min=0, metavar="K")],
    team: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODULE:build_team]",
            help="What builds the team, path/to/file.py:NAME will do; default what is recorded with the run.",
        ),
    ] = None,
    say: Annotated[str | None, typer.Option(help="The reply that the agent of step K gives.", metavar="TEXT")] = None,
    result: Annotated[str | None, typer.Option(help="What the tool of step K returns.", metavar="VALUE")] = None,
    prompt: Annotated[
        list[str], typer.Option(help="Instructions of an agent from step K on; may be repeated.", metavar="AGENT=FILE")
    ] = [],  # noqa: B006
    n: Annotated[int, typer.Option("-n", help="Runs with the change, and as many without.", min=1)] = 5,
    check: Annotated[str | None, typer.Option(help="What says whether a run succeeded.", metavar="MODULE:NAME")] = None,
    expected: Answer = None,
    tool: Annotated[list[str], tool_option("after step K")] = [],  # noqa: B006
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Run on from step K of a stored run with one change, beside as many runs without it."""
    from tracer_hooks.rerun import fork

    with existing_store(store) as kept:
        stored = kept.get(run)
    told, rules = _prompts(prompt) or None, tool_rules(tool, others=None) or None
    again = f"tracer-hooks fork {run} {_TEAM} --check MODULE:check --at {at} --say TEXT"
    team, build_team, checked_by = team_of(stored, team, check, expected=expected, option=_TEAM, again=again)
    progress = TrialProgress(err(), f"step {at}")
    made = 0

    def count(trial: Trial) -> None:
        nonlocal made
        made += 1
        progress.trial_ended(trial)

    try:
        with progress, team_at_work(team, option=_TEAM):
            found = fork(
                stored,
                at=at,
                say=say,
                result=result,
                prompts=told,
                n=n,
                build_team=build_team,
                check=checked_by,
                expected=expected,
                tools=rules,
                store=needed_store(store),
                on_trial=count,
            )
    except KeyboardInterrupt:
        err().print(f"stopped after {counted(made, 'run')}; they are in the run store", soft_wrap=True)
        raise typer.Exit(FAILED) from None
    if as_json:
        print_json(
            {
                "run_id": found.run_id,
                "step": found.step,
                "change": found.change,
                "verdict": found.verdict,
                "is_significant": found.is_significant,
                "interval": list(found.interval),
                "runs": [trial.trajectory.run_id for trial in found.runs],
                "control_runs": [trial.trajectory.run_id for trial in found.control_runs],
                "succeeded": list(found.succeeded),
                "comparison": found.comparison.model_dump(mode="json"),
            }
        )
        return
    for line in comparison_lines(found.comparison):
        out().print(line, soft_wrap=True)
    low, high = found.interval
    changed, control = found.succeeded
    out().print(f"  with the change  {changed} of {len(found.runs)} succeeded", soft_wrap=True)
    out().print(f"  without it       {control} of {len(found.control_runs)} succeeded", soft_wrap=True)
    out().print(f"difference 95 % interval {low:+.2f} to {high:+.2f}", soft_wrap=True)
    out().print(Text(found.verdict, style="green" if found.is_significant else "yellow"), soft_wrap=True)


def _prompts(given: Sequence[str]) -> dict[str, str]:
    """Instructions by agent, read from the files that ``--prompt`` names."""
    found = {}
    for each in given:
        agent, _, file = each.partition("=")
        if not (agent and file):
            raise ConfigError(f"--prompt is {each!r}, expected AGENT=FILE, as in --prompt writer=writer.txt")
        found[agent] = file_text(Path(file), option="--prompt")
    return found
