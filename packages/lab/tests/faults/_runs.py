"""Recorded runs of small teams, for the tests of faults."""

from collections.abc import Sequence

from pydantic import JsonValue

from tracer_hooks.schema import AgentSpec, RunOutcome, Step, StepInput, StepKind, ToolCall, Trajectory
from tracer_hooks_lab.faults import FaultContext, context_of_step

TICKETS = (
    "Lena buys 3 train tickets from Lisbon to Porto at 25.00 EUR each. What does she pay, including a booking fee of "
    "10 % on the whole order? Give the total in EUR."
)
SOLVED = (
    "The tickets cost 3 x 25.00 = 75.00 EUR. The booking fee is 10 % of that, which is 7.50 EUR. "
    "Together this makes 82.50 EUR.\nANSWER: 82.50"
)
CODE = """Here is the function.

```python
def count_even(items, limit):
    if not items:
        return 0
    total = 0
    for i in range(len(items)):
        if items[i] % 2 == 0 and items[i] < limit:
            total += 1
    return total
```
It counts the even items below the limit."""


def roster(*names: str) -> tuple[AgentSpec, ...]:
    return tuple(AgentSpec(name=name, instructions=f"You are the {name}.") for name in names)


def recorded(run_id: str, task: str, steps: Sequence[Step], *, team: str = "team") -> Trajectory:
    names = dict.fromkeys(step.agent for step in steps)
    return Trajectory(
        run_id=run_id, team=team, task=task, agents=roster(*names), steps=tuple(steps), outcome=RunOutcome.SUCCEEDED
    )


def said(index: int, agent: str, content: str, *inputs: StepInput) -> Step:
    return Step(index=index, agent=agent, content=content, inputs=inputs)


def called(index: int, agent: str, name: str, arguments: dict[str, JsonValue], result: str) -> Step:
    call = ToolCall(name=name, arguments=arguments, result=result, call_id=f"c{index}")
    return Step(index=index, agent=agent, kind=StepKind.TOOL_CALL, tool_calls=(call,))


PIPELINE = recorded(
    "pipeline",
    TICKETS,
    [
        said(0, "planner", "First work out the price of 3 tickets from Lisbon to Porto. Then add the fee of 10 %."),
        called(1, "solver", "price", {"origin": "Lisbon", "count": 3}, "25.00 EUR a ticket, 75.00 EUR for 3"),
        said(2, "solver", SOLVED),
        said(3, "checker", "I checked the sum: 75.00 + 7.50 = 82.50. The result is correct.\nANSWER: 82.50\nTERMINATE"),
    ],
)
CODING = recorded(
    "coding",
    "Write count_even(items, limit): how many even items are below limit? It must return 0 for an empty list.",
    [
        said(0, "planner", "Write a loop with a counter. Check the empty list first."),
        said(1, "solver", CODE),
        said(2, "checker", "The code passes the tests. Yes, it is correct. APPROVED"),
    ],
)
DEBATE = recorded(
    "debate",
    "Anna is 4 years older than Ben Miller, who is 12. How old are they together?",
    [
        said(0, "left", "Anna is 16 and Ben Miller is 12, so Anna is older. The answer is 27."),
        said(1, "right", "Ben Miller is 12 and Anna is 16. Adding them gives 28. The answer is 28."),
        called(2, "left", "add", {"a": 16, "b": 13, "who": "Ben Miller"}, "29"),
        called(3, "left", "add", {"a": 16, "b": 12, "who": "Anna"}, "28"),
        said(4, "left", "I see that 16 + 12 = 28, so right has it. The answer is 28."),
        said(5, "judge", "Both say 28. The answer is 28."),
    ],
)
RUNS = (PIPELINE, CODING, DEBATE)


def contexts() -> list[FaultContext]:
    return [context_of_step(run, step.index) for run in RUNS for step in run.steps]
