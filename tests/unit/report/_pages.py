"""Runs to report on, and a parsed page to ask questions of."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

from tracer_hooks.report import ReportAttempt, ReportRun, render_html
from tracer_hooks.schema import (
    AgentSpec,
    Attribution,
    Candidate,
    ErrorMode,
    Finding,
    FindingKind,
    RunOutcome,
    Step,
    StepInput,
    StepKind,
    ToolCall,
    Trajectory,
    Usage,
)

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
_VOID = {"meta", "br", "img", "input", "link", "hr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    def all(self, tag: str = "", css: str = "") -> list[Element]:
        """Every element below with this tag and this class."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                if tag in ("", child.tag) and (not css or css in child.classes):
                    found.append(child)
                found += child.all(tag, css)
        return found

    def one(self, tag: str = "", css: str = "") -> Element:
        (found,) = self.all(tag, css)
        return found

    def by_id(self, name: str) -> Element:
        (found,) = [each for each in self.all() if each.attributes.get("id") == name]
        return found


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.stack = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.stack[-1].children.append(element)
        if tag not in _VOID:
            self.stack.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.stack[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack[-1].tag == tag, f"</{tag}> closes <{self.stack[-1].tag}>"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        self.stack[-1].children.append(data)


def parse(page: str) -> Element:
    """The page as a tree; fails when a tag is not closed where it should be."""
    tree = _Tree()
    tree.feed(page)
    tree.close()
    assert len(tree.stack) == 1, f"<{tree.stack[-1].tag}> is never closed"
    return tree.stack[0]


def page_of(*attempts: ReportAttempt, **fields: Any) -> Element:
    return parse(render_html(ReportRun(attempts=attempts, generated_at=NOON, **fields)))


def failed_run(**fields: Any) -> Trajectory:
    """Three agents: a plan that is handed over, a failing tool, and an answer that went wrong."""

    def moment(seconds: float) -> datetime:
        return NOON + timedelta(seconds=seconds)

    call = ToolCall(name="lookup", arguments={"city": "Köln", "when": "2026-03-04"}, result="rain, 7 degrees")
    broken = ToolCall(name="maps", arguments="not json", error="TimeoutError: 2 s", attempts=3)
    steps = (
        Step(
            index=0,
            agent="planner",
            kind=StepKind.HANDOFF,
            content="Find the weather.",
            recipient="scout",
            inputs=(StepInput(source="user", text="What shall I wear?"),),
        ),
        Step(
            index=1,
            agent="scout",
            kind=StepKind.TOOL_CALL,
            tool_calls=(call, broken),
            inputs=(StepInput(source="planner", step=0, text="Find the weather."),),
            model="tiny-1",
            usage=Usage(input_tokens=1200, output_tokens=34),
            started_at=moment(0),
            ended_at=moment(2.5),
        ),
        Step(index=2, agent="writer", content="It is sunny, wear a T-shirt.", started_at=moment(3), ended_at=moment(4)),
        Step(index=3, agent="writer", kind=StepKind.ERROR, error="RuntimeError: no reply", attempts=2),
    )
    values: dict[str, Any] = {
        "run_id": "run-1",
        "team": "wardrobe",
        "framework": "crewai",
        "task": "What shall I wear?",
        "agents": (AgentSpec(name="planner"), AgentSpec(name="critic")),
        "steps": steps,
        "outcome": RunOutcome.FAILED,
        "outcome_reason": "check: no umbrella",
        "final_output": "A T-shirt.",
        "reference": "An umbrella.",
    }
    return Trajectory(**{**values, **fields})


def found(**fields: Any) -> Finding:
    values: dict[str, Any] = {
        "kind": FindingKind.RECORD_CONTRADICTED,
        "step": 2,
        "agent": "writer",
        "text": "The tool said rain.",
        "quote": "It is sunny",
        "leads_to_answer": True,
    }
    return Finding(**{**values, **fields})


def diagnosis(**fields: Any) -> Attribution:
    values: dict[str, Any] = {
        "run_id": "run-1",
        "agent": "writer",
        "step": 2,
        "error_mode": ErrorMode.FM_2_5,
        "confidence": 0.92,
        "candidates": (Candidate(agent="writer", step=2, score=0.92), Candidate(agent="scout", step=1, score=0.04)),
        "findings": (found(), found(step=1, agent="scout", text="It was shown this.", quote="rain, 7 degrees")),
        "advice": "Have 'writer' copy values word for word.",
        "attributor": "structural 1.0",
        "elapsed_s": 0.004,
    }
    return Attribution(**{**values, **fields})
