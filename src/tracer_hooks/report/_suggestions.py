"""What a person may change in a team after a failure: from what was found, else from the error mode."""

from __future__ import annotations

import re

from tracer_hooks.report._content_switches import content_switch
from tracer_hooks.report._wording import one_line
from tracer_hooks.schema import Attribution, ErrorMode, Evidence, RunOutcome, Step, Trajectory, ValueLink, ValueOrigin

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
    """Where the right value stands."""
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
