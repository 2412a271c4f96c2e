"""``dropped_item``: one of several items that were handed over together is left out of a list, a sum or a hand-over.

``not_asked_for``: a tool was called for some of the names that the task has in one breath, and never for another.
Silent where the items were chosen among on purpose, or where nothing shows that all of them were wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance import Departure, DepartureKind
from tracer_hooks.diagnosis._reading._errors import failure_text
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import find_value, numbers_in, parsed_json
from tracer_hooks.diagnosis.findings._departures import from_departure, leads, sure_departures
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome

_KIND = FindingKind.DROPPED_ITEM
_READ = 8_000
_SHOWN_BY_CALLS = ("arguments", "result", "tool error")
_ONE_OF_SEVERAL = re.compile(
    r"\b(?:winner|wins|cheapest|dearest|(?:earl|lat|high|low|larg|small|short|long|fast|slow|old|young|near|clos)"
    r"(?:i?est))\b",
    re.IGNORECASE,
)
_ADDS_UP = re.compile(r"\b(?:total|sum|altogether|in all|all of)\b|=|\+", re.IGNORECASE)
NOT_ASKED_FOR = "not_asked_for"
_ITEM = (
    r"(?<!\w)(?:\d{4,12}|[A-Z][\w'-]{0,30}[a-z\d](?: [A-Z][\w'-]{0,30}[a-z\d]){0,2}|[A-Z]{1,10}-?\d[\w-]{0,30})(?!\w)"
)
_NAMES = re.compile(r"\b[A-Z][\w'-]+\b")
_TOGETHER = re.compile(rf"{_ITEM}(?:, {_ITEM}){{0,20}},? (?:and|&) {_ITEM}")


def find(run: RunReading) -> Iterator[Finding]:
    """Items that a step leaves out."""
    for departure in sure_departures(run, DepartureKind.DROPPED):
        if leads(run, departure) and not _is_there(run, departure) and not _picks(run, departure.step):
            yield from_departure(run, _KIND, departure)
    yield from _not_asked_for(run)
    yield from _rest(run)


def _rest(run: RunReading) -> Iterator[Finding]:
    """Who is left of one list when those of another are taken off: all but one of them are named."""
    lists: list[tuple[int, frozenset[str]]] = []
    for step in run.acts:
        stated = frozenset(_NAMES.findall(run.prose(step).rpartition(". ")[2]))
        for at, every in lists:
            for _, taken in lists:
                left = every - taken
                if taken < every and 2 <= len(stated & every) == len(left) - 1 and stated & every < left:
                    (missing,) = left - stated
                    agent = run.steps[step].agent
                    yield finding(
                        run,
                        _KIND,
                        f"{agent!r} leaves out {missing!r} of the list of step {at} that is not taken off",
                        step=step,
                        quote=run.locate(step, min(stated & every), "content"),
                        right=missing,
                        source=at,
                        leads_to_answer=run.trajectory.outcome is RunOutcome.FAILED
                        and find_value(run.final_text, missing) < 0,
                    )
                    return
        for call in run.steps[step].tool_calls:
            for names in _listed_names(call.result or ""):
                lists.append((step, names))


def _listed_names(result: str) -> Iterator[frozenset[str]]:
    """Lists of three names or more in a result: of a JSON field, or the words between commas of one line."""
    data = parsed_json(result) if result[:1] in ("{", "[") else None
    parts = [data] if isinstance(data, list) else list(data.values()) if isinstance(data, dict) else [result.split(",")]
    for part in parts:
        names = [str(each).strip() for each in part] if isinstance(part, list) else []
        if len(names) > 2 and len(set(names)) == len(names) and all(_NAMES.fullmatch(name) for name in names):
            yield frozenset(names)


def _not_asked_for(run: RunReading) -> Iterator[Finding]:
    """The last call of a tool for some of the names, where no call has another of them and no result tells of it."""
    calls = [(step, call) for step in run.acts for call in run.steps[step].tool_calls]
    if not calls:
        return
    shown = [passage.raw.casefold() for step in run.acts for passage in run.passages(step, *_SHOWN_BY_CALLS)]
    first = calls[0][0]
    listed = [(match.group(), "the task names") for match in _TOGETHER.finditer(run.trajectory.task[:_READ])]
    for step in run.acts:
        if step <= first and not run.is_brief(step):
            said = f"step {step} names"
            listed += [(match.group(), said) for match in _TOGETHER.finditer(run.steps[step].content[:_READ])]
    for together, said in listed:
        names = re.findall(_ITEM, together)
        missing = [name for name in names if not any(name.casefold() in text for text in shown)]
        asked = [(step, call, name) for step, call in calls for name in names if _is_for(call.arguments, name)]
        least = 1 if said.startswith("the task") else 2
        known = {name for _, _, name in asked}
        if not least <= len(known) >= len(missing) > 0 or failure_text(asked[-1][1]) is not None:
            continue
        step, call, name = asked[-1]
        who = _requester(run, step, name)
        what = f"called {call.name!r}" if who == run.steps[step].agent else f"had {call.name!r} called"
        goes_on = run.next_act(step, agent=who)  # what is missing is missing where its agent goes on without it
        yield finding(
            run,
            _KIND,
            f"{who!r} {what} for {name!r} and never for {' or '.join(map(repr, missing))}; {said} them together",
            step=step if goes_on is None else goes_on,
            detail=NOT_ASKED_FOR,
            quote=run.locate(step, name, "arguments") if goes_on is None else run.first_words(goes_on),
            claimed=name,
            right=missing[0],
            subject=call.name,
            leads_to_answer=run.trajectory.outcome is RunOutcome.FAILED,
        )
        return


def _requester(run: RunReading, step: int, name: str) -> str:
    """Who wanted a call: the agent of the step before that names what it is for, else its caller."""
    is_asked = step > 0 and run.locate(step - 1, name, "content") is not None
    return run.steps[step - 1].agent if is_asked else run.steps[step].agent


def _is_for(arguments: object, name: str) -> bool:
    """Tell whether one argument of a call is the very name."""
    values = arguments.values() if isinstance(arguments, dict) else (arguments,)
    return any(isinstance(value, str) and value.strip().casefold() == name.casefold() for value in values)


def _picks(run: RunReading, step: int) -> bool:
    """Tell whether a step names one of several on purpose: the winner, the cheapest."""
    return _ONE_OF_SEVERAL.search(run.prose(step)) is not None and _ADDS_UP.search(run.prose(step)) is None


def _is_there(run: RunReading, departure: Departure) -> bool:
    """Tell whether the step has the item after all, its number without what it counts, or is a formula."""
    if "\\" in (departure.quote or ""):
        return True
    content = run.steps[departure.step].content
    return any(find_value(content, match.group()) >= 0 for match in numbers_in(departure.missing or ""))


def _advice(found: Finding) -> str:
    if found.detail == NOT_ASKED_FOR and found.values is not None:
        return (
            f"Tell {found.agent!r} to call {found.values.subject!r} once for each name of the task before it answers."
        )
    return f"Have {found.agent!r} list every item that it was given before it adds up or hands on."


KIND = KindOfFinding(
    kind=_KIND,
    definition="An item of a list or of a tool's result is left out by a step that takes the others.",
    find=find,
    mode=ErrorMode.FM_2_4,
    modes={NOT_ASKED_FOR: ErrorMode.FM_1_1},
    blame={"": 0.75, NOT_ASKED_FOR: 0.75},
    advice=_advice,
)
