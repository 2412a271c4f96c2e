"""Write requirements/lock.txt, demo.txt and oldest-*.txt anew from the pyproject files; `make lock` runs this.

The lock is the environment of the tests, with the hashes of every file that an index offers for each version;
constraints.txt says which versions. PyTorch is left out, with what only PyTorch needs: its builds for one kind of
accelerator come from indexes and folders of their own, and none of those has the hashes of another. The demo's set is
what `make demo` imports, so without what requirements/not-in-demo.txt names. The oldest sets are the lowest versions
that the pyproject files allow, one set for the core and one for each framework; what they in turn need is the newest
that fits. Needs uv and a package index. Only the standard library is used.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("requirements")
OLDEST_PYTHON = "3.11"
# What is locked, and what the oldest sets are made of: a pyproject file and its extras.
CORE = ("pyproject.toml", "fit", "improve", "judge", "parquet", "serve")
ADAPTERS = {
    "autogen": ("adapters/autogen/pyproject.toml", "openai"),
    "crewai": ("adapters/crewai/pyproject.toml",),
    "langgraph": ("adapters/langgraph/pyproject.toml", "openai"),
}
LAB = ("packages/lab/pyproject.toml", "parquet", "suites")
PACKAGES = (LAB, ("packages/models/pyproject.toml", "train"), ("packages/testing/pyproject.toml",))
UNLOCKED = FOLDER / "unlocked.txt"
SPARED = FOLDER / "not-in-demo.txt"
TESTS = FOLDER / "tests.in"
BOUNDS = FOLDER / "oldest.in"


def main():
    """Write all sets; return the exit code."""
    if shutil.which("uv") is None:
        print("lock: uv is not on PATH.\nNext: python3 -m pip install uv, then make lock", file=sys.stderr)
        return 1
    return lock() or demo() or next(filter(None, map(oldest, ("core", *ADAPTERS))), 0)


def lock():
    """Write the lock file; return uv's exit code."""
    sources = [*with_adapters("pyproject.toml", "dev"), *(word for source in PACKAGES for word in asked(source))]
    options = ["--universal", "--generate-hashes", "--constraints", "constraints.txt", "--excludes", str(UNLOCKED)]
    return compiled("lock.txt", sources, options)


def demo():
    """Write what the demo needs; return uv's exit code."""
    sources = with_adapters("pyproject.toml")
    return compiled("demo.txt", sources, ["--universal", "--constraints", "constraints.txt", "--excludes", str(SPARED)])


def oldest(name):
    """Write the set of the lowest versions for the core or one framework; return uv's exit code."""
    sources = [*(asked(CORE) + asked(LAB) if name == "core" else asked(ADAPTERS[name])), str(TESTS)]
    return compiled(f"oldest-{name}.txt", sources, ["--resolution", "lowest-direct", "--constraints", str(BOUNDS)])


def with_adapters(*core):
    """What uv is told of the core and of all adapters."""
    return [word for source in (core, *ADAPTERS.values()) for word in asked(source)]


def asked(source):
    """What uv is told of a pyproject file and its extras."""
    path, *extras = source
    return [path, *(word for extra in extras for word in ("--extra", extra))]


def compiled(name, sources, options):
    """Resolve `sources` into the file `name`; return uv's exit code."""
    print(f"lock: {FOLDER / name}", flush=True)
    ours = ["tracer-hooks", *(f"tracer-hooks-{name}" for name in (*ADAPTERS, "lab", "models", "testing"))]
    command = ["uv", "pip", "compile", "--quiet", "--no-progress", "--upgrade", "--python-version", OLDEST_PYTHON]
    command += ["--no-annotate", "--custom-compile-command", "make lock", "--output-file", str(FOLDER / name)]
    command += [word for own in ours for word in ("--no-emit-package", own)]
    with (ROOT / FOLDER / name).with_suffix(".log").open("w") as log:
        code = subprocess.run([*command, *options, *sources], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT).returncode
    if code:
        print(Path(log.name).read_text(), file=sys.stderr)
    Path(log.name).unlink()
    return code


if __name__ == "__main__":
    sys.exit(main())
