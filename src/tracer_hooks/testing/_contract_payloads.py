"""Duties: whatever stands in messages and arguments is recorded within limits, and secrets stay where they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tracer_hooks import semconv
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.testing._contract_base import ContractBase, spans_of
from tracer_hooks.testing._contract_safety import LOOKUP_SCRIPT
from tracer_hooks.testing._observing import Observer
from tracer_hooks.testing._scenarios import Scenario, calls_then_says, lookup
from tracer_hooks.testing._scripted_replies import ErrorReply, Reply, ToolCallReply
from tracer_hooks.testing._scripted_rules import When

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

    def _with_secrets(self, capture: CaptureConfig) -> Observer:
        def lookup(query: str, api_key: str) -> str:
            """Look a number up in the table."""
            raise ValueError(f"cannot log in with {_SECRET}")

        call = ToolCallReply("lookup", {"query": f"with {_SECRET}", "api_key": _SECRET})
        llm = self.llm(calls_then_says("solo", [call], f"I used {_SECRET}."))
        team = self.build("single", llm, tools=[lookup], prompts={"solo": f"You are the solo agent. Use {_SECRET}."})
        with self.observe(team, capture=capture) as observer:
            self.ending("run", team, f"Log in with {_SECRET}.")
        return observer


def _attributes(observer: Observer) -> Iterator[tuple[str, str, Any]]:
    for span in observer.spans:
        for key, value in (span.attributes or {}).items():
            yield span.name, key, value


def _texts(observer: Observer) -> Iterator[tuple[str, str]]:
    """Every text that leaves the process, with its place."""
    for name, key, value in _attributes(observer):
        yield f"{name}: {key}", str(value)
    for span in observer.spans:
        yield f"{span.name}: name", span.name
        yield f"{span.name}: status", span.status.description or ""
        for event in span.events:
            for key, value in (event.attributes or {}).items():
                yield f"{span.name}: event {event.name}: {key}", str(value)
