"""The command line as users call it: a process of its own, in a folder of its own."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import pytest

from tracer_hooks.cli.app import run_app

from ._warm import WarmPython, can_fork

_WARM = WarmPython()


@dataclass(frozen=True)
class Done:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def _said(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()


class Command:
    """``tracer-hooks`` in ``folder``; every call checks that no traceback reaches the user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        unset = ("TRACER_HOOKS_", "OPENAI_", "COLUMNS")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(unset)}

    @property
    def argv(self) -> list[str]:
        return [sys.executable, "-c", "from tracer_hooks.cli import main; main()"]

    def __call__(self, *arguments: str | Path, typed: str = "", **environment: str) -> Done:
        given, shell = [str(one) for one in arguments], {**self.environment, **environment}
        with TemporaryFile() as answers, TemporaryFile() as out, TemporaryFile() as err:
            answers.write(typed.encode())
            answers.seek(0)
            # What Python itself reads when it starts needs a Python that starts.
            if can_fork() and not any(name.startswith("PYTHON") for name in environment):
                code = _WARM.run(given, folder=self.folder, environment=shell, streams=(answers, out, err))
            else:
                code = subprocess.run(
                    [*self.argv, *given], cwd=self.folder, env=shell, stdin=answers, stdout=out, stderr=err, check=False
                ).returncode
            result = Done(code, _said(out), _said(err))
        assert "Traceback" not in result.err + result.out
        return result


class InProcess:
    """The command in this process: there are many ways to call it wrongly, and a process for each takes its time."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str | Path, **environment: str) -> Done:
        with self.clean(environment) as patch:
            patch.setattr(sys, "argv", ["tracer-hooks", *map(str, arguments)])
            code = run_app()
        said = self._capsys.readouterr()
        assert "Traceback" not in said.err + said.out
        return Done(code, said.out, said.err)

    def printed(self) -> str:
        """What was printed since the last command."""
        return self._capsys.readouterr().out

    @contextmanager
    def clean(self, environment: dict[str, str]) -> Iterator[pytest.MonkeyPatch]:
        """In the command's folder, with its variables, and without the user's modules, before and after."""
        known = set(sys.modules)
        with self._monkeypatch.context() as patch:
            patch.chdir(self.folder)
            patch.setattr(sys, "path", [str(self.folder), *sys.path])
            importlib.invalidate_caches()
            for name, value in environment.items():
                patch.setenv(name, value)
            yield patch
        for name in sys.modules.keys() - known:
            if str(self.folder) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]
