"""Duties: runs do not mix with each other, with the user's own spans, or with another instrumentation's."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Tracer

from tracer_hooks import semconv
from tracer_hooks.config import CaptureConfig
from tracer_hooks.telemetry import ToolInvocation, current_invocation, current_run, suppressed
from tracer_hooks.testing._contract_base import ContractBase, root_of, spans_of
from tracer_hooks.testing._contract_safety import LOOKUP_SCRIPT
from tracer_hooks.testing._observing import Observer
from tracer_hooks.testing._scenarios import TOOL_RESULT, Scenario
from tracer_hooks.testing._scripted_replies import Reply, ToolCallReply
from tracer_hooks.testing._scripted_request import ScriptedRequest
from tracer_hooks.testing._scripted_rules import Rule, When

_MARKS = ("apple", "berry", "cherry", "damson")


def _echo(words: str) -> Callable[[ScriptedRequest], str]:
    """A reply that names the fruit of the run in whose messages it stands."""
    return lambda request: f"{words} {'+'.join(mark for mark in _MARKS if mark in request.text)}"


def _echo_call(request: ScriptedRequest) -> Reply:
    return Reply(tool_calls=[ToolCallReply("lookup", {"query": _echo("find")(request)})])


_ECHOES: tuple[Rule, ...] = (
    When(agent="researcher", tool_result="").then(_echo("found")),
    When(agent="researcher").then(_echo_call),
    When(agent="writer").then(_echo("wrote")),
    When(agent="reviewer").then(_echo("read")),
)


class IsolationContract(ContractBase):
    """Parallel runs, own spans, other instrumentations."""

    def test_four_teams_in_one_loop_do_not_mix(self) -> None:
        teams = [self.build("pipeline", self.llm(_ECHOES)) for _ in _MARKS]
        with ExitStack() as stack:
            observers = [stack.enter_context(self.observe(team)) for team in teams]

            async def together() -> None:
                runs = [self.teams.arun(team, f"Buy {mark}.") for team, mark in zip(teams, _MARKS, strict=True)]
                await asyncio.gather(*runs)

            self.run_async(together())
        self._did_not_mix(observers, _MARKS)

    def test_two_teams_in_threads_do_not_mix(self) -> None:
        marks = _MARKS[:2]
        teams = [self.build("pipeline", self.llm(_ECHOES)) for _ in marks]
        errors: list[BaseException] = []
        begin = threading.Barrier(2)

        def work(team: Any, mark: str) -> None:
            try:
                begin.wait()
                self.teams.run(team, f"Buy {mark}.")
            except BaseException as error:
                errors.append(error)

        with ExitStack() as stack:
            observers = [stack.enter_context(self.observe(team)) for team in teams]
            threads = [threading.Thread(target=work, args=pair) for pair in zip(teams, marks, strict=True)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert errors == []
        self._did_not_mix(observers, marks)

    def _did_not_mix(self, observers: list[Observer], marks: tuple[str, ...]) -> None:
        for observer, mark in zip(observers, marks, strict=True):
            trajectory = observer.trajectory
            assert [step.agent for step in trajectory.steps] == ["researcher", "researcher", "writer", "reviewer"]
            assert [step.content for step in trajectory.steps[1:]] == [f"found {mark}", f"wrote {mark}", f"read {mark}"]
            assert trajectory.steps[0].tool_calls[0].arguments == {"query": f"find {mark}"}
            assert len(spans_of(observer, semconv.OP_CHAT)) == 4
            assert len({span.context.trace_id for span in observer.spans if span.context is not None}) == 1

    # --- the user's own spans --------------------------------------------------------------------------------------
    @pytest.mark.parametrize("way", ["run", "arun"])
    @pytest.mark.parametrize("asynchronous", [False, True], ids=["plain", "async"])
    def test_a_users_span_inside_a_tool_nests_below_it(self, way: str, asynchronous: bool) -> None:
        tracer: list[Tracer] = []
        seen: list[Any] = []

        def note() -> str:
            with tracer[0].start_as_current_span("the user's own"):
                seen.append(current_invocation())
            return TOOL_RESULT

        def plain_lookup(query: str) -> str:
            """Look a number up in the table."""
            return note()

        async def async_lookup(query: str) -> str:
            """Look a number up in the table."""
            await asyncio.sleep(0)
            return note()

        tool = async_lookup if asynchronous else plain_lookup
        tool.__name__ = tool.__qualname__ = "lookup"
        team = self.build("single", self.llm(LOOKUP_SCRIPT), tools=[tool])
        with self.observe(team) as observer:
            tracer.append(observer.tracer_provider.get_tracer("user"))
            ending = self.ending(way, team)
        if not seen:
            pytest.skip(f"{self.teams.adapter}: this framework cannot run such a tool here ({ending.error})")
        (own,) = [span for span in observer.spans if span.name == "the user's own"]
        (tool_span,) = spans_of(observer, semconv.OP_EXECUTE_TOOL)
        assert own.parent is not None
        assert tool_span.context is not None
        assert own.parent.span_id == tool_span.context.span_id
        assert [type(invocation) for invocation in seen] == [ToolInvocation]

    @pytest.mark.parametrize("way", ["run", "arun", "astream"])
    def test_a_run_inside_a_users_span_is_its_child(self, way: str) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team) as observer:
            tracer = observer.tracer_provider.get_tracer("user")
            with tracer.start_as_current_span("request") as outer:
                self.conduct(way, team)
                assert trace.get_current_span() is outer
        root = root_of(observer)
        assert root.parent is not None
        assert root.parent.span_id == outer.get_span_context().span_id

    def test_a_thread_of_the_users_own_is_an_orphan_and_no_crash(self) -> None:
        tracer: list[Tracer] = []
        seen: list[Any] = []

        def lookup(query: str) -> str:
            """Look a number up in the table."""

            def work() -> None:
                seen.append(current_run())
                with tracer[0].start_as_current_span("in a thread"):
                    pass

            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            return TOOL_RESULT

        team = self.build("single", self.llm(LOOKUP_SCRIPT), tools=[lookup])
        with self.observe(team) as observer:
            tracer.append(observer.tracer_provider.get_tracer("user"))
            self.run(team)
        assert seen == [None]
        (own,) = [span for span in observer.spans if span.name == "in a thread"]
        assert own.parent is None
        assert len(observer.trajectory.steps) == 2

    def test_a_thread_that_takes_the_context_along_is_part_of_the_run(self) -> None:
        seen: list[Any] = []

        def lookup(query: str) -> str:
            """Look a number up in the table."""
            context = contextvars.copy_context()
            thread = threading.Thread(target=context.run, args=(lambda: seen.append(current_run()),))
            thread.start()
            thread.join()
            return TOOL_RESULT

        team = self.build("single", self.llm(LOOKUP_SCRIPT), tools=[lookup])
        with self.observe(team) as observer:
            self.run(team)
        assert seen == observer.runs

    def test_another_team_called_inside_a_tool_has_its_own_run(self) -> None:
        inner = self.build("single", self.llm(Scenario.SINGLE))

        def lookup(query: str) -> str:
            """Look a number up in the table."""
            context = contextvars.copy_context()  # the framework's own loop may be running in this thread
            thread = threading.Thread(target=context.run, args=(self.teams.run, inner, query))
            thread.start()
            thread.join()
            return TOOL_RESULT

        outer = self.build("single", self.llm(LOOKUP_SCRIPT), tools=[lookup])
        with self.observe(outer) as around, self.observe(inner) as within:
            self.run(outer)
        assert [step.content for step in around.trajectory.steps] == ["", "It is 42."]
        assert [step.content for step in within.trajectory.steps] == ["The answer is 42."]

    def test_suppressed_runs_are_not_observed(self) -> None:
        llm = self.llm(Scenario.PIPELINE)
        team = self.build("pipeline", llm)
        with self.observe(team) as observer, suppressed():
            self.run(team)
        assert (observer.runs, observer.spans) == ([], ())
        assert llm.calls == 4

    # --- another instrumentation -----------------------------------------------------------------------------------
    def test_another_instrumentations_span_nests_below_the_chat(self) -> None:
        observer = self._beside_another(CaptureConfig())
        chats = {span.context.span_id for span in spans_of(observer, semconv.OP_CHAT) if span.context is not None}
        theirs = [span for span in observer.spans if span.name == "POST"]
        assert len(theirs) == 4
        assert {span.parent.span_id for span in theirs if span.parent is not None} == chats
        assert len(observer.trajectory.steps) == 4

    def test_other_instrumentations_can_be_asked_to_stay_silent(self) -> None:
        observer = self._beside_another(CaptureConfig(suppress_others=True))
        assert [span for span in observer.spans if span.name == "POST"] == []
        assert len(observer.trajectory.steps) == 4

    def _beside_another(self, capture: CaptureConfig) -> Observer:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team, capture=capture) as observer:
            tracer = observer.tracer_provider.get_tracer("another")
            self.monkeypatch.setattr(httpx.Client, "send", _instrumented(httpx.Client.send, tracer))
            self.monkeypatch.setattr(httpx.AsyncClient, "send", _instrumented_async(httpx.AsyncClient.send, tracer))
            self.run(team)
        return observer


@contextmanager
def _their_span(tracer: Tracer) -> Iterator[None]:
    """What an HTTP client instrumentation does; it obeys the switch that all of them know."""
    if otel_context.get_value("suppress_instrumentation"):
        yield
    else:
        with tracer.start_as_current_span("POST"):
            yield


def _instrumented(original: Callable[..., Any], tracer: Tracer) -> Callable[..., Any]:
    @functools.wraps(original)
    def send(*args: Any, **kwargs: Any) -> Any:
        with _their_span(tracer):
            return original(*args, **kwargs)

    return send


def _instrumented_async(original: Callable[..., Any], tracer: Tracer) -> Callable[..., Any]:
    @functools.wraps(original)
    async def send(*args: Any, **kwargs: Any) -> Any:
        with _their_span(tracer):
            return await original(*args, **kwargs)

    return send
