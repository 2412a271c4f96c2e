"""Commands are listed without being loaded, and those of other distributions are found, missing or broken."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer

from tracer_hooks.cli import app as cli
from tracer_hooks.cli._options import load_object
from tracer_hooks.errors import install_line

BROUGHT = [name for name, command in cli.COMMANDS.items() if command.extra is not None]


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["tracer-hooks", *arguments])
    return cli.run_app()


def brings(monkeypatch: pytest.MonkeyPatch, name: str, home: str) -> None:
    """Install a distribution whose entry point says that ``home`` is the command ``name``."""
    found = {"group": "tracer_hooks.commands", "name": name}
    points = [EntryPoint(name=name, value=home, group=found["group"])]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **asked: points if asked == found else [])


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that a distribution could bring."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "brought", raising=False)
    return tmp_path / "brought.py"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_line_in_the_list_is_the_first_of_the_commands_own_help(name: str) -> None:
    place, _, attribute = cli.COMMANDS[name].home.partition(":")
    found = getattr(importlib.import_module(place), attribute)
    text = found.info.help if isinstance(found, typer.Typer) else found.__doc__
    assert text.split("\n\n")[0].strip() == cli.COMMANDS[name].line


def test_commands_of_other_distributions_are_listed_without_being_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in BROUGHT:
        monkeypatch.setitem(cli.COMMANDS, name, replace(cli.COMMANDS[name], home="no_such_module:command"))
    assert call(monkeypatch, "--help") == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert BROUGHT == ["inject", "calibrate", "dataset", "train"]
    for name in BROUGHT:
        assert f"│ {name} {cli.COMMANDS[name].line[:30]}" in listed


@pytest.mark.parametrize("name", BROUGHT)
@pytest.mark.parametrize("arguments", [(), ("--help",), ("x", "--nonsense")])
def test_a_missing_distribution_ends_with_3_and_the_install_line(
    name: str, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = cli.COMMANDS[name]
    monkeypatch.setitem(cli.COMMANDS, name, replace(listed, home="tracer_hooks_gone.cli:command"))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **asked: [])
    assert call(monkeypatch, name, *arguments) == 3
    told = capsys.readouterr().err
    assert f"`tracer-hooks {name}` needs 'tracer-hooks[{listed.extra}]'" in told
    assert f"Run: {install_line(str(listed.extra))}" in told


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_dependency", "ModuleNotFoundError: No module named 'no_such_dependency'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("", "AttributeError: module 'brought' has no attribute 'command'"),
    ],
)
def test_a_broken_distribution_is_said_and_ends_with_1(
    source: str, reason: str, module: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module.write_text(source)
    brings(monkeypatch, "inject", "brought:command")
    assert call(monkeypatch, "inject", "--help") == 1
    told = capsys.readouterr().err
    assert "`tracer-hooks inject` is installed, and 'brought:command' cannot be loaded" in told
    assert reason in told
    assert "Run: pip install --force-reinstall -e '" in told


def test_an_entry_point_whose_module_is_gone_is_broken_and_not_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    brings(monkeypatch, "inject", "brought_and_gone:command")
    assert call(monkeypatch, "inject") == 1
    assert "--force-reinstall" in capsys.readouterr().err


def test_an_extra_that_a_distribution_itself_needs_ends_with_3(
    module: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module.write_text("from tracer_hooks.cli.plugin import require\nrequire('no_such', extra='gpu', feature='it')")
    brings(monkeypatch, "train", "brought:command")
    assert call(monkeypatch, "train") == 3
    assert install_line("gpu") in capsys.readouterr().err


@pytest.mark.parametrize("name", ["inject", "unlisted"])
def test_the_command_of_an_installed_distribution_is_the_one_that_runs(
    name: str, module: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module.write_text(
        "import typer\nfrom tracer_hooks.cli.plugin import FAILED, Json, print_json\n\n"
        "def command(as_json: Json = False) -> None:\n"
        "    print_json({'is_json': as_json})\n    raise typer.Exit(FAILED)\n"
    )
    brings(monkeypatch, name, "brought:command")
    assert call(monkeypatch, name, "--json") == 1
    assert '"is_json": true' in capsys.readouterr().out


def test_a_command_that_nobody_knows_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "injekt") == 2
    assert "No such command 'injekt'" in capsys.readouterr().err


def test_a_file_that_raises_leaves_a_module_of_its_name_as_it_was(tmp_path: Path) -> None:
    before = sys.modules["json"]
    (tmp_path / "json.py").write_text("1 / 0")
    (tmp_path / "own_team.py").write_text("1 / 0")
    for name in ("json", "own_team"):
        with pytest.raises(Exception, match="division by zero"):
            load_object(f"{tmp_path / name}.py:build", option="--team")
    assert sys.modules["json"] is before
    assert "own_team" not in sys.modules
