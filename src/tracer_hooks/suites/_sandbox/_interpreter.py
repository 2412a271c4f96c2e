"""Which files the interpreter needs: itself, its standard library, and the shared libraries of both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tracer_hooks.suites._sandbox._child import INTERPRETER_FLAGS

_SITE_FOLDERS: Final = ("site-packages", "dist-packages")
_LOADER_CACHE: Final = "/etc/ld.so.cache"

# Asked of the interpreter itself, which knows its layout best, be it pyenv's, conda's, uv's or a distribution's. Every
# extension module is loaded (but those for a screen or a terminal, which there is not inside), so that the loader has
# found all shared libraries that any of them needs; their names are those by which it will look for them again.
_QUESTION: Final = """
import ctypes, glob, importlib, json, os, sys
found = []
class Info(ctypes.Structure):
    _fields_ = [("addr", ctypes.c_void_p), ("name", ctypes.c_char_p)]
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Info), ctypes.c_size_t, ctypes.c_void_p)
def note(info, size, data):
    if info.contents.name:
        found.append(os.fsdecode(info.contents.name))
    return 0
for folder in sys.path:
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.so"))):
        name = os.path.basename(path).partition(".")[0]
        if not name.startswith(("_test", "xx", "_xx", "_tkinter", "_curses", "readline")):
            try:
                importlib.import_module(name)
            except ImportError:
                pass
ctypes.CDLL(None).dl_iterate_phdr(note, None)
answer = json.dumps({"path": sys.path, "loaded": found}).encode()
os.write(1, b"\\n" + answer + b"\\n")
os._exit(0)
"""


@dataclass(frozen=True, kw_only=True)
class InterpreterFiles:
    """What has to be seen inside, each at its own place."""

    executable: str
    """The interpreter, which is no virtual environment's."""
    shown: tuple[str, ...]
    """Files and folders, outer ones first."""
    hidden: tuple[str, ...]
    """Folders in these that hold the packages of others."""
    loader_cache: str | None
    """The loader's list of libraries, which an interpreter needs whose own library lies at an unusual place."""


def interpreter_files(*, timeout_s: float = 60.0) -> InterpreterFiles:
    """The files of the interpreter that runs this process, or of the one that its virtual environment rests on.

    Raises:
        OSError: The interpreter cannot be started.
        subprocess.SubprocessError: It fails or takes too long.
        ValueError: It gives no answer.
    """
    executable = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    asked = subprocess.run(
        [executable, *INTERPRETER_FLAGS, "-c", _QUESTION],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=True, env={}, cwd="/",
    )  # fmt: skip
    answer = json.loads(asked.stdout.splitlines()[-1])
    folders = [os.path.normpath(path) for path in answer["path"] if path and os.path.exists(path)]
    libraries = [os.path.normpath(path) for path in answer["loaded"] if os.path.isabs(path) and os.path.isfile(path)]
    hidden = [os.path.join(folder, name) for folder in folders for name in _SITE_FOLDERS]
    return InterpreterFiles(
        executable=executable,
        shown=tuple(_outermost([executable, *folders, *libraries])),
        hidden=tuple(path for path in hidden if os.path.isdir(path)),
        loader_cache=_LOADER_CACHE if os.path.isfile(_LOADER_CACHE) else None,
    )


def _outermost(paths: list[str]) -> list[str]:
    unique = sorted(set(paths), key=lambda path: (path.count("/"), path))
    return [path for path in unique if not _is_below(path, unique)]


def _is_below(path: str, folders: list[str]) -> bool:
    return any(str(parent) in folders for parent in Path(path).parents)
