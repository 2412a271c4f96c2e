"""Make the environments of the backends that slow tests start: Phoenix and MLflow, each in one of its own.

Usage: python3 scripts/backends.py [FOLDER]

FOLDER is what TRACER_HOOKS_TEST_BACKENDS says, .backends by default; the tests look there, too. They take 1.7 GB and
three minutes with pip, 1.1 GB and some seconds with uv, which is used where it is on PATH. Nothing of them enters
.venv. Only the standard library is used.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("TRACER_HOOKS_TEST_BACKENDS") or ROOT / ".backends")
WANTED = {"phoenix": "arize-phoenix==20.26.1", "mlflow": "mlflow[auth]==3.17.2"}


def main(folder):
    """Make what is not there; return the exit code."""
    for name, requirement in WANTED.items():
        if is_made(folder, name):
            continue
        print(f"backends: installing {requirement} into {folder / name}; this may take a minute or two", flush=True)
        began = time.monotonic()
        for command in installing(folder / name, requirement):
            if subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
                print(f"backends: could not be installed: {' '.join(command)}", file=sys.stderr)
                print("backends: the tests that start it are skipped", file=sys.stderr)
                return 1
        stamp_of(folder, name).write_text(made_of(requirement))
        print(f"backends: {name} installed in {time.monotonic() - began:.0f} s", flush=True)
    return 0


def is_made(folder, name):
    """Whether the environment holds what is wanted today."""
    stamp = stamp_of(folder, name)
    return stamp.exists() and stamp.read_text() == made_of(WANTED[name])


def stamp_of(folder, name):
    """Path of the file that says what was installed; written last, so that an interrupted run is done anew."""
    return folder / name / "made"


def made_of(requirement):
    """What the stamp says."""
    return f"{requirement}, Python {sys.version.split()[0]}\n"


def installing(place, requirement):
    """The commands that make the environment anew."""
    python = str(place / "bin" / "python")
    if uv := shutil.which("uv"):
        yield [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(place)]
        yield [uv, "pip", "install", "--quiet", "--python", python, requirement]
    else:
        yield [sys.executable, "-m", "venv", "--clear", str(place)]
        yield [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else FOLDER))
