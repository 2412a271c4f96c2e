"""Where a team stands in the user's code: names by which it and its check load again, and the lines of its parts."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracer_hooks._guard import guard
from tracer_hooks.frameworks.plain import PLACES

if TYPE_CHECKING:
    from tracer_hooks.schema import Trajectory
    from tracer_hooks.store import TeamOrigin

_SCRIPT = ("__main__", "__mp_main__")
_GUARDED = re.compile(r"""^if .*__name__.*==""", re.MULTILINE)
_NAMES = ("name", "role")
"""Arguments that name an agent or a tool."""
_LARGEST_FILE = 1_000_000


@dataclass(frozen=True)
class TeamCode:
    """Names of what builds a team and of what checks its runs, each only where it is found again under that name."""

    built_by: str = ""
    """``module:name`` or ``path/to/file.py:name``."""
    checked_by: str = ""
    """The same of the check."""
    module: str = ""
    """The module in which its agents, tools and prompts are looked for."""

    @classmethod
    def of(cls, team: Any, check: Any, home: str = "", *, is_whole: bool = True) -> TeamCode:
        """The code of a team.

        Args:
            team: The user's factory or function, or the team object.
            check: What says whether a run succeeded, or None.
            home: The module that hooked it, among whose names an object is looked for.
            is_whole: Whether the factory needs nothing but its name: it was called without arguments.
        """
        with guard("look for the team's code"):
            built_by = _name_of(team, home) if is_whole else ""
            module = team.__module__ if inspect.isroutine(team) else home
            return cls(built_by, "" if check is None else _name_of(check, home), module or "")
        return cls()

    def source(self, run: Trajectory) -> TeamOrigin | None:
        """What is kept of it with a run; None where nothing is known."""
        from tracer_hooks.store import TeamOrigin

        places: dict[str, str] = {}
        with guard("look for the lines of agents and tools"):
            places = dict(self._places(run)) if self.module else {}
        if not (self.built_by or self.checked_by or places):
            return None
        return TeamOrigin(built_by=self.built_by, checked_by=self.checked_by, places=places)

    def _places(self, run: Trajectory) -> Iterator[tuple[str, str]]:
        own = _names_in(self.module)
        file = own.get("__file__") or ""
        lines, here = _lines_of(file), os.getcwd()
        tools = {name: None for spec in run.agents for name in spec.tools}
        tools |= {call.name: None for step in run.steps for call in step.tool_calls}
        named = [("agent", name, "call", "function") for name in run.agent_names]
        named += [("tool", name, "function", "call") for name in tools]
        for kind, name, first, second in named:
            line = lines.get((first, name), lines.get((second, name), 0))
            marked = PLACES.get(f"{kind} {name}", (file, line)) if run.framework == "python" else (file, line)
            if marked == (file, 0):  # nothing here has that name
                code = getattr(_bare(own.get(name)), "__code__", None)
                marked = (code.co_filename, code.co_firstlineno) if code is not None else None
            if marked is not None and marked[1] and marked[0].endswith(".py"):
                yield f"{kind} {name}", f"{_shown(marked[0], here)}:{marked[1]}"
        for spec in run.agents:
            if line := lines.get(("text", (spec.instructions or "").strip())):
                yield f"prompt {spec.name}", f"{_shown(file, here)}:{line}"


def calling_module() -> str:
    """The name of the nearest module around this call that is not ours."""
    frame = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] != "tracer_hooks":
            return name
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _name_of(thing: Any, home: str) -> str:
    """The name under which ``thing``, or what hooking made of it, is found again; empty where there is none."""
    qualname = getattr(thing, "__qualname__", None)
    module = thing.__module__ if isinstance(qualname, str) else home
    found: Any = None
    if isinstance(qualname, str):
        first, *rest = qualname.split(".")
        found = _names_in(module).get(first)
        for part in rest:
            found = getattr(found, part, None)
    names = [(module, str(qualname))]
    if found is None or _bare(found) != _bare(thing):  # it has the name that it was given, if any
        names = [
            (place, name)
            for place in dict.fromkeys((module, home))
            for name, value in list(_names_in(place).items())
            if value is thing or _wraps(value, thing)
        ]
    place, name = names[0] if names else ("", "")
    return f"{shown}:{name}" if name and (shown := _place_of(place)) else ""


def _names_in(module: str) -> dict[str, Any]:
    return vars(sys.modules[module]) if module in sys.modules else {}


def _wraps(value: Any, thing: Any) -> bool:
    return inspect.isfunction(value) and getattr(value, "__wrapped__", None) is thing


def _bare(thing: Any) -> Any:
    return inspect.unwrap(thing) if inspect.isroutine(thing) else thing


def _place_of(module: str) -> str:
    own = _names_in(module)
    spec, file = own.get("__spec__"), own.get("__file__") or ""
    if module in _SCRIPT:
        return _loadable(spec.name if spec is not None else "", file, os.getcwd(), is_script=True)
    return _loadable(module, file, os.getcwd(), is_script=False)


@functools.lru_cache(maxsize=256)
def _loadable(module: str, file: str, here: str, *, is_script: bool) -> str:
    """How a command in this folder names a module: as it is imported, or by its file; empty where it cannot be loaded.

    A script is named only where loading it does not run it once more.
    """
    if not file.endswith(".py") or not os.path.isfile(file):
        return ""
    if is_script and _GUARDED.search(Path(file).read_text(encoding="utf-8", errors="replace")) is None:
        return ""
    folder = os.path.dirname(os.path.abspath(file))
    is_found = "." in module or folder == here or "site-packages" in folder
    return module if module and is_found else _shown(file, here)


@functools.lru_cache(maxsize=256)
def _shown(file: str, here: str) -> str:
    """A path, from the current folder where it lies below it."""
    path = os.path.relpath(file, here)
    return os.path.abspath(file) if path.startswith(os.pardir) else path


@functools.lru_cache(maxsize=32)
def _lines_of(file: str) -> dict[tuple[str, str], int | None]:
    """Lines of a file's functions, calls that give a name, and texts; None for what stands in several lines."""
    lines: dict[tuple[str, str], int | None] = {}

    def note(kind: str, what: str, line: int) -> None:
        lines[kind, what] = line if lines.get((kind, what), line) == line else None

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user has seen them when the file was loaded
            is_read = file.endswith(".py") and os.path.getsize(file) <= _LARGEST_FILE
            nodes = ast.walk(ast.parse(Path(file).read_bytes())) if is_read else iter(())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return lines
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            note("function", node.name, min([node.lineno, *(each.lineno for each in node.decorator_list)]))
        elif isinstance(node, ast.Call):
            for name in _names_given(node):
                note("call", name, node.lineno)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip():
            note("text", node.value.strip(), node.lineno)
    return lines


def _names_given(call: ast.Call) -> Iterator[str]:
    """Names that a call gives: ``Agent(role="writer")``, ``AssistantAgent("writer")``, ``add_node("writer", f)``."""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    values = [each.value for each in call.keywords if each.arg in _NAMES]
    values += call.args[:1] if called == "add_node" or called[:1].isupper() else []
    yield from (each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str))
