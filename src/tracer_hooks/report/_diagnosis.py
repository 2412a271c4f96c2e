"""Diagnosis on a page and on a terminal: candidates, evidence, values that were followed, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING

from tracer_hooks.report._steps import ON_PAGE, visible_candidates
from tracer_hooks.report._values import VALUE_LONGEST, describe, value_paths
from tracer_hooks.report._wording import (
    View,
    agent_words,
    belief_note,
    certainty_words,
    clean,
    in_seconds,
    one_line,
    verdict_words,
)
from tracer_hooks.schema import Attribution, ErrorMode, Evidence, RunOutcome, Step, Trajectory, ValueLink, ValueOrigin

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_OPENINFERENCE = "leave OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS unset (OpenInference)"
_TRACELOOP = "set TRACELOOP_TRACE_CONTENT=true (OpenLLMetry)"
_GENAI = "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (OpenTelemetry GenAI)"

# OpenLLMetry and OpenTelemetry's own instrumentations share the beginning of their names.
_BY_SCOPE = (
    ("openinference", (_OPENINFERENCE,)),
    ("traceloop", (_TRACELOOP,)),
    ("opentelemetry.util.genai", (_GENAI,)),
    ("opentelemetry.instrumentation", (_TRACELOOP, _GENAI)),
)
_ANY = (_OPENINFERENCE, _TRACELOOP, _GENAI)


def content_switch(instrumentation: str | None) -> str:
    """Say what to set so that a trace of the team holds texts: for this instrumentation scope, else for each."""
    scope = (instrumentation or "").lower()
    switches = next((found for part, found in _BY_SCOPE if scope.startswith(part)), None)
    if switches is None:
        return f"switch content on in the library that records it: {'; '.join(_ANY)}"
    return " or ".join(switches)


_BY_MODE = {
    ErrorMode.FM_1_1: "State what the task requires as numbered rules in the prompt of {agent}.",
    ErrorMode.FM_1_2: "Say in the prompt of {agent} what it must leave to the others, and whom to hand over to.",
    ErrorMode.FM_1_3: "Tell {agent} to read what was already tried, and limit its turns or tool calls.",
    ErrorMode.FM_1_4: "Give {agent} the earlier messages, or a running summary of what is settled.",
    ErrorMode.FM_1_5: "Write down when the work is done, and let a termination condition enforce it.",
    ErrorMode.FM_2_1: "Check what makes the conversation start over: a cleared memory, or a repeated first message.",
    ErrorMode.FM_2_2: "Tell {agent} to ask when something that it needs is missing, and to name what is missing.",
    ErrorMode.FM_2_3: "Repeat the goal in the prompt of {agent}, and have it say how each step serves the goal.",
    ErrorMode.FM_2_4: "Ask {agent} to pass on every fact it found, with its source, in a fixed form.",
    ErrorMode.FM_2_5: "Tell {agent} to answer or use each message and tool result before it goes on.",
    ErrorMode.FM_2_6: "Have {agent} state its conclusion first, then check that its action follows from it.",
    ErrorMode.FM_3_1: "Give {agent} a checklist that must be complete before it may finish.",
    ErrorMode.FM_3_2: "Add a check of what {agent} hands on, by a tool or by a second agent.",
    ErrorMode.FM_3_3: "Make the check by {agent} independent: work the answer out again instead of rereading it.",
}
_READ = (
    "Read these places first. A check that tells what it expected and what it got lets a wrong value be followed back."
)
_CALCULATION = re.compile(r"\d[^\n\d=]{0,12}[-+*/\u00d7\u00f7x\u2212][^\n\d=]{0,12}\d")
_NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w])")
_ERROR_SHOWN = 90
_OURS = ("autogen", "crewai", "langgraph", "python")
"""Frameworks that we hook; a trace that others wrote has no run of its own beside the trace."""


def suggestion(attribution: Attribution, trajectory: Trajectory | None = None) -> str:
    """One sentence on what to try next.

    Args:
        attribution: The diagnosis.
        trajectory: The run, so that tools, errors and values can be named.
    """
    if attribution.certainty is None:
        return _withheld(attribution, trajectory)
    finding = next((one for one in attribution.evidence if one.step == attribution.step and one.kind != "sign"), None)
    if attribution.certainty == "weak" and finding is None:
        return _READ
    advice = _from_finding(attribution, finding, trajectory) if finding is not None else _from_mode(attribution)
    if attribution.certainty == "weak":
        return f"If it is step {attribution.step}: {advice}"
    return advice


def _withheld(attribution: Attribution, trajectory: Trajectory | None) -> str:
    if attribution.abstained_reason == "environment fault":
        return "Look at the failing tool or service first: no agent's prompt is likely to help."
    if attribution.abstained_reason == "trace too incomplete":
        if trajectory is None or _is_hooked(trajectory):
            return "Record contents (TRACER_HOOKS_RECORD=full) and run the team again."
        if trajectory.trace_id is None:
            return "The record holds no text to judge: look for one with what the agents said."
        switch = content_switch(trajectory.instrumentation)
        return f"The trace holds no text to judge. Where the team runs, {switch}; then record it again."
    unknown = trajectory is not None and trajectory.outcome is RunOutcome.UNKNOWN
    if unknown and attribution.abstained_reason == "no fault found":
        return (
            "Nothing says that this run failed. If it did, say so with --failed, or give the right answer with "
            "--expected: tracer-hooks diagnose PATH --failed."
        )
    return "Run the team again, or try another attributor: tracer-hooks diagnose --attributor NAME."


def _is_hooked(trajectory: Trajectory) -> bool:
    own_id = trajectory.run_id != trajectory.trace_id
    return trajectory.framework in _OURS and own_id and trajectory.instrumentation is None


def _from_mode(attribution: Attribution) -> str:
    if attribution.error_mode is None:
        return "Read this step and what the agent was shown before it, then make its prompt say what was missing."
    return _BY_MODE[attribution.error_mode].format(agent=_named(attribution))


def _from_finding(attribution: Attribution, finding: Evidence, trajectory: Trajectory | None) -> str:
    agent = _named(attribution)
    if finding.kind == "error":
        step = trajectory.steps[finding.step] if trajectory is not None else None
        return _after_error(attribution, finding, step) or _from_mode(attribution)
    link = _link_of(attribution, finding)
    if link is not None and link.origin is ValueOrigin.DROPPED:
        return (
            f"Have {agent} go through everything that it was given, and leave out {one_line(link.value, 60)!r} no more."
        )
    if finding.kind == "contradiction":
        return f"Have {agent} copy values word for word {_whence(link, finding, trajectory)}."
    if attribution.error_mode is ErrorMode.FM_2_6 and _CALCULATION.search(f"{finding.quote}\n{finding.why}"):
        return f"Have {agent} write out and recompute this calculation, or give it a calculator tool."
    if attribution.error_mode is ErrorMode.FM_2_5:
        return f"Have {agent} copy values word for word from what it was given."
    if attribution.error_mode in (ErrorMode.FM_1_4, ErrorMode.FM_2_4):
        return f"Have {agent} pass on every value that it was given, in a fixed form, and leave none out."
    value = next((one for one in _NUMBER.findall(finding.why) if one in finding.quote), "this value")
    return f"Have {agent} say where {value} comes from, and compare it with its source before it hands it on."


def _after_error(attribution: Attribution, finding: Evidence, step: Step | None) -> str | None:
    """Advice that names the tool or the error."""
    agent = _named(attribution)
    if step is not None:
        for call in step.tool_calls:
            text = call.error or (call.result if finding.quote and finding.quote in (call.result or "") else None)
            if text is None:
                continue
            told = one_line(text, _ERROR_SHOWN)
            if attribution.error_mode is ErrorMode.FM_2_6:
                return f"{call.name!r} refused its arguments ({told!r}): show {agent} a correct call."
            return f"{call.name!r} failed with {told!r}: make the tool retry, or tell {agent} what to do without it."
        if step.error:
            told = one_line(step.error, _ERROR_SHOWN)
            return f"{agent} stopped with {told!r}: handle that error where the agent runs."
    if attribution.error_mode is ErrorMode.FM_2_5:
        return f"Tell {agent} to say so when a tool failed, and not to go on as if it had answered."
    error = next((one.quote for one in attribution.spread if one.kind == "error" and one.quote), "")
    if error:
        told = one_line(error, _ERROR_SHOWN)
        return f"What {agent} wrote failed with {told!r}: have it run and repair its code before it hands on a result."
    return None


def _link_of(attribution: Attribution, finding: Evidence) -> ValueLink | None:
    """The stretch of a value's way that the finding tells of."""
    here = [one for one in attribution.provenance if one.step == finding.step and one.origin.is_departure]
    return next((one for one in here if one.note and one.note[1:] in finding.why), None)


