"""``make release-check`` says what is not ready for a release."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
release_check = importlib.import_module("release_check")
sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that is ready for its version."""
    for name in ("src/tracer_hooks/_version.py", *(f"{one}/pyproject.toml" for one in release_check.FOLDERS)):
        (tmp_path / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(f"## [Unreleased]\n\n## [{version()}] - 2026-01-31\n")
    return tmp_path


def version() -> str:
    found: str = release_check._VERSION.search((ROOT / "src/tracer_hooks/_version.py").read_text())[1]
    return found


def test_what_is_ready_passes(checkout: Path) -> None:
    assert list(release_check.problems_with(f"v{version()}", checkout)) == []


@pytest.mark.parametrize("tag", ["", "1.2.3", "v1.2", "v1.2.3 ", "v1.2.3; rm", "main"])
def test_what_is_no_tag_is_refused(tag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert release_check.main(tag) == 1
    assert "is no tag of a release" in capsys.readouterr().err


def test_another_version_is_named_with_each_file(checkout: Path) -> None:
    problems = list(release_check.problems_with("v9.8.7", checkout))
    assert len([one for one in problems if "the tag v9.8.7" in one]) == 7
    assert len([one for one in problems if "does not ask for tracer-hooks>=9.8.N" in one]) == 6
    assert any("no heading '## [9.8.7]" in one for one in problems)


@pytest.mark.parametrize("text", ["## [Unreleased]\n", "## [{0}]\n## [Unreleased]\n", "## [{0}] - 2026-01-31\n"])
def test_a_changelog_that_was_forgotten_is_named(checkout: Path, text: str) -> None:
    (checkout / "CHANGELOG.md").write_text(text.format(version()))
    (problem,) = release_check.problems_with(f"v{version()}", checkout)
    assert problem.startswith("CHANGELOG.md has no heading")
