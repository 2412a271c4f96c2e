"""The judge on the command line, set up by environment variables only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracer_hooks.schema import to_json
from tracer_hooks.testing import ScriptedLLM, When

from ._runs import shop_run, verdict


def diagnose(folder: Path, *paths: str, **environment: str) -> subprocess.CompletedProcess[str]:
    ours = {key: value for key, value in os.environ.items() if not key.startswith(("TRACER_HOOKS_", "OPENAI_"))}
    code = "from tracer_hooks.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "diagnose", *paths, "--attributor", "judge", "--json"],
        cwd=folder, env={**ours, **environment}, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.json").write_text(to_json(shop_run()), encoding="utf-8")
    (tmp_path / "bad.json").write_text(to_json(shop_run(task="An odd one.")), encoding="utf-8")
    return tmp_path


def test_a_reply_that_cannot_be_used_is_the_error_of_its_input_and_the_others_are_done(folder: Path) -> None:
    with ScriptedLLM(rules=[When(contains="An odd one").then("no idea")], default=verdict()) as llm:
        settings = {"TRACER_HOOKS_JUDGE_MODEL": "m", "TRACER_HOOKS_JUDGE_BASE_URL": llm.base_url}
        done = diagnose(folder, "good.json", "bad.json", **settings)
        calls = llm.calls
        again = diagnose(folder, "good.json", **settings)
        assert llm.calls == calls  # from the cache
    assert done.returncode == 1, done.stderr
    good, bad = json.loads(done.stdout)["results"]
    assert (good["agent"], good["step"], good["attributor"]) == ("Calculator", 3, "judge/2 all-at-once m")
    assert bad["error"].startswith("OutputParseError")
    assert again.returncode == 0
    assert json.loads(again.stdout)["results"][0]["step"] == 3


def test_without_settings_the_message_says_what_to_set(folder: Path) -> None:
    done = diagnose(folder, "good.json")
    assert done.returncode == 2
    assert "TRACER_HOOKS_JUDGE_MODEL" in done.stderr
    assert "Traceback" not in done.stderr
