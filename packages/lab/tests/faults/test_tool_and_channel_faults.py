"""Tool results and messages between agents that are changed or lost in a real run."""

import re
from collections.abc import Iterator
from random import Random

import pytest

from tracer_hooks.frameworks import ModelRequest, ToolReply, ToolRequest
from tracer_hooks.telemetry import ChatReply, assistant_message, message_text, text_message
from tracer_hooks.testing import ScriptedLLM
from tracer_hooks_lab.faults import (
    ChannelFault,
    FaultInjector,
    FaultSpec,
    FaultStrategy,
    ToolFault,
    Utterance,
    faulty_messages,
    faulty_tool_reply,
    leaked_words,
)

from ._runs import SOLVED, TICKETS
from ._team import NOTE, PLAN, RULES, run

PRICE = "25.00 EUR a ticket, 75.00 EUR for 3"


@pytest.fixture
def llm() -> Iterator[ScriptedLLM]:
    with ScriptedLLM(rules=RULES) as server:
        yield server


def changed(kind: ToolFault, text: str, *, earlier: tuple[str, ...] = (), seed: int = 0) -> ToolReply | None:
    reply = ToolReply(content=text)
    return faulty_tool_reply(kind, "price", reply, earlier=earlier, known=[TICKETS], rng=Random(seed))


@pytest.mark.parametrize("kind", ToolFault)
def test_the_agent_gets_the_faulty_result_and_no_other_step_is_touched(llm: ScriptedLLM, kind: ToolFault) -> None:
    injector = FaultInjector(FaultSpec(strategy=FaultStrategy.TOOL, kind=kind.value, step=2, agent="solver"))
    steps = run(llm, injector).trajectory.steps
    call = steps[2].tool_calls[0]
    applied = injector.applied
    assert (applied.step, applied.agent, applied.kind, applied.mode) == (2, "solver", kind.value, None)
    assert applied.before == PRICE
    assert applied.after != PRICE
    assert (call.error or call.result or "") == applied.after
    assert (call.error is not None) == (kind in (ToolFault.TIME_OUT, ToolFault.ERROR))
    assert [step.content for step in steps] == [PLAN, NOTE, "", SOLVED, steps[4].content]
    told = llm.requests[3].tool_results[0]
    assert told == ((applied.after and (f"failed: {applied.after}" if call.error else applied.after)) or "(nothing)")


def test_the_seed_chooses_a_kind_when_none_is_named() -> None:
    kinds = set()
    for seed in range(30):
        injector = FaultInjector(FaultSpec(strategy=FaultStrategy.TOOL, step=0, seed=seed))
        injector.after_tool(ToolRequest(agent="a", name="price", step=0), ToolReply(content=PRICE))
        kinds.add(injector.applied.kind)
    assert kinds == {kind.value for kind in ToolFault}


def test_one_of_several_calls_in_a_step_is_hit_and_a_repeated_one_gets_the_same() -> None:
    injector = FaultInjector(FaultSpec(strategy=FaultStrategy.TOOL, kind="wrong_result", step=0))
    calls = [ToolRequest(agent="a", name="price", call_id=f"c{i}", step=0) for i in range(3)]
    results = [injector.after_tool(call, ToolReply(content=PRICE)) for call in (*calls, calls[0])]
    assert [result is not None for result in results] == [True, False, False, True]
    assert results[0] == results[3]


def test_a_call_that_cannot_carry_the_fault_leaves_it_to_the_next() -> None:
    injector = FaultInjector(FaultSpec(strategy=FaultStrategy.TOOL, kind="truncated", step=0))
    assert injector.after_tool(ToolRequest(agent="a", name="t", call_id="1", step=0), ToolReply(content="ok")) is None
    assert "cannot be changed" in str(injector.problem)
    assert injector.after_tool(ToolRequest(agent="a", name="t", call_id="2", step=0), ToolReply(content=PRICE))
    assert injector.problem is None


def test_a_stale_result_is_the_one_before_of_the_same_tool() -> None:
    injector = FaultInjector(FaultSpec(strategy=FaultStrategy.TOOL, kind="stale_result", step=2))
    injector.after_tool(ToolRequest(agent="a", name="price", step=0), ToolReply(content="19.00 EUR"))
    injector.after_tool(ToolRequest(agent="a", name="other", step=1), ToolReply(content="nothing to do with it"))
    got = injector.after_tool(ToolRequest(agent="a", name="price", step=2), ToolReply(content="25.00 EUR"))
    assert got == ToolReply(content="19.00 EUR")


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        (ToolFault.STALE_RESULT, "Due 2024-02-29, paid 2024-01-05.", "Due 2023-02-28, paid 2023-01-05."),
        (ToolFault.WRONG_RESULT, "The gate is open: true", "The gate is open: false"),
        (ToolFault.WRONG_RESULT, "Lena sits beside Tom", "Porto sits beside Tom"),
        (ToolFault.EMPTY, PRICE, ""),
        (ToolFault.EMPTY, "", None),
        (ToolFault.TRUNCATED, "short", None),
        (ToolFault.WRONG_RESULT, "ok", None),
        (ToolFault.STALE_RESULT, "ok", None),
    ],
)
def test_what_becomes_of_a_result(kind: ToolFault, before: str, after: str | None) -> None:
    got = changed(kind, before)
    assert (got.content if got is not None else None) == after
    failed = ToolReply(content=PRICE, is_error=True)
    assert faulty_tool_reply(kind, "price", failed, earlier=["5 EUR"], known=[TICKETS], rng=Random(0)) is None


