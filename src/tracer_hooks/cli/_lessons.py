"""``tracer-hooks lessons``: the commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

lessons_app = typer.Typer(help="What your agents learnt from failures at tasks of a kind.", invoke_without_command=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Store = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads the annotation at run time
    typer.Option("--store", help="The run store's file; default TRACER_HOOKS_STORE or .tracer_hooks/runs.sqlite."),
]
Team = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--team", help="The team's name or fingerprint, or the beginning of the latter; needed for several."),
]
Lesson = Annotated[int, typer.Argument(metavar="LESSON", help="The lesson's number.", min=1)]


@lessons_app.callback()
def lessons(context: typer.Context) -> None:
    """What your agents learnt from failures at tasks of a kind; without a command, the list of it."""
    if context.invoked_subcommand is None:
        list_lessons()


@lessons_app.command()
def learn(
    team: Annotated[
        str, typer.Option(help="The team's name or fingerprint, or the beginning of the latter.", metavar="NAME")
    ],
    base_url: Annotated[
        str, typer.Option(envvar="OPENAI_BASE_URL", help="Address of the model that writes lessons.", metavar="URL")
    ] = "",
    model: Annotated[
        str, typer.Option(envvar="OPENAI_MODEL", help="Name of the model that writes lessons.", metavar="NAME")
    ] = "",
    writer_model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="A function that asks that model instead: messages in, text out.", metavar="MODULE:chat"),
    ] = None,
    agent: Annotated[
        list[str], typer.Option(help="Who may learn; may be repeated. [default: all]", metavar="NAME")
    ] = [],  # noqa: B006
    attributor: Annotated[str, typer.Option(help="Who diagnoses runs that are stored without a diagnosis.")] = "auto",
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Learn from the failed runs in the run store; what is learnt goes on trial."""
    from tracer_hooks.cli._improve_job import WritingModel
    from tracer_hooks.cli._lessons_job import learn as work

    writer = WritingModel(base_url=base_url, model=model, function=writer_model, command="lessons learn")
    raise typer.Exit(work(store, team, writer, agents=agent, attributor=attributor, as_json=as_json))


@lessons_app.command("list")
def list_lessons(team: Team = None, as_json: Json = False, store: Store = None) -> None:
    """List lessons: state, agent, how the runs with and without them went."""
    from tracer_hooks.cli._lessons_job import list_lessons as work

    raise typer.Exit(work(store, team, as_json=as_json))


@lessons_app.command()
def show(lesson: Lesson, team: Team = None, as_json: Json = False, store: Store = None) -> None:
    """Show one lesson: what it says, where it comes from, and what speaks for and against it."""
    from tracer_hooks.cli._lessons_job import show_lesson as work

    raise typer.Exit(work(store, team, lesson, as_json=as_json))


@lessons_app.command()
def retire(
    lesson: Lesson,
    reason: Annotated[str, typer.Option(help="Why; kept with the lesson.")] = "",
    team: Team = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Take a lesson back for good: nobody is given it any more."""
    from tracer_hooks.cli._lessons_job import retire_lesson as work

    raise typer.Exit(work(store, team, lesson, reason=reason, as_json=as_json))
