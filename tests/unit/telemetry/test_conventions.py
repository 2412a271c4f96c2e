"""Edition 1.42 of the GenAI conventions: names of it and of older editions are read, names of it are written."""

from __future__ import annotations

import importlib
import json
import pkgutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks import semconv
from tracer_hooks.config import CaptureConfig
from tracer_hooks.schema import AgentSpec, Step, StepKind, Trajectory, Usage
from tracer_hooks.telemetry import (
    AgentInvocation,
    ChatInvocation,
    ChatReply,
    SpanEvent,
    SpanRecord,
    SpanStatus,
    assemble,
    normalise,
    read_otlp,
    to_spans,
    write_otlp_json,
)

from ._runs import Recorded, only, span

OFFICIAL = Path(__file__).parents[2] / "fixtures" / "genai_keys.json"
_PREFIXES = ("gen_ai.", "mcp.")
_ONLY_IN_THE_REGISTRY = {
    semconv.CALLER_TYPE,
    semconv.CALLER_NAME,
    semconv.MEMORY_QUERY,
    semconv.MEMORY_RECORDS,
    semconv.MEMORY_RECORD_ID,
    semconv.TRANSFER_MODE,
    semconv.TRANSFER_TARGET,
}
"""Keys of open-telemetry/semantic-conventions-genai that neither package has a constant for yet."""


