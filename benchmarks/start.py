"""Processor time that commands and imports take before anything is done: what a newcomer waits for.

    python benchmarks/start.py [--rounds 9] [--beside OTHER/bin/python] [--json FILE]

Each is run in a process of its own, after one run that leaves the compiled modules behind; the store holds the two runs
of `tracer-hooks demo --framework python`. ``--beside`` measures another installation in turn with this one, so that
whatever else the machine does falls on both.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = "from tracer_hooks.cli import main; main()"
IMPORTS = ("import tracer_hooks", "import tracer_hooks; tracer_hooks.hook")


def processor_seconds(command: list[str], folder: Path) -> float:
    """User and system time of a process, which must do its work."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["TRACER_HOOKS_STORE"] = str(folder / "runs.sqlite")
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(pythons: list[str], rounds: int, folder: Path) -> list[dict[str, object]]:
    """Median and least of each command and import, for each installation."""
    processor_seconds([pythons[0], "-c", COMMAND, "demo", "--framework", "python"], folder)
    calls = [
        ["-c", COMMAND, *line.split()] for line in ("--help", "runs list", f"runs show {newest(pythons[0], folder)}")
    ]
    rows: list[dict[str, object]] = []
    for call in [*calls, *(["-c", line] for line in IMPORTS)]:
        times: dict[str, list[float]] = {python: [] for python in pythons}
        for python in pythons:
            processor_seconds([python, *call], folder)
        for _ in range(rounds):
            for python in pythons:
                times[python].append(processor_seconds([python, *call], folder))
        name = " ".join(("tracer-hooks", *call[2:4])) if call[1] == COMMAND else call[1]
        rows += [
            {"what": name, "python": python, "median": statistics.median(spent), "least": min(spent)}
            for python, spent in times.items()
        ]
    return rows


def newest(python: str, folder: Path) -> str:
    """The id of the newest run."""
    store = {**os.environ, "TRACER_HOOKS_STORE": str(folder / "runs.sqlite")}
    command = [python, "-c", COMMAND, "runs", "list", "--json"]
    done = subprocess.run(command, cwd=folder, env=store, check=True, capture_output=True, text=True)
    return str(json.loads(done.stdout)["runs"][0]["run_id"])


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--beside", action="append", default=[], help="the Python of another installation")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    # As they are written: the Python of a virtual environment is a link, and another one behind it.
    pythons = [sys.executable, *(os.path.abspath(python) for python in options.beside)]
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(pythons, options.rounds, Path(folder))
    print("| what | installation | median s | least s |\n|---|---|--:|--:|")
    for row in rows:
        print("| {what} | {python} | {median:.2f} | {least:.2f} |".format(**row))
    if options.json:
        options.json.write_text(json.dumps({"rounds": options.rounds, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
