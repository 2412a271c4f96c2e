"""A folder of pages on many runs, which needs no server: overview, lists, issues, prompts, and pages of runs."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from tracer_hooks._files import locked, make_folder, opener
from tracer_hooks._guard import is_strict, logger
from tracer_hooks._version import __version__
from tracer_hooks.diagnosis import RecurringFindings, recurring_findings
from tracer_hooks.errors import ConfigError
from tracer_hooks.report._counts import RunFilter, RunTable, TokenPrices
from tracer_hooks.report._overview import ROWS, overview_of, prompts_of, render_page, runs_of, site_nav
from tracer_hooks.report._page import asset, render_html
from tracer_hooks.report._run import ReportRun
from tracer_hooks.schema import RunOutcome
from tracer_hooks.store import PromptStore, RunStore, RunSummary

_MANIFEST = "site.json"
_OURS = re.compile(r"(index|issues|prompts|runs|run)(-[a-z0-9]+)*\.html|style\.css")
"""Names that we give; whatever a manifest says, no other file is removed."""
_TEAMS = 100
"""Teams that have lists of their own."""
_BESIDE = ".site.tmp"
_DRAWN_BY = (
    "base.html.j2", "parts.html.j2", "run.html.j2", "finding.html.j2", "course.html.j2", "step.html.j2", "tree.html.j2",
    "style.css", "page.js",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class WrittenSite:
    """What was written."""

    index: Path
    """The first page."""
    pages: int
    """Pages of runs that the folder has; one for all attempts of a call."""
    written: int
    """How many of them are new or changed."""
    removed: int
    """Files of an earlier time that are gone."""
    notes: tuple[str, ...]
    """Sentences on what was left out."""


@dataclass(kw_only=True)
class _FileLinks:
    """Addresses of files in one folder. None of them is made of a text that a run holds."""

    stylesheet: str = "style.css"
    only_team: str | None = None
    """The team that all pages are about, if it is one."""
    lists: Set[str] | None = None
    """The lists that there are; None while that is not known."""
    run_pages: dict[str, tuple[str, str]] = field(default_factory=dict)
    """File and anchor of a run, by its id."""

    def page(self, name: str) -> str:
        return "index.html" if name == "overview" else f"{name}.html"

    def runs(self, team: str | None = None, outcome: RunOutcome | None = None, number: int = 1) -> str:
        parts = ["runs"]
        parts += [] if team in (None, self.only_team) else [_hashed(str(team), 12)]
        parts += [] if outcome is None else [outcome.value]
        parts += [] if number == 1 else [str(number)]
        name = f"{'-'.join(parts)}.html"
        return name if self.lists is None or name in self.lists else ""

    def run(self, run_id: str, step: int | None = None) -> str:
        file, key = self.run_pages.get(run_id, ("", ""))
        if not file or (key == "a1" and step is None):
            return file
        return f"{file}#{key}" + ("" if step is None else f"-s{step}")


def write_site(
    folder: Path,
    store: RunStore,
    chosen: RunFilter,
    *,
    limit: int = 1_000,
    prices: TokenPrices | None = None,
    on_page: Callable[[str, int, int], object] = lambda what, done, total: None,
) -> WrittenSite:
    """Write the pages into ``folder``, which opens from the disk as it is.

    What an earlier call has written there is replaced, or removed where it no longer belongs; a page of a run that has
    not changed stays. Stopped by an exception, such as Ctrl-C, the folder has the pages that are ready.

    Args:
        folder: A new or empty folder, or one that was written before.
        store: The runs; the file need not be there.
        chosen: Which runs the pages are about.
        limit: How many runs are listed and looked at, and how many pages of runs there are, the newest first.
        prices: Prices of the tokens, for costs.
        on_page: Called with what is done, how many are done, and how many there are.

    Raises:
        ConfigError: The folder holds something else.
        StoreError: The store cannot be read.
        OSError: A file cannot be written.
    """
    is_there = store.exists()
    recurring = recurring_findings(store, **chosen.asked, limit=limit) if is_there else RecurringFindings()
    with locked(folder.absolute()):
        site = _Site(folder=folder, store=store, chosen=chosen, limit=limit, prices=prices, recurring=recurring)
        return site.write(on_page)


@dataclass(kw_only=True)
class _Site:
    folder: Path
    store: RunStore
    chosen: RunFilter
    limit: int
    prices: TokenPrices | None
    recurring: RecurringFindings

    def __post_init__(self) -> None:
        self._old = _manifest(self.folder)
        self._table = replace(RunTable.of(self.store, self.chosen), prices=self.prices)
        self._calls, self._uncovered = self._wanted_calls() if self.store.exists() else ({}, 0)
        self._lists = dict(self._wanted_lists())
        self._done: dict[str, str] = {}
        """The files that are as they should be, with the digests of what pages of runs show."""

    def write(self, on_page: Callable[[str, int, int], object]) -> WrittenSite:
        """Write the pages of runs, and around those that are ready, whatever happens meanwhile, the others."""
        names = {"style.css", "index.html", "issues.html", "prompts.html", *self._lists, *self._calls}
        for name in sorted(names - self._old.keys()):
            if (self.folder / name).exists():
                raise _not_ours(self.folder, name)
        make_folder(self.folder)
        self._put(_MANIFEST, _manifest_text({**dict.fromkeys(names, ""), **self._old}))  # before there is any of them
        written = 0
        try:
            for done, (name, session_id) in enumerate(self._calls.items(), start=1):
                written += self._write_run(name, session_id)
                on_page("writing pages of runs", done, len(self._calls))
        finally:
            for name in self._calls.keys() & self._old.keys() - self._done.keys():
                if (self.folder / name).is_file():  # an earlier time's, when this one is broken off
                    self._done[name] = self._old[name]
            notes = tuple(self._notes())
            self._write_around(notes)
            gone = self._old.keys() - self._done.keys()
            for name in gone:
                (self.folder / name).unlink(missing_ok=True)
            self._put(_MANIFEST, _manifest_text(self._done))
        pages = len(self._calls.keys() & self._done.keys())
        index = self.folder / "index.html"
        return WrittenSite(index=index, pages=pages, written=written, removed=len(gone), notes=notes)

    def _wanted_calls(self) -> tuple[dict[str, str], int]:
        """Pages of runs with the calls that they are about, the newest first; how many failed runs have none."""
        asked, most = self.chosen.asked, self.limit
        newest = self.store.list(limit=most, **asked, with_replays=False)
        known = self.store.attributions(*(run.run_id for run in newest if run.confidence is not None))
        shown = {issue.example.run_id for issue in self.recurring.issues}
        shown |= {run_id for run_id, found in known.items() if found.findings}
        failed = self.store.list(limit=most, outcome=RunOutcome.FAILED, **asked, with_replays=False)
        wanted = {run.run_id: run for run in (*failed, *(run for run in newest if run.run_id in shown))}
        chosen = sorted(wanted.values(), key=_newest_first)[:most]
        covered = sum(run.outcome is RunOutcome.FAILED for run in chosen)
        calls = {f"run-{_hashed(run.session_id, 16)}.html": run.session_id for run in chosen}
        return calls, self._table.failed - covered

    def _wanted_lists(self) -> Iterator[tuple[str, tuple[RunFilter, int]]]:
        """Names of the lists, with what each lists and which page of it it is."""
        links = _FileLinks(only_team=self.chosen.team)
        teams = self._table.teams
        of_one = dict(list(teams.items())[:_TEAMS]) if len(teams) > 1 else {}
        for team, own in ((self.chosen.team, self._table), *of_one.items()):
            for outcome in (None, *RunOutcome):
                runs = min(own.runs(outcome), self._most(team))
                for number in range(1, max(-(-runs // ROWS), outcome is None) + 1):
                    asked = replace(self.chosen, team=team, outcome=outcome)
                    yield links.runs(team, outcome, number), (asked, number)

    def _most(self, team: str | None) -> int:
        """Runs on the lists of a team; among several, each has one page."""
        return self.limit if team == self.chosen.team else min(self.limit, ROWS)

    def _write_run(self, name: str, session_id: str) -> bool:
        """Write a page of a run, unless it is there as it should be; a run that cannot be shown has none."""
        try:
            digest = _look() + self.store.digest(session_id)
            is_there = self._old.get(name) == digest and (self.folder / name).is_file()
            if not is_there:
                attempts = self.store.attempts(session_id)
                forks = self.store.forks_of(*(each.run_id for each in attempts))
                run = ReportRun.of_stored(attempts, forks, has_tape=any(each.tape is not None for each in attempts))
                self._put(name, render_html(run, nav=site_nav(_FileLinks())))
        except OSError:
            raise
        except Exception as error:
            if is_strict():
                raise
            logger.warning("tracer-hooks leaves out the page of a call: %s: %s", type(error).__name__, error)
            return False
        self._done[name] = digest
        return not is_there

    def _write_around(self, notes: Sequence[str]) -> None:
        """Write all that leads to the pages of runs, the first page first."""
        links = _FileLinks(only_team=self.chosen.team, lists=self._lists.keys())
        for name in self._calls.keys() & self._done.keys():
            attempts = self.store.attempt_ids(self._calls[name])
            links.run_pages |= {run_id: (name, f"a{at}") for at, run_id in enumerate(attempts, start=1)}
        overview = overview_of(self.store, self.chosen, links, table=self._table, recurring=self.recurring)
        prompts = prompts_of(PromptStore(self.store.place, read_only=True), self.chosen)
        self._finish("style.css", asset("style.css"))
        self._finish("index.html", render_page("overview", overview, links, self.chosen, notes=notes))
        for name, (asked, number) in self._lists.items():
            most = self._most(asked.team)
            found = runs_of(self.store, asked, links, number=number, most=most, table=self._table)
            self._finish(name, render_page("runs", found, links, self.chosen, notes=()))
        self._finish("issues.html", render_page("issues", self.recurring, links, self.chosen))
        self._finish("prompts.html", render_page("prompts", prompts, links, self.chosen))

    def _notes(self) -> Iterator[str]:
        missing = len(self._calls.keys() - self._done.keys())
        if missing:
            yield f"Not all pages were made: {missing} of {len(self._calls)} pages of runs are missing."
        if self._uncovered > 0:
            yield (
                f"The newest {self.limit:,} failed runs and runs with findings have a page; {self._uncovered:,} older "
                "failed runs have none. More of them: --limit"
            )
        if len(self._table.teams) > _TEAMS:
            yield f"The {_TEAMS} teams with the most runs have lists of their own."

    def _finish(self, name: str, text: str) -> None:
        self._put(name, text)
        self._done[name] = ""

    def _put(self, name: str, text: str) -> None:
        """Write a file whole or not at all; a link that lies in its place is replaced and not followed."""
        beside = self.folder / _BESIDE
        beside.unlink(missing_ok=True)
        with open(beside, "x", encoding="utf-8", opener=opener) as file:
            file.write(text)
        beside.replace(self.folder / name)


def _newest_first(run: RunSummary) -> tuple[float, str]:
    return -run.started_at.timestamp(), run.run_id


def _hashed(text: str, length: int) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:length]


@functools.cache
def _look() -> str:
    """A digest of what pages of runs are drawn by."""
    return _hashed(__version__ + "".join(map(asset, _DRAWN_BY)), 8)


def _manifest_text(files: Mapping[str, str]) -> str:
    return json.dumps({"tracer_hooks": __version__, "files": dict(sorted(files.items()))}, indent=0) + "\n"


def _manifest(folder: Path) -> dict[str, str]:
    """The files of ours in the folder, with their digests."""
    try:
        if not folder.exists() or not {each.name for each in folder.iterdir()} - {_BESIDE}:
            return {}
        files = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))["files"]
        return {name: str(digest) for name, digest in files.items() if _OURS.fullmatch(name)}
    except FileNotFoundError as error:
        raise _not_ours(folder, "") from error
    except (ValueError, LookupError, TypeError, AttributeError, NotADirectoryError) as error:
        raise _not_ours(folder, _MANIFEST if folder.is_dir() else "") from error


def _not_ours(folder: Path, name: str) -> ConfigError:
    what = f"a file {name!r} that this command did not write" if name else "files that this command did not write"
    what = f"{str(folder)!r} holds {what}" if folder.is_dir() else f"{str(folder)!r} is no folder"
    free = str(folder.with_name(f"{folder.name or 'site'}-runs"))
    return ConfigError(f"{what}; expected a new or empty folder. Run: tracer-hooks report --out {free!r}")
