"""Make `.venv` hold what the pyproject files and constraints.txt ask for; do nothing when it already does.

Usage: python3 scripts/setup_venv.py [PART ...]

`demo` is the core and the three adapters with what a demo needs of their frameworks, no more: requirements/demo.txt.
Every other PART is an extra of the core, installed on top of that with all that the frameworks ask for and the
distributions in packages/: `dev` (the default), `docs`, `bench`. What was installed is recorded last, so an interrupted
run is finished by the next one. Only the standard library is used: this runs before anything is installed.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOG = VENV / "setup.log"
ADAPTERS = ("adapters/autogen[openai]", "adapters/crewai", "adapters/langgraph[openai]")
PACKAGES = ("packages/lab[parquet,suites]", "packages/models[train]", "packages/testing")  # not for the demo
DEMO, BASE = "demo", "dev"
DEMO_SET = "requirements/demo.txt"
SUPPORTED = ((3, 11), (3, 14))  # crewai 1.15 has no release for 3.14
PROGRESS_EVERY_S = 15.0


def main(parts):
    """Install each of `parts`; return the exit code."""
    if not SUPPORTED[0] <= sys.version_info[:2] < SUPPORTED[1]:
        found = ".".join(map(str, sys.version_info[:3]))
        return fail(
            f"Python {found} ({sys.executable}) is not supported: the frameworks need 3.11, 3.12 or 3.13.",
            "Next: make PYTHON=python3.12 setup",
        )
    for part in parts:
        if is_there(part) or (part == DEMO and is_there(BASE)):
            continue
        stamp_of(part).unlink(missing_ok=True)
        code = install(part)
        if code:
            return code
        stamp_of(part).write_text(fingerprint(part))
    return 0


def is_there(part):
    """Whether `part` was installed as it is asked for today."""
    return PYTHON.exists() and stamp_of(part).exists() and stamp_of(part).read_text() == fingerprint(part)


def stamp_of(part):
    """Path of the file that says what was installed for `part`; one each, so that `make docs` undoes nothing."""
    return VENV / f".setup-stamp-{part}"


def fingerprint(part):
    """Digest of everything that changes what gets installed, the place of the checkout included."""
    import tomllib  # 3.11: not imported at the top, so that an older Python gets the message of main()

    pins = DEMO_SET if part == DEMO else "constraints.txt"
    seen = [part, str(ROOT), sys.version, (ROOT / pins).read_text()]
    for path in sorted([ROOT / "pyproject.toml", *ROOT.glob("*/*/pyproject.toml")]):
        tables = tomllib.loads(path.read_text())
        # The settings of ruff, mypy and pytest do not change what is installed.
        kept = {key: tables[key] for key in ("build-system", "project")}
        seen.append(json.dumps([kept, tables.get("tool", {}).get("hatch")], sort_keys=True))
    return hashlib.sha256("\0".join(seen).encode()).hexdigest() + "\n"


def install(part):
    """Create `.venv` where it is missing or unusable, then install `part`; return the exit code."""
    # uv does in seconds what takes pip minutes. Everything beyond the demo stays with pip, whose settings (a local
    # index or folder, for PyTorch's CPU build) uv does not read.
    uv = shutil.which("uv") if part == DEMO else None
    if not usable() and (code := create(uv)):
        return code
    say(f"installing {told(part, uv)} the first time")
    command = [uv, "pip", "install", "--python", str(PYTHON)] if uv else [str(PYTHON), "-m", "pip", "install"]
    command += ["--no-progress"] if uv else ["--progress-bar", "off", "--disable-pip-version-check"]
    command += [] if uv or part != DEMO else ["--no-compile"]  # Python compiles what it imports; most is never imported
    LOG.unlink(missing_ok=True)
    started = time.monotonic()
    code = next(filter(None, (run_quietly([*command, *words]) for words in asked(part))), 0)
    if code:
        lines = LOG.read_text(errors="replace").splitlines()
        reasons = [line for line in lines if line.startswith("ERROR") or "error:" in line.lower()]
        print("\n".join(reasons[-8:] or lines[-15:]), file=sys.stderr)
        return fail(
            f"{'uv' if uv else 'pip'} could not install everything "
            f"(exit code {code}; the whole log is {LOG.relative_to(ROOT)}).",
            "Next: check that this machine reaches a package index, then run this again.",
        )
    say(f"installed in {time.monotonic() - started:.0f} s")
    return 0


def told(part, uv):
    """What is installed, and how long that takes."""
    if part != DEMO:
        return f"what make {part} needs; this takes a few minutes"
    return f"what the demo needs; {'with uv, this takes about a quarter of a minute' if uv else 'this takes a minute'}"


def asked(part):
    """What pip or uv is told to install, one call after the other.

    The demo's list was resolved before, by `make lock`; its builds share one backend instead of fetching one each.
    """
    if part == DEMO:
        folders, backend = (".", *ADAPTERS), ["-q", "-c", DEMO_SET, "hatchling>=1.26", "editables"]
        calls = [backend, ["--no-build-isolation", "--no-deps", "-r", DEMO_SET]]
    else:
        folders, calls = (f".[{part}]", *ADAPTERS, *PACKAGES), [["-c", "constraints.txt"]]
    calls[-1] += [word for folder in folders for word in ("-e", folder)]
    return calls


def create(uv):
    """Create `.venv`; return the exit code."""
    say(f"creating .venv with Python {sys.version.split()[0]}")
    # With pip in it (--seed), for whatever is installed on top.
    own = [uv, "venv", "--quiet", "--clear", "--seed", "--python", sys.executable, str(VENV)] if uv else None
    made = subprocess.run(own or [sys.executable, "-m", "venv", "--clear", str(VENV)], cwd=ROOT)
    if not made.returncode:
        return 0
    remedy = "install the venv module (on Debian: apt-get install python3-venv), then try again."
    return fail(
        f"{'uv' if uv else sys.executable + ' -m'} venv failed (its message is above).",
        f"Next: {'take uv from PATH or mend it, then try again.' if uv else remedy}",
    )


def usable():
    """Whether `.venv` belongs to this checkout and has a pip that runs."""
    if not PYTHON.exists():
        return False
    probe = "import sys, pip; print(sys.prefix, '.'.join(map(str, sys.version_info[:2])))"
    found = subprocess.run([str(PYTHON), "-c", probe], capture_output=True, text=True)
    wanted = f"{VENV} {sys.version_info[0]}.{sys.version_info[1]}"
    return found.returncode == 0 and found.stdout.strip() == wanted


def run_quietly(command):
    """Run pip or uv with its output in the log, and say from time to time how far it is; return its exit code."""
    spoken = time.monotonic()
    count = 0
    with LOG.open("a") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        for line in process.stdout:
            log.write(line)
            log.flush()
            # pip says "Processing" for a wheel found in a local folder.
            count += line.startswith(("Collecting ", "Processing "))
            if line.startswith("Installing collected packages"):
                say(f"{count} packages fetched; unpacking them")
            elif line.startswith(("Collecting ", "Processing ")) and time.monotonic() - spoken > PROGRESS_EVERY_S:
                spoken = time.monotonic()
                say(f"{count} packages so far")
        return process.wait()


def say(message):
    """Print a line of progress at once."""
    print(f"setup: {message}", flush=True)


def fail(*lines):
    """Print an error on stderr; return the exit code 1."""
    print("\n".join(f"setup: {line}" for line in lines), file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [BASE]))
