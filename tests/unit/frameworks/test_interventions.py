"""Interventions change requests and replies, and a failing one changes nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tracer_hooks.config import CaptureConfig
from tracer_hooks.frameworks import (
    Intervention,
    Interventions,
    ModelRequest,
    RecordReplies,
    ReplaceModelReply,
    ReplaceToolReply,
    RewriteInstructions,
    ToolReply,
    ToolRequest,
    after_model,
    after_stream,
    after_tool,
    before_model,
    before_tool,
    may_change_replies,
)
from tracer_hooks.telemetry import ChatReply, Emitter, RequestedTool, RunInvocation, RunStart, text_message

MESSAGES = (text_message("system", "be good"), text_message("user", "task"))
ASKED = ModelRequest(agent="writer", model="m", messages=MESSAGES, tools=("lookup",), step=2)
SAID = ChatReply(content="It is 42.", tool_calls=[RequestedTool(name="lookup")])
CALLED = ToolRequest(agent="writer", name="lookup", arguments={"query": "x"}, step=2)
RESULT = ToolReply(content="42")


def run_with(intervention: Intervention | None) -> RunInvocation:
    run = Emitter(capture=CaptureConfig()).start_run(RunStart(team="team"))
    run.intervention = intervention
    return run


@pytest.mark.parametrize("intervention", [None, Intervention(), RecordReplies()])
def test_what_changes_nothing_gives_the_same_objects(intervention: Intervention | None) -> None:
    run = run_with(intervention)
    assert before_model(run, ASKED) is None
    assert after_model(run, ASKED, SAID) is SAID
    assert before_tool(run, CALLED) is None
    assert after_tool(run, CALLED, RESULT) is RESULT


def test_the_first_part_that_supplies_a_reply_wins_and_changes_add_up() -> None:
    class Supply(Intervention):
        def before_model(self, request: ModelRequest) -> ChatReply:
            return ChatReply(content=request.messages[0]["parts"][0]["content"])

        def before_tool(self, request: ToolRequest) -> ToolReply:
            return ToolReply(content=str(request.arguments))

    class Arguments(Intervention):
        def before_tool(self, request: ToolRequest) -> ToolRequest:
            return ToolRequest(agent=request.agent, name=request.name, arguments="changed")

    parts = Interventions([RewriteInstructions({"writer": "be brief"}), Arguments(), Supply(), Supply()])
    assert before_model(run_with(parts), ASKED) == ChatReply(content="be brief")
    assert before_tool(run_with(parts), CALLED) == ToolReply(content="changed")
    both = Interventions([ReplaceModelReply.prefix(2, "b"), ReplaceModelReply.prefix(2, "a")])
    assert after_model(run_with(both), ASKED, SAID).content == "abIt is 42."


class Failing(Intervention):
    def __init__(self, error: Exception) -> None:
        self.error = error

    def after_model(self, request: ModelRequest, reply: ChatReply) -> ChatReply:
        raise self.error


class OwnRecord(RecordReplies):
    def after_model(self, request: ModelRequest, reply: ChatReply) -> None:
        """Nobody can say what it does."""


class OwnParts(Interventions):
    def after_model(self, request: ModelRequest, reply: ChatReply) -> ChatReply | None:
        return None


class Mixin:
    def after_model(self, request: ModelRequest, reply: ChatReply) -> ChatReply:
        return ChatReply(content="mixed in")


class Mixed(Mixin, RewriteInstructions):
    pass


class LooksOnly(Intervention):
    changes_replies = False

    def after_model(self, request: ModelRequest, reply: ChatReply) -> ChatReply:
        return ChatReply(content="too late")


REPLACE = ReplaceModelReply.prefix(2, "a")


@pytest.mark.parametrize(
    ("intervention", "may"),
    [
        (None, False),
        (Intervention(), False),
        (RewriteInstructions({}), False),
        (RecordReplies(), False),
        (ReplaceToolReply(lambda request: True, lambda reply: reply), False),
        (REPLACE, True),
        (Failing(KeyError("bug")), True),
        (OwnRecord(), True),
        (Mixed({}), True),
        (LooksOnly(), False),
        (Interventions([]), False),
        (Interventions([RewriteInstructions({}), RecordReplies()]), False),
        (Interventions([RewriteInstructions({}), REPLACE]), True),
        (Interventions([Interventions([REPLACE])]), True),
        (OwnParts([]), True),
    ],
)
def test_who_may_change_a_reply_is_known_before_it_comes(intervention: Intervention | None, may: bool) -> None:
    assert may_change_replies(run_with(intervention)) is may


def test_a_method_put_on_the_object_counts_as_well() -> None:
    intervention = Intervention()
    intervention.after_model = lambda request, reply: None  # type: ignore[method-assign]
    assert may_change_replies(run_with(intervention))


def test_one_that_cannot_say_is_taken_to_change_replies(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Unsure(Intervention):
        @property
        def changes_replies(self) -> bool:
            raise KeyError("bug")

    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    assert may_change_replies(run_with(Unsure()))
    assert "Unsure changes replies" in caplog.text


def test_a_reply_that_was_streamed_is_shown_and_another_comes_too_late(caplog: pytest.LogCaptureFixture) -> None:
    after_stream(run_with(record := RecordReplies()), ASKED, SAID)
    assert record.models == [(ASKED, SAID)]
    assert caplog.text == ""
    after_stream(run_with(LooksOnly()), ASKED, SAID)
    assert "LooksOnly gave another reply after the first had been streamed" in caplog.text


def test_digests_are_equal_in_every_process_and_differ_by_content() -> None:
    code = (
        "from tracer_hooks.frameworks import ModelRequest\nfrom tracer_hooks.telemetry import text_message\n"
        "m = (text_message('system', 'be good'), text_message('user', 'task'))\n"
        "print(ModelRequest(agent='writer', messages=m, tools=('lookup',)).digest())"
    )
    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert ASKED.digest() == elsewhere, "model and step do not count"
    assert ASKED.digest() != ModelRequest(agent="other", messages=MESSAGES, tools=("lookup",)).digest()
    assert CALLED.digest() != ToolRequest(agent="writer", name="lookup", arguments={"query": "y"}).digest()
