import sys
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.diagnosis import (
    Attributor,
    StructuralAttributor,
    _registry,
    attributor_names,
    diagnose_trajectory,
    get_attributor,
    register_attributor,
)
from tracer_hooks.errors import AttributionError, ConfigError, MissingExtraError
from tracer_hooks.schema import Attribution, Candidate, Step, Trajectory

TRAJECTORY = Trajectory(run_id="r", steps=(Step(index=0, agent="a", content="hello"),))


class Fixed:
    name = "fixed"

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def attribute(self, trajectory, *, reference=None) -> Attribution:
        return Attribution(run_id=trajectory.run_id, **self.fields)


@pytest.mark.parametrize("name", ["auto", "structural"])
def test_names_lead_to_an_attributor(name: str) -> None:
    attributor = get_attributor(name)
    assert isinstance(attributor, StructuralAttributor)
    assert isinstance(attributor, Attributor)


def test_an_attributor_is_handed_back() -> None:
    mine = Fixed()
    assert get_attributor(mine) is mine


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'oracle'.*'auto'.*'structural'.*tracer-hooks doctor"):
        get_attributor("oracle")


@pytest.mark.parametrize("thing", [None, 3, object()])
def test_something_else_altogether(thing) -> None:
    with pytest.raises(ConfigError, match="expected the name of an attributor"):
        get_attributor(thing)


def test_registering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry, "_REGISTERED", {})
    register_attributor("fixed", Fixed)
    assert isinstance(get_attributor("fixed"), Fixed)
    assert attributor_names()[0] == "auto"
    assert {"fixed", "structural", "encoder", "judge"} <= set(attributor_names())
    with pytest.raises(ConfigError, match="'auto'"):
        register_attributor("auto", Fixed)


def installed(folder: Path, value: str) -> None:
    """A distribution with one attributor, as pip would install it."""
    about = folder / "acme_blame-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-blame\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[tracer_hooks.attributors]\nacme = {value}\n")
    (folder / "acme_blame.py").write_text(
        "from tracer_hooks.schema import Attribution\n"
        "class Acme:\n"
        "    name = 'acme'\n"
        "    def attribute(self, trajectory, *, reference=None):\n"
        "        return Attribution(run_id=trajectory.run_id, agent='a', step=0)\n"
        "def broken(): raise OSError('no licence')\n"
        "def nothing(): return 7\n"
        "def without():\n"
        "    from tracer_hooks.errors import MissingExtraError\n"
        "    raise MissingExtraError('the attributor acme', 'acme-torch')\n"
    )


def test_a_distribution_brings_an_attributor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, "acme_blame:Acme")
    monkeypatch.syspath_prepend(tmp_path)
    assert "acme" in attributor_names()
    assert diagnose_trajectory(TRAJECTORY, attributor="acme").step == 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("acme_blame:broken", "of 'acme-blame' cannot be loaded: OSError: no licence"),
        ("acme_blame:Missing", "of 'acme-blame' cannot be loaded: AttributeError"),
        ("acme_blame:nothing", "of 'acme-blame' is 7, expected an object with a name and attribute"),
    ],
)
def test_an_attributor_of_a_distribution_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value, message
) -> None:
    installed(tmp_path, value)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acme_blame", raising=False)
    with pytest.raises(ConfigError, match=message):
        get_attributor("acme")


def test_an_attributor_of_a_distribution_that_lacks_a_package_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "acme_blame:without")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acme_blame", raising=False)
    with pytest.raises(MissingExtraError, match="acme-torch"):
        get_attributor("acme")


@pytest.mark.parametrize("name", [name for name in attributor_names() if name != "auto"])
def test_a_folder_with_a_file_of_an_attributors_name_is_no_fitted_one(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.json").write_text('{"mine": true}')
    said = r"^no (?:fitted attributor|trained judge|encoder)\b.* in '"
    with pytest.raises((AttributionError, ConfigError), match=said):
        get_attributor(tmp_path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"agent": "nobody", "step": 0}, "'fixed' named the agent 'nobody'"),
        ({"agent": "a", "step": 1}, "named step 1, expected one from 0 and below 1"),
        ({"candidates": (Candidate(agent="a", step=7, score=0.1),)}, "named step 7"),
    ],
)
def test_answers_outside_the_trajectory_are_refused(fields, message) -> None:
    with pytest.raises(AttributionError, match=message):
        diagnose_trajectory(TRAJECTORY, attributor=Fixed(**fields))


def test_a_diagnosis_by_name_says_who_made_it() -> None:
    answer = diagnose_trajectory(TRAJECTORY.model_copy(update={"outcome": "failed"}))
    assert (answer.agent, answer.step, answer.attributor) == ("a", 0, "structural/1")
    assert answer.elapsed_s > 0