def _whence(link: ValueLink | None, finding: Evidence, trajectory: Trajectory | None) -> str:
    """Return where the right value stands."""
    steps = trajectory.steps if trajectory is not None else ()
    source = steps[link.source] if link is not None and link.source is not None and link.source < len(steps) else None
    if source is not None and not source.tool_calls:
        return f"from step {source.index} ({one_line(source.agent, 60)})"
    tool = _tool_in(finding, trajectory)
    return f"from the reply of {tool!r}" if tool else "from tool results and from what others told it"


def _tool_in(finding: Evidence, trajectory: Trajectory | None) -> str | None:
    """The tool that the finding names."""
    names = {call.name for step in trajectory.steps for call in step.tool_calls} if trajectory is not None else set()
    return next((name for name in sorted(names) if repr(name) in finding.why), None)


def _named(attribution: Attribution) -> str:
    return repr(one_line(attribution.agent or "", 60))


_QUOTE_LONGEST = 600
_MOST_QUOTES = 12


def diagnosis_view(
    attribution: Attribution, agents: dict[int, str], shown: Set[int], trajectory: Trajectory | None = None
) -> View:
    """``attribution`` for the template."""
    mode = attribution.error_mode
    return dict(
        verdict=verdict_words(attribution),
        abstained=attribution.certainty is None,
        certainty=attribution.certainty or "",
        agent=clean(attribution.agent or ""),
        step=attribution.step,
        linked=attribution.step in shown,
        mode="" if mode is None else mode.value,
        mode_title="" if mode is None else mode.title,
        mode_definition="" if mode is None else mode.definition,
        mode_group="" if mode is None else mode.group,
        percent=f"{attribution.confidence:.0%}",
        width=_width(attribution.confidence),
        words=certainty_words(attribution),
        agent_words=clean(agent_words(attribution)),
        suggestion=clean(suggestion(attribution, trajectory)),
        evidence=tuple(_quote(each, agents, shown) for each in attribution.evidence[:_MOST_QUOTES]),
        spread=tuple(_quote(each, agents, shown) for each in attribution.spread[:_MOST_QUOTES]),
        candidates=tuple(
            dict(
                agent=clean(each.agent),
                step=each.step,
                linked=each.step in shown,
                percent=f"{each.score:.0%}",
                width=_width(each.score),
            )
            for each in visible_candidates(attribution)[:ON_PAGE]
        ),
        note=belief_note([each.score for each in visible_candidates(attribution)[:ON_PAGE]], steps=len(agents)),
        faults=_faults(attribution),
        fault_numbers=_fault_numbers(attribution),
        source=_source(attribution),
    )


