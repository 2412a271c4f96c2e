"""Run the unit tests with the Python that runs this, without PyTorch; `make test-python PYTHON=python3.12` does so.

Usage: python3.12 scripts/test_python.py [--newest] [ARGUMENT ...]

Every ARGUMENT goes to pytest; without one the unit tests run that are not slow. Each version of Python has an
environment of its own below .venv-python, made anew each time: the versions of requirements/lock.txt, their hashes
checked, with the three frameworks; after `--newest` the newest versions that the pyproject files allow instead. Tests
that need PyTorch are skipped and named. uv installs where it is on PATH, else pip. Only the standard library is used.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = ".".join(map(str, sys.version_info[:2]))
VENV = ROOT / ".venv-python" / VERSION
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
SUPPORTED = ("3.11", "3.12", "3.13")  # crewai 1.15 has no release for 3.14
NEWEST = "--newest"
EXTRAS = "fit,improve,judge,parquet"
TESTS = ("tests/unit", "-m", "not slow")


def main(arguments):
    """Install and test; return the exit code."""
    if VERSION not in SUPPORTED:
        print(f"test-python: this is Python {VERSION}; the frameworks need 3.11, 3.12 or 3.13.", file=sys.stderr)
        print("Next: make PYTHON=python3.12 test-python", file=sys.stderr)
        return 1
    newest = arguments[:1] == [NEWEST]
    arguments = arguments[newest:]
    for command in installing(newest):
        if code := subprocess.run(command, cwd=ROOT).returncode:
            print(f"test-python: could not be installed: {' '.join(command)}", file=sys.stderr)
            return code
    print(f"test-python: Python {sys.version.split()[0]}, without PyTorch", flush=True)
    return subprocess.run(
        [str(BIN / "python"), "-m", "pytest", *(arguments or TESTS)], cwd=ROOT, env=alone()
    ).returncode


def installing(newest):
    """The commands that make the environment anew."""
    python = str(BIN / "python")
    if uv := shutil.which("uv"):
        yield [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(VENV)]
        install = [uv, "pip", "install", "--quiet", "--python", python]
    else:
        yield [sys.executable, "-m", "venv", "--clear", str(VENV)]
        install = [python, "-m", "pip", "install", "--quiet"]
    if newest:
        adapters = ("adapters/autogen[openai]", "adapters/crewai", "adapters/langgraph[openai]")
        packages = ("packages/lab[parquet,suites]", "packages/testing")
        folders = (word for folder in (f".[{EXTRAS}]", *adapters, *packages) for word in ("-e", folder))
        yield [*install, *folders, "-r", "requirements/tests.in"]
        return
    # The lock is all that the pyproject files ask for with the versions of constraints.txt, but PyTorch.
    yield [*install, "--no-deps", "--require-hashes", "-r", "requirements/lock.txt"]
    folders = (*(f"adapters/{name}" for name in ("autogen", "crewai", "langgraph")), "packages/lab", "packages/testing")
    yield [*install, "--no-deps", "-e", ".", *(word for folder in folders for word in ("-e", folder))]


def alone():
    """The environment variables without those that lead a Python to packages of another one."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
