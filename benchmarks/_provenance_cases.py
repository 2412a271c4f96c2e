"""The cases of the provenance benchmark: a pipeline, what each agent says in the end, and who was the first to err."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

DATA = Path(__file__).parent / "data" / "provenance"

FAULTS = ("wrong_sum", "misread_tool", "dropped_item", "miscopied_answer", "swapped_operand", "date_off_by_one")

Act = Literal["says", "call"]


@dataclass(frozen=True)
class Call:
    """One tool call, with what the tool returns."""

    tool: str
    arguments: Mapping[str, Any]
    result: str


@dataclass(frozen=True)
class Part:
    """What one agent does."""

    agent: str
    prompt: str
    calls: tuple[Call, ...]
    says: str

    @property
    def instructions(self) -> str:
        """The system prompt; it begins with the name, by which the scripted model knows who asks."""
        return f"You are the {self.agent}. {self.prompt}"


@dataclass(frozen=True)
class Case:
    """One run, and its twin without the mistake."""

    id: str
    fault: str
    task: str
    parts: tuple[Part, ...]
    guilty: str
    act: Act
    clean_parts: tuple[Part, ...]
    digest: str
    """Of the case as written: a run that was recorded for another wording does not count."""

    @property
    def clean(self) -> Case:
        """The same run with nothing wrong in it."""
        return replace(self, parts=self.clean_parts)

    @property
    def guilty_part(self) -> Part:
        """What the guilty agent did."""
        return next(part for part in self.parts if part.agent == self.guilty)

    @property
    def wrong_calls(self) -> tuple[Call, ...]:
        """The guilty agent's calls that it does not make in the clean run."""
        clean = next(part for part in self.clean_parts if part.agent == self.guilty)
        return tuple(call for call in self.guilty_part.calls if call not in clean.calls)


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a file, one a line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield _case(line)


def _case(line: str) -> Case:
    data = json.loads(line)
    prompts = {entry["name"]: entry["prompt"] for entry in data["agents"]}
    parts = [_part(step["agent"], prompts[step["agent"]], step) for step in data["steps"]]
    clean = [
        _part(step["agent"], prompts[step["agent"]], {**step, **data["clean"].get(step["agent"], {})})
        for step in data["steps"]
    ]
    return Case(
        id=data["id"],
        fault=data["fault"],
        task=data["task"],
        parts=tuple(parts),
        guilty=identifier(data["guilty"]),
        act=data["guilty_act"],
        clean_parts=tuple(clean),
        digest=hashlib.sha256(line.strip().encode()).hexdigest()[:16],
    )


def _part(agent: str, prompt: str, step: Mapping[str, Any]) -> Part:
    calls = [
        Call(identifier(call["tool"]), dict(call["arguments"]), _text(call["result"])) for call in step.get("calls", ())
    ]
    return Part(identifier(agent), prompt, tuple(calls), step["says"])


def _text(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def identifier(name: str) -> str:
    """A name as every framework takes it: AutoGen wants identifiers for agents, OpenAI's API for tools."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)
