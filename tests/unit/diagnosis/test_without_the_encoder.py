"""What works without tracer-hooks-models, and what is said where it is needed."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from tracer_hooks import _guard
from tracer_hooks.cli import doctor
from tracer_hooks.diagnosis import EnsembleAttributor, _registry, get_attributor
from tracer_hooks.diagnosis.ranking import _attributor as structural
from tracer_hooks.errors import MissingExtraError
from tracer_hooks.schema import RunOutcome, Step, Trajectory

RUN = Trajectory(run_id="r", task="t", steps=(Step(index=0, agent="writer", content="I do not know."),))


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No distribution brings attributors or agent heads, and nothing was said of that yet."""
    for module in (_registry, structural):
        monkeypatch.setattr(module, "entry_points", lambda **_: EntryPoints())
    monkeypatch.setattr(_guard, "_warned", set())
    structural.agent_head.cache_clear()
    yield
    structural.agent_head.cache_clear()


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize("name", ["encoder", "prefill"])
def test_an_attributor_of_the_models_names_the_command_that_installs_it(name: str) -> None:
    with pytest.raises(MissingExtraError, match=r"pip install -e '.*/packages/models'"):
        get_attributor(name)
    (found,) = [one for one in doctor._attributors() if one.name == name]
    assert not found.works
    assert "/packages/models'" in found.detail


@pytest.mark.usefixtures("without")
def test_a_fitted_one_in_a_folder_does_too(tmp_path) -> None:
    (tmp_path / "encoder.json").write_text("{}")
    with pytest.raises(MissingExtraError, match=r"pip install -e '.*/packages/models'"):
        get_attributor(tmp_path)


@pytest.mark.usefixtures("without")
def test_auto_is_structural() -> None:
    assert get_attributor("auto").name == "structural"


@pytest.mark.usefixtures("without")
def test_a_failed_run_is_diagnosed_without_scores_of_agents() -> None:
    failed = RUN.model_copy(update={"outcome": RunOutcome.FAILED})
    found = get_attributor("structural").attribute(failed)
    assert (found.agent, found.step) == ("writer", 0)
    scores = structural.StructuralAttributor().score(failed)
    assert scores is not None
    assert (dict(scores.agents), dict(scores.modes)) == ({}, {})


def test_an_agent_head_that_cannot_be_loaded_costs_no_diagnosis(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    broken = EntryPoint(name="x", value="no_such_module:head", group=structural.AGENT_HEADS)
    monkeypatch.setattr(structural, "entry_points", lambda **_: [broken])
    structural.agent_head.cache_clear()
    try:
        with caplog.at_level(logging.WARNING):
            assert structural.agent_head() is None
        assert "no_such_module" in caplog.text
    finally:
        structural.agent_head.cache_clear()


@pytest.mark.usefixtures("without")
def test_the_ensemble_is_structural_alone_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ensemble = EnsembleAttributor()
        assert ensemble.members == ("structural",)
        ensemble.score(RUN)
    assert caplog.records == []


def test_the_entry_points_of_the_models_can_be_loaded() -> None:
    for name in ("tracer_hooks_models.encoder:EncoderAttributor", "tracer_hooks_models.agent_head:agent_head"):
        module, _, attribute = name.partition(":")
        assert callable(getattr(importlib.import_module(module), attribute))
