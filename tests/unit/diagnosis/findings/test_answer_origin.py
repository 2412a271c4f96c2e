"""The origin of the answer is told of one clear value, and only where the run shows what its agents saw."""

import pytest

from tracer_hooks.diagnosis.findings.answer_origin import KIND
from tracer_hooks.schema import ToolCall

SEARCH = ToolCall(
    name="search", arguments={"q": "Delft"}, result="Delft: 106,086 inhabitants, mayor Marja van Bijsterveldt"
)


def origin(run):
    found = list(KIND.find(run))
    assert len(found) <= 1
    return (found[0].detail, found[0].step) if found else None


@pytest.mark.parametrize(
    "final", ["106,086", "106086", "FINAL ANSWER: 106,086", '{"reason": "a", "answer": "106086"}', r"\boxed{106086}"]
)
def test_a_tool_returned_it(read, final):
    run = read(("looker", "I search.", [SEARCH]), ("lead", f"It is 106,086. {final}"), final=final)
    (found,) = KIND.find(run)
    assert (found.detail, found.step, found.leads_to_answer) == ("tool", 0, True)
    assert "'search'" in found.text
    assert "106,086" in found.quote


def test_a_name_that_a_tool_returned(read):
    run = read(
        ("looker", "", [SEARCH]), ("lead", "Marja van Bijsterveldt"), final="FINAL ANSWER: Marja van Bijsterveldt"
    )
    assert origin(run) == ("tool", 0)


@pytest.mark.parametrize("value", ["Ahmed Aboutaleb", "98,765"])
def test_an_agent_said_it_first(read, value):
    run = read(
        ("looker", "", [SEARCH]),
        ("guesser", f"I believe {value}."),
        ("lead", "We go with that."),
        final=f"FINAL ANSWER: {value}",
    )
    (found,) = KIND.find(run)
    assert (found.detail, found.step, found.agent) == ("memory", 1, "guesser")
    assert found.quote == f"I believe {value}."
    assert KIND.advice is not None
    assert "look" in KIND.advice(found)


def test_it_stands_in_the_last_words_only(read):
    run = read(("looker", "", [SEARCH]), ("lead", "FINAL ANSWER: Ahmed Aboutaleb"), final="Ahmed Aboutaleb")
    assert origin(run) == ("nowhere", 1)
    assert origin(read(("looker", "", [SEARCH]), ("lead", "Good."), final="Ahmed Aboutaleb")) == ("nowhere", None)


def test_it_stands_in_the_task(read):
    assert origin(read(("lead", "HX-4711-B"), task="Is HX-4711-B late?", final="HX-4711-B")) == ("task", None)


def test_a_written_calculation(read):
    run = read(("solver", "We have 12 * 61 = 732."), ("lead", "732"), final="732")
    (found,) = KIND.find(run)
    assert found.detail == "derived"
    assert "12" in found.text


def test_typed_into_code_and_printed_back(read):
    code = "```python\nmembers = ['Oren Stern']\nprint(members)\n```"
    run = read(("coder", code), ("terminal", "['Oren Stern']"), ("lead", "Oren Stern"), final="Oren Stern")
    assert origin(run) == ("typed_in", 0)
    code = "```python\nfirst = 737015\nsecond = 4965\nprint(first - second)\n```"
    run = read(("coder", code), ("terminal", "732050"), ("lead", "732050"), final="732050")
    (found,) = KIND.find(run)
    assert (found.detail, found.step) == ("typed_in", 0)
    assert "737015" in found.text


def test_code_that_computes_from_the_task(read):
    code = "```python\nprint(737015 - 4965)\n```"
    run = read(("coder", code), ("terminal", "732050"), ("lead", "ok"), final="732050", task="737015 less 4965?")
    assert origin(run) == ("derived", 0)


