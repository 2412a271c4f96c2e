"""Normalisation of spans of other instrumentations to our keys; an act that two instrumentations saw is one act.

Reads GenAI attributes of any edition, OpenLLMetry (traceloop), OpenInference and MLflow. What a span says is
kept; our keys are added beside it. Replaced is only what stood under one of our keys and meant something
else there: the operation of a framework's inner part, messages of another shape, a callback's arguments in
place of the tool's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry._foreign_messages import (
    TRACELOOP_INPUT,
    TRACELOOP_OUTPUT,
    ToolResult,
    as_one_reply,
    event_messages,
    is_genai,
    to_messages,
    tool_attributes,
    tool_name,
    tool_result,
    unflatten,
    with_tool_results,
)
from tracer_hooks.telemetry._foreign_roles import (
    INTERNAL,
    choose_teams,
    find_agents,
    find_outer_teams,
    is_own,
    operation_of,
    team_name,
)
from tracer_hooks.telemetry._records import (
    CHAT_OPERATIONS,
    EXCEPTION_EVENTS,
    USAGE_KEYS,
    Message,
    SpanForest,
    SpanRecord,
    SpanStatus,
    decode_json,
    first_present,
    message_text,
    messages_in,
    parts_of,
    text_message,
    without_none,
)

_MLFLOW_TYPE = "mlflow.spanType"
_MLFLOW_KINDS = {
    "AGENT": semconv.OI_KIND_AGENT,
    "CHAIN": semconv.OI_KIND_CHAIN,
    "WORKFLOW": semconv.OI_KIND_CHAIN,
    "TASK": semconv.OI_KIND_CHAIN,
    "CHAT_MODEL": semconv.OI_KIND_LLM,
    "LLM": semconv.OI_KIND_LLM,
    "TOOL": semconv.OI_KIND_TOOL,
    "RETRIEVER": semconv.OI_KIND_RETRIEVER,
}
_MLFLOW_TO_OPENINFERENCE = {
    "mlflow.spanInputs": semconv.OI_INPUT_VALUE,
    "mlflow.spanOutputs": semconv.OI_OUTPUT_VALUE,
    "mlflow.llm.model": semconv.OI_LLM_MODEL,
    "mlflow.llm.provider": semconv.OI_LLM_PROVIDER,
}
_MLFLOW_TOKENS = {
    "input_tokens": semconv.OI_LLM_TOKENS_PROMPT,
    "output_tokens": semconv.OI_LLM_TOKENS_COMPLETION,
    "cache_read_input_tokens": semconv.OI_LLM_TOKENS_CACHE_READ,
    "cache_creation_input_tokens": semconv.OI_LLM_TOKENS_CACHE_WRITE,
}


def with_openinference_keys(record: SpanRecord) -> SpanRecord:
    """``record`` with OpenInference's keys beside MLflow's; another's span as it is."""
    attributes = record.attributes
    if _MLFLOW_TYPE not in attributes:
        return record
    found: dict[str, Any] = {semconv.OI_SPAN_KIND: _MLFLOW_KINDS.get(_without_json_quotes(attributes[_MLFLOW_TYPE]))}
    found |= {
        key: _without_json_quotes(attributes[given])
        for given, key in _MLFLOW_TO_OPENINFERENCE.items()
        if given in attributes
    }
    usage = decode_json(attributes.get("mlflow.chat.tokenUsage"))
    if isinstance(usage, Mapping):
        found |= {key: usage.get(name) for name, key in _MLFLOW_TOKENS.items()}
    return dataclasses.replace(record, attributes={**without_none(found), **attributes})


def _without_json_quotes(value: Any) -> Any:
    """MLflow writes every value as JSON, texts too; objects and lists stay JSON text, as OpenInference has them."""
    return decode_json(f"[{value}]")[0] if isinstance(value, str) and value.startswith('"') else value


_MERGED_KEYS = (
    semconv.TOOL_CALL_ID,
    semconv.TOOL_CALL_ARGUMENTS,
    semconv.TOOL_CALL_RESULT,
    semconv.ERROR_TYPE,
    semconv.SYSTEM_INSTRUCTIONS,
    semconv.INPUT_MESSAGES,
    semconv.OUTPUT_MESSAGES,
    semconv.REQUEST_MODEL,
    semconv.RESPONSE_MODEL,
    *USAGE_KEYS.values(),
)


