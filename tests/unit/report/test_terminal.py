"""The diagnosis in the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tracer_hooks.report import diagnosis_text
from tracer_hooks.schema import Attribution, Candidate, Evidence, FindingKind, Trajectory

from ._pages import diagnosis, failed_run, found


def shown(trajectory: Trajectory, attribution: Attribution, *, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(diagnosis_text(trajectory, attribution))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_answer_comes_first_then_what_was_found_then_what_to_try() -> None:
    text = shown(failed_run(), diagnosis())
    parts = [
        "writer went wrong at step 2.",
        "Step 2, writer: The tool said rain.",
        "“It is sunny”",
        "Step 1, scout: It was shown this.",
        "What to try  Have 'writer' copy values word for word.",
        "ignored other agent's input, confidence 92%, by structural 1.0, 4 ms",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)
    assert text.startswith(parts[0])


def test_a_weak_diagnosis_takes_at_most_eight_lines_and_names_no_mode() -> None:
    many = tuple(found(step=step, agent="scout", leads_to_answer=False) for step in range(3))
    text = shown(failed_run(), diagnosis(confidence=0.2, findings=many, advice="", error_mode=None))
    assert text.startswith("No step stands out.")
    assert "Places to start: step 2 (writer)." in text
    assert len(text.splitlines()) <= 9
    assert "%" not in text


def test_where_a_finding_blames_nobody_it_is_the_heading() -> None:
    limit = found(
        kind=FindingKind.ENDING, step=3, text="The run was stopped at a limit.", quote="", leads_to_answer=False
    )
    text = shown(failed_run(), diagnosis(confidence=0.2, findings=(limit,), advice="Raise the limit.", error_mode=None))
    assert text.startswith("The run was stopped at a limit.")
    assert "Places to start: step 2 (writer)." in text
    assert "What to try  Raise the limit." in text


def test_what_an_attributor_says_itself_is_told_beside_the_findings() -> None:
    said = (Evidence(step=2, quote="It is sunny", why="The judge doubts it."),)
    assert "Step 2: The judge doubts it." in shown(failed_run(), diagnosis(findings=(), evidence=said))


@pytest.mark.parametrize("text", ["[/]", "[bold red]x[/bold red]", "[link=evil]a", "]][[", "\\[x]", ":warning:"])
def test_brackets_in_what_agents_wrote_are_shown_as_they_are(text: str) -> None:
    attribution = diagnosis(
        agent=text,
        findings=(found(agent=text, quote=text, text=text),),
        advice=text,
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
    assert "onfidence" not in out
    assert "by unnamed attributor" in out


def test_a_huge_finding_is_cut() -> None:
    huge = tuple(found(quote="q" * 400, text="w" * 1_000_000, step=step) for step in range(5))
    assert len(shown(failed_run(), diagnosis(findings=huge), width=60)) < 5000
