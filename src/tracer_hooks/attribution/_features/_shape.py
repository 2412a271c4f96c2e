"""What kind of act a step is, and how much is in it."""

from __future__ import annotations

import re

import numpy as np

from tracer_hooks.attribution._features._likeness import BESIDE
from tracer_hooks.attribution._features._marks import first_of
from tracer_hooks.attribution._features._view import Column, View, mentions
from tracer_hooks.schema import StepKind

_LIST = re.compile(r"^\s*(?:[-*\u2022]|\d{1,2}[.)])\s", re.MULTILINE)
PLAN = re.compile(
    r"\b(?:plan|step \d|first,? (?:i|we)|to solve this|approach|outline|strategy|we (?:will|need to"
    r"|should)|next step)\b",
    re.IGNORECASE,
)
PLANS = ("plan", "step ", "first", "to solve this", "approach", "outline", "strategy", "we ", "next step")
"""Every match of :data:`PLAN` has one of these, in lower case."""
LEDGERS = ("ledger", "plan", "stall", "fact")
LEDGER = re.compile(r"updated ledger|initial plan|new plan|stalled|replanning|facts? (?:to|we)", re.IGNORECASE)
_QUESTION = re.compile(r"\?\s*(?:$|\n)")


def shape(view: View) -> dict[str, Column]:
    """Kind and size."""
    steps, texts = view.steps, view.texts
    length = np.array([float(len(one.content)) + len(text.shown) for one, text in zip(steps, texts, strict=True)])
    logs = np.log1p(length)
    code = np.array([len(text.code) / max(1, len(text.said)) for text in texts])
    return {
        "shape: log length": logs,
        "shape: length against the run's": _standard(logs),
        "shape: length against the agent's own": _against_own(view, logs),
        "shape: fewer than 120 characters": (length < 120).astype(float),
        "shape: empty": (length == 0).astype(float),
        "shape: has code": view.flags([bool(text.code) for text in texts]),
        "shape: share of code": code,
        "shape: code is written and only printed": view.flags([_is_printing(text.code) for text in texts]),
        "shape: hand-off": view.flags([step.kind is StepKind.HANDOFF for step in steps]),
        "shape: tool call": view.flags([bool(step.tool_calls) for step in steps]),
        "shape: raised": view.flags([step.kind is StepKind.ERROR or step.error is not None for step in steps]),
        "shape: only routes": view.flags(view.is_routing),
        "shape: hands the task on": view.flags([view.trace.is_brief(i) for i in range(view.count)]),
        "shape: list items": np.log1p([float(len(_LIST.findall(text.prose))) for text in texts]),
        "shape: plans": view.flags([_plans(text.prose[:3_000]) for text in texts]),
        "shape: keeps a ledger": view.flags([_keeps_ledger(step.content[:300]) for step in steps]),
        "shape: asks a question": view.flags([_QUESTION.search(text.prose) is not None for text in texts]),
        "shape: share of numbers": np.array([len(t.numbers) / max(1, len(t.words)) for t in texts]),
    }


def flow(view: View) -> dict[str, Column]:
    """The hand-off graph: who was asked, who answered, and who built on it."""
    steps, count = view.steps, view.count
    asked = view.column()
    code_ran = view.column()
    for index in range(count):
        for back in range(index - 1, max(-1, index - 3), -1):
            if steps[back].recipient == steps[index].agent:
                asked[index] = 1.0
                break
            if not view.is_routing[back]:
                break
        code_ran[index] = float(index + 1 < count and view.is_report[index + 1] and bool(view.texts[index].code))
    readers = np.array([float(len({steps[j].agent for j in view.trace.consumers(i)})) for i in range(count)])
    alike = view.likeness
    return {
        "flow: answers a hand-off": asked,
        "flow: first answer to a hand-off": first_of(asked),
        "flow: hands work to another": view.flags([step.recipient is not None for step in steps]),
        "flow: first hand-off": first_of(view.flags([step.recipient is not None for step in steps])),
        "flow: its code is run next": code_ran,
        "flow: agents that read it": readers,
        "flow: taken up by a later step": alike.later,
        "flow: taken up by the next step": alike.beside[:, BESIDE + 1],
        "flow: takes up the step before": alike.beside[:, BESIDE - 1],
        "flow: followed by a report": view.flags([i + 1 < count and view.is_report[i + 1] for i in range(count)]),
        "flow: after a report": view.flags([i > 0 and view.is_report[i - 1] for i in range(count)]),
        "flow: after a planner": view.flags([i > 0 and view.agents[i - 1] in view.planners for i in range(count)]),
        "flow: before a planner": view.flags(
            [i + 1 < count and view.agents[i + 1] in view.planners for i in range(count)]
        ),
    }


def _plans(text: str) -> bool:
    return mentions(text.lower(), PLANS) and PLAN.search(text) is not None


def _keeps_ledger(text: str) -> bool:
    return mentions(text.lower(), LEDGERS) and LEDGER.search(text) is not None


def _standard(values: Column) -> Column:
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros_like(values)


def _against_own(view: View, values: Column) -> Column:
    out = view.column()
    steps_of: dict[str, list[int]] = {}
    for index, agent in enumerate(view.agents):
        steps_of.setdefault(agent, []).append(index)
    for own in steps_of.values():
        out[own] = values[own] - values[own].mean()
    return out


def _is_printing(code: str) -> bool:
    lines = [line.strip() for line in code.splitlines() if line.strip() and not line.strip().startswith("#")]
    return 0 < len(lines) <= 3 and any(line.startswith("print(") for line in lines)
