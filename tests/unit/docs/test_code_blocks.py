"""Every Python block in the README and the pages runs, and prints what the page says it prints."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from ._pages import PAGES, Block, blocks, name_of

FRAMEWORKS = ("autogen_agentchat", "autogen_core", "autogen_ext", "crewai", "langchain", "langchain_core", "langgraph")
_DECIMAL = re.compile(r"\d+\.\d+|\d+(?=%)")

with_python = [page for page in PAGES if any(block.language == "python" for block in blocks(page))]
that_run = [page for page in with_python if any(block.language == "python" and block.runs for block in blocks(page))]


@pytest.mark.parametrize("page", that_run, ids=name_of)
def test_blocks_run_in_order_and_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACER_HOOKS_STORE", "off")
    names: dict[str, object] = {"__name__": "__main__"}
    for block, output in _with_output(blocks(page)):
        code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(code, names)
        if output is not None:
            # A confidence may move a little when a rule is added; everything else must be as on the page.
            said, got = output.text.strip(), printed.getvalue().strip()
            assert _DECIMAL.sub("N", got) == _DECIMAL.sub("N", said), f"{name_of(page)}:{output.line}"
            for old, new in zip(_DECIMAL.findall(said), _DECIMAL.findall(got), strict=True):
                assert abs(float(old) - float(new)) <= (0.05 if "." in old else 5), f"{name_of(page)}:{output.line}"


def test_the_readme_and_the_quickstart_run() -> None:
    assert {"README.md", "docs/quickstart.md", "docs/guides/plain-python.md"} <= {name_of(page) for page in that_run}


@pytest.mark.parametrize("page", with_python, ids=name_of)
def test_blocks_that_need_a_framework_import_what_exists(page: Path) -> None:
    for block in blocks(page):
        if block.language == "python" and not block.runs:
            for module, name in _imports(block):
                top = module.partition(".")[0]
                if top == "tracer_hooks" or (top in FRAMEWORKS and importlib.util.find_spec(top) is not None):
                    found = importlib.import_module(module)
                    assert name is None or hasattr(found, name), f"{name_of(page)}:{block.line}: {module}.{name}"


def _with_output(found: list[Block]) -> Iterator[tuple[Block, Block | None]]:
    """The blocks that run, each with the ``text`` block right after it, which is what it prints."""
    for position, block in enumerate(found):
        if block.language == "python" and block.runs:
            after = found[position + 1] if position + 1 < len(found) else None
            yield block, after if after is not None and after.language == "text" and after.runs else None


def _imports(block: Block) -> Iterator[tuple[str, str | None]]:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
