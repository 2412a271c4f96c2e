"""Scripted failures on the wire, and the life of the server."""

import json
import os
import socket
import socketserver
import subprocess
import sys
import threading
import time
from typing import Any

import httpx
import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.testing import Drop, ErrorReply, Garbage, Reply, ScriptedLLM, When

BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def post(llm: ScriptedLLM, *, stream: bool = False, timeout: float = 20.0) -> httpx.Response:
    return httpx.post(f"{llm.base_url}/chat/completions", json={**BODY, "stream": stream}, timeout=timeout)


@pytest.mark.parametrize("stream", [False, True])
def test_an_error_reply_has_openais_form_and_its_type_and_code_can_be_scripted(stream: bool) -> None:
    scripted = ErrorReply(400, type="t", code="content_filter")
    with ScriptedLLM([ErrorReply(429, message="slow down", retry_after=1.5), scripted, ErrorReply()]) as llm:
        response, filtered, default = (post(llm, stream=stream) for _ in range(3))
    assert response.status_code == 429
    expected = {"message": "slow down", "type": "rate_limit_error", "param": None, "code": None}
    assert response.json()["error"] == expected
    assert (response.headers["retry-after"], response.headers["retry-after-ms"]) == ("2", "1500")
    assert (filtered.json()["error"]["type"], filtered.json()["error"]["code"]) == ("t", "content_filter")
    assert (default.status_code, default.json()["error"]["type"]) == (500, "server_error")
    assert "retry-after" not in default.headers


def test_a_dropped_reply_stops_in_the_middle_of_its_body() -> None:
    with ScriptedLLM([Drop(), Drop(sent=0)]) as llm:
        with pytest.raises(httpx.RemoteProtocolError, match="complete message body"):
            post(llm)
        with pytest.raises(httpx.RemoteProtocolError, match="without sending"):
            post(llm)
        assert post(llm).status_code == 400, "the server must live on"


def test_a_dropped_stream_delivers_its_beginning() -> None:
    got: list[Any] = []
    with ScriptedLLM([Drop("one two three four")]) as llm:
        url = f"{llm.base_url}/chat/completions"
        with (
            pytest.raises(httpx.RemoteProtocolError),
            httpx.stream("POST", url, json={**BODY, "stream": True}) as response,
        ):
            got.extend(response.iter_lines())
    text = "".join(got)
    assert '"content": "one"' in text
    assert "four" not in text
    assert "[DONE]" not in text


def test_garbage_is_sent_as_it_is() -> None:
    page_reply = Garbage("<h1>Bad gateway</h1>", content_type="text/html")
    with ScriptedLLM([Garbage('{"choices": ['), page_reply, Garbage("{half")]) as llm:
        broken, page = post(llm), post(llm)
        assert post(llm, stream=True).text == "data: {half\n\ndata: [DONE]\n\n", "in a stream it is one event"
        with pytest.raises(json.JSONDecodeError):
            broken.json()
    assert broken.text == '{"choices": ['
    assert (page.text, page.headers["content-type"]) == ("<h1>Bad gateway</h1>", "text/html")


def test_a_delay_holds_the_reply_back_and_a_pause_comes_between_the_pieces_of_a_stream_alone() -> None:
    with ScriptedLLM([Reply("a", delay_s=0.1), Reply("a b", pause_s=0.1), Reply("a b", pause_s=600)]) as llm:
        for stream, seconds in ((False, 0.1), (True, 0.2), (False, 0.0)):
            begin = time.perf_counter()
            assert post(llm, stream=stream).status_code == 200
            assert time.perf_counter() - begin >= seconds


def test_a_client_that_gives_up_leaves_the_server_working_and_close_ends_the_wait() -> None:
    with ScriptedLLM([Reply("late", delay_s=600), "next"]) as llm:
        with pytest.raises(httpx.ReadTimeout):
            post(llm, timeout=0.2)
        assert post(llm).status_code == 200
        threads = [t for t in threading.enumerate() if "process_request_thread" in t.name]
        assert threads, "the delayed reply is still waiting"
    assert not any(t.is_alive() for t in threads)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ErrorReply(200), "400 to 599"),
        (lambda: ErrorReply(429, retry_after=-1), "retry_after=-1"),
        (lambda: Drop(sent=1), "sent=1"),
        (lambda: Garbage("x", delay_s=-2), "delay_s=-2"),
    ],
)
def test_a_failure_that_makes_no_sense_is_refused(make, message) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "'messages'"),
        (b'{"messages": ["x"]}', "list of objects"),
    ],
)
def test_a_malformed_request_is_refused_and_not_counted(content, message) -> None:
    with ScriptedLLM(default="ok") as llm:
        response = httpx.post(f"{llm.base_url}/chat/completions", content=content)
        assert response.status_code == 400
        assert message in response.json()["error"]["message"]
        assert (llm.calls, post(llm).status_code, llm.requests[0].index) == (0, 200, 0)


