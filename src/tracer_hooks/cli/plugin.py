"""What a command of another distribution may use of the command line.

A command is a function with typer's annotations, or a :class:`typer.Typer`, that its distribution names in the entry
point group ``tracer_hooks.commands``::

    [project.entry-points."tracer_hooks.commands"]
    inject = "tracer_hooks_lab.commands._inject:inject_command"

It raises an error of :mod:`tracer_hooks.errors`, which ends the process with its message and exit code, or
``typer.Exit(FAILED)``. It imports what is heavy in its functions, so that its ``--help`` stays quick.
"""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks._lazy import require as require
    from tracer_hooks.cli._options import Address as Address
    from tracer_hooks.cli._options import Answer as Answer
    from tracer_hooks.cli._options import BuildTeam as BuildTeam
    from tracer_hooks.cli._options import Check as Check
    from tracer_hooks.cli._options import Concurrency as Concurrency
    from tracer_hooks.cli._options import Engine as Engine
    from tracer_hooks.cli._options import Json as Json
    from tracer_hooks.cli._options import MaxRuns as MaxRuns
    from tracer_hooks.cli._options import MaxSeconds as MaxSeconds
    from tracer_hooks.cli._options import MaxTokens as MaxTokens
    from tracer_hooks.cli._options import Seed as Seed
    from tracer_hooks.cli._options import TaskFile as TaskFile
    from tracer_hooks.cli._options import Workers as Workers
    from tracer_hooks.cli._options import load_function as load_function
    from tracer_hooks.cli._options import load_object as load_object
    from tracer_hooks.cli._options import model_chat as model_chat
    from tracer_hooks.cli._options import tool_option as tool_option
    from tracer_hooks.cli._options import tool_rules as tool_rules
    from tracer_hooks.cli._options import work_folder as work_folder
    from tracer_hooks.cli.console import FAILED as FAILED
    from tracer_hooks.cli.console import ProgressDisplay as ProgressDisplay
    from tracer_hooks.cli.console import TrialProgress as TrialProgress
    from tracer_hooks.cli.console import err as err
    from tracer_hooks.cli.console import out as out
    from tracer_hooks.cli.console import print_json as print_json
    from tracer_hooks.cli.doctor import DoctorFinding as DoctorFinding

__all__ = lazy_names(__name__)
