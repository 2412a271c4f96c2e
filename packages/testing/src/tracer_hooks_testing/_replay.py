"""Duties: a recorded run can be made again from its tape, without a model and without a tool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tracer_hooks import semconv
from tracer_hooks.errors import TapeMismatchError
from tracer_hooks.frameworks import Capability, Intervention, Interventions, ModelRequest
from tracer_hooks.replay import (
    Correction,
    Corrector,
    Tape,
    TapedRequest,
    TapeMode,
    TapePlayer,
    ToolRules,
    model_digest,
    tape_of,
    with_guidance,
)
from tracer_hooks.schema import StepKind, Trajectory
from tracer_hooks.telemetry import ChatInvocation, message_text
from tracer_hooks.testing import ErrorReply, RecordingHost, Reply, ScriptedLLM, When
from tracer_hooks_testing._base import ContractBase, Ending, attribute, every_way, spans_of
from tracer_hooks_testing._endings import LOOKUP_SCRIPT
from tracer_hooks_testing._teams import PROMPTS, TASK, TOOL_RESULT, Scenario

_GUIDANCE = "Mind the units, this once."
_STREAMED = [When().then(Reply(text="The answer is 42, as always.", chunks=["The ", "answer is", " 42, as always."]))]


@dataclass(frozen=True)
class RecordedContractRun:
    """A run as it was the first time."""

    ending: Ending
    trajectory: Trajectory
    tape: Tape


class _Covert(Intervention):
    """Tells one agent something that the record does not show."""

    def before_model(self, request: ModelRequest) -> ModelRequest | None:
        return with_guidance(request, _GUIDANCE) if request.agent == "writer" else None


class ReplayContract(ContractBase):
    """A tape comes from a run that nothing intervened in, and serves it on a team made anew."""

    def record(self, way: str, team: Any) -> RecordedContractRun:
        """Run ``team``, and make the tape of that; the tape is read back from JSON, as one from a file is."""
        self.needs(Capability.INTERVENE_MODEL)
        with self.observe(team) as observer:
            ending = self.ending(way, team)
        (run,) = observer.runs
        tape = tape_of(run)
        read = Tape.model_validate_json(tape.model_dump_json())
        assert read == tape
        assert [call.digest for call in tape.model_calls] == [
            model_digest(call.agent, tape.messages_of(call)) for call in read.model_calls
        ]
        return RecordedContractRun(ending, observer.trajectory, read)

    def play(self, way: str, team: Any, player: Intervention) -> tuple[Ending, RecordingHost]:
        """Run ``team`` with replies from a tape."""
        with self.observe(team, intervention=player) as observer:
            ending = self.ending(way, team)
        return ending, observer

    def same(self, ending: Ending) -> Any:
        """Return what has to be equal of how a run ended: its types, its error, its items."""
        return sorted({kind.__name__ for kind in ending.kinds}), ending.error, self.teams.joined(ending.items)

    @contextmanager
    def silent(self) -> Iterator[ScriptedLLM]:
        """A model that nobody may ask."""
        llm = self.llm([])
        yield llm
        assert llm.calls == 0, "a replay asked the model"

    # --- the whole run ---------------------------------------------------------------------------------------------
    @pytest.mark.parametrize("scenario", [s for s in Scenario if s is not Scenario.PARALLEL])
    @every_way
    def test_a_replay_gives_what_the_run_gave(self, way: str, scenario: Scenario) -> None:
        recording = self.record(way, self.build(scenario, self.llm(scenario)))
        with self.silent() as llm:
            player = TapePlayer(recording.tape)
            ending, observer = self.play(way, self.build(scenario, llm), player)
        player.finish()
        assert self.same(ending) == self.same(recording.ending)
        assert acts(observer.trajectory) == acts(recording.trajectory)
        assert (player.served, player.live, player.divergences) == (len(recording.tape.model_calls), 0, [])
        assert tape_of(observer.runs[0]).model_dump(exclude=_OF_ONE_RUN) == recording.tape.model_dump(
            exclude=_OF_ONE_RUN
        )

    @every_way
    def test_branches_may_come_in_another_order(self, way: str) -> None:
        recording = self.record(way, self.build("parallel", self.llm(Scenario.PARALLEL)))
        calls = recording.tape.model_calls
        with self.silent() as llm:
            player = TapePlayer(recording.tape.model_copy(update={"model_calls": calls[::-1]}))
            ending, observer = self.play(way, self.build("parallel", llm), player)
        player.finish()
        assert (ending.error, set(ending.kinds)) == (None, set(recording.ending.kinds))
        assert sorted((step.agent, step.content) for step in observer.trajectory.steps) == sorted(
            (step.agent, step.content) for step in recording.trajectory.steps
        )
        assert (player.served, player.live) == (2, 0)

    @pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
    @every_way
    def test_tools_are_not_called_again(self, way: str, streaming: bool) -> None:
        made: list[str] = []

        def lookup(query: str) -> str:
            """Look a number up in the table."""
            made.append(query)
            return TOOL_RESULT

        recording = self.record(way, self.build("single", self.llm(LOOKUP_SCRIPT), tools=[lookup], streaming=streaming))
        assert made == ["x"]
        with self.silent() as llm:
            player = TapePlayer(recording.tape)
            team = self.build("single", llm, tools=[lookup], streaming=streaming)
            ending, observer = self.play(way, team, player)
        player.finish()
        assert made == ["x"], "a replay called a tool"
        assert self.same(ending) == self.same(recording.ending)
        assert acts(observer.trajectory) == acts(recording.trajectory)

    @pytest.mark.parametrize("way", ["tokens", "atokens"])
    def test_a_streamed_reply_comes_in_the_same_pieces(self, way: str) -> None:
        pieces = self.pieces(way, self.build("single", self.llm(_STREAMED), streaming=True), None)
        assert len(pieces.items) > 2, "the recorded run did not stream"
        with self.silent() as llm:
            again = self.pieces(way, self.build("single", llm, streaming=True), TapePlayer(pieces.tape))
        assert again.items == pieces.items
        assert again.tape.model_calls[0].chunks == pieces.tape.model_calls[0].chunks
        assert "".join(pieces.tape.model_calls[0].chunks) == "The answer is 42, as always."

    # --- failures --------------------------------------------------------------------------------------------------
    @pytest.mark.parametrize("status", [400, 500])
    @every_way
    def test_a_failed_model_call_fails_again(self, way: str, status: int) -> None:
        rules = [When().then(ErrorReply(status, message="no such model"))]
        recording = self.record(way, self.build("single", self.llm(rules)))
        with self.silent() as llm:
            player = TapePlayer(recording.tape)
            ending, observer = self.play(way, self.build("single", llm), player)
        player.finish()
        assert (ending.error is None) == (recording.ending.error is None)
        if ending.error is not None and recording.ending.error is not None:
            assert ending.error[1] == recording.ending.error[1]
        assert acts(observer.trajectory) == acts(recording.trajectory)
        assert observer.trajectory.steps[-1].kind is StepKind.ERROR

    def test_attempts_after_a_failure_are_replayed(self) -> None:
        rules = [When().then(ErrorReply(400, message="try again"), "The answer is 42.")]
        recording = self.record("run", self.build("single", self.llm(rules)))
        with self.silent() as llm:
            player = TapePlayer(recording.tape)
            _, observer = self.play("run", self.build("single", llm), player)
        player.finish()
        assert acts(observer.trajectory) == acts(recording.trajectory)

    @every_way
    def test_a_failed_tool_fails_again_without_being_called(self, way: str) -> None:
        made: list[str] = []

        def lookup(query: str) -> str:
            """Look a number up in a table that is gone."""
            made.append(query)
            raise LookupError("the table is gone")

        recording = self.record(way, self.build("single", self.llm(LOOKUP_SCRIPT), tools=[lookup]))
        before = len(made)
        with self.silent() as llm:
            player = TapePlayer(recording.tape)
            ending, observer = self.play(way, self.build("single", llm, tools=[lookup]), player)
        player.finish()
        assert len(made) == before, "a replay called a tool"
        assert (ending.error and ending.error[1]) == (recording.ending.error and recording.ending.error[1])
        assert self.teams.joined(ending.items) == self.teams.joined(recording.ending.items)
        (step,) = [step for step in observer.trajectory.steps if step.tool_calls]
        assert "the table is gone" in str(step.tool_calls[0].error)
        assert [s.content for s in observer.trajectory.steps] == [s.content for s in recording.trajectory.steps]

    # --- a part of the run -----------------------------------------------------------------------------------------
    @pytest.mark.parametrize("until", [0, 1, 2, 3])
    def test_from_a_step_on_the_run_is_live(self, until: int) -> None:
        llm = self.llm(Scenario.PIPELINE)
        recording = self.record("run", self.build("pipeline", llm))
        llm.reset()
        player = TapePlayer(recording.tape, until=until, tools=ToolRules.of("live"))
        team = self.build("pipeline", llm)
        ending, observer = self.play("run", team, player)
        player.finish()
        assert ending == recording.ending
        assert (player.served, player.live) == (until, 4 - until)
        assert llm.calls == 4 - until
        assert acts(observer.trajectory) == acts(recording.trajectory)

    def test_routing_is_native_and_what_is_asked_in_it_is_served(self) -> None:
        for scenario in (Scenario.HANDOFF, Scenario.MANAGER):
            recording = self.record("run", self.build(scenario, self.llm(scenario)))
            passed = [step.recipient for step in recording.trajectory.steps]
            with self.silent() as llm:
                _, observer = self.play("run", self.build(scenario, llm), TapePlayer(recording.tape))
            assert [step.recipient for step in observer.trajectory.steps] == passed

    # --- another run -----------------------------------------------------------------------------------------------
    def test_a_changed_prompt_is_named(self) -> None:
        recording = self.record("run", self.build("pipeline", self.llm(Scenario.PIPELINE)))
        prompts = {**PROMPTS, "writer": PROMPTS["writer"] + " In French."}
        with self.silent() as llm:
            player = TapePlayer(recording.tape)
            ending, _ = self.play("run", self.build("pipeline", llm, prompts=prompts), player)
            with pytest.raises(TapeMismatchError, match=r"step 2, agent 'writer': message 0 .*In French"):
                player.finish()
        assert ending.error is not None

    def test_a_changed_task_is_named(self) -> None:
        recording = self.record("run", self.build("pipeline", self.llm(Scenario.PIPELINE)))
        with self.silent() as llm:
            player = TapePlayer(recording.tape)
            team = self.build("pipeline", llm)
            with self.observe(team, intervention=player):
                assert self.ending("run", team, "What is six times nine?").error is not None
        with pytest.raises(TapeMismatchError, match=r"step 0, agent 'researcher'.*nine"):
            player.finish()

    def test_a_lenient_replay_notes_it_and_goes_on(self) -> None:
        recording = self.record("run", self.build("pipeline", self.llm(Scenario.PIPELINE)))
        prompts = {**PROMPTS, "writer": PROMPTS["writer"] + " In French."}
        with self.silent() as llm:
            player = TapePlayer(recording.tape, mode=TapeMode.LENIENT)
            ending, _ = self.play("run", self.build("pipeline", llm, prompts=prompts), player)
        player.finish()
        assert ending == recording.ending
        (divergence,) = player.divergences
        assert (divergence.step, divergence.agent) == (2, "writer")
        assert "In French" in divergence.reason

    # --- with a change ---------------------------------------------------------------------------------------------
    def test_a_correction_is_what_the_others_see(self) -> None:
        llm = self.llm(Scenario.PIPELINE)
        recording = self.record("run", self.build("pipeline", llm))
        llm.reset()
        player = TapePlayer(recording.tape, until=2)
        corrector = Corrector(Correction(content="It makes 43."), TapedRequest.at_step(recording.tape, 2))
        _, observer = self.play("run", self.build("pipeline", llm), Interventions([player, corrector]))
        player.finish()
        assert corrector.is_applied
        assert observer.trajectory.steps[2].content == "It makes 43."
        (request,) = llm.requests
        assert request.is_from("reviewer")
        assert "It makes 43." in request.text
        assert "Six times seven makes 42." not in request.text

    @every_way
    def test_a_covert_change_reaches_the_model_and_not_the_record(self, way: str) -> None:
        llm = self.llm(Scenario.PIPELINE)
        recording = self.record(way, self.build("pipeline", llm))
        llm.reset()
        _, observer = self.play(way, self.build("pipeline", llm), _Covert())
        assert [_GUIDANCE in request.text for request in llm.requests] == [False, False, True, False]
        assert acts(observer.trajectory, usage=False) == acts(recording.trajectory, usage=False)
        shown = [attribute(chat, semconv.INPUT_MESSAGES) for chat in spans_of(observer, semconv.OP_CHAT)]
        assert _GUIDANCE not in str(shown)
        assert [call.digest for call in tape_of(observer.runs[0]).model_calls] == [
            call.digest for call in recording.tape.model_calls
        ]

    def test_the_seam_shows_what_the_record_holds(self) -> None:
        seen: list[ModelRequest] = []

        class Look(Intervention):
            def before_model(self, request: ModelRequest) -> None:
                seen.append(request)

        self.needs(Capability.INTERVENE_MODEL)
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        _, observer = self.play("run", team, Look())
        chats = [chat for chat in observer.runs[0].invocations if isinstance(chat, ChatInvocation)]
        assert [model_digest(request.agent, request.messages) for request in seen] == [
            call.digest for call in tape_of(observer.runs[0]).model_calls
        ]
        assert [chat.step for chat in chats] == [request.step for request in seen]
        assert TASK in message_text(seen[0].messages[-1])

    # --- streams of tokens -----------------------------------------------------------------------------------------
    def pieces(self, way: str, team: Any, player: Intervention | None) -> Pieces:
        """Run a stream of tokens; return what it gave, and the tape of it."""
        self.needs(Capability.INTERVENE_MODEL)
        with self.observe(team, intervention=player) as observer:
            items = self.conduct(way, team)
        return Pieces(self.teams.joined([self.teams.plain(item) for item in items]), tape_of(observer.runs[0]))


@dataclass(frozen=True)
class Pieces:
    """A streamed run."""

    items: Sequence[Any]
    tape: Tape


_OF_ONE_RUN: Any = {
    "run_id": True,
    "model_calls": {"__all__": {"latency_s"}},
    "tool_calls": {"__all__": {"latency_s"}},
}


def acts(trajectory: Trajectory, *, usage: bool = True) -> Any:
    """A trajectory without what is another in every run: ids, times and stack traces."""
    step = {"span_id", "started_at", "ended_at"} | (set() if usage else {"usage"})
    plain = trajectory.model_dump(mode="json", exclude={"run_id": True, "trace_id": True, "steps": {"__all__": step}})
    return {**plain, "outcome_reason": (trajectory.outcome_reason or "").partition("\n")[0]}
