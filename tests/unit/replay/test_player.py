"""What the player serves, and where it says that a run has left its tape."""

from __future__ import annotations

import pytest

from tracer_hooks.errors import RecordedFailureError, ReplayError, TapeMismatchError
from tracer_hooks.frameworks import ModelRequest, ToolReply, ToolRequest
from tracer_hooks.replay import (
    Tape,
    TapedModelCall,
    TapedToolCall,
    TapeMode,
    TapePlayer,
    ToolRules,
    ToolUse,
    model_digest,
    tool_digest,
)
from tracer_hooks.telemetry import ChatReply, Message, assistant_message, text_message

from .._known import known


def asks(agent: str, text: str, step: int | None = None) -> ModelRequest:
    return ModelRequest(agent=agent, messages=tuple(shown(text)), step=step)


def shown(text: str) -> list[Message]:
    return [text_message("user", text)]


def call(agent: str, step: int, text: str, content: str, **fields: object) -> TapedModelCall:
    digest = model_digest(agent, shown(text))
    named = {"agent": agent, "step": step, "digest": digest, "messages": (step,), "content": content}
    return TapedModelCall.model_validate({**named, **fields})


def used(name: str, step: int, arguments: object, content: str, **fields: object) -> TapedToolCall:
    digest = tool_digest(name, arguments)
    named = {"agent": "a", "name": name, "step": step, "digest": digest, "arguments": arguments, "content": content}
    return TapedToolCall.model_validate({**named, **fields})


def uses(name: str, arguments: object, step: int | None = None) -> ToolRequest:
    return ToolRequest(agent="a", name=name, arguments=arguments, step=step)


TAPE = Tape(
    run_id="r",
    messages=(*shown("zero"), *shown("one"), *shown("two")),
    model_calls=(call("a", 0, "zero", "A"), call("b", 1, "one", "B"), call("a", 2, "two", "C")),
    tool_calls=(used("look", 0, {"at": 1}, "seen"), used("write", 2, {"to": "x"}, "written")),
)


def content(player: TapePlayer, request: ModelRequest) -> str | None:
    reply = player.before_model(request)
    return reply.content if isinstance(reply, ChatReply) else None


def result(player: TapePlayer, request: ToolRequest) -> str | None:
    reply = player.before_tool(request)
    return reply.content if isinstance(reply, ToolReply) else None


# --- models ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)], ids=["in order", "branches in another"])
def test_the_whole_tape_is_served(order: tuple[int, ...]) -> None:
    player = TapePlayer(TAPE)
    calls = (("a", "zero", "A"), ("b", "one", "B"), ("a", "two", "C"))
    for agent, text, said in (calls[place] for place in order):
        assert content(player, asks(agent, text)) == said
    player.finish()
    assert (player.served, player.live, player.divergences) == (3, 0, [])


def test_equal_requests_are_served_in_the_order_of_the_tape() -> None:
    tape = Tape(run_id="r", messages=tuple(shown("x")), model_calls=tuple(call("a", 0, "x", c) for c in "123"))
    player = TapePlayer(tape)
    assert [content(player, asks("a", "x")) for _ in range(3)] == ["1", "2", "3"]


def test_from_the_fork_on_nothing_is_served_and_a_branch_past_it_waits_for_no_other() -> None:
    player = TapePlayer(TAPE, until=1)
    said = [content(player, asks(*of)) for of in (("b", "something new", 1), ("a", "zero", 0), ("b", "one", 1))]
    player.finish()
    assert (said, player.served, player.live, player.divergences) == ([None, "A", None], 1, 2, [])


def test_a_recorded_failure_is_raised() -> None:
    calls = (call("a", 0, "x", "", error="Teapot: 418"), call("a", 0, "x", "tea"))
    tape = Tape(run_id="r", messages=tuple(shown("x")), model_calls=calls)
    player = TapePlayer(tape)
    with pytest.raises(RecordedFailureError, match=r"^418$"):
        player.before_model(asks("a", "x"))
    assert content(player, asks("a", "x")) == "tea"
    assert player.failure is None


def test_strict_stops_at_the_first_difference_and_names_it() -> None:
    player = TapePlayer(TAPE)
    player.before_model(asks("a", "zero"))
    with pytest.raises(
        TapeMismatchError, match=r"step 1, agent 'b': message 0 \(user\) differs: recorded 'one', now 'ons'"
    ):
        player.before_model(asks("b", "ons"))
    with pytest.raises(TapeMismatchError, match="step 1, agent 'b'"):
        player.finish()  # whatever the framework made of the error


@pytest.mark.parametrize(
    ("agent", "messages", "reason"),
    [
        ("b", (*shown("one"), *shown("two")), "it shows 2 messages where the tape has 1"),
        (
            "b",
            (assistant_message("one"),),
            r"message 0 \(assistant\) differs: the texts are equal, its tool calls or other parts are not",
        ),
        ("c", (*shown("zero"),), "the tape holds no further model call of 'c'"),
    ],
)
def test_a_request_that_begins_with_the_same_text_is_told_apart(
    agent: str, messages: tuple[Message, ...], reason: str
) -> None:
    with pytest.raises(TapeMismatchError, match=f"step 1, agent '{agent}': {reason}"):
        TapePlayer(TAPE).before_model(ModelRequest(agent=agent, messages=messages, step=1))


