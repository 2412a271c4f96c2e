"""Values that stand where the passing runs have another one."""

from typing import Any

import pytest

from tracer_hooks.diagnosis.contrast import ContrastAttributor, DivergenceKind
from tracer_hooks.diagnosis.contrast._run_view import RunView, TokenKind, occurrences_in, tokens_of
from tracer_hooks.schema import RunOutcome

from ._runs import failed, run

BOOKINGS = (
    '{"bookings": [{"flight_number": "HAT156", "origin": "PHX", "date": "2024-05-17", "price": 208},'
    ' {"flight_number": "HAT021", "origin": "SEA", "date": "2024-05-20", "price": 331}], "created_at": "2024-05-04"}'
)


def trip(date: str = "May 17", price: str = "208", again: str = "May 17", thanks: str = "Good."):
    """A clerk who looks two flights up and tells a customer about the first of them."""
    return [
        ("user", "When does my flight HAT156 leave, and what did it cost?"),
        ("clerk", "get_bookings", {"customer": "emma_kim_9957"}, BOOKINGS),
        ("clerk", f"Your flight HAT156 leaves on {date}, and it cost ${price}."),
        ("user", thanks),
        ("clerk", f"So you leave on {again}. Have a pleasant flight!"),
    ]


def passing(count: int = 3):
    return [
        run(f"p{k}", trip(thanks=text)) for k, text in zip(range(count), ("Good.", "Fine.", "Thanks!"), strict=False)
    ]


def misplaced(turns, others=None, **more: Any):
    attributor = ContrastAttributor(others or passing())
    marks = attributor.divergences(failed(turns, **more)).marks
    return {(mark.step, mark.words) for mark in marks if mark.divergence is DivergenceKind.MISPLACED}


@pytest.mark.parametrize(
    ("turns", "wrong"),
    [
        (trip(date="May 20", again="May 20"), "May 20"),
        (trip(date="May 4", again="May 4"), "May 4"),
        (trip(price="331"), "331"),
    ],
)
def test_a_value_of_another_record_is_blamed_where_it_is_first_put(turns, wrong) -> None:
    assert (2, wrong) in misplaced(turns)
    answer = ContrastAttributor(passing()).attribute(failed(turns))
    assert answer.step == 2
    told = [evidence for evidence in answer.evidence if f"than {wrong!r} in such a place" in evidence.why]
    assert told
    assert wrong in told[0].quote


def test_the_reason_names_the_usual_value_and_where_it_stands() -> None:
    answer = ContrastAttributor(passing()).attribute(failed(trip(date="May 20", again="May 20")))
    first = answer.evidence[0]
    assert "May 20" in first.quote
    assert first.why.startswith("The passing runs mostly have another value than 'May 20' in such a place; ")
    assert "step 2, 'clerk' has 'May 17'" in first.why


def test_a_value_wrong_in_a_later_step_is_blamed_there() -> None:
    assert ContrastAttributor(passing()).attribute(failed(trip(again="May 20"))).step == 4


def test_a_value_in_its_place_gets_no_mark() -> None:
    assert misplaced(trip(thanks="Very kind of you.")) == set()


def test_another_way_to_write_a_date_is_no_other_date() -> None:
    assert misplaced(trip(date="2024-05-17", again="May 17th, 2024")) == set()


def test_what_the_tools_of_this_run_gave_fits() -> None:
    here = [(turn[0], *(str(part).replace("2024-05-17", "2024-06-11") for part in turn[1:])) for turn in trip()]
    turns = trip(date="June 11", again="June 11")
    turns[1] = ("clerk", "get_bookings", {"customer": "emma_kim_9957"}, here[1][3])
    bad = trip(date="May 20", again="May 20")
    assert _weight(turns) < _weight(bad)


def _weight(turns):
    marks = ContrastAttributor(passing()).divergences(failed(turns)).marks
    return sum(mark.weight for mark in marks if mark.divergence is DivergenceKind.MISPLACED)


