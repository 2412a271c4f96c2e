"""What the pages name exists: modules, functions, environment variables, options, errors, attribute keys."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import click
import pytest
import typer.main

import tracer_hooks
from tracer_hooks import config, errors, semconv
from tracer_hooks.cli.app import app
from tracer_hooks.runtime import _options
from tracer_hooks.schema import ErrorMode

from ._pages import PAGES, ROOT, blocks, name_of

KEYS = {value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str)}
ENTRY_POINTS = {
    "tracer_hooks.adapters",
    "tracer_hooks.attributors",
    "tracer_hooks.commands",
    "tracer_hooks.judge_models",
}
"""Groups, which are no modules."""

_DOTTED = re.compile(r"\btracer_hooks(?:_[a-z]+)?(?:\.[A-Za-z_]\w*)+")
_VARIABLE = re.compile(r"\bTRACER_HOOKS_[A-Z]+\b")
_ROW = re.compile(r"^\| `([a-z_]+(?:\.[a-z0-9_]+)+)` \|[^|]*\|([^|]*)\|", re.MULTILINE)


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_dotted_names_exist(path: Path) -> None:
    for name in sorted(set(_DOTTED.findall(path.read_text(encoding="utf-8")))):
        assert name in KEYS | ENTRY_POINTS or _exists(name), f"{name_of(path)} names {name!r}"


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_environment_variables_exist(path: Path) -> None:
    named = set(_VARIABLE.findall(path.read_text(encoding="utf-8")))
    assert named <= set(_VARIABLE.findall(config.__doc__ or "")), name_of(path)


def test_the_hook_guide_explains_every_option_and_variable() -> None:
    text = page("guides/hook.md")
    options = set(_options.HookOptions.__dataclass_fields__) - {"config"} | {"capture", "store"}
    missing = [name for name in options if f"`{name}`" not in text]
    missing += [name for name in set(_VARIABLE.findall(config.__doc__ or "")) if name not in text]
    assert not missing


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("reference/api.md", [f"tracer_hooks.{name}" for name in tracer_hooks.__all__ if name != "__version__"]),
        ("reference/errors.md", [f"`{name}`" for name, value in vars(errors).items() if inspect.isclass(value)]),
        ("error-modes.md", [f"{mode.value} {mode.title}" for mode in ErrorMode]),
    ],
)
def test_a_page_names_every_name_error_or_mode(name: str, said: list[str]) -> None:
    assert [each for each in said if each not in page(name)] == []


def test_the_command_line_page_names_every_command_and_option() -> None:
    text = page("reference/cli.md")
    root: Any = typer.main.get_command(app)
    said = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))
    real = {"--help"}
    for command in _commands(root):
        for parameter in command.params:
            if isinstance(parameter, click.Option) or hasattr(parameter, "opts"):
                named = [*parameter.opts, *getattr(parameter, "secondary_opts", [])]
                real |= {option for option in named if option.startswith("--")}
    shell = {"--install-completion", "--show-completion"}
    assert said - real == set()
    assert real - said - shell == set()
    assert not [name for name in root.commands if f"## tracer-hooks {name}" not in text]


def test_the_span_page_lists_every_key_no_other_and_marks_those_of_content() -> None:
    no_keys = re.compile(r"EVENT_|GENAI_VERSION$|SCHEMA_URL$|MIME_TEXT$|MIME_JSON$")
    named = {name: value for name, value in vars(semconv).items() if name.isupper() and not no_keys.match(name)}
    keys = {value for value in named.values() if isinstance(value, str) and "." in value[1:] and value[0] != "."}
    rows = _ROW.findall(page("reference/span-schema.md"))
    assert {key for key, _ in rows} == keys
    assert {key for key, governed in rows if governed.strip() == "content"} == set(semconv.CONTENT_KEYS)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_no_block_is_left_empty_and_no_page_shows_a_private_name(path: Path) -> None:
    for block in blocks(path):
        assert block.text.strip(), f"{name_of(path)}:{block.line}"
        assert not re.search(r"(?:from|import) tracer_hooks[\w.]*\._", block.text), f"{name_of(path)}:{block.line}"


def _exists(dotted: str) -> bool:
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            found = getattr(found, part, None) or getattr(found, "__dataclass_fields__", {}).get(part)
            if found is None:
                return False
        return True
    return False


def _commands(group: Any) -> list[Any]:
    found = [group]
    for command in getattr(group, "commands", {}).values():
        found += _commands(command.load() if hasattr(command, "load") else command)
    return found
