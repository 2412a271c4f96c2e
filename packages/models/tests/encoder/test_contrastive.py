import json
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")

from safetensors.torch import load_file  # noqa: E402

from tracer_hooks.diagnosis import get_attributor  # noqa: E402
from tracer_hooks.errors import TrainingError  # noqa: E402
from tracer_hooks.schema import DecisiveStep, LabeledTrajectory, RunOutcome, save_jsonl  # noqa: E402
from tracer_hooks_models.encoder import StepTokenizer, load_model  # noqa: E402
from tracer_hooks_models.training import ContrastiveConfig, contrastive, train_contrastive  # noqa: E402
from tracer_hooks_models.training.data import read_labeled, split_rows  # noqa: E402

module: Any = contrastive  # its parts, too


@pytest.fixture
def config_of(base, data, tmp_path):
    def made(**options):
        given = {
            "data": (data,), "base": base, "out": tmp_path / "out", "max_steps": 4, "batch": 4, "freeze": 0,
            "features": False, "valid_share": 0.0, "similarity": 1.0, "width": 16, "layers": 1, "heads": 2,
            "rate": 3e-3, "head_rate": 3e-3, "tensorboard": False,
        }  # fmt: skip
        return ContrastiveConfig(**{**given, **options})

    return made


def trainer_of(config):
    torch.manual_seed(config.seed)
    encoder, names = module._fresh(config)
    tokenizer = StepTokenizer(config.base)
    found = read_labeled(config.data)
    splits = split_rows(found, config.splits)
    parts = module._parts(splits, found, tokenizer, names, None, module.Silent())
    vectors = module.mode_vectors(encoder, tokenizer)
    model = module.ContrastiveModel(encoder, module._objective(config), vectors)
    return module.trainer_of(config, model, parts)


def weights_of(trainer):
    return {name: value.clone() for name, value in trainer.model.state_dict().items()}


def moved(trainer):
    before = weights_of(trainer)
    trainer.train()
    after = weights_of(trainer)
    return {name for name in before if not torch.equal(before[name], after[name])}


@pytest.mark.parametrize(
    ("contrast", "resting"), [("supervised", ()), ("infonce", ("prototypes.agent",)), ("none", ("prototypes",))]
)
def test_every_weight_moves_that_should_and_no_other(config_of, contrast, resting):
    """The embeddings are never trained, and no bias of a key: attention does not change with it."""
    trainer = trainer_of(config_of(contrast=contrast, max_steps=6))
    names = set(weights_of(trainer))
    rests = {name for name in names if "bert.embeddings" in name or name == "prototypes.mode_vectors"}
    rests |= {name for name in names if resting and name.startswith(resting)}
    found = moved(trainer)
    assert found <= names - rests
    assert {name for name in names - rests - found if not name.endswith("key.bias")} == set()
    assert any(name.startswith("prototypes.") for name in names) == (contrast != "none")


def test_frozen_layers_and_a_frozen_tower_stay_as_they_are(config_of, trained):
    assert not any(
        name.startswith(("encoder.backbone.bert.embeddings", "encoder.backbone.bert.encoder.layer.0"))
        for name in moved(trainer_of(config_of(freeze=1)))
    )
    out, _ = trained
    shape = load_model(out)[0].head.config
    config = config_of(
        base=out, heads_only=True, features=True, width=shape.width, layers=shape.layers, heads=shape.heads
    )
    found = moved(trainer_of(config))
    assert found
    assert not any(name.startswith(("encoder.backbone", "encoder.head.words")) for name in found)


