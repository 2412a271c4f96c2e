"""Roles of the spans of other instrumentations: team, agent, model call or tool call."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry._foreign_messages import PROMPT_IDENTITY, TRACELOOP_NAME, unflatten
from tracer_hooks.telemetry._records import (
    CHAT_OPERATIONS,
    SpanForest,
    SpanRecord,
    SpansAbove,
    SpanStatus,
    first_filled,
)

_TRACELOOP_KIND = "traceloop.span.kind"
_TRACELOOP_PROPERTY = "traceloop.association.properties."

# OpenLLMetry 0.62 emits a second span for each graph that says invoke_agent, has no input and often no children
_LANGGRAPH_EDGES = "gen_ai.workflow.nodes"
_OWN_PREFIX = "tracer_hooks."
INTERNAL = ""
_OPERATIONS: dict[str, str | None] = {
    semconv.OP_INVOKE_WORKFLOW: semconv.OP_INVOKE_WORKFLOW,
    semconv.OP_INVOKE_AGENT: semconv.OP_INVOKE_AGENT,
    semconv.OP_PLAN: semconv.OP_INVOKE_AGENT,
    semconv.OP_CREATE_AGENT: semconv.OP_CREATE_AGENT,
    semconv.OP_CHAT: semconv.OP_CHAT,
    semconv.OP_GENERATE_CONTENT: semconv.OP_GENERATE_CONTENT,
    semconv.OP_TEXT_COMPLETION: semconv.OP_TEXT_COMPLETION,
    semconv.OP_EMBEDDINGS: None,
    semconv.OP_EXECUTE_TOOL: semconv.OP_EXECUTE_TOOL,
    semconv.OP_RETRIEVAL: semconv.OP_EXECUTE_TOOL,
    **dict.fromkeys(semconv.MEMORY_OPERATIONS, semconv.OP_EXECUTE_TOOL),
    semconv.OP_DIAGNOSE: semconv.OP_DIAGNOSE,
}
"""What an operation of the conventions is in ours: planning is a turn, a search is the call of a tool."""
_TRACELOOP_OPERATIONS = {
    "workflow": semconv.OP_INVOKE_WORKFLOW,
    "agent": semconv.OP_INVOKE_AGENT,
    "tool": semconv.OP_EXECUTE_TOOL,
    "task": INTERNAL,
}
_OI_OPERATIONS = {
    semconv.OI_KIND_AGENT: semconv.OP_INVOKE_AGENT,
    semconv.OI_KIND_LLM: semconv.OP_CHAT,
    semconv.OI_KIND_TOOL: semconv.OP_EXECUTE_TOOL,
    semconv.OI_KIND_RETRIEVER: semconv.OP_EXECUTE_TOOL,
    semconv.OI_KIND_CHAIN: INTERNAL,
}
_AGENT_PREFIX = re.compile(r"^(?:invoke_agent|create_agent|plan|agent run|agent|run)[ :]+", re.IGNORECASE)
_AGENT_SUFFIX = re.compile(r"\.(?:_?execute\w*|_?run\w*|on_messages\w*|kickoff\w*|i?a?invoke|agent|workflow|task)$")
_WORKFLOW_NAME = "workflow.name"  # Microsoft's Agent Framework
_TEAM_NAMES = (
    semconv.WORKFLOW_NAME,
    "crewai.crew.name",
    _WORKFLOW_NAME,
    TRACELOOP_NAME,
    "traceloop.workflow.name",
    semconv.AGENT_NAME,
)
_GENERIC_NODES = {"model", "agent", "tools", "tool", "call_model", "llm", "chatbot", "__start__", "__end__"}


def is_own(record: SpanRecord) -> bool:
    return any(key.startswith(_OWN_PREFIX) for key in record.attributes)


def operation_of(record: SpanRecord) -> str | None:
    """The span's operation; ``INTERNAL`` for a part of a framework that acts through others."""
    attributes = record.attributes
    own = attributes.get(semconv.OPERATION_NAME)
    if is_own(record):
        return None if own is None else str(own)
    if (method := attributes.get(semconv.MCP_METHOD)) is not None:
        return semconv.OP_EXECUTE_TOOL if method == semconv.MCP_CALL_TOOL else None
    traceloop = _TRACELOOP_OPERATIONS.get(str(attributes.get(_TRACELOOP_KIND)).lower())
    if traceloop is not None:
        return traceloop
    if str(own) in _OPERATIONS:
        return _OPERATIONS[str(own)]
    kind = _OI_OPERATIONS.get(str(attributes.get(semconv.OI_SPAN_KIND)).upper())
    return kind if kind is not None else _infer_operation(record)


