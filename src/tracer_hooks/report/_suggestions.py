"""What a person may change in a team after a failure of each error mode."""

from __future__ import annotations

from tracer_hooks.schema import Attribution, ErrorMode

_BY_MODE = {
    ErrorMode.FM_1_1: "State the requirement that was broken as a numbered rule in this agent's prompt.",
    ErrorMode.FM_1_2: "Say in this agent's prompt what it must leave to the others, and whom to hand over to.",
    ErrorMode.FM_1_3: "Tell this agent to read what was already tried, and limit its turns or tool calls.",
    ErrorMode.FM_1_4: "Give this agent the earlier messages, or a running summary of what is settled.",
    ErrorMode.FM_1_5: "Write down when the work is done, and let a termination condition enforce it.",
    ErrorMode.FM_2_1: "Check what makes the conversation start over: a cleared memory, or a repeated first message.",
    ErrorMode.FM_2_2: "Tell this agent to ask when something it needs is missing, and to name what is missing.",
    ErrorMode.FM_2_3: "Repeat the goal in this agent's prompt, and have it say how each step serves the goal.",
    ErrorMode.FM_2_4: "Ask this agent to pass on every fact it found, with its source, in a fixed form.",
    ErrorMode.FM_2_5: "Tell this agent to answer or use each message and tool result before it goes on.",
    ErrorMode.FM_2_6: "Have this agent state its conclusion first, then check that its action follows from it.",
    ErrorMode.FM_3_1: "Give this agent a checklist that must be complete before it may finish.",
    ErrorMode.FM_3_2: "Add a check of the result against the task, by a tool or by a second agent.",
    ErrorMode.FM_3_3: "Make the check independent: compute or look up the answer again instead of rereading it.",
}


def suggestion(attribution: Attribution) -> str:
    """One sentence on what to try next, by the error mode of a diagnosis."""
    if attribution.abstained or attribution.agent is None:
        if attribution.abstained_reason == "environment fault":
            return "Look at the failing tool or service first: no agent's prompt is likely to help."
        if attribution.abstained_reason == "trace too incomplete":
            return "Record contents (TRACER_HOOKS_RECORD=full) and run the team again."
        return "Run the team again, or try another attributor: tracer-hooks diagnose --attributor NAME."
    if attribution.error_mode is None:
        return "Read this step and what the agent was shown before it, then make its prompt say what was missing."
    return _BY_MODE[attribution.error_mode]