def find_duplicates(tree: SpanForest, operations: Mapping[int, str | None]) -> dict[int, SpanRecord]:
    """The span that shows the same act, for each span that shows it again.

    A model call right inside a model call is the same one, and so is a tool call right inside a call of the same tool
    if another instrumentation wrote it, or its arguments are the same or not told. Our own span is the one that stays.
    """
    found: dict[int, SpanRecord] = {}
    acting = tree.above({key for key, operation in operations.items() if operation})
    for record in tree.records:
        operation = operations[id(record)]
        outer = next(acting.around(record), None)
        if outer is None or not _is_same_act(tree, record, outer, operation, operations[id(outer)]):
            continue
        kept, again = (record, outer) if is_own(record) and not is_own(outer) else (outer, record)
        if not is_own(again):
            found[id(again)] = kept
    return found


def _is_same_act(
    tree: SpanForest, record: SpanRecord, outer: SpanRecord, operation: str | None, outer_operation: str | None
) -> bool:
    if operation in CHAT_OPERATIONS:
        return outer_operation in CHAT_OPERATIONS
    if operation != semconv.OP_EXECUTE_TOOL or outer_operation != operation or tool_name(record) != tool_name(outer):
        return False
    if record.scope != outer.scope or semconv.MCP_METHOD in record.attributes:
        return True
    # Backends keep no scope: there a span that tells no arguments inside one that does is another instrumentation's.
    inner, around = (
        tool_attributes(each, tree.parent(each)).get(semconv.TOOL_CALL_ARGUMENTS) for each in (record, outer)
    )
    return inner is None or bool(inner == around)


def merge_duplicate(kept: SpanRecord, again: SpanRecord) -> SpanRecord:
    """``kept`` with what only the other span of the same act tells; a tool failed if either says so."""
    more = {key: again.attributes[key] for key in _MERGED_KEYS if key in again.attributes}
    changed = dataclasses.replace(kept, attributes={**more, **kept.attributes})
    is_tool = kept.operation == semconv.OP_EXECUTE_TOOL
    if is_tool and again.status is SpanStatus.ERROR and kept.status is not SpanStatus.ERROR:
        result = str(changed.attributes.get(semconv.TOOL_CALL_RESULT) or "")
        if result and result in again.status_message:  # what the model was told of the failure is no result
            kept_keys = {key: value for key, value in changed.attributes.items() if key != semconv.TOOL_CALL_RESULT}
            changed = dataclasses.replace(changed, attributes=kept_keys)
        events = (*kept.events, *again.events)
        return dataclasses.replace(changed, status=again.status, status_message=again.status_message, events=events)
    return changed


def as_internal_span(record: SpanRecord) -> SpanRecord:
    """The span that showed the act again, as a part that acts through others."""
    dropped = (semconv.OPERATION_NAME, semconv.AGENT_NAME)
    attributes = {key: value for key, value in record.attributes.items() if key not in dropped}
    return dataclasses.replace(record, attributes=attributes)


_ROSTERS = ("crew_agents", "crewai.crew.agents")  # OpenInference's and OpenLLMetry's, of CrewAI
_TASKS = ("crewai.task.description",)
_ANSWERS = ("crewai.crew.result",)
_OUTPUT = "final_result"  # of Pydantic AI: what the agent returned, which may be a list or any object


def messages_of_act(record: SpanRecord) -> dict[str, Any]:
    """Input and output of an agent or team; of a whole state that came out, only the last message."""
    found = {semconv.INPUT_MESSAGES: _input_messages(record), semconv.OUTPUT_MESSAGES: _output_messages(record)[-1:]}
    return {key: value for key, value in found.items() if value}


def replies_from_teams(
    tree: SpanForest, operations: Mapping[int, str | None], agents: Mapping[int, str]
) -> dict[int, Message]:
    """The last message of each agent's turn, by span, from the conversation that its team's span gives back.

    OpenInference for AutoGen (0.1.22) writes no output on the agents' own spans.
    """
    found: dict[int, Message] = {}
    turns: dict[tuple[int, str], list[SpanRecord]] = {}
    teams: dict[int, SpanRecord] = {}
    outer = tree.above({key for key, operation in operations.items() if operation == semconv.OP_INVOKE_WORKFLOW})
    for record in sorted(tree.records, key=lambda record: record.start_ns):
        if operations[id(record)] != semconv.OP_INVOKE_AGENT or _output_messages(record):
            continue
        above = next(outer.around(record), None)
        if above is not None:
            teams[id(above)] = above
            turns.setdefault((id(above), agents.get(id(record), "")), []).append(record)
    for (team, agent), spans in turns.items():
        messages = _output_messages(teams[team])
        words = [message for message in messages if message.get("name") == agent and message_text(message)]
        # counted from the end: what an earlier call of the same team object said may stand before it
        found.update({id(span): message for span, message in zip(reversed(spans), reversed(words), strict=False)})
    return found


