"""Only a specific value that is asserted is said to have spread."""

from __future__ import annotations

import pytest

from tracer_hooks.diagnosis._reading import RunReading
from tracer_hooks.diagnosis._rules._spread import spread_of
from tracer_hooks.schema import RunOutcome, Step, StepInput, Trajectory


def spread(
    first: str, later: str, *, task: str = "What does it cost?", before: str = "Hello."
) -> list[tuple[int, str]]:
    steps = (
        Step(index=0, agent="a", content=before),
        Step(index=1, agent="b", content=first),
        Step(index=2, agent="c", content=later),
    )
    trace = RunReading(Trajectory(run_id="r", task=task, steps=steps, outcome=RunOutcome.FAILED))
    return [(one.step, one.quote) for one in spread_of(trace, 1, ())]


def test_a_value_that_is_taken_over_in_prose() -> None:
    assert spread("The room costs 1,237.50 EUR.", "So you will pay 1237.50 EUR in all.") == [
        (2, "So you will pay 1237.50 EUR in all.")
    ]


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("We found -1 of the items there.", "There is -1 in the list of items."),
        ("There are 12 ways to prepare it.", "There are 12 ways to do this well."),
        ("It was built in the year 1889.", "It was built in the year 1889, they say."),
        ("The page shows 37% of the text here.", "The page is now 37% down from the top."),
        ("Look at https://x.org/search?q=a&sp=4711 now.", "I opened https://x.org/search?q=b&sp=4711 just now."),
        ("The picture is 600px wide on the page.", "The picture is 600px wide on my page."),
        ('Its record is {"id": 4711, "name": "x"} in there.', 'The record was {"id": 4711, "name": "y"} there.'),
        ("```python\nprice = 4711\n```", "```python\nprint(4711)\n```"),
        ("The room costs 1237 EUR a night.", "4711"),
        ("The room costs 1237 EUR a night.", "| 1237 |"),
    ],
)
def test_what_is_no_value_of_the_run_does_not_spread(first: str, later: str) -> None:
    assert spread(first, later) == []


def test_a_value_of_the_task_or_of_an_earlier_step_did_not_come_up_here() -> None:
    assert spread("It costs 1237 EUR, I say.", "It costs 1237 EUR, I hear.", task="Is it 1237?") == []
    assert spread("It costs 1237 EUR, I say.", "It costs 1237 EUR, I hear.", before="I saw 1237 there.") == []


def test_a_reader_of_the_step_needs_no_quotation() -> None:
    steps = (
        Step(index=0, agent="a", content="Good morning to you."),
        Step(index=1, agent="b", content="And to you.", inputs=(StepInput(source="a", step=0),)),
    )
    trace = RunReading(Trajectory(run_id="r", task="Greet.", steps=steps, outcome=RunOutcome.FAILED))
    (only,) = spread_of(trace, 0, ())
    assert (only.step, only.quote, only.why) == (1, "", "It was shown what step 0 says.")
