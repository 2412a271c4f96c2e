"""A judge trained on the labels of a calibration: refused early, resumed, compared, and never oversold."""

import dataclasses
import json
import runpy
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn")

from tracer_hooks.datasets import load
from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.errors import ConfigError, DatasetError, MissingExtraError
from tracer_hooks.schema import LabeledTrajectory, load_jsonl
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab import CalibrateOptions, Calibrator, JudgeTraining
from tracer_hooks_lab.commands._calibrate import judge_words
from tracer_hooks_models.training import sft as module

TEAM = Path(__file__).parents[4] / "tests" / "fixtures" / "counting_team.py"
_NAMES = runpy.run_path(str(TEAM))
build_team, check = _NAMES["build_team"], _NAMES["check"]
TASKS = [SuiteTask(id=f"t{n}", text=f"Give the number {n}", reference=str(n)) for n in range(11, 38)]
OPTIONS = CalibrateOptions(injected=40, faults_per_run=3, natural=0, workers=1, folds=2)
CONFIG = """
task = "shortlist"
context_tokens = 3072
reply_tokens = 64
precision = "float32"
valid_share = 0
accumulation = 1
max_steps = 4
checkpoint_every = 2
tensorboard = false
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """A calibration without a judge, and its folder."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("calibrated")
        patch.chdir(home)
        patch.delenv("TRACER_HOOKS_STORE", raising=False)
        calibrator = Calibrator(build_team, TASKS, check=check, folder=home / "data", options=OPTIONS)
        return home / "data", calibrator.fit(calibrator.build())


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRACER_HOOKS_STORE", raising=False)
    return tmp_path


@pytest.fixture
def calibrator_of(here, tiny, collected):
    """The calibrator of a copy of the data, with a judge to train."""

    def made(text=CONFIG, *, model=tiny, tasks=TASKS, **options):
        if not (here / "data").exists():
            shutil.copytree(collected[0], here / "data")
        (here / "judge.toml").write_text(text)
        judge = JudgeTraining(model=model, config=here / "judge.toml")
        asked = dataclasses.replace(OPTIONS, judge=judge, **options)
        return Calibrator(build_team, tasks, check=check, folder=here / "data", options=asked)

    return made


def weights_in(folder):
    return (folder / "model.safetensors").read_bytes()


@pytest.mark.slow  # the whole way
def test_a_judge_is_trained_and_compared_on_tasks_left_out(calibrator_of, collected, here, monkeypatch):
    _, before = collected
    found = calibrator_of().train_judge(before)
    assert found.judge.folder == here / "data" / "judge"
    assert dataclasses.replace(found, judge=None) == before
    report = found.judge.report
    assert report.rival == "judge"
    assert report.standard == f"structural, {before.kept}"
    methods = {row.method for row in report.rows}
    assert {"judge", report.standard, "most frequent step"} <= methods
    labels = here / "data" / "judge" / "labels"
    learnt = list(load_jsonl(labels / "learnt.jsonl", LabeledTrajectory))
    held_out = list(load_jsonl(labels / "held_out.jsonl", LabeledTrajectory))
    assert not {one.trajectory.task for one in learnt} & {one.trajectory.task for one in held_out}
    assert len(learnt) == found.judge.trained_on
    assert len(held_out) == sum(report.labels.values())
    assert not any(one.trajectory.reference for one in (*learnt, *held_out))
    assert json.loads((here / "data" / "judge" / "comparison.json").read_text())["more"] == report.more
    assert not report.is_better, "four steps of a random model taught it something?"
    assert not any("is better" in line for line in judge_words(found.judge))
    assert get_attributor(found.judge.folder).name == "judge"
    sources = [Path(record.source.rpartition(":")[0]).relative_to(here / "data") for record in load(here / "data")]
    assert sources
    assert not [one for one in sources if one.parts[0] == "judge"], "nothing of the judge is taken for a run"
    monkeypatch.setattr(module, "train_sft", lambda *_: pytest.fail("it is done"))
    assert calibrator_of().train_judge(before).judge == found.judge, "the same call again trains nothing"


@pytest.mark.slow  # trains several judges
def test_what_was_broken_off_goes_on_and_gives_the_same_judge(calibrator_of, collected, here, monkeypatch):
    straight = calibrator_of().train_judge(collected[1]).judge
    kept = weights_in(straight.folder)
    shutil.rmtree(straight.folder)
    made = module._trainer

    def trainer(*arguments):
        found = made(*arguments)
        compute = found.compute_loss

        def loss(*given, **named):
            if found.state.global_step == 3:
                raise KeyboardInterrupt
            return compute(*given, **named)

        found.compute_loss = loss
        return found

    monkeypatch.setattr(module, "_trainer", trainer)
    with pytest.raises(KeyboardInterrupt):
        calibrator_of().train_judge(collected[1])
    assert (straight.folder / "checkpoints" / "checkpoint-2").is_dir()
    monkeypatch.undo()
    monkeypatch.chdir(here)
    monkeypatch.delenv("TRACER_HOOKS_STORE", raising=False)
    gone_on = calibrator_of().train_judge(collected[1]).judge
    assert weights_in(gone_on.folder) == kept
    assert gone_on.report == straight.report
    assert gone_on.training["sft"]["training"]["steps"] == 4


