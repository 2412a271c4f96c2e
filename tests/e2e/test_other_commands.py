import re
import sys
import time
from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks.cli.demo import build_team, judge
from tracer_hooks.cli.doctor import _store
from tracer_hooks.cli.plugin import DoctorFinding
from tracer_hooks.errors import install_line
from tracer_hooks.testing import ScriptedLLM
from tracer_hooks.testing.ticket_office import REASON, SLIPS, TASK, Endpoint, script
from tracer_hooks_lab.commands._doctor import sandbox_findings
from tracer_hooks_lab.suites import bubblewrap_state

from ._command import Command

_ON_LINUX = sys.platform == "linux"


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


def test_version_and_mistakes(command: Command) -> None:
    done = command("--version")
    assert (done.code, done.out, done.err) == (0, f"{tracer_hooks.__version__}\n", "")
    done = command()
    assert done.code == 2
    assert "diagnose" in done.out + done.err, "without a command the help is shown"
    done = command("demo", "--framework", "nonsense")
    assert (done.code, done.out) == (2, "")
    assert "--framework is 'nonsense', expected one of: python" in done.err
    (command.folder / "file").write_text("")
    done = command("demo", "--framework", "python", "--out", "file")
    assert done.code == 2
    assert "cannot write 'file/python.html'" in done.err


def sandbox() -> DoctorFinding:
    (found,) = sandbox_findings()
    return found


def test_doctor(command: Command) -> None:
    done = command("doctor", "--json")
    assert (done.code, list(done.json)) == (0, ["findings"])
    findings = {(finding["kind"], finding["name"]): finding for finding in done.json["findings"]}
    assert all(list(finding) == ["kind", "name", "works", "detail", "advice"] for finding in findings.values())
    assert findings["adapter", "plain"]["works"]
    assert findings["attributor", "structural"]["works"]
    assert findings["package", "tracer-hooks"]["detail"].startswith(tracer_hooks.__version__)
    assert findings["store", "runs"]["detail"].endswith("(not made yet)")
    assert "code of the suites runs in" in findings["sandbox", "bubblewrap"]["detail"]
    for name in ("autogen", "crewai", "langgraph"):
        finding = findings["adapter", name]
        assert finding["works"] or install_line(name) in finding["advice"]
    shown = command("doctor")
    assert shown.code == 0
    assert "structural" in shown.out


@pytest.mark.parametrize(("place", "works"), [("off", True), ("file", False), ("file/runs.sqlite", False)])
def test_doctor_says_whether_the_store_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, works: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x" * 5_000)
    monkeypatch.setenv("TRACER_HOOKS_STORE", place)
    assert _store().works is works


def test_doctor_says_what_holds_the_code_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    state = bubblewrap_state()
    usual = sandbox()
    assert usual.works is state.works
    assert ("code of the suites runs in it" in usual.detail) is state.works
    monkeypatch.setenv("TRACER_HOOKS_BUBBLEWRAP", "off")
    assert "switched off by TRACER_HOOKS_BUBBLEWRAP" in sandbox().detail
    monkeypatch.setenv("TRACER_HOOKS_BUBBLEWRAP", "yes")
    assert not sandbox().works
    monkeypatch.delenv("TRACER_HOOKS_BUBBLEWRAP")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("tracer_hooks_lab.suites._sandbox._bubblewrap._known", [])
    assert not sandbox().works
    assert sandbox().advice.startswith("apt-get install bubblewrap" if _ON_LINUX else "run it on Linux")


def test_the_demo_in_plain_python(command: Command) -> None:
    began = time.monotonic()
    done = command("demo", "--framework", "python", TRACER_HOOKS_STRICT="1", COLUMNS="200")
    assert time.monotonic() - began < 60
    assert done.code == 0
    assert "model: a script, and no sign of what real ones do" in done.out
    said = " ".join(done.out.split())
    assert re.search(r"python calculator, step 2 wrong calculation: .* is 75.00 EUR, not 78.00 EUR. -> recovered", said)
    assert "1 of 1 teams passed in the end" in said
    page = (command.folder / "tracer-hooks-demo" / "python.html").read_text(encoding="utf-8")
    assert "82.50" in page
    assert ">Attempts</h2>" in page
    runs = command("runs", "list", "--json").json["runs"]
    assert [run["outcome"] for run in runs] == ["succeeded", *["failed"] * (len(runs) - 1)]
    assert (runs[-1]["agent"], runs[-1]["step"]) == ("calculator", 2)
    assert f"runs show {runs[-1]['run_id'][:12]}" in done.out
    for run in runs:
        assert "The run was recovered by" in " ".join(command("runs", "show", run["run_id"]).out.split())
    log = command("runs", "show", runs[0]["run_id"], "--json").json["repair"]
    assert [trial["outcome"] for trial in reversed(log["trials"])] == [run["outcome"] for run in runs[:-1]]
    assert command("runs", "show", runs[-1]["run_id"], "--json").json["repair"] is None


@pytest.mark.slow
def test_the_demo_finds_something_else_in_every_framework_that_is_installed(command: Command) -> None:
    done = command("demo", TRACER_HOOKS_STRICT="1", COLUMNS="200")
    assert done.code == 0
    assert len(done.out.splitlines()) < 25
    teams = int(re.search(r"(\d) of \1 teams passed in the end", done.out)[1])
    found = re.findall(r"step \d  ([a-z ]+): .*\n +-> recovered", done.out)
    assert len(set(found)) == len(found) == teams
    assert "not installed" in done.out or teams == 4


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_found_in_the_run_and_the_check_does_not_say_it(slip: str) -> None:
    with ScriptedLLM(rules=script(slip)) as llm:
        endpoint = Endpoint(base_url=llm.base_url, model=llm.model, api_key=llm.api_key)
        run = tracer_hooks.run(lambda prompts=None: build_team(endpoint, prompts), TASK, check=judge, store="off")
    assert (run.outcome_reason, slip in {found.kind for found in run.findings}) == (f"check: {REASON}", True)
    assert run.attribution.certainty in ("clear", "likely")


def test_a_second_demo_tries_the_same(command: Command) -> None:
    lines = []
    for _ in range(2):
        done = command("demo", "--framework", "python")
        lines.append([line for line in done.out.splitlines() if line.strip().startswith("-> ")])
    assert lines[0]
    assert lines[0] == lines[1]
