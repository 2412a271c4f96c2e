"""Other instructions take the place of the agent's own, wherever these stand in what its model is asked."""

from __future__ import annotations

from typing import Any

import pytest

from tracer_hooks import semconv
from tracer_hooks.config import CaptureConfig
from tracer_hooks.frameworks import (
    Intervention,
    Interventions,
    ModelRequest,
    RewriteInstructions,
    before_model,
    with_instructions,
)
from tracer_hooks.frameworks.plain import instructions
from tracer_hooks.schema import AgentSpec
from tracer_hooks.telemetry import (
    AgentInvocation,
    ChatInvocation,
    ChatReply,
    Emitter,
    RunInvocation,
    RunStart,
    message_text,
    text_message,
)
from tracer_hooks.telemetry._operations import prompt_id

OWN = "Write one sentence."
CREW = "You are writer. {own}\nYour personal goal is: write\nUse this format:\nThought: ..."


def request(*texts: tuple[str, str], told: tuple[str, ...] = ()) -> ModelRequest:
    return ModelRequest(agent="writer", messages=tuple(text_message(*text) for text in texts), told=told)


def texts_of(changed: ModelRequest | None) -> list[str] | None:
    return None if changed is None else [message_text(message) for message in changed.messages]


@pytest.mark.parametrize(
    ("asked", "told", "shown"),
    [
        # Nothing is known: the system message is what the agent is told; without one it comes first.
        ([("system", OWN), ("user", "Go.")], (), ["Be brief.", "Go."]),
        ([("user", "Go.")], (), ["Be brief.\n\nGo."]),
        ([], (), None),
        # What is known is looked for, and all around it stays.
        ([("system", OWN), ("user", "Go.")], (OWN,), ["Be brief.", "Go."]),
        ([("system", CREW.format(own=OWN))], (OWN,), [CREW.format(own="Be brief.")]),
        ([("user", f"{OWN}\n\nGo.")], (OWN,), ["Be brief.\n\nGo."]),
        ([("assistant", OWN), ("user", f"{OWN} Go.")], (OWN,), [OWN, "Be brief. Go."]),
        # A request for another purpose does not carry it.
        ([("system", "You check JSON."), ("user", "{}")], (OWN,), None),
        # An agent that is told nothing.
        ([("system", CREW.format(own=""))], ("",), ["Be brief.\n\n" + CREW.format(own="")]),
        ([("user", "Go.")], ("",), ["Be brief.\n\nGo."]),
        # No part of a word, and where it stands twice, where it ends a line.
        ([("system", "You are a writer's mate. Write")], ("Write",), ["You are a writer's mate. Be brief."]),
        ([("system", "You are Writer. Writer\nGoal: x")], ("Writer",), ["You are Writer. Be brief.\nGoal: x"]),
        # The newest of what is known, which may hold the older.
        ([("system", f"{OWN} In English.")], (OWN, f"{OWN} In English."), ["Be brief."]),
    ],
)
def test_where_instructions_stand(asked: Any, told: tuple[str, ...], shown: list[str] | None) -> None:
    assert texts_of(with_instructions(request(*asked, told=told), "Be brief.")) == shown


def test_a_text_that_stands_there_already_is_left() -> None:
    for told in ((), (OWN,)):
        asked = request(("system", f"Rules: Be brief.\n{OWN if not told else ''}"), told=told)
        assert with_instructions(asked, "Be brief.") is asked


def test_a_text_that_holds_the_old_one_is_put_in_once() -> None:
    longer = f"{OWN} In English."
    first = with_instructions(request(("system", OWN), told=(OWN,)), longer)
    assert texts_of(first) == [longer]
    assert first is not None
    assert with_instructions(first, longer) is first


