"""The attributor as its users meet it."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.diagnosis._protocol import Attributor, Fittable, Scorer
from tracer_hooks.errors import AttributionError, ConfigError, MissingExtraError
from tracer_hooks.schema import DecisiveStep, LabeledTrajectory, LabelSource, RunOutcome, Step, ToolCall, Trajectory
from tracer_hooks_models.prefill import PrefillAttributor, PrefillOptions, _attributor
from tracer_hooks_models.prefill._model import MODEL_VARIABLE, fingerprint_of

CONTENTS = ("the clerk adds the apples", "alpha beta gamma delta", "the sum is river stone zebra", "an error, a result")


def texts_of(step):
    calls = [text for call in step.tool_calls for text in (call.result, call.error) if text]
    return [step.content, step.error or "", *calls]


def no_model(*_: Any) -> None:
    raise AssertionError("the model was asked for")


@pytest.fixture
def attributor(options) -> PrefillAttributor:
    return PrefillAttributor(options)


@pytest.mark.parametrize("protocol", ["flow", "masprism"])
def test_an_answer_names_a_step_its_agent_and_quotes_what_stands_there(options, make_run, protocol: str) -> None:
    trajectory = make_run(*CONTENTS * 3)
    before = trajectory.model_copy(deep=True)
    answer = PrefillAttributor(replace(options, protocol=protocol)).attribute(trajectory)
    assert not answer.abstained
    assert answer.agent == trajectory.steps[answer.step].agent
    assert [one.score for one in answer.candidates] == sorted((one.score for one in answer.candidates), reverse=True)
    assert sum(one.score for one in answer.candidates) <= 1 + 1e-9
    assert answer.confidence == answer.candidates[0].score
    assert answer.evidence
    for passage in answer.evidence:
        assert any(passage.quote in text for text in texts_of(trajectory.steps[passage.step]))
    assert answer.usage.input_tokens > 0
    assert trajectory == before


@pytest.mark.parametrize(("acts_only", "can_be_it"), [(True, [False, True, True, True, False]), (False, [True] * 5)])
def test_scores_are_one_for_each_step_and_persons_and_terminals_cannot_be_it(
    options, make_run, acts_only: bool, can_be_it: list[bool]
) -> None:
    trajectory = make_run(*CONTENTS, "exitcode: 1", agents=("user", "planner", "clerk", "planner", "Computer_terminal"))
    scores = PrefillAttributor(replace(options, acts_only=acts_only)).score(trajectory)
    assert [value > -np.inf for value in scores.steps] == can_be_it
    assert sum(scores.belief()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("contents", "outcome", "reason"),
    [
        ((), RunOutcome.FAILED, "trace too incomplete"),
        (("", "  "), RunOutcome.FAILED, "trace too incomplete"),
        (CONTENTS, RunOutcome.SUCCEEDED, "no sign of failure"),
    ],
)
def test_a_run_without_text_or_fault_is_an_abstention(
    attributor, make_run, monkeypatch: pytest.MonkeyPatch, contents, outcome: RunOutcome, reason: str
) -> None:
    monkeypatch.setattr(_attributor, "load_model", no_model)
    answer = attributor.attribute(make_run(*contents, outcome=outcome))
    assert (answer.abstained, answer.abstained_reason) == (True, reason)
    if contents != CONTENTS:
        assert attributor.score(make_run(*contents)) is None


def test_empty_steps_and_tool_steps_are_read(attributor) -> None:
    call = ToolCall(name="search", arguments={"query": "river"}, result="no stone was found")
    steps = (
        Step(index=0, agent="a", content=""),
        Step(index=1, agent="b", tool_calls=(call,)),
        Step(index=2, agent="a", error="the model is gone"),
        Step(index=3, agent="b", content="TERMINATE"),
    )
    trajectory = Trajectory(run_id="r", steps=steps, outcome=RunOutcome.FAILED)
    answer = attributor.attribute(trajectory)
    assert not answer.abstained
    for passage in answer.evidence:
        assert any(passage.quote in text for text in texts_of(steps[passage.step]))
    assert attributor.features(trajectory).counts.tolist()[0] == 0


def test_a_run_is_read_once(options, make_run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = PrefillAttributor(options).score(make_run(*CONTENTS))
    assert PrefillAttributor(replace(options, cache_dir=tmp_path / "elsewhere")).score(make_run(*CONTENTS)) == first
    monkeypatch.setattr(_attributor, "load_model", no_model)
    assert PrefillAttributor(options).score(make_run(*CONTENTS, run_id="another name", reference="zebra")) == first
    for changed, contents in ((options, (*CONTENTS, "one more")), (replace(options, step_tokens=30), CONTENTS)):
        with pytest.raises(AssertionError, match="asked for"):
            PrefillAttributor(changed).score(make_run(*contents))


def test_a_damaged_reading_is_made_again(options, make_run, tmp_path: Path) -> None:
    first = PrefillAttributor(options).score(make_run(*CONTENTS))
    (file,) = (tmp_path / "cache").rglob("*.npz")
    file.write_bytes(file.read_bytes()[:100])
    assert PrefillAttributor(options).score(make_run(*CONTENTS)) == first
    assert file.stat().st_size > 100


def test_the_variable_names_the_model_and_what_is_none_is_named(
    random_model_dir, tmp_path: Path, make_run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MODEL_VARIABLE, str(random_model_dir))
    assert PrefillAttributor().path == random_model_dir
    monkeypatch.setenv(MODEL_VARIABLE, str(tmp_path / "nothing"))
    with pytest.raises(ConfigError, match=r"nothing.*config\.json"):
        PrefillAttributor()
    monkeypatch.delenv(MODEL_VARIABLE)
    with pytest.raises(ConfigError, match=f"export {MODEL_VARIABLE}="):
        PrefillAttributor()
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(ConfigError, match=str(tmp_path)):
        PrefillAttributor(PrefillOptions(model=tmp_path, cache_dir=tmp_path / "cache")).score(make_run(*CONTENTS))


@pytest.mark.parametrize("module", ["torch", "transformers", "accelerate"])
def test_what_is_not_installed_is_named(options, make_run, tmp_path, monkeypatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    said = r"tracer-hooks\[models\]"
    if module == "accelerate":  # what a GGUF file needs besides
        (tmp_path / "model.gguf").write_bytes(b"GGUF")
        monkeypatch.setitem(sys.modules, "gguf", sys)
        options, said = PrefillOptions(model=tmp_path / "model.gguf", cache_dir=tmp_path), "pip install 'accelerate'"
    with pytest.raises(MissingExtraError, match=said):
        PrefillAttributor(options).score(make_run(*CONTENTS))


@pytest.mark.parametrize(
    "wrong", [{"protocol": "other"}, {"cut": "tail"}, {"dtype": "int8"}, {"step_tokens": 0}, {"window": 100}]
)
def test_options_that_cannot_be_used_are_refused(wrong) -> None:
    (name,) = wrong
    with pytest.raises(ConfigError, match=name):
        PrefillOptions(**wrong)


def test_a_model_is_known_by_its_weights_tokenizer_and_number_format(random_model_dir, counting_model_dir) -> None:
    names = {
        fingerprint_of(path, PrefillOptions(model=path, dtype=dtype))
        for path in (random_model_dir, counting_model_dir)
        for dtype in ("float32", "bfloat16")
    }
    assert len(names) == 4


def test_bfloat16_reads_nearly_the_same(options, make_run, tmp_path: Path) -> None:
    half = PrefillAttributor(replace(options, dtype="bfloat16", cache_dir=tmp_path / "half"))
    full, rough = (one.features(make_run(*CONTENTS)) for one in (PrefillAttributor(options), half))
    assert half.model.network.dtype == half.model.torch.bfloat16
    np.testing.assert_allclose(rough.surprise[:, 0], full.surprise[:, 0], rtol=0.05)


def test_importing_the_package_loads_no_torch() -> None:
    code = (
        "import sys, tracer_hooks_models.prefill as p; "
        "assert p.PrefillAttributor.name; print([m for m in ('torch', 'transformers', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


WORDS = ("river", "stone", "apples", "alpha", "beta", "gamma", "planner", "result")


def planted_runs(make_run, count, *, with_step: bool = True, seed: int = 0):
    """Runs in which the decisive step, at any place, is the one that speaks of a zebra."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        contents = [" ".join(rng.choice(WORDS, size=6)) for _ in range(6)]
        wrong = int(rng.integers(6))
        contents[wrong] = f"zebra {contents[wrong]} zebra"
        agents = tuple(f"agent{k}" for k in range(6))
        trajectory = make_run(*contents, agents=agents, run_id=str(number), task=f"task {number}")
        yield LabeledTrajectory(
            trajectory=trajectory,
            decisive=DecisiveStep(agent=agents[wrong].upper(), step=wrong) if with_step else None,
            faults=() if with_step else ({"agent": agents[wrong]},),  # type: ignore[arg-type]
            label_source=LabelSource.INJECTED,
            question_id=str(number // 2),
        )


@pytest.fixture(scope="module")
def fitted(random_model_dir, tmp_path_factory: pytest.TempPathFactory, make_run):
    options = PrefillOptions(
        model=random_model_dir, cache_dir=tmp_path_factory.mktemp("cache"), dtype="float32", task_tokens=40
    )
    base = PrefillAttributor(options)
    return base, *base.fit(list(planted_runs(make_run, 30)), seed=3)


def test_a_fit_finds_a_planted_sign_that_the_fixed_weights_do_not_know(fitted, make_run) -> None:
    base, attributor, report = fitted
    assert report.trajectories == 30
    assert report.questions == 15
    assert report.fitted_step >= report.shipped_step + 0.3
    assert report.fitted_agent == report.fitted_step
    assert report.gain == pytest.approx(report.fitted_step - report.shipped_step)
    assert "components" in report.chosen
    fresh = list(planted_runs(make_run, 12, seed=99))
    hits = [attributor.attribute(one.trajectory).step == one.decisive.step for one in fresh]
    assert np.mean(hits) >= 0.7
    assert base.probe is None
    again, its_report = base.fit(list(planted_runs(make_run, 30)), seed=3)
    assert its_report == report, "one seed, one fit"
    np.testing.assert_array_equal(again.probe.weights, attributor.probe.weights)


def test_labels_of_agents_alone_are_learnt_from(fitted, make_run) -> None:
    base, _, _ = fitted
    attributor, report = base.fit(list(planted_runs(make_run, 30, with_step=False)))
    assert report.fitted_agent >= report.shipped_agent + 0.3
    assert np.isnan(report.fitted_step)
    fresh = list(planted_runs(make_run, 12, seed=99))
    assert np.mean([attributor.attribute(one.trajectory).step == one.decisive.step for one in fresh]) >= 0.7


def test_labels_without_any_sign_do_not_make_it_worse(fitted, make_run) -> None:
    base, _, _ = fitted
    rng = np.random.default_rng(5)
    runs = [
        one.model_copy(update={"decisive": DecisiveStep(agent="x", step=int(rng.integers(6)))})
        for one in planted_runs(make_run, 24, seed=7)
    ]
    _, report = base.fit(runs)
    assert report.fitted_step >= report.shipped_step - 0.15


@pytest.mark.parametrize("count", [0, 4])
def test_too_few_labels_are_refused(attributor, make_run, count: int) -> None:
    with pytest.raises(AttributionError, match="at least 5 of 2"):
        attributor.fit(list(planted_runs(make_run, count)))


def test_a_saved_attributor_gives_the_same_scores_with_the_model_of_its_probe_alone(
    fitted, make_run, counting_model_dir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(MODEL_VARIABLE, raising=False)
    base, attributor, _ = fitted
    trajectory = next(planted_runs(make_run, 1, seed=99)).trajectory
    attributor.save(tmp_path)
    loaded = PrefillAttributor.load(tmp_path)
    np.testing.assert_allclose(loaded.score(trajectory).steps, attributor.score(trajectory).steps, atol=1e-4)
    assert loaded.attribute(trajectory).step == attributor.attribute(trajectory).step
    with monkeypatch.context() as patch:
        patch.setenv(MODEL_VARIABLE, str(counting_model_dir))
        with pytest.raises(AttributionError, match="another language model"):
            PrefillAttributor.load(tmp_path)
    base.save(tmp_path)  # over the fitted one
    assert PrefillAttributor.load(tmp_path).probe is None
    assert PrefillAttributor.load(tmp_path).score(trajectory) == base.score(trajectory)


def test_directories_without_a_saved_attributor_are_named(fitted, tmp_path: Path) -> None:
    _, attributor, _ = fitted
    with pytest.raises(AttributionError, match=r"prefill\.json"):
        PrefillAttributor.load(tmp_path)
    attributor.save(tmp_path)
    (tmp_path / "prefill.npz").write_bytes(b"PK")
    with pytest.raises(AttributionError, match="arrays of a probe"):
        PrefillAttributor.load(tmp_path)
    settings = json.loads((tmp_path / "prefill.json").read_text())
    settings["model"]["columns"] = ["other"]
    (tmp_path / "prefill.json").write_text(json.dumps(settings))
    with pytest.raises(AttributionError, match="other signals"):
        PrefillAttributor.load(tmp_path)
    settings["model"]["options"] = {"unknown": 1, "model": "x"}
    (tmp_path / "prefill.json").write_text(json.dumps(settings))
    with pytest.raises(AttributionError, match="unknown"):
        PrefillAttributor.load(tmp_path)


def test_it_keeps_the_protocols_and_is_known_by_name_and_a_saved_one_by_its_directory(
    fitted, random_model_dir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MODEL_VARIABLE, str(random_model_dir))
    fitted[1].save(tmp_path)
    named, loaded = get_attributor("prefill"), get_attributor(tmp_path)
    assert isinstance(named, PrefillAttributor)
    assert isinstance(named, Attributor)
    assert isinstance(named, Scorer)
    assert isinstance(named, Fittable)
    assert named.name == "prefill"
    assert isinstance(loaded, PrefillAttributor)
    assert loaded.probe is not None
