"""``tracer-hooks prompts``: versions of prompts, as tables, text, Markdown and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tracer_hooks._text import on_screen
from tracer_hooks.cli._options import Json, Store, needed_store
from tracer_hooks.cli.console import err, out_wide, print_json, write_result
from tracer_hooks.cli.console import out as out_console
from tracer_hooks.errors import ConfigError, StoreError

if TYPE_CHECKING:  # at run time with the work: help needs no store
    from rich.table import Table

    from tracer_hooks.schema import Json as JsonValue
    from tracer_hooks.store import PromptEvent, PromptStore, PromptTally, PromptVersion

prompts_app = typer.Typer(help="Versions of your teams' prompts.", invoke_without_command=True)

_IMPROVE = "tracer-hooks improve MODULE:build_team --tasks FILE --check MODULE:check"
_STYLES = {"proposed": "dim", "on trial": "yellow", "accepted": "green", "rolled back": "red"}
_LINES = {"+": "green", "-": "red", "@": "cyan"}
_COLUMNS = ("version", "state", "agents", "trial", "live", "changed")
_AGENTS_CHARS = 24
_VALUE_CHARS = 400
_WHOLE = ("texts", "own", "provenance", "evidence")

Team = Annotated[str | None, typer.Option("--team", help="The team's name, or the beginning of its fingerprint.")]
Version = Annotated[int, typer.Argument(metavar="VERSION", help="The version's number.", min=1)]


@dataclass(frozen=True, kw_only=True)
class TeamHistory:
    """All versions of one team."""

    team: str
    versions: tuple[PromptVersion, ...]
    events: tuple[PromptEvent, ...]
    current: int | None

    @property
    def title(self) -> str:
        """The team as people know it."""
        newest = self.versions[-1]
        named = f"{newest.team_name} ({newest.framework}), {self.team}" if newest.team_name else self.team
        return on_screen(named)


@prompts_app.callback()
def prompts(context: typer.Context) -> None:
    """Versions of your teams' prompts; without a command, the list of them."""
    if context.invoked_subcommand is None:
        list_versions()


@prompts_app.command("list")
def list_versions(team: Team = None, as_json: Json = False, store: Store = None) -> None:
    """List versions: state, agents, how the runs went, which one is used."""
    with _open(store) as kept:
        known = kept.versions() if kept.exists() else ()
        names = list(dict.fromkeys(version.team for version in known)) if team is None else [_find_team(known, team)]
        histories = [_history(kept, name) for name in names]
    if as_json:
        print_json({"teams": [_team_data(history) for history in histories]})
    elif not histories:
        err().print(f"no prompts yet; run: {_IMPROVE}", soft_wrap=True)
    else:
        for history in histories:
            out_wide().print(f"{history.title}: {_used(history.current)}", soft_wrap=True)
            out_wide().print(_version_table(history))