def test_placeholders_get_the_values_that_stood_there() -> None:
    own = "You know {topic} and {other}."
    asked = request(("system", CREW.format(own="You know red\nwine and fish.")), told=(own,))
    new = "Say what you know of {other} and {topic}; {unknown} stays."
    assert texts_of(with_instructions(asked, new)) == [
        CREW.format(own="Say what you know of fish and red\nwine; {unknown} stays.")
    ]


def test_placeholders_at_the_end_are_read_from_the_text_as_it_was_filled_in() -> None:
    filled = "You solve: {sum}\nover two lines"
    asked = request(("system", CREW.format(own=filled)), told=("You solve: {task}", filled))
    changed = with_instructions(asked, "Solve {task}, step by step.")
    assert texts_of(changed) == [CREW.format(own="Solve {sum}\nover two lines, step by step.")]


# --- in a run --------------------------------------------------------------------------------------------------------
def run_of(*agents: AgentSpec) -> RunInvocation:
    return Emitter(capture=CaptureConfig()).start_run(RunStart(team="team", agents=agents))


def asked_in(run: RunInvocation, *texts: tuple[str, str]) -> tuple[Any, ChatInvocation, AgentInvocation]:
    """Ask the run's intervention as an adapter does; gives its answer and what goes on."""
    turn = AgentInvocation(run, AgentSpec(name="writer"), parent=run)
    chat = ChatInvocation(run, "model", messages=[text_message(*text) for text in texts], agent=turn)
    given = ModelRequest(agent="writer", messages=tuple(text_message(*text) for text in texts), step=chat.step)
    return before_model(run, given), chat, turn


def test_the_record_shows_what_the_agent_was_told() -> None:
    run = run_of(AgentSpec(name="writer", instructions=OWN), AgentSpec(name="reader", instructions="Read."))
    run.intervention = RewriteInstructions({"writer": "Be brief.", "reader": "Read twice."})
    answer, _, turn = asked_in(run, ("system", CREW.format(own=OWN)))
    assert isinstance(answer, ModelRequest)
    assert texts_of(answer) == [CREW.format(own="Be brief.")]
    assert turn.attributes[semconv.PROMPT_ID] == prompt_id("Be brief.")
    run.finish()
    told = {spec.name: spec.instructions for spec in run.trajectory().agents}
    assert told == {"writer": "Be brief.", "reader": "Read."}, "only who was asked was told"


class Covertly(Intervention):
    def before_model(self, request: ModelRequest) -> ModelRequest | None:
        return with_instructions(request, "Be long.", covert=True)


class Supplies(Intervention):
    def before_model(self, request: ModelRequest) -> ChatReply:
        return ChatReply(content="given")


@pytest.mark.parametrize("after", [Covertly(), Supplies()], ids=["covert", "supplied"])
def test_the_record_shows_an_open_change_before_a_covert_one_or_a_reply(after: Intervention) -> None:
    run = run_of(AgentSpec(name="writer", instructions=OWN))
    run.intervention = Interventions([RewriteInstructions({"writer": "Be brief."}), after])
    answer, chat, _ = asked_in(run, ("system", OWN), ("user", "Go."))
    assert texts_of(answer) == ["Be long.", "Go."] if isinstance(answer, ModelRequest) else answer.content == "given"
    assert [message_text(message) for message in chat.attributes[semconv.INPUT_MESSAGES]] == ["Be brief.", "Go."]
    run.finish()
    assert run.trajectory().instructions_of("writer") == "Be brief."


def test_rewrites_build_on_each_other() -> None:
    run = run_of(AgentSpec(name="writer", instructions=OWN))
    run.intervention = Interventions(
        [
            RewriteInstructions({"writer": f"{OWN} In English."}),
            Interventions([RewriteInstructions({"writer": "Last."})]),
        ]
    )
    for _ in range(2):
        assert texts_of(asked_in(run, ("system", CREW.format(own=OWN)))[0]) == [CREW.format(own="Last.")]
    with run.active():
        assert instructions("writer", OWN) == "Last."
        assert instructions("reader", "Read.") == "Read."