def _quote(evidence: Evidence, agents: dict[int, str], shown: Set[int]) -> View:
    quote = clean(evidence.quote)
    if len(quote) > _QUOTE_LONGEST:
        quote = quote[:_QUOTE_LONGEST].rstrip() + " …"
    return dict(
        step=evidence.step,
        linked=evidence.step in shown,
        agent=clean(agents.get(evidence.step, "")),
        quote=quote,
        why=clean(evidence.why),
        weight="" if evidence.weight is None else f"{evidence.weight:+.2f}",
    )


def _faults(attribution: Attribution) -> tuple[str, ...]:
    """Every faulty agent with its modes, when there is more to tell than the answer itself."""
    if len(attribution.faults) < 2:
        return ()
    modes: dict[str, list[str]] = {}
    for fault in attribution.faults:
        known = modes.setdefault(clean(fault.agent), [])
        if fault.error_mode is not None:
            known.append(f"{fault.error_mode.title} ({fault.error_mode.value})")
    return tuple(agent + (f": {', '.join(known)}" if known else "") for agent, known in modes.items())


def _fault_numbers(attribution: Attribution) -> tuple[str, ...]:
    if len(attribution.faults) < 2:
        return ()
    return tuple(
        f"{clean(fault.agent)}{'' if fault.error_mode is None else f', {fault.error_mode.value}'}: {fault.score:.0%}"
        for fault in attribution.faults
    )


