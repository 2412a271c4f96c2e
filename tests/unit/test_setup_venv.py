"""The scripts behind `make setup`, `make demo` and `make test-python`: what they install and run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_UV = f"""#!{sys.executable}
import pathlib, subprocess, sys
with open({{calls!r}}, "a") as calls:
    print(" ".join(sys.argv[1:]), file=calls)
if sys.argv[1] == "venv":
    options = ["--without-pip", "--system-site-packages"]  # a pip that is there anyway; installing one takes seconds
    sys.exit(subprocess.run([{os.path.realpath(sys.executable)!r}, "-m", "venv", *options, sys.argv[-1]]).returncode)
sys.exit(int({{code}}))
"""


class Checkout:
    """A checkout with a uv that writes down how it is called, installs nothing, and ends with ``code``."""

    def __init__(self, place: Path, *, code: int = 0) -> None:
        self.root = place / "checkout"
        adapters = [str(path.relative_to(ROOT)) for path in ROOT.glob("adapters/*/pyproject.toml")]
        for name in ("pyproject.toml", "constraints.txt", "requirements/demo.txt", "scripts/setup_venv.py", *adapters):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self._calls = place / "calls"
        self._calls.touch()
        (place / "bin").mkdir()
        uv = place / "bin" / "uv"
        uv.write_text(_UV.format(calls=str(self._calls), code=code))
        uv.chmod(0o755)
        self._path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def setup(self, *parts: str) -> subprocess.CompletedProcess[str]:
        """Run the script; pip, where it is asked, finds no package index."""
        environment = {**os.environ, "PATH": self._path, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
        command = [sys.executable, "scripts/setup_venv.py", *parts]
        return subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)

    @property
    def calls(self) -> list[str]:
        """How uv was called."""
        return self._calls.read_text().splitlines()


def test_the_demo_is_installed_by_uv_without_extras_and_once(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    first = checkout.setup("demo")
    assert first.returncode == 0, first.stderr
    made, backend, installed = checkout.calls
    assert made.startswith("venv")
    assert "--seed" in made
    assert "hatchling" in backend
    assert "--no-build-isolation --no-deps -r requirements/demo.txt -e . -e adapters/autogen[openai]" in installed
    assert "[dev]" not in installed
    again = checkout.setup("demo")
    assert (again.returncode, again.stdout, len(checkout.calls)) == (0, "", 3)
    (checkout.root / "constraints.txt").write_text("rich==13.0\n")
    assert (checkout.setup("demo").returncode, len(checkout.calls)) == (0, 3)  # the demo has a list of its own
    (checkout.root / "requirements" / "demo.txt").write_text("rich==13.0\n")
    assert checkout.setup("demo").returncode == 0
    assert len(checkout.calls) == 5  # the environment is kept, the installation is brought up to date


def test_what_the_tests_need_comes_from_pip_and_a_failure_says_what_to_do(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    failed = checkout.setup()
    assert failed.returncode == 1
    assert "pip could not install everything" in failed.stderr
    assert "Next: check that this machine reaches a package index" in failed.stderr
    assert checkout.calls == []  # uv does not see a local folder with PyTorch's CPU build
    assert not (checkout.root / ".venv" / ".setup-stamp-dev").exists()


def test_a_failing_uv_is_named_and_tried_again(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, code=2)
    for _ in range(2):
        assert "uv could not install everything (exit code 2" in checkout.setup("demo").stderr
    assert sum(call.startswith("pip") for call in checkout.calls) == 2


SCRIPT = Path(__file__).parents[2] / "scripts" / "test_python.py"
PYTHON_VERSION = ".".join(map(str, sys.version_info[:2]))
# Writes down how it is called. "uv venv" leaves a Python that does the same and ends as a run of the tests would.
_UV_OF_TESTS = """#!{python}
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


def run_tests(folder: Path, *arguments: str, install_code: int = 0, test_code: int = 0) -> tuple[int, list[str]]:
    """Run the script in a checkout of its own; its exit code, and the calls of uv and of the Python that uv made."""
    calls, tools = folder / "calls", folder / "tools"
    tools.mkdir()
    (folder / "scripts").mkdir()
    shutil.copy(SCRIPT, folder / "scripts")
    uv = tools / "uv"
    uv.write_text(
        _UV_OF_TESTS.format(python=sys.executable, calls=str(calls), install_code=install_code, test_code=test_code)
    )
    uv.chmod(0o755)
    command = [sys.executable, str(folder / "scripts" / SCRIPT.name), *arguments]
    environment = {**os.environ, "PATH": str(tools), "PYTHONPATH": str(folder)}
    code = subprocess.run(command, env=environment, capture_output=True, timeout=60).returncode
    return code, calls.read_text().splitlines()


def test_the_lock_is_installed_with_its_hashes_and_the_unit_tests_run(tmp_path: Path) -> None:
    code, calls = run_tests(tmp_path)
    made, locked, own, tested = calls
    assert code == 0
    assert made.startswith("uv venv")
    assert f".venv-python/{PYTHON_VERSION}" in made
    assert "--require-hashes -r requirements/lock.txt" in locked
    assert "--no-deps -e . -e adapters/autogen -e adapters/crewai -e adapters/langgraph -e packages/lab" in own
    assert tested == "python -m pytest tests/unit -m not slow False", "and no other Python's packages are on its path"


def test_arguments_choose_the_tests_and_their_exit_code_is_handed_on(tmp_path: Path) -> None:
    code, calls = run_tests(tmp_path, "tests/unit/schema", "-x", test_code=5)
    assert (code, calls[-1]) == (5, "python -m pytest tests/unit/schema -x False")
    (tmp_path / "failing").mkdir()
    code, calls = run_tests(tmp_path / "failing", install_code=2)
    assert code == 2
    assert not any("-m pytest" in call for call in calls)


def test_the_newest_versions_are_those_of_the_pyproject_files(tmp_path: Path) -> None:
    code, calls = run_tests(tmp_path, "--newest", "tests/unit/schema")
    _, installed, tested = calls
    assert code == 0
    assert "lock.txt" not in installed
    assert "constraints.txt" not in installed
    assert "-e .[fit,improve,judge,parquet] -e adapters/autogen[openai]" in installed
    assert tested == "python -m pytest tests/unit/schema False"
