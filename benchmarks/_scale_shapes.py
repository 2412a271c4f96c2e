"""Made-up runs of any number of steps, in the shapes that long runs have."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

from tracer_hooks.schema import RunOutcome, Step, StepInput, StepKind, ToolCall, Trajectory

_WORDS = (
    *("the", "search", "page", "list", "price", "number", "of", "boxes", "found", "in", "column", "answer", "verify"),
    *("report", "table", "city", "ticket", "train", "harbour", "fee", "bridge", "load", "garden", "plan", "recipe"),
    *("cost", "museum", "total", "order", "refund", "customer", "date", "check", "next", "part", "work", "result"),
)
_CODE = "\n```python\nprint(sum(range({0})))\n```"


def _words(rng: random.Random, count: int) -> str:
    return " ".join(str(rng.randrange(1000)) if rng.random() < 0.1 else rng.choice(_WORDS) for _ in range(count))


def _run(steps: Sequence[Step], **fields: object) -> Trajectory:
    told = {"task": "How many boxes are there in the harbour, and what do they cost?", "final_output": "41 boxes"}
    known = {"run_id": f"made-{len(steps)}", "outcome": RunOutcome.FAILED, "outcome_reason": "expected 42, got 41"}
    return Trajectory.model_validate({**told, **known, **fields, "steps": tuple(steps)})


def chatty_team(count: int) -> Trajectory:
    """Five agents who talk in turn, a sentence or two each, and answer one another."""
    rng = random.Random(count)
    return _run(
        [
            Step(
                index=index,
                agent=f"agent{index % 5}",
                content=f"Step {index} says {index * 7} and goes on: {_words(rng, 25)}.",
                inputs=tuple(
                    StepInput(source=f"agent{back % 5}", step=back) for back in range(max(0, index - 5), index)
                ),
            )
            for index in range(count)
        ]
    )


def agent_with_tools(count: int) -> Trajectory:
    """One agent that calls tools, every fourth of which fails, and says what came of it, not always rightly."""
    rng, steps = random.Random(count), []
    for index in range(count):
        if index % 2:
            steps.append(Step(index=index, agent="agent", content=f"The price is {rng.randrange(10**6)} now."))
            continue
        failed = index % 8 == 0
        call = ToolCall(
            name=f"tool{index % 3}",
            arguments={"query": _words(rng, 4), "page": index},
            result=None if failed else json.dumps({"price": rng.randrange(10**6), "row": index}),
            error="ValueError: no such row" if failed else None,
        )
        steps.append(Step(index=index, agent="agent", kind=StepKind.TOOL_CALL, tool_calls=(call,)))
    return _run(steps, outcome=RunOutcome.UNKNOWN, outcome_reason=None)


def planner_with_workers(count: int) -> Trajectory:
    """A planner that hands work to four workers, of whom one writes code that a terminal runs."""
    rng, steps = random.Random(count), []
    for index in range(count):
        turn, worker = index % 3, f"worker{(index // 3) % 4}"
        if turn == 0:
            text = f"Please {_words(rng, 12)}."
            steps.append(Step(index=index, agent="planner", kind=StepKind.HANDOFF, recipient=worker, content=text))
        elif turn == 1:
            text = f"I will look: {_words(rng, 20)}." + _CODE.format(index)
            steps.append(Step(index=index, agent=worker, content=text))
        else:
            text = "exitcode: 1 (execution failed)\nNameError: x" if index % 4 else f"exitcode: 0\n{index}"
            steps.append(Step(index=index, agent="computer_terminal", content=text))
    return _run(steps)


def long_texts(count: int) -> Trajectory:
    """Three agents who write 3,000 characters each time."""
    rng = random.Random(count)
    texts = [_words(rng, 500) for _ in range(50)]
    return _run(
        [
            Step(index=index, agent=f"agent{index % 3}", content=f"{index} {texts[index % 50]} {_words(rng, 60)}")
            for index in range(count)
        ]
    )


def all_repeating(count: int) -> Trajectory:
    """Two agents who say the same two sentences for ever."""
    said = (
        "I have verified the list of harbour fees and it is correct.",
        "Please verify the list of harbour fees again.",
    )
    return _run([Step(index=index, agent=f"agent{index % 2}", content=said[index % 2]) for index in range(count)])


def all_distinct(count: int) -> Trajectory:
    """Agents, each of whom speaks once, in numbers that nobody else names."""
    return _run(
        [
            Step(
                index=index,
                agent=f"agent{index}",
                content=" and ".join(f"{index * 20 + place + 10**6}" for place in range(20)) + f" make n{index}.",
            )
            for index in range(count)
        ]
    )


def _spans(count: int, parent: Callable[[int], int]) -> str:
    trace = "0af7651916cd43dd8448eb211c80319c"
    spans = []
    for number in range(1, count + 1):
        reply = [{"role": "assistant", "parts": [{"type": "text", "content": f"step {number} is {number * 7}"}]}]
        attributes = {
            "gen_ai.operation.name": "invoke_agent" if number == 1 else "chat",
            "gen_ai.output.messages": json.dumps(reply),
            **({"gen_ai.agent.name": f"agent{number % 5}"} if number == 1 or number % 2 else {}),
        }
        above = parent(number)
        spans.append(
            {
                "traceId": trace,
                "spanId": f"{number:016x}",
                **({"parentSpanId": f"{above:016x}"} if above else {}),
                "name": "call",
                "startTimeUnixNano": str(1_700_000_000_000_000_000 + number * 1000),
                "endTimeUnixNano": str(1_700_000_000_000_000_500 + number * 1000),
                "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
            }
        )
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def otlp_chain(count: int) -> str:
    """Spans each of which is the parent of the next, as OTLP JSON."""
    return _spans(count, lambda number: number - 1)


def otlp_star(count: int) -> str:
    """Spans that are all children of the first, as OTLP JSON."""
    return _spans(count, lambda number: 1 if number > 1 else 0)


RUNS: dict[str, Callable[[int], Trajectory]] = {
    "chatty team": chatty_team,
    "one agent with tools": agent_with_tools,
    "planner with workers": planner_with_workers,
    "long texts": long_texts,
    "all repeating": all_repeating,
    "all distinct": all_distinct,
}
"""Runs that are diagnosed."""
TRACES: dict[str, Callable[[int], str]] = {"OTLP chain": otlp_chain, "OTLP star": otlp_star}
"""Traces that are read into runs."""
