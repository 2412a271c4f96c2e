"""The workflow files for a public forge: they fit its schema, may do little, and run what the Makefile runs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PUBLISHING = ("release.yml", "publish")
_ACTION = re.compile(r"(?:actions|pypa)/[a-z-]+@(?:v\d+(?:\.\d+)*|release/v\d+|[0-9a-f]{40})")


def jobs() -> dict[tuple[str, str], dict[str, Any]]:
    """Every job, by its file and name."""
    read = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}
    return {(file, name): job for file, workflow in read.items() for name, job in workflow["jobs"].items()}


def steps(key: str) -> list[tuple[tuple[str, str], str]]:
    """What stands under `key` in each step that has it, with its job."""
    return [(job, step[key]) for job, table in jobs().items() for step in table["steps"] if key in step]


def test_they_fit_the_schema_which_refuses_a_broken_one(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, *map(str, FILES)], capture_output=True, text=True, timeout=60)
    assert (len(FILES), done.returncode) == (3, 0), done.stdout + done.stderr
    broken = tmp_path / "broken.yml"
    broken.write_text(FILES[0].read_text(encoding="utf-8").replace("runs-on:", "runs_on:"), encoding="utf-8")
    assert subprocess.run([*command, str(broken)], capture_output=True, timeout=60).returncode == 1


def test_only_the_job_that_publishes_may_more_than_read() -> None:
    for path in FILES:
        assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
    own = {job: table["permissions"] for job, table in jobs().items() if "permissions" in table}
    assert own == {PUBLISHING: {"id-token": "write"}}
    publishing = jobs()[PUBLISHING]
    assert publishing["environment"] == "pypi"
    assert [step for step in publishing["steps"] if "run" in step] == []
    assert "secrets." not in "".join(path.read_text(encoding="utf-8") for path in FILES)


def test_every_action_is_pinned_no_job_runs_for_hours_and_no_checkout_leaves_a_token() -> None:
    assert [used for _, used in steps("uses") if not _ACTION.fullmatch(used)] == [], "one of few, and pinned"
    assert [job for job, table in jobs().items() if not 0 < table["timeout-minutes"] <= 120] == []
    for table in jobs().values():
        for step in table["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}


def test_no_shell_reads_what_a_stranger_can_name() -> None:
    safe = {"github.server_url", "github.repository", "matrix.python", "matrix.set"}
    for _, command in steps("run"):
        assert set(re.findall(r"\$\{\{\s*(.*?)\s*\}\}", command)) <= safe


def test_they_call_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    called = set()
    for _, command in steps("run"):
        if command.startswith("make "):
            words = re.sub(r"\$\{\{.*?\}\}", "", command).split()[1:]
            called |= {word for word in words if "=" not in word}
        else:
            assert command in ("python -m pip install uv", "sudo apt-get install -y bubblewrap")
    assert called <= targets
    assert {"lint", "test", "test-all", "test-python", "test-oldest", "test-newest", "build", "docs"} <= called


def test_every_supported_python_is_tested() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    stated = {line.split(" :: ")[-1] for line in classifiers if re.search(r":: 3\.\d+$", line)}
    assert set(jobs()["ci.yml", "python"]["strategy"]["matrix"]["python"]) == stated
