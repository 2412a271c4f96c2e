"""Run the tests on the lowest versions that the pyproject files allow; `make test-oldest` runs this.

Usage: python3 scripts/test_oldest.py [SET ...]

A SET is `core`, `autogen`, `crewai` or `langgraph`; all of them by default. Each has an environment of its own below
.venv-oldest, since the frameworks exclude each other at their floors, with the versions of requirements/oldest-SET.txt
(`make lock` writes those) and without PyTorch. uv makes it where uv is on PATH, else pip. Only the standard library
is used.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".venv-oldest"
FRAMEWORKS = ("autogen", "crewai", "langgraph")
PYTHON = (3, 11)  # some of the lowest versions have no wheels for later ones
# Both want packages that have floors of their own, higher than those of the frameworks.
OTHERS = "not langgraph_supervisor and not langgraph_swarm"
# Property tests and the schema's are about pydantic; the store's about SQLAlchemy; telemetry's about OpenTelemetry.
CORE_TESTS = ("tests/property", "tests/unit/schema", "tests/unit/store", "tests/unit/telemetry", "tests/unit/report")
CORE_TESTS += ("tests/unit/plain", "tests/e2e/test_other_commands.py")


def main(names):
    """Test each of the sets `names`; return the exit code."""
    if unknown := set(names) - {"core", *FRAMEWORKS}:
        return fail(f"no such set: {', '.join(sorted(unknown))}", "take core, autogen, crewai or langgraph")
    if sys.version_info[:2] != PYTHON:
        return fail("the lowest versions are installed with Python 3.11", "make PYTHON=python3.11 test-oldest")
    failed = [name for name in names if not passes(name)]
    print(f"test-oldest: {', '.join(failed)} failed" if failed else f"test-oldest: {', '.join(names)} passed")
    return bool(failed)


def passes(name):
    """Whether the tests of a set pass in its environment."""
    print(f"test-oldest: {name}", flush=True)
    python = HOME / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if any(subprocess.run(command, cwd=ROOT).returncode for command in installing(name, python)):
        return False
    return subprocess.run([str(python), "-m", "pytest", "-m", "not slow", *tests(name)], cwd=ROOT).returncode == 0


def installing(name, python):
    """The commands that make the environment anew."""
    asked = ["-r", f"requirements/oldest-{name}.txt", "-e", "."]
    asked += ["-e", f"adapters/{name}"] if name in FRAMEWORKS else ["-e", "packages/lab"]
    asked += ["-e", "packages/testing"]
    if uv := shutil.which("uv"):
        yield [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(HOME / name)]
        yield [uv, "pip", "install", "--quiet", "--python", str(python), *asked]
    else:
        yield [sys.executable, "-m", "venv", "--clear", str(HOME / name)]
        yield [str(python), "-m", "pip", "install", "--quiet", *asked]


def tests(name):
    """What pytest is told of a set."""
    if name == "core":
        return CORE_TESTS
    others = "--ignore=tests/contract/test_beside_openinference.py"
    return ("tests/golden", "tests/contract", f"tests/unit/adapters_{name}", "-k", f"{name} and {OTHERS}", others)


def fail(problem, remedy):
    """Print what is wrong and what to do; return the exit code 1."""
    print(f"test-oldest: {problem}\nNext: {remedy}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["core", *FRAMEWORKS]))
