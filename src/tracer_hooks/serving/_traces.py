"""Received spans, put together by trace until a run of them is stored; they may come late, twice, or never end."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tracer_hooks._background import Breaker, start_daemon
from tracer_hooks._files import sync
from tracer_hooks._guard import guard, logger
from tracer_hooks.config import StorePlace
from tracer_hooks.datasets import runs_of
from tracer_hooks.errors import StoreError, TrajectoryError
from tracer_hooks.runtime import checked_diagnosis
from tracer_hooks.runtime._archive import retain
from tracer_hooks.runtime._options import make_options
from tracer_hooks.schema import RunKind, RunOutcome, Trajectory, to_json
from tracer_hooks.serving._spool import KeptRequest, Spool
from tracer_hooks.store import RunStore, StoredRun
from tracer_hooks.telemetry import SpanRecord, decode_request, redacted_attribution, redacted_trajectory, suppressed

MOST_SPANS = 20_000
"""Spans that are kept of one trace."""


@dataclass(frozen=True, kw_only=True)
class TracePatience:
    """How long is waited for the rest of a trace, in seconds."""

    settle: float = 1.0
    """After its last span, where none is missing: it has a root, and the parent of each of its spans."""
    quiet: float = 30.0
    """The same where one is missing."""
    late: float = 60.0
    """How long a stored trace that is complete still grows; later spans of it make a run of their own."""
    idle: float = 1_800.0
    """The same where a span is missing, for instance since the run goes on."""


@dataclass(eq=False)
class _Trace:
    spans: dict[str, SpanRecord] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    """Parents of spans that have not come."""
    has_root: bool = False
    requests: set[KeptRequest] = field(default_factory=set)
    touched: float = 0.0
    is_stored: bool = False
    """Whether all spans that came are stored."""
    undiagnosed: list[str] = field(default_factory=list)
    """Ids of runs that are stored and to be diagnosed."""

    def add(self, span: SpanRecord) -> None:
        self.spans[span.span_id] = span
        self.missing.discard(span.span_id)
        if span.parent_id is None:
            self.has_root = True
        elif span.parent_id not in self.spans:
            self.missing.add(span.parent_id)
        self.touched, self.is_stored = time.monotonic(), False

    def is_older(self, *, complete: float, incomplete: float) -> bool:
        """Tell whether its last span came so long ago."""
        is_complete = self.has_root and not self.missing
        return time.monotonic() - self.touched >= (complete if is_complete else incomplete)


class ReceivedTraces:
    """Traces that other processes send, stored as runs by one thread and diagnosed where they failed.

    Args:
        place: The run store's file or server.
        spool: Where their requests are kept until then.
        patience: How long is waited.
        most_bytes: Of the spool; beyond half of it, traces that are stored are not kept for late spans.
    """

    def __init__(
        self, place: StorePlace, spool: Spool, *, patience: TracePatience | None = None, most_bytes: int = 128 << 20
    ) -> None:
        self._spool, self._patience, self._most_bytes = spool, patience or TracePatience(), most_bytes
        self._options = make_options(store=place)
        self._store = RunStore(place, stays_open=True)
        self._lock = threading.Lock()
        self._traces: dict[str, _Trace] = {}
        self._breaker = Breaker()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to store, first what an earlier server left."""
        self._thread = start_daemon(self._run, "tracer-hooks-received")

    def stop(self) -> None:
        """Begin nothing new; what is not stored stays in the spool."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(2.0)
        self._spool.close()
        self._store.close()

    @property
    def open(self) -> int:
        """How many traces are not stored."""
        with self._lock:
            return sum(not trace.is_stored for trace in self._traces.values())

    def add(self, spans: Collection[SpanRecord], request: KeptRequest) -> int:
        """Take the spans of a request; gives how many are left out, since their trace has too many."""
        left_out = 0
        with self._lock:
            request.waiting = {span.trace_id for span in spans}
            for span in spans:
                trace = self._traces.setdefault(span.trace_id, _Trace())
                trace.requests.add(request)
                if span.span_id in trace.spans:  # sent again, since an answer was lost
                    continue
                if len(trace.spans) >= MOST_SPANS:
                    left_out += 1
                else:
                    trace.add(span)
        return left_out

    # --- in the thread ---------------------------------------------------------------------------------------------
    def _run(self) -> None:
        with guard("take up what an earlier server left"):
            for request in self._spool.left():
                spans: Collection[SpanRecord] = ()
                with contextlib.suppress(TrajectoryError):  # it was not written to its end, and not acknowledged
                    spans = decode_request(request.path.read_bytes(), is_json=request.is_json).spans
                self.add(spans, request)
                if not spans:
                    self._spool.remove(request)
        while not self._stopping.wait(0.1):
            with guard("store received runs"), suppressed():
                self.work()

    def work(self) -> None:
        """Store what is over, diagnose one run, and forget what is done."""
        if self._breaker.left_s > 0:
            return
        try:
            self._store_due()
            with self._lock:
                traces = list(self._traces.values())
            for trace in traces:
                while trace.undiagnosed and not self._due():
                    self._diagnose(trace.undiagnosed[0])
                    del trace.undiagnosed[0]
            self._breaker.succeed()
        except StoreError as error:
            if not self._breaker.is_open:
                logger.warning("tracer-hooks keeps received runs in its spool until they can be stored: %s", error)
            self._breaker.fail()
        self._forget_done()

    def _due(self) -> list[tuple[str, _Trace]]:
        settle, quiet = self._patience.settle, self._patience.quiet
        with self._lock:
            waiting = [(key, trace) for key, trace in self._traces.items() if not trace.is_stored]
            return [(key, trace) for key, trace in waiting if trace.is_older(complete=settle, incomplete=quiet)]

    def _store_due(self) -> None:
        for key, trace in self._due():
            with self._lock:
                spans = list(trace.spans.values())
            for record in runs_of(spans, f"trace {key}"):
                if record.trajectory is None:
                    logger.warning("tracer-hooks cannot read a received run: %s", record.error)
                    continue
                with self._setting_apart(f"the run of trace {key}"):
                    run_id, is_open = self._keep(record.trajectory)
                    if is_open:
                        trace.undiagnosed.append(run_id)
            with self._lock:
                trace.is_stored = len(spans) == len(trace.spans)
            retain(self._store.place, self._options.config.retention)

    def _keep(self, found: Trajectory) -> tuple[str, bool]:
        """Store a run, once; gives its id, and whether it is to be diagnosed.

        A run that is there already is replaced by one that has all of its steps and more; what has none of them is
        another part of the same trace, and stored beside it. A run that was not received is left as it is.
        """
        trajectory = redacted_trajectory(found, self._options.emitter.capture.record_policy)
        has_failed = trajectory.outcome is RunOutcome.FAILED
        if self._store.add(_received(trajectory)):
            return trajectory.run_id, has_failed
        there = self._store.get(trajectory.run_id, with_tape=False)
        if there.kind is not RunKind.IMPORTED:
            return there.run_id, False
        new, old = _acts(trajectory), _acts(there.trajectory)
        if new <= old:
            return there.run_id, there.outcome is RunOutcome.FAILED and there.attribution is None
        if old <= new:
            self._store.save(_received(trajectory))
            self._store.set_attribution(trajectory.run_id, None)
            return trajectory.run_id, has_failed
        digest = hashlib.sha256("\n".join(sorted(new)).encode()).hexdigest()[:8]
        beside = trajectory.model_copy(update={"run_id": f"{trajectory.run_id}-{digest}"})
        return beside.run_id, self._store.add(_received(beside)) and has_failed

    def _diagnose(self, run_id: str) -> None:
        with self._setting_apart(f"the diagnosis of run {run_id}"):
            run = self._store.get(run_id, with_tape=False)
            attributor = self._options.diagnostician_for(run.trajectory)
            found = checked_diagnosis(attributor, run.trajectory)
            if found is not None:
                kept = redacted_attribution(found, self._options.emitter.capture.record_policy)
                self._store.set_attribution(run_id, kept)

    @contextlib.contextmanager
    def _setting_apart(self, what: str) -> Iterator[None]:
        """Leave out what cannot be stored or diagnosed, for instance since its run was deleted meanwhile.

        It must not keep the others from being stored. Where the store itself is at fault, the error is raised: then
        all is tried again.
        """
        try:
            yield
        except Exception as error:
            if isinstance(error, StoreError):
                if error.is_of_place:
                    raise
                self._store.list(limit=1)  # raises where it cannot be read at all
            logger.warning("tracer-hooks leaves out %s: %s: %s", what, type(error).__name__, error)

    def _forget_done(self) -> None:
        """Forget traces that are stored and diagnosed, and for which nobody waits any longer."""
        late, idle = self._patience.late, self._patience.idle
        is_much = self._spool.size > self._most_bytes / 2
        over: set[KeptRequest] = set()
        with self._lock:
            for key, trace in list(self._traces.items()):
                if not trace.is_stored or trace.undiagnosed:
                    continue
                if is_much or trace.is_older(complete=late, incomplete=idle):
                    del self._traces[key]
                    for request in trace.requests:
                        request.waiting.discard(key)
                    over |= {request for request in trace.requests if not request.waiting}
        if over:
            _sync_store(self._store.place)
        for request in over:
            self._spool.remove(request)


def _received(trajectory: Trajectory) -> StoredRun:
    return StoredRun.of(trajectory, session_id=trajectory.run_id, kind=RunKind.IMPORTED)


def _acts(trajectory: Trajectory) -> set[str]:
    """What tells the steps of a run apart: their spans."""
    return {step.span_id or to_json(step) for step in trajectory.steps}


def _sync_store(store: StorePlace) -> None:
    """Have what was committed on the disk before its requests are removed: SQLite leaves that to the system."""
    for place in (store, store.with_name(store.name + "-wal")) if isinstance(store, Path) else ():
        with contextlib.suppress(OSError):
            sync(place)
