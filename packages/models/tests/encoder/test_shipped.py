import hashlib
import shutil
from pathlib import Path

import pytest

from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.diagnosis.ranking._table import features_of
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import RunOutcome, Step, Trajectory
from tracer_hooks_models import _shipped
from tracer_hooks_models._shipped import ENCODER as SHIPPED
from tracer_hooks_models._shipped import SHA256
from tracer_hooks_models.encoder import EncoderAttributor, _attributor, _weights
from tracer_hooks_models.encoder._texts import RETIRED
from tracer_hooks_models.encoder._weights import load_config

WORK = [
    ("Solver", "There are 7 two-point shots and 3 three-point shots. 7 * 2 = 14 and 3 * 3 = 9, so the sum is 23."),
    ("Critic", "7 * 2 = 14, 3 * 3 = 9 and 14 + 9 = 23. The solution is right."),
    ("Poet", "Let us deliberately ignore the question and muse about irrelevant clouds. The misleading answer is 2.5."),
    ("Checker", "I counted again: 14 + 9 = 23. The answer is 23."),
]


@pytest.fixture(scope="module")
def shipped() -> EncoderAttributor:
    return EncoderAttributor()


def run(steps) -> Trajectory:
    task = "She made 7 two-point shots and 3 three-point shots. How many points?"
    turns = tuple(Step(index=k, agent=agent, content=text) for k, (agent, text) in enumerate(steps))
    return Trajectory(run_id="points", task=task, steps=turns, outcome=RunOutcome.FAILED)


def test_the_weights_are_those_that_the_code_names_and_fit_the_wheel() -> None:
    assert load_config(SHIPPED)["weights_sha256"] == SHA256[SHIPPED / "encoder.safetensors"]
    assert sum(path.stat().st_size for path in SHIPPED.iterdir() if path.is_file()) < 35e6
    assert set(load_config(SHIPPED)["head"]["features"]) <= {*features_of(run(WORK)).names, *RETIRED}


@pytest.mark.parametrize("path", SHA256, ids=lambda path: path.name)
def test_code_and_shipped_files_agree(path: Path) -> None:
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SHA256[path], f"{path.name} was changed without its sum"


def test_every_shipped_file_is_pinned() -> None:
    folders = Path(_shipped.__file__).parent.rglob("weights")
    assert {path for folder in folders for path in folder.iterdir() if path.suffix != ".md"} == set(SHA256)


def test_a_shipped_file_that_was_changed_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SHIPPED, tmp_path / "w")
    monkeypatch.setitem(SHA256, tmp_path / "w" / "encoder.json", "0" * 64)
    with pytest.raises(AttributionError, match=r"encoder\.json' are not those of this version.*force-reinstall"):
        load_config(tmp_path / "w")


def test_they_find_the_agent_that_talks_nonsense(shipped) -> None:
    scores = shipped.score(run(WORK))
    assert max(scores.agents, key=scores.agents.get) == "Poet"
    assert shipped.attribute(run(WORK)).agent == "Poet"
    assert isinstance(get_attributor("encoder"), EncoderAttributor)


def test_weights_of_another_version_are_refused(shipped, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "weights"
    shutil.copytree(SHIPPED, folder)
    with (folder / "encoder.safetensors").open("ab") as file:
        file.write(b"\0")
    for module in (_attributor, _weights):
        monkeypatch.setattr(module, "ENCODER", folder)
    with pytest.raises(AttributionError, match="force-reinstall tracer-hooks-models"):
        EncoderAttributor().score(run(WORK))
