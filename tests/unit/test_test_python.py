"""The script behind `make test-python`: what it installs, what it runs, and what it ends with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "test_python.py"
VERSION = ".".join(map(str, sys.version_info[:2]))
# Writes down how it is called. "uv venv" leaves a Python that does the same and ends as a run of the tests would.
_UV = """#!{python}
import os, pathlib, shutil, sys
with open({calls!r}, "a") as calls:
    print(pathlib.Path(sys.argv[0]).name, *sys.argv[1:], "PYTHONPATH" in os.environ, file=calls)
if sys.argv[1] == "venv":
    python = pathlib.Path(sys.argv[-1], "bin", "python")
    python.parent.mkdir(parents=True)
    shutil.copy(sys.argv[0], python)
sys.exit({install_code} if "install" in sys.argv else {test_code} if "pytest" in sys.argv else 0)
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the uv of this test is a script with a first line for POSIX")


def run(folder: Path, *arguments: str, install_code: int = 0, test_code: int = 0) -> tuple[int, list[str]]:
    """Run the script in a checkout of its own; its exit code, and the calls of uv and of the Python that uv made."""
    calls, tools = folder / "calls", folder / "tools"
    tools.mkdir()
    (folder / "scripts").mkdir()
    shutil.copy(SCRIPT, folder / "scripts")
    uv = tools / "uv"
    uv.write_text(_UV.format(python=sys.executable, calls=str(calls), install_code=install_code, test_code=test_code))
    uv.chmod(0o755)
    command = [sys.executable, str(folder / "scripts" / SCRIPT.name), *arguments]
    environment = {**os.environ, "PATH": str(tools), "PYTHONPATH": str(folder)}
    code = subprocess.run(command, env=environment, capture_output=True, timeout=60).returncode
    return code, calls.read_text().splitlines()


def test_the_lock_is_installed_with_its_hashes_and_the_unit_tests_run(tmp_path: Path) -> None:
    code, calls = run(tmp_path)
    made, locked, own, tested = calls
    assert code == 0
    assert made.startswith("uv venv")
    assert f".venv-python/{VERSION}" in made
    assert "--require-hashes -r requirements/lock.txt" in locked
    assert "--no-deps -e . -e adapters/autogen -e adapters/crewai -e adapters/langgraph -e packages/lab" in own
    assert tested == "python -m pytest tests/unit -m not slow False", "and no other Python's packages are on its path"


def test_arguments_choose_the_tests_and_their_exit_code_is_handed_on(tmp_path: Path) -> None:
    code, calls = run(tmp_path, "tests/unit/schema", "-x", test_code=5)
    assert (code, calls[-1]) == (5, "python -m pytest tests/unit/schema -x False")
    (tmp_path / "failing").mkdir()
    code, calls = run(tmp_path / "failing", install_code=2)
    assert code == 2
    assert not any("-m pytest" in call for call in calls)


def test_the_newest_versions_are_those_of_the_pyproject_files(tmp_path: Path) -> None:
    code, calls = run(tmp_path, "--newest", "tests/unit/schema")
    _, installed, tested = calls
    assert code == 0
    assert "lock.txt" not in installed
    assert "constraints.txt" not in installed
    assert "-e .[fit,improve,judge,parquet] -e adapters/autogen[openai]" in installed
    assert tested == "python -m pytest tests/unit/schema False"
