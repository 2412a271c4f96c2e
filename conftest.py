"""What every test gets: frameworks that keep quiet, strict mode, and a check that no context is left behind."""

from __future__ import annotations

import functools
import gc
import itertools
import logging
import os
import re
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from opentelemetry import trace

# Read when a framework is imported or a team is built, so set before any test module imports one.
QUIET = {
    "OMP_NUM_THREADS": "1",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "AUTOGEN_DISABLE_RUNTIME_TRACING": "true",
    "LANGSMITH_TRACING": "false",
    "ANONYMIZED_TELEMETRY": "false",
}
os.environ.update(QUIET)
_MEMORY = Path("/dev/shm")
_MEMORY_BYTES = 4 << 30


def _in_memory() -> str | None:
    """A folder in memory with room for what tests write and may run; None where the system has none."""
    try:
        found = os.statvfs(_MEMORY)
    except (AttributeError, OSError):
        return None
    fits = found.f_bavail * found.f_frsize >= _MEMORY_BYTES and not found.f_flag & os.ST_NOEXEC
    return str(_MEMORY) if fits and os.access(_MEMORY, os.W_OK) else None


# Stores wait for the disk at every commit, up to 30 ms each time; no test asks whether the disk keeps its word.
if (_memory := _in_memory()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _memory)
# CrewAI writes the result of every task to a database of its own there.
_CREWAI = tempfile.mkdtemp(prefix="crewai-tests-", dir=_memory)
os.environ["CREWAI_STORAGE_DIR"] = _CREWAI
if "OPENAI_BASE_URL" not in os.environ:
    # Every client of a model reads all certificates of the system, 40 ms each time; over loopback none is needed. A
    # folder that holds no certificate is read in no time.
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = os.path.dirname(__file__)

# A full collection of garbage looks at all that lives, and frameworks are a second's look: so seldom, and see below.
gc.set_threshold(20_000)

# How long an example takes says how busy the machine is.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")

from tracer_hooks.telemetry._capture import release_logs  # noqa: E402

_OURS = (
    "TRACER_HOOKS_CAPTURE",
    "TRACER_HOOKS_RECORD",
    "TRACER_HOOKS_MAX_BYTES",
    "TRACER_HOOKS_OPENINFERENCE",
    "TRACER_HOOKS_SUPPRESS",
    "TRACER_HOOKS_STORE",
    "TRACER_HOOKS_MAX_FILE_MB",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
)


_WORKER_BYTES = 2 << 30
"""What a worker of pytest-xdist needs at most: three frameworks, PyTorch, and what the tests leave."""


@pytest.hookimpl(optionalhook=True)  # the sets of lowest versions have no pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """As many workers as there are cores, and as fit into the memory."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return min(cores, 4)
    return max(1, min(cores, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _WORKER_BYTES, 8))


def pytest_collection_finish() -> None:
    """What the test modules imported stays until the end: no collection of garbage looks at it again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Not at the exit of the process, which workers do not come to."""
    shutil.rmtree(_CREWAI, ignore_errors=True)


@pytest.fixture(autouse=True)
def strict_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own bugs are raised, and no setting of the developer's shell changes a test."""
    for variable in _OURS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "1")


@pytest.fixture(autouse=True)
def open_logs() -> Iterator[None]:
    """A team of another test that keeps no content does not blank what this one logs."""
    release_logs()
    yield
    release_logs()


@pytest.fixture(autouse=True)
def plain_log_lines() -> Iterator[None]:
    """The command line gives every handler a formatter of ours; pytest's handlers live longer than a test."""
    before = [(handler, handler.formatter) for handler in logging.getLogger().handlers]
    yield
    for handler, formatter in before:
        handler.setFormatter(formatter)