def _infer_operation(record: SpanRecord) -> str | None:
    attributes = record.attributes
    if "llm.request.type" in attributes or any(
        key.startswith(("gen_ai.prompt", "gen_ai.completion", "gen_ai.usage.", "llm.input_messages"))
        for key in attributes
        if not key.startswith(PROMPT_IDENTITY)
    ):
        return semconv.OP_CHAT
    if any(event.name.startswith(("gen_ai.content.", "gen_ai.choice")) for event in record.events):
        return semconv.OP_CHAT
    if attributes.get(semconv.TOOL_NAME) or attributes.get(semconv.OI_TOOL_NAME):
        return semconv.OP_EXECUTE_TOOL
    if attributes.get(semconv.AGENT_NAME):
        return semconv.OP_INVOKE_AGENT
    return semconv.OP_INVOKE_WORKFLOW if attributes.get(_WORKFLOW_NAME) else None


def find_agents(tree: SpanForest, operations: dict[int, str | None]) -> dict[int, str]:
    """Names of agents by span; makes those framework spans agents that a model call names as its agent."""
    names: dict[int, str] = {}
    for record in tree.records:
        if not is_own(record) and operations[id(record)] not in (INTERNAL, None, semconv.OP_INVOKE_WORKFLOW):
            name = _agent_name(record, is_agent=operations[id(record)] == semconv.OP_INVOKE_AGENT)
            if name:
                names[id(record)] = name
    kinds = (semconv.OP_INVOKE_AGENT, INTERNAL)
    parts = tree.above({key for key, operation in operations.items() if operation in kinds})
    for record in tree.records:
        if record.operation == semconv.OP_PLAN:
            _find_planner(record, names, tree, parts, operations)
        if operations[id(record)] in CHAT_OPERATIONS and id(record) in names:
            _promote_ancestor(record, names, tree, parts, operations)
    return names


def _find_planner(
    record: SpanRecord, names: dict[int, str], tree: SpanForest, parts: SpansAbove, operations: dict[int, str | None]
) -> None:
    """Name whoever acts around a span of planning as its agent; a span that shows no plan is no turn."""
    shows_nothing = tree.is_leaf(record) and not record.attributes.get(semconv.OUTPUT_MESSAGES)
    if shows_nothing and record.status is not SpanStatus.ERROR:
        operations[id(record)] = None
    planner = next((names[id(above)] for above in parts.around(record) if id(above) in names), None)
    if planner is not None:
        names.setdefault(id(record), planner)


def _promote_ancestor(
    record: SpanRecord, names: dict[int, str], tree: SpanForest, parts: SpansAbove, operations: dict[int, str | None]
) -> None:
    name = names[id(record)]
    for above in parts.around(record):
        if operations[id(above)] == semconv.OP_INVOKE_AGENT:
            return
        called = above.attributes.get(TRACELOOP_NAME, above.name)
        if operations[id(above)] == INTERNAL and called == name and tree.parent(above) is not None:
            operations[id(above)] = semconv.OP_INVOKE_AGENT
            names[id(above)] = name
            return


def choose_teams(tree: SpanForest, operations: dict[int, str | None]) -> None:
    """Make the topmost framework span the team, and a second span of the same graph an internal one."""
    foreign = [record for record in tree.records if not is_own(record)]
    edges = {id(record) for record in foreign if _LANGGRAPH_EDGES in record.attributes}
    known = tree.above(edges | {key for key, operation in operations.items() if operation is not None})
    for record in foreign:
        if id(record) in edges:
            operations[id(record)] = INTERNAL
        elif operations[id(record)] == INTERNAL and not tree.is_leaf(record):
            is_topmost = not any(known.around(record))
            operations[id(record)] = semconv.OP_INVOKE_WORKFLOW if is_topmost else INTERNAL
    teams = {
        id(record): team_name(record) for record in tree.records if operations[id(record)] == semconv.OP_INVOKE_WORKFLOW
    }
    outer = tree.above(teams)
    for record in foreign:
        name = teams.get(id(record))
        if name is not None and any(teams[id(above)] == name for above in outer.around(record)):
            operations[id(record)] = INTERNAL


def team_name(record: SpanRecord) -> str:
    if name := first_filled(record.attributes, *_TEAM_NAMES):
        return to_text(name)
    if record.name == record.attributes.get(semconv.OPERATION_NAME):  # Strands' invoke_graph, which has no name
        return ""
    return _AGENT_SUFFIX.sub("", record.name.removeprefix("invoke_workflow ")).strip()