def replies_from_tasks(tree: SpanForest, operations: Mapping[int, str | None]) -> dict[int, Message]:
    """Replies of agents, by span, where only the span of the task right around an agent's last turn tells them.

    OpenLLMetry for CrewAI (0.62.4) writes a task's output, but none on the agent's span inside.
    """
    last_turn: dict[int, tuple[SpanRecord, list[Message]]] = {}
    for record, task in sorted(_turns_in_tasks(tree, operations), key=lambda pair: pair[0].start_ns):
        if not _output_messages(record) and (reply := _output_messages(task)):
            last_turn[id(task)] = record, reply
    return {id(record): reply[-1] for record, reply in last_turn.values()}


def requests_from_tasks(tree: SpanForest, operations: Mapping[int, str | None]) -> dict[int, list[Message]]:
    """Requests to agents, by span, where only the span of the task right around a turn tells them."""
    turns = _turns_in_tasks(tree, operations)
    return {id(record): _input_messages(task) for record, task in turns if any(map(task.attributes.get, _TASKS))}


def _turns_in_tasks(tree: SpanForest, operations: Mapping[int, str | None]) -> Iterator[tuple[SpanRecord, SpanRecord]]:
    for record in tree.records:
        task = tree.parent(record)
        if operations[id(record)] == semconv.OP_INVOKE_AGENT and task is not None and operations[id(task)] == INTERNAL:
            yield record, task


def roster_of(record: SpanRecord) -> dict[str, Any]:
    """The members of a team, from the list of them on its span."""
    for key in _ROSTERS:
        listed = decode_json(record.attributes.get(key))
        items = listed if isinstance(listed, list) else []
        if members := [_member(item) for item in items if isinstance(item, Mapping) and item.get("role")]:
            return {semconv.RUN_AGENTS: members}
    return {}


def _member(item: Mapping[str, Any]) -> dict[str, Any]:
    listed = item.get("tools_names") or item.get("tools")
    tools = [tool.get("name") if isinstance(tool, Mapping) else tool for tool in listed or () if tool]
    return {"name": item["role"], "instructions": item.get("backstory"), "tools": [tool for tool in tools if tool]}


def _input_messages(record: SpanRecord) -> list[Message]:
    if conversation := _conversation(record):
        return conversation
    given = to_messages(first_present(record.attributes, semconv.OI_INPUT_VALUE, TRACELOOP_INPUT, *_TASKS), "user")
    return given or event_messages(record.events)[0]


def _output_messages(record: SpanRecord) -> list[Message]:
    if (returned := record.attributes.get(_OUTPUT)) is not None:
        return [text_message("assistant", to_text(returned))]
    reply = to_messages(
        first_present(record.attributes, semconv.OI_OUTPUT_VALUE, TRACELOOP_OUTPUT, *_ANSWERS), "assistant"
    )
    return reply or event_messages(record.events)[1]


def _conversation(record: SpanRecord) -> list[Message]:
    """The messages before an answer, where the span's output holds both; CrewAI's does."""
    output = decode_json(first_present(record.attributes, semconv.OI_OUTPUT_VALUE, TRACELOOP_OUTPUT))
    if not isinstance(output, Mapping) or not isinstance(output.get("raw"), str) or not output.get("messages"):
        return []
    messages = to_messages(output["messages"], "user")
    is_answer = bool(messages) and messages[-1]["role"] == "assistant" and message_text(messages[-1]) == output["raw"]
    return messages[:-1] if is_answer else messages


_REQUEST_KEYS = (semconv.INPUT_MESSAGES, semconv.OI_LLM_INPUT_MESSAGES, "gen_ai.prompt", semconv.OI_INPUT_VALUE)
_REPLY_KEYS = (semconv.OUTPUT_MESSAGES, semconv.OI_LLM_OUTPUT_MESSAGES, "gen_ai.completion", semconv.OI_OUTPUT_VALUE)


