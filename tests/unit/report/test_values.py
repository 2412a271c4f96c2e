"""The arrows between the steps that a value went through."""

from __future__ import annotations

import itertools

import pytest

from tracer_hooks.report import ReportAttempt, suggestion
from tracer_hooks.schema import Attribution, Evidence, Step, Trajectory, ValueLink, ValueOrigin

from ._pages import Element, diagnosis, failed_run, page_of
from .test_terminal import shown

RUN = failed_run(
    steps=(
        Step(index=0, agent="scout", content="120 EUR a night, 55 EUR a ticket."),
        Step(index=1, agent="accountant", content="3 * 120 EUR + 2 * 55 EUR = 430 EUR"),
        Step(index=2, agent="editor", content="Fine."),
        Step(index=3, agent="writer", content="It costs 430 EUR."),
    )
)
WAY = (
    ValueLink(value="430 EUR", step=1, origin=ValueOrigin.CONTRADICTING, source=0, note="it is 470 EUR, not 430"),
    ValueLink(value="430 EUR", step=3, origin=ValueOrigin.COPIED, source=1),
)
BESIDE = ValueLink(value="A-17", step=2, origin=ValueOrigin.GIVEN)


def wrong_sum(*links: ValueLink, confidence: float = 0.62) -> Attribution:
    return diagnosis(agent="accountant", step=1, provenance=links, evidence=(), spread=(), confidence=confidence)


def card_of(*links: ValueLink, run: Trajectory = RUN, confidence: float = 0.62) -> Element:
    attribution = wrong_sum(*links, confidence=confidence)
    return page_of(ReportAttempt(number=1, trajectory=run, attribution=attribution)).one("div", "values")


def rows_of(graph: Element) -> list[str]:
    return [" ".join(row.one("div").text.split()) for row in graph.all("li")]


def test_a_row_for_each_step_of_the_way_says_where_the_value_comes_from() -> None:
    card = card_of(*WAY)
    assert rows_of(card.one("ol", "ways")) == [
        "step 0 scout",
        "step 1 accountant decisive error step 430 EUR contradicting: it is 470 EUR, not 430, with values of step 0",
        "step 3 writer 430 EUR copied from step 1",
    ]
    links = [link.attributes["href"] for link in card.all("a")]
    assert links == ["#a1-s0", "#a1-s1", "#a1-s0", "#a1-s3", "#a1-s1"]


def test_an_arrow_leads_from_the_source_to_the_step_and_on_to_who_repeats_it() -> None:
    source, wrong, copied = card_of(*WAY).one("ol", "ways").all("li")
    assert [line.classes for line in source.all("line")] == [{"way", "contradicting"}]
    assert [line.classes for line in wrong.all("line")] == [{"way", "contradicting"}, {"way", "wrong"}]
    assert [line.classes for line in copied.all("line")] == [{"way", "wrong"}]
    assert [len(row.all("path", "head")) for row in (source, wrong, copied)] == [0, 1, 1]
    nodes = [row.all("circle", "node")[0].classes for row in (source, wrong, copied)]
    assert nodes == [{"node", "source"}, {"node", "contradicting"}, {"node", "copied"}]
    assert "430 EUR: contradicting from step 0, step 1" in wrong.one("title").text


@pytest.mark.parametrize("origin", list(ValueOrigin))
def test_every_origin_has_a_mark_of_its_own_and_words(origin: ValueOrigin) -> None:
    source = 0 if origin is ValueOrigin.COPIED else None
    card = card_of(ValueLink(value="430 EUR", step=1, origin=origin, source=source))
    marks = [mark for mark in card.one("ol", "ways").all("", "node") if origin.value in mark.classes]
    assert len(marks) == 1
    said = card.one("ol", "ways").one("p", "value")
    assert len(said.one("span").text) > 5
    assert ("departs" in said.classes) is origin.is_departure
    assert len(card.one("ul", "legend").all("li")) == 1


def test_marks_differ_by_more_than_their_colour() -> None:
    drawn = set()
    for origin in ValueOrigin:
        legend = card_of(ValueLink(value="1 EUR", step=1, origin=origin)).one("ul", "legend").one("svg")
        drawn.add(
            tuple(
                (shape.tag, shape.attributes.get("d"), shape.attributes.get("r"))
                for shape in legend.children
                if isinstance(shape, Element)
            )
        )
    assert len(drawn) == len(ValueOrigin)


def test_a_value_of_the_task_comes_from_a_row_of_its_own() -> None:
    task, step = card_of(BESIDE).one("ol", "ways").all("li")
    assert task.one("p", "where").text == "The task"
    assert len(task.all("line")) == len(step.all("path", "head")) == 1


def test_other_values_stand_behind_a_fold() -> None:
    card = card_of(*WAY, BESIDE)
    fold = card.one("details", "more-values")
    assert fold.one("summary").text == "1 other value"
    assert "open" not in fold.attributes
    assert rows_of(fold.one("ol", "ways")) == ["The task", "step 2 editor A-17 given with the task"]


def test_what_was_worked_out_from_the_wrong_value_stands_beside_it() -> None:
    result = ValueLink(value="215 EUR", step=2, origin=ValueOrigin.DERIVED, source=1, note="from 430 EUR and 2")
    card = card_of(*WAY, result)
    assert card.all("details") == []
    (graph,) = card.all("ol", "ways")
    assert "step 2 editor 215 EUR worked out from 430 EUR and 2 of step 1" in rows_of(graph)
    assert [len(row.all("g")) for row in graph.all("li")] == [1, 2, 2, 1]


