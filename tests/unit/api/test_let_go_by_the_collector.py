"""Streams that nobody ends: the garbage collector does, at any time and in any thread, or the end of the process."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import tracer_hooks
from tracer_hooks import semconv
from tracer_hooks.runtime import _store_writer
from tracer_hooks.schema import RunOutcome
from tracer_hooks.store import RunStore
from tracer_hooks_testing._base import Balance

pytestmark = pytest.mark.timeout(60)

_WAIT_S = 30.0
"""How long a call waits for the store here, where it waits in vain."""
_LOOKED_AT = ("tracer_hooks", "logging", "weakref", "_weakrefset", "threading")
"""Ours, and what our locks are held around."""


class CollectedAt:
    """Collects garbage at the n-th call that is looked at, in whichever thread that is."""

    def __init__(self, place: int) -> None:
        self._place = place
        self.seen = 0

    def __enter__(self) -> CollectedAt:
        threading.setprofile(self._look)
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not str(frame.f_globals.get("__name__")).startswith(_LOOKED_AT):
            return
        self.seen += 1
        if self.seen == self._place:
            sys.setprofile(None)
            gc.collect()


@tracer_hooks.agent
def speaker(task: str) -> str:
    return f"{task} is 41."


def garbage(stream: Callable[[], Iterator[str]]) -> None:
    """A stream that was begun and is kept by nothing but itself."""
    begun = stream()
    assert next(begun)
    ring: list[Any] = [begun]
    ring.append(ring)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for himself does so long enough to be noticed on any machine."""
    for name in ("LOCK_S", "LONGEST_S"):
        monkeypatch.setattr(_store_writer, name, _WAIT_S)


@pytest.fixture
def collector_off() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize("places", [15, pytest.param(150, marks=[pytest.mark.slow, pytest.mark.timeout(300)])])
def test_a_stream_may_be_let_go_at_any_call(places: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    survey, provider = Balance(), TracerProvider()
    provider.add_span_processor(survey)

    def hooked(function: Any) -> Any:
        options: Any = {"store": tmp_path / "runs.sqlite", "tracer_provider": provider, "capture": "redacted"}
        return tracer_hooks.hook(function, check=lambda result: False, retries=1, on_attempt=_complains, **options)

    @hooked
    def stream() -> Iterator[str]:
        yield speaker("6 * 7")
        yield speaker("7 * 6")

    @hooked
    def solve() -> str:
        return speaker("6 * 7")

    with CollectedAt(0) as counted:
        solve()
    calls = counted.seen
    assert calls > places
    for place in range(1, calls, max(1, calls // places)):
        garbage(stream)
        began = time.monotonic()
        with CollectedAt(place):
            assert solve() == "6 * 7 is 41."
        assert time.monotonic() - began < _WAIT_S / 2
        assert len(tracer_hooks.last_run(solve).wait(20).attempts) == 2
    gc.collect()
    assert tracer_hooks.flush(20)
    assert dict(survey.open) == {}
    assert survey.started.count(semconv.OP_INVOKE_WORKFLOW) == 2 + 3 * len(range(1, calls, max(1, calls // places)))
    assert "could not" not in caplog.text
    assert "at present" not in caplog.text


def _complains(attempt: Any) -> None:
    raise ValueError(f"attempt {attempt.number} is not to my liking")  # a log line, also of a stream that is let go


def test_the_collector_may_come_by_within_our_use_of_the_store(tmp_path: Path) -> None:
    """The stream's run is handed to a thread that needs what this one holds: nobody waits for it here."""
    options: Any = {"store": tmp_path / "runs.sqlite"}

    @tracer_hooks.hook(check=lambda result: False, **options)
    def stream() -> Iterator[str]:
        yield "6 * 7 is 41."

    garbage(stream)
    began = time.monotonic()
    with RunStore(tmp_path / "runs.sqlite")._database.read("look"):
        gc.collect()
    assert time.monotonic() - began < _WAIT_S / 2
    assert tracer_hooks.flush(20)
    assert len(RunStore(tmp_path / "runs.sqlite").list()) == 1


def test_the_collector_may_come_by_within_our_use_of_the_queue(tmp_path: Path) -> None:
    """Waiting there would let go of the queue, and who has just looked whether to wait would not be told any more."""
    options: Any = {"store": tmp_path / "runs.sqlite"}

    @tracer_hooks.hook(check=lambda result: False, **options)
    def stream() -> Iterator[str]:
        yield "6 * 7 is 41."

    garbage(stream)
    writer = _store_writer.writer_for(tmp_path / "runs.sqlite")
    with writer._changed:
        gc.collect()
        assert len(writer._waiting) == 1, "the queue was let go of, so that its thread took the run"
    assert tracer_hooks.flush(20)
    assert len(RunStore(tmp_path / "runs.sqlite").list()) == 1


_LEFT_OPEN = """
import threading, tracer_hooks

@tracer_hooks.hook(check=lambda result: False)
def stream():
    yield "a"
    yield "b"

kept = []
def begin():
    kept.append(stream())
    next(kept[-1])

begin()
other = threading.Thread(target=begin)  # of a thread that is gone: nobody knows whether it goes on
other.start()
other.join()
"""


@pytest.mark.parametrize("strict", ["0", "1"])
def test_a_stream_that_is_left_open_ends_with_the_process_and_says_nothing(tmp_path: Path, strict: str) -> None:
    program, store = tmp_path / "program.py", tmp_path / "runs.sqlite"
    program.write_text(_LEFT_OPEN, encoding="utf-8")
    environment = {**os.environ, "TRACER_HOOKS_STORE": str(store), "TRACER_HOOKS_STRICT": strict}
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=50, check=True
    )
    assert done.stdout + done.stderr == ""
    assert [run.outcome for run in RunStore(store).list()] == [RunOutcome.UNKNOWN]


_NO_RUN_ENDS_IN = {
    "runtime/_call_context.py",  # asked first whether it is held
    "improvement/_plan.py",
    "improvement/_improvement.py",
    "improvement/_team_trials.py",
    "runtime/_rerunner.py",
    "journal.py",
    "replay/_correction.py",
    "serving/_labels.py",
    "serving/_pages.py",
    "serving/_spool.py",
    "serving/_traces.py",
}


def test_locks_that_the_end_of_a_run_takes_are_reentrant() -> None:
    """A plain lock that is held while the collector ends a stream is waited for by the thread that holds it."""
    source = Path(tracer_hooks.__file__).parent
    plain = {
        file.relative_to(source).as_posix()
        for file in source.rglob("*.py")
        if re.search(r"threading\.(Lock|Semaphore)\(", file.read_text(encoding="utf-8"))
    }
    helpers = {name for name in plain if name.startswith("testing/")}
    assert plain - helpers == _NO_RUN_ENDS_IN
