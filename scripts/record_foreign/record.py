"""Records the traces that other instrumentations write of the golden scenario: ``record.py NAME... [--out FOLDER]``.

Each recording is the team researcher (lookup) -> writer -> reviewer on a scripted model, played twice: as in
``tests/golden/pipeline.json``, and with the writer's number wrong. ``--handoff`` plays the team in which triage
hands over to billing, or lead asks expert. See README.md for what must be installed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from other_frameworks import HANDOFFS, OTHERS, TRANSFERS, final_answers
from our_frameworks import OURS
from scrubbing import write_scrubbed

from tracer_hooks.testing import Rule, ScriptedLLM, When
from tracer_hooks_testing import SCRIPTS, Scenario, lookup

PLAYERS = {**OURS, **OTHERS}
FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures" / "otlp"
ANSWER_BY_TOOL = {"openinference_smolagents"}


def main() -> int:
    """Record what is named; one process plays one instrumentation, since most of them patch for good."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=sorted(PLAYERS))
    parser.add_argument("--wrong", action="store_true", help="with the writer's number wrong")
    parser.add_argument("--failing-tool", action="store_true", help="with a tool that raises")
    parser.add_argument("--handoff", action="store_true", help="the team that hands over or delegates")
    parser.add_argument("--out", type=Path, default=FIXTURES)
    options = parser.parse_args()
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "pipeline"}))
    provider.add_span_processor(SimpleSpanProcessor(memory))
    trace.set_tracer_provider(provider)
    rules = TRANSFERS[options.name] if options.handoff else script(options.name, wrong=options.wrong)
    with ScriptedLLM(rules=rules) as llm:
        play = (HANDOFFS if options.handoff else PLAYERS)[options.name]
        play(llm, provider, closed() if options.failing_tool else lookup)
        if llm.unmatched:
            print(f"the script has no answer to {llm.unmatched[0]}", file=sys.stderr)
            return 1
    spans = memory.get_finished_spans()
    if not spans:
        print(f"{options.name}: no spans were recorded", file=sys.stderr)
        return 1
    path = options.out / f"{options.name}_{kind_of(options)}.pb.xz"
    write_scrubbed(spans, path)
    print(f"{path.name}: {len(spans)} spans, {path.stat().st_size} bytes")
    return 0


def kind_of(options: argparse.Namespace) -> str:
    """Which of the recordings it is."""
    if options.failing_tool:
        return "failing_tool"
    if options.handoff:
        return "handoff"
    return "wrong" if options.wrong else "golden"


def closed() -> Callable[[str], str]:
    """The tool, failing."""

    def lookup(query: str) -> str:
        """Look a number up in the table.

        Args:
            query: What to look up.
        """
        raise ValueError("the table is closed")

    return lookup


def script(name: str, *, wrong: bool) -> tuple[Rule, ...]:
    """What the models answer."""
    number = 48 if wrong else 42
    texts = {
        "researcher": "The table says 42.",
        "writer": f"Six times seven makes {number}.",
        "reviewer": f"Approved: six times seven makes {number}.",
    }
    if name in ANSWER_BY_TOOL:
        return final_answers(texts)
    said = [When(agent=agent).then(texts[agent]) for agent in ("writer", "reviewer")]
    return (*said, *SCRIPTS[Scenario.PIPELINE])


if __name__ == "__main__":
    sys.exit(main())