def test_runs_of_another_task_say_nothing_about_places() -> None:
    others = [one.model_copy(update={"task": "Translate a poem about the sea."}) for one in passing()]
    assert misplaced(trip(date="May 20", again="May 20"), others) == set()


def test_a_value_out_of_place_raises_no_alarm() -> None:
    attributor = ContrastAttributor(passing())
    plain, bad = (attributor.divergences(failed(turns)) for turns in (trip(), trip(date="May 20", again="May 20")))
    assert bad.strongest > plain.strongest + 0.2
    less = max(bad.strengths[k] - bad.by_step[k].get(DivergenceKind.MISPLACED, 0.0) for k in bad.comparison.run.acts)
    assert bad.alarm == pytest.approx(less)
    unknown = failed(trip(again="May 20")).model_copy(update={"outcome": RunOutcome.UNKNOWN})
    assert attributor.attribute(unknown).abstained


def test_a_computed_number_weighs_less_than_one_from_nowhere() -> None:
    def weight(total):
        turns = [("clerk", f"The fare is 208 and the bag is 45, so the total is {total}.")]
        usual = [("clerk", "The fare is 199 and the bag is 45, so the total is 244.")]
        others = [run(f"p{k}", usual) for k in range(3)]
        marks = ContrastAttributor(others).divergences(failed(turns)).marks
        return max(
            mark.weight for mark in marks if mark.words == str(total) and mark.divergence is DivergenceKind.MISPLACED
        )

    assert weight(253) == pytest.approx(weight(267) / 2)


@pytest.mark.parametrize(
    ("text", "kind", "form"),
    [
        ("2024-05-17", TokenKind.DATE, "05-17"),
        ("May 17", TokenKind.DATE, "05-17"),
        ("Sept. 3", TokenKind.DATE, "09-03"),
        ("1,920", TokenKind.NUMBER, "1920"),
        ("208.50", TokenKind.NUMBER, "208.5"),
        ("gift_card_1234567", TokenKind.ID, "gift_card_1234567"),
        ("EHGLP3", TokenKind.ID, "ehglp3"),
        ("66EEUA", TokenKind.ID, "66eeua"),
        ("4768869376", TokenKind.ID, "4768869376"),
        ("15:30", TokenKind.OTHER, "15:30"),
        ("2024", TokenKind.OTHER, "2024"),
        ("7", TokenKind.OTHER, "7"),
        ("Total", TokenKind.WORD, "total"),
    ],
)
def test_tokens(text, kind, form) -> None:
    assert [(token.kind, token.form) for token in tokens_of(text)] == [(kind, form)]


def test_a_value_in_json_stands_under_its_key_beside_the_rest_of_its_object() -> None:
    found = {one.form: one.around for one in occurrences_in(BOOKINGS)}
    assert {"k:price", "w:price", "v:hat156", "v:05-17", "w:phx"} <= found["208"]
    assert "v:hat021" not in found["208"]
    assert "k:created_at" in found["05-04"]


def test_a_value_in_a_text_stands_between_its_words() -> None:
    (found,) = occurrences_in("The total paid: $208 in May")
    assert found.around == {"w:the", "w:total", "w:paid", "w:in", "w:may"}


@pytest.mark.parametrize("text", ["{" * 3_000, "[" * 100_000, "[1, 2", "{}", "", "\x00", "7_" * 5_000, "a" * 200_000])
def test_odd_texts_are_read(text) -> None:
    assert len(list(occurrences_in(text))) < 10_000


@pytest.mark.parametrize(("steps", "most"), [(400, 40), pytest.param(4_000, 10, marks=pytest.mark.slow)])
def test_of_a_long_run_a_few_values_of_each_step_are_looked_at(steps: int, most: int) -> None:
    row = " ".join(str(number) for number in range(100, 400))
    view = RunView(run("long", [("clerk", "search", {"n": row}, row)] * steps))
    assert max(len(values.own) + len(values.outside) for values in view.values) <= most
    assert len(view.values) == steps
