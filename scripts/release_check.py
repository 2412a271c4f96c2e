"""Say what is not ready for the release that a tag names; `make release-check TAG=v1.2.3` runs this.

The core, the adapters and the distributions in packages/ share one version, they ask for this series of the core, and
the changelog has a section for it with a date. Only the standard library is used.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    *(f"adapters/{name}" for name in ("autogen", "crewai", "langgraph")),
    *(f"packages/{name}" for name in ("lab", "models", "testing")),
)
_TAG = re.compile(r"v\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def main(tag):
    """Print what is wrong, a line each; return the exit code."""
    problems = list(problems_with(tag, ROOT))
    for problem in problems:
        print(f"release-check: {problem}", file=sys.stderr)
    if not problems:
        print(f"release-check: {tag} is ready; RELEASING.md says what no script can see")
    return bool(problems)


def problems_with(tag, root):
    """What is wrong in the checkout `root`, a sentence each."""
    if not _TAG.fullmatch(tag):
        yield f"{tag!r} is no tag of a release, expected one such as v1.2.3. Next: make release-check TAG=v1.2.3"
        return
    version = tag.removeprefix("v")
    found = {"src/tracer_hooks/_version.py": _VERSION.search(read(root, "src/tracer_hooks/_version.py"))[1]}
    for folder in FOLDERS:
        path = f"{folder}/pyproject.toml"
        project = tomllib.loads(read(root, path))["project"]
        found[path] = project["version"]
        series = f"tracer-hooks>={'.'.join(version.split('.')[:2])}."
        if not any(line.startswith(series) for line in project["dependencies"]):
            yield f"{path} does not ask for {series}N of the core"
    for path, stated in found.items():
        if stated != version:
            yield f"{path} says {stated}, the tag {tag}"
    changelog = read(root, "CHANGELOG.md")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d{{2}}-\d{{2}}$", changelog, re.MULTILINE):
        yield f"CHANGELOG.md has no heading '## [{version}] - YEAR-MONTH-DAY'"
    if "## [Unreleased]" not in changelog:
        yield "CHANGELOG.md has no heading '## [Unreleased]' for what comes next"


def read(root, path):
    """The text of a file of the checkout."""
    return (root / path).read_text()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
