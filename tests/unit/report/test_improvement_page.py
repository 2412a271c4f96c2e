"""The page of an improvement: complete, escaped, and drawn to scale."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from tracer_hooks.report import (
    ReportComparison,
    ReportImprovement,
    ReportRefused,
    render_improvement,
    write_improvement,
)

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e&amp;"
FOUND = ReportImprovement(
    team="sums",
    framework="python",
    heading="The new prompts are accepted, as version 3.",
    tone="succeeded",
    badge="Accepted",
    reason="The new prompts are better: +20 points in 20 pairs.",
    notes=("version 1 was left out",),
    parts=(("proposed", 16, "to learn from"), ("never used", 10, "run once")),
    baseline="As it was, the team passed 3 of 8.",
    blame=(("solver", 0.75), ("planner", 0.25)),
    prompts=(("solver", "Add.\nWrite only the number.", "Add. Carry.\nWrite only the number."),),
    trial="20 pairs.",
    compared=(ReportComparison(title="10 tasks", before=0.6, after=0.5, figures="passed 6 of 10", meaning="Too few."),),
    search="1 new candidate was run.",
    refused=(ReportRefused(agent="solver", why="it was tried before", count=3, text="Add well."),),
    spent=("322 runs of the team",),
    provenance=(("Seed", "0"),),
    next=("Look at them: `tracer-hooks prompts show 3`",),
)


class Tags(HTMLParser):
    """All tags, with their text in between."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.append(tag)
        if tag not in ("meta", "line", "polyline", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("line", "polyline", "circle"):
            assert self.open.pop() == tag


def test_everything_is_on_the_page(tmp_path: Path) -> None:
    page = write_improvement(tmp_path / "new" / "page.html", FOUND).read_text()
    tags = Tags(page)
    assert tags.open == []
    for said in (FOUND.heading, FOUND.reason, "Note: version 1 was left out.", "75 %", "Passed 6 of 10", "Too few.",
                 "<code>tracer-hooks prompts show 3</code>", "(3 times)", "322 runs", "Carry."):  # fmt: skip
        assert said in page
    assert 'class="bar after worse"' in page
    assert "script" not in tags.found
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_what_a_team_or_a_model_says_is_escaped() -> None:
    page = render_improvement(
        replace(
            FOUND,
            team=HOSTILE,
            framework=HOSTILE,
            heading=HOSTILE,
            reason=HOSTILE,
            notes=(HOSTILE,),
            blame=((HOSTILE, 1.0),),
            prompts=((HOSTILE, HOSTILE, HOSTILE + "2"),),
            trial=HOSTILE,
            search=HOSTILE,
            refused=(ReportRefused(agent=HOSTILE, why=HOSTILE, text=HOSTILE * 100),),
            provenance=((HOSTILE, HOSTILE),),
            next=(HOSTILE + "`" + HOSTILE + "`",),
        )
    )
    assert "<script" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert Tags(page).open == []


def test_an_improvement_that_found_nothing_has_no_empty_cards() -> None:
    bare = ReportImprovement(
        team="", framework="", heading="Nothing.", tone="unknown", badge="Nothing found", reason="Because."
    )
    page = render_improvement(bare)
    assert "Unnamed team" in page
    assert page.count("<section") == 2
