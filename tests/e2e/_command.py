"""The command line as users call it: a process of its own, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Done:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Command:
    """``tracer-hooks`` in ``folder``; every call checks that no traceback reaches the user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        unset = ("TRACER_HOOKS_", "OPENAI_", "COLUMNS")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(unset)}

    @property
    def argv(self) -> list[str]:
        return [sys.executable, "-c", "from tracer_hooks.cli import main; main()"]

    def __call__(self, *arguments: str | Path, timeout: float = 60, **environment: str) -> Done:
        done = subprocess.run(
            [*self.argv, *map(str, arguments)],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        result = Done(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in result.err + result.out
        return result
