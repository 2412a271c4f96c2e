"""A claimed act is told only where nobody acted and the run records acts."""

import pytest

from tracer_hooks.diagnosis.findings.announced_not_done import KIND
from tracer_hooks.schema import FindingKind, ToolCall

LOOKS = ("looker", "I look it up.", [ToolCall(name="search", arguments={"q": "opening hours"}, result="9 to 17")])


@pytest.mark.parametrize(
    "words",
    [
        "I have verified the opening hours on the museum's website. They are right.",
        "I've checked Fandango and found two films.",
        "I have carefully reviewed the source, and it has no images.",
        "Upon reviewing the nomination page, it appears that Ann wrote it.",
        "I double-checked the figures with the customer database: all is well.",
    ],
)
def test_claims_with_no_act(read, words):
    run = read(("clerk", "Let us begin."), LOOKS, ("clerk", "Fine."), ("clerk", words), ("lead", "Thanks, done."))
    (found,) = KIND.find(run)
    assert (found.kind, found.step, found.agent) == (FindingKind.ANNOUNCED_NOT_DONE, 3, "clerk")
    assert found.quote in words
    assert "clerk" in found.text
    assert not KIND.blame


@pytest.mark.parametrize(
    "words",
    [
        "After conducting a manual search, I found the video.",
        "I watched the clip: a penguin.",
        "I listened to the tape.",
    ],
)
def test_what_only_a_tool_could_do(read, words):
    (found,) = KIND.find(read(("clerk", "Begin."), LOOKS, ("clerk", words)))
    assert "no tool call" in found.text


@pytest.mark.parametrize(
    "words",
    [
        "I will now check the website.",
        "Once I have checked the website, I will report.",
        "I have not verified the record in the database.",
        "Have I checked the website?",
        "Please tell me whether I have searched the archive.",
        "I have verified the calculation: 3 + 4 = 7.",
        "I have reviewed your plan and agree.",
    ],
)
def test_plans_and_reading_are_no_claims(read, words):
    run = read(("clerk", "Begin."), LOOKS, ("clerk", "Fine."), ("clerk", words))
    assert not list(KIND.find(run))


def test_silent_after_the_act(read):
    words = "I have verified the hours on the website."
    assert not list(KIND.find(read(("clerk", "Begin."), LOOKS, ("clerk", words))))
    assert not list(KIND.find(read(("clerk", words, [ToolCall(name="open", result="9 to 17")]))))
    assert not list(
        KIND.find(read(("clerk", "```python\nfetch()\n```"), ("terminal", "9"), ("clerk", words), ("clerk", words)))
    )


def test_a_run_without_acts_needs_the_name_of_a_tool(read):
    words = "I have checked the database with lookup_order."
    assert not list(KIND.find(read(("clerk", words))))
    assert [found.step for found in KIND.find(read(("clerk", words), tools=("lookup_order",)))] == [0]
    assert not list(KIND.find(read(("clerk", "I have checked the database."), tools=("lookup_order",))))


@pytest.mark.parametrize("content", ["", "<i>I have checked", "\x00\ufffd", "I have checked " * 70_000])
def test_hostile_input(read, content):
    assert not list(KIND.find(read(("a", content), task="")))
    assert not list(KIND.find(read(task="")))
    list(KIND.find(read(LOOKS, ("a", content), task="")))
