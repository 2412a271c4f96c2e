"""``tracer-hooks replay``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from tracer_hooks.cli._options import (
    Answer,
    Json,
    MaxRuns,
    MaxSeconds,
    MaxTokens,
    RunId,
    Store,
    existing_store,
    file_text,
    model_chat,
    team_at_work,
    team_of,
    tool_option,
    tool_rules,
)
from tracer_hooks.cli.console import FAILED, TrialProgress, err, out, print_json
from tracer_hooks.errors import ConfigError, TapeMismatchError

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no team
    from tracer_hooks.replay import Arm, Correction, Counterfactual, DecisiveSearch, Proposer, Replayed
    from tracer_hooks.schema import Usage
    from tracer_hooks.store import StoredRun

_TEAM = "--team MODULE:NAME"
_WORTH_SAYING = 0.5
"""A step that is likelier than all others together."""


def replay_command(
    run: RunId,
    step: Annotated[
        int | None, typer.Option("--from", help="Correct step K, and go on live from there.", min=0, metavar="K")
    ] = None,
    correction: Annotated[str | None, typer.Option(help="The reply at step K.", metavar="TEXT")] = None,
    correction_file: Annotated[
        Path | None, typer.Option(help="A file with the reply at step K.", metavar="FILE")
    ] = None,
    guidance: Annotated[
        str | None, typer.Option(help="What the agent is told before it tries step K again.", metavar="TEXT")
    ] = None,
    find: Annotated[
        bool, typer.Option("--find", help="Find the earliest step whose correction saves the run.")
    ] = False,
    team: Annotated[
        str | None,
        typer.Option(
            help="What builds the team, path/to/file.py:NAME will do; default what is recorded with the run.",
            metavar="MODULE:NAME",
        ),
    ] = None,
    check: Annotated[str | None, typer.Option(help="What says whether a run succeeded.", metavar="MODULE:NAME")] = None,
    expected: Answer = None,
    task: Annotated[str | None, typer.Option(help="The task; default the run's.", metavar="TEXT")] = None,
    trials: Annotated[int, typer.Option(help="Runs with the correction at most, and as many without.", min=1)] = 6,
    suspect_trials: Annotated[
        int,
        typer.Option(
            help="With --find, the same for the likeliest steps where no step was found; 0 for no more than --trials.",
            min=0,
        ),
    ] = 20,
    tool: Annotated[list[str], tool_option("after step K")] = [],  # noqa: B006
    lenient: Annotated[bool, typer.Option("--lenient", help="Go on where the team leaves the tape.")] = False,
    proposer: Annotated[
        list[str],
        typer.Option(
            help="Who writes the correction: resample (ask again), template (a word of care), feedback (what the check "
            "said), guidance (a language model). With --find several, with commas or repeated: the next one is asked "
            "where those before it show no step. [default: resample]",
            metavar="WHO",
        ),
    ] = [],  # noqa: B006
    base_url: Annotated[str, typer.Option(help="Address of the model that writes guidance.", metavar="URL")] = "",
    model: Annotated[str, typer.Option(help="Name of the model that writes guidance.", metavar="NAME")] = "",
    max_runs: MaxRuns = None,
    max_tokens: MaxTokens = None,
    max_seconds: MaxSeconds = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Replay a stored run from its tape: as it was, with step K corrected, or to find the decisive step."""
    from tracer_hooks.budget import CostCap
    from tracer_hooks.rerun import counterfactual, find_decisive_step

    if find and step is not None:
        raise ConfigError("--find looks for the step itself; expected either --find or --from K, not both")
    written = _correction(correction, correction_file, guidance, run=run, step=step)
    names = ",".join(proposer) or "resample"
    proposers = _proposers(names, base_url, model)
    if step is not None and len(proposers) > 1:
        raise ConfigError(f"--from K has one correction, expected one proposer, not {names!r}")
    with existing_store(store) as kept:
        stored = kept.get(run)
    if task is not None:
        stored = stored.model_copy(update={"task": task})
    again = f"tracer-hooks replay {run} --team MODULE:build_team"
    team, build_team, checked_by = team_of(stored, team, check, expected=expected, option="--team", again=again)
    arguments = {
        "build_team": build_team,
        "check": checked_by,
        "expected": expected,
        "tools": tool_rules(tool, others=None) or None,
        "mode": "lenient" if lenient else "strict",
    }
    if step is None and not find:
        _replay_whole(stored, team, arguments, as_json=as_json)
        return
    with TrialProgress(err(), "searching" if find else f"step {step}") as progress, team_at_work(team, option=_TEAM):
        arguments |= {
            "trials": trials,
            "suspect_trials": suspect_trials,
            "proposer": proposers,
            "cap": CostCap(max_runs=max_runs, max_tokens=max_tokens, max_seconds=max_seconds),
            "on_trial": progress.trial_ended,
        }
        if step is None:
            arguments["on_test"] = lambda test: progress.say(_tested_line(test))
            found = find_decisive_step(stored, **arguments)
            document, shown = found.model_dump(mode="json"), _search_shown(found)
        else:
            result = counterfactual(stored, step=step, correction=written, **arguments)
            document, shown = {**result.model_dump(mode="json"), "effect": result.effect}, _counterfactual_shown(result)
    if as_json:
        print_json(document)
    else:
        out().print(shown, soft_wrap=True)


def _correction(
    text: str | None, file: Path | None, guidance: str | None, *, run: str, step: int | None
) -> Correction | None:
    from tracer_hooks.replay import Correction

    named = {"--correction": text, "--correction-file": file, "--guidance": guidance}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} are both given, expected one correction")
    if given and step is None:
        raise ConfigError(f"{given[0]} needs the step that it is for. Run: tracer-hooks replay {run} --from K")
    if guidance is not None:
        return Correction(guidance=guidance)
    if file is not None:
        return Correction(content=file_text(file, option="--correction-file"))
    return None if text is None else Correction(content=text)


