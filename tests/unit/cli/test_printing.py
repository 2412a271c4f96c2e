"""What the command line prints goes through one console, which lets no stranger's text steer the terminal."""

from __future__ import annotations

import ast
import io
from pathlib import Path

import pytest
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from tracer_hooks import cli
from tracer_hooks._text import is_deceptive
from tracer_hooks.cli.console import SafeConsole

FOLDER = Path(cli.__file__).parent
HOSTILE = "[/red]\x1b[31m\x9b31m\u202e\r[bold]x[/bold] :skull:"
_PAST = ("print", "Console", "typer.echo", "click.echo", "sys.stdout.write", "sys.stderr.write")
_EMPTY = ast.Constant("")


def offences(source: str) -> list[str]:
    """Calls that print past the console, or read text as markup."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        options = {one.arg: one.value for one in node.keywords}
        first = node.args[0] if node.args else None
        is_markup = "markup" in options and ast.unparse(options["markup"]) != "False"
        # Rich reads the titles of panels and the texts of columns as markup, whatever the console says.
        is_title = name.endswith("Panel") and not isinstance(options.get("title", _EMPTY), ast.Constant)
        is_column = name.endswith("TextColumn") and not isinstance(first, ast.Constant)
        if name in _PAST or name.endswith("from_markup") or is_markup or is_title or is_column:
            found.append(name)
    return found


def test_nothing_is_printed_past_the_console() -> None:
    # The version, an error that was cleaned, a JSON document, and a result that was cleaned.
    allowed = {"app.py": ["print"] * 2, "console.py": ["sys.stdout.write"] * 2}
    found = {file.name: offences(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.py"))}
    assert {name: calls for name, calls in found.items() if calls} == allowed


def test_offences_are_found() -> None:
    source = 'print(x); Console(); out().print(x, markup=True); Text.from_markup(x); Panel(x, title=f"{x}")'
    assert len(offences(source)) == 5


@pytest.mark.parametrize(
    "shown",
    [
        HOSTILE, Text(HOSTILE, style="red"), Rule(HOSTILE), Panel(Text(HOSTILE)), Table(HOSTILE, title=HOSTILE),
        Text.assemble(("a", "red"), (HOSTILE, "bold")),
    ],
)  # fmt: skip
def test_the_console_cleans_whatever_it_is_given(shown: object) -> None:
    console = SafeConsole(file=io.StringIO(), width=60)
    console.print(shown)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert not [char for char in printed if is_deceptive(char)]
    assert "[/red]" in printed
    assert ":skull:" in printed


def test_a_terminal_still_gets_its_colours() -> None:
    console = SafeConsole(file=io.StringIO(), width=60, force_terminal=True, color_system="standard")
    console.print(Text("red", style="red"))
    assert console.file.getvalue() == "\x1b[31mred\x1b[0m\n"  # type: ignore[attr-defined]
