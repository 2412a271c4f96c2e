"""What works without the weights of tracer-hooks-encoder, and what is said where they are needed."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path

import pytest

from tracer_hooks import _guard
from tracer_hooks.attribution import EnsembleAttributor, get_attributor
from tracer_hooks.attribution import _weight_files as weight_files
from tracer_hooks.attribution._ensemble import _members
from tracer_hooks.cli import doctor
from tracer_hooks.errors import MissingExtraError
from tracer_hooks.schema import Step, Trajectory
from tracer_hooks_models.encoder import _attributor

RUN = Trajectory(run_id="r", task="t", steps=(Step(index=0, agent="writer", content="I do not know."),))


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """No weights are installed, and nothing was said of that yet."""
    for module in (_members, _attributor):
        monkeypatch.setattr(module, "encoder_folder", lambda: None)
    monkeypatch.setattr(_guard, "_warned", set())
    monkeypatch.delenv("TRACER_HOOKS_PREFILL_MODEL", raising=False)


@pytest.mark.usefixtures("without")
def test_the_encoder_names_the_command_that_installs_its_weights() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'tracer-hooks\[encoder\]'"):
        get_attributor("encoder")
    (found,) = [one for one in doctor._attributors() if one.name == "encoder"]
    assert not found.works
    assert "pip install 'tracer-hooks[encoder]'" in found.detail


@pytest.mark.usefixtures("without")
def test_auto_is_structural() -> None:
    assert get_attributor("auto").name == "structural"


@pytest.mark.usefixtures("without")
def test_the_ensemble_says_once_that_it_runs_without(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        first, second = EnsembleAttributor(), EnsembleAttributor()
        assert first.members == second.members == ("structural",)
        assert caplog.records == []  # `doctor` makes it, too, and says so itself
        for one in (first, second, first):
            one.score(RUN)
    (said,) = [record.getMessage() for record in caplog.records]
    assert "'ensemble' runs without 'encoder'" in said
    assert "Run: pip install" in said
    (found,) = [one for one in doctor._attributors() if one.name == "ensemble"]
    assert (found.works, found.detail) == (True, "ready, made of structural")


@pytest.mark.usefixtures("without")
def test_the_ensemble_says_nothing_of_it_where_the_members_are_given(caplog: pytest.LogCaptureFixture) -> None:
    member = get_attributor("structural")
    with caplog.at_level(logging.WARNING):
        EnsembleAttributor({"structural": member}).score(RUN)  # type: ignore[dict-item]
    assert caplog.records == []


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_members, "encoder_folder", lambda: None)
    monkeypatch.setattr(_members, "_are_installed", lambda modules: True)
    assert _members.without_encoder().endswith("pip install tracer-hooks-encoder")
    monkeypatch.setattr(_members, "encoder_folder", lambda: tmp_path)
    assert _members.without_encoder() == ""
    monkeypatch.setattr(_members, "_are_installed", lambda modules: False)
    assert "PyTorch" in _members.without_encoder()


def test_the_folder_of_the_weights_is_found_without_importing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = weight_files.encoder_folder()
    assert (folder is None) is (find_spec("tracer_hooks_encoder") is None)
    monkeypatch.setattr(weight_files, "find_spec", lambda name: None)
    assert weight_files.encoder_folder() is None
    assert not any(path.name == "encoder.safetensors" for path in weight_files._shipped())
