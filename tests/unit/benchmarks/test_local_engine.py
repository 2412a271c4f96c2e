"""The local engine gives what the model alone would give, to many requests at once, in OpenAI's form."""

import json
import random
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


def tiny_tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={char: at for at, char in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>")


def tiny_network(family: str) -> Any:
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(
        family, vocab_size=260, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, initializer_range=0.3, eos_token_id=258, bos_token_id=None, pad_token_id=None,
    )  # fmt: skip
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def greedy(network: Any, prompt: list[int], count: int) -> list[int]:
    given = torch.tensor([prompt])
    out = network.generate(
        given, attention_mask=torch.ones_like(given), max_new_tokens=count, do_sample=False, eos_token_id=None
    )
    return list(out[0, len(prompt) :].tolist())


def start(load: Any, engine: Any, prompt: list[int], count: int = 12, **sampling: Any) -> tuple[Any, list[int]]:
    batch, out = load("_engine_batch"), []
    how = load("_engine_batch").Sampling(**{"temperature": 0.0, **sampling})
    ticket = engine.submit(batch.Generation(prompt, count, how, frozenset(), lambda token: out.append(token)))
    return ticket, out


@pytest.fixture(scope="module", params=["llama", "qwen2"])
def pair(request: pytest.FixtureRequest, load: Any) -> Iterator[tuple[Any, Any]]:
    """A tiny model, and an engine over it with fewer slots than the tests send requests."""
    network = tiny_network(request.param)
    tensors = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
    model = load("_engine_network").Model(network.config, tensors, None)
    ours = load("_engine_network").Network(model, "float32", 8, 160)
    engine = load("_engine_batch").Engine(ours, slots=4, chunk=16)
    yield network, engine
    engine.close()


def test_requests_of_different_lengths_get_what_generate_gives(load: Any, pair: Any) -> None:
    network, engine = pair
    draw = random.Random(1)
    begin = [draw.randrange(256) for _ in range(30)]
    shapes = [(30, 5), (30, 40), (0, 3), (10, 10), (30, 5), (20, 60), (30, 1), (1, 1), (0, 50), (30, 0), (30, 0)]
    prompts = [begin[:kept] + [draw.randrange(256) for _ in range(more)] for kept, more in shapes]
    tickets = [start(load, engine, prompt) for prompt in prompts]
    for prompt, (ticket, out) in zip(prompts, tickets, strict=True):
        assert ticket.done.wait(60)
        assert ticket.failure is None
        assert (out, ticket.reason) == (greedy(network, prompt, 12), "length")
    assert [ticket.cached for ticket, _ in tickets][-2:] == [29, 29]
    said = tickets[0][1]
    longer = [*prompts[0], *said, 7, 8, 9]
    again, more = start(load, engine, longer)
    assert again.done.wait(60)
    assert again.cached == len(prompts[0]) + len(said) - 1, "of a conversation that grows only what is new is read"
    assert more == greedy(network, longer, 12)


def test_same_seed_draws_the_same_tokens(load: Any, pair: Any) -> None:
    _, engine = pair
    drawn = []
    for seed in (5, 5, 6):
        ticket, out = start(load, engine, [1, 2, 3], temperature=1.5, top_p=0.9, seed=seed)
        assert ticket.done.wait(60)
        drawn.append(out)
    assert drawn[0] == drawn[1] != drawn[2]


def test_nucleus_draws_only_its_tokens_in_proportion(load: Any) -> None:
    sampling = load("_engine_batch")
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    sampler = sampling.Sampler(sampling.Sampling(temperature=1.0, top_p=0.7, seed=1))
    drawn = [sampler.draw(logits) for _ in range(2000)]
    assert set(drawn) == {0, 1}
    assert drawn.count(0) / 2000 == pytest.approx(0.625, abs=0.04)


def test_eight_bits_are_near_the_full_product(load: Any) -> None:
    if "onednn" not in torch.backends.quantized.supported_engines:
        pytest.skip("this build of torch has no oneDNN quantisation")
    torch.manual_seed(0)
    rows, weight, bias = torch.randn(5, 64), torch.randn(32, 64), torch.randn(32)
    exact = rows @ weight.T + bias
    found = load("_engine_network").linear(weight, bias, "int8")(rows)
    assert float((found - exact).norm() / exact.norm()) < 0.03


def test_calls_are_found_and_keep_their_ids(load: Any) -> None:
    parse = load("_engine_chat").parse_calls
    text = 'I look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Köln"}}\n</tool_call>'
    said, calls = parse(text, {"weather"}, "prompt")
    assert said == "I look."
    assert calls[0]["function"] == {"name": "weather", "arguments": '{"city": "Köln"}'}
    assert parse(text, {"weather"}, "prompt")[1] == calls
    assert parse(text, {"weather"}, "another")[1][0]["id"] != calls[0]["id"]
    loose = '```json\n{"name": "weather", "arguments": {}}\n```'
    assert len(parse(loose, {"weather"}, "")[1]) == 1
    assert parse(loose, {"other"}, "") == (loose, [])
    assert parse("<tool_call>\n{broken", {"weather"}, "") == ("<tool_call>\n{broken", [])


@pytest.mark.parametrize(("stops", "shown"), [(["b!"], "aé"), (["zz"], "aéb!")])
def test_stop_strings_end_the_text_and_are_held_back(load: Any, stops: list[str], shown: str) -> None:
    tokenizer = tiny_tokenizer()
    stream = load("_engine_chat").TextStream(tokenizer, stops)
    pieces = []
    for token in tokenizer("aéb!")["input_ids"]:
        stream.push(token)
        pieces.append(stream.ready())
    stream.finish()
    assert "".join(pieces) + stream.ready(whole=True) == shown
    assert stream.stopped == (shown == "aé")
    assert all("b" not in piece for piece in pieces) or shown == "aéb!"


@pytest.fixture(scope="module")
def port(load: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The server over a tiny model in a folder."""
    folder = tmp_path_factory.mktemp("model")
    tiny_network("qwen2").save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    command, interval = load("local_engine"), sys.getswitchinterval()
    sizes = ["--slots", "4", "--kept", "4", "--max-context", "700", "--dtype", "float32", "--name", "tiny"]
    engine, service = command.build(command.arguments([str(folder), *sizes]))
    server = load("_engine_service").ChatServer(("127.0.0.1", 0), service)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()
    engine.close()
    sys.setswitchinterval(interval)


def ask(port: int, body: Any, path: str = "/v1/chat/completions") -> tuple[int, str]:
    url = f"http://127.0.0.1:{port}{path}"
    response = httpx.get(url, timeout=60) if body is None else httpx.post(url, json=body, timeout=60)
    return response.status_code, response.text


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 8, "unknown": 1, **more}


def test_server_answers_many_at_once_as_it_answers_one(port: int) -> None:
    texts = ["a", "bc", "a longer question", "bc"]
    alone = [json.loads(ask(port, chat(text))[1]) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        together = [json.loads(text) for _, text in pool.map(lambda text: ask(port, chat(text)), texts)]
    assert [one["choices"] for one in together] == [one["choices"] for one in alone]
    usage = alone[3]["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == usage["prompt_tokens"] - 1
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert json.loads(ask(port, None, "/v1/models")[1])["data"][0]["id"] == "tiny"
    stats = json.loads(ask(port, None, "/stats")[1])
    assert stats["requests"] >= 8
    assert stats["cache_hits"] >= 4


def test_stream_has_the_text_and_the_usage_of_the_whole_answer(port: int) -> None:
    whole = json.loads(ask(port, chat("tell"))[1])
    status, text = ask(port, chat("tell", stream=True, stream_options={"include_usage": True}))
    events = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert (status, events[-1]) == (200, "[DONE]")
    chunks = [json.loads(event) for event in events[:-1]]
    streamed = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks if chunk["choices"])
    assert streamed == whole["choices"][0]["message"]["content"]
    assert chunks[-2]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]
    assert chunks[-1]["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]


def test_tools_in_a_history_are_taken(port: int) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bonn"}'}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "?"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
    ]
    status, text = ask(port, {"messages": messages, "tools": [WEATHER], "max_tokens": 4, "temperature": 0})
    assert status == 200, text
    assert json.loads(text)["usage"]["completion_tokens"] <= 4


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        (chat("x" * 800), "messages", "context_length_exceeded"),
        (chat("x", max_tokens=700), "messages", "context_length_exceeded"),
        (chat("x", n=2), "n", None),
        (chat("x", temperature="hot"), "temperature", None),
        (chat("x", tools=[WEATHER], tool_choice={"function": {"name": "other"}}), "tool_choice", None),
        ({"messages": []}, "messages", None),
        ([], None, None),
    ],
)
def test_refusals_have_the_shape_of_openai(port: int, body: Any, param: str | None, code: str | None) -> None:
    status, text = ask(port, body)
    error = json.loads(text)["error"]
    assert (status, error["type"], error["param"], error["code"]) == (400, "invalid_request_error", param, code)
    assert error["message"]


def test_idle_server_stops_by_itself_and_a_missing_model_is_named(load, tmp_path, monkeypatch, capsys) -> None:
    # What the command sets for the whole process.
    monkeypatch.setattr(sys, "setswitchinterval", lambda seconds: None)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    assert load("local_engine").main([str(tmp_path / "none")]) == 2
    assert "expected a folder" in capsys.readouterr().err
    tiny_network("llama").save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    sizes = ["--slots", "2", "--kept", "2", "--max-context", "64"]
    assert load("local_engine").main([str(tmp_path), "--port", "0", "--idle-stop", "0.05", *sizes]) == 0
    assert "http://127.0.0.1:" in capsys.readouterr().out
