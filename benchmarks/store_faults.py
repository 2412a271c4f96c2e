"""How long a user's run waits for a store or an exporter that fails or hangs, and how long the end of the process does.

    python benchmarks/store_faults.py [--runs 300] [--json FILE]

A team in plain Python is called again and again, in a process of its own for each fault. The figure is the wall time of
a call, beside that of the same calls with no store and no exporter, so a busy machine adds the same to both.

- locked: another process holds the write lock all the time; locked at first: for the first two seconds.
- full: no file may grow (``RLIMIT_FSIZE``). read-only: SQLite opens the file so. missing: the folder cannot be made.
- exporter: ``export`` never returns. file exporter: the file is a pipe that nobody reads.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FAULTS = (
    "no store",
    "healthy",
    "locked",
    "locked at first",
    "full",
    "read-only",
    "missing",
    "hanging exporter, batched",
    "hanging file exporter, batched",
    "hanging file exporter, simple",
)
_PAUSE_S = 0.02
"""Between two calls: a user's team does something else as well."""


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        _child(asked.child, asked.folder, asked.runs)
        return
    found = {fault: _measured(fault, asked.runs) for fault in FAULTS}
    base = found["no store"]
    print("| fault | a call, p50 | p99 | longest | delay, p99 | end of the process | runs stored |")
    print("|---|---|---|---|---|---|---|")
    for fault, row in found.items():
        row["delay_p99_ms"] = max(row["p99_ms"] - base["p99_ms"], 0.0)
        times = " | ".join(f"{row[name]:.1f} ms" for name in ("p50_ms", "p99_ms", "longest_ms", "delay_p99_ms"))
        print(f"| {fault} | {times} | {row['exit_s']:.1f} s | {row['stored']} of {asked.runs} |")
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


def _measured(fault: str, runs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _fill(folder / "runs.sqlite")
        command = [sys.executable, __file__, "--child", fault, "--folder", name, "--runs", str(runs)]
        environment = {**os.environ, "TRACER_HOOKS_EXIT_SECONDS": "10"}
        with _held(fault, folder / "runs.sqlite"):
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
            )
            output, errors = process.communicate(timeout=600)
            ended = time.time()
        if process.returncode != 0:
            raise RuntimeError(errors[-2000:])
        row: dict[str, Any] = json.loads(output)
        row["exit_s"] = ended - row.pop("ended_at")
        row["said"] = [line for line in errors.splitlines() if "tracer-hooks" in line]
        row["stored"] = _count(folder / "runs.sqlite") - 1
        return row


@contextmanager
def _held(fault: str, path: Path) -> Iterator[None]:
    """Hold the write lock where the fault wants it."""
    if not fault.startswith("locked"):
        yield
        return
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(4.0 if fault == "locked at first" else 1e6, holder.close)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        holder.close()


def _count(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        return int(connection.execute("SELECT count(*) FROM runs").fetchone()[0])


def _fill(path: Path) -> None:
    """A store with one run."""
    import tracer_hooks

    tracer_hooks.hook(_team(), store=path)("first")
    assert tracer_hooks.flush()


def _team() -> Callable[[str], str]:
    import tracer_hooks

    @tracer_hooks.agent
    def clerk(task: str) -> str:
        return "17 + 25 = 42 " * 100

    def office(task: str) -> str:
        return clerk(task)

    return office


def _child(fault: str, folder: Path, runs: int) -> None:
    logging.basicConfig(format="%(message)s")
    import tracer_hooks

    store: Path | str = folder / "runs.sqlite"
    if fault == "missing":
        (folder / "file").write_text("in the way")
        store = folder / "file" / "runs.sqlite"
    elif fault == "no store" or "exporter" in fault:
        store = "off"
    team = _team()
    # What is slow once in a process, imports above all, is no matter of the fault.
    tracer_hooks.hook(team, store=folder / "warm.sqlite")("warm")
    tracer_hooks.flush()
    _break(fault)
    hooked = tracer_hooks.hook(team, store=store, tracer_provider=_provider(fault, folder), capture="full")
    times = []
    for number in range(runs):
        began = time.perf_counter()
        hooked(f"task {number}")
        times.append((time.perf_counter() - began) * 1000)
        time.sleep(_PAUSE_S)
    times.sort()
    row = {"p50_ms": times[runs // 2], "p99_ms": times[min(int(runs * 0.99), runs - 1)], "longest_ms": times[-1]}
    print(json.dumps({**row, "ended_at": time.time()}), flush=True)


def _break(fault: str) -> None:
    if fault == "full":
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    elif fault == "read-only":
        connect: Any = sqlite3.connect

        def connect_read_only(name: str, **options: Any) -> Any:
            return connect(name.replace("mode=rwc", "mode=ro"), **options)

        sqlite3.connect = connect_read_only  # type: ignore[assignment]  # permissions do not stop root


def _provider(fault: str, folder: Path) -> Any:
    if "exporter" not in fault:
        return None
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult

    from tracer_hooks.telemetry import OTLPFileExporter

    class Hanging(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            threading.Event().wait()
            return SpanExportResult.SUCCESS

    exporter: SpanExporter = Hanging()
    if "file" in fault:
        pipe = folder / "spans.jsonl"
        os.mkfifo(pipe)
        exporter = OTLPFileExporter(pipe)
    # Its own end is OpenTelemetry's business, not ours: it waits for its exporter.
    provider = TracerProvider(shutdown_on_exit=False)
    kind: Any = BatchSpanProcessor if "batched" in fault else SimpleSpanProcessor
    provider.add_span_processor(kind(exporter))
    return provider


if __name__ == "__main__":
    main()
