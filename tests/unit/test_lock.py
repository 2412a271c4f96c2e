"""The lock, constraints.txt, THIRD_PARTY_LICENSES and the pyproject files say the same; no network is needed."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import Distribution, PathDistribution
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements"
UNLOCKED = {"torch"}
LOCKED_EXTRAS = ("dev", "fit", "improve", "judge", "parquet", "postgres", "ray")
_BRINGS = {"ray": "ray", "model": "torch", "train": "torch"}
"""Extras that a set of tests may do without, by the module whose absence shows that."""
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", re.MULTILINE)


def pins(path: Path) -> dict[str, Version]:
    """The versions that a file pins, by canonical name."""
    return {canonicalize_name(name): Version(version) for name, version in _PIN.findall(path.read_text())}


def project(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path / "pyproject.toml").read_text())["project"]


def asked(path: str, extras: tuple[str, ...]) -> list[Requirement]:
    """What a distribution asks for, without our own distributions."""
    tables = project(path)
    optional = tables.get("optional-dependencies", {})
    written = [*tables["dependencies"], *(line for extra in extras for line in optional.get(extra, ()))]
    found = [Requirement(line) for line in written]
    return [one for one in found if not canonicalize_name(one.name).startswith("tracer-hooks")]


LAB = asked("packages/lab", ("parquet", "suites"))
CORE = [*asked(".", LOCKED_EXTRAS), *LAB, *asked("packages/models", ("train",)), *asked("packages/testing", ())]
OLDEST = {
    "core": [*asked(".", ("fit", "improve", "judge", "parquet")), *LAB],
    "autogen": asked("adapters/autogen", ("openai",)),
    "crewai": asked("adapters/crewai", ()),
    "langgraph": asked("adapters/langgraph", ("openai",)),
}


def test_the_lock_holds_all_that_is_asked_for_and_nothing_of_pytorch() -> None:
    locked = pins(REQUIREMENTS / "lock.txt")
    wanted = [*CORE, *(one for name in ("autogen", "crewai", "langgraph") for one in OLDEST[name])]
    for one in wanted:
        name = canonicalize_name(one.name)
        assert (name in locked) != (name in UNLOCKED), f"{one} and requirements/lock.txt disagree; run `make lock`"
        assert name in UNLOCKED or one.specifier.contains(locked[name]), f"{one} excludes {locked[name]}"
    assert (REQUIREMENTS / "unlocked.txt").read_text().split() == sorted(UNLOCKED)


def test_the_lock_and_the_constraints_name_the_same_versions() -> None:
    locked, constrained = pins(REQUIREMENTS / "lock.txt"), pins(ROOT / "constraints.txt")
    both = locked.keys() & constrained.keys()
    assert {name: locked[name] for name in both} == {name: constrained[name] for name in both}
    assert {canonicalize_name(one.name) for one in CORE} <= constrained.keys()


def test_the_demos_set_is_a_part_of_the_lock_and_lacks_only_what_it_names() -> None:
    demo, locked = pins(REQUIREMENTS / "demo.txt"), pins(REQUIREMENTS / "lock.txt")
    assert {name: locked.get(name) for name in demo} == demo, "run `make lock`"
    wanted = [*asked(".", ()), *(one for name in ("autogen", "crewai", "langgraph") for one in OLDEST[name])]
    assert {canonicalize_name(one.name) for one in wanted} <= demo.keys()
    lines = (REQUIREMENTS / "not-in-demo.txt").read_text().splitlines()
    spared = {line for line in lines if not line.startswith("#")}
    assert spared <= locked.keys() - demo.keys()


def test_every_version_in_the_lock_has_hashes() -> None:
    text = (REQUIREMENTS / "lock.txt").read_text()
    entries = [entry for entry in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE) if "==" in entry]
    assert len(entries) == len(pins(REQUIREMENTS / "lock.txt"))
    assert [entry.split()[0] for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []
    assert "file:" not in text


@pytest.mark.parametrize("name", OLDEST)
def test_the_oldest_sets_are_at_the_floors(name: str) -> None:
    pinned = pins(REQUIREMENTS / f"oldest-{name}.txt")
    raised = []
    for one in OLDEST[name]:
        version = pinned[canonicalize_name(one.name)]
        assert one.specifier.contains(version), f"{one} excludes {version}; run `make lock`"
        floor = next(Version(part.version) for part in one.specifier if part.operator == ">=")
        # A floor like >=0.7 may name a version that was never released: the first of its series then.
        if version.release[: len(floor.release)] != floor.release:
            raised.append(f"{one}: {version}")
    assert raised == [], "run `make lock`, or state the floor that others force"


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
    needed_by = {name: one.needed_by for name, one in entries().items()}
    reached: set[str] = set()
    for part, requirements in scripts.closure.parts():
        found, missing = scripts.closure.closure(requirements, sys.path)
        unlisted = {name for name in found | missing if part not in needed_by.get(name, ())}
        assert unlisted == set(), f"run `make licenses`: {part} needs what THIRD_PARTY_LICENSES does not say"
        reached |= found.keys() | missing.keys()
    # What a package that is not installed here needs in turn cannot be known.
    unknown = {extra for extra, module in _BRINGS.items() if not find_spec(module)}
    assert {name for name, parts in needed_by.items() if name not in reached and not parts <= unknown} == set()


def test_versions_are_those_of_the_tests() -> None:
    pinned = pins(ROOT / "constraints.txt") | pins(ROOT / "requirements" / "lock.txt")
    loose = {name: one for name, one in entries().items() if name not in pinned}
    assert {name for name, one in loose.items() if one.needed_by != {"ray"}} == set()
    versions = {name: Version(one.version) for name, one in entries().items() if name in pinned}
    assert versions == {name: pinned[name] for name in versions}, "run `make licenses`"


def test_no_package_but_a_driver_is_under_a_gpl_and_what_is_unusual_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "supply-chain.md").read_text()
    gpl = re.compile(r"GPL|General Public", re.IGNORECASE)
    assert [(name, *one.needed_by) for name, one in entries().items() if gpl.search(one.licence)] == [
        ("psycopg", "postgres"), ("psycopg-binary", "postgres"),
    ]  # fmt: skip
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
    mit = "Copyright (c) 2020 Somebody\n\nPermission is hereby granted, free of charge, to any person obtaining a copy"
    silent = package(
        tmp_path, "", {"licenses/LICENSE": mit, "licenses/NOTICE": "the GNU Lesser General Public License"}
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
