"""OpenInference's instrumentation is on at the same time: both see the run, once each, and both can be taken off."""

import importlib
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

import tracer_hooks
from tracer_hooks import semconv
from tracer_hooks.telemetry import assemble
from tracer_hooks.telemetry._otlp_write import to_record
from tracer_hooks_testing._base import attribute
from tracer_hooks_testing._isolation import attributes, changes

from .kinds._kind import in_order
from .kinds._load import fail_for_missing
from .kinds._stage import Spans, Stage, acts

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # clients that live as long as their team

BESIDE = (
    "autogen_agents_as_tools", "autogen_graph_flow", "autogen_society_of_mind", "crewai_flow_with_router",
    "crewai_guardrail_retry", "crewai_kickoff_for_each", "crewai_single_agent", "langgraph_astream_events",
    "langgraph_batch", "langgraph_functional", "langgraph_subgraph_interrupt", "langgraph_supervisor",
)  # fmt: skip
ONE_EACH = ("autogen_society_of_mind", "crewai_flow_with_router", "langgraph_supervisor")
"""One kind of each framework, for what the framework alone decides."""

ORDERS = {
    "instrument-hook-unhook-uninstrument": ONE_EACH,
    "instrument-hook-uninstrument-unhook": ONE_EACH,
    "hook-instrument-uninstrument-unhook": ONE_EACH,
    # With CrewAI OpenInference puts back what it found, and that was ours: see the last test.
    "hook-instrument-unhook-uninstrument": ("autogen_society_of_mind", "langgraph_supervisor"),
}


INSTRUMENTORS = {
    "autogen": ("autogen_agentchat", "AutogenAgentChatInstrumentor"),
    "crewai": ("crewai", "CrewAIInstrumentor"),
    "langgraph": ("langchain", "LangChainInstrumentor"),
}
PATCHED: dict[str, dict[str, tuple[str, ...]]] = {
    "autogen": {
        "autogen_agentchat.agents": ("AssistantAgent", "BaseChatAgent"),
        "autogen_agentchat.teams": ("BaseGroupChat",),
        "autogen_ext.models.openai": ("BaseOpenAIChatCompletionClient",),
    },
    "crewai": {"crewai": ("Task", "Crew", "Flow", "Agent"), "crewai.tools.base_tool": ("BaseTool", "Tool")},
    "langgraph": {"langchain_core.callbacks": ("BaseCallbackManager",)},
}
"""The framework's classes that OpenInference changes."""


def instrumentor(framework: str) -> Any:
    """OpenInference's instrumentor of a framework; there is one in the process."""
    package, name = INSTRUMENTORS[framework]
    try:
        return getattr(importlib.import_module(f"openinference.instrumentation.{package}"), name)()
    except ImportError as error:
        fail_for_missing(error)


def patched_classes(framework: str) -> list[type]:
    return [getattr(importlib.import_module(name), one) for name, ones in PATCHED[framework].items() for one in ones]


@contextmanager
def instrumented(framework: str, provider: TracerProvider) -> Iterator[None]:
    other = instrumentor(framework)
    other.instrument(tracer_provider=provider)
    assert other.is_instrumented_by_opentelemetry
    try:
        yield
    finally:
        other.uninstrument()


def theirs(spans: Sequence[ReadableSpan]) -> list[ReadableSpan]:
    return [span for span in spans if _scope(span).startswith("openinference.")]


def ours(spans: Sequence[ReadableSpan]) -> list[ReadableSpan]:
    return [span for span in spans if _scope(span).startswith("tracer_hooks")]


def _scope(span: ReadableSpan) -> str:
    return span.instrumentation_scope.name if span.instrumentation_scope is not None else ""


@pytest.mark.parametrize("name", BESIDE)
def test_both_see_every_run_once_and_its_result_is_the_same(on_stage: Stage) -> None:
    kind, spans = on_stage.kind, Spans()
    bare = on_stage.ended(on_stage.build())
    with instrumented(kind.teams.adapter, spans.provider):
        both = on_stage.ended(on_stage.hook(on_stage.build(), spans))
    assert both == bare
    assert theirs(spans.ended) != []
    mine = ours(spans.ended)
    assert len([span for span in mine if attribute(span, semconv.OPERATION_NAME) == semconv.OP_CHAT]) == kind.requests
    runs = assemble([to_record(span) for span in mine])
    assert len(runs) == len(kind.courses)
    for run, course, outcome in zip(runs, kind.courses, itertools.cycle(kind.outcomes), strict=False):
        expected, happened = in_order(course, acts(run))
        assert happened == expected
        assert run.outcome == outcome
    assert (spans.open, spans.orphans) == ([], [])


class Both:
    """A team with OpenInference and us on and off, and the classes that either changes."""

    def __init__(self, on_stage: Stage) -> None:
        self.spans = Spans()
        self.team = on_stage.build()
        self._stage, self._other = on_stage, instrumentor(on_stage.kind.teams.adapter)
        self.instrument()
        self.uninstrument()  # what it leaves behind by itself is not ours
        self._owners = [*on_stage.kind.owners(self.team), *patched_classes(on_stage.kind.teams.adapter)]
        self._before = attributes(*self._owners)

    def instrument(self) -> None:
        self._other.instrument(tracer_provider=self.spans.provider)

    def uninstrument(self) -> None:
        self._other.uninstrument()

    def hook(self) -> None:
        self._stage.hook(self.team, self.spans)

    def unhook(self) -> None:
        tracer_hooks.unhook(self.team)

    def changed(self) -> list[str]:
        """What is another object than before, of the classes; and what is ours, of the team."""
        after = attributes(*self._owners)
        classes = {key: value for key, value in self._before.items() if isinstance(value[0], type)}
        return changes(classes, {key: after[key] for key in classes}) + changes({}, after, only_ours=True)


@pytest.mark.parametrize(("name", "order"), [(name, order) for order, names in ORDERS.items() for name in names])
def test_taken_off_in_either_order_the_classes_are_as_they_were(on_stage: Stage, order: str) -> None:
    both = Both(on_stage)
    *on, first, last = order.split("-")
    for step in on:
        getattr(both, step)()
    on_stage.run(both.team)
    getattr(both, first)()
    on_stage.run(both.team)
    getattr(both, last)()
    assert both.changed() == []


@pytest.mark.parametrize("name", ["crewai_flow_with_router"])
def test_what_openinference_puts_back_of_ours_passes_through_and_goes_with_the_next_hook(on_stage: Stage) -> None:
    both = Both(on_stage)
    both.hook()
    both.instrument()
    both.unhook()
    both.uninstrument()
    assert both.changed() != []
    on_stage.run(both.team)
    assert both.spans.ended == ()
    both.hook()
    both.unhook()
    assert both.changed() == []
