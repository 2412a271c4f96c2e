"""``--help``, ``--version``, ``doctor`` and the demo in plain Python."""

from __future__ import annotations

import time

import pytest

import tracer_hooks

from ._command import Command


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"], ["-h"], ["diagnose", "--help"], ["demo", "--help"], ["doctor", "--help"], ["runs", "--help"],
        ["runs", "list", "--help"], ["runs", "show", "--help"], ["runs", "export", "--help"],
    ],
)  # fmt: skip
def test_help(command: Command, arguments: list[str]) -> None:
    done = command(*arguments)
    assert (done.code, done.err) == (0, "")
    assert "Usage" in done.out


def test_version(command: Command) -> None:
    done = command("--version")
    assert (done.code, done.out, done.err) == (0, f"{tracer_hooks.__version__}\n", "")


def test_without_a_command_the_help_is_shown(command: Command) -> None:
    done = command()
    assert done.code == 2
    assert "diagnose" in done.out + done.err


def test_doctor(command: Command) -> None:
    done = command("doctor", "--json")
    assert (done.code, list(done.json)) == (0, ["findings"])
    findings = {(finding["kind"], finding["name"]): finding for finding in done.json["findings"]}
    assert all(list(finding) == ["kind", "name", "works", "detail", "advice"] for finding in findings.values())
    assert findings["adapter", "plain"]["works"]
    assert findings["attributor", "structural"]["works"]
    assert findings["package", "tracer-hooks"]["detail"].startswith(tracer_hooks.__version__)
    assert findings["store", "runs"]["detail"].endswith("(not made yet)")
    for name in ("autogen", "crewai", "langgraph"):
        finding = findings["adapter", name]
        assert finding["works"] or f"pip install 'tracer-hooks[{name}]'" in finding["advice"]
    shown = command("doctor")
    assert shown.code == 0
    assert "structural" in shown.out


def test_doctor_looks_at_a_broken_store_without_failing(command: Command) -> None:
    (command.folder / "file").write_text("x" * 5_000)
    for store, works in (("off", True), ("file", False), ("file/runs.sqlite", None)):
        done = command("doctor", "--json", TRACER_HOOKS_STORE=store)
        assert done.code == 0
        (finding,) = [finding for finding in done.json["findings"] if finding["kind"] == "store"]
        assert works is None or finding["works"] is works


def test_the_demo_in_plain_python(command: Command) -> None:
    began = time.monotonic()
    done = command("demo", "--framework", "python", TRACER_HOOKS_STRICT="1")
    assert time.monotonic() - began < 20
    assert done.code == 0
    assert "a scripted server on this machine" in done.out
    assert "SUCCEEDED after 2 attempt(s)" in done.out
    assert "1 of 1 teams" in done.out
    assert "82.50" in (command.folder / "tracer-hooks-demo" / "python.html").read_text(encoding="utf-8")
    runs = command("runs", "list", "--json").json["runs"]
    assert [(run["attempt"], run["outcome"]) for run in runs] == [(2, "succeeded"), (1, "failed")]
    assert (runs[1]["agent"], runs[1]["step"]) == ("calculator", 2)


def test_the_demo_of_an_unknown_framework(command: Command) -> None:
    done = command("demo", "--framework", "nonsense")
    assert (done.code, done.out) == (2, "")
    assert "--framework is 'nonsense', expected one of: python" in done.err


def test_the_demo_says_when_its_reports_cannot_be_written(command: Command) -> None:
    (command.folder / "file").write_text("")
    done = command("demo", "--framework", "python", "--out", "file")
    assert done.code == 2
    assert "cannot write 'file/python.html'" in done.err