def normalise(records: Iterable[SpanRecord]) -> list[SpanRecord]:
    """Spans of any instrumentation with our GenAI keys: operation, agent, messages, tool call and usage.

    Our own spans pass unchanged. Give all spans of a trace at once: which span is a team or an
    agent can often be told only from those around it. The order is kept.
    """
    given = [record if is_own(record) else with_openinference_keys(record) for record in records]
    records = [record for record in given if record.operation != semconv.OP_DIAGNOSE]  # made of the run, no part of it
    tree = SpanForest(records)
    operations = {id(record): operation_of(record) for record in records}
    agents = find_agents(tree, operations)
    choose_teams(tree, operations)
    find_outer_teams(tree, operations, agents)
    rewriting = _SpanRewriter(
        tree,
        operations,
        agents,
        replies_from_teams(tree, operations, agents) | replies_from_tasks(tree, operations),
        requests_from_tasks(tree, operations),
    )
    rewritten = {id(record): record if is_own(record) else rewriting.apply(record) for record in records}
    doubles = find_duplicates(tree, operations)
    for record in sorted(records, key=lambda record: -record.start_ns):  # of three, the innermost tells first
        kept = doubles.get(id(record))
        if kept is not None:
            if not is_own(kept):
                rewritten[id(kept)] = merge_duplicate(rewritten[id(kept)], rewritten[id(record)])
            rewritten[id(record)] = as_internal_span(rewritten[id(record)])
    return [rewritten.get(id(record), record) for record in given]


@dataclass(frozen=True, slots=True)
class _SpanRewriter:
    """Rewriter of spans, with what is known of all of them."""

    tree: SpanForest
    operations: Mapping[int, str | None]
    agents: Mapping[int, str]
    replies: Mapping[int, Message]
    """What agents said, by span, where only the span of the team or of a task tells it."""
    requests: Mapping[int, list[Message]]
    """What agents were asked, by span, where only the span of a task tells it."""

    def apply(self, record: SpanRecord) -> SpanRecord:
        operation = self.operations[id(record)]
        attributes = dict(record.attributes)
        if operation in (INTERNAL, semconv.OP_INVOKE_WORKFLOW):
            attributes.pop(semconv.AGENT_NAME, None)
        if operation is not None:
            attributes[semconv.OPERATION_NAME] = operation or None
        if operation == semconv.OP_EXECUTE_TOOL:
            attributes |= tool_attributes(record, self.tree.parent(record))
        elif operation in CHAT_OPERATIONS:
            attributes |= _messages_of_call(record)
        added = self._added(record, operation)
        if operation == semconv.OP_INVOKE_WORKFLOW:
            added |= roster_of(record)
            added |= _run_attributes({**added, **attributes})
        merged = attributes | {key: value for key, value in added.items() if attributes.get(key) is None}
        changed = dataclasses.replace(record, attributes=without_none(merged))
        return _with_tool_status(changed, tool_result(record)) if operation == semconv.OP_EXECUTE_TOOL else changed

    def _added(self, record: SpanRecord, operation: str | None) -> dict[str, Any]:
        """Attributes for a span that has none under these keys."""
        added = _common_attributes(record)
        agent = self.agents.get(id(record))
        if agent is not None and operation not in (INTERNAL, semconv.OP_INVOKE_WORKFLOW):
            added[semconv.AGENT_NAME] = agent
        if operation in CHAT_OPERATIONS:
            added |= _model_attributes(record)
        elif operation in (semconv.OP_INVOKE_AGENT, semconv.OP_INVOKE_WORKFLOW):
            added |= messages_of_act(record)
        if id(record) in self.replies:
            added.setdefault(semconv.OUTPUT_MESSAGES, [self.replies[id(record)]])
        if id(record) in self.requests:
            added.setdefault(semconv.INPUT_MESSAGES, self.requests[id(record)])
        if operation == semconv.OP_INVOKE_WORKFLOW:
            added[semconv.WORKFLOW_NAME] = team_name(record)
        return added


def _common_attributes(record: SpanRecord) -> dict[str, Any]:
    attributes = record.attributes
    found: dict[str, Any] = {
        semconv.PROVIDER_NAME: first_present(attributes, semconv.SYSTEM, semconv.OI_LLM_PROVIDER, "llm.system"),
        semconv.CONVERSATION_ID: attributes.get(semconv.OI_SESSION_ID),
        semconv.OI_INPUT_VALUE: attributes.get(TRACELOOP_INPUT),
        semconv.OI_OUTPUT_VALUE: attributes.get(TRACELOOP_OUTPUT),
    }
    if record.status is SpanStatus.ERROR:
        raised = [event.attributes for event in record.events if event.name in EXCEPTION_EVENTS]
        found[semconv.ERROR_TYPE] = raised[-1].get(semconv.EXCEPTION_TYPE) if raised else None
    return without_none(found)


