"""What a reading measures, compared with the model's own numbers and with numbers worked out by hand."""

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode

from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks_models.prefill import PrefillOptions
from tracer_hooks_models.prefill._reader import extract, read, read_alone, windows
from tracer_hooks_models.prefill._render import shorten, step_text, transcribe

SHAPE = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
    "max_position_embeddings",
)  # fmt: skip
CONTENTS = ("the clerk adds the apples", "alpha beta gamma delta", "the sum is river stone zebra", "an error, a result")


def transcript_of(model, trajectory, *, limit: int = 60):
    texts = [shorten(model.tokenizer, step_text(step), limit, "head") for step in trajectory.steps]
    return transcribe(model.tokenizer, trajectory, texts, task_tokens=40)


def with_window(model, window):
    return dataclasses.replace(model, window=window)


def plain_forward(model, tokens, **more: Any):
    with torch.inference_mode():
        return model.network(input_ids=torch.as_tensor(tokens)[None], **more)


def test_surprise_is_the_negative_log_likelihood_of_each_token(random_model, make_run) -> None:
    transcript = transcript_of(random_model, make_run(*CONTENTS))
    reading = read(random_model, transcript, chunk=16)
    logits = plain_forward(random_model, transcript.tokens).logits[0].double()
    expected = -torch.log_softmax(logits, -1)[np.arange(len(transcript.tokens) - 1), transcript.tokens[1:]]
    np.testing.assert_allclose(reading.surprise[1:], expected.numpy(), atol=1e-4)
    assert np.isnan(reading.surprise[0])


OTHER_KINDS = {"qwen2": {}, "qwen3": {"head_dim": 8}, "mistral": {"sliding_window": 24}}


@pytest.fixture(params=["llama", *OTHER_KINDS])
def any_model(request: pytest.FixtureRequest, random_model):
    """A model of the same size in several architectures: biases, normalised queries, layers that see few tokens."""
    if request.param == "llama":
        return random_model
    settings = {name: getattr(random_model.network.config, name) for name in SHAPE}
    config = transformers.AutoConfig.for_model(request.param, **settings, **OTHER_KINDS[request.param])
    torch.manual_seed(1)
    config._attn_implementation = random_model.network.config._attn_implementation
    network = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=config._attn_implementation)
    return dataclasses.replace(random_model, network=network.eval())


def test_attention_is_that_of_the_last_layers_averaged_over_heads(any_model, make_run) -> None:
    transcript = transcript_of(any_model, make_run(*CONTENTS))
    reading = read(any_model, transcript, chunk=16)
    eager = copy.deepcopy(any_model.network)
    eager.set_attn_implementation("eager")
    output = plain_forward(dataclasses.replace(any_model, network=eager), transcript.tokens, output_attentions=True)
    maps = torch.stack([output.attentions[k][0] for k in sorted(any_model.flow_layers)]).mean(dim=(0, 1)).numpy()
    for step in range(4):
        for source in range(4):
            block = maps[np.ix_(transcript.owner == step, transcript.owner == source)]
            assert reading.attention[step, source] == pytest.approx(block.sum(axis=1).mean(), abs=1e-5)
    np.testing.assert_allclose(reading.attention.sum(axis=1), 1, atol=1e-4)


def test_hidden_states_are_the_mean_and_the_last_of_each_step(random_model, make_run) -> None:
    transcript = transcript_of(random_model, make_run(*CONTENTS))
    reading = read(random_model, transcript, chunk=16)
    output = plain_forward(random_model, transcript.tokens, output_hidden_states=True)
    states = torch.cat([output.hidden_states[layer][0] for layer in random_model.hidden_layers], dim=-1).numpy()
    own = states[transcript.owner == 2]
    np.testing.assert_allclose(reading.hidden[2], np.concatenate([own.mean(axis=0), own[-1]]), atol=1e-4)


def test_the_size_of_the_chunks_and_a_window_that_holds_all_change_nothing(random_model, make_run) -> None:
    transcript = transcript_of(random_model, make_run(*CONTENTS))
    small, large = read(random_model, transcript, chunk=7), read(random_model, transcript, chunk=4096)
    np.testing.assert_allclose(small.surprise, large.surprise, atol=1e-4)
    np.testing.assert_allclose(small.attention, large.attention, atol=1e-5)
    np.testing.assert_allclose(small.hidden, large.hidden, atol=1e-4)
    whole = read(with_window(random_model, len(transcript.tokens)), transcript, chunk=4096)
    np.testing.assert_array_equal(large.surprise, whole.surprise)
    np.testing.assert_array_equal(large.attention, whole.attention)
    assert whole.tokens == len(transcript.tokens)


