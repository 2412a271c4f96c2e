"""Made-up data is told from its words, its stand-ins in code and the values typed into code; else nothing is said."""

import pytest

from tracer_hooks.diagnosis.findings.made_up_data import KIND
from tracer_hooks.schema import FindingKind, ToolCall

TYPED = "```python\nrents = {'North': 812.50, 'South': 1043.25}\nprint(sum(rents.values()))\n```"


@pytest.mark.parametrize(
    "words",
    [
        "The feed is down, so I will use mock data for the three branches.",
        "Let's assume we have downloaded the report and go on from there.",
        "For demonstration, the shipping rates are 4, 5 and 6 EUR.",
        "I entered the assumed ticket prices. I computed with the assumed ticket prices.",
        "Assuming we have the following prices: adult 25, child 14.",
        "The table below has synthetic sales figures.",
    ],
)
def test_words_that_say_so(read, words):
    run = read(("clerk", words), ("writer", "The total is 39."))
    (found,) = KIND.find(run)
    assert (found.kind, found.step, found.agent) == (FindingKind.MADE_UP_DATA, 0, "clerk")
    assert found.quote
    assert found.quote in words


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("headers = {'key': 'YOUR_API_KEY'}", "YOUR_API_KEY"),
        ("image = open('path/to/photo.png')", "path/to/photo.png"),
        ("video = 'example_video_id'", "example_video_id"),
        ("rate = 20  # distance in blocks (assuming 20 blocks per mile)", "(assuming 20 blocks per mile"),
        ("# Placeholder for the real prices", "Placeholder"),
    ],
)
def test_stand_ins_in_code(read, line, shown):
    run = read(("coder", f"Run this:\n```python\n{line}\nprint(1)\n```"), ("terminal", "1"))
    (found,) = KIND.find(run)
    assert shown in found.text
    assert found.quote in run.steps[0].content


def test_stand_in_in_the_arguments_of_a_call(read):
    call = ToolCall(
        name="run_code", arguments={"code": "key = 'YOUR_SECRET_KEY'\nprint(key)"}, result="YOUR_SECRET_KEY"
    )
    (found,) = KIND.find(read(("coder", "", [call])))
    assert "YOUR_SECRET_KEY" in found.quote


def test_values_typed_into_code_lead_to_the_answer(read):
    run = read(
        ("coder", TYPED), ("terminal", "exitcode: 0\nCode output: 1855.75"), ("lead", "It is 1855.75."), final="1855.75"
    )
    (found,) = KIND.find(run)
    assert (found.detail, found.step, found.leads_to_answer) == ("typed_in", 0, True)
    assert "812.50" in found.text
    assert "1043.25" in found.text
    assert KIND.advice is not None
    assert "coder" in KIND.advice(found)


def test_values_that_were_given_are_not_typed_in(read):
    run = read(("coder", TYPED), ("terminal", "1855.75"), task="North rents for 812.50 and South for 1043.25. Total?")
    assert not list(KIND.find(run))


@pytest.mark.parametrize(
    "words",
    [
        "I will not use mock data here.",
        "The call failed due to the placeholder value in the request.",
        "Please replace the placeholder path with the actual one.",
        "Assume x > 0. Then the assumed inequality gives y > 2.",
        "The sample size was 40, a random sample of the town.",
        "My solution incorrectly assumed different amounts for each category.",
        "# Assuming the column is called 'Street'",
    ],
)
def test_near_misses(read, words):
    assert not list(KIND.find(read(("clerk", words), ("writer", "Done: 12."))))


@pytest.mark.parametrize(
    "code",
    [
        "```python\nassert add(812.50, 1043.25) == 1855.75  # dummy values\n```",
        "```python\nimport requests\nprice = requests.get(url, timeout=12.25).json()['p'] * 1043.25\n```",
        "```python\n# Example usage\nprint(total())\n```",
        "```python\nsleep(10)  # Simulate cooking time\n```",
    ],
)
def test_code_that_is_no_data(read, code):
    assert not list(KIND.find(read(("coder", code), ("terminal", "ok"))))


@pytest.mark.parametrize(
    "task",
    ["Simulate 1,000 draws of two dice.", "Write a function that adds two lists.", "Assume a rate of 5 %. Total?"],
)
def test_silent_where_the_task_asks_for_it(read, task):
    assert not list(KIND.find(read(("coder", "I use simulated data. " + TYPED), ("terminal", "7"), task=task)))


@pytest.mark.parametrize("content", ["", "<b>mock</b><script>", "\x00\x01\ufffd", "```python\n" + "x = '1\n" * 150_000])
def test_hostile_input(read, content):
    assert not list(KIND.find(read(("a", content), task="")))
    assert not list(KIND.find(read(task="")))
