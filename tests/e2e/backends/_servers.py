"""Real servers of Phoenix and MLflow, from the environments that ``scripts/backends.py`` makes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[3]
ENVIRONMENTS = Path(os.environ.get("TRACER_HOOKS_TEST_BACKENDS") or ROOT / ".backends")
START_S = 120.0
_Start = Callable[[int, Path], tuple[list[str], dict[str, str]]]


def why_missing(name: str) -> str | None:
    """Why the server of this name cannot be started; None where it can."""
    if (ENVIRONMENTS / name / "made").exists():
        return None
    return f"there is no {name} in {ENVIRONMENTS}; make it with: make backends"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@dataclass
class Server:
    """A server on a loopback port that stays its own, in a folder of its own, and a process group of its own."""

    name: str
    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    """More environment variables, such as those that ask for a key."""
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None
    _log: IO[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        arguments, variables = _STARTS[self.name](self.port, self.folder)
        if "MLFLOW_AUTH_ADMIN_PASSWORD" in self.settings:
            arguments += ["--app-name", "basic-auth"]
        command = [str(ENVIRONMENTS / self.name / "bin" / arguments[0]), *arguments[1:]]
        # Neither the developer's settings nor the paths of the test's Python.
        plain = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        environment = plain | variables | dict(self.settings)
        self._log = (self.folder / "server.log").open("ab")
        self._process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        deadline = time.monotonic() + START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"{self.name} did not start:\n{self.log[-3000:]}")
            time.sleep(0.2)

    def stop(self, *, at_once: bool = False) -> None:
        """End the whole group: workers outlive the process that started them. ``at_once`` gives it no time."""
        process, self._process = self._process, None
        if process is None:
            return
        if not at_once:
            with suppress(subprocess.TimeoutExpired, ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if self._log is not None:
            self._log.close()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/{_HEALTH[self.name]}", timeout=5) as reply:
                return bool(reply.status == 200)
        except (OSError, urllib.error.HTTPError):
            return False


def _phoenix(port: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    return ["phoenix", "serve"], {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        "PHOENIX_DISABLE_AGENT_ASSISTANT": "true",
        "PHOENIX_AGENTS_DISABLE_WEB_ACCESS": "true",
        "PHOENIX_ENABLE_MCP_SERVER": "false",
    }


def _mlflow(port: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    store = ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "files")]
    return ["mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1", *store], {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }


_STARTS: dict[str, _Start] = {"phoenix": _phoenix, "mlflow": _mlflow}
_HEALTH = {"phoenix": "healthz", "mlflow": "health"}