@pytest.fixture(autouse=True)
def everything_is_unhooked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test hooked and left so is taken off again: the frameworks' classes are the next test's, too.

    A team that stays alive, as by an exception that holds its frames, otherwise keeps them patched. What was hooked
    when the test began is left alone.
    """
    from tracer_hooks.frameworks import PatchSet
    from tracer_hooks.runtime._team_host import TeamHost

    made: dict[type, weakref.WeakSet[Any]] = {TeamHost: weakref.WeakSet(), PatchSet: weakref.WeakSet()}

    def noted(kind: type) -> Callable[..., None]:
        begin: Any = vars(kind)["__init__"]

        @functools.wraps(begin)
        def init(self: Any, *args: Any, **options: Any) -> None:
            begin(self, *args, **options)
            made[kind].add(self)

        return init

    for kind in made:
        monkeypatch.setattr(kind, "__init__", noted(kind))
    yield
    for host in list(made[TeamHost]):
        host.unhook()
    for patches in list(made[PatchSet]):
        patches.undo()


CpuSeconds = Callable[..., float]


_KNOWN_WORK_S = 0.025
"""What :func:`_known_work` takes on a core that the limits of the tests were set on."""
_WORDS = " ".join(f"word{number} {number}.{number % 7} = 'x{number}'" for number in range(20_000))
_NUMBER = re.compile(r"[A-Za-z]+\d*\s*=?\s*(\d+(?:\.\d+)?)")


def _known_work() -> object:
    """What the library mostly does: patterns, words, tables."""
    return _NUMBER.findall(_WORDS), {word: len(word) for word in _WORDS.split()}


def _timed(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


@pytest.fixture
def cpu_seconds() -> CpuSeconds:
    """The CPU time of a call, the least of three, without any collection of garbage.

    One of a process that has loaded three frameworks takes longer than most of what is timed here. The call gets a
    number that is new each time, so that it can make a text that no cache has seen. On a core that is slow at the
    moment, since others use it or its sibling, seconds count by how much slower known work is. A call that was found to
    take less than ``below``, when that is all that is asked, is not timed again.
    """
    fresh = itertools.count()

    def seconds(call: Callable[[int], object], below: float = 0.0) -> float:
        taken: list[float] = []
        gc.disable()
        try:
            for _ in range(3):
                slow = max(1.0, _timed(_known_work) / _KNOWN_WORK_S)
                taken.append(_timed(lambda: call(next(fresh))) / slow)
                if taken[-1] < below:
                    break
        finally:
            gc.enable()
        return min(taken)

    return seconds


class _Keep(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture(autouse=True)
def no_context_left_behind() -> Iterator[None]:
    """Fails a test that logs "Failed to detach context", or after which a span is still the current one."""
    kept = _Keep()
    logger = logging.getLogger("opentelemetry.context")
    logger.addHandler(kept)
    try:
        yield
    finally:
        logger.removeHandler(kept)
    assert not [message for message in kept.messages if "Failed to detach context" in message]
    assert trace.get_current_span() is trace.INVALID_SPAN


@pytest.fixture(autouse=True)
def nothing_left_from_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """No class is watched for a team of an earlier test that is still alive, and every warning is given once more."""
    import sys

    from tracer_hooks import _guard

    _guard._warned.clear()
    host = sys.modules.get("tracer_hooks.runtime._team_host")
    if host is not None:
        host.FRAMEWORK_WATCHER.pause()
        monkeypatch.setattr(host, "FRAMEWORK_WATCHER", type(host.FRAMEWORK_WATCHER)())


@pytest.fixture(autouse=True)
def stores_of_their_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test leaves to be stored is no matter of the next one; a call waits for its store, however busy we are."""
    import sys

    background = sys.modules.get("tracer_hooks._background")
    writing = sys.modules.get("tracer_hooks.runtime._store_writer")
    if writing is not None:
        monkeypatch.setattr(writing, "LOCK_S", 60.0)
        monkeypatch.setattr(writing, "LONGEST_S", 60.0)
        monkeypatch.setattr(writing, "SERVER_S", 60.0)
    known = list(background._queues) if background is not None else []
    yield
    background = sys.modules.get("tracer_hooks._background")
    writing = sys.modules.get("tracer_hooks.runtime._store_writer")
    if background is not None and writing is not None:
        writing.writer_for.cache_clear()
        for queue in [queue for queue in background._queues if isinstance(queue, writing.StoreWriter)]:
            # Else a store that failed is tried again, and spoken of, in a later test, or waited for in the background.
            queue.give_up()
            if queue not in known:
                background._queues.remove(queue)