def official_keys() -> set[str]:
    """The keys of the two packages that are installed; ``genai_keys.json`` is what this gives for its versions."""
    incubating = "opentelemetry.semconv._incubating.attributes"
    modules = [importlib.import_module(f"{incubating}.{name}_attributes") for name in ("gen_ai", "mcp")]
    package = importlib.import_module("opentelemetry.util.genai")
    names = [info.name for info in pkgutil.iter_modules(package.__path__)]
    modules += [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    values = [value for module in modules for name, value in vars(module).items() if name.lstrip("_").isupper()]
    return {value for value in values if isinstance(value, str) and value.startswith(_PREFIXES)}


def our_keys() -> set[str]:
    named = {name: value for name, value in vars(semconv).items() if name.isupper() and not name.startswith("EVENT_")}
    return {value for value in named.values() if isinstance(value, str) and value.startswith(_PREFIXES)}


def test_every_key_of_ours_is_one_of_the_official_ones() -> None:
    vendored = set(json.loads(OFFICIAL.read_text())["keys"])
    assert our_keys() - vendored == _ONLY_IN_THE_REGISTRY


def test_the_vendored_list_is_that_of_the_official_packages() -> None:
    pytest.importorskip("opentelemetry.util.genai")
    vendored = json.loads(OFFICIAL.read_text())
    assert our_keys() - official_keys() <= _ONLY_IN_THE_REGISTRY
    if all(version(package) == made_of for package, made_of in vendored["made_of"].items()):
        assert set(vendored["keys"]) == official_keys()


# --- tokens ---
ALL = Usage(input_tokens=9, output_tokens=5, cache_read_tokens=4, cache_write_tokens=2, reasoning_tokens=3)
_CHAT = {semconv.OPERATION_NAME: "chat"}


@pytest.mark.parametrize(
    "names",
    [
        (
            "gen_ai.usage.input_tokens gen_ai.usage.output_tokens gen_ai.usage.cache_read.input_tokens "
            "gen_ai.usage.cache_write.input_tokens gen_ai.usage.reasoning.output_tokens"
        ),
        (
            "gen_ai.usage.prompt_tokens gen_ai.usage.completion_tokens gen_ai.usage.cache_read.input_tokens "
            "gen_ai.usage.cache_creation.input_tokens gen_ai.usage.reasoning.output_tokens"
        ),
        (
            "llm.token_count.prompt llm.token_count.completion llm.token_count.prompt_details.cache_read "
            "llm.token_count.prompt_details.cache_write llm.token_count.completion_details.reasoning"
        ),
        (
            "gen_ai.usage.input_tokens gen_ai.usage.output_tokens gen_ai.usage.cache_read_input_tokens "
            "gen_ai.usage.cache_creation_input_tokens gen_ai.usage.reasoning_tokens"
        ),
        (
            "gen_ai.usage.input_tokens gen_ai.usage.output_tokens gen_ai.usage.details.cache_read_tokens "
            "gen_ai.usage.details.cache_write_tokens gen_ai.usage.details.reasoning_tokens"
        ),
    ],
    ids=["1.42", "older", "OpenInference", "OpenLLMetry", "Pydantic AI"],
)
def test_cached_and_reasoning_tokens_are_read_under_all_their_names(names: str) -> None:
    counts = zip(names.split(), (9, 5, 4, 2, 3), strict=True)
    run = only([span(1, None, "chat", {**_CHAT, semconv.OUTPUT_MESSAGES: said("4"), **dict(counts)})])
    assert run.usage == ALL


def test_mlflow_has_no_count_of_reasoning() -> None:
    counts = {
        "input_tokens": 9,
        "output_tokens": 5,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 2,
    }
    known = {"mlflow.spanType": '"LLM"', "mlflow.chat.tokenUsage": json.dumps(counts), "mlflow.spanOutputs": '"4"'}
    assert only([span(1, None, "chat", known)]).usage == ALL.model_copy(update={"reasoning_tokens": 0})


def test_tokens_are_added_and_written_and_those_that_nobody_counted_are_not() -> None:
    assert (ALL + ALL) - ALL == ALL
    assert Usage() == ALL - (ALL + ALL)
    assert Usage.model_validate({"input_tokens": 9}) == Usage(input_tokens=9)
    step = Step(index=0, agent="a", content="x", usage=ALL)
    run = Trajectory(run_id="r", steps=(step, step.model_copy(update={"index": 1, "usage": Usage(input_tokens=9)})))
    spans = to_spans(run)
    assert assemble(spans)[0].usage == run.usage
    first, second = ([key for key in each.attributes if ".usage." in key] for each in spans if each.operation == "chat")
    assert (len(first), second) == (5, [semconv.USAGE_INPUT_TOKENS, semconv.USAGE_OUTPUT_TOKENS])


# --- what our own spans say ---
def test_our_spans_name_their_schema_prompt_and_tools(tmp_path: Path) -> None:
    recorded = Recorded()
    run = recorded.start()
    with run.active(), AgentInvocation(run, AgentSpec(name="a", instructions="Add.", tools=("add",))).active():
        ChatInvocation(run, "m").stop(ChatReply(content="4", usage=ALL))
        chat = ChatInvocation(run, "m")
        run.use_instructions("a", "Add well.")
        chat.stop(ChatReply(content="4"))
    run.finish()
    turn, *chats = recorded.span("invoke_agent a"), *(each for each in recorded.spans if each.name == "chat m")
    assert turn.instrumentation_scope is not None
    assert turn.instrumentation_scope.schema_url == semconv.SCHEMA_URL
    assert (turn.attributes or {})[semconv.PROMPT_VERSION] == (turn.attributes or {})[semconv.PROMPT_ID]
    assert json.loads(str((turn.attributes or {})[semconv.TOOL_DEFINITIONS])) == [{"type": "function", "name": "add"}]
    assert {(each.attributes or {})[semconv.PROMPT_NAME] for each in (turn, *chats)} == {"team/a"}
    assert len({(each.attributes or {})[semconv.PROMPT_VERSION] for each in chats}) == 2
    assert (chats[0].attributes or {})[semconv.USAGE_CACHE_WRITE_TOKENS] == 2
    write_otlp_json(tmp_path / "run.json", run.records)
    assert {each.schema_url for each in read_otlp(tmp_path / "run.json")} == {semconv.SCHEMA_URL}


def test_tools_are_content_and_their_names_stay_at_home() -> None:
    recorded = Recorded(CaptureConfig())
    run = recorded.start()
    with run.active():
        AgentInvocation(run, AgentSpec(name="a", tools=("add",))).stop("4")
    run.finish()
    assert semconv.TOOL_DEFINITIONS not in (recorded.span("invoke_agent a").attributes or {})


# --- operations ---
def said(text: str, *more: dict[str, Any], role: str = "assistant") -> str:
    texts = [{"type": "text", "content": text}] if text else []
    return json.dumps([{"role": role, "parts": [*texts, *more]}])


def turn(number: int, parent: int | None, name: str, **more: Any) -> SpanRecord:
    known = {semconv.OPERATION_NAME: "invoke_agent", semconv.AGENT_NAME: name}
    return span(number, parent, f"invoke_agent {name}", {**known, **{f"gen_ai.{k}": v for k, v in more.items()}})


def act(number: int, parent: int | None, operation: str, attributes: dict[str, Any], **fields: Any) -> SpanRecord:
    return span(number, parent, operation, {semconv.OPERATION_NAME: operation, **attributes}, **fields)


_PAGES = [{"id": "p1", "score": 0.9, "content": "17 seats"}, {"id": "p2", "score": 0.5, "content": "12 rows"}]


@pytest.mark.parametrize(
    ("attributes", "call"),
    [
        (
            {
                semconv.OPERATION_NAME: "retrieval",
                semconv.RETRIEVAL_QUERY: "seats",
                semconv.RETRIEVAL_DOCUMENTS: json.dumps(_PAGES),
            },
            ("retrieval", {"query": "seats"}, "17 seats\n12 rows"),
        ),
        (
            {semconv.OPERATION_NAME: "retrieval", semconv.RETRIEVAL_DOCUMENTS: '[{"id": "p1", "score": 0.9}]'},
            ("retrieval", None, '[{"id": "p1", "score": 0.9}]'),
        ),
        (
            {
                semconv.OPERATION_NAME: "search_memory",
                semconv.MEMORY_QUERY: "seats",
                semconv.MEMORY_RECORDS: '[{"content": "17 seats"}]',
            },
            ("search_memory", {"query": "seats"}, "17 seats"),
        ),
        (
            {semconv.OPERATION_NAME: "upsert_memory", semconv.MEMORY_RECORDS: '[{"content": "17 seats"}]'},
            ("upsert_memory", {"records": [{"content": "17 seats"}]}, None),
        ),
        (
            {semconv.OPERATION_NAME: "delete_memory", semconv.MEMORY_RECORD_ID: "m1"},
            ("delete_memory", {"record_id": "m1"}, None),
        ),
        (
            {
                semconv.OI_SPAN_KIND: "RETRIEVER",
                "input.value": "seats",
                "retrieval.documents.0.document.content": "17 seats",
                "retrieval.documents.0.document.score": 0.9,
            },
            ("find", "seats", "17 seats"),
        ),
        (
            {semconv.MCP_METHOD: "tools/call", semconv.TOOL_NAME: "seats", semconv.TOOL_CALL_RESULT: "17"},
            ("seats", None, "17"),
        ),
    ],
)
def test_a_search_and_a_call_of_a_server_are_calls_of_tools(attributes: dict[str, Any], call: tuple[object]) -> None:
    records = [
        turn(1, None, "clerk"),
        span(2, 1, "find", attributes),
        act(3, 1, "chat", {"gen_ai.output.messages": said("17")}),
    ]
    run = only(records)
    assert [(each.agent, each.kind) for each in run.steps] == [
        ("clerk", StepKind.TOOL_CALL),
        ("clerk", StepKind.MESSAGE),
    ]
    [found] = run.steps[0].tool_calls
    assert (found.name, found.arguments, found.result) == call
    assert only(normalise(records)).steps == run.steps


@pytest.mark.parametrize(
    "attributes",
    [
        {semconv.OPERATION_NAME: "embeddings", "gen_ai.usage.input_tokens": 3},
        {semconv.MCP_METHOD: "tools/list"},
        {semconv.MCP_METHOD: "prompts/get", semconv.PROMPT_NAME: "greet"},
        {semconv.PROMPT_NAME: "greet", semconv.PROMPT_VERSION: "3", "gen_ai.prompt.variable.city": "Ulm"},
        {semconv.OPERATION_NAME: "plan"},
    ],
)
def test_what_is_no_act_makes_no_step(attributes: dict[str, Any]) -> None:
    run = only([turn(1, None, "clerk", **{"output.messages": said("17")}), span(2, 1, "x", attributes)])
    assert [(each.content, each.kind) for each in run.steps] == [("17", StepKind.MESSAGE)]


@pytest.mark.parametrize(("name", "calls"), [("seats", ["seats"]), ("rows", ["seats", "rows"])])
def test_a_tool_that_a_server_carries_out_is_one_call(name: str, calls: list[str]) -> None:
    of_server = {semconv.MCP_METHOD: "tools/call", semconv.TOOL_NAME: name, semconv.TOOL_CALL_RESULT: "17"}
    records = [
        turn(1, None, "clerk"),
        act(2, 1, "execute_tool", {semconv.TOOL_NAME: "seats", semconv.TOOL_CALL_ARGUMENTS: '{"hall": 2}'}),
        act(3, 2, "execute_tool", of_server),
        span(4, 3, f"tools/call {name}", {semconv.MCP_METHOD: "tools/call"}, kind="server"),
    ]
    found = [call for step in only(records).steps for call in step.tool_calls]
    assert [call.name for call in found] == calls
    assert (found[0].arguments, found[-1].result) == ({"hall": 2}, "17")


@pytest.mark.parametrize(
    ("inside", "attributes", "agent"),
    [("lead", {}, "lead"), ("lead", {semconv.AGENT_NAME: "planner"}, "planner"), (None, {}, "desk")],
)
@pytest.mark.parametrize("has_chat", [True, False])
def test_planning_is_a_turn_of_whoever_plans(
    inside: str | None, attributes: dict[str, Any], agent: str, has_chat: bool
) -> None:
    plan = "First add, then check."
    own = {} if has_chat else {semconv.OUTPUT_MESSAGES: said(plan)}
    records = [act(1, None, "invoke_workflow", {semconv.WORKFLOW_NAME: "desk"})]
    records += [turn(2, 1, inside)] if inside else []
    records += [act(3, 2 if inside else 1, "plan", {**attributes, **own})]
    records += [act(4, 3, "chat", {semconv.OUTPUT_MESSAGES: said(plan)})] if has_chat else []
    run = only(records)
    assert [(each.agent, each.kind, each.content) for each in run.steps] == [(agent, StepKind.MESSAGE, plan)]


@pytest.mark.parametrize(("kind", "is_told"), [("agent", True), ("workflow", False)])
def test_the_caller_of_an_agent_is_whom_its_request_comes_from(kind: str, is_told: bool) -> None:
    asked = {"input.messages": said("How many seats?", role="user"), "caller.type": kind, "caller.name": "lead"}
    records = [
        act(1, None, "invoke_workflow", {semconv.WORKFLOW_NAME: "desk"}),
        turn(2, 1, "lead"),
        act(3, 2, "chat", {semconv.OUTPUT_MESSAGES: said("I ask the clerk.")}),
        turn(4, 2, "clerk", **asked),
        turn(5, 4, "clerk"),  # that of the other process
        act(
            6,
            5,
            "chat",
            {semconv.INPUT_MESSAGES: said("How many seats?", role="user"), semconv.OUTPUT_MESSAGES: said("17")},
        ),
    ]
    lead, clerk = only(records).steps
    assert (lead.kind, lead.recipient) == ((StepKind.HANDOFF, "clerk") if is_told else (StepKind.MESSAGE, None))
    assert [item.source for item in clerk.inputs] == ["lead" if is_told else "user"]


# --- messages ---
@pytest.mark.parametrize(
    ("attributes", "part", "shown"),
    [
        ({}, {"type": "compaction"}, ["[Earlier messages were compacted]"]),
        ({}, {"type": "compaction", "content": "17 seats."}, ["[Earlier messages were compacted] 17 seats."]),
        ({semconv.CONVERSATION_COMPACTED: True}, None, ["[Earlier messages were compacted]"]),
        ({semconv.CONVERSATION_COMPACTED: True}, {"type": "compaction"}, ["[Earlier messages were compacted]"]),
        ({}, None, []),
    ],
)
def test_an_agent_whose_context_was_compacted_is_seen_to_be_so(
    attributes: dict[str, Any], part: dict[str, Any] | None, shown: list[str]
) -> None:
    messages = json.loads(said("How many?", role="user"))
    if part:
        messages.insert(0, {"role": "assistant", "parts": [part]})
    asked = {semconv.INPUT_MESSAGES: json.dumps(messages), semconv.OUTPUT_MESSAGES: said("17"), **attributes}
    records = [turn(1, None, "clerk"), act(2, 1, "chat", asked), act(3, 1, "chat", asked)]
    first, second = only(records).steps
    assert [item.text for item in first.inputs] == [*shown, "How many?"]
    assert (first.content, second.inputs) == ("17", ())


def test_a_tool_that_the_provider_runs_is_a_call_with_its_result() -> None:
    asked = {"type": "server_tool_call", "id": "s1", "name": "search", "server_tool_call": {"query": "seats"}}
    answered = {"type": "server_tool_call_response", "id": "s1", "server_tool_call_response": "17 seats"}
    [step] = only([act(1, None, "chat", {semconv.OUTPUT_MESSAGES: said("There are 17.", asked, answered)})]).steps
    [call] = step.tool_calls
    assert (call.name, call.arguments, call.result, step.content) == (
        "search",
        {"query": "seats"},
        "17 seats",
        "There are 17.",
    )


@pytest.mark.parametrize("key", ["response", "result"])
def test_the_result_of_a_tool_is_read_under_both_its_keys(key: str) -> None:
    wanted = {"type": "tool_call", "id": "c1", "name": "seats", "arguments": {}}
    shown = json.dumps([{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", key: "17"}]}])
    asked = act(1, None, "chat", {semconv.OUTPUT_MESSAGES: said("", wanted)})
    step, _ = only(
        [asked, act(2, None, "chat", {semconv.INPUT_MESSAGES: shown, semconv.OUTPUT_MESSAGES: said("17")})]
    ).steps
    assert [call.result for call in step.tool_calls] == ["17"]


@pytest.mark.parametrize("name", ["exception", "gen_ai.client.operation.exception"])
def test_an_exception_is_read_under_both_names_of_its_event(name: str) -> None:
    told = {semconv.EXCEPTION_TYPE: "TimeoutError", semconv.EXCEPTION_MESSAGE: "no answer in 30 s"}
    failed = act(1, None, "chat", {}, status=SpanStatus.ERROR, events=(SpanEvent(name=name, attributes=told),))
    [step] = only([failed]).steps
    assert (step.error, step.error_type) == ("no answer in 30 s", "TimeoutError")


@pytest.mark.parametrize("wrap", [lambda tool: tool, lambda tool: {"type": "function", "function": tool}])
def test_tools_that_a_model_was_offered_are_its_agents(wrap: Any) -> None:
    offered = json.dumps([wrap({"name": "add"}), wrap({"name": "transfer_to_lead"}), wrap({"name": None}), 3])
    records = [
        turn(1, None, "clerk"),
        act(2, 1, "chat", {semconv.TOOL_DEFINITIONS: offered, semconv.OUTPUT_MESSAGES: said("4")}),
    ]
    assert [agent.tools for agent in only(records).agents] == [("add",)]
    damaged = act(
        1, None, "chat", {semconv.TOOL_DEFINITIONS: '[{"function": "add"}, "x"', semconv.OUTPUT_MESSAGES: said("4")}
    )
    assert [agent.tools for agent in only([damaged]).agents] == [()]


def test_the_name_of_a_prompt_is_no_message() -> None:
    named = {semconv.PROMPT_NAME: "greet", semconv.PROMPT_VERSION: "3", "gen_ai.prompt.0.role": "user"}
    old = act(1, None, "chat", {**named, "gen_ai.prompt.0.content": "hi", "gen_ai.completion.0.content": "hello"})
    [step] = only([old]).steps
    assert [item.text for item in step.inputs] == ["hi"]
    [bare] = normalise([act(1, None, "chat", {semconv.PROMPT_NAME: "greet", semconv.PROMPT_VERSION: "3"})])
    assert semconv.INPUT_MESSAGES not in bare.attributes
