"""A BERT of a few thousand weights with a word-level tokenizer, and labelled runs that it can learn from."""

import json
import random
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("safetensors")

from tracer_hooks.schema import (
    AgentFault,
    DecisiveStep,
    ErrorMode,
    LabeledTrajectory,
    LabelSource,
    RunOutcome,
    Step,
    Trajectory,
    save_jsonl,
)

WORDS = [
    "solve", "the", "sum", "of", "two", "and", "three", "answer", "is", "five", "check", "it", "again", "wrong",
    "nonsense", "banana", "user", "asks",
]  # fmt: skip
SHAPE = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 128, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu",
}  # fmt: skip


def write_base(directory):
    """A folder such as sentence-transformers write."""
    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel

    directory.mkdir(parents=True, exist_ok=True)
    vocabulary = {token: k for k, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(directory / "tokenizer.json"))
    config: dict[str, Any] = {**SHAPE, "vocab_size": len(vocabulary)}
    (directory / "config.json").write_text(json.dumps(config))
    torch.manual_seed(7)
    bert = BertModel(BertConfig(**config), add_pooling_layer=False)
    save_file({name: value.contiguous() for name, value in bert.state_dict().items()}, directory / "model.safetensors")
    return directory


def labeled_run(number, *, step_label: bool = False) -> LabeledTrajectory:
    """A failed run of three agents, one of which talks nonsense in its first step."""
    chance = random.Random(number)
    agents = ["Solver", "Critic", "Evaluator"]
    faulty = chance.randrange(3)
    steps = []
    for k in range(6):
        agent = k % 3
        bad = agent == faulty and k < 3
        words = ["banana", "nonsense", "wrong"] if bad else chance.sample(WORDS[:12], 6)
        steps.append(Step(index=k, agent=agents[agent], content=" ".join(words)))
    mode = ErrorMode.FM_2_3
    return LabeledTrajectory(
        trajectory=Trajectory(
            run_id=f"run-{number}", task=f"solve the sum {number % 40}", steps=tuple(steps), outcome=RunOutcome.FAILED
        ),
        decisive=DecisiveStep(agent=agents[faulty], step=faulty, error_mode=mode) if step_label else None,
        faults=() if step_label else (AgentFault(agent=agents[faulty].lower(), error_mode=mode),),
        label_source=LabelSource.INJECTED,
        question_id=f"question-{number % 40}",
    )


@pytest.fixture(scope="session")
def labeled():
    """Makes the labelled run of a number."""
    return labeled_run


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory):
    return write_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("data") / "labeled.jsonl"
    save_jsonl(path, [labeled_run(k) for k in range(120)])
    return path


@pytest.fixture(scope="session")
def trained(base, data, tmp_path_factory: pytest.TempPathFactory):
    """An encoder trained for some seconds on runs whose fault is plain to see, and its figures."""
    pytest.importorskip("accelerate")
    from tracer_hooks_models.training import ContrastiveConfig, train_contrastive

    out = tmp_path_factory.mktemp("trained")
    config = ContrastiveConfig(
        data=(data,), base=base, out=out, contrast="none", epochs=8, batch=8, rate=3e-3, head_rate=3e-3, freeze=0,
        features=False, valid_share=0.2, similarity=1.0, tensorboard=False, patience=0, checkpoint_every=30,
    )  # fmt: skip
    return out, train_contrastive(config)
