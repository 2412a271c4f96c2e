"""Spans, in any order and of any number of runs, into trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.schema import AgentSpec, RunOutcome, Step, Trajectory, to_text
from tracer_hooks.telemetry._records import (
    CHAT_OPERATIONS,
    SpanRecord,
    SpanStatus,
    SpanTree,
    decode_json,
    first_filled,
    message_text,
    messages_in,
)
from tracer_hooks.telemetry._steps import collect_acts, link_inputs

_UNKNOWN_AGENT = "assistant"
_OF_RUNS = CHAT_OPERATIONS | {semconv.OP_INVOKE_WORKFLOW, semconv.OP_INVOKE_AGENT, semconv.OP_EXECUTE_TOOL}
_FRAMEWORKS = {
    "autogen": "autogen",
    "crewai": "crewai",
    "langgraph": "langgraph",
    "langchain": "langgraph",
    "openai_agents": "openai_agents",
    "pydantic": "pydantic_ai",
    "smolagents": "smolagents",
    "strands": "strands",
}
"""What the name of an instrumentation holds, and the framework that it stands for."""


def assemble(records: Iterable[SpanRecord]) -> list[Trajectory]:
    """One trajectory for each run among the spans, ordered by when the runs began.

    Our own spans carry the run's id and the step's index. Spans of other instrumentations are grouped by trace, and
    their steps numbered by time; pass them through :func:`tracer_hooks.telemetry.normalise` first. Spans that are
    neither a workflow, an agent, a model call nor a tool call only serve to find the agent around them; a trace that
    holds nothing else, such as that of the making of an agent, is no run.
    """
    groups = [
        spans
        for spans in _group_by_run(list(records))
        if any(semconv.RUN_ID in r.attributes or r.operation in _OF_RUNS for r in spans)
    ]
    trees = sorted((SpanTree(spans) for spans in groups), key=lambda tree: tree.start_ns)
    return [_trajectory(tree) for tree in trees]


def _group_by_run(records: Sequence[SpanRecord]) -> list[list[SpanRecord]]:
    by_id = {(record.trace_id, record.span_id): record for record in records}
    keys: dict[tuple[str, str], str] = {}

    def key_of(record: SpanRecord) -> str:
        path: dict[tuple[str, str], None] = {}
        current: SpanRecord | None = record
        key = f"trace {record.trace_id}"
        while current is not None:
            place = (current.trace_id, current.span_id)
            if place in keys:
                key = keys[place]
                break
            if place in path:  # a damaged file may hold a cycle
                break
            path[place] = None
            run_id = current.attributes.get(semconv.RUN_ID)
            if run_id is not None and current.operation != semconv.OP_DIAGNOSE:
                key = f"run {run_id}"
                break
            current = by_id.get((current.trace_id, current.parent_id)) if current.parent_id else None
        keys.update(dict.fromkeys(path, key))
        return key

    groups: dict[str, list[SpanRecord]] = {}
    for record in records:
        if record.operation != semconv.OP_DIAGNOSE:
            groups.setdefault(key_of(record), []).append(record)
    return list(groups.values())


def _trajectory(tree: SpanTree) -> Trajectory:
    root = tree.root
    attributes = root.attributes
    team = to_text(attributes.get(semconv.WORKFLOW_NAME) or "")
    acts = collect_acts(tree, default_agent=team or _UNKNOWN_AGENT)
    steps = link_inputs(acts)
    return Trajectory(
        run_id=to_text(attributes.get(semconv.RUN_ID) or root.trace_id),
        team=team,
        framework=_framework(tree),
        task=_task(attributes) or _first_request(tree, steps),
        agents=_agents(tree, steps),
        steps=steps,
        outcome=_outcome(root),
        outcome_reason=_reason(root),
        final_output=_final_output(attributes, steps),
        trace_id=root.trace_id,
        instrumentation=_instrumentation(tree),
    )


def _instrumentation(tree: SpanTree) -> str | None:
    """The scope of the model calls, tools or agents, since the spans around them may be another library's."""
    if semconv.RUN_ID in tree.root.attributes:  # our own
        return None
    acts = tree.of_operation(*CHAT_OPERATIONS, semconv.OP_EXECUTE_TOOL, semconv.OP_INVOKE_AGENT)
    return next((record.scope for record in (*acts, tree.root) if record.scope), None)


