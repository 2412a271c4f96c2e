"""Options that several commands share, each declared once, and what they name: runs, stores, objects of your code."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracer_hooks._flight import REQUESTS
from tracer_hooks.cli.console import err
from tracer_hooks.config import ServerUrl, StorePlace, home_folder, parse_moment, parse_tags, place_of, store_place
from tracer_hooks.errors import ConfigError, ReplayError, StoreError, TracerHooksError, TrajectoryError

if TYPE_CHECKING:  # at run time with the work: help needs no records
    from tracer_hooks.datasets import LoadedRecord, OutcomeOverride
    from tracer_hooks.endpoint import Chat
    from tracer_hooks.schema import FindingKind
    from tracer_hooks.store import RunStore, StoredRun


class Format(StrEnum):
    """File formats of ``diagnose``, ``label`` and ``runs import``."""

    AUTO = "auto"
    TRAJECTORY = "trajectory"
    WHOWHEN = "whowhen"
    AEGIS = "aegis"
    AGENTRX = "agentrx"
    TRAIL = "trail"
    OTLP = "otlp"


class Engine(StrEnum):
    """Place where the work is done."""

    LOCAL = "local"
    RAY = "ray"


class OutcomeName(StrEnum):
    """Outcomes that ``--outcome`` takes."""

    FAILED = "failed"
    SUCCEEDED = "succeeded"
    UNKNOWN = "unknown"


def store_named(named: str) -> str:
    """What a word of the command line names as a store, if it may stand there."""
    try:
        place = place_of(named)
    except ConfigError as error:  # of a ValueError typer shows the value, in which a password may stand
        raise typer.BadParameter(str(error)) from error
    if isinstance(place, ServerUrl) and place.has_password:
        raise typer.BadParameter(
            "the URL holds a password, which the list of processes shows to everybody. Next: leave it out, and put it "
            "in PGPASSWORD or ~/.pgpass; or put the whole URL in TRACER_HOOKS_STORE and leave the option out"
        )
    return named


Targets = Annotated[
    list[str], typer.Argument(metavar="PATH|RUN...", help="Files, folders, or ids of stored runs.", show_default=False)
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or the beginning of it.")]
FileFormat = Annotated[Format, typer.Option("--format", help="The files' format.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


def store_option(name: str, words: str) -> Any:
    """An option that names a run store; see :func:`needed_store`."""
    return typer.Option(name, parser=store_named, help=words, metavar="PATH|URL")


Store = Annotated[
    str | None,
    store_option("--store", "The run store's file or URL; default TRACER_HOOKS_STORE or .tracer_hooks/runs.sqlite."),
]
Since = Annotated[
    str | None,
    typer.Option("--since", help="Only newer runs: of the last 7d or 12h, or since a date.", metavar="AGE|DATE"),
]
Kind = Annotated[
    str | None, typer.Option("--kind", help="Only this kind of finding, such as made_up_data.", metavar="KIND")
]
Tag = Annotated[
    list[str] | None, typer.Option("--tag", help="Only runs with this tag; may be repeated.", metavar="KEY=VALUE")
]
Report = Annotated[Path | None, typer.Option(help="Also write an HTML report.", metavar="FILE.html")]

Failed = Annotated[bool, typer.Option("--failed", help="The runs failed; short for --outcome failed.")]
Outcome = Annotated[
    OutcomeName | None,
    typer.Option("--outcome", help="How the runs ended, whatever the traces say. Holds for every run in PATH."),
]
Reason = Annotated[
    str | None, typer.Option("--reason", help="Why they failed, such as 'expected 470, got 430'.", metavar="TEXT")
]
Expected = Annotated[
    str | None,
    typer.Option(
        "--expected",
        help="The right answer. Without --outcome the runs whose final answer differs from it are failed ones.",
        metavar="TEXT",
    ),
]

BuildTeam = Annotated[
    str, typer.Argument(metavar="MODULE:build_team", help="What builds your team; path/to/file.py:NAME will do.")
]
TaskFile = Annotated[
    Path, typer.Option(help="What the team is asked: a JSON object a line, with task and reference.", metavar="FILE")
]
Check = Annotated[
    str | None,
    typer.Option(help="What says whether a run succeeded; default the tasks' references.", metavar="MODULE:check"),
]
Answer = Annotated[str | None, typer.Option(help="The expected answer.", metavar="TEXT")]
MaxRuns = Annotated[int | None, typer.Option(help="Stop after so many runs.", min=1)]
MaxTokens = Annotated[int | None, typer.Option(help="Stop after so many tokens.", min=1)]
MaxSeconds = Annotated[float | None, typer.Option(help="Stop after so many seconds.", min=0)]
Workers = Annotated[int, typer.Option(help="Runs that go on at the same time.", min=1)]
Address = Annotated[
    str | None, typer.Option(help="The Ray cluster's address; default RAY_ADDRESS, else one that is started here.")
]
Seed = Annotated[int, typer.Option(help="Of every random choice.")]


def _keep_to(concurrency: int | None) -> int | None:
    """Have whatever asks a model keep to it."""
    if concurrency is not None:
        REQUESTS.set(concurrency)
    return concurrency


def concurrency_option(*, hidden: bool = False) -> Any:
    """``--concurrency N``."""
    words = "Requests to a model that are under way at the same time; a judge has 4."
    return typer.Option("--concurrency", help=words, min=1, metavar="N", callback=_keep_to, hidden=hidden)


Concurrency = Annotated[int | None, concurrency_option()]


def tool_option(when: str) -> Any:
    """``--tool NAME=USE``, for :func:`tool_rules`."""
    words = "live, replayable, blocked or rebuilt; may be repeated, * is all others."
    return typer.Option(help=f"What a tool may do {when}: {words}", metavar="NAME=USE")


def tool_rules(given: Sequence[str], *, others: str | None = "rebuilt") -> dict[str, str]:
    """Rules from ``NAME=USE``; other tools are used as ``others`` says, and have no rule if that is None."""
    rules = {} if others is None else {"*": others}
    for rule in given:
        name, separator, use = rule.rpartition("=")
        if not separator or not name:
            raise ConfigError(f"--tool is {rule!r}, expected NAME=USE, as in --tool search=replayable")
        rules[name] = use
    return rules


def stated_by(
    *, failed: bool, outcome: OutcomeName | None, reason: str | None, expected: str | None
) -> OutcomeOverride:
    """The outcome that the options state."""
    from tracer_hooks.datasets import OutcomeOverride
    from tracer_hooks.schema import RunOutcome

    if failed and outcome not in (None, OutcomeName.FAILED):
        raise ConfigError(f"--failed and --outcome {outcome} contradict each other, expected one of them")
    if reason is not None and not failed and outcome is None and expected is None:
        raise ConfigError("--reason says why runs failed, expected --failed or --expected with it. Next: add --failed")
    stated = RunOutcome.FAILED if failed else RunOutcome(outcome) if outcome is not None else None
    for name, text in (("--reason", reason), ("--expected", expected)):
        if text is not None and not text.strip():
            raise ConfigError(f"{name} is empty, expected text. Next: leave {name} out")
    return OutcomeOverride(outcome=stated, reason=reason, expected=expected)


def since_of(since: str | None) -> datetime | None:
    """The moment that ``--since`` says; a date or time without a zone is one of this machine."""
    return None if since is None else parse_moment(since, name="--since")


def tags_of(given: Sequence[str] | None) -> dict[str, str]:
    """The tags that ``--tag`` names."""
    return parse_tags(given or (), name="--tag")


def finding_kind(kind: str | None) -> FindingKind | None:
    """The kind that ``--kind`` names."""
    from tracer_hooks.schema import FindingKind

    if kind is None:
        return None
    try:
        return FindingKind(kind.strip().lower().replace("-", "_"))
    except ValueError as error:
        raise ConfigError(f"--kind is {kind!r}, expected one of: {', '.join(FindingKind)}") from error


def records_of(target: str, *, file_format: Format = Format.AUTO, store: str | None = None) -> Iterator[LoadedRecord]:
    """The runs that ``target`` names: those of a file or folder, else a stored run by its id or the beginning of it."""
    if is_path(target):
        yield from records_in(target, file_format=file_format)
    else:
        yield _stored(target, store)


def is_path(target: str) -> bool:
    """Tell whether ``target`` names a file or folder, and no stored run."""
    try:
        return Path(target).exists()
    except OSError:  # a name that no file can have; reading it says why
        return True


def records_in(path: str, *, file_format: Format = Format.AUTO) -> Iterator[LoadedRecord]:
    """The runs of a file or folder; a path that cannot be read at all is one bad record, so that others go on."""
    from tracer_hooks.datasets import LoadedRecord, load

    try:
        yield from load(path, format=file_format.value)
    except (TrajectoryError, OSError) as error:
        yield LoadedRecord(source=path, error=TrajectoryError(f"{path!r}: {error}"))


def _stored(target: str, store: str | None) -> LoadedRecord:
    from tracer_hooks.datasets import LoadedRecord

    try:
        with existing_store(store) as runs:
            run = runs.get(target, with_tape=False)
    except (ConfigError, StoreError) as error:
        missing = f"{target!r}: there is no file or folder of this name, and of the run store: {error}"
        return LoadedRecord(source=target, error=TrajectoryError(missing))
    return LoadedRecord(source=run.run_id, trajectory=run.judged_trajectory)


def existing_paths(option: str, *paths: Path) -> tuple[Path, ...]:
    """The paths that an option names, all of which have to be there."""
    for path in paths:
        if not path.exists():
            raise ConfigError(f"{option} is {str(path)!r}, and there is no such file or folder")
    return paths


def needed_store(store: str | StorePlace | None) -> StorePlace:
    """The place that ``--store`` names, or the usual one."""
    place = store_place(store)
    if place is None:
        raise ConfigError(
            "the run store is switched off by TRACER_HOOKS_STORE='off'; expected a path. Give one with --store"
        )
    return place


def store_to_read(store: str | StorePlace | None, *, read_only: bool = True) -> RunStore:
    """The run store, which is not made; a file that ``--store`` names has to be there."""
    from tracer_hooks.store import RunStore

    place = needed_store(store)
    runs = RunStore(place, read_only=read_only, stays_open=isinstance(place, ServerUrl))
    if store is not None and not runs.exists():
        there = "file" if isinstance(place, Path) else "store yet"
        raise ConfigError(
            f"--store is {str(place)!r}, and there is no such {there}; expected one that a run was kept in"
        )
    return runs


def existing_store(store: str | StorePlace | None, *, read_only: bool = True) -> RunStore:
    """The run store, which has to be there."""
    runs = store_to_read(store, read_only=read_only)
    if not runs.exists():
        raise StoreError(f"there is no run store at {runs.name!r}. Hook a team, or run: tracer-hooks demo")
    return runs


def work_folder(kind: str, team: str) -> Path:
    """The folder for ``kind`` of work on ``team``, beside the run store."""
    name = team.rpartition(":")[0].replace("/", "-").removesuffix(".py").strip("-.")
    return home_folder() / kind / name


def model_chat(base_url: str, model: str, *, needed_by: str) -> Chat:
    """A function that asks the model at an endpoint: messages in, text out."""
    from tracer_hooks.endpoint import Endpoint, endpoint_chat

    return endpoint_chat(Endpoint.from_env(base_url=base_url, model=model), needed_by=needed_by)


def file_text(file: Path, *, option: str) -> str:
    """The text of a file that an option names."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise ConfigError(f"{option}: {str(file)!r} cannot be read: {reason}. Run: ls -l {file}") from error


