"""Runs measurements, each in a process of its own, one after the other, and shows how far they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

_WORKER = Path(__file__).with_name("_overhead_worker.py")
_SILENCED = {
    "AUTOGEN_DISABLE_RUNTIME_TRACING": "true",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LANGSMITH_TRACING": "false",
    "OMP_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore",
}
"""What the frameworks do of their own accord beside running the team is no part of the comparison."""


class JobFailedError(Exception):
    """A measurement did not end well; the message holds the end of what its process printed."""


def run_jobs(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run ``jobs`` in turn; progress goes to stderr.

    Raises:
        JobFailedError: One failed.
    """
    results = []
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        overall = progress.add_task("measurements", total=len(jobs))
        for job in jobs:
            total = job["runs"] if job["kind"] == "memory" else job["pairs"]
            task = progress.add_task(f"{job['framework']} {job['mode']} {job['kind']}", total=total)
            results.append(_run(job, lambda done, task=task: progress.update(task, completed=done)))
            progress.remove_task(task)
            progress.advance(overall)
    return results


def _run(job: dict[str, Any], on_progress: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        asked, answer, errors = (Path(folder) / name for name in ("job.json", "result.json", "stderr.txt"))
        asked.write_text(json.dumps(job))
        with errors.open("w") as stderr:
            process = subprocess.Popen(
                [sys.executable, str(_WORKER), str(asked), str(answer)],
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=_environment(folder),
                cwd=folder,
            )
            for line in process.stdout or ():
                if line.startswith("@@ "):
                    on_progress(max(0, int(line[3:])))
            code = process.wait()
        if code or not answer.exists():
            last = "\n".join(errors.read_text().splitlines()[-15:])
            raise JobFailedError(f"{job['framework']} {job['mode']} ({job['kind']}) ended with code {code}:\n{last}")
        return json.loads(answer.read_text())


def _environment(folder: str) -> dict[str, str]:
    inherited = {
        key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "TRACER_HOOKS_", "TRACELOOP_"))
    }
    return {**inherited, **_SILENCED, "CREWAI_STORAGE_DIR": folder, "XDG_DATA_HOME": folder}
