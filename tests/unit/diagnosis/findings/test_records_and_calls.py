"""What rows, records and calls prove: each is told once, at the step to mend, and its sound twin is silent."""

import pytest

from tracer_hooks.diagnosis import findings_of
from tracer_hooks.schema import AgentSpec, FindingKind, RunOutcome, Trajectory

from ._runs import call, found, run_of, say

KIND = FindingKind
BILLS = "What does the kitchen owe? The kitchen ordered flour for 40 EUR. The kitchen ordered salt for 6 EUR."
ROOMS = "How much did Lyon sell? Lyon sold lamps for 310 EUR. Lyon sold rugs for 95 EUR. Nice sold vases for 77 EUR."
ROWS = "| what | EUR |\n| --- | --- |\n"
POINT = '{"lat": 54.18, "lon": 12.1}'
LINDAL = "expected Lindal, got Novum"
TOOL = (AgentSpec(name="reader", tools=("look_up",)), AgentSpec(name="writer"))
CODE = "def half(n):\n    return n // 2"


def code_run(result: str, task: str = "Write half(n). Example: half(5) == 2.5") -> Trajectory:
    return run_of(
        say("coder", f"```python\n{CODE}\n```"),
        call("runner", "python", {"code": CODE}, result),
        say("c", "ok"),
        task=task,
    )


