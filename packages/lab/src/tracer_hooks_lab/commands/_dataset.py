"""``tracer-hooks dataset``: labelled data of teams, built, counted, audited and exported."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from tracer_hooks.cli.plugin import (
    FAILED,
    Address,
    Check,
    Concurrency,
    Engine,
    Json,
    MaxRuns,
    MaxSeconds,
    MaxTokens,
    ProgressDisplay,
    Seed,
    Workers,
    err,
    load_function,
    load_object,
    print_json,
    tool_option,
    tool_rules,
)
from tracer_hooks.cli.plugin import out as out_console
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks_lab.commands._inject import Strategy, WriterName, llm_writer

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no records
    from tracer_hooks.datasets import LabeledSet
    from tracer_hooks_lab.building import BuildEstimate, BuiltDataset, DatasetBuild
    from tracer_hooks_lab.datasets import BuildObserver
    from tracer_hooks_lab.subjects import SuiteTeam

dataset_app = typer.Typer(help="Labelled data of teams: build, count, audit, export.", no_args_is_help=True)

_INTERRUPTED = 130
_BOTH = (Strategy.RESPONSE_CORRUPTION, Strategy.PROMPT_INJECTION)
_WORDS = {
    "runs": ("running teams", "succeeded"),
    "faults": ("injecting faults", "verified"),
    "failures": ("replaying failures", "labelled"),
}
_ENDINGS = {"whowhen": "", "aegis": ".jsonl", "jsonl": ".jsonl", "parquet": ".parquet"}

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a build, or a JSONL or Parquet file.")]


class Framework(StrEnum):
    """Frameworks that the suites' teams are written in."""

    PYTHON = "python"
    AUTOGEN = "autogen"
    CREWAI = "crewai"
    LANGGRAPH = "langgraph"


