"""What `make release-check` says, and what a package index shows of our distributions."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
release_check = importlib.import_module("release_check")
_PAGE, _BUILD = importlib.import_module("package_page"), importlib.import_module("build")
sys.path.remove(str(ROOT / "scripts"))
sys.modules.pop("build")  # a package of the same name builds distributions


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


AT = "https://forge.example/team/tracer-hooks"


@pytest.mark.parametrize(
    ("folder", "text", "shown"),
    [
        (".", "[a](docs/a.md#b)", f"[a]({AT}/blob/v1/docs/a.md#b)"),
        ("adapters/crewai", "[a](../../README.md)", f"[a]({AT}/blob/v1/README.md)"),
        (".", "![a](docs/a.svg)", f"![a]({AT}/raw/v1/docs/a.svg)"),
        (".", "[a](https://a.example) [b](#b) [c](mailto:c@d.example)", None),
        (".", "```\n[a](b.md)\n```\n", None),
    ],
)
def test_links_lead_to_the_repository_and_are_text_without_its_address(
    folder: str, text: str, shown: str | None
) -> None:
    assert _PAGE.with_absolute_links(text, folder, AT, "v1") == (text if shown is None else shown)
    without = _PAGE.with_absolute_links("see [a b](c.md), [d](https://d.example)", ".", "", "v1")
    assert without == "see a b, [d](https://d.example)"


@pytest.mark.parametrize("folder", _BUILD.FOLDERS)
def test_every_relative_link_of_a_readme_leads_to_a_file(folder: str) -> None:
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    shown = _PAGE.with_absolute_links(text, folder, AT, "v1")
    for path in re.findall(rf"{re.escape(AT)}/(?:blob|raw)/v1/([^)#]+)", shown):
        assert (ROOT / path).exists(), path
    assert not re.search(r"\]\((?!https?://|#|mailto:)", re.sub(r"(?ms)^```.*?^```", "", shown))


@pytest.mark.parametrize("folder", _BUILD.FOLDERS)
def test_project_urls_are_put_in_and_the_rest_stays(folder: str) -> None:
    written = (ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")
    assert _PAGE.with_urls(written, "", "v1") == written
    before, after = tomllib.loads(written), tomllib.loads(_PAGE.with_urls(written, AT, "v1"))
    assert after["project"].pop("urls") == {
        "Source": AT,
        "Documentation": f"{AT}/tree/v1/docs",
        "Changelog": f"{AT}/blob/v1/CHANGELOG.md",
        "Issues": f"{AT}/issues",
    }
    assert after == before


def test_urls_that_stand_there_are_not_doubled() -> None:
    with pytest.raises(ValueError, match=r"states \[project\.urls\] itself"):
        _PAGE.with_urls("[project]\nname = 'a'\n[project.urls]\n", AT, "v1")


@pytest.mark.parametrize("address", ["http://forge.example/a", "forge.example/a", "https://"])
def test_an_address_must_be_https(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _BUILD.main(address) == 1
    assert "no address that begins with https://" in capsys.readouterr().err


def test_every_distribution_is_built() -> None:
    found = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("*/*/pyproject.toml")}
    assert {".", *found} == set(_BUILD.FOLDERS)
