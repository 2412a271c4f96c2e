"""What ``tracer-hooks prompts`` does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracer_hooks._safe_text import on_screen
from tracer_hooks.cli._console import DONE, err, out, out_wide, print_json, write_result
from tracer_hooks.cli._needed_store import needed_store
from tracer_hooks.cli._prompts_shown import (
    TeamHistory,
    diff_text,
    markdown,
    standing,
    version_line_data,
    version_parts,
    version_table,
    version_whole_data,
)
from tracer_hooks.errors import ConfigError, StoreError
from tracer_hooks.store import PromptState, PromptStore, PromptVersion, prompt_diff

_IMPROVE = "tracer-hooks improve MODULE:build_team --tasks FILE --check MODULE:check"


def list_versions(store: Path | None, team: str | None, *, as_json: bool) -> int:
    """Print one line for each version, team by team."""
    with _open(store, read_only=True) as prompts:
        known = prompts.versions() if prompts.path.exists() else ()
        names = list(dict.fromkeys(one.team for one in known)) if team is None else [_find_team(known, team)]
        histories = [_history(prompts, name) for name in names]
    if as_json:
        print_json({"teams": [_team_data(history) for history in histories]})
    elif not histories:
        err().print(f"no prompts yet; run: {_IMPROVE}", soft_wrap=True)
    else:
        console = out_wide()
        for history in histories:
            console.print(f"{history.title}: {_used(history.current)}", soft_wrap=True)
            console.print(version_table(history))
    return DONE


def show_version(store: Path | None, team: str | None, number: int, *, agent: str | None, as_json: bool) -> int:
    """Print one version with everything that is known of it."""
    with _open(store, read_only=True) as prompts:
        name = _team(prompts, team)
        version, history = prompts.get(name, number), _history(prompts, name)
    if agent is not None:
        version = _only(version, agent)
    if as_json:
        print_json(version_whole_data(version, history))
        return DONE
    for part in version_parts(version, history):
        out().print(part, soft_wrap=True)
    return DONE


def diff_versions(store: Path | None, team: str | None, before: int | None, after: int | None, *, as_json: bool) -> int:
    """Print what changed between two versions, agent by agent."""
    with _open(store, read_only=True) as prompts:
        name = _team(prompts, team)
        history = _history(prompts, name)
        first, second = _sides(prompts, history, before, after)
        known = {number: prompts.get(name, number) for number in (first, second) if number}
    diffs = _diffs(known.get(first), known.get(second), _side_name(first), _side_name(second))
    if as_json:
        print_json({"team": name, "before": first, "after": second, "diffs": diffs})
        return DONE
    if not any(diffs.values()):
        err().print(f"{_side_name(first)} and {_side_name(second)} have the same prompts", soft_wrap=True)
    for agent, text in diffs.items():
        if text:
            out().print(f"{on_screen(agent)}:", soft_wrap=True)
            out().print(diff_text(text), soft_wrap=True)
    return DONE


def roll_back(store: Path | None, team: str | None, number: int, *, reason: str, force: bool, as_json: bool) -> int:
    """Take a version back and say what is used now."""
    said = reason or "taken back by hand"
    return _change(
        store, team, as_json, lambda prompts, name: prompts.roll_back(name, number, reason=said, force=force)
    )


def pin(store: Path | None, team: str | None, number: int, *, as_json: bool) -> int:
    """Pin a version and say what is used now."""
    return _change(store, team, as_json, lambda prompts, name: prompts.pin(name, number))


def unpin(store: Path | None, team: str | None, number: int, *, as_json: bool) -> int:
    """Unpin a version and say what is used now."""
    return _change(store, team, as_json, lambda prompts, name: prompts.unpin(name, number))


def export_versions(store: Path | None, team: str | None, *, out: Path | None, as_json: bool) -> int:
    """Write a team's versions to a file or stdout."""
    suffix = ".json" if out is None and as_json else ".md" if out is None else out.suffix.lower()
    if suffix not in (".json", ".md"):
        raise ConfigError(
            f"--out is {str(out)!r}, expected a name that ends in .json or .md. "
            "Run: tracer-hooks prompts export --out prompts.md"
        )
    with _open(store, read_only=True) as prompts:
        history = _history(prompts, _team(prompts, team))
    whole = {**_team_data(history), "versions": [version_whole_data(one, history) for one in history.versions]}
    text = json.dumps(whole, indent=2, ensure_ascii=True) + "\n" if suffix == ".json" else markdown(history)
    write_result(text, out, again="tracer-hooks prompts export --out FILE.md")
    if as_json and out is not None:
        print_json({"team": history.team, "written": str(out)})
    return DONE


