"""Write dist/sbom.cdx.json, a bill of materials in the format CycloneDX; `make sbom` runs this.

It holds what is installed with tracer-hooks, its extras and its adapters, by the names in THIRD_PARTY_LICENSES, with
the versions and hashes of requirements/lock.txt. What the lock leaves out has no hash: PyTorch and what only it needs.
cyclonedx-py writes it; uvx runs that where it is on PATH, else a virtual environment that is removed again. Needs a
package index. Only the standard library is used.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = Path("dist") / "sbom.cdx.json"
TOOL = "cyclonedx-bom>=7.3,<8"
_ENTRY = re.compile(r"^([a-z0-9-]+) (\S+)\n    licence:", re.MULTILINE)
_VERSION = re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE)
# All lines of an entry but the last end with a backslash.
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def main():
    """Write the bill; return the exit code."""
    (ROOT / OUTPUT.parent).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "runtime.txt"
        listed.write_text(runtime_lock())
        tool, code = cyclonedx(Path(folder) / "venv")
        if code:
            return code
        options = ["--pyproject", "pyproject.toml", "--mc-type", "library", "--output-reproducible"]
        options += ["--output-format", "JSON", "--output-file", str(OUTPUT)]
        # It warns that requirement files do not say which package needs which; docs/supply-chain.md says so too.
        quiet = {**os.environ, "PYTHONWARNINGS": "ignore::UserWarning"}
        code = subprocess.run([*tool, "requirements", *options, str(listed)], cwd=ROOT, env=quiet).returncode
    return code or completed()


def runtime_lock():
    """The entries of the lock that users install, and versions without hashes for what the lock leaves out."""
    locked = {canonical(found[1]): found[0] for found in _PIN.finditer(read("requirements/lock.txt"))}
    named = _ENTRY.findall(read("THIRD_PARTY_LICENSES"))
    return "\n".join(locked.get(name, f"{name}=={version}") for name, version in named) + "\n"


def completed():
    """Add our version, which cyclonedx-py does not find, and count the packages; return the exit code."""
    bill = json.loads(read(OUTPUT))
    bill["metadata"]["component"]["version"] = _VERSION.search(read("src/tracer_hooks/_version.py"))[1]
    (ROOT / OUTPUT).write_text(json.dumps(bill, indent=2) + "\n")
    held = {canonical(one["name"]) for one in bill.get("components", ())}
    absent = sorted({name for name, _ in _ENTRY.findall(read("THIRD_PARTY_LICENSES"))} - held)
    if absent:
        print(f"sbom: {OUTPUT} lacks {', '.join(absent)}", file=sys.stderr)
        return 1
    print(f"sbom: {len(held)} packages in {OUTPUT}")
    return 0


def cyclonedx(venv):
    """The command that is cyclonedx-py, and the exit code of installing it."""
    if uvx := shutil.which("uvx"):
        return [uvx, "--quiet", "--from", TOOL, "cyclonedx-py"], 0
    folder = venv / ("Scripts" if os.name == "nt" else "bin")
    made = subprocess.run([sys.executable, "-m", "venv", str(venv)]).returncode
    code = made or subprocess.run([str(folder / "python"), "-m", "pip", "install", "--quiet", TOOL]).returncode
    return [str(folder / "cyclonedx-py")], code


def canonical(name):
    """A name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read(path):
    """The text of a file of the checkout."""
    return (ROOT / path).read_text()


if __name__ == "__main__":
    sys.exit(main())
