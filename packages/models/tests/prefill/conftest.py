"""Tiny language models, built here: one with random weights, and one whose reading can be worked out by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tracer_hooks.schema import RunOutcome, Step, Trajectory  # noqa: E402
from tracer_hooks_models.prefill import PrefillOptions  # noqa: E402
from tracer_hooks_models.prefill._model import LocalModel, load_model  # noqa: E402

_CORPUS = [
    "This is the record of a team of agents that worked on a task and failed. The record is shortened: [...] marks "
    "text that was left out, which is no error of an agent. Task: (not recorded)",
    "[Step 0] writer: the clerk adds the apples and reports the sum to the planner who checks the plan again",
    "[Note] The next step is abnormal. Look back for the earlier step that caused it.",
    "user human alpha beta gamma zebra river stone error traceback search result answer number total",
]


def write_tokenizer(directory: Path):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    fast.save_pretrained(directory)
    return fast


def _config(vocabulary: int, **changed: Any):
    settings = {
        "vocab_size": vocabulary, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096, "bos_token_id": 0,
        "eos_token_id": 1,
    }  # fmt: skip
    return transformers.LlamaConfig(**{**settings, **changed})


@pytest.fixture(scope="session")
def random_model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama with random weights and grouped heads."""
    directory = tmp_path_factory.mktemp("random-llama")
    tokenizer = write_tokenizer(directory)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(_config(len(tokenizer)))
    with torch.no_grad():
        for layer in model.model.layers:  # wide enough that attention is far from even
            layer.self_attn.q_proj.weight.mul_(25)
            layer.self_attn.k_proj.weight.mul_(25)
    model.save_pretrained(directory)
    return directory


@pytest.fixture(scope="session")
def counting_model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama that attends evenly to all it has seen, and expects a token the more, the more often it has seen it."""
    directory = tmp_path_factory.mktemp("counting-llama")
    tokenizer = write_tokenizer(directory)
    heads = 4
    size = len(tokenizer) + -len(tokenizer) % (2 * heads)
    config = _config(
        len(tokenizer), hidden_size=size, num_hidden_layers=1, num_attention_heads=heads, num_key_value_heads=heads
    )
    model = transformers.LlamaForCausalLM(config)
    layer = model.model.layers[0]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        one_hot = torch.eye(size)[: len(tokenizer)]
        model.model.embed_tokens.weight.copy_(one_hot * 0.01)
        layer.input_layernorm.weight.fill_(1)
        layer.self_attn.v_proj.weight.copy_(torch.eye(size))
        layer.self_attn.o_proj.weight.copy_(torch.eye(size))
        model.model.norm.weight.fill_(1)
        model.lm_head.weight.copy_(one_hot)
    model.save_pretrained(directory)
    return directory


@pytest.fixture
def options(random_model_dir: Path, tmp_path: Path) -> PrefillOptions:
    return PrefillOptions(model=random_model_dir, cache_dir=tmp_path / "cache", dtype="float32", task_tokens=40)


@pytest.fixture(scope="session")
def random_model(random_model_dir: Path) -> LocalModel:
    return load_model(random_model_dir, PrefillOptions(model=random_model_dir, dtype="float32"))


@pytest.fixture(scope="session")
def counting_model(counting_model_dir: Path) -> LocalModel:
    return load_model(counting_model_dir, PrefillOptions(model=counting_model_dir, dtype="float32"))


@pytest.fixture(scope="session")
def make_run() -> Callable[..., Trajectory]:
    """Builds a failed run whose agents take turns."""

    def make(*contents: str, agents: tuple[str, ...] = ("planner", "clerk"), **fields: Any) -> Trajectory:
        steps = tuple(
            Step(index=k, agent=agents[k % len(agents)], content=content) for k, content in enumerate(contents)
        )
        given = {"run_id": "r", "task": "add the apples", "outcome": RunOutcome.FAILED, "steps": steps}
        return Trajectory(**{**given, **fields})

    return make