def test_lenient_serves_the_agent_s_next_reply_and_notes_it() -> None:
    player = TapePlayer(TAPE, mode=TapeMode.LENIENT)
    said = [content(player, asks(*of)) for of in (("a", "other"), ("b", "one"), ("a", "two"), ("a", "more"))]
    player.finish()
    assert (said, player.served, player.live) == (["A", "B", "C", None], 3, 1)
    assert [(d.step, d.agent) for d in player.divergences] == [(0, "a"), (None, "a")]


def test_what_is_left_on_the_tape() -> None:
    player = TapePlayer(TAPE)
    player.before_model(asks("a", "zero"))
    with pytest.raises(TapeMismatchError, match="ended before step 1, where the tape has a model call of 'b'"):
        player.finish()
    for free in (TapePlayer(TAPE, mode="lenient"), TapePlayer(TAPE, until=1)):  # also what comes after the fork
        free.before_model(asks("a", "zero"))
        free.finish()


# --- tools ----------------------------------------------------------------------------------------------------------
def test_tools_of_fixed_steps_are_served_whatever_the_rules_say() -> None:
    for rules in (None, "live", "blocked", "replayable"):
        assert result(TapePlayer(TAPE, until=1, tools=ToolRules.of(rules)), uses("look", '{"at": 1}', 0)) == "seen"


def test_another_call_of_a_fixed_step_is_a_difference() -> None:
    with pytest.raises(TapeMismatchError, match=r"calls 'look' with \{'at': 2\} where the tape has \{'at': 1\}"):
        TapePlayer(TAPE).before_tool(uses("look", {"at": 2}, 0))
    player = TapePlayer(TAPE, mode="lenient")
    assert result(player, uses("look", {"at": 2}, 0)) == "seen"
    assert len(player.divergences) == 1


@pytest.mark.parametrize(
    ("rule", "taped", "new"),
    [
        ("live", None, None),
        ("replayable", "written", None),
        ("blocked", "written", "the tool write cannot be used now"),
        ("rebuilt", None, None),
    ],
)
def test_what_a_tool_may_do_after_the_fork(rule: str, taped: str | None, new: str | None) -> None:
    player = TapePlayer(TAPE, until=1, tools=ToolRules.of({"write": rule}))
    assert result(player, uses("write", {"to": "x"}, 2)) == taped
    assert result(player, uses("write", {"to": "y"}, 2)) == new


def test_a_tool_that_nobody_declared_stops_the_replay() -> None:
    player = TapePlayer(TAPE, until=1, tools=ToolRules.of({"look": "live"}))
    with pytest.raises(ReplayError, match="write"):
        player.before_tool(uses("write", {"to": "y"}, 2))
    with pytest.raises(ReplayError, match="write"):
        player.finish()


def test_a_rebuilt_tool_runs_and_has_to_give_the_same() -> None:
    request = uses("look", {"at": 1}, 0)
    player = TapePlayer(TAPE, tools=ToolRules.of({"look": "rebuilt"}))
    assert player.before_tool(request) is None
    assert known(player.after_tool(request, ToolReply(content="seen"))).content == "seen"
    other = TapePlayer(TAPE, tools=ToolRules.of({"look": "rebuilt"}))
    other.before_tool(request)
    with pytest.raises(TapeMismatchError, match="the tool 'look' gave 'gone' where the tape has 'seen'"):
        other.after_tool(request, ToolReply(content="gone"))


def test_a_recorded_tool_failure_is_raised_and_a_rebuilt_tool_may_fail_again() -> None:
    tape = TAPE.model_copy(update={"tool_calls": (used("look", 0, {}, "gone", is_error=True, error="OSError: gone"),)})
    request = uses("look", {}, 0)
    with pytest.raises(RecordedFailureError, match="gone"):
        TapePlayer(tape).before_tool(request)
    player = TapePlayer(tape, tools=ToolRules.of("rebuilt"))
    assert player.before_tool(request) is None
    assert player.after_tool(request, ToolReply(content="gone", is_error=True)) is None
    assert player.divergences == []


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("a", "it calls the tool 'count' where the tape has 'look'"),
        ("b", "the tape holds no call of the tool 'count' here"),
    ],
)
def test_another_tool_in_a_fixed_step_is_a_difference(agent: str, reason: str) -> None:
    player = TapePlayer(TAPE)
    with pytest.raises(TapeMismatchError, match=f"step 0, agent '{agent}': {reason}"):
        player.before_tool(ToolRequest(agent=agent, name="count", arguments={}, step=0))
    assert player.divergences[0].reason == reason


def test_a_run_that_was_let_go_at_a_difference_uses_its_tools_by_their_rules() -> None:
    player = TapePlayer(TAPE, mode=TapeMode.RELEASE, tools=ToolRules(default=ToolUse.LIVE))
    assert player.before_model(asks("a", "something else", 0)) is None
    assert player.before_tool(uses("look", {"at": 2}, 0)) is None
    assert len(player.divergences) == 1
