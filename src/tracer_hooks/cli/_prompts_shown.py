"""Versions of prompts as tables, text, Markdown and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from tracer_hooks._safe_text import on_screen
from tracer_hooks.schema import Json
from tracer_hooks.store import PromptEvent, PromptState, PromptTally, PromptVersion, prompt_diff

_STYLES = {
    PromptState.PROPOSED: "dim",
    PromptState.ON_TRIAL: "yellow",
    PromptState.ACCEPTED: "green",
    PromptState.ROLLED_BACK: "red",
}
_LINES = {"+": "green", "-": "red", "@": "cyan"}
_COLUMNS = ("version", "state", "agents", "trial", "live", "changed")
_MOST_AGENTS = 24
"""Characters of the agents' names in a table."""
_VALUE_CHARS = 400
_WHOLE = ("texts", "own", "provenance", "evidence")


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


def version_table(history: TeamHistory) -> Table:
    """One line for each version; the one that is used has a mark.

    Why a version has its state stands in ``show``: it is a sentence or two.
    """
    table = Table(box=None, pad_edge=False, caption="passed: new prompts vs old ones", caption_justify="left")
    for title in _COLUMNS:
        table.add_column(title, overflow="ellipsis", no_wrap=True)
    for version in history.versions:
        agents = ", ".join(version.texts)
        cells = [
            f"{'>' if version.number == history.current else ' '} {version.number}",
            f"{version.state}{', pinned' if version.is_pinned else ''}",
            agents if len(agents) <= _MOST_AGENTS else f"{agents[: _MOST_AGENTS - 1]}…",
            _in_short(version.trial),
            _in_short(version.live),
            f"{version.changed_at.astimezone():%m-%d %H:%M}",
        ]
        table.add_row(
            *(
                Text(on_screen(cell), style=_STYLES[version.state] if column == "state" else "")
                for column, cell in zip(_COLUMNS, cells, strict=True)
            )
        )
    return table


def version_parts(version: PromptVersion, history: TeamHistory) -> Iterator[Text]:
    """One version as text: what it is, where it comes from, what its runs said, and its prompts."""
    yield Text(
        f"version {version.number} of {history.title}: {standing(version, history)}", style=_STYLES[version.state]
    )
    for line in _facts(version):
        yield Text(on_screen(line))
    for title, values in (("Where it comes from", version.provenance), ("Evidence", version.evidence)):
        if values:
            yield Text(f"\n{title}", style="bold")
            for name, value in values.items():
                yield Text(on_screen(f"  {name}: {_short(value)}"))
    yield Text("\nWhat was done", style="bold")
    for event in history.events:
        if event.number == version.number:
            yield Text(f"  {event_line(event)}")
    for agent, text in version.texts.items():
        yield Text(f"\n{on_screen(agent)}: against the team's own", style="bold")
        yield diff_text(own_diff(version, agent) or "the same text")
        yield Text(f"\n{on_screen(agent)}: the whole text", style="bold")
        yield Text(on_screen(text))


def standing(version: PromptVersion, history: TeamHistory) -> str:
    """A version's state, and whether it is used."""
    words = [str(version.state)]
    words += ["in use"] if version.number == history.current else []
    words += ["pinned"] if version.is_pinned else []
    return ", ".join(words)


def diff_text(diff: str) -> Text:
    """A unified diff in colours."""
    shown = Text()
    for position, line in enumerate(diff.splitlines()):
        shown.append("\n" if position else "").append(on_screen(line), style=_LINES.get(line[:1], ""))
    return shown


def event_line(event: PromptEvent) -> str:
    """One thing that was done, on one line."""
    reason = " ".join(event.reason.split())
    return on_screen(f"{_when(event.at)} {event.what}" + (f": {reason}" if reason else ""))


