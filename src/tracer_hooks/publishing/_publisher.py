"""Publishing in the background: a queue and a thread for each backend, which no run waits for.

A trace that has not arrived yet is tried again with growing pauses, while others go on. A backend that is down or odd
is left alone for a while; what waits meanwhile is bounded, and what is lost is counted.
"""

from __future__ import annotations

import functools
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opentelemetry import trace

from tracer_hooks._background import BackgroundQueue, Breaker, start_daemon
from tracer_hooks._guard import guarded, logger, warn_once
from tracer_hooks._text import counted
from tracer_hooks.errors import BackendError
from tracer_hooks.publishing._annotations import Annotation, annotations_of, write_annotations
from tracer_hooks.publishing._destinations import Destination
from tracer_hooks.schema import Attribution, Trajectory
from tracer_hooks.telemetry import suppressed

if TYPE_CHECKING:
    from tracer_hooks.telemetry import Capture

MOST_WAITING = 1_000
"""Diagnoses that may wait for one backend."""
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 8.0
_PATIENCE_S = 60.0
"""How long a trace may take to arrive."""
_FLUSH_S = 2.0
"""How long the tracer provider may take to hand over its spans."""


@dataclass(frozen=True)
class Publisher:
    """Writes diagnoses into backends of traces, in the background."""

    destinations: tuple[Destination, ...]
    """The backends."""

    @guarded("publish the diagnosis", None)
    def publish(
        self,
        trajectory: Trajectory,
        attribution: Attribution,
        capture: Capture,
        *,
        provider: trace.TracerProvider | None = None,
        is_traced: bool = True,
    ) -> None:
        """Let a diagnosis be written to the run's trace, with the content that ``capture`` allows; returns at once.

        Args:
            trajectory: The run.
            attribution: Its diagnosis.
            capture: Decides on the content that may leave.
            provider: Where its spans went, which is asked to export them first; default the global provider.
            is_traced: Whether they went anywhere; a run that nobody traced has ids of its own.
        """
        annotations = annotations_of(trajectory, attribution, capture) if is_traced else ()
        if not annotations:
            message = (
                "tracer-hooks does not publish a diagnosis: the run has no trace. Set a TracerProvider that exports to "
                "%s, and a sampler that keeps the run"
            )
            warn_once("publish without a trace", message, ", ".join(each.url for each in self.destinations))
            return
        for destination in self.destinations:
            queue_for(destination).put(PendingDiagnosis(annotations, provider))


def publish_now(
    destination: Destination, trajectory: Trajectory, attribution: Attribution, capture: Capture
) -> tuple[Annotation, ...]:
    """Write a diagnosis to the run's trace, and give what was written; nothing where the run has no trace.

    Raises:
        BackendError: It cannot be written.
    """
    annotations = annotations_of(trajectory, attribution, capture)
    if annotations:
        with suppressed():
            write_annotations(destination, annotations)
    return annotations


@dataclass(eq=False)
class PendingDiagnosis:
    """A diagnosis that is to be written."""

    annotations: tuple[Annotation, ...]
    provider: trace.TracerProvider | None
    put_at: float = field(default_factory=time.monotonic)
    due_at: float = 0.0
    """Time of the next try."""
    paused_s: float = 0.0
    """Length of all pauses for a trace that was not there."""


class PublishQueue(BackgroundQueue[PendingDiagnosis]):
    """Diagnoses that wait for one backend."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        super().__init__("tracer-hooks-publish", max_items=MOST_WAITING, order=2)

    def _reset(self) -> None:
        super()._reset()
        self._breaker = Breaker()
        self._flush: threading.Thread | None = None
        self._flushed_at = 0.0

    def _say_lost(self, number: int) -> None:
        lost, url = counted(number, "diagnosis", "diagnoses"), self._destination.url
        message = "tracer-hooks lost %s that could not be written to %s. Of stored runs: tracer-hooks publish RUN... %s"
        logger.warning(message, lost, url, url)

    @property
    def _delay_s(self) -> float:
        return self._breaker.left_s

    def _handle_some(self) -> bool:
        pending = self._take_due()
        if pending is None:
            return True
        self._export_spans(pending)
        try:
            with suppressed():
                write_annotations(self._destination, pending.annotations)
        except BackendError as error:
            return self._failed(pending, error)
        except Exception as error:  # a bug of ours with this one; the others go on
            logger.warning("tracer-hooks could not publish a diagnosis (%s: %s)", type(error).__name__, error)
        lost = 0
        with self._changed:
            if self._breaker.is_open:
                lost, self._lost = self._lost, 0
                self._breaker.succeed()
        if lost:
            self._say_lost(lost)
        self._finish()
        return True

    def _take_due(self) -> PendingDiagnosis | None:
        """The first whose time has come; None, after a pause, where there is none."""
        with self._changed:
            now = time.monotonic()
            pending = next((each for each in self._waiting if each.due_at <= now), None)
            if pending is None:
                self._changed.wait(_FIRST_PAUSE_S)
            else:
                self._waiting.remove(pending)
                self._going = [pending]
            return pending

    def _failed(self, pending: PendingDiagnosis, error: BackendError) -> bool:
        """Let it wait for the next try, or drop it; says whether to go on at once with others."""
        if error.kind == "missing" and pending.paused_s < _PATIENCE_S:
            pause_s = min(max(pending.paused_s, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)
            pending.paused_s += pause_s
            pending.due_at = time.monotonic() + pause_s
            self._wait_again(pending)
            return True
        is_dropped = error.kind in ("missing", "refused", "key")
        then = "It is dropped" if is_dropped else f"Up to {MOST_WAITING:,} wait in memory, and it is tried again"
        url = self._destination.url
        warn_once(f"publish {url} {error.kind}", "tracer-hooks cannot publish to %s: %s. %s", url, error, then)
        is_well = error.kind in ("missing", "refused")
        with self._changed:
            if not is_well:
                self._breaker.fail()
                self._is_draining = False  # whoever waits for the end has no reason to wait for this
            if is_dropped:
                self._lost += 1
                self._finish()
            else:
                self._wait_again(pending)
        return is_well

    def _wait_again(self, pending: PendingDiagnosis) -> None:
        with self._changed:
            if self._going:  # not given up meanwhile
                self._going = []
                self._waiting.append(pending)
            self._changed.notify_all()

    def _export_spans(self, pending: PendingDiagnosis) -> None:
        """Ask the provider for the spans that it has gathered; a provider that hangs is not waited for."""
        if pending.put_at <= self._flushed_at or (self._flush is not None and self._flush.is_alive()):
            return
        self._flushed_at = time.monotonic()
        provider = pending.provider if pending.provider is not None else trace.get_tracer_provider()

        def export() -> None:
            with suppress(Exception):  # of the user's exporter, or a provider that has nothing to flush
                provider.force_flush(int(_FLUSH_S * 1000))  # type: ignore[attr-defined]

        with suppress(RuntimeError):  # the interpreter is ending and starts no thread
            self._flush = start_daemon(export, "tracer-hooks-flush")
            self._flush.join(_FLUSH_S)


@functools.cache
def queue_for(destination: Destination) -> PublishQueue:
    """The one queue of a backend in this process."""
    return PublishQueue(destination)
