"""The ways of tracing that are measured: ours, OpenInference's, OpenLLMetry's; and what tracing costs at the least."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _overhead_script import ANSWER, OPERATIONS, PROMPTS, TASK
from opentelemetry import context as otel_context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NoOpTracerProvider, set_span_in_context

_RIVALS = {
    ("openinference", "autogen"): ("openinference.instrumentation.autogen_agentchat", "AutogenAgentChatInstrumentor"),
    ("openinference", "crewai"): ("openinference.instrumentation.crewai", "CrewAIInstrumentor"),
    ("openinference", "langgraph"): ("openinference.instrumentation.langchain", "LangChainInstrumentor"),
    ("openllmetry", "crewai"): ("opentelemetry.instrumentation.crewai", "CrewAIInstrumentor"),
    ("openllmetry", "langgraph"): ("opentelemetry.instrumentation.langchain", "LangchainInstrumentor"),
}


class Bare:
    """Traces nothing; the base of everything that does."""

    builds_inside = False
    """Whether the team must be built while tracing is on."""
    emits = True
    """Whether spans reach the provider that :meth:`on` is given."""

    def on(self, team: Any, provider: TracerProvider) -> None:
        """Begin to trace ``team`` to ``provider``; not timed as a part of the run."""

    def off(self, team: Any) -> None:
        """Undo :meth:`on`."""

    def settle(self, team: Any) -> None:
        """Wait for the work that the run left to other threads; timed as a part of the run."""


class Ours(Bare):
    """``tracer_hooks.hook(team, ...)``, as a user would write it.

    Args:
        scratch: Folder for a run store.
        with_store: Whether runs are stored.
        failing: Whether a check fails every run, so that each is diagnosed.
        capture: What of content goes onto the spans.
        instead: Where spans go in place of the benchmark's provider.
    """

    def __init__(
        self,
        scratch: Path,
        *,
        with_store: bool = False,
        failing: bool = False,
        capture: str = "full",
        instead: Callable[[], Any] | None = None,
    ) -> None:
        self._options: dict[str, Any] = {"capture": capture, "store": scratch / "runs.sqlite" if with_store else "off"}
        if failing:
            self._options["check"] = lambda result, task: False
        self._instead = instead() if instead is not None else None
        self.emits = instead is None

    def on(self, team: Any, provider: TracerProvider) -> None:
        import tracer_hooks

        given = provider if self._instead is None else self._instead
        tracer_hooks.hook(team, tracer_provider=given, **self._options)

    def factory(self, build: Callable[..., Any], provider: TracerProvider) -> Callable[..., Any]:
        """The hooked factory, every team of which is traced."""
        import tracer_hooks

        return tracer_hooks.hook(build, tracer_provider=provider, **self._options)

    def off(self, team: Any) -> None:
        import tracer_hooks

        tracer_hooks.unhook(team)

    def settle(self, team: Any) -> None:
        import tracer_hooks

        run = tracer_hooks.last_run(team)
        if run is None:
            raise RuntimeError("the hooked team recorded no run")
        run.wait(60)


class Rival(Bare):
    """A peer's instrumentor with its default settings, which capture content.

    Args:
        peer: ``"openinference"`` or ``"openllmetry"``.
        framework: What to instrument.
        options: For ``instrument()``.
    """

    builds_inside = True  # OpenLLMetry wraps LangChain's agent factories

    def __init__(self, peer: str, framework: str, **options: Any) -> None:
        module, name = _RIVALS[peer, framework]
        self._instrumentor = getattr(importlib.import_module(module), name)()
        self._options = options

    def on(self, team: Any, provider: TracerProvider) -> None:
        self._instrumentor.instrument(tracer_provider=provider, **self._options)
        if not self._instrumentor.is_instrumented_by_opentelemetry:
            raise RuntimeError(f"{type(self._instrumentor).__module__} refused to instrument this version")

    def off(self, team: Any) -> None:
        self._instrumentor.uninstrument()


@dataclass(frozen=True)
class Mode:
    """One row of the table."""

    label: str
    distributions: dict[str, str] | None = None
    """The distribution that each framework needs; None: ours, which has every framework."""
    targets: Mapping[str, float] = field(default_factory=dict)
    """By framework, what it may add to the CPU time of a run, in per cent."""
    options: dict[str, Any] = field(default_factory=dict)
    floor: str = ""
    """Of what is no way of tracing but a part of its cost: the class in :mod:`_overhead_modes`."""
    is_split: bool = False
    """Whether it serves to split the cost, and is measured only with ``--split``."""

    def missing(self, framework: str) -> str | None:
        """Why the mode cannot be measured: "not installed", "no such instrumentor", or what our adapter lacks."""
        if self.distributions is None:
            return _our_problem(framework)
        if framework not in self.distributions:
            return "no such instrumentor"
        try:
            importlib.metadata.version(self.distributions[framework])
        except importlib.metadata.PackageNotFoundError:
            return "not installed"
        return None


MODES = {
    "ours": Mode("tracer-hooks", targets={"autogen": 25.0, "langgraph": 20.0, "crewai": 4.0}),
    "ours-store": Mode(
        "tracer-hooks, runs stored",
        targets={"autogen": 40.0, "langgraph": 40.0, "crewai": 7.0},
        options={"with_store": True},
    ),
    "ours-diagnose": Mode(
        "tracer-hooks, every run fails, is diagnosed and stored",
        targets={"autogen": 60.0, "langgraph": 60.0, "crewai": 8.0},
        options={"failing": True, "with_store": True},
    ),
    "idle-handler": Mode(
        "a LangChain handler that does nothing", {"langgraph": "langchain-core"}, floor="IdleHandler", is_split=True
    ),
    "spans-alone": Mode("as many spans, without hooks", floor="SpansAlone", is_split=True),
    "ours-no-spans": Mode("tracer-hooks without spans", options={"instead": NoOpTracerProvider}, is_split=True),
    "ours-no-content": Mode("tracer-hooks without content", options={"capture": "off"}, is_split=True),
    "ours-no-exporter": Mode("tracer-hooks without exporter", options={"instead": TracerProvider}, is_split=True),
    "openinference": Mode(
        "OpenInference",
        {
            "autogen": "openinference-instrumentation-autogen-agentchat",
            "crewai": "openinference-instrumentation-crewai",
            "langgraph": "openinference-instrumentation-langchain",
        },
    ),
    "openinference-events": Mode(
        "OpenInference, event listener",
        {"crewai": "openinference-instrumentation-crewai"},
        options={"use_event_listener": True},
    ),
    "openllmetry": Mode(
        "OpenLLMetry",
        {"crewai": "opentelemetry-instrumentation-crewai", "langgraph": "opentelemetry-instrumentation-langchain"},
    ),
}
FRAMEWORKS = ("autogen", "langgraph", "crewai")


def make(name: str, framework: str, scratch: Path) -> Bare:
    """The switch of a mode."""
    if name == "bare":
        return Bare()
    mode = MODES[name]
    if mode.floor:
        return getattr(importlib.import_module("_overhead_modes"), mode.floor)()  # type: ignore[no-any-return]
    if mode.distributions is None:
        return Ours(scratch, **mode.options)
    return Rival(name.split("-")[0], framework, **mode.options)


def _our_problem(framework: str) -> str | None:
    from tracer_hooks.frameworks import find_adapters

    for found in find_adapters():
        if found.name == framework:
            return None if found.adapter is not None else f"adapter not loaded: {found.problem}"
    return "not installed"


_SHORT = {f"benchmark.attribute_{number}": "northwind" if number % 2 else number for number in range(9)}
"""As many short attributes as our spans have: names, ids, the step's index, tokens."""
_CONTENT = {
    "run": {"input.value": TASK, "output.value": ANSWER},
    "agent": {"input.messages": 4, "output.messages": 1},
    "chat": {"input.messages": 9, "output.messages": 1},
    "tool": {"arguments": 1, "result": ANSWER},
}
"""Content of each kind of span: a text, or how many messages."""