def _framework(tree: SpanTree) -> str:
    """The framework by our own attribute, else by the name of the instrumentation that emitted the spans."""
    if name := tree.root.attributes.get(semconv.FRAMEWORK):
        return to_text(name)
    # The span around everything may be the user's own.
    scopes = dict.fromkeys([tree.root.scope, *(record.scope for record in tree.of_operation(*_OF_RUNS))])
    for scope in scopes:
        for word, framework in _FRAMEWORKS.items():
            if word in scope.lower():
                return framework
    if any("langgraph_node" in str(record.attributes.get("metadata")) for record in tree.records):
        return "langgraph"  # MLflow's spans all have one scope
    return next(filter(None, scopes), "unknown")


def _task(attributes: Mapping[str, Any]) -> str:
    if (task := attributes.get(semconv.RUN_TASK)) is not None:
        return to_text(task)
    messages = messages_in(attributes, semconv.INPUT_MESSAGES)
    users = [message for message in messages if message.get("role") == "user"]
    if users:
        return message_text(users[-1])
    return to_text(attributes.get(semconv.OI_INPUT_VALUE) or "")


def _first_request(tree: SpanTree, steps: Sequence[Step]) -> str:
    """The user's first message to the first agent, where the span around the run does not tell the task."""
    if semconv.RUN_ID in tree.root.attributes or not steps:
        return ""
    turns = [turn.attributes for turn in tree.of_operation(semconv.OP_INVOKE_AGENT)][:1]
    if turns and turns[0].get(semconv.INPUT_MESSAGES) and (asked := _task(turns[0])):
        return asked
    return next((to_text(item.text) for item in steps[0].inputs if item.source == "user" and item.text), "")


def _final_output(attributes: Mapping[str, Any], steps: Sequence[Step]) -> str | None:
    if (output := attributes.get(semconv.RUN_FINAL_OUTPUT)) is not None:
        return to_text(output)
    if messages := messages_in(attributes, semconv.OUTPUT_MESSAGES):
        return message_text(messages[-1])
    if (value := attributes.get(semconv.OI_OUTPUT_VALUE)) is not None:
        return to_text(value)
    if semconv.RUN_OUTCOME in attributes:  # our own span, which would hold the answer if there had been one
        return None
    return next((step.content for step in reversed(steps) if step.content and step.error is None), None)


def _outcome(root: SpanRecord) -> RunOutcome:
    value = root.attributes.get(semconv.RUN_OUTCOME)
    if isinstance(value, str) and value in set(RunOutcome):
        return RunOutcome(value)
    return RunOutcome.FAILED if root.status is SpanStatus.ERROR else RunOutcome.UNKNOWN


def _reason(root: SpanRecord) -> str | None:
    keys = (semconv.RUN_OUTCOME_REASON, semconv.RUN_STOP_REASON, semconv.ABANDONED)
    reason = first_filled(root.attributes, *keys) or root.status_message
    return to_text(reason) if reason else None


def _agents(tree: SpanTree, steps: Sequence[Step]) -> tuple[AgentSpec, ...]:
    specs: dict[str, AgentSpec] = {}
    roster = decode_json(tree.root.attributes.get(semconv.RUN_AGENTS))
    for item in roster if isinstance(roster, (list, tuple)) else ():
        if isinstance(item, dict) and item.get("name"):
            name = to_text(item["name"])
            instructions, tools = item.get("instructions"), item.get("tools")
            specs[name] = AgentSpec(
                name=name,
                instructions=None if instructions is None else to_text(instructions),
                tools=tuple(to_text(tool) for tool in tools) if isinstance(tools, list) else (),
            )
    for step in steps:
        specs.setdefault(step.agent, AgentSpec(name=step.agent))
    prompts = tree.system_prompts()
    return tuple(
        spec if spec.instructions is not None else spec.model_copy(update={"instructions": prompts.get(spec.name)})
        for spec in specs.values()
    )
