"""A folder of pages on many runs: what it links and says, written again, beside the user's files, of hostile runs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.report import RunFilter, RunTable, TokenPrices, WrittenSite, _site, write_site
from tracer_hooks.schema import RunKind, RunOutcome
from tracer_hooks.store import PromptStore, RunStore, StoredRun

from ._pages import Element, diagnosis, failed_run, parse
from .test_hostile_runs import ATTACKS, poisoned

BEGAN = datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs.sqlite")


def put(store: RunStore, run_id: str, *, day: int = 0, diagnosed: bool = True, **fields: Any) -> None:
    trajectory = failed_run(run_id=run_id, **{key: fields[key] for key in ("team", "outcome", "task") if key in fields})
    found = diagnosis(run_id=run_id) if diagnosed and trajectory.outcome is RunOutcome.FAILED else None
    more = {"session_id": run_id, "started_at": BEGAN + timedelta(days=day), "attribution": found, **fields}
    store.save(
        StoredRun.of(trajectory, **{key: value for key, value in more.items() if key not in ("outcome", "task")})
    )


def written(store: RunStore, chosen: RunFilter | None = None, **options: Any) -> WrittenSite:
    return write_site(store.path.parent / "site", store, chosen or RunFilter(), **options)


def pages(site: WrittenSite) -> dict[str, Element]:
    return {path.name: parse(path.read_text(encoding="utf-8")) for path in site.index.parent.glob("*.html")}


def text(element: Element) -> str:
    return " ".join(element.text.split())


def test_pages_lead_to_each_other_and_to_nothing_else(store: RunStore) -> None:
    put(store, "good", outcome=RunOutcome.SUCCEEDED, team="cooks")
    put(store, "first", attempt=1)
    put(store, "second", session_id="first", attempt=2, kind=RunKind.RETRY, day=1)
    put(store, "replayed", kind=RunKind.REPLAY)
    site = written(store)
    found = pages(site)
    assert (site.pages, site.written, site.notes) == (1, 1, ())
    runs = [name for name in found if name.startswith("run-")]
    assert len(runs) == 1, "both attempts are on one page"
    for name, page in found.items():
        for link in page.all("a"):
            target, _, anchor = link.attributes["href"].partition("#")
            assert target in {*found, ""}, f"{name} leads to {target!r}"
            assert not anchor or found[target or name].by_id(anchor).tag
    overview = found["index.html"]
    assert text(overview.one("h1")) == "3 runs, 2 failed"
    assert [[text(cell) for cell in row.all("td")[:3]] for row in overview.one("tbody").all("tr")] == [
        ["wardrobe", "2", "2 (100%)"], ["cooks", "1", "0 (0%)"],
    ]  # fmt: skip
    rows = [text(row) for row in found["runs.html"].one("ul", "rows").all("li")]
    assert ["second" in rows[0], "attempt 2" in rows[0], "The tool said rain." in rows[0]] == [True] * 3
    assert [link.attributes["href"] for link in found["runs-failed.html"].one("ul", "rows").all("a")] == [
        f"{runs[0]}#a2", runs[0],
    ]  # fmt: skip
    assert "In 2 of 2 failures" in text(found["issues.html"].one("main"))
    assert "tracer-hooks improve" in text(found["prompts.html"].one("main"))


def test_what_is_asked_for_is_all_that_is_shown_and_what_is_left_out_is_said(store: RunStore) -> None:
    for number in range(3):
        put(store, f"run-{number}", day=-number, tags={"release": f"1.{number}"})
    put(store, "old", day=-200, team="cooks")
    assert text(pages(written(store))["index.html"].one("h1")) == "4 runs, 4 failed"
    some = written(store, RunFilter(since=BEGAN - timedelta(days=9)), limit=2)
    assert some.pages == 2
    assert some.notes[0].startswith("The newest 2 failed runs and runs with findings have a page; 1 older failed run")
    assert some.notes[0] in text(pages(some)["index.html"].one("header"))
    assert "The newest 2 are listed." in text(pages(some)["runs.html"].one("header"))
    tagged = pages(written(store, RunFilter(team="wardrobe", tags={"release": "1.1"})))
    assert [text(tagged["runs.html"].one("h1")), text(tagged["index.html"].one("h1"))] == ["1 run", "1 run, 1 failed"]
    assert "team wardrobe, release=1.1" in text(tagged["issues.html"].one("header"))
    assert {name for name in tagged if name.startswith("runs")} == {"runs.html", "runs-failed.html"}
    PromptStore(store.path).propose("wardrobe-1", {"a": "new"}, {"a": "old"}, team_name="wardrobe")
    PromptStore(store.path).propose("cooks-1", {"a": "new"}, {"a": "old"}, team_name="cooks")
    put(store, "open", diagnosed=False, tags={"release": "1.1"})
    tagged = pages(made := written(store, RunFilter(team="wardrobe", tags={"release": "1.1"})))
    assert made.pages == len([name for name in tagged if name.startswith("run-")]) == 2
    issues = text(tagged["issues.html"].one("body"))
    assert "1 of the newest runs were never diagnosed, 1 of which did not pass." in issues
    assert "tracer-hooks issues --diagnose --team wardrobe --tag release=1.1" in issues
    assert "In 1 of 1 failure" in issues
    prompts = text(tagged["prompts.html"].one("body"))
    assert "is of all runs, whatever their tags and times" in prompts
    assert "cooks" not in prompts
    assert "whatever their tags" not in text(pages(written(store))["prompts.html"].one("body"))
    nobody = pages(written(store, RunFilter(team="nobody")))
    assert "No run is like that (team nobody)" in text(nobody["runs.html"].one("main"))


def test_without_a_store_each_page_says_what_to_do(store: RunStore) -> None:
    found = pages(written(store))
    assert not store.path.exists()
    assert set(found) == {"index.html", "runs.html", "issues.html", "prompts.html"}
    assert all("tracer-hooks demo" in text(found[name].one("main")) for name in found.keys() - {"prompts.html"})


def test_charts_are_of_the_days_that_have_runs_whatever_a_clock_said(store: RunStore) -> None:
    put(store, "now")
    put(store, "wrong clock", started_at=datetime(1970, 1, 1, tzinfo=UTC))
    put(store, "early", started_at=datetime.now(UTC) + timedelta(days=4000))
    table = RunTable.of(store, RunFilter())
    assert (table.runs(), table.uncharted, (table.last - table.first).days) == (3, 2, 29)
    assert [bar for bar in table.run_bars() if bar[1]] == [(str(BEGAN.date()), 1, 1)]
    usage = failed_run().usage
    assert table.spent == "3.7 k"
    assert replace(table, prices=TokenPrices(1000, 0)).spent == f"{3 * usage.input_tokens / 1000:,.2f}"


def test_written_again_only_what_changed_is_made_and_what_does_not_belong_goes(store: RunStore) -> None:
    put(store, "a")
    put(store, "b", day=1)
    folder = written(store).index.parent
    (folder / "mine.html").write_text("mine")
    store.set_attribution("b", None)
    again = written(store)
    assert (again.pages, again.written, again.removed) == (2, 1, 0)
    store.delete("a")
    last = written(store)
    assert (last.pages, last.written, last.removed) == (1, 0, 1)
    assert len(list(folder.glob("run-*"))) == 1
    assert (folder / "mine.html").read_text() == "mine"


@pytest.mark.parametrize("manifest", [None, "[]", "not json", '{"files": ["../runs.sqlite"]}'])
def test_a_folder_that_is_not_ours_is_left_alone(store: RunStore, manifest: str | None) -> None:
    folder = store.path.parent / "site"
    folder.mkdir()
    (folder / "index.html").write_text("mine")
    if manifest is not None:
        (folder / "site.json").write_text(manifest)
    with pytest.raises(ConfigError, match=r"expected a new or empty folder. Run: tracer-hooks report --out"):
        written(store)
    assert (folder / "index.html").read_text() == "mine"


def test_nothing_beside_our_names_is_removed_or_written_through(store: RunStore) -> None:
    put(store, "a")
    folder = written(store).index.parent
    listed = json.loads((folder / "site.json").read_text())
    listed["files"] |= {"../runs.sqlite": "", "notes.txt": "", "runs-gone.html": ""}
    (folder / "site.json").write_text(json.dumps(listed))
    (folder / "notes.txt").write_text("mine")
    (folder / "index.html").unlink()
    (folder / "index.html").symlink_to(folder / "notes.txt")
    written(store)
    assert store.path.exists()
    assert (folder / "notes.txt").read_text() == "mine"
    (folder / "runs-succeeded.html").write_text("mine, too")
    put(store, "good", outcome=RunOutcome.SUCCEEDED)
    with pytest.raises(ConfigError, match=r"'runs-succeeded\.html' that this command did not write"):
        written(store)


def test_broken_off_the_folder_opens_with_what_is_ready(store: RunStore) -> None:
    for number in range(3):
        put(store, f"run-{number}", day=-number)

    def stop(what: str, done: int, total: int) -> None:
        if what == "writing pages of runs":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        written(store, on_page=stop)
    folder = store.path.parent / "site"
    page = parse((folder / "index.html").read_text(encoding="utf-8"))
    assert "2 of 3 pages of runs are missing" in text(page.one("header"))
    assert len(page.one("ul", "rows").all("a")) == len(list(folder.glob("run-*"))) == 1
    assert written(store).written == 2


def test_a_run_that_cannot_be_shown_has_no_page(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("TRACER_HOOKS_STRICT", raising=False)
    put(store, "a")

    def breaks(*_: object, **__: object) -> str:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(_site, "render_html", breaks)
    assert written(store).pages == 0
    assert "leaves out the page of a call: RuntimeError: a bug of ours" in caplog.text


def poison(kept: RunStore, word: str) -> None:
    """Two runs and a version of prompts with ``word`` in every field."""
    attempt = poisoned(word).attempts[0]
    found = diagnosis(run_id=word, agent=word, findings=(diagnosis().findings[0].model_copy(update={"text": word}),))
    for number in range(2):
        run = attempt.trajectory.model_copy(update={"run_id": f"{word}{number}", "outcome": RunOutcome.FAILED})
        kept.save(
            StoredRun.of(
                run.model_copy(update={"team": f"../../{word}{number}"}), session_id=f"../{word}/{number}",
                attribution=found, tags={word: word}, started_at=BEGAN,
            )
        )  # fmt: skip
    PromptStore(kept.path).propose(word, {word: word}, {word: f"own {word}"}, team_name=word)


@pytest.mark.parametrize("bad", ATTACKS)
def test_markup_and_paths_in_every_field_stay_text(store: RunStore, bad: str) -> None:
    def tags(word: str, folder: str) -> dict[str, list[str]]:
        kept = RunStore(store.path.parent / folder / "runs.sqlite")
        poison(kept, word)
        made = pages(written(kept))
        assert {path.name for path in kept.path.parent.iterdir()} <= {
            "site",
            "runs.sqlite",
            "runs.sqlite-wal",
            "runs.sqlite-shm",
        }
        for page in made.values():
            for element in page.all():
                assert not [name for name in element.attributes if name.startswith("on") or name == "style"]
                assert element.attributes.get("href", "#").split("#")[0] in {*made, "style.css", ""}
        # A command on a page of a run has a span for each word, so for the words of a name.
        return {
            name[:4]: [each.tag for each in page.all() if each.tag != "span"] for name, page in sorted(made.items())
        }

    assert tags(bad, "bad") == tags("x", "plain")