def _change(
    store: Path | None, team: str | None, as_json: bool, change: Callable[[PromptStore, str], PromptVersion]
) -> int:
    with _open(store, read_only=False) as prompts:
        name = _team(prompts, team)
        changed = change(prompts, name)
        history = _history(prompts, name)
    if as_json:
        print_json({**version_line_data(changed, history), "current": history.current})
        return DONE
    told = standing(changed, history)
    out().print(f"version {changed.number} of {history.title}: {told}", soft_wrap=True)
    out().print(_used(history.current), soft_wrap=True)
    return DONE


def _open(store: Path | None, *, read_only: bool) -> PromptStore:
    return PromptStore(needed_store(store), read_only=read_only)


def _team(prompts: PromptStore, wanted: str | None) -> str:
    if not prompts.path.exists():
        raise StoreError(f"there is no run store at {str(prompts.path)!r}, so no prompts. Run: {_IMPROVE}")
    return _find_team(prompts.versions(), wanted)


def _find_team(known: tuple[PromptVersion, ...], wanted: str | None) -> str:
    """The fingerprint that ``wanted``, a name, a fingerprint or its beginning, names; the only one without it."""
    names = {version.team: version.team_name for version in known}
    if not names:
        raise StoreError(f"the store has no prompts of any team. Run: {_IMPROVE}")
    if wanted is None:
        found = list(names)
    elif wanted in names:
        found = [wanted]
    else:
        found = [team for team, name in names.items() if name == wanted]
        found = found or [team for team in names if wanted and team.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    shown = ", ".join(map(repr, found or names))
    if not found:
        raise StoreError(f"--team is {wanted!r}, expected one of: {shown}. Run: tracer-hooks prompts list")
    said = "the store has prompts of several teams" if wanted is None else f"--team {wanted!r} fits several teams"
    raise ConfigError(f"{said}: {shown}. Give one with --team")


def _history(prompts: PromptStore, team: str) -> TeamHistory:
    current = prompts.current(team)
    return TeamHistory(
        team=team,
        versions=prompts.versions(team),
        events=prompts.events(team),
        current=None if current is None else current.number,
    )


def _team_data(history: TeamHistory) -> dict[str, Any]:
    newest = history.versions[-1]
    return {
        "team": history.team,
        "team_name": newest.team_name,
        "framework": newest.framework,
        "current": history.current,
        "versions": [version_line_data(one, history) for one in history.versions],
    }


def _only(version: PromptVersion, agent: str) -> PromptVersion:
    if agent not in version.texts:
        known = ", ".join(map(repr, version.texts))
        raise StoreError(
            f"version {version.number} changes no prompt of {agent!r}, only of: {known}. "
            f"Run: tracer-hooks prompts show {version.number}"
        )
    return version.model_copy(update={"texts": {agent: version.texts[agent]}, "own": {agent: version.own[agent]}})


def _sides(prompts: PromptStore, history: TeamHistory, before: int | None, after: int | None) -> tuple[int, int]:
    """The two versions to compare, 0 for the team's own prompts."""
    if not before and after is None:
        open_versions = [one.number for one in history.versions if one.state is not PromptState.ROLLED_BACK]
        newest = (open_versions or [one.number for one in history.versions])[-1]
        return 0, history.current or newest
    if after is None:
        number = before or 0
        return prompts.get(history.team, number).parent or 0, number
    return before or 0, after


def _diffs(
    before: PromptVersion | None, after: PromptVersion | None, before_name: str, after_name: str
) -> dict[str, str]:
    """The changes by agent; an agent that one side does not name has the team's own instructions there."""
    sides = [side for side in (before, after) if side is not None]
    agents = dict.fromkeys(agent for side in sides for agent in side.texts)
    own = {agent: text for side in sides for agent, text in side.own.items()}
    old, new = ({**own, **(side.own | side.texts if side else {})} for side in (before, after))
    return {
        agent: prompt_diff(old[agent], new[agent], before_name=before_name, after_name=after_name) for agent in agents
    }


def _side_name(number: int) -> str:
    return f"version {number}" if number else "the team's own"


def _used(current: int | None) -> str:
    return "the team's own prompts are used" if current is None else f"version {current} is used"
