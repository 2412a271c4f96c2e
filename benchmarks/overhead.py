"""What tracing costs: CPU time and memory of one team, bare and traced, beside OpenInference and OpenLLMetry.

    python benchmarks/overhead.py [--framework X] [--mode M] [--split] [--pairs N] [--memory-runs N] [--json FILE]

Every way of tracing is measured in processes of its own, in each of which bare and traced runs take turns. The models
are scripted and answer at once, so that the overhead is as large a share of a run as it can be; with a real model it
is far below one per cent. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _overhead_modes import FRAMEWORKS, MODES
from _overhead_report import as_markdown, machine, print_memory, print_overhead, summarise
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


RESULTS = Path(__file__).with_name("results") / "overhead.json"
PAIRS = {"autogen": 300, "langgraph": 300, "crewai": 150}
PROCESSES = 3
MEMORY_RUNS = 2000
WARM_UP = 10
_MEMORY_MODES = (
    ("bare", False, "bare"),
    ("ours", False, "tracer-hooks, one hooked team"),
    ("ours", True, "tracer-hooks, a new hooked team each run"),
    ("bare", True, "bare, a new team each run"),
)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the tables to stdout and write the JSON file; give the exit code."""
    options = _parse(arguments)
    if options.markdown:
        print(as_markdown(*(json.loads(path.read_text()) for path in options.markdown)), end="")
        return 0
    facts, rows, memory = machine(), [], []
    try:
        for framework in options.framework if options.pairs != 0 else ():
            rows += _overhead(framework, options)
        for framework in options.framework if options.memory_runs else ():
            memory += _memory(framework, options)
    except JobFailedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    console = Console(width=None if sys.stdout.isatty() else 150)
    if rows:
        print_overhead(rows, console)
    if memory:
        print_memory(memory, console)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    command = "python benchmarks/overhead.py " + " ".join(sys.argv[1:] if arguments is None else arguments)
    document = {"schema": 1, "command": command.strip(), "machine": facts, "overhead": rows, "memory": memory}
    options.json.write_text(json.dumps(document, indent=1) + "\n")
    print(f"written to {options.json}", file=sys.stderr)
    return 0


def _overhead(framework: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows, jobs = {}, []
    for name in options.mode:
        mode = MODES[name]
        missing = mode.missing(framework)
        if missing and (name.startswith("openinference-") or missing == "no such instrumentor"):
            continue
        rows[name] = {"framework": framework, "mode": name, "label": mode.label}
        if missing:
            rows[name]["missing"] = missing
            continue
        if framework in mode.targets:
            rows[name]["target_percent"] = mode.targets[framework]
    # Each round goes through all modes, so that what drifts on the machine meets all of them.
    for part in range(options.processes):
        pairs = _share(PAIRS[framework] if options.pairs is None else options.pairs, part, options.processes)
        jobs += [
            {"kind": "pairs", "framework": framework, "mode": name, "pairs": pairs, "warm_up": options.warm_up}
            for name, row in rows.items()
            if "missing" not in row and pairs
        ]
    results = run_jobs(jobs)
    for name, row in rows.items():
        if "missing" not in row:
            row.update(_row([result for job, result in zip(jobs, results, strict=True) if job["mode"] == name]))
    return list(rows.values())


def _row(results: list[dict[str, Any]]) -> dict[str, Any]:
    counted = results[0]["census"]
    bare, traced, switch_on = (
        [value for result in results for value in result[key]] for key in ("bare_ms", "traced_ms", "switch_on_ms")
    )
    return {
        **summarise(bare, traced, counted["spans"]),
        **counted,
        "switch_on_ms": round(sorted(switch_on)[len(switch_on) // 2], 3),
        "processes": len(results),
        "left_changed": results[0]["left"],
        "pairs_ms": [[round(before, 3), round(after, 3)] for before, after in zip(bare, traced, strict=True)],
    }


def _memory(framework: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    if MODES["ours"].missing(framework):
        return []
    jobs = [
        {"kind": "memory", "framework": framework, "mode": mode, "new_team": new_team, "runs": options.memory_runs}
        for mode, new_team, _ in _MEMORY_MODES
    ]
    labels = [label for _, _, label in _MEMORY_MODES]
    return [
        {"framework": framework, "mode": job["mode"], "label": label, **result}
        for job, label, result in zip(jobs, labels, run_jobs(jobs), strict=True)
    ]


def _share(total: int, part: int, parts: int) -> int:
    return total // parts + (part < total % parts)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--framework", action="append", choices=sorted(FRAMEWORKS), help="default: all; may be repeated"
    )
    parser.add_argument("--mode", action="append", choices=list(MODES), help="default: all; may be repeated")
    parser.add_argument("--split", action="store_true", help="measure what the cost is made of as well")
    parser.add_argument("--pairs", type=int, help=f"bare and traced runs of each mode, default {PAIRS}; 0: none")
    parser.add_argument("--processes", type=int, help=f"that share the pairs of a mode, default {PROCESSES}")
    parser.add_argument("--memory-runs", type=int, help=f"0: do not measure memory; default {MEMORY_RUNS}")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE", help="where the results go")
    parser.add_argument("--quick", action="store_true", help="a few pairs and no memory: does it work at all?")
    parser.add_argument(
        "--markdown", type=Path, nargs="+", metavar="FILE", help="measure nothing: print these results as Markdown"
    )
    options = parser.parse_args(arguments)
    options.framework = options.framework or list(FRAMEWORKS)
    options.mode = options.mode or [name for name, mode in MODES.items() if options.split or not mode.is_split]
    options.warm_up = 1 if options.quick else WARM_UP
    if options.quick and options.pairs is None:
        options.pairs = 5
    if options.memory_runs is None:
        options.memory_runs = 0 if options.quick else MEMORY_RUNS
    options.processes = options.processes or (1 if options.quick else PROCESSES)
    return options


if __name__ == "__main__":
    sys.exit(main())
