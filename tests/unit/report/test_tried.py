"""What was tried: in the page, and in the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tracer_hooks.repair import PastTrial, RepairLog, RepairTarget
from tracer_hooks.report import ReportAttempt, ReportFork, repair_line, repair_text
from tracer_hooks.schema import RunOutcome, Usage

from ._pages import failed_run, page_of
from ._repairs import TOLD, log_of, pages_of, trial


def shown(log: RepairLog, *, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(repair_text(log, failed_run()))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def both(log: RepairLog) -> list[str]:
    """The text of the page, and the terminal's."""
    return [pages_of(log).one("body").text, shown(log, width=1000)]


RECOVERED = log_of(
    trial(2, RepairTarget.TASK, score=0.25, reason="'feedback_in_task' promises more"),
    trial(3, RepairTarget.MESSAGE, resume_from=2, passed=True),
    stopped="the run was recovered",
    kept_usage=Usage(input_tokens=1000, output_tokens=34),
)


def test_a_row_a_trial_says_what_was_told_to_whom_from_where_and_what_it_took() -> None:
    page = pages_of(RECOVERED)
    first, second = page.one("ul", "trials").all("li", "trial")
    assert first.one("b", "done").text == "Told the team, with the task"
    assert [fact.text for fact in first.one("p", "facts").all("span")] == [
        "from scratch", "score 0.25", "100 tokens", "2.0 s",
    ]  # fmt: skip
    assert first.one("div", "told").text.strip() == TOLD
    assert second.one("b", "done").text == "Told writer, with its next message"
    # the run has 1,234 tokens, 100 of them live
    assert [fact.text for fact in second.one("p", "facts").all("span")] == [
        "resumed at step 2, writer", "100 tokens", "2.0 s", "1,134 tokens saved",
    ]  # fmt: skip
    assert [link.attributes["href"] for link in second.all("a")] == ["#a3", "#a3-s2"]
    assert [row.one("span", "badge").text for row in (first, second)] == ["Failed", "Passed"]


def test_names_of_strategies_are_put_in_words() -> None:
    row = pages_of(RECOVERED).one("ul", "trials").all("li", "trial")[0]
    assert row.one("p", "why").text == "Why this: Feedback in the task promises more."


def test_the_terminal_has_the_same_in_lines_that_stand_under_each_other() -> None:
    lines = shown(RECOVERED).splitlines()
    assert lines[0].startswith(
        "What was tried  The run was recovered by trial 2, after 1 that did not help: told writer"
    )
    first, second = (line for line in lines if line.lstrip().startswith(("1  ", "2  ")))
    assert first.index("from scratch") == second.index("from step 2 (writer)")
    assert f"      “{TOLD}”" in [line.rstrip() for line in lines]
    assert all(len(line.rstrip()) <= 80 for line in (first, second))
    assert all(len(line) <= 120 for line in shown(RECOVERED, width=120).splitlines())


def test_the_price_is_of_all_trials_and_kept_steps_are_counted_apart() -> None:
    for text in both(RECOVERED):
        assert "200 tokens and 4.0 s; 1,034 tokens were saved, since kept steps came from the record." in text


def test_the_header_counts_what_was_spent_and_not_what_was_kept() -> None:
    facts = pages_of(RECOVERED).one("header", "page").one("p", "facts").text
    assert "1,380 tokens in, 54 out" in facts  # 1,200 + 90 + 90, and 34 + 10 + 10


def test_a_step_that_a_run_passed_from_is_told_no_surer_than_its_number() -> None:
    for text in both(RECOVERED):
        assert "Passed when resumed at step 2, once. That may be luck: nothing was run beside it" in text
        assert "erified" not in text


@pytest.mark.parametrize("other", [trial(2, resume_from=2), trial(2, resume_from=3)])
def test_a_few_resumed_runs_are_no_proof(other: PastTrial) -> None:
    for text in both(log_of(other, trial(3, RepairTarget.MESSAGE, resume_from=2, passed=True))):
        assert "That may be luck: so few runs show no step." in text


@pytest.mark.parametrize(
    ("step", "words"),
    [(None, "A run from scratch that passes does not say"), (2, "did not keep to the record before the step")],
)
def test_a_recovery_that_verifies_nothing_says_so(step: int | None, words: str) -> None:
    for text in both(log_of(trial(2, resume_from=step, passed=True, left_record=step is not None))):
        assert words in text


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        ([], "Nothing was tried."),
        ([trial(2)], "The one trial did not help."),
        ([trial(2), trial(3)], "None of the 2 trials helped."),
    ],
)
def test_that_none_helped_is_said_plainly(trials: list[object], words: str) -> None:
    for text in both(log_of(*trials)):  # type: ignore[arg-type]
        assert words in text
        assert "2 of 2 retries used." in text
        assert "What it shows" not in text


def test_an_outcome_that_is_not_known_is_no_failure() -> None:
    odd = trial(2).model_copy(update={"outcome": RunOutcome.UNKNOWN})
    for text in both(log_of(odd)):
        assert "The one trial did not pass." in text
        assert "not known" in text.lower()