def test_in_windows_every_token_is_read_with_the_task_and_half_a_window_before_it(random_model, make_run) -> None:
    transcript = transcript_of(random_model, make_run(*CONTENTS * 5))
    window = 2 * transcript.kept + 40
    full = read(random_model, transcript, chunk=64)
    reading = read(with_window(random_model, window), transcript, chunk=64)
    np.testing.assert_allclose(reading.surprise[:window], full.surprise[:window], atol=1e-4)
    overlap = (window - transcript.kept) // 2
    second = np.concatenate([np.arange(transcript.kept), np.arange(window - overlap, window + 1)])
    logits = plain_forward(random_model, transcript.tokens[second]).logits[0].double()
    expected = -torch.log_softmax(logits, -1)[-2, transcript.tokens[window]]
    assert reading.surprise[window] == pytest.approx(float(expected), abs=1e-4)
    assert np.isfinite(reading.surprise[1:]).all()
    for read_so in (full, reading):
        np.testing.assert_allclose(read_so.attention.sum(axis=1), 1, atol=1e-4)
        assert np.triu(read_so.attention[:, :-1], k=1).max() == 0, "attention looks back only"


@pytest.mark.parametrize(("length", "kept", "window"), [(10, 3, 20), (20, 3, 20), (21, 3, 20), (500, 40, 101)])
def test_windows_hold_each_token_once_as_new(length, kept, window) -> None:
    new = []
    for places, known in windows(length, kept, window):
        assert len(places) <= window
        assert list(places[:kept]) == list(range(kept))
        new += list(places[known:])
    assert new == list(range(length))


def test_a_preamble_that_fills_the_window_and_values_that_are_no_numbers_are_errors(random_model, make_run) -> None:
    transcript = transcript_of(random_model, make_run(*CONTENTS))
    with pytest.raises(ConfigError, match="twice the preamble"):
        read(with_window(random_model, transcript.kept + 30), transcript, chunk=64)
    broken = copy.deepcopy(random_model.network)
    with torch.no_grad():
        broken.lm_head.weight.fill_(float("nan"))
    with pytest.raises(AttributionError, match="float32"):
        read(dataclasses.replace(random_model, network=broken), transcript, chunk=64)


def test_words_that_were_said_before_surprise_less_in_context_than_alone(counting_model, make_run) -> None:
    fresh, again = "alpha beta gamma river stone zebra", "the clerk adds the apples"
    options = PrefillOptions(model=".", task_tokens=40)
    features = extract(counting_model, make_run(*[again] * 6, fresh, again), options)
    gain = features.alone[:, 0] - features.surprise[:, 0]
    assert gain[7] > 0.1
    assert gain[7] > gain[6] + 0.1
    assert features.surprise[7, 0] < features.surprise[6, 0]
    assert (features.surprise[:, 1] >= features.surprise[:, 0] * 0.5).all()
    np.testing.assert_allclose(features.surprise[:, 2], features.surprise[:, 0] * features.counts, rtol=1e-4)


@pytest.mark.parametrize("batch_tokens", [1, 60, 4096])
def test_alone_means_with_nothing_but_the_task_before_it(random_model, make_run, batch_tokens: int) -> None:
    transcript = transcript_of(random_model, make_run(*CONTENTS))
    surprise, tokens = read_alone(random_model, transcript, batch_tokens=batch_tokens)
    for step, (start, end) in enumerate(transcript.pieces):
        own = np.concatenate([transcript.tokens[: transcript.kept], transcript.tokens[start:end]])
        logits = plain_forward(random_model, own).logits[0].double()
        expected = -torch.log_softmax(logits, -1)[np.arange(len(own) - 1), own[1:]].numpy()
        body = transcript.owner[start:end] == step
        np.testing.assert_allclose(surprise[start:end][body], expected[transcript.kept - 1 :][body], atol=1e-4)
    assert np.isnan(surprise[transcript.owner < 0]).all()
    assert tokens >= transcript.kept + sum(end - start for start, end in transcript.pieces)


class Largest(TorchDispatchMode):
    """Notes the largest tensor that any operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.values = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for one in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(one, torch.Tensor):
                self.values = max(self.values, one.numel())
        return made


def test_a_run_of_130_steps_and_300_000_characters_needs_no_square_of_its_length(random_model, make_run) -> None:
    trajectory = make_run(*(f"{k} the clerk adds river stones " * 90 for k in range(130)))
    assert sum(len(step.content) for step in trajectory.steps) > 300_000
    window, chunk = 2048, 128
    model = with_window(random_model, window)
    with Largest() as largest:
        features = extract(model, trajectory, PrefillOptions(model=".", task_tokens=40, step_tokens=60, chunk=chunk))
    length = int(features.counts.sum())
    vocabulary, heads = len(model.tokenizer), 4
    assert length == 130 * 60
    assert largest.values <= max(chunk * window * heads, 512 * vocabulary)
    assert largest.values < length**2 / 100
    assert np.isfinite(features.surprise).all()
    np.testing.assert_allclose(features.attention.sum(axis=1), 1, atol=1e-3)