def _proposers(names: str, base_url: str, model: str) -> tuple[Proposer, ...]:
    """Those who write corrections, in order."""
    from tracer_hooks.replay import GuidanceProposer, proposers_of

    def writer() -> Proposer:
        if not base_url or not model:
            raise ConfigError(
                "--proposer guidance needs the model that writes, expected --base-url URL and --model NAME"
            )
        return GuidanceProposer(model_chat(base_url, model, needed_by="`tracer-hooks replay --proposer guidance`"))

    stripped = [name.strip() for name in names.split(",")]
    return proposers_of([writer() if name == GuidanceProposer.name else name for name in stripped])


def _replay_whole(stored: StoredRun, team: str, arguments: Mapping[str, Any], *, as_json: bool) -> None:
    from tracer_hooks.rerun import replay_run

    try:
        with team_at_work(team, option=_TEAM):
            replayed = replay_run(stored, **arguments)
    except TapeMismatchError as error:
        if not as_json:
            raise
        print_json({"run": stored.run_id, "reproduced": False, "reason": str(error)})
        raise typer.Exit(FAILED) from error
    seen = replayed.trial.trajectory
    answer = seen.final_output or ""
    same = answer == (stored.trajectory.final_output or "")
    reproduced = replayed.is_from_tape and same
    if as_json:
        divergences = [{"step": one.step, "agent": one.agent, "reason": one.reason} for one in replayed.divergences]
        document = {"run": stored.run_id, "reproduced": reproduced, "same_answer": same, "served": replayed.served}
        print_json({**document, "live": replayed.live, "outcome": str(seen.outcome), "divergences": divergences})
    else:
        _show_whole(replayed, answer, reproduced=reproduced, same_answer=same)
    if not reproduced:
        raise typer.Exit(FAILED)


def _show_whole(replayed: Replayed, answer: str, *, reproduced: bool, same_answer: bool) -> None:
    verdict = Text("reproduced", style="green") if reproduced else Text("not reproduced", style="red")
    verdict.append(f": {replayed.served} model calls from the tape, {replayed.live} live calls", style="default")
    out().print(verdict, soft_wrap=True)
    if not same_answer:
        out().print(Text(f"the answer differs: {answer[:200]!r}"), soft_wrap=True)
    for divergence in replayed.divergences:
        out().print(Text(str(divergence)), soft_wrap=True)


def _counterfactual_shown(result: Counterfactual) -> RenderableType:
    """The arms, the difference with its interval, the verdict and the cost."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("runs")
    for title in ("made", "succeeded", "rate"):
        table.add_column(title, justify="right")
    arms = [(f"step {result.step} ({result.agent}) corrected", result.corrected), ("as recorded", result.control)]
    if result.placebo_step is not None:
        arms.append((f"step {result.placebo_step} corrected instead", result.placebo))
    for name, arm in arms:
        table.add_row(Text(name), str(arm.trials), str(arm.flips), f"{arm.rate:.0%}" if arm.trials else "-")
    low, high = result.interval
    difference = Text(f"difference {result.effect:+.2f}, 95 % interval {low:+.2f} to {high:+.2f}")
    return Group(table, difference, _verdict(result), _cost(result.runs, result.usage))


def _search_shown(found: DecisiveSearch) -> RenderableType:
    """The answer, what speaks for it, and the cost."""
    if found.decisive is None:
        answer = Text("no decisive step found", style="yellow")
        answer.append(f": {found.reason}", style="default")
        return Group(answer, *_suspected(found), _cost(found.runs, found.usage))
    answer = Text(f"decisive step {found.decisive.step}, agent {found.decisive.agent}", style="bold red")
    answer.append(f": {found.reason}", style="not bold default")
    evidence = found.evidence
    cost = _cost(found.runs, found.usage)
    return Group(answer, cost) if evidence is None else Group(answer, _counterfactual_shown(evidence), cost)


def _suspected(found: DecisiveSearch) -> list[Text]:
    """The step that the runs point at without proving it, where there is one."""
    likeliest = next(iter(found.suspects), None)
    if likeliest is None or likeliest.score < _WORTH_SAYING or not found.tested:
        return []
    return [Text(f"most likely, and not proven: step {likeliest.step} ({likeliest.agent}), {likeliest.score:.0%}")]


def _tested_line(test: Counterfactual) -> Text:
    """One line about a step that was tested in a search."""
    line = Text(f"step {test.step} ({test.agent}): corrected {_of(test.corrected)}, as recorded {_of(test.control)}")
    if test.is_significant:
        return line.append(" - it matters", style="red")
    return line.append(" - " + ("nothing had gone wrong yet" if test.control.rate > 0.5 else "no effect shown"))


def _verdict(result: Counterfactual) -> Text:
    if not result.is_significant:
        return Text(f"no effect of step {result.step} is shown ({result.stopped})", style="yellow")
    verdict = Text(f"step {result.step} matters: corrected, the run succeeds", style="green")
    if result.placebo.flips:
        verdict.append(
            f"; but with step {result.placebo_step} corrected instead it succeeds as well, "
            f"{_of(result.placebo)}: the correction may give the answer away",
            style="yellow",
        )
    return verdict


def _cost(runs: int, usage: Usage) -> Text:
    return Text(f"{runs} runs, {usage.input_tokens} tokens read and {usage.output_tokens} written live", style="dim")


def _of(arm: Arm) -> str:
    return f"{arm.flips} of {arm.trials}"