def team_of(
    run: StoredRun, team: str | None, check: str | None, *, expected: str | None, option: str, again: str
) -> tuple[str, Any, Any]:
    """What builds the team of a stored run: its name, itself, and what checks its runs, which may be None.

    Without a team both are taken from the run's record, and said before any of it is loaded; a check that is given
    comes first. The record of an imported run is a stranger's word, and loads nothing.

    Args:
        run: The run.
        team: What builds the team, if it is given.
        check: What checks the runs, if it is given.
        expected: The expected answer, if it is given: then no check is taken from the record.
        option: How the team is given.
        again: The command with a team, for where there is none.
    """
    from tracer_hooks.schema import RunKind

    source = None if team is not None or run.kind is RunKind.IMPORTED else run.source
    recorded = {}
    if source is not None and source.built_by:
        team = recorded["team"] = source.built_by
        if source.checked_by and check is None and expected is None:
            check = recorded["check"] = source.checked_by
    if team is None:
        raise ConfigError(
            f"run {run.run_id!r} cannot be made again without its team; expected what builds it. Run: {again}"
        )
    if recorded:
        said = ", ".join(f"{what} {name}" for what, name in recorded.items())
        err().print(f"{said} (recorded with the run)", soft_wrap=True)
    try:
        with redirect_stdout(sys.stderr):  # what the user's code prints is no part of our document
            return team, load_object(team, option=option), load_function(check, option="--check")
    except ConfigError as error:
        if not recorded:
            raise
        raise ConfigError(f"{error}. That is how it was when the run was made; if it has moved: {again}") from error