class Level(StrEnum):
    """Difficulty of the suites' tasks."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class ExportTo(StrEnum):
    """Formats that ``dataset export`` writes."""

    WHOWHEN = "whowhen"
    AEGIS = "aegis"
    PARQUET = "parquet"
    JSONL = "jsonl"


@dataset_app.callback()
def dataset() -> None:
    """Labelled data of teams: build, count, audit, export."""


@dataset_app.command()
def build(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder; the same command goes on in it.")],
    team: Annotated[
        str | None,
        typer.Argument(metavar="[MODULE:build_team]", help="What builds your team; path/to/file.py:NAME will do."),
    ] = None,
    tasks: Annotated[
        Path | None,
        typer.Option(help="Your team's tasks: a JSON object a line, with task and reference.", metavar="FILE"),
    ] = None,
    check: Check = None,
    suite: Annotated[
        str | None,
        typer.Option(help="Instead of your team: a suite of tasks, for the teams that come with it.", metavar="NAME"),
    ] = None,
    count: Annotated[int, typer.Option(help="Tasks of the suite.", min=1)] = 20,
    difficulty: Annotated[Level, typer.Option(help="How hard they are.")] = Level.EASY,
    framework: Annotated[
        list[Framework], typer.Option(help="What the suite's teams are written in; may be repeated.")
    ] = [Framework.PYTHON],  # noqa: B006
    architecture: Annotated[
        list[str], typer.Option(help="Which of them; may be repeated; default all.", metavar="NAME", show_default=False)
    ] = [],  # noqa: B006
    base_url: Annotated[
        str, typer.Option(envvar="OPENAI_BASE_URL", help="Endpoint of the suite's teams and the writer.")
    ] = "",
    model: Annotated[str, typer.Option(envvar="OPENAI_MODEL", help="Its model.")] = "",
    temperature: Annotated[float | None, typer.Option(help="Of the suite's teams.", min=0.0)] = None,
    max_reply: Annotated[
        int | None,
        typer.Option(help="Tokens of one reply of the suite's teams, at most.", min=1),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Runs of each team on each task.", min=1)] = 1,
    faults: Annotated[int, typer.Option(help="Faults that are tried in each run that succeeds.", min=0)] = 2,
    modes: Annotated[
        list[str], typer.Option(help="Error modes; may be repeated; default all.", metavar="FM-x.y", show_default=False)
    ] = [],  # noqa: B006
    kinds: Annotated[
        list[str],
        typer.Option(
            help="Mutators that may be used, such as own_number_for_theirs; may be repeated; default all.",
            metavar="KIND",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    strategies: Annotated[list[Strategy], typer.Option(help="How faults are put in; may be repeated.")] = [*_BOTH],  # noqa: B006
    writer: Annotated[WriterName, typer.Option(help="Who writes faults.")] = WriterName.PROGRAMMATIC,
    natural: Annotated[bool, typer.Option(help="Whether failures are labelled by replay.")] = True,
    proposer: Annotated[
        str, typer.Option(help="Who writes corrections for them: resample, template or feedback; several with commas.")
    ] = "resample",
    trials: Annotated[int, typer.Option(help="Replays of each kind for each step of a failure.", min=1)] = 6,
    tool: Annotated[list[str], tool_option("in replays")] = [],  # noqa: B006
    workers: Workers = 4,
    engine: Annotated[Engine, typer.Option(help="Run teams in this process, or on a Ray cluster.")] = Engine.LOCAL,
    address: Address = None,
    concurrency: Concurrency = None,
    wanted_injected: Annotated[int | None, typer.Option(help="Stop at so many verified faults.", min=0)] = None,
    wanted_natural: Annotated[int | None, typer.Option(help="Stop at so many labelled failures.", min=0)] = None,
    max_runs: MaxRuns = None,
    max_tokens: MaxTokens = None,
    max_seconds: MaxSeconds = None,
    seed: Seed = 0,
    title: Annotated[str, typer.Option(help="Title of the data card.", show_default=False)] = "",
    as_json: Json = False,
) -> None:
    """Build labelled data: run teams, inject faults into runs that succeed, replay runs that fail.

    Ctrl-C leaves a folder that can be used; the same command goes on in it.
    """
    from tracer_hooks.budget import CostCap

    progress = BuildProgress(err())
    options: dict[str, Any] = {
        "repeats": repeats,
        "faults": faults,
        **({"modes": modes} if modes else {}),
        "kinds": kinds,
        "strategies": [str(strategy) for strategy in strategies],
        "natural": natural,
        "proposer": proposer,
        "trials": trials,
        # A suite's teams are ours, so that any number of them may run at the same time.
        "workers": workers if suite is None else max(workers, concurrency or 0),
        "engine": str(engine),
        "address": address,
        "wanted_injected": wanted_injected,
        "wanted_natural": wanted_natural,
        "seed": seed,
        **({"title": title} if title else {}),
        "cap": CostCap(max_runs=max_runs, max_tokens=max_tokens, max_seconds=max_seconds),
        "tools": tool_rules(tool),
        "command": shlex.join(["tracer-hooks", *sys.argv[1:]]),
        "on_progress": progress.show,
    }
    with redirect_stdout(sys.stderr):  # what the user's code prints is no part of our document
        options["writer"] = llm_writer(base_url, model) if writer is WriterName.LLM else None
        if (team is None) == (suite is None):
            raise ConfigError("expected either your team, MODULE:build_team with --tasks FILE, or --suite NAME")
        if suite is None:
            prepared = _own_build(out, str(team), tasks, check, options)
        elif tasks is not None or check is not None:
            raise ConfigError(
                "a suite has tasks and graders of its own, expected neither --tasks nor --check with --suite"
            )
        else:
            teams = _suite_teams(base_url, model, framework, architecture, temperature, max_reply)
            prepared = _suite_build(out, teams, suite, count, difficulty, options)
        _print_err(_estimate_text(prepared.estimate()))
        try:
            with interruptible(), progress:
                built = prepared.run()
        except KeyboardInterrupt:
            _print_err(_interrupted_text(prepared))
            raise typer.Exit(_INTERRUPTED) from None
    if as_json:
        print_json(_document(built, prepared))
    else:
        _show_built(built, prepared)


def _own_build(
    folder: Path, team: str, tasks: Path | None, check: str | None, options: Mapping[str, Any]
) -> DatasetBuild:
    from tracer_hooks_lab.building import dataset_build

    if tasks is None:
        raise ConfigError(
            'your team needs tasks, expected --tasks FILE with lines such as {"task": ..., "reference": ...}'
        )
    target = load_object(team, option="TEAM")
    return dataset_build(folder, target, tasks, check=load_function(check, option="--check"), **options)


def _suite_teams(
    base_url: str,
    model: str,
    frameworks: Sequence[str],
    architectures: Sequence[str],
    temperature: float | None,
    max_reply: int | None,
) -> list[SuiteTeam]:
    from tracer_hooks.endpoint import Endpoint
    from tracer_hooks_lab.subjects import SuiteTeam
    from tracer_hooks_lab.teams import ARCHITECTURES

    if not base_url or not model:
        raise ConfigError("the suite's teams need a model, expected --base-url URL and --model NAME")
    unknown = sorted(set(architectures) - set(ARCHITECTURES))
    if unknown:
        raise ConfigError(f"unknown architecture {unknown[0]!r}, expected one of: {', '.join(ARCHITECTURES)}")
    known = Endpoint.from_env(base_url=base_url, model=model)
    endpoint = replace(known, temperature=temperature, max_tokens=max_reply)
    return [
        SuiteTeam(framework=str(framework), architecture=architecture, endpoint=endpoint)
        for framework in dict.fromkeys(frameworks)
        for architecture in architectures or ARCHITECTURES
    ]


def _suite_build(
    folder: Path, teams: Sequence[SuiteTeam], suite: str, count: int, difficulty: Level, options: Mapping[str, Any]
) -> DatasetBuild:
    from tracer_hooks_lab.building import dataset_build
    from tracer_hooks_lab.subjects import probe_endpoint
    from tracer_hooks_lab.suites import get_suite

    tasks = get_suite(suite).tasks(count, seed=options["seed"], difficulty=difficulty.value)
    build = dataset_build(folder, teams, tasks, **options)
    for endpoint in {team.endpoint for team in teams}:
        probe_endpoint(endpoint, build.first_task.text)
    return build


class BuildProgress(ProgressDisplay):
    """Shows how far each phase is: bars on a terminal, else a line when a phase begins and ends.

    Args:
        console: Where to.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(
            console, TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[kept]}"), TimeElapsedColumn(), TimeRemainingColumn(), on_terminals_only=True,
        )  # fmt: skip
        self._console = console

    def show(self, progress: BuildObserver) -> None:
        """Show one step forward."""
        name, word = _WORDS[progress.phase]
        kept = f"{progress.kept} {word}"
        if progress.resumed:
            kept += f" ({progress.resumed} done before)"
        is_new = progress.phase not in self._phases
        self.update(progress.phase, name, progress.done, progress.total, kept=kept)
        if not self._console.is_terminal and (is_new or progress.done == progress.total):
            self._console.print(f"{name}: {progress.done} of {progress.total}, {kept}", soft_wrap=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and a termination signal end the work in good order, and say so the first time."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        err().print("stopping; runs that have begun are finished first, Ctrl-C again does not wait for them")
        for one in before:
            signal.signal(one, signal.default_int_handler)
        raise KeyboardInterrupt

    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    for one in before:
        signal.signal(one, stop)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _show_built(built: BuiltDataset, build: DatasetBuild) -> None:
    """What was built in a few lines; the tables are those of ``dataset stats`` and ``dataset audit``."""
    injected, natural = build.counts()
    _print(Text(f"labelled runs: {injected} with a verified fault, {natural} that failed by themselves"))
    _print(Text(f"beside them: {len(built.data.clean)} clean runs; {len(built.data.discarded)} faults were discarded"))
    if built.audit is None:
        _print(Text(f"not audited: {built.not_audited}", "yellow"))
    else:
        words = "nothing simple finds the faults" if built.audit.passed else "something simple finds the faults"
        _print(Text(f"audit: {words}", "green" if built.audit.passed else "red"))
    _print(Text(f"more: tracer-hooks dataset stats {build.folder}; tracer-hooks dataset audit {build.folder}"))
    if built.stopped is not None:
        _print(Text(f"{built.stopped}: the same command goes on", "yellow"))
    if built.broken_off:
        _print(Text(f"{built.broken_off} units were broken off: the same command does them again", "yellow"))
    spent = build.spending
    _print(Text(f"this session: {spent.runs} runs, {spent.tokens} tokens, {spent.seconds:.0f} s"))
    _print(Text(f"card: {built.card}"))


def _estimate_text(plan: BuildEstimate) -> Text:
    text = f"{plan.runs} runs (teams {plan.teams} x tasks {plan.tasks} x repeats {plan.repeats})"
    if plan.done:
        text += f", {plan.done} of them done before"
    if plan.faults:
        text += f"; up to {plan.faults} faults with at most {plan.replays} replays"
    if plan.natural:
        text += "; replays of the runs that fail"
    if plan.skipped_modes:
        names = ", ".join(mode.value for mode in plan.skipped_modes)
        text += f". Skipped: {names}, which take a model that writes: --writer llm --base-url URL --model NAME"
    return Text(f"{text}. Tokens and time show after the first runs.")


def _interrupted_text(build: DatasetBuild) -> Text:
    injected, natural = build.counts()
    return Text(
        f"interrupted: {str(build.folder)!r} holds {injected} verified faults and {natural} labelled failures, and can "
        "be used as it is; the same command goes on"
    )


def _document(built: BuiltDataset, build: DatasetBuild) -> dict[str, Any]:
    injected, natural = build.counts()
    spent = build.spending
    return {
        "out": str(build.folder),
        "labeled": len(built.data.labeled),
        "injected": injected,
        "natural": natural,
        "clean": len(built.data.clean),
        "discarded": len(built.data.discarded),
        "injection_yield": built.stats.injection_yield.value,
        "audit": None if built.audit is None else {"passed": built.audit.passed},
        "not_audited": built.not_audited,
        "skipped_modes": [mode.value for mode in build.options.skipped_modes],
        "stopped": built.stopped,
        "broken_off": built.broken_off,
        "session": {"runs": spent.runs, "tokens": spent.tokens, "seconds": round(spent.seconds, 3)},
        "card": str(built.card),
    }


def _print_err(text: Text) -> None:
    err().print(text, soft_wrap=True)


def _print(text: Text) -> None:
    out_console().print(text, soft_wrap=True)


@dataset_app.command("stats")
def show_stats(folder: Folder, as_json: Json = False) -> None:
    """Say what a data set holds, what its faults yielded, and what it cost."""
    from tracer_hooks.datasets import LabeledSet
    from tracer_hooks_lab.datasets import stats, stats_tables

    found = stats(LabeledSet.load(folder))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        out_console().print(stats_tables(found))


@dataset_app.command("audit")
def show_audit(
    folder: Folder,
    folds: Annotated[int, typer.Option(help="Folds of whole questions.", min=2)] = 5,
    seed: Annotated[int, typer.Option(help="Of the folds and samples.")] = 0,
    as_json: Json = False,
) -> None:
    """Say whether something that understands nothing finds the faults. Exits with 1 when it does."""
    from tracer_hooks.datasets import LabeledSet
    from tracer_hooks_lab.datasets import audit, audit_tables

    with err().status("auditing"):
        found = audit(LabeledSet.load(folder), seed=seed, folds=folds)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        out_console().print(audit_tables(found))
    for finding in found.findings:
        if finding.severity == "fail":
            _print_err(Text(f"{finding.kind} {finding.name!r}: {finding.message}", "red"))
    if not found.passed:
        raise typer.Exit(FAILED)


@dataset_app.command("export")
def export_dataset(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file or folder; with --split a folder of parts.")],
    file_format: Annotated[ExportTo, typer.Option("--format", help="What to write.")] = ExportTo.WHOWHEN,
    split: Annotated[
        str, typer.Option(help="Parts and their shares; no question is torn apart.", metavar="train=0.8,test=0.2")
    ] = "",
    balanced: Annotated[
        bool, typer.Option("--balanced", help="As many injected faults at each step of a kind of run as at its rarest.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the split and the balance.")] = 0,
    as_json: Json = False,
) -> None:
    """Write a data set as Who&When, Aegis, Parquet or one JSONL file, whole or in parts."""
    from tracer_hooks.datasets import LabeledSet

    dataset = LabeledSet.load(folder)
    if balanced:
        dataset = dataset.balanced(seed)
    if file_format is ExportTo.WHOWHEN and dataset.clean:
        err().print(f"Who&When holds failed runs only: {len(dataset.clean)} passing runs are not written")
        dataset = replace(dataset, clean=())
    shares = _shares(split)
    parts = dataset.split(shares, seed) if shares else {"": dataset}
    written = [
        _write(part, data, out / f"{part}{_ENDINGS[file_format]}" if part else out, file_format)
        for part, data in parts.items()
    ]
    if as_json:
        print_json({"format": str(file_format), "seed": seed if shares else None, "parts": written})
    else:
        for part_written in written:
            _print(Text(f"{part_written['path']}: {part_written['written']} runs"))
    left_out = [skipped for part_written in written for skipped in part_written["skipped"]]
    for skipped in left_out:
        _print_err(Text(f"left out: {skipped['run_id']}: {skipped['reason']}", "yellow"))
    if left_out:
        raise typer.Exit(FAILED)


def _write(part: str, data: LabeledSet, place: Path, file_format: ExportTo) -> dict[str, Any]:
    from tracer_hooks.datasets import write_atomically, write_parquet
    from tracer_hooks.schema import to_json
    from tracer_hooks_lab.datasets import export

    if file_format is ExportTo.WHOWHEN or file_format is ExportTo.AEGIS:
        report = export(data, place, "whowhen" if file_format is ExportTo.WHOWHEN else "aegis")
        skipped = [run.model_dump(mode="json") for run in report.skipped]
        return {"part": part or None, "path": str(place), "written": report.written, "skipped": skipped}
    items = [*data.labeled, *data.clean]
    if place.is_dir():
        raise DatasetError(f"{str(place)!r} is a folder: expected the name of a .{file_format} file")
    if file_format is ExportTo.PARQUET:
        write_parquet(place, items)
    else:
        write_atomically({place: "".join(f"{to_json(item)}\n" for item in items).encode()})
    return {"part": part or None, "path": str(place), "written": len(items), "skipped": []}


def _shares(text: str) -> Mapping[str, float]:
    """Parts and their shares from ``train=0.8,test=0.2``; empty without any.

    Raises:
        ConfigError: It is not of that form.
    """
    shares: dict[str, float] = {}
    for piece in filter(None, text.split(",")):
        name, _, share = piece.partition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError:
            shares.clear()
        if not name.strip() or not shares or "/" in name:
            raise ConfigError(f"--split is {text!r}, expected parts and shares such as train=0.8,test=0.2")
    return shares
