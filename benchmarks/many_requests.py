"""Questions a second at a slow endpoint, by how many are under way, with and without a limit of its rate.

    python benchmarks/many_requests.py [--delay 0.2] [--limit 50] [--questions 400] [--json FILE]

The endpoint is the scripted server in a process of its own. With a limit it takes so many requests in any second, and
refuses the others with 429 and Retry-After. Every question is of another text, and has to get the answer to that one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import threading
import time
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tracer_hooks._flight import in_order
from tracer_hooks.endpoint import ChatMessage, ChatRequest, Endpoint, EndpointClient
from tracer_hooks.testing import ErrorReply, Reply, ScriptedLLM, ScriptedRequest

AT_ONCE = (1, 4, 16, 64)


@dataclass(frozen=True)
class Measured:
    """One row."""

    at_once: int
    """Requests under way at most."""
    limit: int | None
    """Requests that the endpoint takes in any second."""
    questions: int
    """Questions, all of them answered."""
    seconds: float
    """From the first question to the last answer."""
    requests: int
    """Requests that the endpoint got."""
    most: int
    """Requests that it had at the same time."""


def serve(said: Connection, delay_s: float, limit: int | None) -> None:
    """Serve until something is received, then send how many requests came, and how many at the same time."""
    lock, taken, under_way, most = threading.Lock(), list[float](), 0, 0

    def reply(request: ScriptedRequest) -> Any:
        nonlocal under_way, most
        with lock:
            now = time.monotonic()
            taken[:] = [moment for moment in taken if moment > now - 1.0]
            if limit is not None and len(taken) >= limit:
                return ErrorReply(429, retry_after=max(0.01, taken[0] + 1.0 - now))
            taken.append(now)
            under_way += 1
            most = max(most, under_way)
        time.sleep(delay_s)
        with lock:
            under_way -= 1
        return Reply(request.last)

    with ScriptedLLM(default=reply) as llm:
        said.send(llm.base_url)
        said.recv()
        said.send((llm.calls, most))


def measured(at_once: int, limit: int | None, questions: int, delay_s: float) -> Measured:
    """Ask all questions of a new server."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, delay_s, limit))
    server.start()
    endpoint = Endpoint(base_url=ours.recv(), model="scripted", concurrency=at_once)
    client = EndpointClient(endpoint, needed_by="the benchmark")

    def ask(number: int) -> str:
        return client.complete(ChatRequest(messages=(ChatMessage("user", f"question {number}"),))).text

    ask(-1)  # the first one makes the client's connection
    began = time.monotonic()
    answers = list(in_order(ask, range(questions), at_once))
    seconds = time.monotonic() - began
    assert answers == [f"question {number}" for number in range(questions)]
    ours.send("end")
    requests, most = ours.recv()
    server.join()
    return Measured(at_once, limit, questions, seconds, requests - 1, most)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--delay", type=float, default=0.2, help="seconds that an answer takes")
    parser.add_argument("--limit", type=int, default=50, help="requests a second of the limited endpoint")
    parser.add_argument("--questions", type=int, default=400, help="questions at 16 and more under way; fewer below")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print("| under way | limit | questions/s | requests a question | most at once |\n|--:|--:|--:|--:|--:|")
    rows = []
    for limit in (None, options.limit):
        for at_once in AT_ONCE:
            count = max(1, min(options.questions, 25 * at_once))
            row = measured(at_once, limit, count, options.delay)
            rows.append(asdict(row))
            cells = f"{row.questions / row.seconds:.1f} | {row.requests / row.questions:.2f} | {row.most}"
            print(f"| {at_once} | {limit or 'none'} | {cells} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"delay_s": options.delay, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
