"""The pages, live: what is asked for, where they lead, and what is remembered of a store that has not changed."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tracer_hooks.config import StorePlace, parse_moment, parse_tags
from tracer_hooks.diagnosis import RecurringFindings, recurring_findings
from tracer_hooks.errors import ConfigError, StoreError
from tracer_hooks.report import (
    ReportFork,
    ReportRun,
    RunFilter,
    RunTable,
    asset,
    draw,
    overview_of,
    prompts_of,
    render_html,
    render_page,
    runs_of,
    site_nav,
)
from tracer_hooks.schema import RunOutcome
from tracer_hooks.serving._access import Access
from tracer_hooks.serving._labels import LabelDesk
from tracer_hooks.store import PromptStore, RunStore, StoredRun

STYLE = "/style.css"
SCRIPTS = ("/page.js", "/label.js")
_LOOKED_AT = 1_000
"""Runs that issues are looked for in, the newest."""
_MOST_PAGES = 10_000
_UNSETTLED_NS = 200_000_000
"""A file that changed less than this before it was read may change again without another time of change."""
_SERVER_FRESH_S = 5
"""For how long what was read of a server is shown."""
Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class AskedPage:
    """What the address of a page asks for."""

    team: str | None = None
    """Only this team's runs."""
    outcome: RunOutcome | None = None
    """Only runs that ended so."""
    since: str = ""
    """Only runs that began at or after this, an age or a date."""
    tags: tuple[str, ...] = ()
    """Only runs with all of these, as ``key=value``."""
    page: int = 1
    """Which page of a list."""

    @classmethod
    def of(cls, query: QueryParams) -> AskedPage:
        """What stands in a query; what is empty asks for nothing.

        Raises:
            ConfigError: A value is none.
        """
        outcome, page = query.get("outcome", ""), query.get("page", "") or "1"
        if outcome and outcome not in set(RunOutcome):
            raise ConfigError(f"outcome is {outcome[:40]!r}, expected one of: {', '.join(RunOutcome)}")
        if not (page.isascii() and page.isdigit() and 1 <= int(page[:9]) <= _MOST_PAGES):
            raise ConfigError(f"page is {page[:40]!r}, expected a number from 1 to {_MOST_PAGES:,}")
        return cls(
            team="" if query.get("unnamed") else query.get("team") or None,
            outcome=RunOutcome(outcome) if outcome else None,
            since=query.get("since", "").strip(),
            tags=tuple(tag.strip() for tag in query.getlist("tag") if tag.strip()),
            page=int(page[:9]),
        )

    @property
    def chosen(self) -> RunFilter:
        """The same for the store.

        Raises:
            ConfigError: The time or a tag cannot be read.
        """
        since = parse_moment(self.since, name="since") if self.since else None
        return RunFilter(team=self.team, outcome=self.outcome, since=since, tags=parse_tags(self.tags, name="tag"))

    def address(self, path: str) -> str:
        """The address that asks for this."""
        named = [("unnamed", "yes")] if self.team == "" else [("team", self.team)] if self.team else []
        named += [("outcome", self.outcome.value)] if self.outcome is not None else []
        named += [("since", self.since)] if self.since else []
        named += [("tag", tag) for tag in self.tags]
        named += [("page", str(self.page))] if self.page > 1 else []
        query = urlencode(named, errors="replace")
        return f"{path}?{query}" if query else path


@dataclass(frozen=True, kw_only=True)
class LiveLinks:
    """Addresses on this server, which keep what the present page asks for."""

    asked: AskedPage = AskedPage()
    stylesheet: str = STYLE

    def page(self, name: str) -> str:
        """A page about the same runs."""
        same = replace(self.asked, outcome=None, page=1)
        return same.address("/" if name == "overview" else f"/{name}")

    def runs(self, team: str | None = None, outcome: RunOutcome | None = None, number: int = 1) -> str:
        """A page of a list of runs."""
        return replace(self.asked, team=team, outcome=outcome, page=number).address("/runs")

    def run(self, run_id: str, step: int | None = None) -> str:
        """The page of a run, at one of its steps."""
        return f"/runs/{quote(run_id, safe='', errors='replace')}" + ("" if step is None else f"?step={step}")


