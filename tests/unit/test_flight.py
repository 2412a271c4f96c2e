"""Many requests under way against one endpoint that delays, limits, drops and fails."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from email.utils import formatdate
from typing import Any

import pytest

from tracer_hooks._flight import Calls, EndpointGate, GivenUp, gate_of, in_order
from tracer_hooks.endpoint import ChatMessage, ChatRequest, Endpoint, EndpointClient, retry_after
from tracer_hooks.errors import ConfigError, EndpointError
from tracer_hooks.testing import Drop, ErrorReply, Reply, ScriptedLLM, ScriptedRequest

DELAY_S = 0.05
Fault = Callable[[int, str, int], Any]
"""What the n-th request gets instead of an answer, by its question and how often that came; None for an answer."""


class Server:
    """Answers each question with its own text after a delay; counts what is under way, and what was answered."""

    def __init__(self, fault: Fault = lambda number, question, times: None, *, per_s: float | None = None) -> None:
        self.fault, self.per_s = fault, per_s
        self.most = self.requests = 0
        self.answered: Counter[str] = Counter()
        self.arrived: list[tuple[float, str]] = []
        self._under_way, self._lock = 0, threading.Lock()
        self._taken: list[float] = []

    def __call__(self, request: ScriptedRequest) -> Any:
        with self._lock:
            self._under_way += 1
            self.requests += 1
            self.most = max(self.most, self._under_way)
            self.arrived.append((time.monotonic(), request.last))
            times = sum(question == request.last for _, question in self.arrived)
            instead = self.fault(self.requests, request.last, times) or self._limit()
        if instead is None:
            time.sleep(DELAY_S)
        with self._lock:
            self._under_way -= 1
            if instead is None:
                self.answered[request.last] += 1
        return instead if instead is not None else Reply(request.last, usage=(5, 1))

    def _limit(self) -> ErrorReply | None:
        """A server that takes ``per_s`` requests in any second, and says when to come again."""
        if self.per_s is None:
            return None
        now = time.monotonic()
        self._taken = [moment for moment in self._taken if moment > now - 1.0]
        if len(self._taken) >= self.per_s:
            return ErrorReply(429, retry_after=max(0.01, self._taken[0] + 1.0 - now))
        self._taken.append(now)
        return None


_MADE: list[EndpointClient] = []


@pytest.fixture(autouse=True)
def closed_connections() -> Iterator[None]:
    yield
    while _MADE:
        _MADE.pop()._client.close()


def client_of(llm: ScriptedLLM, at_once: int | None, **settings: Any) -> EndpointClient:
    endpoint = Endpoint(base_url=llm.base_url, model="m", concurrency=at_once)
    _MADE.append(EndpointClient(endpoint, needed_by="a test", **{"backoff_s": 0.02, "attempts": 4, **settings}))
    return _MADE[-1]


def asked(client: EndpointClient, question: str, timeout_s: float | None = None) -> str:
    return client.complete(ChatRequest(messages=(ChatMessage("user", question),)), timeout_s=timeout_s).text


def all_asked(server: Server, at_once: int, count: int = 40, **settings: Any) -> float:
    """Ask ``count`` questions of a server; gives the seconds that took. Answers stand in the order of the questions."""
    questions = [f"q{number}" for number in range(count)]
    with ScriptedLLM(default=server) as llm:
        client = client_of(llm, at_once, **settings)
        began = time.monotonic()
        assert list(in_order(lambda question: asked(client, question), questions, at_once)) == questions
        took = time.monotonic() - began
    assert server.answered == Counter(questions), "each is answered once"
    assert server.most <= at_once
    return took


def test_eight_at_once_are_at_least_three_times_as_fast_as_one() -> None:
    one, eight = Server(), Server()
    assert all_asked(one, 1) >= 3 * all_asked(eight, 8)
    assert (one.requests, eight.requests) == (40, 40)
    assert (one.most, eight.most) == (1, 8)


def test_all_is_answered_by_a_server_that_drops_and_fails_now_and_then() -> None:
    def fault(number: int, question: str, times: int) -> Any:
        of = int(question[1:])
        faults = [Drop(sent=0)] * (of % 7 == 0) + [ErrorReply(500)] * (of % 11 == 0)
        return faults[times - 1] if times <= len(faults) else None

    server = Server(fault)
    all_asked(server, 8, 80)
    assert server.requests == 80 + 12 + 8, "each fault costs one request more"


@pytest.mark.parametrize("at_once", [8, 32])
def test_all_is_answered_by_a_server_that_limits_the_rate_and_few_requests_are_refused(at_once: int) -> None:
    server = Server(per_s=20)
    took = all_asked(server, at_once, 60)
    assert took >= 2.0, "the limit was there"
    assert server.requests <= 60 + 2.5 * at_once, "refused ones fall with the number under way"


def test_nobody_sends_anything_during_a_pause_that_one_was_asked_for() -> None:
    server = Server(lambda number, question, times: ErrorReply(429, retry_after=0.6) if number == 9 else None)
    all_asked(server, 4)
    moments = [moment for moment, _ in server.arrived]
    gaps = [after - before for before, after in itertools.pairwise(moments)]
    assert max(gaps[8:13]) >= 0.5, "requests that were under way may still arrive"


def test_calls_go_in_the_order_in_which_they_came_also_those_that_are_sent_again() -> None:
    gate, gone = EndpointGate(), []
    tickets = [gate.ticket() for _ in range(6)]

    def go(ticket: int) -> None:
        with gate.passage(ticket, 1, time.monotonic() + 30):
            gone.append(ticket)

    with ThreadPoolExecutor(6) as pool, gate.passage(gate.ticket(), 1, None):
        for number, ticket in enumerate(reversed(tickets)):
            pool.submit(go, ticket)
            while len(gate._waiting) <= number:
                time.sleep(0.001)
    assert gone == tickets


def test_a_server_that_refuses_all_is_asked_no_more_often_than_attempts_allow() -> None:
    with ScriptedLLM(default=ErrorReply(429, retry_after=0.001)) as llm:
        client = client_of(llm, 4, attempts=3)
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(asked, client, str(number)) for number in range(4)]
            assert all(isinstance(job.exception(30), EndpointError) for job in jobs)
        assert llm.calls == 12


def test_clients_of_one_endpoint_and_key_share_its_gate() -> None:
    server = Server()
    with ScriptedLLM(default=server) as llm:
        clients = [client_of(llm, 3) for _ in range(4)]
        with ThreadPoolExecutor(12) as pool:
            list(pool.map(lambda number: asked(clients[number % 4], str(number)), range(24)))
        assert server.most == 3
        assert gate_of(clients[0].address, "unused").answers == 24
        assert gate_of(clients[0].address, "another key").answers == 0


def test_who_waits_for_its_turn_waits_no_longer_than_it_may() -> None:
    with ScriptedLLM(default=Reply("late", delay_s=20)) as llm:
        client = client_of(llm, 1, timeout_s=1.0, attempts=1)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(asked, client, "first")
            while not llm.calls:
                time.sleep(0.01)
            with pytest.raises(EndpointError, match="did not answer in time"):
                asked(client, "second", timeout_s=0.2)
            assert llm.calls == 1, "the second was not sent"
            assert isinstance(first.exception(20), EndpointError)


def test_whoever_stops_reading_waits_for_no_request_and_none_is_sent_again() -> None:
    answered = threading.Event()

    def refused(request: ScriptedRequest) -> ErrorReply:
        answered.wait(60)
        return ErrorReply(503, retry_after=30)

    with ScriptedLLM(rules=[], default=refused) as llm:
        client = client_of(llm, 4)

        def questions() -> Iterator[str]:
            for number in range(8):
                yield str(number)
            while llm.calls < 4:
                time.sleep(0.01)
            raise KeyboardInterrupt

        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            list(in_order(lambda question: asked(client, question), questions(), 5))
        assert time.monotonic() - began < 50, "and not until they are answered"
        answered.set()
        time.sleep(0.3)
        assert llm.calls == 4, "neither those that waited nor those that were refused"


def test_calls_that_are_given_up_make_no_more() -> None:
    calls, made = Calls(), threading.Event()
    assert calls.run(lambda: 42) == 42
    with pytest.raises(ValueError, match="own"):
        calls.run(lambda: int("own"))
    with ThreadPoolExecutor(1) as pool:
        stuck = pool.submit(calls.run, lambda: made.wait(20))
        while not calls._under_way:
            time.sleep(0.01)
        calls.give_up()
        calls.give_up()
        assert isinstance(stuck.exception(5), GivenUp)
    made.set()
    with pytest.raises(GivenUp):
        calls.run(lambda: 1)


def test_the_number_under_way_halves_once_for_requests_sent_together_and_grows_back_slowly() -> None:
    gate = EndpointGate()

    def entered(count: int) -> int:
        """How many of ``count`` calls the gate lets through at the same time."""
        inside = 0

        def enter(left: int) -> None:
            nonlocal inside
            if left:
                try:
                    with gate.passage(gate.ticket(), None, time.monotonic() + 0.02):
                        inside += 1
                        enter(left - 1)
                except TimeoutError:
                    pass

        enter(count)
        return inside

    assert entered(20) == 20
    with ExitStack() as four:
        begun = [four.enter_context(gate.passage(gate.ticket(), None, None)) for _ in range(4)]
        gate.refused(begun[0], 0.0)
        gate.refused(begun[3], 0.0)
    assert entered(20) == 2
    for _ in range(4):
        gate.answered()
    assert entered(20) == 3
    for _ in range(200):
        gate.answered()
    assert entered(40) == 20


def test_a_date_says_how_long_to_wait() -> None:
    class Response:
        headers = {"retry-after": formatdate(time.time() + 30, usegmt=True)}

    assert retry_after(Response()) == pytest.approx(30, abs=2)
    Response.headers = {"retry-after": "tomorrow"}
    assert retry_after(Response()) is None


def test_an_endpoint_takes_one_request_at_least() -> None:
    with pytest.raises(ConfigError, match="concurrency of an endpoint is 0, expected 1 or more"):
        Endpoint(base_url="http://127.0.0.1:9/v1", model="m", concurrency=0)
