"""The command line as users call it: a process of its own, in a folder of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

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

    def __call__(self, *arguments: str | Path, **environment: str) -> Done:
        given, shell = [str(one) for one in arguments], {**self.environment, **environment}
        with TemporaryFile() as out, TemporaryFile() as err:
            # What Python itself reads when it starts needs a Python that starts.
            if can_fork() and not any(name.startswith("PYTHON") for name in environment):
                code = _WARM.run(given, folder=self.folder, environment=shell, out=out, err=err)
            else:
                command, where = [*self.argv, *given], self.folder
                code = subprocess.run(command, cwd=where, env=shell, stdout=out, stderr=err, check=False).returncode
            result = Done(code, _said(out), _said(err))
        assert "Traceback" not in result.err + result.out
        return result
