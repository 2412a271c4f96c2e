"""THIRD_PARTY_LICENSES names what users install, at the versions of the tests; what is said here needs no network."""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PathDistribution
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from packaging.version import Version

from .test_lock import pins

ROOT = Path(__file__).parents[2]
MIT_TEXT = "Copyright (c) 2020 Somebody\n\nPermission is hereby granted, free of charge, to any person obtaining a copy"


class Entry(NamedTuple):
    version: str
    licence: str
    homepage: str
    needed_by: set[str]
    gpl_files: str


def entries() -> dict[str, Entry]:
    pattern = r"^(\S+) (\S+)\n    licence: (.+)\n    homepage: (\S+)\n    needed by: (.+)\n"
    pattern += r"(?:    files that name the GPL: (.+)\n)?(?:\n|\Z)"
    text = (ROOT / "THIRD_PARTY_LICENSES").read_text()
    found = re.findall(pattern, text, re.MULTILINE)
    assert len(found) == len(re.findall(r"^    licence:", text, re.MULTILINE)) == len({name for name, *_ in found})
    return {
        name: Entry(version, licence, url, set(parts.split(", ")), gpl)
        for name, version, licence, url, parts, gpl in found
    }


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The modules behind `make licenses` and `make sbom`."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import runtime_closure
    import sbom
    import stated_licence

    modules = ModuleType("scripts")
    modules.closure, modules.sbom, modules.stated = runtime_closure, sbom, stated_licence  # type: ignore[attr-defined]
    return modules


def package(folder: Path, metadata: str, files: dict[str, str] | None = None) -> Distribution:
    """An installed package with these lines of metadata, and these files in its folder `.dist-info`."""
    home = folder / "some-1.0.dist-info"
    written = {"METADATA": f"Metadata-Version: 2.4\nName: some\nVersion: 1.0\n{metadata}", **(files or {})}
    for name, text in written.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (home / "RECORD").write_text("".join(f"{home.name}/{name},,\n" for name in written))
    return PathDistribution(home)


def test_all_that_users_install_is_listed_and_nothing_else(scripts: ModuleType) -> None:
    reached: set[str] = set()
    for part, requirements in scripts.closure.parts():
        found, missing = scripts.closure.closure(requirements, sys.path)
        unlisted = {
            name for name in found | missing if part not in entries().get(name, Entry("", "", "", set(), ""))[3]
        }
        assert unlisted == set(), f"run `make licenses`: {part} needs what THIRD_PARTY_LICENSES does not say"
        reached |= found.keys() | missing.keys()
    # What a package that is not installed here needs in turn cannot be known.
    unknown = {"ray"} | (set() if find_spec("torch") else {"model", "train"})
    assert {name for name, one in entries().items() if name not in reached and not one.needed_by <= unknown} == set()


def test_versions_are_those_of_the_tests() -> None:
    pinned = pins(ROOT / "constraints.txt") | pins(ROOT / "requirements" / "lock.txt")
    loose = {name: one for name, one in entries().items() if name not in pinned}
    assert {name for name, one in loose.items() if one.needed_by != {"ray"}} == set()
    versions = {name: Version(one.version) for name, one in entries().items() if name in pinned}
    assert versions == {name: pinned[name] for name in versions}, "run `make licenses`"


def test_no_package_is_under_a_gpl_and_what_is_unusual_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "supply-chain.md").read_text()
    gpl = re.compile(r"GPL|General Public", re.IGNORECASE)
    assert [name for name, one in entries().items() if gpl.search(one.licence)] == []
    unusual = [name for name, one in entries().items() if one.gpl_files or re.search("MPL|not stated", one.licence)]
    assert {"certifi", "numpy", "crewai-core"} <= set(unusual)
    assert [name for name in unusual if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    ("metadata", "licence", "source"),
    [
        ("License-Expression: MIT OR Apache-2.0\nLicense: other\n", "MIT OR Apache-2.0", "License-Expression"),
        ("License: Apache License, Version 2.0\n", "Apache-2.0", "License"),
        ("License: MIT License\n        \n        Copyright (c) 2022 Somebody\n", "MIT", "License"),
        (
            "License: Copyright Somebody\n        All rights\nClassifier: License :: OSI Approved :: BSD License\n",
            "BSD",
            "Classifier",
        ),
        (
            "License: MIT\nClassifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)\n",
            "MIT; by its classifiers GNU General Public License v3 (GPLv3)",
            "License, Classifier",
        ),
        ("\n# Some\n\nReleased under the [MIT License](LICENSE).\n", "MIT", "the README in METADATA"),
        ("\n# Some\n\nLicensed like the rest.\n", "not stated", "neither in the metadata nor in a file of the package"),
    ],
)
def test_a_licence_is_what_the_package_states_and_says_where(
    scripts: ModuleType, tmp_path: Path, metadata: str, licence: str, source: str
) -> None:
    assert scripts.stated.stated_licence(package(tmp_path, metadata)) == (licence, source)


def test_where_the_metadata_are_silent_the_licence_file_speaks(scripts: ModuleType, tmp_path: Path) -> None:
    silent = package(
        tmp_path, "", {"licenses/LICENSE": MIT_TEXT, "licenses/NOTICE": "the GNU Lesser General Public License"}
    )
    assert scripts.stated.stated_licence(silent) == ("MIT", "some-1.0.dist-info/licenses/LICENSE")
    assert scripts.stated.names_the_gpl(silent) == ["some-1.0.dist-info/licenses/NOTICE"]


def test_the_bill_of_materials_is_made_of_what_is_listed_with_the_hashes_of_the_lock(scripts: ModuleType) -> None:
    text = scripts.sbom.runtime_lock()
    of = {
        found[1]: found[0]
        for found in re.finditer(r"^([a-z0-9-]+)(?:\[[^]]*\])?==(?:[^\n]*\\\n)*[^\n]*", text, re.MULTILINE)
    }
    assert {re.sub(r"[-_.]+", "-", name) for name in of} == entries().keys()
    assert not {"pytest", "mypy", "ruff"} & of.keys()
    bare = {name for name, entry in of.items() if "--hash=sha256:" not in entry}
    assert "torch" in bare
    assert {name for name in bare if not entries()[name].needed_by <= {"models", "models[train]", "ray"}} == set()
