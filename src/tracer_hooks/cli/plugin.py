"""What a command of another distribution may use of the command line.

A command is a function with typer's annotations, or a :class:`typer.Typer`, that its distribution names in the entry
point group ``tracer_hooks.commands``::

    [project.entry-points."tracer_hooks.commands"]
    inject = "tracer_hooks_lab.commands._inject:inject_command"

It raises an error of :mod:`tracer_hooks.errors`, which ends the process with its message and exit code, or
``typer.Exit(FAILED)``. It imports what is heavy in its functions, so that its ``--help`` stays quick.
"""

from tracer_hooks._lazy import require
from tracer_hooks.cli._options import (
    Answer,
    BuildTeam,
    Check,
    Json,
    MaxRuns,
    MaxSeconds,
    MaxTokens,
    Seed,
    TaskFile,
    Workers,
    load_function,
    load_object,
    model_chat,
    tool_option,
    tool_rules,
    work_folder,
)
from tracer_hooks.cli.console import FAILED, ProgressDisplay, TrialProgress, err, out, print_json
from tracer_hooks.cli.doctor import DoctorFinding

__all__ = [
    "FAILED",
    "Answer",
    "BuildTeam",
    "Check",
    "DoctorFinding",
    "Json",
    "MaxRuns",
    "MaxSeconds",
    "MaxTokens",
    "ProgressDisplay",
    "Seed",
    "TaskFile",
    "TrialProgress",
    "Workers",
    "err",
    "load_function",
    "load_object",
    "model_chat",
    "out",
    "print_json",
    "require",
    "tool_option",
    "tool_rules",
    "work_folder",
]
