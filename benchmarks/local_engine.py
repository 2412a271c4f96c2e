"""Serve a small language model on the CPU to many agents at once, behind an OpenAI-compatible endpoint.

    python benchmarks/local_engine.py MODEL [--port 8123] [--slots 16] [--threads 1] [--dtype int8] [--name qwen]

``MODEL`` is a folder as transformers saves it, or a GGUF file, of the Llama or Qwen2 family. All requests under way
go through the model together, and what one request has read of a prompt, others with the same beginning use again.
``POST /v1/chat/completions`` knows messages, tools, ``tool_choice``, sampling, ``seed``, ``stop`` and streaming, and
passes over other fields; ``GET /v1/models`` names the model; ``GET /stats`` says what was done and how fast.
The same ``seed`` draws the same numbers; which other requests share a pass may still change an answer's last digits.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import torch
from _engine_batch import Engine
from _engine_network import FORMATS, ModelError, Network, read_model, write_model
from _engine_service import ChatServer, Service


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("model", type=Path, metavar="MODEL")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8123, help="0 takes a free one")
    parser.add_argument("--name", help="the model's name in answers; the file's name if left out")
    parser.add_argument("--slots", type=int, default=16, help="requests under way at once")
    parser.add_argument("--kept", type=int, default=32, help="finished requests whose reading is kept for others")
    parser.add_argument("--max-context", type=int, default=2048, help="tokens of a prompt and its answer")
    parser.add_argument("--max-tokens", type=int, default=512, help="of an answer, where a request does not say")
    parser.add_argument("--chunk", type=int, default=256, help="tokens of prompts read in one pass")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--dtype", choices=FORMATS, default="bfloat16")
    parser.add_argument("--convert", type=Path, metavar="FOLDER", help="write the model there, to load faster, and end")
    parser.add_argument("--idle-stop", type=float, metavar="SECONDS", help="stop after so long without a request")
    return parser.parse_args(given)


def build(options: argparse.Namespace) -> tuple[Engine, Service]:
    """Load the model and start its engine."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Threads that read and write HTTP would otherwise keep the engine from its next pass for 5 ms at a time.
    sys.setswitchinterval(0.0005)
    torch.set_num_threads(options.threads)
    model = read_model(options.model, torch.float32 if options.dtype == "float32" else torch.bfloat16)
    ends = _ends(model.config.eos_token_id)
    network = Network(model, options.dtype, options.slots + options.kept, options.max_context)
    engine = Engine(network, slots=options.slots, chunk=options.chunk, threads=options.threads)
    name = options.name or options.model.stem
    service = Service(
        engine, model.tokenizer, ends=ends, name=name, context=options.max_context, default_most=options.max_tokens
    )
    return engine, service


def _ends(given: Any) -> frozenset[int]:
    return frozenset(given) if isinstance(given, list) else frozenset() if given is None else frozenset({given})


def stop_when_idle(server: ChatServer, engine: Engine, seconds: float) -> None:
    while sum(engine.load) or time.monotonic() - server.last_request < seconds:
        time.sleep(min(1.0, seconds / 4))
    server.shutdown()


def main(given: list[str] | None = None) -> int:
    options = arguments(given)
    try:
        if options.convert:
            write_model(read_model(options.model, torch.bfloat16), options.convert)
            return 0
        engine, service = build(options)
    except ModelError as error:
        print(error, file=sys.stderr)
        return 2
    server = ChatServer((options.host, options.port), service)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    if options.idle_stop:
        threading.Thread(target=stop_when_idle, args=(server, engine, options.idle_stop), daemon=True).start()
    print(f"{service.name} at http://{options.host}:{server.server_address[1]}/v1", flush=True)
    server.serve_forever(poll_interval=0.1)
    server.server_close()
    engine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
