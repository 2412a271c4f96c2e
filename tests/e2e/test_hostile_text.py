"""Every command is shown a store, files and folders of a stranger who wants to steer the terminal."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer

from tracer_hooks._text import is_deceptive
from tracer_hooks.cli import console
from tracer_hooks.cli.app import app, main
from tracer_hooks.schema import (
    AgentSpec,
    Attribution,
    Candidate,
    Evidence,
    Finding,
    FindingKind,
    FindingValues,
    RunOutcome,
    Step,
    StepInput,
    StepKind,
    ToolCall,
    Trajectory,
    to_json,
)
from tracer_hooks.store import PromptStore, RunStore, StoredRun

HOSTILE = (
    "\x1b]0;title\x07 \x1b[31mred\x1b[2J \x1b]52;c;cHduZWQ=\x07 \x1b]8;;file:///etc/passwd\x07link\x1b]8;;\x07 \x9b31m "
    "\x9d0;c1\x9c \u202egnp.exe\u2066 \u200b\ufeff\u2060 \x00\x01\x07\x08\x7f \r\x0b\x0c\x85\u2028\u2029 \U000e0041 "
    "[red]m[/red] [/] [link=file:///etc/passwd]x[/link] :skull: \\"
)
NAME = f"sub[/red]{HOSTILE}".replace("/", "").replace("\x00", "")[:120]
"""For a file: a part of a path cannot hold these two."""
TEAM = "stranger"

# Every command, with what it is called with. None: it runs a team of the user's own for minutes, and what it shows goes
# through the same console, as `test_nothing_is_printed_past_the_console` sees to.
COMMANDS: dict[str, list[list[str]] | None] = {
    "diagnose": [["."], [".", "--json"], ["{run}"]],
    "eval": [["--dataset", "trajectories", "--data", "."]],
    "fit": [["--labels", ".", "--out", "fitted"]],
    "demo": None,
    "doctor": [[], ["--json"]],
    "label": [[".", "--out", "labels.jsonl", "--from-csv", "table.csv"]],
    "compare": [["{run}", "{run}"], ["{run}", "{run}", "--json"], ["{run}", "no such" + HOSTILE.replace("\x00", "")]],
    "fork": [["{run}", "--at", "0", "--say", HOSTILE.replace("\x00", "")]],
    "report": [["--out", "site"], ["--out", "site", "--json"]],
    "serve": [["--public-url", HOSTILE.replace("\x00", "")], ["--host", HOSTILE.replace("\x00", "")]],
    "publish": [["{run}", "phoenix://127.0.0.1:1"], ["no such" + HOSTILE.replace("\x00", ""), "phoenix://127.0.0.1:1"]],
    "replay": [["{run}", "--find"], ["no such" + HOSTILE.replace("\x00", "")]],
    "inject": None,
    "calibrate": None,
    "improve": None,
    "issues": [
        [],
        ["--json"],
        ["--agent", HOSTILE.replace("\x00", "")],
        ["--since", "no" + HOSTILE.replace("\x00", "")],
    ],
    "runs list": [[], ["--json"], ["--agent", HOSTILE.replace("\x00", "")]],
    "runs show": [["{run}"], ["{run}", "--json"], ["no such" + HOSTILE.replace("\x00", "")]],
    "runs export": [["{run}"], ["{run}", "--format", "otlp"], ["{run}", "--format", "html"], ["{run}", "--out", NAME]],
    "runs copy": [["--to", "copy.sqlite"], ["--to", "postgresql://" + HOSTILE.replace("\x00", "")]],
    "runs delete": [["{run}"]],  # asks, and nobody answers
    "runs prune": [["--keep", "0", "--dry-run"], ["--keep", "0", "--dry-run", "--json"]],
    "runs import": [["."], [".", "--json"]],
    "prompts list": [[], ["--json"]],
    "prompts show": [["1"], ["1", "--json"]],
    "prompts diff": [["1", "2"]],
    "prompts rollback": [["1", "--reason", HOSTILE.replace("\x00", "")]],
    "prompts pin": [["1"]],
    "prompts unpin": [["1"]],
    "prompts export": [[], ["--out", NAME]],
    "dataset build": None,
    "dataset stats": [["."]],
    "dataset audit": [["."]],
    "dataset export": [[".", "--out", "export.jsonl"]],
    "train contrastive": None,
    "train encoder": None,
    "train grpo": None,
    "train sft": None,
}


def names(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    command = command.load() if hasattr(command, "load") else command
    if hasattr(command, "commands"):
        for name, one in command.commands.items():
            yield from names(one, (*path, name))
    else:
        yield " ".join(path)


def test_every_command_is_looked_at() -> None:
    assert sorted(names(typer.main.get_command(app))) == sorted(COMMANDS)


def trajectory(run_id: str = "f" * 32) -> Trajectory:
    agents = (AgentSpec(name=HOSTILE, instructions=HOSTILE, tools=(HOSTILE,)), AgentSpec(name="\x00"))
    call = ToolCall(name=HOSTILE, arguments={HOSTILE: HOSTILE}, result=HOSTILE, error=HOSTILE)
    steps = (
        Step(index=0, agent=HOSTILE, content=HOSTILE, inputs=(StepInput(source=HOSTILE, text=HOSTILE),), model=HOSTILE),
        Step(index=1, agent=HOSTILE, kind=StepKind.TOOL_CALL, content=HOSTILE, tool_calls=(call,)),
        Step(index=2, agent="\x00", kind=StepKind.HANDOFF, content=HOSTILE, recipient=HOSTILE),
        Step(index=3, agent="\x00", kind=StepKind.ERROR, error=HOSTILE),
    )
    return Trajectory(
        run_id=run_id, team=HOSTILE, framework=HOSTILE, task=HOSTILE, agents=agents, steps=steps,
        outcome=RunOutcome.FAILED, outcome_reason=HOSTILE, final_output=HOSTILE, reference=HOSTILE,
    )  # fmt: skip


def stored(run: Trajectory) -> StoredRun:
    found = Attribution(
        run_id=run.run_id, agent=HOSTILE, step=1, confidence=0.5,
        candidates=(Candidate(agent=HOSTILE, step=1, score=0.5),),
        evidence=(Evidence(step=1, quote=HOSTILE, why=HOSTILE),), attributor=HOSTILE,
        findings=(
            Finding(kind=FindingKind.LOOP, detail=HOSTILE, step=1, agent=HOSTILE, quote=HOSTILE, text=HOSTILE,
                    values=FindingValues(subject=HOSTILE)),
        ),
    )  # fmt: skip
    now = datetime.now(UTC)
    return StoredRun(
        run_id=run.run_id, team=run.team, framework=run.framework, task=run.task, outcome=run.outcome,
        outcome_reason=run.outcome_reason, started_at=now, session_id=HOSTILE, trajectory=run, attribution=found,
    )  # fmt: skip


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, a trajectory in a file with a hostile name, and files that are no trajectories."""
    folder = tmp_path_factory.mktemp("stranger")
    (folder / NAME).mkdir()
    (folder / NAME / "sub[red].json").write_text(to_json(trajectory("e" * 32)), encoding="utf-8")
    (folder / NAME / "bad.json").write_text(json.dumps({HOSTILE: HOSTILE}), encoding="utf-8")
    (folder / NAME / "worse.json").write_text("{" + HOSTILE, encoding="utf-8")
    (folder / "table.csv").write_text(f"file,agent,step\n{NAME}/x.json,{HOSTILE},1\n".replace("\x00", ""), "utf-8")
    store = folder / "runs.sqlite"
    with RunStore(store) as runs:
        runs.save(stored(trajectory()))
    with PromptStore(store) as prompts:
        for text in (HOSTILE, HOSTILE + "2"):
            made = prompts.propose(
                TEAM, {HOSTILE: text}, {HOSTILE: "own" + HOSTILE}, team_name=HOSTILE, framework=HOSTILE
            )
            prompts.start_trial(TEAM, made.number)
            if made.number == 1:
                prompts.accept(TEAM, 1, reason=HOSTILE, evidence={HOSTILE: HOSTILE})
    return folder


@pytest.mark.parametrize("width", [None, "40"])
@pytest.mark.parametrize(
    ("command", "arguments"), [(name, one) for name, calls in COMMANDS.items() for one in calls or ()]
)
def test_nothing_steers_the_terminal(command, arguments, width, planted, monkeypatch, capfd) -> None:
    monkeypatch.chdir(planted)
    monkeypatch.setenv("TRACER_HOOKS_STORE", str(planted / "runs.sqlite"))
    monkeypatch.delenv("TRACER_HOOKS_STRICT", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    if width is not None:
        monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setattr(
        sys, "argv", ["tracer-hooks", *command.split(), *(a.replace("{run}", "f" * 32) for a in arguments)]
    )
    for made in (console.out, console.out_wide, console.err):
        made.cache_clear()
    with pytest.raises(SystemExit):
        main()
    printed = "".join(capfd.readouterr())
    assert printed
    assert [hex(ord(char)) for char in sorted(set(printed)) if is_deceptive(char)] == []
    assert "MarkupError" not in printed
    assert "Traceback" not in printed
    assert "💀" not in printed  # what Rich makes of an emoji code
