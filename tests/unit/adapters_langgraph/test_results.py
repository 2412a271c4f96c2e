"""Tasks and answers in the forms that graphs take and give them."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.types import Command

from tracer_hooks.errors import AdapterError, UnsupportedVersionError
from tracer_hooks.frameworks import TeamCall, get_adapter
from tracer_hooks.telemetry import message_text
from tracer_hooks.testing import observed
from tracer_hooks_langgraph._convert import to_message
from tracer_hooks_langgraph._entries import task_text

from ._graphs import QUESTION, Plain, chain, scripted, speaker


@dataclass
class Form:
    topic: str
    answer: str = ""


@dataclass(slots=True)
class SlottedForm:
    topic: str
    answer: str = ""


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"messages": [HumanMessage("first"), AIMessage("no"), HumanMessage("last")]}, "last"),
        ({"messages": [("user", "a pair")]}, "a pair"),
        ({"messages": "a text"}, "a text"),
        ({"messages": [HumanMessage([{"type": "text", "text": "see"}, {"type": "image_url"}])]}, "see\n[image_url]"),
        ({"topic": "tea", "score": 1}, "tea"),
        ({"score": 1}, '{"score": 1}'),
        ("as it is", "as it is"),
        (Command(resume={"ok": True}), '{"ok": true}'),
        ([HumanMessage("first"), AIMessage("no")], "first"),
        (["a", "b"], '["a", "b"]'),
        ({"messages": ("user", "one pair")}, "one pair"),
        (Form(topic="tea"), "tea"),
        (SlottedForm(topic="tea"), "tea"),
        (None, ""),
    ],
)
def test_the_task_is_read_from_any_input(given: Any, text: str) -> None:
    assert task_text((given,), {}) == text
    assert task_text((), {"input": given}) == text


@pytest.mark.parametrize(
    ("native", "text"),
    [
        ({"messages": [HumanMessage("q"), AIMessage([{"type": "text", "text": "a"}, {"type": "tool_use"}])]}, "a"),
        ({"messages": [AIMessage("said"), ToolMessage("result", tool_call_id="1")]}, "said"),
        ({"topic": "tea", "answer": "green"}, "green"),
        ({"topic": "tea", "score": 2}, '{"topic": "tea", "score": 2}'),
        ([HumanMessage("q"), AIMessage("said")], "said"),
        ({"talk": [HumanMessage("q"), AIMessage("said")]}, "said"),
        (AIMessage("said"), "said"),
        (HumanMessage("asked"), "asked"),
        (Form(topic="tea", answer="green"), "green"),
        (SlottedForm(topic="tea", answer="green"), "green"),
        ({}, ""),
        (None, ""),
        (42, "42"),
        ("plain", "plain"),
    ],
)
def test_the_answer_is_read_from_any_state(native: Any, text: str) -> None:
    call = TeamCall(team=chain(Plain, node=lambda state: {}), method="invoke")
    assert get_adapter("langgraph").result(call, native).text == text


def test_the_second_format_of_results_is_understood() -> None:
    team = chain(solver=speaker(scripted("Done.")))
    with observed(team) as observer:
        team.invoke(QUESTION, version="v2")
    assert observer.results[0].text == "Done."
    assert [message_text(message) for message in observer.results[0].messages] == ["What is six times seven?", "Done."]


def test_a_task_in_text_runs_any_graph_whose_input_is_clear() -> None:
    class One(TypedDict):
        wish: str
        seen: Annotated[list[str], operator.add]

    class Several(TypedDict):
        style: str
        question: str
        answer: str

    @entrypoint()
    def flow(text: str) -> str:
        return text.upper()

    adapter = get_adapter("langgraph")
    saved = chain(solver=speaker(scripted("Done.")), compiled={"checkpointer": InMemorySaver()})
    for team, answer in (
        (chain(solver=speaker(scripted("Done."))), "Done."),
        (saved, "Done."),
        (chain(One, node=lambda state: {"seen": [state["wish"]]}), '{"wish": "tea", "seen": ["tea"]}'),
        (chain(Several, node=lambda state: {"answer": state["question"].upper()}), "TEA"),
        (flow, "TEA"),
    ):
        call = adapter.entry(team, "tea")
        assert adapter.result(call, call.on(team)).text == answer


def test_an_unclear_input_is_an_error_that_names_the_state() -> None:
    class Two(TypedDict):
        left: str
        right: str

    with pytest.raises(AdapterError, match=r"'left', 'right'"):
        get_adapter("langgraph").entry(chain(Two, node=lambda state: {}), "tea")


def test_short_forms_of_messages_are_converted() -> None:
    result = to_message({"role": "tool", "tool_call_id": "c1", "content": ["two", {"type": "text", "text": "parts"}]})
    assert (result["role"], message_text(result)) == ("tool", "two\nparts")


@pytest.mark.parametrize("message", [{"role": "assistant", "content": None}, ("ai", "x"), "text", object(), b"\xff"])
def test_odd_messages_are_converted(message: object) -> None:
    assert to_message(message)["role"] in ("assistant", "user")


def test_versions_outside_the_range_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracer_hooks.frameworks import _discovery

    _discovery.supported_version.cache_clear()
    monkeypatch.setattr(_discovery, "version", lambda name: "0.6.1")
    with pytest.raises(UnsupportedVersionError, match=r"'0\.6\.1' is installed.*pip install"):
        get_adapter("langgraph").framework_version()
    monkeypatch.undo()
    assert get_adapter("langgraph").framework_version().startswith("1.")
