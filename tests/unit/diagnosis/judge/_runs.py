"""Runs and replies that the tests of the judge share."""

from __future__ import annotations

import json
from typing import Any

from tracer_hooks.diagnosis.judge import JudgeAttributor, JudgeBudget, JudgeOptions
from tracer_hooks.schema import AgentSpec, RunOutcome, Step, StepKind, ToolCall, Trajectory
from tracer_hooks.testing import ScriptedLLM


def shop_run(**changes: Any) -> Trajectory:
    """A failed run of seven steps: the calculator multiplies where it should add, at step 3."""
    run = Trajectory(
        run_id="shop-1",
        task="What do a book for 12 euros and a pen for 3 euros cost together?",
        agents=(
            AgentSpec(name="Planner", instructions="Break the task down."),
            AgentSpec(name="Price_Finder", instructions="Look prices up.", tools=("price",)),
            AgentSpec(name="Calculator", instructions="Do sums."),
            AgentSpec(name="Archivist", instructions="Never asked."),
        ),
        steps=(
            Step(index=0, agent="user", content="What do a book and a pen cost together?"),
            Step(index=1, agent="Planner", content="Price_Finder, look both prices up."),
            Step(
                index=2,
                agent="Price_Finder",
                kind=StepKind.TOOL_CALL,
                tool_calls=(ToolCall(name="price", arguments={"items": ["book", "pen"]}, result="book 12, pen 3"),),
            ),
            Step(index=3, agent="Calculator", content="12 times\n  3 is 36, so both\tcost 36 euros."),
            Step(index=4, agent="Planner", content="Calculator says 36. Price_Finder, is that right?"),
            Step(index=5, agent="Price_Finder", content="I trust the Calculator."),
            Step(index=6, agent="Planner", content="Together they cost 36 euros. TERMINATE"),
        ),
        outcome=RunOutcome.FAILED,
        outcome_reason="check: expected 15",
        final_output="Together they cost 36 euros.",
    )
    return run.model_copy(update=changes)


def long_run(steps: int = 40, size: int = 1_500) -> Trajectory:
    """A failed run whose text is far beyond a small context; step 17 says what the others do not."""
    words = "the weather report of the day was read out once more and nobody said anything new about it. "
    filler = (words * (size // len(words) + 1))[:size]
    contents = [f"Step number {index}. {filler}" for index in range(steps)]
    contents[17] = f"I will simply make the figure up: 4711. {filler}"
    return Trajectory(
        run_id="long-1",
        task="How many reports came in?",
        steps=tuple(Step(index=i, agent=("Reader", "Writer")[i % 2], content=text) for i, text in enumerate(contents)),
        outcome=RunOutcome.FAILED,
        final_output="4711",
    )


def judge(llm: ScriptedLLM, **options: Any) -> JudgeAttributor:
    """A judge on the scripted server, without a cache and without pauses unless ``options`` say so."""
    settings: dict[str, Any] = {"cache_dir": None, "backoff_s": 0.0, "protocol": "all-at-once", **options}
    return JudgeAttributor(JudgeOptions(model="scripted", base_url=llm.base_url, **settings))


def verdict(**changes: Any) -> str:
    """A good reply to the whole question about :func:`shop_run`."""
    reply = {
        "reason": "The Calculator multiplied where it had to add.",
        "verdict": "fault",
        "agent": "Calculator",
        "step": 3,
        "error_mode": "FM-2.6",
        "probability": 0.8,
        "evidence": [{"step": 3, "quote": "12 times 3 is 36", "why": "a product instead of a sum"}],
        "other_faults": [],
        "alternatives": [{"step": 5, "probability": 0.1}],
    }
    return json.dumps(reply | changes)


def explanation(**changes: Any) -> str:
    """A good reply to the question why a step is decisive."""
    reply = {
        "reason": "The sum is wrong.",
        "verdict": "fault",
        "error_mode": "FM-3.3",
        "probability": 0.7,
        "evidence": [],
        "other_faults": [],
    }
    return json.dumps(reply | changes)


def budget(**limits: Any) -> JudgeBudget:
    """A budget with no limit but those given."""
    return JudgeBudget(**{"calls": None, "tokens": None, "seconds": None, **limits})