def test_one_batch_of_eight_and_eight_of_one_train_alike_without_contrast(config_of):
    found = []
    for batch, accumulation in ((8, 1), (1, 8)):
        config = config_of(contrast="none", batch=batch, accumulation=accumulation, max_steps=2, precision="float32")
        trainer = trainer_of(config)
        for part in trainer.model.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.0
        trainer.train()
        found.append(weights_of(trainer))
    apart = {name for name in found[0] if not torch.allclose(found[0][name], found[1][name], atol=1e-4)}
    # No softmax changes with what is added to all of it: the gradient of such a bias is rounding, which Adam blows up.
    assert {name for name in apart if not name.endswith(("key.bias", "qkv.bias", "point.bias"))} == set()


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_that_was_broken_off_and_resumed_gives_the_weights_of_one_that_was_not(config_of, tmp_path):
    common = {"max_steps": 6, "checkpoint_every": 2}
    train_contrastive(config_of(out=tmp_path / "straight", **common))
    broken = config_of(out=tmp_path / "broken", **common)
    stopped = train_contrastive(replace(broken, max_minutes=1e-9))
    assert stopped["training"]["steps"] == 1
    done = train_contrastive(replace(broken, resume=True))
    assert done["training"]["steps"] == 6
    assert same(*(load_file(tmp_path / name / "encoder.safetensors") for name in ("straight", "broken")))
    with pytest.raises(TrainingError, match=r"seed = 0, not 5"):
        train_contrastive(replace(broken, resume=True, seed=5))
    with pytest.raises(TrainingError, match="holds checkpoints of an earlier run"):
        train_contrastive(broken)


def test_it_finds_what_sets_the_faulty_agent_apart_and_writes_an_encoder(config_of, labeled, tmp_path):
    items = [labeled(number) for number in range(80)]
    tasks = [one.trajectory.model_copy(update={"task": f"solve sum {k}"}) for k, one in enumerate(items)]
    renamed = zip(items, tasks, strict=True)
    rows = [one.model_copy(update={"trajectory": task, "question_id": None}) for one, task in renamed]
    save_jsonl(tmp_path / "l.jsonl", rows)
    config = config_of(
        data=(tmp_path / "l.jsonl",), valid_share=0.2, max_steps=90, batch=8, checkpoint_every=45, width=32
    )
    done = train_contrastive(config)
    assert done["figures"]["other questions"]["all"]["agent_auc"] > 0.85
    assert json.loads((config.out / "metrics.json").read_text()) == done
    assert "with supervised contrast" in (config.out / "README.md").read_text()
    encoder = get_attributor(config.out)
    assert encoder.name == "encoder"
    right = 0
    for number in range(200, 212):
        item = labeled(number, step_label=True)
        right += encoder.attribute(item.trajectory).agent == item.decisive.agent
    assert right >= 8


def test_passing_runs_are_told_apart_from_the_evidence(config_of, labeled, tmp_path):
    """Rows with a passing run train other weights than the same rows without it."""
    faulty, clean = [], []
    for number in range(8):
        item = labeled(number, step_label=True)
        passed = item.trajectory.model_copy(update={"run_id": f"clean-{number}", "outcome": RunOutcome.SUCCEEDED})
        clean.append(LabeledTrajectory(trajectory=passed, label_source=item.label_source, question_id=item.question_id))
        faulty.append(item.model_copy(update={"verification": {"clean_run_id": f"clean-{number}"}}))
    save_jsonl(tmp_path / "both.jsonl", [*faulty, *clean])
    save_jsonl(tmp_path / "alone.jsonl", faulty)
    found = []
    for name in ("both", "alone"):
        trainer = trainer_of(config_of(data=(tmp_path / f"{name}.jsonl",), max_steps=2))
        trainer.train()
        found.append(weights_of(trainer)["prototypes.step.weight"])
    assert not torch.equal(*found)


def test_a_label_outside_of_the_run_and_a_base_without_weights_are_named(config_of, labeled, tmp_path):
    item = labeled(0, step_label=True)
    wrong = item.model_copy(update={"decisive": DecisiveStep(agent="Solver", step=77)})
    save_jsonl(tmp_path / "wrong.jsonl", [item, wrong])
    with pytest.raises(TrainingError, match=r"wrong.jsonl:2: the label's step 77 is out of range"):
        train_contrastive(config_of(data=(tmp_path / "wrong.jsonl",)))
    with pytest.raises(TrainingError, match=r"holds no 'config.json'"):
        train_contrastive(config_of(base=tmp_path))
