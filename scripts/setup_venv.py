"""Make `.venv` hold what the pyproject files and constraints.txt ask for; do nothing when it already does.

Usage: python3 scripts/setup_venv.py [EXTRA ...]

Without an extra it installs the core, the three adapters and the `dev` extra; each EXTRA (`docs`, `bench`) is
added on demand. What was installed is recorded last, so an interrupted run is finished by the next one.
Only the standard library is used: this runs before anything is installed.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOG = VENV / "setup.log"
ADAPTERS = ("adapters/autogen[openai]", "adapters/crewai", "adapters/langgraph[openai]")
# Every installation is recorded beside the others, so that `make docs` does not undo `make setup`.
BASE = "dev"
SUPPORTED = ((3, 11), (3, 14))  # crewai 1.15 has no release for 3.14
PROGRESS_EVERY_S = 15.0


def main(extras):
    """Install the base and then each of `extras`; return the exit code."""
    if not SUPPORTED[0] <= sys.version_info[:2] < SUPPORTED[1]:
        found = ".".join(map(str, sys.version_info[:3]))
        return fail(
            f"Python {found} ({sys.executable}) is not supported: the frameworks need 3.11, 3.12 or 3.13.",
            "Next: make PYTHON=python3.12 setup",
        )
    for extra in (BASE, *extras):
        wanted = fingerprint(extra)
        stamp = stamp_of(extra)
        if stamp.exists() and stamp.read_text() == wanted and PYTHON.exists():
            continue
        stamp.unlink(missing_ok=True)
        code = install(extra)
        if code:
            return code
        stamp.write_text(wanted)
    return 0


def stamp_of(extra):
    """Path of the file that says what was installed for `extra`."""
    return VENV / (".setup-stamp" if extra == BASE else f".setup-stamp-{extra}")


def fingerprint(extra):
    """Digest of everything that changes what gets installed, the place of the checkout included."""
    import tomllib  # 3.11: not imported at the top, so that an older Python gets the message of main()

    parts = [extra, str(ROOT), sys.version, (ROOT / "constraints.txt").read_text()]
    for path in sorted([ROOT / "pyproject.toml", *ROOT.glob("adapters/*/pyproject.toml")]):
        tables = tomllib.loads(path.read_text())
        # The settings of ruff, mypy and pytest do not change what is installed.
        kept = {key: tables[key] for key in ("build-system", "project")}
        parts.append(json.dumps([kept, tables.get("tool", {}).get("hatch")], sort_keys=True))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest() + "\n"


def install(extra):
    """Create `.venv` where it is missing or unusable, then install `extra`; return the exit code."""
    if not usable():
        say(f"creating .venv with Python {sys.version.split()[0]}")
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], cwd=ROOT)
        if made.returncode:
            return fail(
                f"{sys.executable} -m venv failed (its message is above).",
                "Next: install the venv module (on Debian: apt-get install python3-venv), then try again.",
            )
    what = "the three frameworks and tracer-hooks" if extra == BASE else f"what make {extra} needs"
    say(f"installing {what}; this takes a few minutes the first time")
    # With the base each time: creating .venv anew for an extra must not leave it half empty.
    extras = BASE if extra == BASE else f"{BASE},{extra}"
    command = [str(PYTHON), "-m", "pip", "install", "--progress-bar", "off", "-c", "constraints.txt"]
    command += ["-e", f".[{extras}]"]
    for adapter in ADAPTERS:
        command += ["-e", adapter]
    started = time.monotonic()
    code = run_quietly(command)
    if code:
        lines = LOG.read_text(errors="replace").splitlines()
        reasons = [line for line in lines if line.startswith("ERROR") or "error:" in line.lower()]
        print("\n".join(reasons[-8:] or lines[-15:]), file=sys.stderr)
        return fail(
            f"pip could not install everything (exit code {code}; the whole log is {LOG.relative_to(ROOT)}).",
            "Next: check that this machine reaches a package index, then run this again.",
        )
    say(f"installed in {time.monotonic() - started:.0f} s")
    return 0


def usable():
    """Whether `.venv` belongs to this checkout and has a pip that runs."""
    if not PYTHON.exists():
        return False
    probe = "import sys, pip; print(sys.prefix, '.'.join(map(str, sys.version_info[:2])))"
    found = subprocess.run([str(PYTHON), "-c", probe], capture_output=True, text=True)
    wanted = f"{VENV} {sys.version_info[0]}.{sys.version_info[1]}"
    return found.returncode == 0 and found.stdout.strip() == wanted


def run_quietly(command):
    """Run pip with its output in the log, and say from time to time how far it is; return its exit code."""
    spoken = time.monotonic()
    count = 0
    with LOG.open("w") as log:
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
    sys.exit(main(sys.argv[1:]))
