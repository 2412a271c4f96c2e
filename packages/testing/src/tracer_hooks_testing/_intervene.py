"""Duties: replies can be recorded, supplied and changed, and instructions read and rewritten."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tracer_hooks import semconv
from tracer_hooks.errors import TapeMismatchError
from tracer_hooks.frameworks import (
    Capability,
    Intervention,
    Interventions,
    ModelRequest,
    RecordReplies,
    ReplaceModelReply,
    ReplaceToolReply,
    RewriteInstructions,
    ToolReply,
    ToolRequest,
)
from tracer_hooks.telemetry import ChatReply, RequestedTool
from tracer_hooks.testing import Reply, When
from tracer_hooks_testing._base import ContractBase, attribute, every_way, spans_of
from tracer_hooks_testing._endings import FAULTY_SCRIPT, LOOKUP_SCRIPT, faulty
from tracer_hooks_testing._teams import PROMPTS, TASK, TOOL_RESULT, Scenario, lookup

_REWRITTEN = "You are the writer. Write the number in Roman numerals."
_TOLD_ANEW = {"solo": "Say the number, and no more."}
_SAID = "The answer is 42, as always."
_PAUSE_S = 0.3
_STREAMED = [When().then(Reply(text=_SAID, chunks=["The ", "answer is", " 42, as always."], usage=(11, 7)))]


@dataclass
class _Supply(Intervention):
    """Answers for the model, or for the tool, in its place."""

    model: dict[str, ChatReply] = field(default_factory=dict)
    tool: ToolReply | None = None

    def before_model(self, request: ModelRequest) -> ChatReply | None:
        return self.model.get(request.agent)

    def before_tool(self, request: ToolRequest) -> ToolReply | None:
        return self.tool


class _Arguments(Intervention):
    def before_tool(self, request: ToolRequest) -> ToolRequest:
        return replace(request, arguments={"query": "something else"})


class _Stop(Intervention):
    def before_model(self, request: ModelRequest) -> None:
        if request.agent == "writer":
            raise TapeMismatchError("the record ends here")


class InterveneContract(ContractBase):
    """The intervene half of an adapter; each test needs the capability that it names."""

    # --- models ----------------------------------------------------------------------------------------------------
    def test_every_reply_can_be_recorded(self) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        llm = self.llm(Scenario.PIPELINE)
        record = RecordReplies()
        team = self.build("pipeline", llm)
        with self.observe(team, intervention=record) as observer:
            self.run(team)
        assert [(request.agent, request.step) for request, _ in record.models] == [
            ("researcher", 0),
            ("researcher", 1),
            ("writer", 2),
            ("reviewer", 3),
        ]
        assert [reply.content for _, reply in record.models][1:] == [s.content for s in observer.trajectory.steps[1:]]
        assert [call.name for call in record.models[0][1].tool_calls] == ["lookup"]
        assert "lookup" in record.models[0][0].tools
        assert all(request.messages[0]["role"] == "system" for request, _ in record.models)
        if Capability.INTERVENE_TOOL in self.adapter.capabilities:
            (tool,) = record.tools
            assert (tool[0].agent, tool[0].name, tool[0].arguments) == (
                "researcher",
                "lookup",
                {"query": "six times seven"},
            )
            assert tool[1] == ToolReply(content=TOOL_RESULT)

    def test_equal_runs_make_equal_requests(self) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        llm = self.llm(Scenario.PIPELINE)
        digests = []
        for _ in range(2):
            llm.reset()
            record = RecordReplies()
            team = self.build("pipeline", llm)
            with self.observe(team, intervention=record):
                self.run(team)
            digests.append([request.digest() for request, _ in record.models])
        assert digests[0] == digests[1]

    def test_recording_changes_nothing(self) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        llm = self.llm(Scenario.PIPELINE)
        bare = self.ending("run", self.build("pipeline", llm))
        llm.reset()
        team = self.build("pipeline", llm)
        with self.observe(team, intervention=RecordReplies()):
            assert self.ending("run", team) == bare

    @every_way
    def test_a_changed_reply_is_what_the_others_see(self, way: str) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        llm = self.llm(Scenario.PIPELINE)
        team = self.build("pipeline", llm)
        with self.observe(team, intervention=ReplaceModelReply.at_step(2, "It makes 41, I think.")) as observer:
            self.conduct(way, team)
        assert observer.trajectory.steps[2].content == "It makes 41, I think."
        assert "It makes 41, I think." in llm.requests[-1].text
        assert "Six times seven makes 42." not in llm.requests[-1].text

    @every_way
    def test_the_last_changed_reply_is_the_result(self, way: str) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team, intervention=ReplaceModelReply.prefix(3, "Hear, hear: ")) as observer:
            self.conduct(way, team)
        assert observer.trajectory.final_output == "Hear, hear: Approved: six times seven makes 42."
        assert observer.trajectory.steps[3].content == observer.trajectory.final_output

    @pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
    @every_way
    def test_a_supplied_reply_spares_the_call(self, way: str, streaming: bool) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        llm = self.llm([])
        supplied = _Supply(model={"solo": ChatReply(content="It is 42, without asking.")})
        team = self.build("single", llm, streaming=streaming)
        with self.observe(team, intervention=supplied) as observer:
            self.conduct(way, team)
        assert llm.calls == 0
        assert observer.trajectory.final_output == "It is 42, without asking."
        assert [step.content for step in observer.trajectory.steps] == ["It is 42, without asking."]

    def test_a_supplied_reply_may_call_tools(self) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        call = RequestedTool(name="lookup", arguments={"query": "supplied"}, id="call_supplied")

        class Once(Intervention):
            def before_model(self, request: ModelRequest) -> ChatReply | None:
                return ChatReply(tool_calls=[call]) if request.step == 0 else ChatReply(content="It is 42.")

        llm = self.llm([])
        team = self.build("single", llm, tools=[lookup])
        with self.observe(team, intervention=Once()) as observer:
            self.run(team)
        (made,) = observer.trajectory.steps[0].tool_calls
        assert (made.name, made.arguments, made.result) == ("lookup", {"query": "supplied"}, TOOL_RESULT)
        assert llm.calls == 0

    def test_a_tool_call_taken_out_of_a_reply_is_not_made(self) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        made: list[str] = []

        def lookup(query: str) -> str:
            """Look a number up in the table."""
            made.append(query)
            return TOOL_RESULT

        team = self.build("single", self.llm(LOOKUP_SCRIPT), tools=[lookup])
        with self.observe(team, intervention=ReplaceModelReply.at_step(0, "I know: 42.")) as observer:
            self.run(team)
        assert made == []
        assert [step.content for step in observer.trajectory.steps] == ["I know: 42."]

    def test_a_replay_that_leaves_its_record_stops_the_run(self) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        llm = self.llm(Scenario.PIPELINE)
        team = self.build("pipeline", llm)
        with self.observe(team, intervention=_Stop()):
            ending = self.ending("run", team)
        assert ending.error is not None
        assert "the record ends here" in ending.error[1]
        assert [request for request in llm.requests if request.is_from("reviewer")] == []

    # --- tools -----------------------------------------------------------------------------------------------------
    @every_way
    def test_a_changed_result_is_what_the_agent_sees(self, way: str) -> None:
        self.needs(Capability.INTERVENE_TOOL)
        change = ReplaceToolReply(
            lambda request: request.name == "lookup", lambda reply: ToolReply(content="It is 41.")
        )
        llm = self.llm(LOOKUP_SCRIPT)
        team = self.build("single", llm, tools=[lookup])
        with self.observe(team, intervention=change) as observer:
            self.conduct(way, team)
        assert observer.trajectory.steps[0].tool_calls[0].result == "It is 41."
        assert llm.requests[-1].tool_results == ("It is 41.",)

    def test_a_supplied_result_spares_the_call(self) -> None:
        self.needs(Capability.INTERVENE_TOOL)
        llm = self.llm(FAULTY_SCRIPT)
        team = self.build("single", llm, tools=[faulty])
        with self.observe(team, intervention=_Supply(tool=ToolReply(content="The table is back: 42."))) as observer:
            ending = self.ending("run", team)
        assert ending.error is None
        assert llm.requests[-1].tool_results == ("The table is back: 42.",)
        (call,) = observer.trajectory.steps[0].tool_calls
        assert (call.result, call.error) == ("The table is back: 42.", None)

    def test_changed_arguments_reach_the_tool(self) -> None:
        self.needs(Capability.INTERVENE_TOOL)
        asked: list[str] = []

        def lookup(query: str) -> str:
            """Look a number up in the table."""
            asked.append(query)
            return TOOL_RESULT

        team = self.build("single", self.llm(LOOKUP_SCRIPT), tools=[lookup])
        with self.observe(team, intervention=_Arguments()) as observer:
            self.run(team)
        assert asked == ["something else"]
        assert observer.trajectory.steps[0].tool_calls[0].arguments == {"query": "something else"}

    # --- streams ---------------------------------------------------------------------------------------------------
    @pytest.mark.parametrize("looks", [False, True], ids=["rewritten", "rewritten and recorded"])
    @pytest.mark.parametrize("way", ["stream", "astream", "tokens", "atokens"])
    def test_a_changed_request_leaves_the_pieces_of_the_reply_alone(self, way: str, looks: bool) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        llm = self.llm(_STREAMED)
        bare = self.conduct(way, self.build("single", llm, streaming=True))
        team = self.build("single", llm, streaming=True)
        record, rewrite = RecordReplies(), RewriteInstructions(_TOLD_ANEW)
        with self.observe(team, intervention=Interventions([record, rewrite]) if looks else rewrite) as observer:
            items = self.conduct(way, team)
        assert _TOLD_ANEW["solo"] in llm.requests[-1].system
        assert [type(item) for item in items] == [type(item) for item in bare]
        assert [self.teams.plain(item) for item in items] == [self.teams.plain(item) for item in bare]
        assert [reply.content for _, reply in record.models] == [_SAID] * looks
        (chat,) = spans_of(observer, semconv.OP_CHAT)
        assert _TOLD_ANEW["solo"] in str(attribute(chat, semconv.INPUT_MESSAGES))
        assert observer.trajectory.final_output == _SAID
        if way in ("tokens", "atokens"):
            assert len(items) > 2, "the team did not stream"
            assert attribute(chat, semconv.RESPONSE_TIME_TO_FIRST_CHUNK) is not None

    @pytest.mark.parametrize("way", ["tokens", "atokens"])
    def test_a_changed_request_holds_no_piece_back(self, way: str) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        slow = [When().then(Reply(text=_SAID, chunks=["The ", "answer is", " 42, as always."], pause_s=_PAUSE_S))]
        team = self.build("single", self.llm(slow), streaming=True)
        with self.observe(team, intervention=RewriteInstructions(_TOLD_ANEW)):
            came = self.conduct_timed(way, team)
        first = [at for at, item in came if "The " in str(item) and _SAID not in str(item)]
        assert first, "the team did not stream"
        # Two more pieces follow the first, each after a pause; much of that may be lost on a busy machine.
        assert came[-1][0] - first[0] > _PAUSE_S / 3, "pieces were held back until the reply was complete"

    @pytest.mark.parametrize("way", ["stream", "astream", "tokens", "atokens"])
    def test_a_changed_reply_is_the_result_of_a_stream(self, way: str) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        team = self.build("single", self.llm(_STREAMED), streaming=True)
        with self.observe(team, intervention=ReplaceModelReply.at_step(0, "Make it 41.")) as observer:
            self.conduct(way, team)
        assert [step.content for step in observer.trajectory.steps] == ["Make it 41."]
        assert observer.trajectory.final_output == "Make it 41."

    def conduct_timed(self, way: str, team: Any) -> list[tuple[float, Any]]:
        """Every item of a stream of tokens in plain form, and when it came."""

        def timed(item: Any) -> tuple[float, Any]:
            return time.monotonic(), self.teams.plain(item)

        async def collect() -> list[tuple[float, Any]]:
            return [timed(item) async for item in self.teams.atokens(team, TASK)]

        if way == "atokens":
            return list(self.run_async(collect()))
        return [timed(item) for item in self.offered(self.teams.tokens, team, TASK)]

    # --- instructions ----------------------------------------------------------------------------------------------
    def test_instructions_can_be_read_before_a_run(self) -> None:
        self.needs(Capability.READ_INSTRUCTIONS)
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        told = {spec.name: str(spec.instructions) for spec in self.adapter.describe(team).agents}
        assert list(told) == ["researcher", "writer", "reviewer"]
        assert all(PROMPTS[name].partition(". ")[2] in told[name] for name in told)

    def test_rewritten_instructions_are_what_the_model_is_told(self) -> None:
        self.needs(Capability.INTERVENE_MODEL)
        llm = self.llm(Scenario.PIPELINE)
        team = self.build("pipeline", llm)
        with self.observe(team, intervention=RewriteInstructions({"writer": _REWRITTEN})):
            self.run(team)
        assert [_REWRITTEN in request.system for request in llm.requests] == [False, False, True, False]
        with self.observe(team):
            self.run(team)
        assert not [request for request in llm.requests[4:] if _REWRITTEN in request.system], (
            "the team itself is as it was"
        )

    def test_written_instructions_hold_until_undone(self) -> None:
        self.needs(Capability.WRITE_INSTRUCTIONS)
        llm = self.llm(Scenario.PIPELINE)
        team: Any = self.build("pipeline", llm)
        patches = self.adapter.write_instructions(team, {"writer": _REWRITTEN})
        assert patches is not None
        with self.observe(team):
            self.run(team)
            self.run(team)  # CrewAI, for one, goes back to its templates at a second run
        assert [_REWRITTEN in request.system for request in llm.requests] == [False, False, True, False] * 2
        patches.undo()
        self.run(team)
        assert not [request for request in llm.requests[8:] if _REWRITTEN in request.system]
