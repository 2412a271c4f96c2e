"""Where runs come from: a tracer, a capture setting, and the run in progress."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.trace import TracerProvider

from tracer_hooks._version import __version__
from tracer_hooks.config import CaptureConfig
from tracer_hooks.telemetry._capture import Capture
from tracer_hooks.telemetry._invocation import current_invocation
from tracer_hooks.telemetry._run import RunInvocation, RunStart

SCOPE = "tracer_hooks"


class Emitter:
    """Opens runs.

    Args:
        tracer_provider: Where spans go; default the global provider, asked anew for every run, so that a provider which
            is set up after the team was hooked is used as well.
        capture: What is kept of content; default from the environment.
    """

    def __init__(self, *, tracer_provider: TracerProvider | None = None, capture: CaptureConfig | None = None) -> None:
        self._provider = tracer_provider
        self._newest: tuple[TracerProvider, trace.Tracer] | None = None
        self.capture = Capture(capture if capture is not None else CaptureConfig.from_env())

    @property
    def provider(self) -> TracerProvider | None:
        """Where spans go; None is the global provider."""
        return self._provider

    def start_run(self, start: RunStart, *, subject: object = None) -> RunInvocation:
        """Open a run of ``subject``, the team object; it must be closed with :meth:`RunInvocation.finish`."""
        return RunInvocation(self.tracer(), self.capture, start, subject)

    def tracer(self) -> trace.Tracer:
        """The tracer that spans are started on."""
        provider = self._provider if self._provider is not None else trace.get_tracer_provider()
        newest = self._newest
        if newest is None or newest[0] is not provider:
            # Kept, since the SDK makes a new tracer at each call, which costs as much as ten spans.
            newest = self._newest = (provider, provider.get_tracer(SCOPE, __version__))
        return newest[1]


def current_run() -> RunInvocation | None:
    """The run that the calling code is part of; None outside a hooked run or where tracing is suppressed."""
    invocation = current_invocation()
    return invocation.run if invocation is not None and not invocation.run.ended else None
