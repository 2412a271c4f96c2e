"""Every command that reads or changes a store says the same of one on a server as of one in a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracer_hooks.cli.app import app
from tracer_hooks.config import ServerUrl
from tracer_hooks.store import PromptStore, RunStore, copy_store

from ._prompts import TEAM, accepted, outcome, proposed
from ._runs import make_attribution, make_run
from .test_run_store import TAPE

KEEPS = "the server may keep what was deleted until it needs the room, and in its log and backups\n"
COMMANDS = [
    "runs list --json",
    "runs list --outcome failed --team maths --tag release=1.4 --since 2026-01-01",
    "runs show b",
    "runs export a",
    "runs show nowhere",
    "issues --json",
    "diagnose a b --json",
    "compare a b --json",
    "prompts list --json",
    "prompts show 1",
    "prompts pin 1",
    "prompts rollback 1 --reason bad",
    "report --out {folder} --json",
    "runs import {folder}/../more.jsonl --json",
    "runs prune --keep 3 --dry-run --json",
    "runs prune --keep 4 --yes",
    "runs delete c --only --yes",
    "runs list --json --limit 9",
    "prompts unpin 1",
    "doctor --json",
]


def test_the_same_is_said_of_both(
    tmp_path: Path, server: object, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    file = RunStore(tmp_path / "runs.sqlite")
    file.save(make_run("a", tape=TAPE, attribution=make_attribution("a")))
    for minutes, run_id in enumerate("bcde"):
        file.save(make_run(run_id, minutes=minutes, tags={"release": "1.4"}, session_id=run_id))
    accepted(PromptStore(file.place))
    proposed(PromptStore(file.place), "other", "another-team")
    PromptStore(file.place).count(TEAM, 1, outcome("a"))
    url = request.getfixturevalue("server").new_database()
    copy_store(file, RunStore(url))
    (tmp_path / "more.jsonl").write_text(make_run("imported").trajectory.model_dump_json())

    said: dict[str, list[tuple[int, str]]] = {}
    for name in (str(file.place), url):
        monkeypatch.setenv("TRACER_HOOKS_STORE", name)
        for command in COMMANDS:
            words = command.format(folder=tmp_path / "site").split()
            if words[0] == "prompts" and words[1] != "list":
                words += ["--team", TEAM]
            result = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
            text = f"{result.output}{result.exception or ''}".replace(name, "STORE")
            text = re.sub(r'"(elapsed_s|written|removed)": [\d.e-]+', "", text)
            text = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^\" ]*", "", text)
            text = text.replace(KEEPS, "")
            said.setdefault(command, []).append((result.exit_code, text))
    for command, (of_file, of_server) in said.items():
        assert of_server == of_file, command
    assert [command for command, (of_file, _) in said.items() if of_file[0]] == [
        "runs show nowhere",
        "prompts rollback 1 --reason bad",
    ]
    assert isinstance(RunStore(url).place, ServerUrl)
