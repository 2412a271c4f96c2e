"""A model of transformers from a directory, made by hand so that what it says is known."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.diagnosis import diagnose_each, diagnose_trajectory
from tracer_hooks.diagnosis.judge import JudgeAttributor, JudgeOptions
from tracer_hooks.errors import AttributionError, ConfigError, OutputParseError
from tracer_hooks.schema import Candidate, ErrorMode

from ._runs import budget, shop_run

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

REPLY = json.dumps({"reason": "Multiplied.", "agent": "Calculator", "step": 3, "error_mode": "FM-2.6"})
TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role == 'system' and no_system %}{{ raise_exception('no system role') }}{% endif %}"
    "<{{ message.role }}>{{ message.content }}{% endfor %}<assistant>"
)
LIKING = {"A": 0.1, "B": 0.2, "C": 0.4}
CANDIDATES = [
    Candidate(agent="Price_Finder", step=2, score=0.1),
    Candidate(agent="Calculator", step=3, score=0.2),
    Candidate(agent="Planner", step=4, score=0.3),
]


def save_model(directory: Path, *, reply: str = REPLY, template: str | None = None) -> Path:
    """A causal language model that answers everything with ``reply``, and likes some labels more than others.

    Its layers add nothing, so the next token follows from the last one: after any token comes ``reply``, which is one
    token, and after that the end.
    """
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=_byte_tokenizer(), eos_token="<end>")
    tokenizer.add_tokens([reply])
    tokenizer.chat_template = template
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1,
        num_key_value_heads=1, max_position_embeddings=32_768, eos_token_id=tokenizer.eos_token_id,
        tie_word_embeddings=False,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    said, end = tokenizer.convert_tokens_to_ids(reply), tokenizer.eos_token_id
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:  # all but the norms
                parameter.zero_()
        model.model.embed_tokens.weight[:, 0] = 1.0
        model.model.embed_tokens.weight[said] = torch.eye(8)[1]
        model.lm_head.weight[said, 0] = 1.0
        model.lm_head.weight[end, 1] = 1.0
        for label, value in LIKING.items():
            model.lm_head.weight[tokenizer.convert_tokens_to_ids(label), 0] = value
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def _byte_tokenizer() -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(special_tokens=["<end>"], initial_alphabet=alphabet, vocab_size=257)
    made.train_from_iterator([], trainer)
    return made


def local_judge(directory: Path, **options: Any) -> JudgeAttributor:
    settings = {"cache_dir": None, "budget": budget(), "protocol": "all-at-once", "reply_tokens": 64, **options}
    return JudgeAttributor(JudgeOptions(model=str(directory), **settings))


@pytest.mark.parametrize("template", [None, TEMPLATE, "{% set no_system = true %}" + TEMPLATE])
def test_a_local_model_answers_with_and_without_a_chat_template(tmp_path: Path, template: str | None) -> None:
    asked = local_judge(save_model(tmp_path / "tiny-judge", template=template))
    answer = diagnose_trajectory(shop_run(), attributor=asked)
    assert (answer.agent, answer.step, answer.error_mode) == ("Calculator", 3, ErrorMode.FM_2_6)
    assert answer.attributor == "judge/2 all-at-once tiny-judge"
    assert answer.usage is not None
    assert answer.usage.input_tokens > 3_000  # one token a byte
    assert answer.usage.output_tokens == 2  # the reply and the end


def test_a_local_model_chooses_by_its_probabilities_free_of_its_liking_for_labels(tmp_path: Path) -> None:
    asked = local_judge(save_model(tmp_path), protocol="shortlist")
    answer = asked.attribute(shop_run(), candidates=CANDIDATES)
    # It says C each time; over all orders every step was C once, so it has told nothing beside the weights.
    found = {candidate.step: candidate.score for candidate in answer.candidates}
    assert found == {step: pytest.approx(weight / 2, abs=1e-4) for step, weight in {2: 0.1, 3: 0.2, 4: 0.3}.items()}


def test_the_log_probabilities_are_the_models_own(tmp_path: Path) -> None:
    from tracer_hooks.endpoint import ChatMessage, ChatRequest
    from tracer_hooks_models.local_judge import LocalChat

    chat = LocalChat(JudgeOptions(model=str(save_model(tmp_path))))
    request = ChatRequest(
        messages=(ChatMessage("system", "Choose."), ChatMessage("user", "A or B or C?")),
        schema={}, schema_name="choice", max_tokens=8, labels=("A", "B", "C"),
    )  # fmt: skip
    reply = chat.complete(request)
    assert json.loads(reply.text) == {"choice": "C"}
    assert reply.label_logprobs is not None
    # An embedding of length 1 in 8 dimensions is normalised to the square root of 8.
    assert reply.label_logprobs["C"] - reply.label_logprobs["A"] == pytest.approx(0.3 * math.sqrt(8), abs=1e-2)


def test_a_choice_stands_when_its_reason_cannot_be_read(tmp_path: Path) -> None:
    asked = local_judge(save_model(tmp_path, reply="I wonder."), protocol="shortlist")
    answer = asked.attribute(shop_run(), candidates=CANDIDATES[1:2])
    assert (answer.agent, answer.step, answer.error_mode) == ("Calculator", 3, None)
    assert "no usable reason" in answer.evidence[0].why


def test_words_of_a_local_model_that_are_no_json_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputParseError) as raised:
        local_judge(save_model(tmp_path, reply="I wonder.")).attribute(shop_run())
    assert raised.value.raw == "I wonder."


def test_a_reply_that_does_not_end_is_known_to_be_cut(tmp_path: Path) -> None:
    from tracer_hooks.endpoint import ChatMessage, ChatRequest
    from tracer_hooks_models.local_judge import LocalChat

    chat = LocalChat(JudgeOptions(model=str(save_model(tmp_path))))
    request = ChatRequest(messages=(ChatMessage("user", "Go on."),), schema={}, schema_name="x", max_tokens=1)
    assert chat.complete(request).is_cut
    assert not chat.complete(ChatRequest(**{**_fields(request), "max_tokens": 9})).is_cut


def _fields(request: Any) -> dict[str, Any]:
    return {name: getattr(request, name) for name in type(request).__slots__}


def test_the_models_own_context_is_a_limit(tmp_path: Path) -> None:
    directory = save_model(tmp_path)
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    (directory / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 2_048}), encoding="utf-8")
    with pytest.raises(AttributionError, match="a context of 2048 tokens is too small"):
        local_judge(directory).attribute(shop_run())


def test_a_second_judge_uses_the_model_that_is_loaded(tmp_path: Path) -> None:
    from tracer_hooks_models import local_judge as weights

    directory = save_model(tmp_path)
    local_judge(directory).attribute(shop_run())
    before = weights._load.cache_info().misses
    list(diagnose_each([(shop_run(), None)] * 2, attributor=local_judge(directory)))
    assert weights._load.cache_info().misses == before


def test_a_directory_without_a_model_is_an_error_that_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be loaded: .* Expected a directory with a causal language model"):
        local_judge(tmp_path)