_OTHER_TOKEN_NAMES = {
    semconv.USAGE_INPUT_TOKENS: (semconv.USAGE_PROMPT_TOKENS, semconv.OI_LLM_TOKENS_PROMPT, "llm.usage.prompt_tokens"),
    semconv.USAGE_OUTPUT_TOKENS: (
        semconv.USAGE_COMPLETION_TOKENS,
        semconv.OI_LLM_TOKENS_COMPLETION,
        "llm.usage.completion_tokens",
    ),
    semconv.USAGE_CACHE_READ_TOKENS: (
        semconv.OI_LLM_TOKENS_CACHE_READ,
        "gen_ai.usage.cache_read_input_tokens",  # OpenLLMetry's and Strands'
        "gen_ai.usage.details.cache_read_tokens",  # Pydantic AI's
    ),
    semconv.USAGE_CACHE_WRITE_TOKENS: (
        semconv.USAGE_CACHE_CREATION_TOKENS,
        semconv.OI_LLM_TOKENS_CACHE_WRITE,
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write_input_tokens",
        "gen_ai.usage.details.cache_write_tokens",
    ),
    semconv.USAGE_REASONING_TOKENS: (
        semconv.OI_LLM_TOKENS_REASONING,
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
    ),
}
"""Names that other instrumentations, and older editions, give the counts of tokens."""


def _model_attributes(record: SpanRecord) -> dict[str, Any]:
    attributes = record.attributes
    settings = decode_json(attributes.get("llm.invocation_parameters"))
    settings = settings if isinstance(settings, Mapping) else {}
    model = first_present(attributes, semconv.OI_LLM_MODEL, "llm.request.model_name") or first_present(
        settings, "model", "model_name"
    )
    tools = unflatten(attributes, "llm.tools")
    found = {
        semconv.REQUEST_MODEL: model,
        semconv.RESPONSE_MODEL: attributes.get("llm.response.model_name"),
        semconv.TOOL_DEFINITIONS: [*map(_tool_definition, tools)] if isinstance(tools, list) else None,
        **{key: first_present(attributes, *names) for key, names in _OTHER_TOKEN_NAMES.items()},
    }
    return without_none(found)


def _tool_definition(listed: Any) -> Any:
    """The schema of a tool in OpenInference's list; Anthropic's have the name beside it, OpenAI's one level below."""
    tool = listed.get("tool") if isinstance(listed, Mapping) else None
    return decode_json(tool.get("json_schema")) if isinstance(tool, Mapping) else None


def _messages_of_call(record: SpanRecord) -> dict[str, Any]:
    sent, replied = event_messages(record.events)
    found = {
        semconv.INPUT_MESSAGES: _messages_under(record, _REQUEST_KEYS, "user", sent),
        semconv.OUTPUT_MESSAGES: as_one_reply(_messages_under(record, _REPLY_KEYS, "assistant", replied) or []),
    }
    given = found[semconv.INPUT_MESSAGES] or messages_in(record.attributes, semconv.INPUT_MESSAGES)
    if record.attributes.get(semconv.CONVERSATION_COMPACTED) is True and given and not any(map(_is_compacted, given)):
        found[semconv.INPUT_MESSAGES] = [{"role": "assistant", "parts": [{"type": "compaction"}]}, *given]
    return {key: value for key, value in found.items() if value}


def _is_compacted(message: Message) -> bool:
    return any(part.get("type") == "compaction" for part in parts_of(message))


def _messages_under(
    record: SpanRecord, keys: tuple[str, ...], role: str, from_events: list[Message]
) -> list[Message] | None:
    """The messages under the first key that holds some; None when the first holds them as they should be."""
    genai, *others, whole_value = keys
    present = decode_json(record.attributes.get(genai))
    if present and is_genai(present):
        return with_tool_results(present)
    for key in others:
        messages = to_messages(present or unflatten(record.attributes, key), role)
        if messages:
            return messages
    return from_events or to_messages(record.attributes.get(whole_value), role)


def _run_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    sent, replied = (messages_in(attributes, key) for key in (semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES))
    found: dict[str, Any] = {
        semconv.RUN_TASK: next((message_text(item) for item in sent if item.get("role") == "user"), ""),
        semconv.RUN_FINAL_OUTPUT: message_text(replied[-1]) if replied else "",
    }
    return {key: value for key, value in found.items() if value}


def _with_tool_status(record: SpanRecord, result: ToolResult) -> SpanRecord:
    """A tool whose error was handed to the model as a message has failed, although its span says OK."""
    if record.status is SpanStatus.ERROR or not result.failed:
        return record
    attributes = {semconv.ERROR_TYPE: "tool_error", **record.attributes}
    return dataclasses.replace(record, status=SpanStatus.ERROR, status_message=result.text or "", attributes=attributes)
