"""Duties: runs at the same time stay apart, and unhooking restores every attribute."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType, MethodType, ModuleType
from typing import Any

import httpx
import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Tracer

from tracer_hooks import semconv
from tracer_hooks.config import CaptureConfig
from tracer_hooks.telemetry import ToolInvocation, current_invocation, current_run, suppressed
from tracer_hooks.testing import RecordingHost, Reply, Rule, ScriptedRequest, ToolCallReply, When
from tracer_hooks_testing._base import ContractBase, every_way, root_of, spans_of
from tracer_hooks_testing._endings import LOOKUP_SCRIPT
from tracer_hooks_testing._teams import TASK, TOOL_RESULT, Scenario

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

    def _did_not_mix(self, observers: list[RecordingHost], marks: tuple[str, ...]) -> None:
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

    def _beside_another(self, capture: CaptureConfig) -> RecordingHost:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team, capture=capture) as observer:
            tracer = observer.tracer_provider.get_tracer("another")
            self.monkeypatch.setattr(httpx.Client, "send", _instrumented(httpx.Client.send, tracer))
            self.monkeypatch.setattr(httpx.AsyncClient, "send", _instrumented_async(httpx.AsyncClient.send, tracer))
            self.run(team)
        return observer


@contextmanager
def _their_span(tracer: Tracer) -> Iterator[None]:
    """Open a span as an HTTP client instrumentation does; it obeys the switch that all of them know."""
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


_MAX_OBJECTS = 4_000
_MAX_DEPTH = 6


class RestoreContract(ContractBase):
    """Promises of undoing: what was there is there again, and a second hook does no harm."""

    @pytest.mark.parametrize("scenario", list(Scenario))
    def test_undo_restores_every_attribute(self, scenario: Scenario) -> None:
        team = self.build(scenario, self.llm(scenario))
        before = attributes(team, *self.teams.parts(team))
        self.hook(team, RecordingHost(self.adapter)).undo()
        after = attributes(team, *self.teams.parts(team))
        assert changes(before, after) == []

    def test_nothing_of_ours_is_left_after_a_run(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team):
            self.run(team)
        left = changes({}, attributes(team, *self.teams.parts(team)), only_ours=True)
        assert left == []

    def test_undo_after_a_failed_run_restores_too(self) -> None:
        team = self.build("single", self.llm([]))  # every request is refused
        with self.observe(team):
            self.ending("run", team)
        assert changes({}, attributes(team, *self.teams.parts(team)), only_ours=True) == []

    def test_undoing_twice_does_no_harm(self) -> None:
        team = self.build("single", self.llm(Scenario.SINGLE))
        patches = self.hook(team, RecordingHost(self.adapter))
        patches.undo()
        patches.undo()
        assert "42" in self.adapter.result(self.adapter.entry(team, TASK), self.run(team)).text

    def test_a_team_that_was_unhooked_reports_nothing(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team) as observer:
            pass
        self.run(team)
        assert observer.runs == []
        assert observer.spans == ()

    def test_a_team_can_be_hooked_again(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        counts = []
        for _ in range(2):
            with self.observe(team) as observer:
                self.run(team)
            counts.append(len(observer.trajectory.steps))
        assert counts == [4, 4]

    def test_one_hook_observes_several_runs(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team) as observer:
            for _ in range(2):
                self.run(team)
        assert [len(trajectory.steps) for trajectory in observer.trajectories] == [4, 4]
        assert len({trajectory.trace_id for trajectory in observer.trajectories}) == 2

    def test_hooking_twice_doubles_nothing(self) -> None:
        llm = self.llm(Scenario.PIPELINE)
        team = self.build("pipeline", llm)
        before = attributes(team, *self.teams.parts(team))
        with self.observe(team) as outer, self.observe(team) as inner:
            self.run(team)
        # The newest hook conducts the run; whatever the older one adds must not double an operation.
        seen = [*spans_of(outer, semconv.OP_CHAT), *spans_of(inner, semconv.OP_CHAT)]
        assert len(seen) == llm.calls
        assert len(inner.trajectory.steps) == 4
        after = attributes(team, *self.teams.parts(team))
        assert changes({key: before[key] for key in before.keys() & after.keys()}, after, only_ours=True) == []

    def test_two_teams_of_one_class_are_hooked_apart(self) -> None:
        llm = self.llm(Scenario.PIPELINE)
        hooked, bare = self.build("pipeline", llm), self.build("pipeline", llm)
        with self.observe(hooked) as observer:
            self.run(bare)
            assert observer.runs == []
            self.run(hooked)
        assert len(observer.trajectory.steps) == 4

    def test_hooks_of_two_teams_may_be_undone_in_any_order(self) -> None:
        llm = self.llm(Scenario.PIPELINE)
        first, second = self.build("pipeline", llm), self.build("pipeline", llm)
        before = attributes(*self.teams.parts(first), *self.teams.parts(second))
        observers = [RecordingHost(self.adapter), RecordingHost(self.adapter)]
        one, two = (self.hook(team, host) for team, host in zip((first, second), observers, strict=True))
        one.undo()
        self.run(second)
        assert len(observers[1].trajectory.steps) == 4
        two.undo()
        after = attributes(*self.teams.parts(first), *self.teams.parts(second))
        assert changes({key: before[key] for key in before.keys() & after.keys()}, after, only_ours=True) == []

    @every_way
    def test_results_are_the_frameworks_own(self, way: str) -> None:
        llm = self.llm(Scenario.PIPELINE)
        bare = self.ending(way, self.build("pipeline", llm))
        llm.reset()
        team = self.build("pipeline", llm)
        with self.observe(team):
            hooked = self.ending(way, team)
        assert bare.error is None
        assert hooked == bare

    def test_a_broken_probe_disables_one_hook_and_warns_once(self, caplog: pytest.LogCaptureFixture) -> None:
        llm = self.llm(Scenario.PIPELINE)
        self.monkeypatch.setattr("tracer_hooks._guard._warned", set())
        with self.offered(self.teams.broken_probe):
            for _ in range(2):
                team = self.build("pipeline", llm)
                with self.observe(team) as observer:
                    self.run(team)
        assert len([record for record in caplog.records if record.name.startswith("tracer_hooks")]) == 1
        assert len(observer.runs) == 1
        assert observer.trajectory.final_output


def attributes(*owners: Any) -> dict[tuple[str, int], tuple[Any, dict[str, Any]]]:
    """``vars()`` of the objects and of what they hold, each with the object itself, so that no id is used twice."""
    found: dict[tuple[str, int], tuple[Any, dict[str, Any]]] = {}
    level = list(owners)
    for _ in range(_MAX_DEPTH):
        held: list[Any] = []
        for owner in level:
            key = (type(owner).__qualname__, id(owner))
            if key in found or not hasattr(owner, "__dict__") or len(found) >= _MAX_OBJECTS:
                continue
            found[key] = (owner, dict(vars(owner)))
            if not isinstance(owner, type):
                held += [item for value in vars(owner).values() for item in _followed(value)]
        level = held
    return found


def _followed(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _followed(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _followed(item)
    elif not isinstance(value, (type, ModuleType, FunctionType, MethodType, str, bytes)):
        yield value


def changes(
    before: dict[tuple[str, int], tuple[Any, dict[str, Any]]],
    after: dict[tuple[str, int], tuple[Any, dict[str, Any]]],
    *,
    only_ours: bool = False,
) -> list[str]:
    """Attributes that are another object than before; with ``only_ours``, those that now hold code of tracer-hooks."""
    changed = []
    for key, (_, now) in after.items():
        known = before[key][1] if key in before else ({} if only_ours else now)
        for name in now.keys() | known.keys():
            same = name in now and name in known and now[name] is known[name]
            if not same and (not only_ours or _is_ours(now.get(name))):
                changed.append(f"{key[0]}.{name}")
    return sorted(changed)


def _is_ours(value: Any) -> bool:
    function = getattr(value, "__func__", value)
    home = getattr(function, "__globals__", {}).get("__name__") or type(value).__module__
    return str(home).startswith("tracer_hooks") and not str(home).startswith(
        ("tracer_hooks.testing", "tracer_hooks_testing")
    )
