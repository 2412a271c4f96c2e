"""The pages live: where they lead, what is asked for, and that the newest run is on them."""

from __future__ import annotations

import pytest

from tracer_hooks.schema import RunKind, RunOutcome
from tracer_hooks.serving._pages import StoreMemory
from tracer_hooks.store import ForkedFrom

from ..report.test_hostile_runs import ATTACKS
from ._served import Served, links, text

PAGES = ("/", "/runs", "/issues", "/prompts", "/label")


def test_without_a_store_every_page_says_what_to_do_and_runs_appear_as_they_come(served: Served) -> None:
    for address in PAGES:
        assert "tracer-hooks" in text(served.page(address).one("main")), address
    assert not served.path.exists(), "looking makes no store"
    served.put("first")
    assert text(served.page("/").one("h1")) == "1 run, 1 failed"
    served.put("second", outcome=RunOutcome.SUCCEEDED)
    assert text(served.page("/").one("h1")) == "2 runs, 1 failed"
    served.store.delete("first")
    assert text(served.page("/runs").one("h1")) == "1 run"


def test_every_link_of_every_page_leads_somewhere(served: Served) -> None:
    served.put("a/b?c#d%", hours=1, tags={"release": "1.0"})
    served.put("first", session_id="call", team="cooks")
    served.put("second", session_id="call", attempt=2, kind=RunKind.RETRY, team="cooks")
    served.put("unnamed", team="", outcome=RunOutcome.SUCCEEDED)
    seen, waiting = set(), [*PAGES, "/?team=cooks&since=7d&tag=release%3D1.0", "/runs?unnamed=yes"]
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        answer = served.client.get(address)
        assert answer.status_code in (200, 303), address
        if answer.status_code == 303:
            waiting.append(answer.headers["location"].partition("#")[0])
            continue
        page = served.page(address)
        waiting += [link.partition("#")[0] for link in links(page, "/")]
        ids = {each.attributes.get("id") for each in page.all()}
        assert {link[1:] for link in links(page, "#")} <= ids, address
    assert len(seen) > 20


def test_what_is_asked_for_is_all_that_is_shown_and_is_kept_from_page_to_page(served: Served) -> None:
    served.put("old", hours=24 * 40, team="cooks")
    served.put("new", team="cooks", tags={"release": "1.4"})
    served.put("other")
    assert text(served.page("/?team=cooks").one("h1")) == "2 runs, 2 failed"
    assert text(served.page("/?team=cooks&since=7d").one("h1")) == "1 run, 1 failed"
    assert text(served.page("/runs?tag=release%3D1.4&outcome=failed").one("h1")) == "1 run"
    page = served.page("/?team=cooks&since=7d")
    assert "/issues?team=cooks&since=7d" in links(page)
    assert "/runs?team=cooks&outcome=failed&since=7d" in links(page)
    all_teams = [each for each in served.page("/runs?team=cooks").all("a", "chip") if text(each) == "All teams"]
    assert [each.attributes["href"] for each in all_teams] == ["/runs"]
    assert "run new" in text(served.page("/issues?tag=release%3D1.4").one("main"))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/?since=yesterday", "since is 'yesterday', expected an age"),
        ("/runs?tag=release", "tag is 'release', expected KEY=VALUE"),
        ("/runs?outcome=great", "expected one of: succeeded, failed, unknown"),
        ("/runs?page=0", "expected a number from 1 to 10,000"),
        ("/runs?page=2", "expected a number from 1 to 1"),
        ("/label?at=x", "at is 'x', expected a number"),
    ],
)
def test_what_cannot_be_asked_for_is_said(served: Served, address: str, said: str) -> None:
    served.put("first")
    assert said in text(served.page(address, 400).one("main"))


def test_the_page_of_a_call_is_under_its_first_attempt_and_others_lead_there(served: Served) -> None:
    served.put("f" * 32, session_id="call")
    served.put("e" * 32, session_id="call", attempt=2, kind=RunKind.RETRY)
    served.put("a" * 32, session_id="fork", parent=ForkedFrom(run_id="f" * 32, step=2, change="'writer' says so"))
    page = served.page(f"/runs/{'f' * 32}")
    assert {each.attributes["id"] for each in page.all("details", "attempt")} == {"a1", "a2"}
    for given, place in {"fff": "", "eee": "#a2", f"{'e' * 32}?step=3": "#a2-s3", "fff?step=1": "#a1-s1"}.items():
        answer = served.client.get(f"/runs/{given}")
        assert (answer.status_code, answer.headers["location"]) == (303, f"/runs/{'f' * 32}{place}")
    assert f"/runs/{'f' * 32}?step=2" in links(served.page(f"/runs/{'a' * 32}"))
    assert f"/runs/{'a' * 32}" in links(page)
    assert "tracer-hooks label" not in text(page.one("main")), "the form stands beside it"
    assert "no run 'zzz'" in text(served.page("/runs/zzz", 404).one("main"))
    assert "no such page" in text(served.page("/nowhere", 404).one("main"))


def test_a_store_that_is_being_made_is_none_yet(served: Served) -> None:
    served.path.touch()
    assert "there is no run store" in text(served.page("/", 503).one("main"))
    served.put("first")
    assert text(served.page("/").one("h1")) == "1 run, 1 failed"


def test_a_damaged_store_is_said_and_not_hidden(served: Served) -> None:
    served.path.write_bytes(b"no database at all, and longer than a header of one" * 100)
    assert "not a database" in text(served.page("/", 503).one("main"))


@pytest.mark.parametrize("bad", ATTACKS)
def test_text_of_runs_and_of_addresses_stays_text(served: Served, bad: str) -> None:
    served.put(bad, team=bad, task=bad, tags={"note": bad})
    harmless = [[each.tag for each in served.page(address).all()] for address in PAGES]
    assert bad.split()[0] in served.page("/label").text
    assert [[each.tag for each in served.page(address).all()] for address in PAGES] == harmless
    for address in (*PAGES, f"/?team={bad.replace('#', '')}"):
        for element in served.page(address).all():
            assert not [name for name in element.attributes if name.startswith("on") or name == "style"]
            assert element.tag not in ("img", "b") or address == "/label"
            assert element.attributes.get("href", "/")[0] in "/#d"
    assert len(served.page("/").all("script")) == 1


def test_nothing_is_read_again_while_the_file_does_not_change(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = StoreMemory(served.path)
    made: list[int] = []

    def make() -> int:
        made.append(1)
        return len(made)

    assert [memory.get("key", make) for _ in range(3)] == [1, 1, 1], "there is no file"
    served.put("first")
    monkeypatch.setattr("tracer_hooks.serving._pages._UNSETTLED_NS", 10**12)
    assert [memory.get("key", make) for _ in range(2)] == [2, 3], "a file that has just changed may change again unseen"
    monkeypatch.setattr("tracer_hooks.serving._pages._UNSETTLED_NS", 0)
    assert [memory.get("key", make) for _ in range(3)] == [4, 4, 4]
    assert memory.get("other", make) == 5