class StoreMemory:
    """What was read of a store, as long as its file does not change; of a server, for some seconds."""

    def __init__(self, place: StorePlace, most: int = 64) -> None:
        self._place, self._most = place, most
        self._lock = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._values: OrderedDict[Hashable, tuple[object, object]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """What ``make`` gives, or gave when the file was as it is now; several threads wait for one of them."""
        with self._lock:
            own = self._locks.setdefault(key, threading.Lock())
            if len(self._locks) > 10 * self._most:
                self._locks = {key: own}
        with own:
            stamp = self._stamp()
            with self._lock:
                known = self._values.get(key)
            if known is not None and known[0] == stamp and stamp is not None:
                return cast("Value", known[1])
            value = make()
            with self._lock:
                self._values[key] = (stamp, value)
                self._values.move_to_end(key)
                if len(self._values) > self._most:
                    self._values.popitem(last=False)
            return value

    def _stamp(self) -> object:
        """What changes with the file; None while it has just changed."""
        if not isinstance(self._place, Path):
            return int(time.monotonic() // _SERVER_FRESH_S)
        found = []
        for place in (self._place, self._place.with_name(self._place.name + "-wal")):
            try:
                seen = place.stat()
            except OSError:
                found.append((0, 0, 0))
            else:
                found.append((seen.st_mtime_ns, seen.st_size, seen.st_ino))
        return None if time.time_ns() - max(each[0] for each in found) < _UNSETTLED_NS else tuple(found)


class LivePages:
    """The pages of a store, made when they are asked for."""

    def __init__(self, store: RunStore, desk: LabelDesk, access: Access) -> None:
        self.store, self.desk, self.access = store, desk, access
        self.memory = StoreMemory(store.place)

    # --- pages on many runs ----------------------------------------------------------------------------------------
    def overview(self, request: Request) -> Response:
        """How the runs went."""
        return self._page("overview", request, self._overview)

    def runs(self, request: Request) -> Response:
        """A list of runs."""
        return self._page("runs", request, self._runs)

    def issues(self, request: Request) -> Response:
        """What is found again and again."""
        return self._page("issues", request, lambda asked, links: self.recurring(asked))

    def prompts(self, request: Request) -> Response:
        """Versions of prompts."""
        return self._page("prompts", request, self._prompts)

    def _page(self, name: str, request: Request, view: Callable[[AskedPage, LiveLinks], object]) -> Response:
        asked = AskedPage.of(request.query_params)
        chosen = asked.chosen
        links = LiveLinks(asked=asked)

        def made() -> str:
            return render_page(
                name,
                view(asked, links),
                links,
                chosen,
                nav=self.nav(name, links),
                scripts=SCRIPTS[:1],
                filters=_filters(name, asked),
            )

        return HTMLResponse(self.memory.get((name, asked, _minute(asked)), made))

    def _overview(self, asked: AskedPage, links: LiveLinks) -> object:
        return overview_of(self.store, asked.chosen, links, recurring=self.recurring(asked))

    def _runs(self, asked: AskedPage, links: LiveLinks) -> object:
        everything = replace(asked, team=None, outcome=None, page=1)
        table = self.memory.get(
            ("table", everything, _minute(asked)), lambda: RunTable.of(self.store, everything.chosen)
        )
        found = runs_of(self.store, asked.chosen, links, number=asked.page, table=table)
        if asked.page > found["pages"]:
            raise ConfigError(f"page is {asked.page}, expected a number from 1 to {found['pages']}")
        return found

    def _prompts(self, asked: AskedPage, links: LiveLinks) -> object:
        return prompts_of(PromptStore(self.store.place, read_only=True), asked.chosen)

    def recurring(self, asked: AskedPage) -> RecurringFindings:
        """What recurs in the runs that are asked for."""
        same = replace(asked, outcome=None, page=1)

        def made() -> RecurringFindings:
            if not self.store.exists():
                return RecurringFindings()
            return recurring_findings(self.store, **same.chosen.asked, limit=_LOOKED_AT)

        return self.memory.get(("recurring", same, _minute(asked)), made)

    # --- a run -----------------------------------------------------------------------------------------------------
    def run(self, request: Request) -> Response:
        """The page of a call, under the id of its first attempt; those of others lead there."""
        wanted, step = str(request.path_params["run_id"]), request.query_params.get("step", "")
        run_id = self.store.find_id(wanted)
        ids = self.store.calls_of(run_id)
        position = ids.index(run_id) + 1
        if wanted != ids[0] or step:
            place = f"#a{position}" + (f"-s{int(step[:9])}" if step.isascii() and step.isdigit() else "")
            return RedirectResponse(LiveLinks().run(ids[0]) + ("" if place == "#a1" else place), 303)
        attempts = self.store.attempts(self.store.get(run_id, with_tape=False).session_id)
        labels = {f"a{number}": self.form(f"a{number}", each) for number, each in enumerate(attempts, start=1)}
        has_tape = any(each.tape is not None for each in attempts)
        shown = ReportRun.of_stored(attempts, self.store.forks_of(*ids), has_tape=has_tape)
        if shown.parent is not None:
            shown = replace(shown, parent=_linked(shown.parent, shown.parent.step))
        shown = replace(shown, forks=[_linked(each, None) for each in shown.forks])
        return HTMLResponse(self.render(shown, labels={key: form for key, form in labels.items() if form is not None}))

    def form(self, key: str, run: StoredRun, *, back: str = "run") -> dict[str, Any] | None:
        """The form about one attempt, with what proves that it is ours, and the page that it leads back to."""
        form = self.desk.form(run.judged_trajectory, run.attribution)
        return form and dict(form, key=key, token=self.access.form_token(run.run_id), back=back)

    def render(self, run: ReportRun, current: str = "", **more: Any) -> str:
        """A page about one run."""
        return render_html(run, nav=self.nav(current), stylesheet=STYLE, scripts=SCRIPTS, **more)

    # --- what all pages have ---------------------------------------------------------------------------------------
    def nav(self, current: str, links: LiveLinks | None = None) -> list[tuple[str, str, bool]]:
        """Words and address of the pages that every page leads to."""
        return [*site_nav(links or LiveLinks(), current), ("Label", "/label", current == "label")]

    def notice(self, status: int, heading: str, said: str, line: str = "") -> Response:
        """A page that says why there is no other one."""
        told = {"heading": heading, "said": said, "line": line, "nav": self.nav(""), "stylesheet": STYLE, "scripts": ()}
        return HTMLResponse(draw("notice.html.j2", **told), status_code=status)

    def refusal(self, request: Request, error: Exception) -> Response:
        """The page for an error."""
        if isinstance(error, ConfigError):
            return self.notice(400, "That cannot be asked for", str(error))
        is_missing = isinstance(error, StoreError) and str(error).startswith("no run ")
        if isinstance(error, StoreError) and not is_missing and "beginning of several" not in str(error):
            return self.notice(503, "The run store cannot be read", str(error))
        said = str(error) if isinstance(error, StoreError) else "There is no such page."
        return self.notice(404, "Not found", said, "tracer-hooks runs list" if isinstance(error, StoreError) else "")


_TYPES = {"style.css": "text/css", "page.js": "text/javascript", "label.js": "text/javascript"}


def asset_response(request: Request) -> Response:
    """The style sheet or a script."""
    name = request.url.path.removeprefix("/")
    return Response(asset(name), media_type=_TYPES[name])


def _linked(fork: ReportFork, step: int | None) -> ReportFork:
    return replace(fork, page=LiveLinks().run(fork.run_id, step))


def _filters(name: str, asked: AskedPage) -> Mapping[str, str]:
    return {
        "action": "/" if name == "overview" else f"/{name}",
        "team": asked.team or "",
        "since": asked.since,
        "tag": asked.tags[0] if asked.tags else "",
        "outcome": asked.outcome.value if asked.outcome is not None and name == "runs" else "",
    }


def _minute(asked: AskedPage) -> int:
    """What is remembered of runs since an age goes by the minute."""
    return int(time.time() / 60) if asked.since else 0
