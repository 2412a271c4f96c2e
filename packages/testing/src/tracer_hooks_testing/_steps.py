"""Duties: steps, hand-offs, tool calls, errors and payloads are recorded as the scenario has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tracer_hooks import semconv
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.frameworks import Capability
from tracer_hooks.schema import StepKind, Usage
from tracer_hooks.testing import ErrorReply, RecordingHost, Reply, ToolCallReply, When
from tracer_hooks_testing._base import ContractBase, attribute, every_way, root_of, spans_of, steps_by
from tracer_hooks_testing._endings import LOOKUP_SCRIPT
from tracer_hooks_testing._teams import PROMPTS, TASK, TOOL_RESULT, ContractTeams, Scenario, calls_then_says, lookup

_OPERATIONS = {
    semconv.OP_INVOKE_WORKFLOW: semconv.OI_KIND_CHAIN,
    semconv.OP_INVOKE_AGENT: semconv.OI_KIND_AGENT,
    semconv.OP_CHAT: semconv.OI_KIND_LLM,
    semconv.OP_EXECUTE_TOOL: semconv.OI_KIND_TOOL,
}


class StepsContract(ContractBase):
    """Steps, tools, hand-offs, routers, tokens."""

    def test_declared_capabilities_can_be_tested(self) -> None:
        own = type(self.teams)
        needed = {
            Capability.SYNC: own.run is not ContractTeams.run,
            Capability.ASYNC: own.arun is not ContractTeams.arun,
            Capability.STREAM: own.stream is not ContractTeams.stream or own.astream is not ContractTeams.astream,
        }
        declared = self.adapter.capabilities - self.teams.tested_elsewhere
        untested = [capability for capability, given in needed.items() if given != (capability in declared)]
        assert untested == []

    def test_the_team_is_recognised_and_described(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        assert self.adapter.recognises(team)
        assert not self.adapter.recognises(object())
        assert self.adapter.describe(team).name == "pipeline"
        assert self.adapter.framework_version()

    @every_way
    def test_the_pipeline_is_told_step_by_step(self, way: str) -> None:
        llm = self.llm(Scenario.PIPELINE)
        team = self.build("pipeline", llm)
        with self.observe(team) as observer:
            self.conduct(way, team)
        trajectory = observer.trajectory
        assert [(step.agent, step.kind) for step in trajectory.steps] == [
            ("researcher", StepKind.TOOL_CALL),
            ("researcher", StepKind.MESSAGE),
            ("writer", StepKind.MESSAGE),
            ("reviewer", StepKind.MESSAGE),
        ]
        (call,) = trajectory.steps[0].tool_calls
        assert (call.name, call.arguments, call.result) == ("lookup", {"query": "six times seven"}, TOOL_RESULT)
        assert [step.content for step in trajectory.steps[1:]] == [
            "The table says 42.",
            "Six times seven makes 42.",
            "Approved: six times seven makes 42.",
        ]
        assert len(spans_of(observer, semconv.OP_CHAT)) == llm.calls == 4
        assert trajectory.final_output == "Approved: six times seven makes 42."
        assert TASK in trajectory.task
        assert observer.results[0].text == trajectory.final_output

    @every_way
    def test_the_span_tree_is_the_same_in_every_way(self, way: str) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team) as observer:
            self.conduct(way, team)
        parents = {span.context.span_id: span for span in observer.spans if span.context is not None}
        for span in observer.spans:
            operation = attribute(span, semconv.OPERATION_NAME)
            assert attribute(span, semconv.OI_SPAN_KIND) == _OPERATIONS[operation]
            if operation == semconv.OP_INVOKE_WORKFLOW:
                assert span.parent is None
            else:
                assert span.parent is not None
                above = attribute(parents[span.parent.span_id], semconv.OPERATION_NAME)
                expected = (
                    semconv.OP_INVOKE_WORKFLOW if operation == semconv.OP_INVOKE_AGENT else semconv.OP_INVOKE_AGENT
                )
                assert above == expected, span.name
        assert len({span.context.trace_id for span in observer.spans if span.context is not None}) == 1
        turns = [attribute(span, semconv.AGENT_NAME) for span in spans_of(observer, semconv.OP_INVOKE_AGENT)]
        assert turns == ["researcher", "writer", "reviewer"]

    def test_the_roster_holds_instructions_and_tools(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team) as observer:
            self.run(team)
        agents = {spec.name: spec for spec in observer.trajectory.agents}
        assert list(agents) == ["researcher", "writer", "reviewer"]
        assert "lookup" in agents["researcher"].tools
        assert not agents["writer"].tools
        assert all(_told(name) in str(agents[name].instructions) for name in agents)

    def test_each_step_knows_what_reached_it(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team) as observer:
            self.run(team)
        received = [{item.step for item in step.inputs if item.step is not None} for step in observer.trajectory.steps]
        assert received == [set(), {0}, {1}, {1, 2}]
        assert all(any(TASK in str(item.text) for item in step.inputs) for step in observer.trajectory.steps[:1])

    def test_several_calls_of_one_reply_are_one_step(self) -> None:
        calls = [ToolCallReply("lookup", {"query": "one"}), ToolCallReply("lookup", {"query": "two"})]
        rules = [When(tool_result="").then("It is 42."), When().then(Reply(tool_calls=calls))]
        team = self.build("single", self.llm(rules), tools=[lookup])
        with self.observe(team) as observer:
            self.run(team)
        first, *_, last = observer.trajectory.steps
        assert [(call.name, call.arguments) for call in first.tool_calls] == [
            ("lookup", {"query": "one"}),
            ("lookup", {"query": "two"}),
        ]
        assert (last.kind, last.content) == (StepKind.MESSAGE, "It is 42.")

    def test_tool_calls_carry_the_models_ids(self) -> None:
        calls = [ToolCallReply("lookup", {"query": "one"}, id="call_own_id")]
        rules = [When(tool_result="").then("It is 42."), When().then(Reply(tool_calls=calls))]
        team = self.build("single", self.llm(rules), tools=[lookup])
        with self.observe(team) as observer:
            self.run(team)
        (tool,) = spans_of(observer, semconv.OP_EXECUTE_TOOL)
        if self.teams.tools_know_their_call:
            assert attribute(tool, semconv.TOOL_CALL_ID) == "call_own_id"
        assert attribute(tool, semconv.STEP_INDEX) == 0
        assert observer.trajectory.steps[0].tool_calls[0].call_id == "call_own_id"

    @pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
    @every_way
    def test_tokens_are_counted_once_and_on_chat_spans(self, way: str, streaming: bool) -> None:
        calls = [ToolCallReply("lookup", {"query": "one"})]
        rules = [
            When(tool_result="").then(Reply("It is 42.", usage=(20, 4))),
            When().then(Reply(tool_calls=calls, usage=(10, 3))),
        ]
        team = self.build("single", self.llm(rules), tools=[lookup], streaming=streaming)
        with self.observe(team) as observer:
            self.conduct(way, team)
        counted = {
            span.name: (attribute(span, semconv.USAGE_INPUT_TOKENS), attribute(span, semconv.USAGE_OUTPUT_TOKENS))
            for span in observer.spans
            if attribute(span, semconv.OPERATION_NAME) != semconv.OP_CHAT
        }
        assert set(counted.values()) == {(None, None)}
        assert [step.usage for step in observer.trajectory.steps] == [
            Usage(input_tokens=10, output_tokens=3),
            Usage(input_tokens=20, output_tokens=4),
        ]
        assert attribute(root_of(observer), semconv.RUN_USAGE_INPUT_TOKENS) == 30
        assert attribute(root_of(observer), semconv.RUN_USAGE_OUTPUT_TOKENS) == 7

    def test_tokens_of_agents_that_share_a_model_are_not_counted_twice(self) -> None:
        rules = [
            When(agent="researcher", tool_result="").then(Reply("It is 42.", usage=(1, 1))),
            When(agent="researcher").then(Reply(tool_calls=[ToolCallReply("lookup", {"query": "x"})], usage=(10, 1))),
            When(agent="writer").then(Reply("So 42.", usage=(100, 1))),
            When(agent="reviewer").then(Reply("Yes, 42.", usage=(1000, 1))),
        ]
        team = self.build("pipeline", self.llm(rules))
        with self.observe(team) as observer:
            self.run(team)
        assert observer.trajectory.usage == Usage(input_tokens=1111, output_tokens=4)

    def test_a_streamed_reply_is_recorded_whole(self) -> None:
        text = "The answer, in several pieces, is 42."
        team = self.build("single", self.llm([When().then(Reply(text, chunks=5))]), streaming=True)
        with self.observe(team) as observer:
            self.run(team)
        (step,) = observer.trajectory.steps
        assert step.content == text
        (chat,) = spans_of(observer, semconv.OP_CHAT)
        assert attribute(chat, semconv.RESPONSE_FINISH_REASONS) == ("stop",)

    def test_the_model_is_named(self) -> None:
        team = self.build("single", self.llm([When().then(Reply("42", model="scripted-2024"))]))
        with self.observe(team) as observer:
            self.run(team)
        (chat,) = spans_of(observer, semconv.OP_CHAT)
        assert attribute(chat, semconv.REQUEST_MODEL)
        assert chat.name == f"chat {attribute(chat, semconv.REQUEST_MODEL)}"

    # --- several agents --------------------------------------------------------------------------------------------
    @every_way
    def test_a_hand_off_names_who_takes_over(self, way: str) -> None:
        team = self.build("handoff", self.llm(Scenario.HANDOFF))
        with self.observe(team) as observer:
            self.conduct(way, team)
        trajectory = observer.trajectory
        handed = [step for step in steps_by(trajectory, "triage") if step.kind is StepKind.HANDOFF]
        assert [step.recipient for step in handed] == ["billing"]
        (answer,) = steps_by(trajectory, "billing")
        assert (answer.kind, answer.content) == (StepKind.MESSAGE, "The refund of 42 is on its way.")
        assert answer.index > handed[0].index
        assert {step.agent for step in trajectory.steps} == {"triage", "billing"}

    @every_way
    def test_a_managers_choice_is_visible(self, way: str) -> None:
        llm = self.llm(Scenario.MANAGER)
        team = self.build("manager", llm)
        with self.observe(team) as observer:
            self.conduct(way, team)
        trajectory = observer.trajectory
        choices = [step for step in trajectory.steps if step.agent not in ("alpha", "beta")]
        assert "beta" in [step.recipient for step in choices if step.kind is StepKind.HANDOFF]
        assert [step.content for step in steps_by(trajectory, "beta")] == ["It is 42 exactly."]
        assert steps_by(trajectory, "alpha") == []
        assert len(spans_of(observer, semconv.OP_CHAT)) == llm.calls
        assert sum(step.attempts for step in trajectory.steps if step.usage is not None) == llm.calls

    @every_way
    def test_agents_side_by_side_keep_their_own_steps(self, way: str) -> None:
        team = self.build("parallel", self.llm(Scenario.PARALLEL))
        with self.observe(team) as observer:
            self.conduct(way, team)
        said = sorted((step.agent, step.content) for step in observer.trajectory.steps)
        assert said == [("left", "It is 42 in digits."), ("right", "It is forty-two in words.")]
        root = root_of(observer)
        for span in spans_of(observer, semconv.OP_INVOKE_AGENT):
            assert span.parent is not None
            assert root.context is not None
            assert span.parent.span_id == root.context.span_id

    @every_way
    def test_a_team_inside_a_team_is_part_of_its_run(self, way: str) -> None:
        llm = self.llm(Scenario.NESTED)
        team = self.build("nested", llm)
        with self.observe(team) as observer:
            self.conduct(way, team)
        said = [(step.agent, step.content) for step in observer.trajectory.steps]
        assert said == [("expert", "I found that it is 42."), ("lead", "In short, the answer is 42.")]
        assert len(spans_of(observer, semconv.OP_CHAT)) == llm.calls

    @every_way
    def test_a_model_class_of_the_user_is_observed(self, way: str) -> None:
        team = self.build("custom_model", ["It is 42, says my own model."])
        with self.observe(team) as observer:
            self.conduct(way, team)
        assert [step.content for step in observer.trajectory.steps] == ["It is 42, says my own model."]
        assert len(spans_of(observer, semconv.OP_CHAT)) == 1


def _told(agent: str) -> Any:
    return PROMPTS[agent].partition(". ")[2]


_SECRET = "sk-abcdefghijklmnopqrstuvwxyz"
_TURNS = 52
_KEYS_OF_JSON = frozenset(
    {semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES, semconv.SYSTEM_INSTRUCTIONS, semconv.RUN_AGENTS}
)


class Odd:
    """Something that is no JSON, and prints in its own way."""

    def __init__(self) -> None:
        self.itself = self

    def __repr__(self) -> str:
        return "<odd thing>"


def _gives(value: object) -> Callable[..., Any]:
    def lookup(query: str) -> Any:
        """Look a number up in the table."""
        return value

    return lookup


class PayloadsContract(ContractBase):
    """Sizes, odd values, redaction."""

    @pytest.mark.parametrize("size", [2_000, 1_000_000], ids=["2 kB", "1 MB"])
    def test_long_texts_are_recorded_whole_and_exported_short(self, size: int) -> None:
        found, said = "f" * size, "s" * size
        rules = calls_then_says("solo", [ToolCallReply("lookup", {"query": "q" * size})], said)
        team = self.build("single", self.llm(rules), tools=[_gives(found)])
        with self.observe(team) as observer:
            self.run(team)
        first, last = observer.trajectory.steps
        assert first.tool_calls[0].arguments == {"query": "q" * size}
        assert first.tool_calls[0].result == found
        assert last.content == said
        limit = CaptureConfig().max_attribute_bytes
        for _, key, value in _attributes(observer):
            assert not isinstance(value, str) or len(value.encode()) <= limit, key
            if key in _KEYS_OF_JSON:
                json.loads(value)

    def test_a_long_conversation_stays_below_the_attribute_limit(self) -> None:
        replies = [Reply(tool_calls=[ToolCallReply("lookup", {"query": str(turn)})]) for turn in range(_TURNS)]
        llm = self.llm([When(agent="solo").then(*replies, "It is 42.")])
        team = self.build("single", llm, tools=[lookup], max_calls=_TURNS + 1)
        with self.observe(team) as observer:
            self.run(team)
        assert len(llm.requests[-1].messages) > 100
        assert max(len(span.attributes or {}) for span in observer.spans) < 64  # OpenTelemetry's default limit is 128
        assert {span.dropped_attributes for span in observer.spans} == {0}
        chat = spans_of(observer, semconv.OP_CHAT)[-1]
        messages = json.loads(str((chat.attributes or {})[semconv.INPUT_MESSAGES]))
        assert messages[0]["role"] == "system", "the system message is what must not be lost"
        assert len(observer.trajectory.steps) == _TURNS + 1

    @pytest.mark.parametrize(
        "value",
        [Odd(), b"\xff\x00", {"a": {1, 2}, "b": float("nan")}, None, ["x", 1], "half a pair: \ud800"],
        ids=["object", "bytes", "set", "none", "list", "surrogate"],
    )
    def test_odd_results_end_the_run_as_without_us(self, value: object) -> None:
        llm = self.llm(LOOKUP_SCRIPT)
        bare = self.ending("run", self.build("single", llm, tools=[_gives(value)]))
        llm.reset()
        team = self.build("single", llm, tools=[_gives(value)])
        with self.observe(team) as observer:
            assert self.ending("run", team) == bare
        observer.trajectory.model_dump_json()

    @pytest.mark.parametrize("arguments", ['{"query": "half a pair: \\ud800"}', '{"query": "\\u0000 \\ud83d\\ude00"}'])
    def test_odd_arguments_end_the_run_as_without_us(self, arguments: str) -> None:
        llm = self.llm(calls_then_says("solo", [ToolCallReply("lookup", arguments)], "It is 42."))
        bare = self.ending("run", self.build("single", llm, tools=[lookup]))
        llm.reset()
        team = self.build("single", llm, tools=[lookup])
        with self.observe(team) as observer:
            assert self.ending("run", team) == bare
        observer.trajectory.model_dump_json()
        for _, key, value in _attributes(observer):
            assert not isinstance(value, str) or value.encode() is not None, key

    def test_a_tool_that_changes_its_arguments_does_not_change_the_record(self) -> None:
        def lookup(queries: list[str]) -> str:
            """Look numbers up in the table."""
            queries.clear()
            return "Six times seven is 42."

        rules = calls_then_says("solo", [ToolCallReply("lookup", {"queries": ["six", "seven"]})], "It is 42.")
        team = self.build("single", self.llm(rules), tools=[lookup])
        with self.observe(team) as observer:
            self.run(team)
        assert observer.trajectory.steps[0].tool_calls[0].arguments == {"queries": ["six", "seven"]}

    # --- content capture -------------------------------------------------------------------------------------------
    def test_without_capture_no_content_is_exported(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team, capture=CaptureConfig()) as observer:
            self.run(team)
        exported = " ".join(str(value) for _, _, value in _attributes(observer))
        for text in ("six times seven", "Six times seven", "The table says", "You are"):
            assert text not in exported
        assert observer.trajectory.steps[1].content == "The table says 42.", "the local record keeps it for diagnosis"

    @pytest.mark.parametrize("mode", [ContentCapture.REDACTED, ContentCapture.OFF])
    def test_no_secret_is_exported(self, mode: ContentCapture) -> None:
        observer = self._with_secrets(CaptureConfig(export=mode))
        assert [place for place, text in _texts(observer) if _SECRET in text] == []

    def test_a_redacted_record_holds_no_secret(self) -> None:
        observer = self._with_secrets(CaptureConfig(record=ContentCapture.REDACTED))
        assert observer.runs
        assert all(_SECRET not in run.trajectory().model_dump_json() for run in observer.runs)

    def test_a_failing_models_message_holds_no_secret(self) -> None:
        llm = self.llm([When().then(ErrorReply(401, message=f"invalid key {_SECRET}"))])
        team = self.build("single", llm)
        with self.observe(team, capture=CaptureConfig(export=ContentCapture.REDACTED)) as observer:
            self.ending("run", team)
        assert [place for place, text in _texts(observer) if _SECRET in text] == []

    def _with_secrets(self, capture: CaptureConfig) -> RecordingHost:
        def lookup(query: str, api_key: str) -> str:
            """Look a number up in the table."""
            raise ValueError(f"cannot log in with {_SECRET}")

        call = ToolCallReply("lookup", {"query": f"with {_SECRET}", "api_key": _SECRET})
        llm = self.llm(calls_then_says("solo", [call], f"I used {_SECRET}."))
        team = self.build("single", llm, tools=[lookup], prompts={"solo": f"You are the solo agent. Use {_SECRET}."})
        with self.observe(team, capture=capture) as observer:
            self.ending("run", team, f"Log in with {_SECRET}.")
        return observer


def _attributes(observer: RecordingHost) -> Iterator[tuple[str, str, Any]]:
    for span in observer.spans:
        for key, value in (span.attributes or {}).items():
            yield span.name, key, value


def _texts(observer: RecordingHost) -> Iterator[tuple[str, str]]:
    """Every text that leaves the process, with its place."""
    for name, key, value in _attributes(observer):
        yield f"{name}: {key}", str(value)
    for span in observer.spans:
        yield f"{span.name}: name", span.name
        yield f"{span.name}: status", span.status.description or ""
        for event in span.events:
            for key, value in (event.attributes or {}).items():
                yield f"{span.name}: event {event.name}: {key}", str(value)
