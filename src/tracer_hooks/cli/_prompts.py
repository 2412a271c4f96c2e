"""``tracer-hooks prompts``: the commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

prompts_app = typer.Typer(help="Versions of your teams' prompts.", invoke_without_command=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Store = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads the annotation at run time
    typer.Option("--store", help="The run store's file; default TRACER_HOOKS_STORE or .tracer_hooks/runs.sqlite."),
]
Team = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--team", help="The team's name or fingerprint, or the beginning of the latter; needed for several."),
]
Version = Annotated[int, typer.Argument(metavar="VERSION", help="The version's number.", min=1)]
Reason = Annotated[str, typer.Option(help="Why; kept with the version.")]


@prompts_app.callback()
def prompts(context: typer.Context) -> None:
    """Versions of your teams' prompts; without a command, the list of them."""
    if context.invoked_subcommand is None:
        list_versions()


@prompts_app.command("list")
def list_versions(team: Team = None, as_json: Json = False, store: Store = None) -> None:
    """List versions: state, agents, how the runs went, which one is used."""
    from tracer_hooks.cli._prompts_job import list_versions as work

    raise typer.Exit(work(store, team, as_json=as_json))


@prompts_app.command()
def show(
    version: Version,
    agent: Annotated[Optional[str], typer.Option(help="Only this agent's prompt.")] = None,  # noqa: UP045
    team: Team = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Show one version: where it comes from, what speaks for and against it, and its prompts."""
    from tracer_hooks.cli._prompts_job import show_version as work

    raise typer.Exit(work(store, team, version, agent=agent, as_json=as_json))


@prompts_app.command()
def diff(
    before: Annotated[
        Optional[int],  # noqa: UP045
        typer.Argument(metavar="[A]", help="A version; 0 stands for the team's own prompts.", min=0),
    ] = None,
    after: Annotated[
        Optional[int],  # noqa: UP045
        typer.Argument(metavar="[B]", help="The version to compare A with.", min=0),
    ] = None,
    team: Team = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Say what changed from A to B; without B from A's parent to A, without both from your own to the current ones."""
    from tracer_hooks.cli._prompts_job import diff_versions as work

    raise typer.Exit(work(store, team, before, after, as_json=as_json))


@prompts_app.command()
def rollback(
    version: Version,
    reason: Reason = "",
    force: Annotated[bool, typer.Option("--force", help="Also where it is pinned.")] = False,
    team: Team = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Take a version back for good; the one before it is used again, or your own prompts."""
    from tracer_hooks.cli._prompts_job import roll_back as work

    raise typer.Exit(work(store, team, version, reason=reason, force=force, as_json=as_json))


@prompts_app.command()
def pin(version: Version, team: Team = None, as_json: Json = False, store: Store = None) -> None:
    """Use an accepted version whatever comes: nothing replaces it or takes it back by itself."""
    from tracer_hooks.cli._prompts_job import pin as work

    raise typer.Exit(work(store, team, version, as_json=as_json))


@prompts_app.command()
def unpin(version: Version, team: Team = None, as_json: Json = False, store: Store = None) -> None:
    """Let go of a pinned version: the one that was accepted last is used again."""
    from tracer_hooks.cli._prompts_job import unpin as work

    raise typer.Exit(work(store, team, version, as_json=as_json))


@prompts_app.command()
def export(
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--out", "-o", help="The file, .md to review or .json; default Markdown on stdout."),
    ] = None,
    team: Team = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Write all versions of a team with their texts, evidence and history."""
    from tracer_hooks.cli._prompts_job import export_versions as work

    raise typer.Exit(work(store, team, out=out, as_json=as_json))
