"""How many labelled trajectories a minute a build gives with a scripted model, and the yield of each kind of fault.

    python benchmarks/build_speed.py --framework python --framework langgraph --tasks 6

The model hands on the last answer that it is shown, so a wrong one travels to the end of the run; where it is shown
none it gives the right one, and it gives a wrong one when its instructions are longer than they were. The yields are
those of this model: they say which faults reach the answer, not what a real model would make of them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tracer_hooks._api.rerunning._subjects import SuiteTeam
from tracer_hooks.datasets import BuildOptions, DatasetBuilder, LabeledSet
from tracer_hooks.faults import FaultStrategy
from tracer_hooks.suites import Endpoint, SuiteTask, get_suite
from tracer_hooks.testing import ScriptedLLM, ScriptedRequest, When

ARCHITECTURES = ("planner_solver_checker", "sop_pipeline", "debate")
RESULTS = Path(__file__).with_name("results") / "build_speed.json"
PACKAGES = {"autogen": "tracer_hooks_autogen", "crewai": "tracer_hooks_crewai", "langgraph": "tracer_hooks_langgraph"}


def main() -> None:
    """Measure, print a table, and write JSON."""
    arguments = _arguments()
    tasks = get_suite("word_sums").tasks(arguments.tasks, seed=arguments.seed)
    found: dict[str, Any] = {}
    yields: dict[tuple[str, str], Counter[str]] = {}
    with ScriptedLLM(rules=[When().then(_hand_on(tasks))]) as llm:
        endpoint = Endpoint(base_url=llm.base_url, model="scripted", api_key="none")
        for framework in arguments.framework:
            measured, data = _measure(framework, endpoint, tasks, arguments)
            found[framework] = measured
            _count(data, yields)
    rows = [
        {"strategy": strategy, "mode": mode, "attempts": one.total(), "verified": one["verified"]}
        for (strategy, mode), one in sorted(yields.items())
    ]
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"speed": found, "yields": rows}, indent=2) + "\n", encoding="utf-8")
    _show(found, rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    installed = ["python", *(name for name, package in PACKAGES.items() if importlib.util.find_spec(package))]
    parser.add_argument("--framework", action="append", choices=installed, help="default: every installed one")
    parser.add_argument("--tasks", type=int, default=6)
    parser.add_argument("--faults", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", "--out", type=Path, default=RESULTS, metavar="FILE", help="where the results go")
    arguments = parser.parse_args()
    arguments.framework = arguments.framework or installed
    return arguments


def _hand_on(tasks: Sequence[SuiteTask]) -> Any:
    known: set[str] = set()

    def reply(request: ScriptedRequest) -> str:
        task = next(task for task in tasks if task.text in request.text)
        told = request.system
        is_misled = any(told != one and told.startswith(one) for one in known)
        if not is_misled:
            known.add(told)
        rest = request.text.replace(task.text, "").replace(told, "")
        answers = re.findall(r"ANSWER: (\S+)", rest)
        answer = answers[-1] if answers else task.reference
        if is_misled:
            return "I would rather look at how such numbers came about.\nANSWER: 0"
        return f"The numbers that are given lead to {answer}.\nANSWER: {answer}"

    return reply


def _measure(
    framework: str, endpoint: Endpoint, tasks: Sequence[SuiteTask], arguments: argparse.Namespace
) -> tuple[dict[str, float], LabeledSet]:
    teams = [SuiteTeam(framework=framework, architecture=name, endpoint=endpoint) for name in ARCHITECTURES]
    options = BuildOptions(
        strategies=(FaultStrategy.RESPONSE_CORRUPTION, FaultStrategy.PROMPT_INJECTION),
        faults_per_run=arguments.faults,
        workers=arguments.workers,
        seed=arguments.seed,
    )
    teams[0].runner(tasks[0]).run()  # what is imported or compiled once is no part of the speed
    with tempfile.TemporaryDirectory() as folder:
        builder = DatasetBuilder(Path(folder), teams, lambda subject: tasks, options)
        begun, used = time.perf_counter(), time.process_time()
        data = builder.build()
        seconds, processor = time.perf_counter() - begun, time.process_time() - used
    labeled = len(data.labeled)
    return {
        "labeled": labeled,
        "attempts": labeled + len(data.discarded),
        "runs": builder.spending.runs,
        "seconds": seconds,
        "processor_seconds": processor,
        "labeled_per_minute": 60 * labeled / seconds,
        "runs_per_labeled": builder.spending.runs / labeled if labeled else 0.0,
    }, data


def _count(data: LabeledSet, yields: dict[tuple[str, str], Counter[str]]) -> None:
    for item in data.labeled:
        mode = item.decisive.error_mode if item.decisive is not None else None
        key = str(item.verification["strategy"]), mode.value if mode is not None else "-"
        yields.setdefault(key, Counter())["verified"] += 1
    for one in data.discarded:
        if one["strategy"] is not None:
            yields.setdefault((one["strategy"], one["mode"] or "-"), Counter())["discarded"] += 1


def _show(found: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    speed = Table(title="Speed of a build", title_justify="left")
    for name in ("framework", "labelled", "attempts", "runs", "seconds", "labelled a minute"):
        speed.add_column(name, justify="left" if name == "framework" else "right")
    for framework, one in found.items():
        figures = (one["labeled"], one["attempts"], one["runs"])
        times = (f"{one['seconds']:.1f}", f"{one['labeled_per_minute']:.0f}")
        speed.add_row(framework, *map(str, figures), *times)
    yields = Table(title="Yield", title_justify="left")
    for name in ("strategy", "mode", "verified", "attempts", "share"):
        yields.add_column(name, justify="left" if name in ("strategy", "mode") else "right")
    for row in rows:
        share = f"{row['verified'] / row['attempts']:.0%}"
        yields.add_row(row["strategy"], row["mode"], str(row["verified"]), str(row["attempts"]), share)
    Console().print(speed, yields)


if __name__ == "__main__":
    main()
