"""The parts that the page is made of: excerpts, the prompt comparison, wording."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracer_hooks.report import environment, suggestion
from tracer_hooks.report._wording import (
    LONGEST,
    NO_LIMIT,
    SHORTEST,
    clean,
    diff_lines,
    excerpt,
    fair_limit,
    in_bytes,
    in_seconds,
    one_line,
)
from tracer_hooks.schema import Attribution, explanation

from ._pages import diagnosis, found, parse


@given(st.text(max_size=400), st.lists(st.text(min_size=1, max_size=20), max_size=3))
def test_an_excerpt_that_fits_is_the_whole_text(text: str, quotes: list[str]) -> None:
    cut = excerpt(text, limit=NO_LIMIT, quotes=quotes)
    assert "".join(passage.text for passage in cut.passages) == clean(text)
    assert cut.note == ""
    for passage in cut.passages:
        assert not passage.left_out


@given(st.text(min_size=300, max_size=3000), st.integers(min_value=SHORTEST, max_value=400), st.data())
def test_a_cut_excerpt_keeps_order_and_counts_what_it_left_out(text: str, limit: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(min_value=0, max_value=len(text) - 10))
    cut = excerpt(text, limit=limit, quotes=[text[start : start + 10]])
    rebuilt, position, whole = 0, 0, clean(text)
    for passage in cut.passages:
        if passage.left_out:
            position += int(passage.text.split()[1].replace(",", ""))
        else:
            assert whole[position : position + len(passage.text)] == passage.text
            position += len(passage.text)
            rebuilt += len(passage.text)
    assert position == len(whole)
    assert bool(cut.note) == (rebuilt < len(whole))


def test_overlapping_quotes_become_one_mark() -> None:
    cut = excerpt("one two three four", limit=100, quotes=["one two", "two three", "four", "absent"])
    assert [passage.text for passage in cut.passages if passage.marked] == ["one two three", "four"]


def test_a_quote_with_blanks_around_it_is_still_found() -> None:
    assert excerpt("abc def", limit=100, quotes=[" def\n"]).marked
    assert not excerpt("abc def", limit=100, quotes=["", "  "]).marked


def test_what_short_texts_leave_is_shared_by_the_long_ones() -> None:
    assert fair_limit(["x" * 10, "y" * 10], 1000) == NO_LIMIT
    assert fair_limit(["x" * 100, "y" * 5000, "z" * 5000], 2100) == 1000
    assert fair_limit(["x" * 5000] * 1000, 1000) == SHORTEST
    assert fair_limit([], 10) == NO_LIMIT


@pytest.mark.parametrize("character", ["a", "&", "東", "\x00"])
def test_a_text_that_fits_is_cut_by_its_length_only(character: str) -> None:
    cut = excerpt(character * (LONGEST + 5), limit=NO_LIMIT)
    assert sum(len(each.text) for each in cut.passages if not each.left_out) == LONGEST


def test_changed_words_are_marked_and_blanks_between_them_as_well() -> None:
    removed, added = diff_lines("Stop as soon as you have one number.", "Stop only when all is done, with one number.")
    assert (removed.kind, added.kind) == ("removed", "added")
    assert next(p.text for p in removed.passages if not p.marked).startswith("Stop")
    assert "".join(p.text for p in added.passages) == "Stop only when all is done, with one number."
    assert all(a.marked != b.marked for a, b in zip(added.passages, added.passages[1:], strict=False))


def test_lines_with_nothing_in_common_are_not_compared_word_by_word() -> None:
    removed, added = diff_lines("Be brief and kind.", "1234567890 --- 99999999")
    assert not any(p.marked for p in (*removed.passages, *added.passages))


def test_long_unchanged_parts_are_left_out_with_their_count() -> None:
    same = [f"line {n}" for n in range(40)]
    rows = diff_lines("\n".join([*same, "old", *same]), "\n".join([*same, "new", *same]))
    assert [row.kind for row in rows] == ["gap", *["same"] * 3, "removed", "added", *["same"] * 3, "gap"]
    assert rows[0].passages[0].text == "37 unchanged lines"


@given(st.text(alphabet="ab \n", max_size=60), st.text(alphabet="ab \n", max_size=60))
def test_the_comparison_tells_both_texts(before: str, after: str) -> None:
    rows = [row for row in diff_lines(before, after)]
    hidden = sum(int(row.passages[0].text.split()[0]) for row in rows if row.kind == "gap")
    old = ["".join(p.text for p in row.passages) for row in rows if row.kind in ("same", "removed")]
    new = ["".join(p.text for p in row.passages) for row in rows if row.kind in ("same", "added")]
    assert len(old) + hidden == (before.count("\n") + 1 if before else 0)
    if not hidden:
        assert "\n".join(old) == before
        assert "\n".join(new) == after


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (-1, ""),
        (0.0042, "4 ms"),
        (2.54, "2.5 s"),
        (59.99, "1 min 0 s"),
        (184, "3 min 4 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations(seconds: float | None, words: str) -> None:
    assert in_seconds(seconds) == words


@pytest.mark.parametrize(("count", "words"), [(0, "0 bytes"), (999, "999 bytes"), (4100, "4.1 kB"), (10**6, "1.0 MB")])
def test_sizes(count: int, words: str) -> None:
    assert in_bytes(count) == words


def test_one_line_cuts_and_joins() -> None:
    assert one_line("a\n b\tc", 10) == "a b c"
    assert one_line("abcdefghij" * 9, 5) == "abcd…"


@pytest.mark.parametrize(
    ("confidence", "leads", "certainty", "headline"),
    [
        (0.9, True, "clear", "writer went wrong at step 2."),
        (0.95, False, "likely", "Probably: writer at step 2."),
        (0.89, True, "likely", "Probably: writer at step 2."),
        (0.65, False, "likely", "Probably: writer at step 2."),
        (0.64, False, "weak", "No step stands out."),
        (0.64, True, "weak", "It says x."),
    ],
)
def test_the_heading_is_no_surer_than_the_diagnosis(
    confidence: float, leads: bool, certainty: str, headline: str
) -> None:
    attribution = diagnosis(confidence=confidence, findings=(found(text="It says x.", leads_to_answer=leads),))
    assert attribution.certainty == certainty
    assert attribution.headline == headline
    assert str(attribution) == attribution.explain()
    assert attribution.explain().startswith(headline)


def test_a_finding_on_another_step_makes_nothing_clear() -> None:
    assert diagnosis(findings=(found(step=1),)).certainty == "likely"
    assert Attribution(run_id="r", abstained=True, confidence=0.95, findings=(found(),)).certainty is None


def test_text_of_a_run_is_escaped_in_html_and_markdown() -> None:
    hostile = diagnosis(findings=(found(text="<b>*x*</b> [a](b).", quote="<script>"),), advice="`rm`")
    assert "<script" not in hostile._repr_html_()
    assert "&lt;b&gt;" in hostile._repr_html_()
    markdown = "\n".join(line.markdown for line in explanation(hostile))
    assert r"\<b\>\*x\*" in markdown
    assert r"\`rm\`" in markdown


def test_every_abstention_has_a_suggestion() -> None:
    reasons = ("no sign of failure", "environment fault", "trace too incomplete")
    told = {suggestion(Attribution(run_id="r", abstained=True, abstained_reason=each)) for each in reasons}
    assert len(told) == 3


def test_bars_are_drawn_to_scale_with_the_failed_part_at_their_foot_and_said_in_words() -> None:
    bars = [("1 Nov", 40, 10), ("<2>", 20), ("3 Nov", 0, 0)]
    drawn = '{% import "parts.html.j2" as p %}{{ p.chart("Runs", bars, "60") }}{{ p.chart("Cost", [], "") }}'
    first, empty = parse(environment().from_string(drawn).render(bars=bars)).all("figure", "chart")
    tall = [(bar.attributes["y"], bar.attributes["height"]) for bar in first.all("rect")]
    assert tall == [("0.0", "75.0"), ("75.0", "25.0"), ("50.0", "50.0"), ("100.0", "0.0")]
    assert first.one("svg").attributes["aria-label"] == "Runs: 1 Nov 40, 10 failed; <2> 20; 3 Nov 0"
    assert "Nothing in this time." in empty.text