@contextmanager
def team_at_work(team: str, *, option: str) -> Iterator[None]:
    """Send what the team prints to stderr; an error that is not ours is its factory's, since a run keeps its own."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except TracerHooksError:
        raise
    except Exception as error:
        raise ReplayError(
            f"the team {team!r} could not be built again: {type(error).__name__}: {error}. Call it once by "
            f"itself to see where, or give another one with {option}"
        ) from error


def load_object(named: str, *, option: str) -> Any:
    """The object that ``MODULE:NAME`` or ``path/to/file.py:NAME`` names.

    Modules are found from the current directory, too; a file finds the modules beside it, as when it is run.
    """
    place, _, name = named.rpartition(":")
    if not place or not name:
        raise ConfigError(f"{option} is {named!r}, expected MODULE:NAME or path/to/file.py:NAME, as in my_team:build")
    module = _module(place, option)
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            own = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
            shown = ", ".join(repr(key) for key in own[:10] if not key.startswith("_")) or "no function of its own"
            raise ConfigError(f"{option}: {place!r} has no {name!r}, expected one of its names: {shown}") from None
    return found


def load_function(named: str | None, *, option: str) -> Any:
    """The same for something that can be called; None for None."""
    if named is None:
        return None
    found = load_object(named, option=option)
    if not callable(found):
        raise ConfigError(f"{option}: {named!r} is {found!r}, expected a function. Name the function itself")
    return found


def _module(place: str, option: str) -> ModuleType:
    is_file = place.endswith(".py")
    try:
        _add_to_path(Path.cwd())
        return _from_file(Path(place), option) if is_file else importlib.import_module(place)
    except ConfigError:
        raise
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if not is_file and (place == missing or place.startswith(missing + ".")):
            raise ConfigError(
                f"{option}: there is no module {place!r} in {str(Path.cwd())!r} or among the installed packages. Run "
                f"the command where it lies, or give the file: {option} path/to/file.py:NAME"
            ) from error
        raise ConfigError(f"{option}: {place!r} needs {missing!r}, which is not installed. Run: pip install") from error
    except Exception as error:  # the user's own code
        raise ConfigError(
            f"{option}: importing {place!r} raised {type(error).__name__}: {error}. See it with: python "
            + (place if is_file else f"-c 'import {place}'")
        ) from error


def _from_file(file: Path, option: str) -> ModuleType:
    if not file.is_file():
        raise ConfigError(
            f"{option}: there is no file {str(file)!r}, expected path/to/file.py:NAME. Run: ls {file.parent}"
        )
    _add_to_path(file.resolve().parent)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None, "its name ends in .py"
    assert spec.loader is not None, "its name ends in .py"
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(file.stem)
    sys.modules[file.stem] = module  # dataclasses and pickle look their module up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if before is None:
            del sys.modules[file.stem]
        else:
            sys.modules[file.stem] = before
        raise
    return module


def _add_to_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