def test_many_values_are_parted_into_narrow_graphs() -> None:
    links = [
        ValueLink(value=f"{number} EUR", step=1 + number % 3, origin=ValueOrigin.DERIVED, source=0)
        for number in range(24)
    ]
    card = card_of(*links)
    graphs = card.all("ol", "ways")
    assert len(graphs) == 1 + 8
    assert all(float(svg.attributes["width"]) <= 72 for svg in card.all("svg") if svg.attributes["height"] == "100%")
    for svg in itertools.chain.from_iterable(graph.all("svg") for graph in graphs):
        places = [line.attributes["x1"] for line in svg.all("line") if line.attributes["y1"] == "0"]
        assert len(places) == len(set(places)), "two lines lie on each other"


def test_a_diagnosis_without_values_or_with_steps_that_do_not_exist_has_no_card() -> None:
    astray = ValueLink(value="1 EUR", step=77, origin=ValueOrigin.UNSUPPORTED)
    for attribution in (wrong_sum(), wrong_sum(astray)):
        page = page_of(ReportAttempt(number=1, trajectory=RUN, attribution=attribution))
        assert page.all("div", "values") == []
        assert "Where the value" not in shown(RUN, attribution)


def test_a_step_that_the_page_leaves_out_is_told_without_a_link() -> None:
    run = Trajectory(run_id="r", steps=tuple(Step(index=index, agent="a", content="x") for index in range(900)))
    far = ValueLink(value="1 EUR", step=899, origin=ValueOrigin.COPIED, source=600)
    page = page_of(ReportAttempt(number=1, trajectory=run, attribution=wrong_sum(far)))
    assert "copied from step 600" in " ".join(page.one("div", "values").text.split())
    ids = {element.attributes["id"] for element in page.all() if "id" in element.attributes}
    assert {link.attributes["href"][1:] for link in page.all("a")} <= ids


def test_hostile_values_are_escaped_and_cut() -> None:
    value = "<script>alert(1)</script>\x1b\u202e" + "9" * 5000
    link = ValueLink(value=value, step=1, origin=ValueOrigin.UNSUPPORTED, note="</title></svg><b>" + "n" * 5000)
    card = card_of(link)
    assert card.all("script") == []
    assert len(card.text) < 1500


def test_the_terminal_tells_the_way_in_at_most_four_lines() -> None:
    text = shown(RUN, wrong_sum(*WAY))
    assert (
        "Where the value comes from\n"
        "  430 EUR  step 1 accountant  it is 470 EUR, not 430, with values of step 0 scout\n"
        "  430 EUR  step 3 writer      copied from step 1 accountant\n"
    ) in text
    more = [ValueLink(value="430 EUR", step=2, origin=ValueOrigin.COPIED, source=1)]
    more += [ValueLink(value=f"{n} EUR", step=2, origin=ValueOrigin.DERIVED, note="from 430 EUR") for n in range(9)]
    block = shown(RUN, wrong_sum(*WAY, *more)).split("Where the values come from\n")[1].split("\n\n")[0]
    assert len(block.splitlines()) == 4
    assert "it is 470 EUR" in block
    assert "step 3 writer" in block


@pytest.mark.parametrize("links", [WAY[:1], WAY])
def test_the_terminal_does_not_repeat_one_finding_nor_explain_a_weak_diagnosis(links: tuple[ValueLink, ...]) -> None:
    text = shown(RUN, wrong_sum(*links, confidence=0.62 if len(links) == 1 else 0.1))
    assert "Where the value" not in text


def test_without_a_departure_the_value_of_the_named_step_that_goes_farthest_is_shown_with_its_operands() -> None:
    links = (
        ValueLink(value="120 EUR", step=0, origin=ValueOrigin.OBSERVED),
        ValueLink(value="120 EUR", step=1, origin=ValueOrigin.COPIED, source=0),
        ValueLink(value="240 EUR", step=1, origin=ValueOrigin.DERIVED, source=0, note="from 120 EUR and 2"),
        ValueLink(value="240 EUR", step=3, origin=ValueOrigin.COPIED, source=1),
        BESIDE,
    )
    card = card_of(*links)
    main, folded = card.all("ol", "ways")
    assert main.attributes["aria-label"] == "Steps that 240 EUR, 120 EUR went through"
    assert folded.attributes["aria-label"] == "Steps that A-17 went through"


def test_the_advice_names_what_is_left_out_and_where_the_right_value_stands() -> None:
    left_out = ValueLink(value="8.90 EUR", step=1, origin=ValueOrigin.DROPPED, source=0, note="'a' leaves out '8.90'")
    seen = Evidence(step=1, why="'a' leaves out '8.90'.", kind="value")
    advice = suggestion(diagnosis(agent="a", step=1, provenance=(left_out,), evidence=(seen,)), RUN)
    assert advice == "Have 'a' go through everything that it was given, and leave out '8.90 EUR' no more."
    wrong = ValueLink(value="5840", step=1, origin=ValueOrigin.CONTRADICTING, source=0, note="'a' passes '5840'")
    seen = Evidence(step=1, why="'a' passes '5840'.", kind="contradiction")
    advice = suggestion(diagnosis(agent="a", step=1, provenance=(wrong,), evidence=(seen,)), RUN)
    assert advice == "Have 'a' copy values word for word from step 0 (scout)."
