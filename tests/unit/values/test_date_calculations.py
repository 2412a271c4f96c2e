"""What a text says of dates is held against the calendar, and only what is wrong in every reading is called wrong."""

from __future__ import annotations

import pytest

from tracer_hooks.values import DateCalculation, date_calculations_in


def _one(text: str, *, year: int | None = None) -> DateCalculation:
    (found,) = date_calculations_in(text, year=year)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "10 days after 24 February 2024 is 5 March 2024",
        "24 February 2024 plus 10 days is 5 March 2024",
        "2024-02-24 + 10 days = 2024-03-05",
        "24 February 2024 - 10 days = 14 February 2024",
        "two weeks before March 15, 2024 was March 1, 2024",
        "March 15, and two weeks later is March 29",
        "3 nights from 5 May 2024 is Wednesday, 8 May 2024",
        "10 Tage nach 24.02.2024 ist 05.03.2024",
    ],
)
def test_what_the_calendar_confirms(text: str) -> None:
    assert date_calculations_in(text)
    assert all(one.holds for one in date_calculations_in(text))


@pytest.mark.parametrize(
    ("text", "correction"),
    [
        (
            "10 days after 24 February 2024 is 6 March 2024.",
            "10 days after 24 February 2024 is 5 March 2024, not 6 March 2024",
        ),
        ("2024-02-24 + 10 days = 2024-03-06", "10 days after 2024-02-24 is 2024-03-05, not 2024-03-06"),
        (
            "two weeks before March 15, 2024 was March 2, 2024",
            "2 weeks before March 15, 2024 is March 1, 2024, not March 2, 2024",
        ),
        ("March 15, two weeks later is March 30.", "2 weeks after March 15 is March 29, not March 30"),
        (
            "10 days before 5 January 2024 is 26 December 2024",
            "10 days before 5 January 2024 is 26 December 2023, not 26 December 2024",
        ),
        ("Monday, 15 March 2024", "15 March 2024 is a Friday, not a Monday"),
    ],
)
def test_what_the_calendar_corrects(text: str, correction: str) -> None:
    found = _one(text)
    assert (found.holds, found.correction) == (False, correction)


def test_the_quote_is_the_whole_statement() -> None:
    texts = ("10 days after 24 February 2024 is 6 March 2024", "24 May 2024 + 1 day = 9 May")
    for text, said in zip(texts, ("So {}, she says", "{}"), strict=True):
        whole = said.format(text)
        found = _one(whole)
        assert whole[found.start : found.end].rstrip(".") == text


@pytest.mark.parametrize(
    "text",
    [
        "30 days after 15 December is 14 January 2024",
        "1 day after 31 December is 1 January 2025",
        "10 days before 5 January 2025 is 26 December",
    ],
)
def test_a_date_without_a_year_is_of_the_year_that_fits(text: str) -> None:
    assert _one(text).holds


def test_a_date_without_a_year_that_fits_no_year_is_wrong() -> None:
    found = _one("30 days after 15 December is 13 January 2024")
    assert not found.holds
    assert found.right == "14 January 2024"


@pytest.mark.parametrize("day", ["1 March", "2 March"])
def test_without_any_year_it_may_be_a_leap_year(day: str) -> None:
    text = f"3 days after 27 February is {day}"
    assert _one(text).holds
    assert _one(text, year=2024).holds is (day == "1 March")


@pytest.mark.parametrize(
    "text",
    [
        "Monday, 05/06/2024",
        "Wednesday, 05/06/2024",
        "05/06/2024 + 10 days = 05/16/2024",
        "05/06/2024 + 10 days = 15/06/2024",
    ],
)
def test_a_date_that_can_be_read_in_two_ways_is_right_in_either(text: str) -> None:
    assert _one(text).holds


def test_a_date_that_is_wrong_in_both_ways_is_corrected_in_the_nearer() -> None:
    found = _one("05/06/2024 + 10 days = 05/17/2024")
    assert (found.holds, found.right) == (False, "16 May 2024")
    assert not _one("Friday, 05/06/2024").holds


@pytest.mark.parametrize(
    "text",
    [
        "9000 days after 1 May 9990 is 2 May 2024",  # beyond the calendar
        "999 weeks before 1 May 0012 is 2 May 2024",
        "ten thousand days after 1 May 9990 is 2 May 2024",
        "1 day after 29 February 2023 is 1 March 2023",  # there is no such day
        "Monday 0000-05-06",
        "\ue011 days after 5 May 2024 is 6 May 2024",  # the signs that stand for values within
        "\ue010 plus \ue011 days is 5 May 2024",
    ],
)
def test_what_no_calendar_can_judge_is_passed_over(text: str) -> None:
    assert date_calculations_in(text) == []
