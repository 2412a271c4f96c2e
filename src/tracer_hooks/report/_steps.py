"""Steps of a run on a page, one by one: what each says, what it was shown, and what it is to the diagnosis."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from tracer_hooks.report._course import Fold, rows_of, stretches
from tracer_hooks.report._wording import KINDS, Excerpt, View, clean, excerpt, in_seconds, lasted, one_line
from tracer_hooks.schema import Attribution, Step, StepInput, ToolCall, Trajectory

MOST_STEPS: Final = 500
"""Steps of one attempt that a page shows; of a longer run, those that matter and those around them."""
_NEIGHBOURS = 12
_ONE_LINE = 88
_FIRST_WORDS = 110
ROLES: Final = {
    "decisive": "decisive error step",
    "likely": "probably here",
    "start": "place to start",
    "found": "finding",
    "way": "passed it on",
}
"""What a step is to the diagnosis, with the words for it; none is surer than the diagnosis."""


def roles_of(attribution: Attribution | None, way: Iterable[int] = ()) -> dict[int, str]:
    """The steps that tell something.

    Args:
        attribution: The diagnosis.
        way: Steps that passed the blamed value on.
    """
    if attribution is None:
        return {}
    roles = {each.step: "found" for each in attribution.findings if each.step is not None}
    if attribution.certainty == "weak":
        roles.update({each.step: "start" for each in attribution.places})
    elif attribution.step is not None and attribution.certainty is not None:
        roles.update(dict.fromkeys(way, "way"))
        roles[attribution.step] = "decisive" if attribution.certainty == "clear" else "likely"
    return roles


def shown_steps(trajectory: Trajectory, attribution: Attribution | None) -> list[Step]:
    """The steps that the page shows, in order: all of them, or the most telling ones of a very long run."""
    steps = trajectory.steps
    if len(steps) <= MOST_STEPS:
        return list(steps)
    around = [range(centre - _NEIGHBOURS, centre + _NEIGHBOURS + 1) for centre in _telling(attribution)]
    wanted = dict.fromkeys(chain(*around, range(50), range(len(steps) - 50, len(steps)), range(len(steps))))
    inside = [index for index in wanted if 0 <= index < len(steps)]
    return [steps[index] for index in sorted(inside[:MOST_STEPS])]


def texts_of(steps: Iterable[Step]) -> Iterator[str]:
    """Every text of the steps that the page would show, for sharing out its size."""
    for step in steps:
        yield from (step.content, step.error or "")
        yield from (each.text or "" for each in step.inputs if each.step is None)
        for call in step.tool_calls:
            yield from (pretty(call.arguments), call.result or "", call.error or "")


class StepViews:
    """Makes the steps of one attempt ready for the template."""

    def __init__(
        self, attribution: Attribution | None, roles: Mapping[int, str], places: Mapping[str, str], *, limit: int
    ) -> None:
        self._attribution = attribution
        self._roles = roles
        self._places = places
        self._limit = limit
        self._skipped: dict[int, int] = {}

    def course(self, steps: Sequence[Step]) -> list[View]:
        """``steps`` in stretches; each has branches of rows, and a row is a step or a fold of several."""
        before = [-1, *(step.index for step in steps)]
        self._skipped = {
            step.index: step.index - last - 1
            for last, step in zip(before, steps, strict=False)
            if step.index > last + 1
        }
        views = []
        for stretch in stretches(steps):
            branches = [
                dict(
                    agents=", ".join(one_line(name, 40) for name in dict.fromkeys(s.agent for s in branch.steps)),
                    rows=[self._row(row) for row in rows_of(branch.steps, self._roles)],
                )
                for branch in stretch.branches
            ]
            views.append(dict(is_parallel=stretch.is_parallel, branches=branches))
        return views

    def _row(self, row: Step | Fold) -> View:
        if isinstance(row, Fold):
            return dict(title=row.title, steps=[self._step(step) for step in row.steps])
        return dict(title="", steps=[self._step(row)])

    def _step(self, step: Step) -> View:
        quotes = _quotes(self._attribution, step.index)
        role = self._roles.get(step.index, "")

        def cut(text: str | None) -> Excerpt | None:
            return excerpt(text, limit=self._limit, quotes=quotes) if text else None

        return dict(
            index=step.index,
            agent=clean(step.agent),
            place=self._places.get(f"agent {step.agent}", ""),
            kind=_kind(step),
            has_failed=bool(step.failed_tools or step.error),
            role=role,
            role_words=ROLES.get(role, ""),
            first_words=_first_words(step),
            content=cut(step.content),
            error=cut(step.error),
            inputs=tuple(_input(each, self._limit) for each in step.inputs),
            tools=tuple(self._tool(call, quotes) for call in step.tool_calls),
            recipient=clean(step.recipient or ""),
            facts=tuple(_facts(step)),
            skipped=self._skipped.get(step.index, 0),
        )

    def _tool(self, call: ToolCall, quotes: Sequence[str]) -> View:
        def cut(text: str | None) -> Excerpt | None:
            return excerpt(text, limit=self._limit, quotes=quotes, fold_from=500) if text else None

        return dict(
            name=clean(call.name),
            place=self._places.get(f"tool {call.name}", ""),
            attempts=call.attempts,
            arguments=cut(pretty(call.arguments)),
            result=cut(call.result),
            error=cut(call.error),
        )


def pretty(value: object) -> str:
    """Tool arguments as JSON, on one line when they are short; a string stays as it is."""
    if value is None or value == {}:
        return ""
    if isinstance(value, str):
        return value
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= _ONE_LINE else json.dumps(value, indent=2, ensure_ascii=False)


def _kind(step: Step) -> str:
    names = list(dict.fromkeys(one_line(call.name, 40) for call in step.tool_calls))
    if names:
        return f"calls {', '.join(names[:3])}" + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    if step.recipient:
        return f"hands over to {one_line(step.recipient, 40)}"
    return "" if KINDS[step.kind] == "message" else KINDS[step.kind]


def _first_words(step: Step) -> str:
    failed = next((call.error for call in step.tool_calls if call.error), None)
    result = next((call.result for call in step.tool_calls if call.result), None)
    return one_line(step.error or failed or step.content or result or "", _FIRST_WORDS)


def _input(given: StepInput, limit: int) -> View:
    # The output of a step stands in the page already; only what came from outside is written out.
    text = given.text if given.step is None else None
    return dict(
        source=clean(given.source), step=given.step, text=excerpt(text, limit=limit, fold_from=300) if text else None
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
    quotes = [each.quote for each in attribution.findings if each.step == index]
    quotes += [each.quote for each in attribution.evidence if each.step == index]
    return [quote for quote in quotes if quote]


def _telling(attribution: Attribution | None) -> Iterator[int]:
    if attribution is not None:
        if attribution.step is not None:
            yield attribution.step
        for group in (attribution.findings, attribution.evidence, attribution.candidates[:10]):
            yield from (each.step for each in group if each.step is not None)