TOLD = {
    "a misquoted row": (
        run_of(say("clerk", ROWS + "| flour | 40 |\n| salt | 8 |"), say("head", "They owe 48 EUR."), task=BILLS),
        (KIND.RECORD_CONTRADICTED, "", 0, "clerk", "'clerk' has 8 for 'salt'; the task has 6."),
    ),
    "a misquoted line of a tool's record": (
        run_of(
            call("clerk", "bills", {}, '[{"what": "flour", "eur": 40}, {"what": "salt", "eur": 6}]'),
            say("clerk", "- flour: 40 EUR\n- salt: 9 EUR"),
            say("head", "They owe 49 EUR."),
        ),
        (KIND.RECORD_CONTRADICTED, "", 1, "clerk", "'clerk' has 9 for 'salt'; step 0 of 'clerk' has 6."),
    ),
    "a row of nothing": (
        run_of(
            say("clerk", ROWS + "| flour | 40 |\n| salt | 6 |\n| cinnamon | 13 |"),
            say("head", "They owe 59 EUR."),
            task=BILLS,
            agents=(AgentSpec(name="clerk", instructions="Copy the rows, such as | cinnamon | 13 |"),),
        ),
        (
            *(KIND.MADE_UP_DATA, "row", 0, "clerk"),
            "'clerk' lists 'cinnamon' with 13, which no task or tool gave; "
            "it is an example in the instructions of 'clerk'.",
        ),
    ),
    "a row of somebody else": (
        run_of(say("clerk", ROWS + "| lamps | 310 |\n| vases | 77 |"), say("head", "It sold for 387 EUR."), task=ROOMS),
        (
            *(KIND.CONSTRAINT_LOST, "of_others", 0, "clerk"),
            "The task asks for 'Lyon'; 'clerk' lists 'vases' (77) of 'Nice' too.",
        ),
    ),
    "a name that was not looked up": (
        run_of(
            call("desk", "free", {"who": "Maya"}, "[9, 11]"),
            say("desk", "They meet at 9."),
            task="When can Maya and Tomas meet?",
        ),
        (
            KIND.DROPPED_ITEM,
            "not_asked_for",
            1,
            "desk",
            "'desk' called 'free' for 'Maya' and never for 'Tomas'; the task names them together.",
        ),
    ),
    "a name of an agent's own list that it did not have looked up": (
        run_of(
            say("lead", "There are Oak, Elm and Ash. reader, please count Oak."),
            call("reader", "count", {"of": "Oak"}, "12"),
            say("lead", "Now Elm."),
            call("reader", "count", {"of": "Elm"}, "15"),
            say("lead", "Elm has the most."),
        ),
        (
            KIND.DROPPED_ITEM,
            "not_asked_for",
            4,
            "lead",
            "'lead' had 'count' called for 'Elm' and never for 'Ash'; step 0 names them together.",
        ),
    ),
    "one of the rest": (
        run_of(
            call("desk", "booked", {}, "Ruiz, Moreau, Klein, Sato, Novak, Ito"),
            call("desk", "paid", {}, '{"paid": ["Sato", "Klein", "Ito"]}'),
            say("desk", "Sato, Klein and Ito have paid. Still to pay: Moreau, Ruiz"),
        ),
        (KIND.DROPPED_ITEM, "", 2, "desk", "'desk' leaves out 'Novak' of the list of step 0 that is not taken off."),
    ),
    "the task's example": (
        code_run("2"),
        (
            *(KIND.RECORD_CONTRADICTED, "example", 0, "coder"),
            "The task has half(5) == 2.5; the code of 'coder' gave 2 in step 1; 'c' says 'ok'.",
        ),
    ),
    "swapped coordinates": (
        run_of(
            call("pilot", "position", {"port": "Kiel"}, POINT),
            call("pilot", "distance", {"lat1": 12.1, "lon1": 54.18}, "25"),
            say("pilot", "It is 25 miles."),
        ),
        (
            *(KIND.WRONG_REQUEST, "swapped", 1, "pilot"),
            "'pilot' passes 12.1 as 'lat1' and 54.18 as 'lon1' to 'distance'; they were returned the other way round.",
        ),
    ),
    "a sum that is not that of the rows": (
        run_of(
            say("clerk", ROWS + "| flour | 40 |\n| salt | 6 |"),
            say("adder", "In all 52"),
            say("head", "52 EUR."),
            task=BILLS,
        ),
        (KIND.WRONG_CALCULATION, "", 1, "adder", "'adder' says 52; the rows of step 0 come to 46."),
    ),
    "a total that is not that of the order": (
        run_of(
            call(
                "clerk",
                "order",
                {},
                '{"id": "A-1", "lines": [{"item": "mat", "qty": 3, "price": 20.5}], "shipping": 4.0}',
            ),
            say("clerk", "The total for order A-1, shipping included, is 24.50 EUR."),
            say("desk", "You pay 24.50 EUR."),
        ),
        (
            *(KIND.WRONG_CALCULATION, "", 1, "clerk"),
            "'clerk' says 24.50; what 'order' returned in step 0 comes to 65.50.",
        ),
    ),
    "a hand-over that breaks off": (
        run_of(
            say("collector", '{"rows": [{"id": 1, "ok": true}, {"id": 2, "o'),
            call("parser", "parse", {"source": "collector"}, error="JSONDecodeError: Unterminated string"),
            say("desk", "Of the rows 60 are right."),
        ),
        (
            *(KIND.WRONG_REQUEST, "cut_off", 0, "collector"),
            "'collector' hands on JSON that breaks off in step 0; 'parse', called by 'parser', fails.",
        ),
    ),
    "a ready number": (
        run_of(call("sum", "calculate", {"expression": "239.80"}, "239.8"), say("sum", "It is 239.80 EUR.")),
        (
            KIND.WRONG_REQUEST,
            "ready_number",
            0,
            "sum",
            "'sum' called 'calculate' with '239.80' alone and got the same number back.",
        ),
    ),
    "a tool that is none": (
        run_of(
            call("reader", "add_up", "3, 4", error="KeyError: 'add_up'"), say("writer", "It is 71.5 EUR."), agents=TOOL
        ),
        (
            *(KIND.IGNORED_ERROR, "asserted", 1, "writer"),
            "'add_up' failed in step 0 with \"KeyError: 'add_up'\"; 'writer' says '71.5' in step 1 all the same.",
        ),
    ),
    "a tool that is none, and an apology": (
        run_of(
            call("reader", "add_up", "3, 4", error="KeyError: 'add_up'"), say("writer", "Sorry, an error."), agents=TOOL
        ),
        (
            *(KIND.IGNORED_ERROR, "unknown_tool", 0, "reader"),
            "'reader' calls 'add_up', a tool that the team does not have.",
        ),
    ),
    "arguments that were not taken": (
        run_of(
            call("reader", "look_up", {"id": "A-1, 10 %"}, error="ValueError: no id 'A-1, 10 %'"),
            say("reader", "ERROR"),
            say("writer", "It is 71.5 EUR."),
            agents=TOOL,
        ),
        (
            *(KIND.IGNORED_ERROR, "bad_arguments", 0, "reader"),
            "'look_up' did not take 'A-1, 10 %', and it was not called again; "
            "'writer' says '71.5' in step 2 all the same.",
        ),
    ),
    "nothing was changed": (
        run_of(call("dba", "sql", "DELETE", "0 rows affected (locked)"), say("dba", "I deleted the duplicates.")),
        (
            *(KIND.IGNORED_ERROR, "asserted", 0, "dba"),
            "'sql' failed in step 0 with '0 rows affected (locked)'; "
            "'dba' says 'I deleted the duplicates' in step 1 all the same.",
        ),
    ),
    "a report of a tool that nobody called": (
        run_of(say("reader", "look_up confirms the term."), say("writer", "Relief valve."), agents=TOOL),
        (
            KIND.ANNOUNCED_NOT_DONE,
            "",
            0,
            "reader",
            "'reader' says in step 0 what 'look_up' shows, and nobody called it.",
        ),
    ),
    "a replaced sum": (
        run_of(
            say("clerk", "In total: 229.3"),
            call("sum", "calculate", {"expression": "224.4 + 224.4 + 4.9"}, "453.7"),
            say("sum", "It is 453.7 EUR."),
            reason="expected 229.3, got 453.7",
        ),
        (
            *(KIND.REPLACED_VALUE, "", 1, "sum"),
            "'clerk' had 229.3 in step 0; 'sum' has 'calculate' work out '224.4 + 224.4 + 4.9': 453.7.",
        ),
    ),
    "no tool was called": (
        run_of(say("reader", "It is 71.5 EUR."), say("writer", "You pay 71.5 EUR."), agents=TOOL),
        (
            *(KIND.ANSWER_ORIGIN, "memory", 0, "reader"),
            "'reader' is the first to say the answer '71.5', in step 0; no tool was called, not even 'look_up'.",
        ),
    ),
    "a field of a record": (
        run_of(call("reader", "look_up", {}, '{"goods": 19.2, "shipping": 12.5}'), say("writer", "You pay 12.5 EUR.")),
        (
            *(KIND.ANSWER_ORIGIN, "tool", 0, "reader"),
            "The answer '12.5' is the field 'shipping' of what 'look_up' returned in step 0.",
        ),
    ),
    "a name replaced before the last words": (
        run_of(say("a", "Lindal: 645."), say("b", "Novum is best, 712."), say("c", "Book Novum, 712."), reason=LINDAL),
        (KIND.REPLACED_VALUE, "", 1, "b", "'a' had Lindal in step 0; 'b' says Novum is best, 712."),
    ),
}
SILENT = {
    "rows as they are": run_of(say("clerk", ROWS + "| flour | 40 |\n| salt | 6 |"), say("head", "46 EUR."), task=BILLS),
    "a row that is worked out": run_of(
        say("clerk", ROWS + "| flour | 40 |\n| salt | 12 |"),
        say("head", "52 EUR."),
        task=BILLS + " Salt is doubled: 2.",
    ),
    "a row of two records": run_of(
        say("clerk", ROWS + "| flour | 40 |\n| salt | 9 |"),
        say("head", "49 EUR."),
        task=BILLS + " Salt of May: 9.5 EUR.",
    ),
    "rows that tell whose they are": run_of(
        say("clerk", ROWS + "| lamps (Lyon) | 310 |\n| rugs (Lyon) | 95 |\n| vases (Nice) | 77 |"),
        say("head", "482 EUR."),
        task=ROOMS,
    ),
    "a task that asks for nobody": run_of(
        say("clerk", ROWS + "| lamps | 310 |\n| rugs | 95 |\n| vases | 77 |"),
        say("head", "482 EUR."),
        task=ROOMS.replace("did Lyon", "did they"),
    ),
    "a name that the result tells of": run_of(
        call("desk", "free", {"who": "Maya"}, "Maya: 9, Tomas: 11"),
        say("desk", "At 11."),
        task="When can Maya and Tomas meet?",
    ),
    "names of which none was asked for": run_of(
        call("desk", "free", {"day": "Monday"}, "9, 11"), say("desk", "At 11."), task="When can Maya and Tomas meet?"
    ),
    "all of the rest": run_of(
        call("desk", "booked", {}, "Ruiz, Moreau, Klein, Sato, Novak, Ito"),
        call("desk", "paid", {}, '{"paid": ["Sato", "Klein", "Ito"]}'),
        say("desk", "Still to pay: Moreau, Ruiz and Novak"),
    ),
    "a result beside its terms": run_of(
        say("one", "58 min, 62 min, 65 min. So the last = 45 min."),
        say("two", "58 + 62 + 65 = 185 min"),
        task="In all?",
    ),
    "a grand tour that is no grand total": run_of(
        say("clerk", "- Guide: $50\n- Locker: $30\n- Grand tour: $75"), say("adder", "In all 155"), task="Add it up."
    ),
    "options to choose from": run_of(
        say("user", "Choose:\n(A) 3.01 \u00d7 10^23 g\n(B) 6.02 \u00d7 10^23 g"),
        say("solver", "We take 3.014 \u00d7 10^23 g."),
    ),
    "an order with a voucher": run_of(
        call("clerk", "order", {}, '{"lines": [{"item": "mat", "qty": 3, "price": 20.5}], "shipping": 4.0}'),
        say("clerk", "The total is 59.35 EUR."),
        say("desk", "It is 59.35 EUR."),
        task="What is to pay with a voucher of 10 %?",
    ),
    "the goods of an order": run_of(
        call("clerk", "order", {}, '{"lines": [{"item": "mat", "qty": 3, "price": 20.5}], "shipping": 4.0}'),
        say("clerk", "The total of the goods is 61.50 EUR."),
        say("desk", "It is 61.50 EUR."),
    ),
    "the example as it is": code_run("2.5"),
    "another call than the example": code_run("2", task="Write half(n). Examples: half(5) == 2.5, half(4) == 2"),
    "coordinates as they are": run_of(
        call("pilot", "position", {"port": "Kiel"}, POINT),
        call("pilot", "distance", {"lat1": 54.18, "lon1": 12.1}, "25"),
    ),
    "a way back": run_of(
        call("desk", "flights", {}, '{"origin": "JFK", "destination": "SEA"}'),
        call("desk", "flights", {"origin": "SEA", "destination": "JFK"}, "[]"),
    ),
    "rows that were changed": run_of(
        call("dba", "sql", "DELETE", "33 rows affected"), say("dba", "I deleted the duplicates.")
    ),
    "a report of a tool that was called": run_of(
        call("reader", "look_up", {}, "ok"), say("reader", "look_up confirms the term."), agents=TOOL
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_it_is_told_once_at_the_step_to_mend(name: str) -> None:
    run, (kind, *wanted) = TOLD[name]
    (only,) = found(run, kind)
    assert [only.detail, only.step, only.agent, only.text] == wanted
    assert only.quote


@pytest.mark.parametrize("name", SILENT)
def test_its_sound_twin_is_silent(name: str) -> None:
    told = [each for each in findings_of(SILENT[name]) if each.kind is not KIND.ANSWER_ORIGIN]
    assert told == []


@pytest.mark.parametrize("name", TOLD)
def test_nothing_led_to_an_answer_that_was_accepted(name: str) -> None:
    passed = TOLD[name][0].model_copy(update={"outcome": RunOutcome.SUCCEEDED})
    assert not any(each.leads_to_answer for each in findings_of(passed) if each.kind is not KIND.MADE_UP_DATA)


def test_who_asks_again_and_again_is_told_and_not_who_answers() -> None:
    steps = [
        step
        for words in ("Please check S-9.", "Check S-9 again.", "Is S-9 valid?")
        for step in (say("lead", words), call("auditor", "certificate", {"supplier": "S-9"}, "valid"))
    ]
    (loop,) = found(run_of(*steps, say("lead", "S-11 has none.")), KIND.LOOP)
    assert (loop.agent, loop.step) == ("lead", 2)
    assert loop.text == "'lead' asks for 'S-9' 3 times, in steps 0, 2, 4, and the same comes back."


def test_an_answer_that_is_right_in_another_form_has_no_cause() -> None:
    run = run_of(
        call("timer", "times", {}, '{"a": 2012, "b": 1934, "c": 1987}'),
        say("judge", "In all: 2012 + 1934 = 3947 s."),
        say("speaker", "The time is 1934 seconds."),
    )
    told = findings_of(run, reference="32:14")
    assert [each.kind for each in told if each.leads_to_answer] == [KIND.DIFFERENT_FORM]


def test_a_number_of_an_error_message_is_no_record() -> None:
    run = run_of(
        call("finder", "fetch", {"url": "x"}, error="ConnectionError: [Errno 104] Connection reset by peer"),
        say("finder", "It runs for 124 minutes."),
    )
    assert found(run, KIND.RECORD_CONTRADICTED) == []