def _source(attribution: Attribution) -> str:
    parts = [clean(attribution.attributor) or "unnamed attributor", in_seconds(attribution.elapsed_s)]
    if attribution.usage is not None:
        parts.append(f"{attribution.usage.total:,} tokens")
    return ", ".join(part for part in parts if part)


def _width(share: float) -> float:
    return round(share * 100, 1)


_BAR = 20
_QUOTE = 240
_WHY = 500
_MOST_QUOTES_ON_TERMINAL = 3
_MOST_CANDIDATES = 4
_MOST_VALUES = 4


def diagnosis_text(trajectory: Trajectory, attribution: Attribution) -> RenderableType:
    """Return what :func:`rich.print` shows of a diagnosis.

    Text from the run is never read as markup, so brackets in it are shown as they are.
    """
    from rich.console import Group

    return Group(*_lines(trajectory, attribution))


def _lines(trajectory: Trajectory, attribution: Attribution) -> Iterator[RenderableType]:
    abstained = attribution.certainty is None
    yield _text(
        (one_line(verdict_words(attribution), 400), "bold red" if attribution.certainty == "clear" else "bold yellow")
    )
    yield _text((_run_line(trajectory), "dim"))
    if not abstained:
        yield from _answer(attribution)
    yield from _quotes("Evidence", trajectory, attribution.evidence)
    if attribution.certainty in ("clear", "likely"):
        yield from _values(trajectory, attribution)
    yield _text(("\nWhat to try  ", "bold"), (one_line(suggestion(attribution, trajectory), 600), ""))
    yield from _quotes("How it spread", trajectory, attribution.spread)
    yield from _others(trajectory, attribution, abstained=abstained)
    spent = in_seconds(attribution.elapsed_s)
    yield _text((f"\nby {one_line(attribution.attributor, 80) or 'an unnamed attributor'}, {spent}", "dim"))


def _run_line(trajectory: Trajectory) -> str:
    name = one_line(trajectory.team, 60) or "unnamed team"
    parts = [f"run {one_line(trajectory.run_id, 60)} of {name}", f"{len(trajectory.steps)} steps"]
    parts.append(trajectory.outcome.value)
    if trajectory.outcome_reason:
        parts.append(one_line(trajectory.outcome_reason, 160))
    return ", ".join(parts)


