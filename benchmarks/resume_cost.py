"""What resuming saves, and what it costs: tokens of the kept steps, and CPU time of ours for each of them.

    python benchmarks/resume_cost.py [--runs 12] [--frameworks plain,autogen,crewai,langgraph] [--json FILE]

A scripted team of eight agents in a row, each of which is shown what was said before, fails at its fifth, sixth,
seventh or eighth agent, and is resumed there. Tokens are those that the model reports for its live calls. CPU time is
that of the thread, spent in choosing the repair and in answering from the record, the diagnosis apart: what the
framework does with a reply it does with a live one as well.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from _planted_cures import Cure, PlantedAttributor, PlantedCase, PlantedScript
from _provenance_teams import build

import tracer_hooks
from tracer_hooks.replay import TapePlayer
from tracer_hooks.runtime._recovery import Recovery
from tracer_hooks.testing import ScriptedLLM

FRAMEWORKS = ("plain", "autogen", "crewai", "langgraph")
AGENTS = ("reader", "planner", "buyer", "solver", "checker", "writer", "editor", "sender")
FIRST = len(AGENTS) // 2
PARTS: tuple[tuple[type, str], ...] = (
    (Recovery, "_choose"),
    (Recovery, "interventions"),
    (Recovery, "settle"),
    (TapePlayer, "before_model"),
    (TapePlayer, "before_tool"),
)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--frameworks", default=",".join(FRAMEWORKS))
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    found: dict[str, dict[str, Any]] = {}
    print(
        "| framework | tokens saved by the agent that fails (5, 6, 7, 8 of 8) | saved in the mean | CPU a kept step |"
    )
    print("|---|---|---|---|")
    for framework in asked.frameworks.split(","):
        saved: dict[int, list[float]] = defaultdict(list)
        cpu: list[float] = []
        for number in range(asked.runs + 1):
            guilty = FIRST + number % (len(AGENTS) - FIRST)
            share, seconds = resumed(framework, guilty, number)
            if number:  # the first one loads what the others find loaded
                saved[guilty].append(share)
                cpu.append(seconds)
        by_agent = ", ".join(f"{statistics.mean(saved[guilty]):.0%}" for guilty in sorted(saved))
        mean = statistics.mean(share for shares in saved.values() for share in shares)
        print(f"| {framework} | {by_agent} | {mean:.0%} | {1e3 * statistics.median(cpu):.1f} ms |")
        sys.stdout.flush()
        found[framework] = {"saved": {str(k + 1): statistics.mean(v) for k, v in saved.items()}, "cpu_s": cpu}
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def resumed(framework: str, guilty: int, number: int) -> tuple[float, float]:
    """The share of the tokens that resuming saved, and seconds of CPU for each kept step."""
    case = PlantedCase(
        number=number,
        cure=Cure.RESAMPLING,
        agents=AGENTS,
        guilty=guilty,
        task="Work out the bill of the order, delivery included.",
        right="7310 EUR",
        blamed=guilty,
        confidence=0.9,
    )
    with ScriptedLLM(rules=PlantedScript(case).rules) as llm, spent() as seconds:
        built = build(framework, case.case, llm)
        hooked = tracer_hooks.hook(
            built.team,
            check=lambda result: case.right in result.text,
            retries=1,
            repair="resample",
            attributor=PlantedAttributor(case),
            diagnose="inline",
            store="off",
        )
        built.start(hooked, case.task)
        run = tracer_hooks.last_run(hooked)
        assert run is not None, "the team was hooked"
        log = run.wait(60).repair
    assert log is not None, "the first attempt fails"
    assert log.recovered, log
    kept = log.kept_usage.total
    return kept / (kept + log.usage.total), sum(seconds) / guilty


@contextmanager
def spent() -> Iterator[list[float]]:
    """Seconds of CPU of every call of :data:`PARTS` within the block."""
    seconds: list[float] = []
    with ExitStack() as stack:
        for owner, name in PARTS:
            original = getattr(owner, name)
            setattr(owner, name, _timed(original, seconds))
            stack.callback(setattr, owner, name, original)
        yield seconds


def _timed(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        begun = time.thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            seconds.append(time.thread_time() - begun)

    return timed


if __name__ == "__main__":
    main()