def test_a_wrong_result_differs_in_one_value_and_a_stale_one_in_all_numbers() -> None:
    got = changed(ToolFault.WRONG_RESULT, '{"origin": "Lisbon", "count": 3, "total": 75.00}')
    assert re.fullmatch(r'\{"origin": "Lisbon", "count": \d, "total": \d\d\.\d\d\}', got.content)
    for kind in (ToolFault.TIME_OUT, ToolFault.ERROR):  # errors read like real ones
        texts = {got.content for seed in range(40) if (got := changed(kind, PRICE, seed=seed)) is not None}
        assert len(texts) >= 4
        assert not any("{" in text or leaked_words(text) for text in texts)
    got = changed(ToolFault.STALE_RESULT, PRICE)
    assert not {"25.00", "75.00"} & set(re.findall(r"\d+\.\d\d", got.content))


def channel(kind: str, step: int = 3) -> FaultInjector:
    return FaultInjector(FaultSpec(strategy=FaultStrategy.CHANNEL, kind=kind, step=step))


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("dropped", [TICKETS, PLAN, PLAN]),
        ("duplicated", [TICKETS, PLAN, f"{NOTE}\n\n{NOTE}"]),
        ("reordered", [TICKETS, NOTE, PLAN]),
    ],
)
def test_the_agent_sees_other_messages_and_the_record_does_not(llm: ScriptedLLM, kind: str, shown: list[str]) -> None:
    injector = channel(kind, step=2)
    trajectory = run(llm, injector).trajectory
    users = [m["content"] for m in llm.requests[2].raw["messages"] if m["role"] == "user"]
    assert users == shown
    others = [m["content"] for m in llm.requests[4].raw["messages"] if m["role"] == "user"]
    assert others == [TICKETS, PLAN, SOLVED]
    assert [given.text for given in trajectory.steps[2].inputs] == [
        given.text for given in run(llm).trajectory.steps[2].inputs
    ]
    assert (injector.applied.agent, injector.applied.kind) == ("solver", kind)
    assert injector.applied.after == "\n".join(shown)


def test_a_truncated_message_is_the_beginning_of_the_newest(llm: ScriptedLLM) -> None:
    run(llm, channel("truncated", step=2))
    first, second, newest = (m["content"] for m in llm.requests[2].raw["messages"] if m["role"] == "user")
    assert [first, second] == [TICKETS, PLAN]
    assert NOTE.startswith(newest)
    assert 0.25 * len(NOTE) < len(newest) < 0.65 * len(NOTE)


def test_the_first_agent_hears_nobody_and_is_left_alone(llm: ScriptedLLM) -> None:
    injector = channel("dropped", step=0)
    run(llm, injector)
    assert injector.applied is None
    assert "no message of another agent" in str(injector.problem)


def test_a_changed_request_is_covert_and_as_long_as_before() -> None:
    injector, start = channel("dropped", step=1), text_message("user", "Start.")
    reply = "The gate opens at 9 sharp."
    injector.after_model(ModelRequest(agent="a", step=0, messages=(start,)), ChatReply(content=reply))
    asked = ModelRequest(agent="b", step=1, messages=(start, text_message("user", reply)))
    changed_request = injector.before_model(asked)
    assert changed_request.covert
    assert [message_text(message) for message in changed_request.messages] == ["Start.", "Start."]
    assert injector.before_model(asked) == changed_request


def said(agent: str, text: str) -> Utterance:
    return Utterance(agent=agent, text=text)


def texts_with(kind: ChannelFault, messages: list[str], *others: str) -> list[str] | None:
    got = faulty_messages(
        kind, [text_message("user", text) for text in messages], [said("x", other) for other in others], Random(0)
    )
    return None if got is None else [message_text(message) for message in got]


def test_a_message_inside_a_longer_text_is_cut_out_or_changes_places() -> None:
    prompt = "Task: find it.\nContext:\nThe key is in the hall.\n\nThe door is locked now.\nReply briefly."
    key, door = "The key is in the hall.", "The door is locked now."
    assert texts_with(ChannelFault.DROPPED, [prompt], key, door) == [prompt.replace(door, "")]
    swapped = prompt.replace(key, "*").replace(door, key).replace("*", door)
    assert texts_with(ChannelFault.REORDERED, [prompt], key, door) == [swapped]


def test_a_short_output_is_not_taken_for_a_part_of_the_task() -> None:
    assert texts_with(ChannelFault.DROPPED, ["Is 42 the answer to it?"], "42") is None
    assert texts_with(ChannelFault.DROPPED, ["Is 42 the answer?", "adder: 42"], "42") == [
        "Is 42 the answer?",
        "adder: ",
    ]


@pytest.mark.parametrize("kind", ChannelFault)
def test_own_messages_tool_results_and_the_system_message_are_never_touched(kind: ChannelFault) -> None:
    text = "The door is locked now."
    messages = [text_message("system", text), assistant_message(f"As x said: {text}"), text_message("tool", text)]
    assert faulty_messages(kind, messages, [said("x", text)], Random(0)) is None


def test_a_name_on_a_message_stays() -> None:
    messages = [text_message("user", "one two three", name="x"), text_message("user", "four five six", name="y")]
    others = [said("x", "one two three"), said("y", "four five six")]
    got = faulty_messages(ChannelFault.REORDERED, messages, others, Random(0))
    assert got is not None
    assert [(m["name"], message_text(m)) for m in got] == [("x", "four five six"), ("y", "one two three")]