@prompts_app.command()
def show(
    version: Version,
    agent: Annotated[str | None, typer.Option(help="Only this agent's prompt.")] = None,
    team: Team = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Show one version: where it comes from, what speaks for and against it, and its prompts."""
    with _open(store) as kept:
        history = _history(kept, team)
        found = kept.get(history.team, version)
    if agent is not None:
        if agent not in found.texts:
            known = ", ".join(map(repr, found.texts))
            why = f"version {version} changes no prompt of {agent!r}, only of: {known}"
            raise StoreError(f"{why}. Run: tracer-hooks prompts show {version}")
        found = found.model_copy(update={"texts": {agent: found.texts[agent]}, "own": {agent: found.own[agent]}})
    if as_json:
        print_json(_version_data(found, history, whole=True))
        return
    for part in _version_parts(found, history):
        out_console().print(part, soft_wrap=True)


@prompts_app.command()
def diff(
    before: Annotated[
        int | None, typer.Argument(metavar="[A]", help="A version; 0 stands for the team's own prompts.", min=0)
    ] = None,
    after: Annotated[int | None, typer.Argument(metavar="[B]", help="The version to compare A with.", min=0)] = None,
    team: Team = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Say what changed from A to B; without B from A's parent to A, without both from your own to the current ones."""
    with _open(store) as kept:
        history = _history(kept, team)
        first, second = _sides(kept, history, before, after)
        known = {number: kept.get(history.team, number) for number in (first, second) if number}
    diffs = _diffs(known.get(first), known.get(second))
    if as_json:
        print_json({"team": history.team, "before": first, "after": second, "diffs": diffs})
        return
    if not any(diffs.values()):
        err().print(f"{_side_name(first)} and {_side_name(second)} have the same prompts", soft_wrap=True)
    for agent, text in diffs.items():
        if text:
            out_console().print(f"{on_screen(agent)}:", soft_wrap=True)
            out_console().print(diff_text(text), soft_wrap=True)


@prompts_app.command()
def rollback(
    version: Version,
    reason: Annotated[str, typer.Option(help="Why; kept with the version.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Also where it is pinned.")] = False,
    team: Team = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Take a version back for good; the one before it is used again, or your own prompts."""

    def roll_back(kept: PromptStore, name: str) -> PromptVersion:
        return kept.roll_back(name, version, reason=reason or "taken back by hand", force=force)

    _change(store, team, as_json, roll_back)


@prompts_app.command()
def pin(version: Version, team: Team = None, as_json: Json = False, store: Store = None) -> None:
    """Use an accepted version whatever comes: nothing replaces it or takes it back by itself."""
    _change(store, team, as_json, lambda kept, name: kept.pin(name, version))


@prompts_app.command()
def unpin(version: Version, team: Team = None, as_json: Json = False, store: Store = None) -> None:
    """Let go of a pinned version: the one that was accepted last is used again."""
    _change(store, team, as_json, lambda kept, name: kept.unpin(name, version))


@prompts_app.command()
def export(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file, .md to review or .json; default Markdown on stdout.")
    ] = None,
    team: Team = None,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Write all versions of a team with their texts, evidence and history."""
    suffix = ".json" if out is None and as_json else ".md" if out is None else out.suffix.lower()
    if suffix not in (".json", ".md"):
        raise ConfigError(
            f"--out is {str(out)!r}, expected a name that ends in .json or .md. "
            "Run: tracer-hooks prompts export --out prompts.md"
        )
    with _open(store) as kept:
        history = _history(kept, team)
    whole = json.dumps(_team_data(history, whole=True), indent=2, ensure_ascii=True) + "\n"
    text = whole if suffix == ".json" else _markdown(history)
    write_result(text, out, again="tracer-hooks prompts export --out FILE.md")
    if as_json and out is not None:
        print_json({"team": history.team, "written": str(out)})


def _change(
    store: str | None, team: str | None, as_json: bool, change: Callable[[PromptStore, str], PromptVersion]
) -> None:
    """Change a version, and say what is used now."""
    with _open(store, read_only=False) as kept:
        changed = change(kept, _history(kept, team).team)
        history = _history(kept, changed.team)
    if as_json:
        print_json({**_version_data(changed, history), "current": history.current})
        return
    state = _standing(changed, history)
    out_console().print(f"version {changed.number} of {history.title}: {state}", soft_wrap=True)
    out_console().print(_used(history.current), soft_wrap=True)


def _open(store: str | None, *, read_only: bool = True) -> PromptStore:
    from tracer_hooks.store import PromptStore

    return PromptStore(needed_store(store), read_only=read_only)


def _history(kept: PromptStore, wanted: str | None) -> TeamHistory:
    """The versions of the team that ``wanted`` names."""
    if not kept.exists():
        raise StoreError(f"there is no run store at {kept.name!r}, so no prompts. Run: {_IMPROVE}")
    team = _find_team(kept.versions(), wanted)
    current = kept.current(team)
    number = None if current is None else current.number
    return TeamHistory(team=team, versions=kept.versions(team), events=kept.events(team), current=number)


def _find_team(known: Sequence[PromptVersion], wanted: str | None) -> str:
    """The fingerprint that ``wanted``, a name, a fingerprint or its beginning, names; the only one without it."""
    names = {version.team: version.team_name for version in known}
    if not names:
        raise StoreError(f"the store has no prompts of any team. Run: {_IMPROVE}")
    ways = (
        [team for team in names if wanted in (None, team)],
        [team for team, name in names.items() if name == wanted],
        [team for team in names if wanted and team.startswith(wanted)],
    )
    found = next(filter(None, ways), [])
    if len(found) == 1:
        return found[0]
    shown = ", ".join(map(repr, found or names))
    if not found:
        raise StoreError(f"--team is {wanted!r}, expected one of: {shown}. Run: tracer-hooks prompts list")
    what = "the store has prompts of several teams" if wanted is None else f"--team {wanted!r} fits several teams"
    raise ConfigError(f"{what}: {shown}. Give one with --team")


def _sides(kept: PromptStore, history: TeamHistory, before: int | None, after: int | None) -> tuple[int, int]:
    """The two versions to compare, 0 for the team's own prompts."""
    if after is not None:
        return before or 0, after
    if before:
        return kept.get(history.team, before).parent or 0, before
    is_open = [version for version in history.versions if version.state != "rolled back"]
    return 0, history.current or (is_open or history.versions)[-1].number


def _diffs(before: PromptVersion | None, after: PromptVersion | None) -> dict[str, str]:
    """The changes by agent; an agent that one side does not name has the team's own instructions there."""
    from tracer_hooks.store import prompt_diff

    sides = [side for side in (before, after) if side is not None]
    own = {agent: text for side in sides for agent, text in side.own.items()}
    old, new = ({**own, **(side.own | side.texts if side else {})} for side in (before, after))
    first, second = (_side_name(side.number if side else 0) for side in (before, after))
    return {agent: prompt_diff(old[agent], new[agent], before_name=first, after_name=second) for agent in own}


def _side_name(number: int) -> str:
    return f"version {number}" if number else "the team's own"


def _used(current: int | None) -> str:
    return "the team's own prompts are used" if current is None else f"version {current} is used"


def _team_data(history: TeamHistory, *, whole: bool = False) -> dict[str, Any]:
    newest = history.versions[-1]
    return {
        "team": history.team,
        "team_name": newest.team_name,
        "framework": newest.framework,
        "current": history.current,
        "versions": [_version_data(version, history, whole=whole) for version in history.versions],
    }


def _version_data(version: PromptVersion, history: TeamHistory, *, whole: bool = False) -> dict[str, Any]:
    """A version for JSON; its texts, diffs and events only as a whole."""
    data = version.model_dump(mode="json", exclude=set(_WHOLE))
    for phase, tally in (("trial", version.trial), ("live", version.live)):
        data[phase] |= {"new_rate": tally.new_rate, "old_rate": tally.old_rate}
    data |= {"agents": list(version.texts), "is_current": version.number == history.current}
    if whole:
        data |= version.model_dump(mode="json", include=set(_WHOLE))
        data["diffs"] = _diffs(None, version)
        data["events"] = [event.model_dump(mode="json") for event in history.events if event.number == version.number]
    return data


def _version_table(history: TeamHistory) -> Table:
    """One line for each version; the one that is used has a mark."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, caption="passed: new prompts vs old ones", caption_justify="left")
    for title in _COLUMNS:
        table.add_column(title, overflow="ellipsis", no_wrap=True)
    for version in history.versions:
        agents = ", ".join(version.texts)
        cells = [
            f"{'>' if version.number == history.current else ' '} {version.number}",
            f"{version.state}{', pinned' if version.is_pinned else ''}",
            agents if len(agents) <= _AGENTS_CHARS else f"{agents[: _AGENTS_CHARS - 1]}…",
            _compared(version.trial, rates=False),
            _compared(version.live, rates=False),
            f"{version.changed_at.astimezone():%m-%d %H:%M}",
        ]
        styles = ["", _STYLES[version.state], *[""] * 4]
        table.add_row(*(Text(on_screen(cell), style=style) for cell, style in zip(cells, styles, strict=True)))
    return table


def _version_parts(version: PromptVersion, history: TeamHistory) -> Iterator[Text]:
    """One version as text: what it is, where it comes from, what its runs said, and its prompts."""
    yield Text(
        f"version {version.number} of {history.title}: {_standing(version, history)}", style=_STYLES[version.state]
    )
    for line in _facts(version):
        yield Text(on_screen(line))
    for title, text, language in _blocks(version, history):
        yield Text(f"\n{on_screen(title)}", style="bold")
        yield diff_text(text or "the same text") if language == "diff" else Text(on_screen(text))


def _blocks(version: PromptVersion, history: TeamHistory) -> Iterator[tuple[str, str, str]]:
    """Titles, texts and languages of what is kept with a version."""
    evidence = version.evidence.items()
    figures = {name: value for name, value in evidence if not name.removeprefix("passed_").startswith("e_")}
    for title, values in (("Where it comes from", version.provenance), ("Evidence", figures)):
        if values:
            yield title, "\n".join(f"{name}: {_short(value)}" for name, value in values.items()), "text"
    done = [event for event in history.events if event.number == version.number]
    lines = [f"{_when(event.at)} {event.what}: {' '.join(event.reason.split())}".removesuffix(": ") for event in done]
    yield "What was done", "\n".join(lines), "text"
    diffs = _diffs(None, version)
    for agent, text in version.texts.items():
        yield f"{agent}: against the team's own", diffs[agent], "diff"
        yield f"{agent}: the whole text", text, "text"


def _standing(version: PromptVersion, history: TeamHistory) -> str:
    """A version's state, and whether it is used."""
    marks = ["in use"] * (version.number == history.current) + ["pinned"] * version.is_pinned
    return ", ".join([str(version.state), *marks])


def diff_text(diff: str) -> Text:
    """A unified diff in colours."""
    shown = Text()
    for position, line in enumerate(diff.splitlines()):
        shown.append("\n" if position else "").append(on_screen(line), style=_LINES.get(line[:1], ""))
    return shown


def _markdown(history: TeamHistory) -> str:
    """All versions of a team as a page to review, the newest first."""
    used = "the team's own prompts" if history.current is None else f"version {history.current}"
    lines = [f"# Prompts of {history.title}", "", f"In use: {used}."]
    for version in reversed(history.versions):
        lines += ["", f"## Version {version.number}: {_standing(version, history)}", ""]
        lines += [f"- {on_screen(fact)}" for fact in _facts(version)]
        for title, text, language in _blocks(version, history):
            fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))  # no backticks in it end it
            lines += ["", f"### {on_screen(' '.join(title.split()))}", "", fence + language, on_screen(text), fence]
    return "\n".join(lines) + "\n"


def _facts(version: PromptVersion) -> Iterator[str]:
    if version.reason:
        yield f"why: {' '.join(version.reason.split())}"
    yield f"follows: {'no other version' if version.parent is None else f'version {version.parent}'}"
    yield f"agents: {', '.join(version.texts)}"
    accepted = "" if version.accepted_at is None else f"; accepted {_when(version.accepted_at)}"
    yield f"proposed {_when(version.created_at)}{accepted}"
    yield f"trial, new vs old: {_compared(version.trial)}"
    yield f"live, new vs old: {_compared(version.live)}"


def _compared(tally: PromptTally, *, rates: bool = True) -> str:
    """``18/20 (90%) vs 12/20 (60%)``: runs that passed on the new and on the old prompts; ``-`` without any."""
    sides = [(tally.new_passes, tally.new_runs), (tally.old_passes, tally.old_runs)]
    said = [
        f"{passes}/{runs}" + (f" ({passes / runs:.0%})" if rates else "") if runs else "-" for passes, runs in sides
    ]
    return " vs ".join(said) if tally.new_runs or tally.old_runs else "-"


def _short(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}… (all of it with --json)"


def _when(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