class SpansAlone(Bare):
    """Makes as many spans as a run of ours has, of the same size, after a run that nobody traces.

    Nested as ours are, each made the current one and given its attributes at its end, as anybody has to who knows them
    only then.
    """

    def on(self, team: Any, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("benchmark")

    def settle(self, team: Any) -> None:
        outer = otel_context.get_current()
        for kind, count in OPERATIONS.items():
            for _ in range(count):
                span = self._tracer.start_span(f"{kind} name", outer, attributes={"operation": kind})
                inner = set_span_in_context(span, outer)
                otel_context.attach(inner)
                span.set_attributes({**_SHORT, **_content(kind)})
                otel_context.attach(outer)
                span.end(time.time_ns())
                if kind == "run":
                    outer = inner
        otel_context.attach(otel_context.Context())


class IdleHandler(Bare):
    """LangChain's callbacks answered by nothing, which every instrumentation that listens to them pays as well."""

    emits = False
    _current: ContextVar[Any] = ContextVar("idle_handler", default=None)
    _is_registered = False

    def on(self, team: Any, provider: TracerProvider) -> None:
        from langchain_core.callbacks import BaseCallbackHandler
        from langchain_core.tracers.context import register_configure_hook

        if not IdleHandler._is_registered:
            register_configure_hook(self._current, True)
            IdleHandler._is_registered = True
        handler = BaseCallbackHandler()
        handler.run_inline = True
        self._current.set(handler)

    def off(self, team: Any) -> None:
        self._current.set(None)


def _content(kind: str) -> dict[str, str]:
    return {key: value if isinstance(value, str) else _messages(value) for key, value in _CONTENT[kind].items()}


def _messages(count: int) -> str:
    parts = [{"type": "text", "content": PROMPTS["analyst"]}]
    return json.dumps([{"role": "user", "parts": parts} for _ in range(count)])
