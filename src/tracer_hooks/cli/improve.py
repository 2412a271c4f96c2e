"""``tracer-hooks improve``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tracer_hooks._text import on_screen
from tracer_hooks.cli._options import (
    concurrency_option,
    load_function,
    load_object,
    model_chat,
    needed_store,
    store_option,
    work_folder,
)
from tracer_hooks.cli.console import FAILED, ProgressDisplay, err, print_json, writing_page
from tracer_hooks.cli.console import out as out_console
from tracer_hooks.cli.prompts import diff_text
from tracer_hooks.errors import BudgetSpentError, CheckError, ConfigError

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no team
    from tracer_hooks.endpoint import Chat
    from tracer_hooks.improvement import ImproveEstimate, Improvement, ImproveOptions, ImproveProgress
    from tracer_hooks.report import ReportImprovement

_STYLES = {"succeeded": "bold green", "failed": "bold red", "spread": "bold yellow", "unknown": "bold"}
_MOST_REFUSED = 6
_WHY_CHARS = 160


def _rare(text: str, **more: Any) -> Any:
    """An option that is shown with ``--advanced`` alone."""
    return typer.Option(help=text, hidden=True, **more)


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]  # of options; the argument has it as well
        out_console().print(context.get_help(), soft_wrap=True)
        raise typer.Exit


def improve_command(
    team: Annotated[str, typer.Argument(metavar="MODULE:build_team", help="Builds your team; or path/file.py:NAME.")],
    tasks: Annotated[Path, typer.Option(help="A JSON object a line: task, reference.", metavar="FILE")],
    check: Annotated[str | None, typer.Option(help="Judges a run; else references do.", metavar="MODULE:check")] = None,
    base_url: Annotated[
        str,
        typer.Option(envvar="OPENAI_BASE_URL", show_envvar=False, help="Where the writing model is.", metavar="URL"),
    ] = "",
    model: Annotated[
        str, typer.Option(envvar="OPENAI_MODEL", show_envvar=False, help="Name of that model.", metavar="NAME")
    ] = "",
    writer_model: Annotated[str | None, typer.Option(help="A function in its place.", metavar="MODULE:chat")] = None,
    agent: Annotated[list[str], typer.Option(help="Rewrite only this one; repeatable.", metavar="NAME")] = [],  # noqa: B006
    from_store: Annotated[bool, typer.Option("--from-store", help="Learn from stored failed runs.")] = False,
    max_runs: Annotated[int | None, typer.Option(help="Stop after so many runs.", min=1, metavar="N")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Two runs, and what it will take.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the job, to go on in.", metavar="DIR")] = None,
    report: Annotated[Path | None, typer.Option(help="Also write an HTML report.", metavar="FILE.html")] = None,
    store: Annotated[str | None, store_option("--store", "The run store.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    metric_calls: Annotated[int, _rare("Runs of the team that the search may take.", min=1)] = 200,
    pairs: Annotated[int, _rare("Pairs of runs, new prompts against old, that the trial may take.", min=10)] = 200,
    attributor: Annotated[str, _rare("Who diagnoses the failures.")] = "auto",
    workers: Annotated[int, _rare("Runs of the team that go on at the same time.", min=1)] = 4,
    concurrency: Annotated[int | None, concurrency_option(hidden=True)] = None,
    max_tokens: Annotated[int | None, _rare("Stop after so many tokens.", min=1)] = None,
    max_seconds: Annotated[float | None, _rare("Stop after so many seconds.", min=0)] = None,
    max_cost: Annotated[float | None, _rare("Stop after so much money; needs the prices.", min=0)] = None,
    input_price: Annotated[float, _rare("Price of a million tokens read.", min=0)] = 0.0,
    output_price: Annotated[float, _rare("Price of a million tokens written.", min=0)] = 0.0,
    seed: Annotated[int, _rare("Of every random choice.")] = 0,
    advanced: Annotated[
        bool, typer.Option("--advanced", help="Show all options.", is_eager=True, callback=_show_all)
    ] = False,
) -> None:
    """Better prompts for your team: learnt from failures, accepted on other tasks, kept as a version."""
    from tracer_hooks.budget import CostCap
    from tracer_hooks.improvement import AcceptanceRule, ImproveOptions, Improver
    from tracer_hooks.tasks import load_tasks

    needed_store(store)
    built = load_team(team)
    options = ImproveOptions(
        metric_calls=metric_calls,
        rule=AcceptanceRule(most_pairs=pairs),
        agents=tuple(agent),
        attributor=attributor,
        workers=workers,
        cap=CostCap(
            max_runs=max_runs,
            max_tokens=max_tokens,
            max_seconds=max_seconds,
            max_cost=max_cost,
            input_price=input_price,
            output_price=output_price,
        ),
        seed=seed,
    )
    folder = out or work_folder("improvement", team)
    with redirect_stdout(sys.stderr), ImproveBars(err()) as bars:  # what the team prints is no result of ours
        improver = Improver(
            built,
            load_tasks(tasks),
            chat=writing_chat(base_url, model, writer_model),
            check=load_function(check, option="--check"),
            folder=folder,
            store=store,
            from_store=from_store,
            options=options,
            on_progress=bars.show,
        )
        try:
            try:
                estimate = improver.estimate()
            except BudgetSpentError:
                estimate = improver.estimate(probes=0)
            bars.say(estimate_words(estimate))
            result = None if dry_run else improver.run()
        except KeyboardInterrupt:
            bars.say("Interrupted. What was run is kept: give the same command again, and it goes on.")
            raise
        except CheckError as error:
            raise ConfigError(f"{error}. Run: {command_again()}") from error
    if result is not None:
        _show(result, tuple(_next_steps(result, options, folder, store)), folder, report, as_json=as_json)
        if result.outcome == "stopped":
            raise typer.Exit(FAILED)
    elif as_json:
        print_json({**asdict(estimate), "tokens": estimate.tokens})


def load_team(named: str) -> Any:
    """The factory, team or function of a task that ``MODULE:build_team`` names."""
    from tracer_hooks.runtime import is_built_team

    built = load_object(named, option="MODULE:build_team")
    if not callable(built) and not is_built_team(built):
        raise ConfigError(f"{named!r} is {repr(built)[:80]}, expected a factory, a team, or a function of a task")
    return built


def writing_chat(base_url: str, model: str, function: str | None) -> Chat:
    """The model that writes prompts, as it was named."""
    if function is not None:
        chat: Chat = load_function(function, option="--writer-model")
        return chat
    if not base_url or not model:
        raise ConfigError(
            "improve needs the model that writes, expected --base-url URL and --model NAME, or a function "
            "of yours that asks one: --writer-model MODULE:chat"
        )
    return model_chat(base_url, model, needed_by="`tracer-hooks improve` with a model behind an endpoint")


def _show(result: Improvement, next_steps: Sequence[str], folder: Path, report: Path | None, *, as_json: bool) -> None:
    from tracer_hooks.improvement import summarize
    from tracer_hooks.report import write_improvement

    found = summarize(result, next_steps=next_steps)
    if report is not None:
        with writing_page(report, option="--report", kind=ConfigError):
            write_improvement(report, found)
        err().print(f"report: {report}", soft_wrap=True)
    if as_json:
        places = {"folder": str(folder), "report": None if report is None else str(report)}
        print_json({**result.model_dump(mode="json"), **places, "next": list(next_steps)})
        return
    for part in _improvement_parts(found):
        out_console().print(part, soft_wrap=True)


def _next_steps(result: Improvement, options: ImproveOptions, folder: Path, store: str | None) -> Iterator[str]:
    if result.outcome == "accepted":
        version = f"{result.version}{_naming(result.team, store)}"
        yield f"Look at them: `tracer-hooks prompts show {version}`"
        yield 'Use them: `hook(prompts="accepted")` in your code. Without it nothing changes.'
        yield f"Take them back: `tracer-hooks prompts rollback {version}`"
    elif result.outcome == "on trial" and not result.stopped and len(result.pairs) >= options.rule.most_pairs:
        yield f"Go on with more pairs: `{command_again('--pairs', str(2 * options.rule.most_pairs))}`"
    elif result.outcome in ("rejected", "nothing found"):
        yield (
            "The team's prompts stay as they are. Another seed, another model that writes or more tasks may find "
            f"better ones: `{command_again('--seed', str(options.seed + 1), '--out', f'{folder}-2')}`"
        )
    if result.stopped:
        yield "What was run is kept. Raise the limit or see to the model, and give the same command again."


def _naming(team: str, store: str | None) -> str:
    """The options that the commands for prompts need to find the team."""
    from tracer_hooks.store import PromptStore

    with PromptStore(store) as kept:
        words = ["--team", team] if len(kept.teams()) > 1 else []
    words += ["--store", str(store)] if store is not None else []
    return "".join(f" {shlex.quote(word)}" for word in words)


def command_again(*changes: str) -> str:
    """The command that was given, with some options changed."""
    changed, kept, skips = changes[::2], [], False
    for word in sys.argv[1:]:
        if skips:
            skips = False
        elif word in changed:
            skips = True
        elif word.partition("=")[0] not in changed:
            kept.append(word)
    return shlex.join(["tracer-hooks", *kept, *changes])


class ImproveBars(ProgressDisplay):
    """Progress of an improvement: a bar for each phase, and a line for each thing that happened."""

    def show(self, progress: ImproveProgress) -> None:
        """Take news into account."""
        words = progress.phase.value
        if progress.done:
            words += f", {progress.passed / progress.done:.0%} passed"
        self.update(progress.phase.value, words, progress.done, progress.total)
        if progress.said:
            self.say(on_screen(progress.said[:1].upper() + progress.said[1:]) + ".")


def estimate_words(estimate: ImproveEstimate) -> str:
    """Return what it will take, in a sentence or two."""
    dealt = estimate.tasks
    parts = [f"at most {estimate.runs:,} runs of the team"]
    if estimate.tokens:
        parts.append(f"about {estimate.tokens:,} tokens")
    if estimate.seconds_per_run is not None:
        seconds = estimate.seconds_per_run * estimate.runs
        needed = f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:,.0f} minutes"
        needed = "less than a second" if seconds < 1 else needed
        parts.append(f"{needed} of the team's own time, one run after the other")
    if estimate.cost is not None:
        parts.append(f"a cost of about {estimate.cost:.3g}" if estimate.tokens else "a cost that is not known")
    unknown = " The runs report no tokens." if estimate.tokens == 0 else ""
    return (
        f"{dealt['propose']} tasks propose, {dealt['accept']} accept, {dealt['unused']} are kept for the end.\n"
        f"Estimate: {', '.join(parts)}; the model that writes comes on top.{unknown} Ctrl-C is safe: the same command "
        "goes on."
    )


def _improvement_parts(found: ReportImprovement) -> Iterator[Text]:
    """The result, part by part."""
    from tracer_hooks.store import prompt_diff

    yield Text(f"\n{on_screen(found.heading)}", style=_STYLES[found.tone])
    yield Text(on_screen(found.reason))
    for note in found.notes:
        yield Text(on_screen(f"Note: {note}."))
    for compared in found.compared:
        line = Text(f"\n{compared.title}: ", style="bold").append(compared.figures, style="not bold")
        yield line.append(f" {compared.meaning}" if compared.meaning else "", style="not bold dim")
    if found.trial:
        yield Text(f"\n{found.trial}")
    if found.baseline:
        yield Text(f"\n{found.baseline}")
    if found.blame:
        shares = ", ".join(f"{agent} {share:.0%}".replace("%", " %") for agent, share in found.blame)
        yield Text(on_screen(f"Blame for the failures: {shares}."))
    for agent, before, after in found.prompts:
        yield Text(f"\n{on_screen(agent)}", style="bold")
        yield diff_text(prompt_diff(before, after, before_name="before", after_name="new"))
    yield from _looked_for(found)
    yield Text(f"\n{'; '.join(found.spent)}.", style="dim")
    for step in found.next:
        yield Text(on_screen(step.replace("`", "")))


def _looked_for(found: ReportImprovement) -> Iterator[Text]:
    if found.search:
        yield Text(f"\n{on_screen(found.search)}")
    if found.refused:
        yield Text("Written and not kept:")
    for refused in found.refused[:_MOST_REFUSED]:
        times = f" ({refused.count} times)" if refused.count > 1 else ""
        why = refused.why if len(refused.why) <= _WHY_CHARS else f"{refused.why[:_WHY_CHARS]}…"
        yield Text(on_screen(f"  {refused.agent}: {' '.join(why.split())}{times}"))
    if len(found.refused) > _MOST_REFUSED:
        yield Text(f"  and for {len(found.refused) - _MOST_REFUSED} more reasons; see --report or --json")
