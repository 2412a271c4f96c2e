"""Build the wheel and the source archive of every distribution; `make build REPOSITORY=https://...` runs this.

The files that git tracks are copied, what the package page needs is put into the copy (see package_page.py), and the
copy is built into dist/ and checked with twine. Without REPOSITORY the pages have no links to files and no project
URLs: good for a look, not for publishing. Needs a package index. Only the standard library is used.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

from package_page import with_absolute_links, with_urls

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "dist"
PACKAGES = ("packages/lab", "packages/models", "packages/testing")
FOLDERS = (".", "adapters/autogen", "adapters/crewai", "adapters/langgraph", *PACKAGES)
TOOLS = ("build>=1.2", "twine>=6")
ARCHIVES = (".whl", ".tar.gz")


def main(repository):
    """Build all distributions; return the exit code."""
    repository = repository.rstrip("/")
    if repository and (urlsplit(repository).scheme != "https" or not urlsplit(repository).netloc):
        print(f"build: {repository!r} is no address that begins with https://", file=sys.stderr)
        return 1
    OUTPUT.mkdir(exist_ok=True)
    for old in OUTPUT.iterdir():
        if old.name.endswith(ARCHIVES):
            old.unlink()
    with tempfile.TemporaryDirectory() as temporary:
        sources, venv = Path(temporary) / "sources", Path(temporary) / "venv"
        copy(sources)
        for folder in FOLDERS:
            prepare(sources, folder, repository)
        python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        commands = [
            [sys.executable, "-m", "venv", str(venv)],
            [str(python), "-m", "pip", "install", "--quiet", *TOOLS],
            *([str(python), "-m", "build", "--outdir", str(OUTPUT), str(sources / folder)] for folder in FOLDERS),
        ]
        for command in commands:
            if code := subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
                print(f"build: failed: {' '.join(command)}", file=sys.stderr)
                return code
        files = sorted(path for path in OUTPUT.iterdir() if path.name.endswith(ARCHIVES))
        if code := subprocess.run([str(python), "-m", "twine", "check", "--strict", *map(str, files)]).returncode:
            return code
    for path in files:
        print(f"build: {path.stat().st_size / 1e6:6.2f} MB  {path.relative_to(ROOT)}")
    if not repository:
        print("build: no REPOSITORY was given: these have no project URLs and no links; do not publish them")
    return 0


def copy(sources):
    """Copy what git tracks, as it lies in the working tree."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).is_file():
            (sources / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, sources / name)


def prepare(sources, folder, repository):
    """Put the project's address into the copy of one distribution."""
    project, readme = sources / folder / "pyproject.toml", sources / folder / "README.md"
    version = tomllib.loads((ROOT / "adapters/autogen/pyproject.toml").read_text())["project"]["version"]
    ref = f"v{version}"  # releases are tagged by the version that the core and the adapters share
    project.write_text(with_urls(project.read_text(), repository, ref))
    readme.write_text(with_absolute_links(readme.read_text(), folder, repository, ref))


if __name__ == "__main__":
    sys.exit(main(os.environ.get("REPOSITORY", "")))