def _answer(attribution: Attribution) -> Iterator[Text]:
    filled = round(attribution.confidence * _BAR)
    yield _text(("\nConfidence   ", "bold"), ("█" * filled, "red"), ("░" * (_BAR - filled), "dim"))
    yield _text((f"             {attribution.confidence:.0%}, {certainty_words(attribution)}", ""))
    if said := agent_words(attribution):
        yield _text((f"             {one_line(said, 160)}", ""))
    if attribution.error_mode is not None:
        mode = attribution.error_mode
        doubt = ", if it is this step" if attribution.certainty == "weak" else ""
        yield _text(("Error mode   ", "bold"), (f"{mode.value} {mode.title}{doubt}. ", ""), (mode.definition, "dim"))


def _quotes(title: str, trajectory: Trajectory, quotes: Sequence[Evidence]) -> Iterator[Text]:
    if not quotes:
        return
    yield _text((f"\n{title}", "bold"))
    for each in quotes[:_MOST_QUOTES_ON_TERMINAL]:
        agent = trajectory.steps[each.step].agent if each.step < len(trajectory.steps) else "unknown"
        yield _text((f"  step {each.step}, {one_line(agent, 60)}: ", "cyan"), (one_line(each.why, _WHY), ""))
        if each.quote:
            yield _text((f"    “{one_line(each.quote, _QUOTE)}”", "italic"))
    if len(quotes) > _MOST_QUOTES_ON_TERMINAL:
        yield _text((f"  and {len(quotes) - _MOST_QUOTES_ON_TERMINAL} more", "dim"))


def _values(trajectory: Trajectory, attribution: Attribution) -> Iterator[Text]:
    """The way of the values that matter most, in a few lines."""
    ways = [way for way in value_paths(attribution) if way.matters]
    told = [(link, words) for way in ways for link, words in describe(way)]
    if len(told) < 2 or any(max(link.step, link.source or 0) >= len(trajectory.steps) for link, _ in told):
        return
    last = max(link.step for link, _ in told)
    told.sort(key=lambda one: _weight(one[0], last))
    told = sorted(told[:_MOST_VALUES], key=lambda one: one[0].step)
    yield _text((f"\nWhere the {'value comes' if len(ways) == 1 else 'values come'} from", "bold"))
    values = [one_line(link.value, VALUE_LONGEST) for link, _ in told]
    places = [_place(trajectory, link.step) for link, _ in told]
    for value, place, (_, words) in zip(values, places, told, strict=True):
        said = "".join(part.text if part.step is None else _place(trajectory, part.step) for part in words)
        yield _text(
            (f"  {value:<{max(map(len, values))}}  ", "bold"),
            (f"{place:<{max(map(len, places))}}  ", "cyan"),
            (one_line(said, _QUOTE), ""),
        )


def _weight(link: ValueLink, last: int) -> tuple[bool, bool, bool, int]:
    """Return what is told first: what went wrong, the answer, where values come from, and who only repeats them."""
    return not link.origin.is_departure, link.step != last, link.origin is ValueOrigin.COPIED, link.step


def _place(trajectory: Trajectory, step: int) -> str:
    return f"step {step} {one_line(trajectory.steps[step].agent, 40)}"


def _others(trajectory: Trajectory, attribution: Attribution, *, abstained: bool) -> Iterator[Text]:
    answer = (attribution.agent, attribution.step)
    others = [each for each in visible_candidates(attribution) if abstained or (each.agent, each.step) != answer]
    if not others:
        return
    yield _text(("\nAlternatives" if abstained else "\nOther candidates", "bold"))
    for each in others[:_MOST_CANDIDATES]:
        yield _text((f"  {each.score:>4.0%}  ", ""), (f"step {each.step}, {one_line(each.agent, 60)}", ""))
    shown = [each.score for each in others[:_MOST_CANDIDATES]] + ([] if abstained else [attribution.confidence])
    if note := belief_note(shown, steps=len(trajectory.steps)):
        yield _text((f"  {note}", "dim"))


def _text(*parts: tuple[str, str]) -> Text:
    from rich.text import Text

    return Text.assemble(*parts)
