"""Pages on many runs, static or live: how they went by team and day, lists of them, what recurs, prompts in use.

A page is a view, read from the store, and :func:`render_page`. A folder of files and a server have the same pages and
other addresses: :class:`SiteLinks`.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from tracer_hooks.report._counts import RunFilter, RunTable, short_number
from tracer_hooks.report._page import draw
from tracer_hooks.report._wording import OUTCOMES, View, one_line
from tracer_hooks.schema import Attribution, RunOutcome

if TYPE_CHECKING:
    from tracer_hooks.diagnosis import RecurringFindings
    from tracer_hooks.store import PromptStore, PromptVersion, RunStore, RunSummary

ROWS = 100
"""Runs that one page lists."""
_TEAM_CHIPS, _NEWEST, _BACK = 12, 8, 8
_NAMES = ("overview", "runs", "issues", "prompts")
Choice = tuple[str, str, bool]
"""Words and address of a page, and whether it is the present one."""


class SiteLinks(Protocol):
    """Addresses of the pages; an empty one where there is no such page."""

    @property
    def stylesheet(self) -> str:
        """The style sheet of all pages."""

    def page(self, name: str) -> str:
        """``"overview"``, ``"runs"``, ``"issues"`` or ``"prompts"``."""

    def runs(self, team: str | None = None, outcome: RunOutcome | None = None, number: int = 1) -> str:
        """A page of a list of runs."""

    def run(self, run_id: str, step: int | None = None) -> str:
        """The page of a run, at one of its steps."""


def render_page(name: str, view: object, links: SiteLinks, chosen: RunFilter, **more: object) -> str:
    """The page ``"overview"``, ``"runs"``, ``"issues"`` or ``"prompts"`` with its ``view``.

    Everything that comes from runs is escaped. ``more`` are variables of the template, such as ``notes``, sentences
    that stand at its top.
    """
    told = {
        "view": view, "links": links, "chosen": chosen.words, "nav": site_nav(links, name), "notes": (),
        "is_narrowed": bool(chosen.since or chosen.tags),
        "diagnose": one_line(shlex.join(["tracer-hooks", "issues", "--diagnose", *chosen.options]), 240),
        "stylesheet": links.stylesheet, "short": short_number,
    }  # fmt: skip
    return draw(f"{name}.html.j2", **{**told, **more})


def site_nav(links: SiteLinks, current: str = "") -> list[Choice]:
    """The pages that every page leads to."""
    return [(name.capitalize(), links.page(name), name == current) for name in _NAMES]


def overview_of(
    store: RunStore,
    chosen: RunFilter,
    links: SiteLinks,
    *,
    table: RunTable | None = None,
    recurring: RecurringFindings | None = None,
) -> View:
    """Read how the runs went, the newest failures, and what came back after prompts that were to end it.

    ``table`` and ``recurring`` are what was read before, and without them nothing came back.
    """
    table = table or RunTable.of(store, chosen)
    failed = RunFilter(**chosen.asked, outcome=RunOutcome.FAILED)
    issues = recurring.issues if recurring is not None else ()
    return dict(
        team=chosen.team,
        table=table,
        failures=_rows(store, failed, links, limit=_NEWEST) if table.failed else (),
        back=[each for each in issues if each.came_back_after is not None][:_BACK],
    )


def runs_of(
    store: RunStore,
    chosen: RunFilter,
    links: SiteLinks,
    *,
    number: int = 1,
    most: int | None = None,
    table: RunTable | None = None,
) -> View:
    """Read a page of a list of runs, the newest first.

    Args:
        store: The runs.
        chosen: Which of them.
        links: Addresses of the pages.
        number: The page, from 1.
        most: How many are listed on all its pages.
        table: Counts of all teams' runs, if they were read before.
    """
    whole = table or RunTable.of(store, RunFilter(since=chosen.since, tags=chosen.tags))
    teams = whole.teams
    own = whole if chosen.team is None else teams.get(chosen.team, RunTable(whole.first, whole.last))
    total = own.runs(chosen.outcome)
    count = total if most is None else min(total, most)
    pages = max(1, -(-count // ROWS))
    shown = [team for place, team in enumerate(teams) if place < _TEAM_CHIPS or team == chosen.team]
    outcomes = [None, *(each for each in RunOutcome if own.runs(each) or each is chosen.outcome)]
    around = sorted({1, number - 1, number, number + 1, pages} & set(range(1, pages + 1)))
    return dict(
        rows=_rows(store, chosen, links, limit=min(ROWS, count - (number - 1) * ROWS), offset=(number - 1) * ROWS),
        count=count,
        total=total,
        number=number,
        pages=pages,
        links=[(str(each), links.runs(chosen.team, chosen.outcome, each), each == number) for each in around],
        bars=own.run_bars(),
        outcomes=[
            (
                f"{'All' if each is None else OUTCOMES[each]} ({own.runs(each):,})",
                links.runs(chosen.team, each),
                each is chosen.outcome,
            )
            for each in outcomes
        ],
        teams=list(_team_choices(shown, chosen, links)) if len(teams) > 1 else (),
        more_teams=len(teams) - len(shown),
    )


def _team_choices(teams: Sequence[str], chosen: RunFilter, links: SiteLinks) -> Iterator[Choice]:
    yield "All teams", links.runs(None, chosen.outcome), chosen.team is None
    for team in teams:
        link = links.runs(team, chosen.outcome) or links.runs(team)  # a team without such runs has no such page
        yield one_line(team, 60) or "without a name", link, team == chosen.team


def _rows(store: RunStore, chosen: RunFilter, links: SiteLinks, *, limit: int, offset: int = 0) -> list[View]:
    if limit < 1:
        return []
    listed = store.list(limit=limit, offset=offset, outcome=chosen.outcome, **chosen.asked, with_replays=False)
    known = store.attributions(*(run.run_id for run in listed if run.confidence is not None))
    found = [(run, *_said(run, known.get(run.run_id))) for run in listed]
    return [dict(run=run, said=said, place=place, link=links.run(run.run_id)) for run, said, place in found]


def _said(run: RunSummary, found: Attribution | None) -> tuple[str, str]:
    """What was found, no surer than it is, or why the run failed; and the place, where that does not say it."""
    if run.outcome is RunOutcome.SUCCEEDED and (found is None or found.certainty is None):
        return "", ""
    if found is None:
        return run.outcome_reason or "", ""
    if found.certainty is None:
        return found.headline, ""
    place = one_line(found.agent or "", 60) + ("" if found.step is None else f", step {found.step}")
    if found.certainty == "weak":
        return found.headline, f"start at {place}"
    telling = (each.text for each in found.findings if each.step == found.step and each.leads_to_answer)
    said = next(telling, "")  # the headline names the place itself
    return said or found.headline, place if said else ""


def prompts_of(store: PromptStore, chosen: RunFilter) -> list[View]:
    """Read the versions of prompts, with what speaks for and against them; of all that is chosen, by team alone."""
    teams: dict[str, list[PromptVersion]] = defaultdict(list)
    for version in store.versions() if store.exists() else ():
        if chosen.team in (None, version.team_name):
            teams[version.team].append(version)
    used = {team: store.current(team) for team in teams}
    return [
        dict(
            team=own[-1].team_name or team,
            current=None if (now := used[team]) is None else now.number,  # None for the team's own prompts
            versions=own[::-1],
        )
        for team, own in teams.items()
    ]
