"""What a replayed step costs in CPU time: one agent that calls a tool again and again, served from its tape.

    python benchmarks/replay_cost.py

The cost of a step is the slope between a run of 3 steps and one of 23, each the median of seven replays. The teams are
those of the contract tests, so run it from a checkout.
"""

from __future__ import annotations

import importlib.util
import logging
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from tracer_hooks.frameworks import get_adapter
from tracer_hooks.replay import TapePlayer, tape_of
from tracer_hooks.testing import Reply, ScriptedLLM, ToolCallReply, When, lookup, observed

TEAMS = Path(__file__).parents[1] / "tests" / "contract" / "teams"
FRAMEWORKS = ("plain", "autogen", "crewai", "langgraph")
SHORT, LONG = 2, 22
TIMES = 7


def main() -> None:
    """Print a line for each framework."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    for framework in FRAMEWORKS:
        teams = contract_teams(framework)
        short, long = cost(teams, SHORT), cost(teams, LONG)
        step = (long["replay"] - short["replay"]) / (LONG - SHORT)
        print(f"{framework:10} {1e3 * step:6.1f} ms a replayed step, {1e3 * long['build']:6.1f} ms to build the team")


def contract_teams(framework: str) -> Any:
    """The teams of one framework's contract tests, which are no package."""
    name = f"contract_teams_{framework}"
    spec = importlib.util.spec_from_file_location(name, TEAMS / f"{framework}_teams.py")
    assert spec is not None, "a file has a spec"
    assert spec.loader is not None, "a Python file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.Teams()


def cost(teams: Any, calls: int) -> dict[str, float]:
    """Seconds of CPU that a replay of ``calls`` tool calls takes, and that building its team takes."""
    asks = [Reply(tool_calls=[ToolCallReply("lookup", {"query": f"q{number}"})]) for number in range(calls)]
    with ScriptedLLM(rules=[When(agent="solo").then(*asks, "It is 42.")]) as llm:
        recorded = teams.single(llm, tools=[lookup])
        with observed(recorded, adapter=get_adapter(teams.adapter)) as observer:
            teams.run(recorded, "What is six times seven?")
        tape = tape_of(observer.runs[0])
        replays, builds = [], []
        for _ in range(TIMES):
            begun = time.process_time()
            team = teams.single(llm, tools=[lookup])
            builds.append(time.process_time() - begun)
            player = TapePlayer(tape)
            with observed(team, adapter=get_adapter(teams.adapter), intervention=player):
                begun = time.process_time()
                teams.run(team, "What is six times seven?")
                replays.append(time.process_time() - begun)
            player.finish()
    return {"replay": statistics.median(replays), "build": statistics.median(builds)}


if __name__ == "__main__":
    main()
