"""The diagnosis in the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tracer_hooks.report import diagnosis_text
from tracer_hooks.schema import Attribution, Candidate, Evidence, Trajectory

from ._pages import diagnosis, failed_run


def shown(trajectory: Trajectory, attribution: Attribution, *, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(diagnosis_text(trajectory, attribution))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_answer_comes_first_then_how_it_spread_then_the_alternatives() -> None:
    text = shown(failed_run(), diagnosis())
    parts = [
        "writer went wrong at step 2: ignored other agent's input.",
        "62%, clear: the step holds a wrong value, an error or a contradiction",
        "FM-2.5 ignored other agent's input. The agent disregards",
        "step 2, writer: The tool said rain.",
        "“It is sunny”",
        "What to try  Have 'writer' copy values word for word",
        "How it spread",
        "step 3, writer: It went on from it.",
        "Other candidates",
        "20%  step 1, scout",
        "These beliefs add up to 82%; the rest is for steps that are not listed",
        "by structural 1.0, 4 ms",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)
    assert text.startswith(parts[0])
    assert "62%  step 2" not in text, "the answer is no alternative to itself"


@pytest.mark.parametrize("text", ["[/]", "[bold red]x[/bold red]", "[link=evil]a", "]][[", "\\[x]", ":warning:"])
def test_brackets_in_what_agents_wrote_are_shown_as_they_are(text: str) -> None:
    attribution = diagnosis(
        agent=text,
        evidence=(Evidence(step=2, quote=text, why=text),),
        candidates=(Candidate(agent=text, step=1, score=0.2),),
        attributor=text,
    )
    out = shown(failed_run(team=text, outcome_reason=text), attribution)
    assert out.count(text) == 8


def test_escape_sequences_do_not_reach_the_terminal() -> None:
    out = shown(failed_run(), diagnosis(agent="\x1b]0;title\x07\x1b[2J"))
    assert "\x1b" not in out
    assert "␛[2J went wrong" in out


def test_an_abstention_tells_the_reason_and_no_confidence() -> None:
    abstained = Attribution(
        run_id="r",
        abstained=True,
        abstained_reason="environment fault",
        candidates=(Candidate(agent="scout", step=1, score=0.2),),
    )
    out = shown(failed_run(), abstained)
    assert out.startswith("No agent is named: environment fault.")
    assert "Confidence" not in out
    assert "Alternatives" in out
    assert "20%  step 1, scout" in out
    assert "by an unnamed attributor" in out


def test_a_huge_quote_and_a_step_that_does_not_exist() -> None:
    quotes = tuple(Evidence(step=99, quote="q" * 1_000_000, why="w" * 1_000_000) for _ in range(5))
    out = shown(failed_run(), diagnosis(evidence=quotes), width=60)
    assert "step 99, unknown" in out
    assert "and 2 more" in out
    assert len(out) < 5000
