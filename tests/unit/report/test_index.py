"""The page that lists the runs of a batch, with those that could not be diagnosed."""

from __future__ import annotations

from pathlib import Path

from tracer_hooks.report import ReportAttempt, ReportRun, write_index
from tracer_hooks.schema import Attribution, Candidate, ErrorMode

from ._pages import NOON, Element, failed_run, parse


def _run(**answer: object) -> ReportRun:
    attribution = Attribution(run_id="run-1", **answer) if answer else None  # type: ignore[arg-type]
    attempt = ReportAttempt(number=1, trajectory=failed_run(), attribution=attribution)
    return ReportRun(attempts=(attempt,), generated_at=NOON)


PLACES = (Candidate(agent="scout", step=1, score=0.2),)
ENTRIES = (
    ("a.json", _run(agent="writer", step=2, error_mode=ErrorMode.FM_2_6, confidence=0.7)),
    ("b & c.json", _run(abstained=True, abstained_reason="no sign of failure")),
    ("<d>.json", "line 3 is no JSON"),
    ("e.json", _run()),
    ("f.json", _run(agent="scout", step=1, confidence=0.2, candidates=PLACES)),
)


def _rows(page: Element) -> list[list[str]]:
    return [[cell.text.strip() for cell in row.all("td")] for row in page.all("tr")[1:]]


def test_each_run_has_a_row_and_those_that_were_read_a_page(tmp_path: Path) -> None:
    written = write_index(tmp_path / "out" / "index.html", ENTRIES)
    page = parse(written.read_text(encoding="utf-8"))
    assert _rows(page) == [
        ["a.json", "writer", "2", f"FM-2.6 {ErrorMode.FM_2_6.title}", "70%, likely"],
        ["b & c.json", "No agent is named: no sign of failure."],
        ["<d>.json", "line 3 is no JSON"],
        ["e.json", "no diagnosis"],
        ["f.json", "No step stands out. Places to start: step 1 (scout)."],
    ]
    links = [link.attributes["href"] for link in page.one("main").all("a")]
    assert links == ["index_files/1.html", "index_files/2.html", "index_files/4.html", "index_files/5.html"]
    assert all((written.parent / link).is_file() for link in links)


def test_every_run_is_counted_once(tmp_path: Path) -> None:
    page = parse(write_index(tmp_path / "index.html", ENTRIES).read_text(encoding="utf-8"))
    assert page.one("h1").text == "5 runs"
    assert [fact.text for fact in page.one("p", "facts").all("span")] == [
        "1 with a step that is blamed", "2 without", "2 could not be read",
    ]  # fmt: skip


def test_one_run_is_one_run(tmp_path: Path) -> None:
    page = parse(write_index(tmp_path / "index.html", ENTRIES[:1]).read_text(encoding="utf-8"))
    assert (page.one("h1").text, page.one("title").text) == ("1 run", "1 diagnosis")