@pytest.mark.slow  # trains several judges
def test_rewards_come_after_examples_where_they_are_asked_for(calibrator_of, collected):
    text = CONFIG + "lora_rank = 2\n[grpo]\nmax_steps = 1\nbatch = 4\nrollouts = 4\nreply_tokens = 32\n"
    judge = calibrator_of(text).train_judge(collected[1]).judge
    assert judge.training.keys() == {"sft", "grpo"}
    assert judge.training["grpo"]["training"]["steps"] == 1
    options = json.loads((judge.folder / "training.json").read_text())
    assert options["model"] == str(judge.folder / "sft")
    assert (options["task"], options["context_tokens"], options["rate"]) == ("shortlist", 3072, None)
    assert get_attributor(judge.folder).name == "judge"
    assert get_attributor(judge.folder / "sft").name == "judge"


def test_a_judge_of_other_labels_or_options_is_not_taken_for_this_one(calibrator_of, collected, here):
    calibrator_of().train_judge(collected[1])
    with pytest.raises(DatasetError, match=r"trained with other sft.max_steps = 4: remove that folder"):
        calibrator_of(CONFIG.replace("max_steps = 4", "max_steps = 5"))
    fewer = collected[1].data
    fewer = dataclasses.replace(fewer, labeled=fewer.labeled[1:])
    with pytest.raises(DatasetError, match="trained with other labels: remove that folder"):
        calibrator_of().train_judge(dataclasses.replace(collected[1], data=fewer))


def test_too_few_labels_keep_the_fit(calibrator_of, collected, here):
    few = dataclasses.replace(collected[1].data, labeled=collected[1].data.labeled[:4])
    with pytest.raises(DatasetError, match=r"labels on \d tasks, too few.*at least 18.*the fitted attributor stays"):
        calibrator_of().train_judge(dataclasses.replace(collected[1], data=few))
    unasked = Calibrator(build_team, TASKS, check=check, folder=here / "data", options=OPTIONS)
    with pytest.raises(ConfigError, match="no judge was asked for"):
        unasked.train_judge(collected[1])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (CONFIG, {"model": None}, "no model to begin with: give --model FOLDER"),
        (CONFIG, {"model": "nowhere"}, r"'model' is '.*nowhere', expected a folder"),
        (CONFIG, {"tasks": TASKS[:12]}, "12 tasks are too few .* at least 20.*leave out --train judge"),
        (CONFIG, {"injected": 5}, "5 labels are wanted at most.*Raise --injected"),
        ('data = "x"\n' + CONFIG, {}, "'data' of '.*judge.toml' is set by the command itself"),
        (CONFIG + '[grpo]\nout = "x"\n', {}, "'out' of '.*judge.toml' is set by the command itself"),
        (CONFIG + '[grpo]\nmodel = "x"\n', {}, r"'grpo.model' of '.*judge.toml'"),
        ("max_minutes = 3\n" + CONFIG, {}, "'max_minutes' of '.*judge.toml' is not for this command: Ctrl-C"),
        (CONFIG + "grpo = 3\n", {}, "'grpo' of '.*judge.toml' is 3, expected a table"),
        (CONFIG + "[grpo]\nrollout = 3\n", {}, "'grpo.rollout' of '.*judge.toml': Unexpected"),
        (CONFIG + "learning_rate = 3\n", {}, "'learning_rate' of '.*judge.toml': Unexpected"),
        (CONFIG.replace("3072", "9000"), {}, "'context_tokens' is 9000, but the model reads 4096"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_run(calibrator_of, text, options, message):
    with pytest.raises(ConfigError, match=message):
        calibrator_of(text, **options)


def test_what_is_not_there_or_would_run_the_team_more_than_once_is_said_before(calibrator_of, tiny, here, monkeypatch):
    shutil.copytree(tiny, here / "empty", ignore=shutil.ignore_patterns("*.safetensors"))
    with pytest.raises(ConfigError, match="which holds no weights"):
        calibrator_of(model=here / "empty")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "trl", None)
        with pytest.raises(MissingExtraError, match=r"tracer-hooks\[train\]"):
            calibrator_of()
    monkeypatch.setenv("WORLD_SIZE", "8")
    with pytest.raises(ConfigError, match=r"accelerate launch .* train sft --data"):
        calibrator_of()


@pytest.mark.slow  # the whole command
def test_the_command_trains_a_judge_and_prints_one_document(here, tiny):
    from typer.testing import CliRunner

    from tracer_hooks.cli.app import app

    shutil.copy(TEAM, here / "my_team.py")
    (here / "tasks.jsonl").write_text("".join(json.dumps({"task": task.text}) + "\n" for task in TASKS))
    (here / "judge.toml").write_text(CONFIG)
    given = ["calibrate", "my_team.py:build_team", "--tasks", "tasks.jsonl", "--check", "my_team.py:check"]
    given += ["--workers", "1", "--natural", "0", "--injected", "40", "--train-config", "judge.toml"]
    refused = CliRunner().invoke(app, given)
    assert isinstance(refused.exception, ConfigError)
    assert "expected --train judge with it" in str(refused.exception)
    given += ["--train", "judge", "--model", str(tiny), "--json"]
    dry = CliRunner().invoke(app, [*given, "--dry-run"])
    assert dry.exit_code == 0, dry.output
    assert "Training the judge comes on top." in dry.stderr
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    judge = json.loads(done.stdout)["judge"]
    assert judge["is_better"] is False
    assert Path(judge["folder"]) == here / ".tracer_hooks" / "calibration" / "my_team" / "judge"
