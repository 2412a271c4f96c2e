"""``tracer-hooks serve`` as a process: killed, ended, its port taken, a second one beside it, without its extra."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.store import RunStore

from ..unit.serving._served import request_of, trace
from ._command import Command, InProcess

pytestmark = pytest.mark.slow


class Running:
    """A server on a free port, and where it is."""

    def __init__(self, command: Command, *arguments: str, **environment: str) -> None:
        shell = {**command.environment, **environment, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [*command.argv, "serve", "--port", "0", *arguments],
            cwd=command.folder, env=shell, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.first = self.process.stdout.readline()
        found = re.search(r"at (http://\S+?)/(\?token=\S+)?\n", self.first)
        assert found is not None, self.first + self.process.stdout.read()
        self.base, self.asked = found[1].replace("0.0.0.0", "127.0.0.1"), found[2] or ""

    def ask(self, address: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
        told = {"Content-Type": "application/json", **headers} if body is not None else headers
        try:
            with urllib.request.urlopen(urllib.request.Request(self.base + address, body, told), timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=20)

    def end(self, how: signal.Signals) -> tuple[int, float, str]:
        """Its exit code, how long it took, and what it said."""
        began = time.monotonic()
        self.process.send_signal(how)
        said, _ = self.process.communicate(timeout=20)
        return self.process.returncode, time.monotonic() - began, said


@pytest.fixture
def serve(command: Command) -> Iterator[Any]:
    with contextlib.ExitStack() as left:

        def started(*arguments: str, **environment: str) -> Running:
            running = Running(command, *arguments, **environment)
            left.callback(running.stop)
            return running

        yield started


def runs_when(path: Path, number: int) -> list[str]:
    """The ids of the stored runs, as soon as there are so many, and a little later."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if path.exists() and len(RunStore(path).list(limit=500)) >= number:
            break
        time.sleep(0.1)
    time.sleep(0.5)
    return sorted(each.run_id for each in RunStore(path).list(limit=500))


def test_ctrl_c_ends_it_at_once_and_well(serve: Any) -> None:
    running = serve()
    assert json.loads(running.ask("/healthz")[1])["status"] == "ok"
    kept_open = socket.create_connection(("127.0.0.1", int(running.base.rpartition(":")[2])))
    code, seconds, said = running.end(signal.SIGINT)
    kept_open.close()
    assert (code, "Traceback" in said) == (0, False), said
    assert seconds < 5


def test_what_was_acknowledged_is_there_after_a_kill_and_only_once(serve: Any, command: Command) -> None:
    path = command.folder / ".tracer_hooks" / "runs.sqlite"
    runs = []
    for _ in range(3):
        running = serve()
        for _ in range(4):
            run = trace()
            assert running.ask("/v1/traces", request_of(run)) == (200, "{}")
            runs.append(run.run_id)
        running.end(signal.SIGKILL)
    last = serve()
    assert runs_when(path, len(runs)) == sorted(runs)
    assert "12 runs, 12 failed" in last.ask("/")[1]
    assert oct(path.parent.stat().st_mode)[-3:] == "700"


def test_a_port_that_is_taken_is_said_with_another_one(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = command("serve", "--port", str(port))
    assert (done.code, f"Run: tracer-hooks serve --port {port + 1}" in done.err) == (2, True), done.err


def test_two_servers_share_a_store(serve: Any, command: Command) -> None:
    one, two = serve(), serve()
    run = trace()
    assert one.ask("/v1/traces", request_of(run))[0] == 200
    assert runs_when(command.folder / ".tracer_hooks" / "runs.sqlite", 1) == [run.run_id]
    assert "1 run, 1 failed" in one.ask("/")[1]
    assert "1 run, 1 failed" in two.ask("/")[1]


def test_elsewhere_than_here_it_prints_a_token_and_asks_for_it(serve: Any) -> None:
    running = serve("--host", "0.0.0.0")
    assert running.ask("/")[0] == 401
    token = running.asked.removeprefix("?token=")
    assert running.ask("/", Authorization=f"Bearer {token}")[0] == 200
    assert running.ask(f"/?token={token}")[0] in (200, 401), "the client keeps no cookies"
    code, _, said = running.end(signal.SIGINT)
    assert (code, token in said) == (0, False)


def test_a_token_of_ones_own_is_asked_for_and_not_printed(serve: Any) -> None:
    token = "one-that-nobody-else-knows"
    running = serve(TRACER_HOOKS_SERVE_TOKEN=token)
    assert (running.ask("/")[0], running.ask("/", Authorization=f"Bearer {token}")[0]) == (401, 200)
    _, _, said = running.end(signal.SIGINT)
    assert token not in running.first + said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--token", "short"], "expected 16 or more"),
        (["--public-url", "here"], "expected one such as https://"),
        (["--host", "203.0.113.7"], "expected an address of this host"),
        (["--store", "postgresql://u:hunter2@h/d"], "--store"),
    ],
)
def test_what_cannot_be_used_ends_the_call(command: Command, arguments: list[str], said: str) -> None:
    done = command("serve", *arguments)
    assert (done.code, said in done.err, "hunter2" in done.err) == (2, True, False), done.err


def test_without_its_extra_it_says_what_to_install(in_process: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("starlette", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    done = in_process("serve")
    assert done.code == 3
    assert "pip install" in done.err
    assert "serve" in done.err
    assert not list(in_process.folder.iterdir())


def test_it_imports_no_module_of_the_folder_that_it_is_started_in(serve: Any, command: Command) -> None:
    (command.folder / "team.py").write_text("open('imported', 'w')")
    running = serve()
    assert running.ask("/label")[0] == 200
    running.end(signal.SIGINT)
    assert sorted(os.listdir(command.folder)) == ["team.py"]