def _agent_name(record: SpanRecord, *, is_agent: bool) -> str | None:
    attributes = record.attributes
    keys = (semconv.AGENT_NAME, semconv.OI_AGENT_NAME, semconv.OI_GRAPH_NODE_ID)
    if named := first_filled(attributes, *keys, *([TRACELOOP_NAME] if is_agent else [])):
        return to_text(named)
    metadata = unflatten(attributes, "metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    name = _langgraph_agent(metadata) or _langgraph_agent(
        {
            key.removeprefix(_TRACELOOP_PROPERTY): value
            for key, value in attributes.items()
            if key.startswith(_TRACELOOP_PROPERTY)
        }
    )
    if name is None and is_agent:
        name = _AGENT_SUFFIX.sub("", _AGENT_PREFIX.sub("", record.name)).strip() or None
        name = None if name == semconv.OP_PLAN else name
    return name


def _langgraph_agent(metadata: Mapping[str, Any]) -> str | None:
    """The agent in LangGraph's metadata: ``create_agent``'s, else the innermost node of the user's own."""
    if metadata.get("lc_agent_name"):
        return to_text(metadata["lc_agent_name"])
    path = [part.partition(":")[0] for part in str(metadata.get("langgraph_checkpoint_ns") or "").split("|")]
    for node in [str(metadata.get("langgraph_node") or ""), *reversed(path)]:
        if node and node.lower() not in _GENERIC_NODES:
            return node
    return None


_ACTS = {*CHAT_OPERATIONS, semconv.OP_EXECUTE_TOOL}
_OF_SERVERS = ("http.", "url.", "rpc.", "messaging.", "db.", "faas.", "server.", "net.")


def find_outer_teams(tree: SpanForest, operations: dict[int, str | None], agents: Mapping[int, str]) -> None:
    """Make a span the team of its trace: a turn in which only other agents act, else the innermost around all turns.

    A trace that has a team already keeps it, and a span of a web server, a queue or a database is none.
    """
    traces: dict[str, list[SpanRecord]] = defaultdict(list)
    for record in tree.records:
        traces[record.trace_id].append(record)
    everything = tree.above({id(record) for record in tree.records})
    turns_above = tree.above({key for key, operation in operations.items() if operation == semconv.OP_INVOKE_AGENT})
    for records in traces.values():
        if not any(operations[id(record)] == semconv.OP_INVOKE_WORKFLOW or is_own(record) for record in records):
            _find_outer_team(everything, records, turns_above, operations, agents)


def _find_outer_team(
    everything: SpansAbove,
    records: Sequence[SpanRecord],
    turns_above: SpansAbove,
    operations: dict[int, str | None],
    agents: Mapping[int, str],
) -> None:
    inside: dict[int | None, list[SpanRecord]] = defaultdict(list)
    """The turns and acts right inside each turn; those outside of every turn under None."""
    for record in records:
        if operations[id(record)] in (*_ACTS, semconv.OP_INVOKE_AGENT):
            above = next(turns_above.around(record), None)
            inside[None if above is None else id(above)].append(record)
    turns = [record for record in inside[None] if operations[id(record)] == semconv.OP_INVOKE_AGENT]
    for record in turns:
        if _only_others_act(record, inside[id(record)], operations, agents):
            operations[id(record)] = semconv.OP_INVOKE_WORKFLOW
    around = _innermost_around(everything, turns) if len(turns) > 1 else None
    if around is not None and operations[id(around)] not in _ACTS and not _is_of_a_server(around):
        operations[id(around)] = semconv.OP_INVOKE_WORKFLOW


def _only_others_act(
    turn: SpanRecord, inside: Sequence[SpanRecord], operations: Mapping[int, str | None], agents: Mapping[int, str]
) -> bool:
    name = agents.get(id(turn))
    return bool(inside) and all(
        operations[id(record)] == semconv.OP_INVOKE_AGENT and agents.get(id(record)) != name for record in inside
    )


def _innermost_around(everything: SpansAbove, turns: Sequence[SpanRecord]) -> SpanRecord | None:
    first, *others = ([*everything.around(turn)] for turn in turns)
    common = set.intersection(*({id(record) for record in path} for path in others))
    return next((record for record in first if id(record) in common), None)


def _is_of_a_server(record: SpanRecord) -> bool:
    return record.kind != "internal" or any(key.startswith(_OF_SERVERS) for key in record.attributes)
