"""A language model of some thousand weights with a tokenizer made here, and runs that it can learn by heart."""

import random

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")
pytest.importorskip("peft")

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
from tracer_hooks_models.teaching import JudgeQuestions
from tracer_hooks_models.training.data import JudgeTaskOptions

WORDS = ["solve", "the", "sum", "of", "two", "and", "three", "answer", "is", "five", "check", "it", "again", "total"]
TEMPLATE = (
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def labeled_run(number, *, step_label=True, team="trio"):
    """A failed run of three agents, one of which talks nonsense in its first step."""
    chance = random.Random(number)
    agents = ["Solver", "Critic", "Closer"]
    faulty = chance.randrange(3)
    steps = []
    for k in range(6):
        bad = k == faulty
        words = ["banana", "nonsense", "wrong"] if bad else chance.choices(WORDS, k=8)
        steps.append(Step(index=k, agent=agents[k % 3], content=" ".join([*words, str(number * 7 + k)])))
    mode = list(ErrorMode)[chance.randrange(14)]
    return LabeledTrajectory(
        trajectory=Trajectory(
            run_id=f"run-{number}",
            team=team,
            task=f"solve sum number {number}",
            steps=tuple(steps),
            outcome=RunOutcome.FAILED,
        ),
        decisive=DecisiveStep(agent=agents[faulty], step=faulty, error_mode=mode) if step_label else None,
        faults=() if step_label else (AgentFault(agent=agents[faulty].lower(), error_mode=mode),),
        label_source=LabelSource.INJECTED,
        question_id=f"question-{number}",
    )


def save_tiny_model(directory, *, template=None, seed=3):
    """A Llama with random weights whose tokenizer makes the judge's prompts short."""
    import tokenizers
    import torch
    import transformers

    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    special = ["<end>", "<pad>", "<system>", "<user>", "<assistant>"]
    trainer = tokenizers.trainers.BpeTrainer(
        special_tokens=special, initial_alphabet=alphabet, vocab_size=1200, show_progress=False
    )
    asking = JudgeQuestions(JudgeTaskOptions(context_tokens=65_536).judge, len)
    texts = [
        message.content for number in range(3) for message in asking.verdict(labeled_run(number).trajectory).messages
    ]
    made.train_from_iterator(texts, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<end>", pad_token="<pad>")
    tokenizer.chat_template = template
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=4096, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=None, tie_word_embeddings=False,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


@pytest.fixture(scope="session")
def run_of():
    """Makes the labelled run of a number."""
    return labeled_run


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The folder of a small model without a chat template."""
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny_chat(tmp_path_factory):
    """The folder of a small model with a chat template."""
    return save_tiny_model(tmp_path_factory.mktemp("tiny-chat"), template=TEMPLATE)


@pytest.fixture(scope="session")
def labels(tmp_path_factory):
    """A file of labelled runs."""
    path = tmp_path_factory.mktemp("labels") / "labeled.jsonl"
    save_jsonl(path, [labeled_run(number) for number in range(8)])
    return path


@pytest.fixture
def shared(tiny, labels, tmp_path):
    """The options of a run of a few seconds."""
    return {
        "data": (labels,), "model": tiny, "out": tmp_path / "out", "task": "shortlist", "context_tokens": 3072,
        "precision": "float32", "valid_share": 0.0, "accumulation": 1, "tensorboard": False,
    }  # fmt: skip
