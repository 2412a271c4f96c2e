"""Steps of a run on a page, one by one: what each says, what it was shown, and what it is to the diagnosis."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from tracer_hooks.report._course import ROLES, Fold, has_failed, rows_of, stretches
from tracer_hooks.report._wording import FOLD_FROM, KINDS, Excerpt, excerpt, in_seconds, lasted, one_line
from tracer_hooks.schema import Attribution, Step, Trajectory

MOST_STEPS: Final = 500
"""Steps of one attempt that a page shows; of a longer run, those that matter and those around them."""
_NEIGHBOURS = 12
_ONE_LINE = 88
_FIRST_WORDS = 110


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


def pretty(value: object) -> str:
    """Tool arguments as JSON, on one line when they are short; a string stays as it is."""
    if value is None or value == {}:
        return ""
    if isinstance(value, str):
        return value
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= _ONE_LINE else json.dumps(value, indent=2, ensure_ascii=False)


class StepViews:
    """What the template asks of the steps of one attempt."""

    has_failed, pretty, role_words = staticmethod(has_failed), staticmethod(pretty), ROLES

    def __init__(
        self,
        steps: Sequence[Step],
        attribution: Attribution | None,
        roles: Mapping[int, str],
        places: Mapping[str, str],
        *,
        limit: int,
    ) -> None:
        self.stretches, self.roles, self.places = stretches(steps), roles, places
        before = [-1, *(step.index for step in steps)]
        self.skipped = {step.index: step.index - last - 1 for last, step in zip(before, steps, strict=False)}
        self._attribution, self._limit = attribution, limit

    def rows(self, branch: Sequence[Step]) -> list[Step | Fold]:
        """The steps of a branch, some of them folded."""
        return rows_of(branch, self.roles)

    def cut(self, text: str | None, step: Step | None = None, fold_from: int = FOLD_FROM) -> Excerpt | None:
        """A text of ``step`` with what the diagnosis quotes of it marked."""
        quotes = _quotes(self._attribution, step.index) if step is not None else ()
        return excerpt(text, limit=self._limit, quotes=quotes, fold_from=fold_from) if text else None

    def kind(self, step: Step) -> str:
        """What was done, in few words; empty for a message."""
        names = list(dict.fromkeys(one_line(call.name, 40) for call in step.tool_calls))
        if names:
            return f"calls {', '.join(names[:3])}" + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        if step.recipient:
            return f"hands over to {one_line(step.recipient, 40)}"
        return "" if KINDS[step.kind] == "message" else KINDS[step.kind]

    def first_words(self, step: Step) -> str:
        """The beginning of what came of it."""
        failed = next((call.error for call in step.tool_calls if call.error), None)
        result = next((call.result for call in step.tool_calls if call.result), None)
        return one_line(step.error or failed or step.content or result or "", _FIRST_WORDS)

    def facts(self, step: Step) -> str:
        """Model, tokens and times."""
        return " · ".join(_facts(step))


def _facts(step: Step) -> Iterator[str]:
    if step.model:
        yield step.model
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
