"""The steps of one attempt as the page shows them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tracer_hooks.report._excerpts import Excerpt, excerpt
from tracer_hooks.report._timeline import colours_of
from tracer_hooks.report._wording import KINDS, clean, in_seconds, lasted
from tracer_hooks.schema import Attribution, Step, StepInput, ToolCall, Trajectory

MOST_STEPS = 400
"""Steps of one attempt that a page shows; of a longer run, those that matter and those around them."""
_NEIGHBOURS = 12
_ONE_LINE = 88


@dataclass(frozen=True, kw_only=True)
class InputView:
    """Something that the agent was shown."""

    source: str
    step: int | None
    text: Excerpt | None


@dataclass(frozen=True, kw_only=True)
class ToolView:
    """One tool call."""

    name: str
    attempts: int
    arguments: Excerpt | None
    result: Excerpt | None
    error: Excerpt | None


@dataclass(frozen=True, kw_only=True)
class StepView:
    """One step."""

    index: int
    agent: str
    colour: int
    kind: str
    css: str
    role: str
    """``decisive``, ``start``, ``evidence``, ``spread`` or empty."""
    content: Excerpt | None
    error: Excerpt | None
    inputs: tuple[InputView, ...]
    tools: tuple[ToolView, ...]
    recipient: str
    facts: tuple[str, ...]
    """Model, tokens, duration and attempts, in words."""
    skipped: int
    """How many steps before this one are not in the page."""
    open_inputs: bool
    """Whether the inputs are unfolded, because the step is the decisive one."""


def shown_steps(trajectory: Trajectory, attribution: Attribution | None) -> list[Step]:
    """The steps that the page shows, in order: all of them, or the most telling ones of a very long run."""
    steps = trajectory.steps
    if len(steps) <= MOST_STEPS:
        return list(steps)
    wanted: dict[int, None] = {}
    for centre in _telling(attribution):
        wanted.update(dict.fromkeys(range(centre - _NEIGHBOURS, centre + _NEIGHBOURS + 1)))
    wanted.update(dict.fromkeys(range(50)))
    wanted.update(dict.fromkeys(range(len(steps) - 50, len(steps))))
    wanted.update(dict.fromkeys(range(len(steps))))
    inside = [index for index in wanted if 0 <= index < len(steps)]
    return [steps[index] for index in sorted(inside[:MOST_STEPS])]


def texts_of(steps: Iterable[Step]) -> Iterator[str]:
    """Every text of the steps that the page would show, for sharing out its size."""
    for step in steps:
        yield from (step.content, step.error or "")
        yield from (each.text or "" for each in step.inputs if each.step is None)
        for call in step.tool_calls:
            yield from (pretty(call.arguments), call.result or "", call.error or "")


def step_views(
    trajectory: Trajectory, steps: Sequence[Step], attribution: Attribution | None, *, limit: int
) -> list[StepView]:
    """``steps`` ready for the template; ``limit`` is what each text may take."""
    colours = colours_of(trajectory)
    views = []
    expected = 0
    for step in steps:
        view = _view(step, attribution, limit, colour=colours[step.agent], skipped=step.index - expected)
        views.append(view)
        expected = step.index + 1
    return views


def pretty(value: object) -> str:
    """Tool arguments as JSON, on one line when they are short; a string stays as it is."""
    if value is None or value == {}:
        return ""
    if isinstance(value, str):
        return value
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= _ONE_LINE else json.dumps(value, indent=2, ensure_ascii=False)


def _view(step: Step, attribution: Attribution | None, limit: int, *, colour: int, skipped: int) -> StepView:
    quotes = _quotes(attribution, step.index)
    role = _role(attribution, step.index)

    def cut(text: str | None) -> Excerpt | None:
        return excerpt(text, limit=limit, quotes=quotes) if text else None

    return StepView(
        index=step.index,
        agent=clean(step.agent),
        colour=colour,
        kind=KINDS[step.kind],
        css="failed" if step.failed_tools else step.kind.value,
        role=role,
        content=cut(step.content),
        error=cut(step.error),
        inputs=tuple(_input(each, limit) for each in step.inputs),
        tools=tuple(_tool(call, limit, quotes) for call in step.tool_calls),
        recipient=clean(step.recipient or ""),
        facts=tuple(_facts(step)),
        skipped=skipped,
        open_inputs=role in ("decisive", "start") and len(step.inputs) <= 4,
    )


def _input(given: StepInput, limit: int) -> InputView:
    # The output of a step stands in the page already; only what came from outside is written out.
    text = given.text if given.step is None else None
    return InputView(
        source=clean(given.source), step=given.step, text=excerpt(text, limit=limit, fold_from=300) if text else None
    )


def _tool(call: ToolCall, limit: int, quotes: Sequence[str]) -> ToolView:
    def cut(text: str | None) -> Excerpt | None:
        return excerpt(text, limit=limit, quotes=quotes, fold_from=500) if text else None

    return ToolView(
        name=clean(call.name),
        attempts=call.attempts,
        arguments=cut(pretty(call.arguments)),
        result=cut(call.result),
        error=cut(call.error),
    )


def _facts(step: Step) -> Iterator[str]:
    if step.model:
        yield clean(step.model)
    if step.usage is not None:
        yield f"{step.usage.input_tokens:,} in, {step.usage.output_tokens:,} out tokens"
    if spent := in_seconds(lasted(step.started_at, step.ended_at)):
        yield spent
    if step.started_at is not None:
        yield f"{step.started_at:%H:%M:%S} UTC"
    if step.attempts > 1:
        yield f"{step.attempts} model calls"


def _quotes(attribution: Attribution | None, index: int) -> list[str]:
    if attribution is None:
        return []
    return [each.quote for each in (*attribution.evidence, *attribution.spread) if each.step == index and each.quote]


def _role(attribution: Attribution | None, index: int) -> str:
    if attribution is None:
        return ""
    if attribution.step == index and attribution.certainty is not None:
        return "start" if attribution.certainty == "weak" else "decisive"
    if any(each.step == index for each in attribution.spread):
        return "spread"
    return "evidence" if any(each.step == index for each in attribution.evidence) else ""


def _telling(attribution: Attribution | None) -> Iterator[int]:
    if attribution is not None:
        if attribution.step is not None:
            yield attribution.step
        for group in (attribution.evidence, attribution.spread, attribution.candidates[:10]):
            yield from (each.step for each in group)