def test_a_text_that_told_the_answer_is_not_shown() -> None:
    log = log_of(trial(None, RepairTarget.TASK, text="[hidden]", note="its text tells the answer, so it was not run"))
    for text in both(log):
        assert "not run" in text.lower()
        assert "Its text tells the answer, so it was not run." in text
        assert "[hidden]" not in text


def test_new_instructions_are_compared_with_the_agents_own() -> None:
    log = log_of(trial(2, RepairTarget.INSTRUCTIONS, text="Write.\nUse the weather that you are given.\nBe short."))
    card = pages_of(log).one("section", "tried")
    kinds = [(row.classes - {"row"}).pop() for row in card.one("div", "diff").all("div", "row")]
    assert kinds == ["same", "added", "same"]
    assert "Gave writer other instructions" in card.text


def test_tokens_of_writing_a_text_are_told_apart() -> None:
    log = log_of(trial(2, RepairTarget.TASK, usage=Usage(input_tokens=40, output_tokens=2)))
    for text in both(log):
        assert "142 tokens, 42 of them to write the text" in text


def test_long_texts_are_folded_and_many_trials_counted() -> None:
    page = pages_of(log_of(*(trial(2, RepairTarget.TASK, text=f"{TOLD} " * 40) for _ in range(130))))
    rows = page.one("ul", "trials").all("li", "trial")
    assert len(rows) == 100
    assert all(row.one("details", "fold") for row in rows)
    assert "30 more are not shown." in page.one("section", "tried").text


def test_a_trial_whose_attempt_is_not_in_the_page_has_no_link() -> None:
    page = pages_of(log_of(trial(7, resume_from=2), trial(2, resume_from=77)))
    rows = page.one("ul", "trials").all("li", "trial")
    assert rows[0].all("a") == []
    assert rows[0].one("p", "line").text.split()[:2] == ["Attempt", "7"]
    assert [link.attributes["href"] for link in rows[1].all("a")] == ["#a2"]


def test_attempts_without_a_log_stand_in_the_tree_all_the_same() -> None:
    page = page_of(*(ReportAttempt(number=n, trajectory=failed_run(run_id=f"r{n}")) for n in (1, 2, 3)))
    links = [link.attributes["href"] for link in page.one("section", "tried").all("a")]
    assert links == ["#a1", "#a2", "#a3"]


def test_forks_stand_in_the_tree_with_verdict_and_page_and_the_run_names_its_parent() -> None:
    forks = (
        ReportFork(run_id="f1", step=2, change="writer says 'umbrella'", outcome=RunOutcome.SUCCEEDED,
                   verdict="verified by replay 5 of 5, control 0 of 5", page="f1%20x.html"),
        ReportFork(run_id="f2", step=99, change="<b>"),
    )  # fmt: skip
    parent = ReportFork(run_id="p0", step=1, change="'maps' returns 3")
    page = page_of(ReportAttempt(number=1, trajectory=failed_run()), forks=forks, parent=parent)
    first, second = page.one("ul", "trials").all("li", "fork")
    assert [link.attributes["href"] for link in first.all("a")] == ["f1%20x.html", "#a1-s2"]
    assert "Succeeded" in first.text
    assert "control 0 of 5" in first.text
    assert (second.all("a"), "<b>" in second.text) == ([], True)
    assert "Forked from run p0 at step 1: 'maps' returns 3" in page.one("section", "tried").text
    assert "Fork at step 2: Verified by replay 5 of 5, control 0 of 5." in page.one("section", "finding").text


def test_a_run_that_was_not_repaired_has_no_such_section() -> None:
    assert page_of(ReportAttempt(number=1, trajectory=failed_run())).all("section", "tried") == []


@pytest.mark.parametrize("text", ["[/]", "[bold red]x[/bold red]", "]][[", ":warning:"])
def test_brackets_are_shown_as_they_are(text: str) -> None:
    log = log_of(trial(2, RepairTarget.MESSAGE, agent=text, text=text, note=text), stopped=text)
    assert shown(log).count(text) == 4


def test_escape_sequences_do_not_reach_the_terminal() -> None:
    bad = "\x1b]0;title\x07"
    log = log_of(trial(2, RepairTarget.MESSAGE, agent=bad, text=bad, note=bad, reason=bad), stopped=bad)
    assert "\x1b" not in shown(log)


def test_one_repair_in_a_few_words() -> None:
    repair = trial(2, RepairTarget.MESSAGE, resume_from=2).repair
    assert repair_line(repair, failed_run()) == "told writer, with its next message, resumed at step 2 (writer)"
    assert repair_line(repair) == "told writer, with its next message, resumed at step 2"
    assert repair_line(trial(2).repair, failed_run()) == "tried again, from scratch"


def test_of_many_trials_the_terminal_says_how_many_it_leaves_out() -> None:
    log = log_of(*(trial(attempt) for attempt in range(2, 30)))
    text = shown(log)
    assert "\n  20  failed" in text
    assert "\n  21  failed" not in text
    assert "  and 8 more\n" in text
    assert "None of the 28 trials helped." in both(log)[0]