def own_diff(version: PromptVersion, agent: str) -> str:
    """What a version changes in an agent's own instructions."""
    names = {"before_name": "the team's own", "after_name": f"version {version.number}"}
    return prompt_diff(version.own[agent], version.texts[agent], **names)


def version_line_data(version: PromptVersion, history: TeamHistory) -> dict[str, Any]:
    """A version for JSON, without its texts."""
    data = version.model_dump(mode="json", exclude=set(_WHOLE))
    for phase, tally in (("trial", version.trial), ("live", version.live)):
        data[phase] |= {"new_rate": tally.new_rate, "old_rate": tally.old_rate}
    return {**data, "agents": list(version.texts), "is_current": version.number == history.current}


def version_whole_data(version: PromptVersion, history: TeamHistory) -> dict[str, Any]:
    """A version for JSON, with everything."""
    return {
        **version_line_data(version, history),
        **version.model_dump(mode="json", include=set(_WHOLE)),
        "diffs": {agent: own_diff(version, agent) for agent in version.texts},
        "events": [event.model_dump(mode="json") for event in history.events if event.number == version.number],
    }


def markdown(history: TeamHistory) -> str:
    """All versions of a team as a page to review, the newest first."""
    used = "the team's own prompts" if history.current is None else f"version {history.current}"
    lines = [f"# Prompts of {history.title}", "", f"In use: {used}."]
    for version in reversed(history.versions):
        lines += ["", f"## Version {version.number}: {standing(version, history)}", ""]
        lines += [f"- {fact}" for fact in map(on_screen, _facts(version))]
        for title, values in (("Where it comes from", version.provenance), ("Evidence", version.evidence)):
            if values:
                lines += ["", f"### {title}", "", *_fenced(_one_a_line(values), "json")]
        lines += ["", "### What was done", ""]
        lines += [f"- {event_line(event)}" for event in history.events if event.number == version.number]
        for agent in version.texts:
            lines += ["", f"### {' '.join(on_screen(agent).split())}", "", *_fenced(own_diff(version, agent), "diff")]
            lines += ["", "The whole text:", "", *_fenced(version.texts[agent], "text")]
    return "\n".join(lines) + "\n"


def _one_a_line(values: Mapping[str, Json]) -> str:
    """A JSON object with one line for each of its names: long lists would fill pages otherwise."""
    lines = [f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _fenced(text: str, language: str) -> list[str]:
    """``text`` as a code block that no backticks in it can end."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return [fence + language, on_screen(text), fence]


def _facts(version: PromptVersion) -> Iterator[str]:
    if version.reason:
        yield f"why: {' '.join(version.reason.split())}"
    yield f"follows: {'no other version' if version.parent is None else f'version {version.parent}'}"
    yield f"agents: {', '.join(version.texts)}"
    accepted = "" if version.accepted_at is None else f"; accepted {_when(version.accepted_at)}"
    yield f"proposed {_when(version.created_at)}{accepted}"
    yield f"trial, new vs old: {_compared(version.trial)}"
    yield f"live, new vs old: {_compared(version.live)}"


def _compared(tally: PromptTally) -> str:
    """``18/20 (90 %) vs 12/20 (60 %)``: runs that passed on the new and on the old prompts."""
    sides = (
        _passed(tally.new_passes, tally.new_runs, tally.new_rate),
        _passed(tally.old_passes, tally.old_runs, tally.old_rate),
    )
    return "-" if sides == ("-", "-") else " vs ".join(sides)


def _in_short(tally: PromptTally) -> str:
    """``18/20 vs 12/20``."""
    sides = [f"{tally.new_passes}/{tally.new_runs}", f"{tally.old_passes}/{tally.old_runs}"]
    return " vs ".join(side if side != "0/0" else "-" for side in sides) if sides != ["0/0", "0/0"] else "-"


def _passed(passes: int, runs: int, rate: float | None) -> str:
    return "-" if rate is None else f"{passes}/{runs} ({rate:.0%})"


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}… (all of it with --json)"


def _when(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
