"""The lock, constraints.txt and the pyproject files say the same; what is said here needs no network."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements"
UNLOCKED = {"torch"}
LOCKED_EXTRAS = ("dev", "fit", "improve", "judge", "parquet")
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