def test_an_unknown_path_names_those_that_are_served_and_a_body_without_length_is_refused() -> None:
    with ScriptedLLM(default="ok") as llm:
        unknown = httpx.post(f"{llm.base_url}/embeddings", json={})
        unsized = httpx.post(f"{llm.base_url}/chat/completions", content=iter([b"{}"]))
    for response, code, said in ((unknown, 404, "POST /v1/chat/completions"), (unsized, 411, "Content-Length")):
        assert response.status_code == code
        assert said in response.json()["error"]["message"]


def test_close_frees_port_and_threads_and_may_be_called_again() -> None:
    before = set(threading.enumerate())
    llm, other = ScriptedLLM(default="ok"), ScriptedLLM(["b"])
    url = llm.base_url
    assert url.startswith("http://127.0.0.1:"), "on loopback only"
    assert url.endswith("/v1")
    assert llm.env() == {"OPENAI_BASE_URL": url, "OPENAI_API_BASE": url, "OPENAI_API_KEY": llm.api_key}
    peers = set()
    with httpx.Client() as client:
        for stream in (False, True, False):
            response = client.post(f"{url}/chat/completions", json={**BODY, "stream": stream})
            peers.add(response.extensions["network_stream"].get_extra_info("client_addr"))
        assert len(peers) == 1, "one connection serves many requests"
        llm.close()
        llm.close()
    assert "b" in post(other).json()["choices"][0]["message"]["content"], "two servers do not mix"
    other.close()
    assert set(threading.enumerate()) <= before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(url.split(":")[2].removesuffix("/v1"))), timeout=5)
    assert (llm.calls, other.calls) == (3, 1), "the record of requests outlives the server"


def run_python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)


def test_a_program_that_forgets_to_close_ends_silently_and_loads_no_framework() -> None:
    done = run_python(
        """
import http.client, json, sys
from tracer_hooks.testing import Drop, Reply, ScriptedLLM
heavy = ("torch", "numpy", "openai", "httpx", "autogen_core", "crewai", "langgraph", "langchain_core")
assert not [name for name in heavy if name in sys.modules]
llm = ScriptedLLM([Reply("late", delay_s=600), Drop()], default="ok")
host = llm.base_url.removeprefix("http://").removesuffix("/v1")
for _ in range(3):
    connection = http.client.HTTPConnection(host)
    body = json.dumps({"messages": [{"role": "user", "content": "x"}]})
    connection.request("POST", "/v1/chat/completions", body)
connection.getresponse()
print("end")
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork exists on POSIX only")
def test_a_forked_child_leaves_its_parents_server_alone() -> None:
    done = run_python(
        """
import os, sys, urllib.request
from tracer_hooks.testing import ScriptedLLM
llm = ScriptedLLM()
child = os.fork()
if child == 0:
    sys.exit(0)
_, status = os.waitpid(child, 0)
print(status, urllib.request.urlopen(llm.base_url + "/models", timeout=10).status)
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 200\n", "")


def test_a_port_is_not_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedLLM(rules=[When().then("42")]) as first:
        used = first.base_url
    # The system is free to name the same port again; a client that is kept for it would hold dead connections.
    port = int(used.rpartition(":")[2].partition("/")[0])
    with socket.create_server(("127.0.0.1", 0)) as other:
        free = other.getsockname()[1]
    wanted = iter([port, port, free])
    bind = socketserver.TCPServer.server_bind

    def bind_as_wanted(server: socketserver.TCPServer) -> None:
        server.server_address = ("127.0.0.1", next(wanted, 0))
        bind(server)

    monkeypatch.setattr(socketserver.TCPServer, "server_bind", bind_as_wanted)
    monkeypatch.setattr(socketserver.TCPServer, "allow_reuse_port", True, raising=False)
    with ScriptedLLM(rules=[When().then("42")]) as second:
        assert second.base_url != used