@pytest.mark.parametrize(
    "final",
    ["yes", "Yes.", "7", "none", "", "The meeting went well, and we all agree on the plan.", "01/02/2024", "[1, 2]"],
)
def test_silent_answers(read, final):
    assert origin(read(("looker", "", [SEARCH]), ("lead", "Hm."), final=final)) is None


def test_silent_where_it_cannot_be_told(read):
    other_form = ToolCall(name="search", result="mayor: Bijsterveldt, Marja van; area 24.057 km2")
    assert (
        origin(read(("looker", "", [other_form]), ("lead", "Marja van Bijsterveldt"), final="Marja van Bijsterveldt"))
        is None
    )
    assert origin(read(("looker", "", [other_form]), ("lead", "24.06"), final="24.06")) is None
    not_kept = ToolCall(name="search", result=None)
    assert origin(read(("looker", "", [not_kept]), ("lead", "So: 98,765."), ("x", "Ok."), final="98,765")) is None
    page = "Lorem ipsum. " * 300 + "Ahmed Aboutaleb"
    assert origin(read(("looker", page), ("lead", "Ok."), final="Ahmed Aboutaleb")) is None


@pytest.mark.parametrize(
    "final",
    [
        *("Checked, correct", "the usual number of", "12 - 4", "Approved"),
        *('There is no file "people.csv" in it.', "It is \\frac{8}{18}, which is wrong of them."),
    ],
)
def test_a_phrase_or_a_formula_is_no_value(read, final):
    assert origin(read(("looker", "", [SEARCH]), ("lead", final), final=final)) is None


def test_a_number_worked_out_in_the_head(read):
    assert (
        origin(
            read(("solver", "She has 48 left."), ("lead", "So it is."), task="Ann sells 64 of 112 pens.", final="48")
        )
        is None
    )


def test_a_conversation_has_no_answer(read):
    run = read(("user", "Hi."), ("agent", "Hello. Which?"), ("user", "Mine."), ("agent", "You get **30.18** back."))
    assert origin(run) is None


@pytest.mark.parametrize("final", ["\x00\x01", "<b>x</b>", "9" * 1_000_000, "Ann " * 300_000])
def test_hostile_input(read, final):
    assert origin(read(("a", final), ("b", final), task="", final=final)) is None
    assert origin(read(task="")) is None


def test_a_person_gave_it(read):
    run = read(("user", "My booking is HX-4711-B."), ("agent", "Noted."), ("lead", "HX-4711-B"), final="HX-4711-B")
    assert origin(run) == ("task", 0)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (r"\[ \text{Total} = 24 \times 4 = 96 \text{ seats} \]", "24 \N{MULTIPLICATION SIGN} 4 = 96."),
        ("We add:\n\\[\n35 + 61\n= 96\n\\]", "35 + 61 = 96."),
        ("The area is 8 m * 12 m = 96 m2.", "8 m * 12 m = 96."),
    ],
)
def test_a_calculation_in_the_words_of_an_agent(read, said, shown):
    run = read(("solver", said), ("lead", "So it is."), final=r"\boxed{96 \, \text{seats}}")
    (found,) = KIND.find(run)
    assert (found.detail, found.step) == ("derived", 0)
    assert found.text.endswith(shown)


@pytest.mark.parametrize("said", ["12 + 84 = 96 + 1 = 97", "We solve 17x - 83 = 96.", "if n = 96 - 1 - 1"])
def test_no_calculation_ends_in_it(read, said):
    run = read(("solver", said), ("lead", "So it is."), final=r"\boxed{96}")
    assert all(found.detail != "derived" for found in KIND.find(run))


@pytest.mark.parametrize(
    ("answer", "value"), [("The visitor pays 38 euros.", "38"), ("It was made by Ada Lovelace.", "Ada Lovelace")]
)
def test_the_one_new_value_of_a_short_answer(read, answer, value):
    run = read(("looker", "", [SEARCH]), ("clerk", answer), ("lead", "Good."), final=answer)
    (found,) = KIND.find(run)
    assert found.values.claimed == value
    assert (found.detail, found.step) == ("memory", 1)
