"""The command line itself: which commands there are, where they are loaded from, and errors as exit codes."""

from __future__ import annotations

import importlib
import io
import logging
import os
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from tracer_hooks._guard import is_strict
from tracer_hooks._text import on_screen
from tracer_hooks._version import __version__
from tracer_hooks.cli.console import DONE, FAILED, MISSING_EXTRA, USAGE
from tracer_hooks.errors import ConfigError, MissingExtraError, TracerHooksError, install_line

GROUP = "tracer_hooks.commands"
"""The entry point group of commands: name = ``module:function`` or ``module:typer_app``."""


@dataclass(frozen=True)
class Command:
    """A command that ``--help`` lists without loading it."""

    home: str
    """``module:name`` of its function or :class:`typer.Typer`."""
    line: str
    """Its line in the list."""
    extra: str | None = None
    """The extra that brings its distribution; None for the core's own."""


_LINES = {
    "diagnose": "Say which agent, at which step, made each run in PATH... fail, or the stored run RUN.",
    "eval": "Measure attributors on labelled or graded runs, beside what can be had without reading them.",
    "fit": "Adapt an attributor to labelled runs of your own team, and say what that gained.",
    "demo": "Hook a team that fails in each installed framework, diagnose it, repair it, and write a report.",
    "doctor": "Say what is installed, which adapters and attributors work, and what to install for the rest.",
    "label": "Say which agent, at which step, made runs fail, for tracer-hooks fit and eval to read.",
    "replay": "Replay a stored run from its tape: as it was, with step K corrected, or to find the decisive step.",
    "fork": "Run on from step K of a stored run with one change, beside as many runs without it.",
    "compare": "Compare two stored runs step by step, and their answers.",
    "inject": "Put one fault into one step of one agent, and verify that it, and nothing else, makes the run fail.",
    "calibrate": (
        "Fit the attributor to your own team: run it, inject faults, replay failures, fit, measure on tasks left out."
    ),
    "improve": "Better prompts for your team: learnt from failures, accepted on other tasks, kept as a version.",
    "issues": "Say what is found in stored runs again and again, and in how many.",
    "publish": "Write the diagnoses of stored runs to their traces in Phoenix, MLflow or Langfuse.",
    "report": "Write pages on all stored runs: overview, runs, issues, prompts, a page for each failed run.",
    "serve": "Show the pages on stored runs live, take labels, and receive traces at /v1/traces.",
    "runs": "The local run store.",
    "prompts": "Versions of your teams' prompts.",
    "dataset": "Labelled data of teams: build, count, audit, export.",
    "train": "Train models that diagnose runs.",
}
_HOMES = {
    "runs": "tracer_hooks.cli.runs:runs_app",
    "prompts": "tracer_hooks.cli.prompts:prompts_app",
    "inject": "tracer_hooks_lab.commands._inject:inject_command",
    "calibrate": "tracer_hooks_lab.commands._calibrate:calibrate_command",
    "dataset": "tracer_hooks_lab.commands._dataset:dataset_app",
    "train": "tracer_hooks_models.commands:train_app",
}
"""Of those that are not ``tracer_hooks.cli.NAME:NAME_command``."""
_EXTRAS = {"inject": "lab", "calibrate": "lab", "dataset": "lab", "train": "models"}
COMMANDS = {
    name: Command(_HOMES.get(name, f"tracer_hooks.cli.{name}:{name}_command"), line, _EXTRAS.get(name))
    for name, line in _LINES.items()
}


class ListedCommand(typer.core.TyperCommand):
    """A command in the list; the command itself is loaded when it is called, or asked for its own help."""

    def load(self) -> Any:
        """The command itself."""
        return load_command(str(self.name))

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """The context of the command itself."""
        return self.load().make_context(*arguments, **options)


class LazyCommands(typer.core.TyperGroup):
    """The commands of :data:`COMMANDS`, and, unlisted, any other that an installed distribution brings."""

    def __init__(self, **options: Any) -> None:
        listed = {name: ListedCommand(name, help=command.line) for name, command in COMMANDS.items()}
        super().__init__(**{**options, "commands": listed})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; the entry points are read only for names that are not listed."""
        if cmd_name not in COMMANDS and _entry_point(cmd_name) is not None:
            return load_command(cmd_name)
        return super().get_command(ctx, cmd_name)


def load_command(name: str) -> Any:
    """The command of this name, from the distribution that brings it."""
    command = COMMANDS.get(name, Command(home="", line="", extra=name))
    home = (_entry_point(name) if command.extra is not None else None) or command.home
    module, _, attribute = home.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except MissingExtraError:
        raise
    except Exception as error:
        is_missing = isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}.")
        if command.extra is not None and home == command.home and is_missing:
            raise MissingExtraError(f"`tracer-hooks {name}`", f"tracer-hooks[{command.extra}]") from error
        again = install_line(str(command.extra)) if name in COMMANDS else f"pip install '{module.partition('.')[0]}'"
        raise TracerHooksError(
            f"`tracer-hooks {name}` is installed, and {home!r} cannot be loaded: {type(error).__name__}: {error}. "
            f"Run: {again.replace('install', 'install --force-reinstall', 1)}"
        ) from error
    parent = typer.Typer(add_completion=False)
    if isinstance(found, typer.Typer):
        parent.add_typer(found, name=name)
    else:
        parent.command(name)(found)
    return typer.main.get_group(parent).commands[name]


def _entry_point(name: str) -> str | None:
    """``module:name`` of a command that an installed distribution brings."""
    from importlib.metadata import entry_points  # it takes a while, and help does without

    return next((point.value for point in entry_points(group=GROUP, name=name)), None)


app = typer.Typer(
    cls=LazyCommands,
    help="Which agent, at which step, made a run of your LLM agents fail.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Which agent, at which step, made a run of your LLM agents fail."""
    if version:
        print(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line; ends the process with 0 done, 1 some inputs failed, 2 usage, 3 missing extra."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(message)s")
    for handler in logging.getLogger().handlers:  # of other libraries' lines, too, which may quote a trace
        handler.setFormatter(_SafeFormatter("%(message)s"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a character is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    code = run_app()
    try:
        sys.stdout.flush()  # here, since at the end of the process a closed pipe is a message on stderr
    except BrokenPipeError:
        code = _pipe_closed()
    sys.exit(code)


class _SafeFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return on_screen(super().format(record))


def run_app() -> int:
    """Run the command line; gives the exit code."""
    try:
        app()
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else DONE if done.code is None else FAILED
    except MissingExtraError as error:
        return _stop(error, MISSING_EXTRA)
    except ConfigError as error:
        return _stop(error, USAGE)
    except TracerHooksError as error:
        return _stop(error, FAILED)
    except Exception as error:
        if is_strict():
            raise
        return _stop(f"{type(error).__name__}: {error}. TRACER_HOOKS_STRICT=1 shows where", FAILED)
    return DONE


def _stop(error: object, code: int) -> int:
    print(on_screen(f"tracer-hooks: {error}"), file=sys.stderr)
    return code


def _pipe_closed() -> int:
    """Let what is left in the buffer go nowhere, instead of failing once more when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return FAILED
