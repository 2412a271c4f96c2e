"""``tracer-hooks prompts``: the versions of a team's prompts in every state that they can be in."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tracer_hooks.store import PromptArm, PromptOutcome, PromptPhase, PromptState, PromptStore, fingerprint

from ._command import Command, InProcess

TEAM = fingerprint("autogen", "Ticket desk")
OWN = {"solver": "Add up.\nBe right.", "checker": "Check."}
FIRST = "Add up.\nBe right.\nSay EUR."


@pytest.fixture
def store(tmp_path: Path) -> PromptStore:
    return PromptStore(tmp_path / ".tracer_hooks" / "runs.sqlite")


def propose(store: PromptStore, name: str = "Ticket desk", **texts: str) -> int:
    team = fingerprint("autogen", name)
    own = {agent: OWN[agent] for agent in texts}
    provenance = {"by": "gepa", "failures": ["r1", "r2"]}
    return store.propose(team, texts, own, team_name=name, framework="autogen", provenance=provenance).number  # type: ignore[arg-type]


@pytest.fixture
def versions(store: PromptStore) -> PromptStore:
    """Version 1 is accepted and in use, version 2 is only proposed."""
    propose(store, solver=FIRST)
    store.start_trial(TEAM, 1)
    count(store, PromptPhase.TRIAL, PromptArm.NEW, 10, 9)
    count(store, PromptPhase.TRIAL, PromptArm.OLD, 5, 3)
    store.accept(TEAM, 1, reason="9 of 10 against 3 of 5", evidence={"e_gain": 33.1, "pairs": list(range(300))})
    count(store, PromptPhase.LIVE, PromptArm.NEW, 4, 3)
    propose(store, solver="Add up twice.", checker="Check \x1b[31mit with ```.")
    return store


def count(store: PromptStore, phase: PromptPhase, arm: PromptArm, runs: int, passes: int) -> None:
    for number in range(runs):
        passed = number < passes
        store.count(
            TEAM,
            1,
            PromptOutcome(
                run_id=f"{phase}-{arm}-{number}",
                arm=arm,
                phase=phase,
                passed=passed,
                score=float(passed),
                counted_at=datetime.now(UTC),
            ),
        )


def test_list(command: Command, versions: PromptStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (("prompts",), ("prompts", "list"), ("prompts", "list", "--team", "Ticket desk")):
        done = command(*arguments)
        assert (done.code, done.err) == (0, "")
        title, _, first, second, caption = done.out.splitlines()
        assert title == f"Ticket desk (autogen), {TEAM}: version 1 is used"
        assert first.startswith("> 1 ")
        for said in ("accepted", "9/10 vs 3/5", "3/4 vs -"):
            assert said in first
        assert caption.strip() == "passed: new prompts vs old ones"
        assert "proposed" in second
        assert "solver, checker" in second
    (team,) = command("prompts", "list", "--json").json["teams"]
    assert (team["team"], team["team_name"], team["framework"], team["current"]) == (TEAM, "Ticket desk", "autogen", 1)
    one, two = team["versions"]
    assert (one["number"], one["state"], one["is_current"], one["agents"]) == (1, "accepted", True, ["solver"])
    assert (one["trial"]["new_rate"], one["trial"]["old_rate"], one["live"]["old_rate"]) == (0.9, 0.6, None)
    assert (two["parent"], two["state"], two["is_current"]) == (1, "proposed", False)
    assert "texts" not in one
    versions.pin(TEAM, 1)
    assert " accepted, pinned " in command("prompts").out.splitlines()[2]
    monkeypatch.setenv("COLUMNS", "80")
    for line in command("prompts").out.splitlines():
        assert len(line) <= 80
        assert "…" not in line


def test_show(in_process: InProcess, versions: PromptStore) -> None:
    done = in_process("prompts", "show", "1")
    assert (done.code, done.err) == (0, "")
    for said in (
        "accepted, in use",
        "why: 9 of 10 against 3 of 5",
        "trial, new vs old: 9/10 (90%) vs 3/5 (60%)",
        'failures: ["r1", "r2"]',
        "(all of it with --json)",
        "put on trial\n",
        "+Say EUR.\n",
        f"the whole text\n{FIRST}\n",
    ):
        assert said in done.out
    assert "e_gain" not in done.out
    data = in_process("prompts", "show", "1", "--json").json
    version = versions.get(TEAM, 1)
    assert (data["texts"], data["own"], data["evidence"]) == (version.texts, version.own, version.evidence)
    assert [event["what"] for event in data["events"]] == ["proposed", "put on trial", "accepted"]
    assert data["diffs"]["solver"].endswith(" Be right.\n+Say EUR.")
    done = in_process("prompts", "show", "2", "--agent", "checker")
    assert "Check \N{SYMBOL FOR ESCAPE}[31mit with ```." in done.out, "what could steer a terminal is not sent to it"
    assert "Add up twice." not in done.out
    assert list(in_process("prompts", "show", "2", "--agent", "checker", "--json").json["diffs"]) == ["checker"]
    other = in_process("prompts", "show", "1", "--agent", "checker")
    assert other.code == 1
    assert "version 1 changes no prompt of 'checker', only of: 'solver'" in other.err
    for arguments in (("show",), ("show", "x"), ("show", "0"), ("pin", "-1"), ("diff", "1", "2", "3")):
        assert in_process("prompts", *arguments).code == 2


def test_diff(in_process: InProcess, versions: PromptStore) -> None:
    assert in_process("prompts", "diff").out == in_process("prompts", "diff", "0", "1").out
    assert "+Say EUR." in in_process("prompts", "diff").out
    assert in_process("prompts", "diff", "1", "--json").json["before"] == 0
    between = in_process("prompts", "diff", "2", "--json").json
    assert (between["team"], between["before"], between["after"]) == (TEAM, 1, 2)
    assert between == in_process("prompts", "diff", "1", "2", "--json").json
    assert between["diffs"]["solver"].splitlines()[3:] == ["-Add up.", "-Be right.", "-Say EUR.", "+Add up twice."]
    assert "-Check." in between["diffs"]["checker"].splitlines(), "version 1 has the team's own there"
    back = in_process("prompts", "diff", "2", "0", "--json").json["diffs"]
    assert "+Check." in back["checker"].splitlines()
    same = in_process("prompts", "diff", "1", "1")
    assert (same.code, same.out) == (0, "")
    assert "the same prompts" in same.err
    assert in_process("prompts", "diff", "1", "9").code == 1


def test_rollback_pin_and_unpin(in_process: InProcess, versions: PromptStore) -> None:
    versions.start_trial(TEAM, 2)
    versions.accept(TEAM, 2)
    pinned = in_process("prompts", "pin", "1", "--json").json
    assert (pinned["number"], pinned["is_pinned"], pinned["current"]) == (1, True, 1)
    refused = in_process("prompts", "rollback", "1")
    assert refused.code == 1
    assert f"tracer-hooks prompts unpin 1 --team {TEAM}" in refused.err
    assert in_process("prompts", "unpin", "1").out.endswith("version 2 is used\n")
    done = in_process("prompts", "rollback", "2", "--reason", "too long")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0].endswith(": rolled back")
    assert done.out.splitlines()[1] == "version 1 is used"
    assert versions.get(TEAM, 2).reason == "too long"
    in_process("prompts", "pin", "1")
    last = in_process("prompts", "rollback", "1", "--force").out
    assert last.endswith("the team's own prompts are used\n")
    assert versions.current(TEAM) is None
    for arguments in (("rollback", "1"), ("pin", "1"), ("unpin", "1"), ("pin", "7")):
        done = in_process("prompts", *arguments)
        assert (done.code, done.out) == (1, "")
        assert "Run: tracer-hooks prompts list" in done.err
    assert [version.state for version in versions.versions()] == [PromptState.ROLLED_BACK] * 2


def test_export_to_review(in_process: InProcess, versions: PromptStore) -> None:
    page = in_process("prompts", "export").out
    assert "In use: version 1." in page
    assert page.index("## Version 2: proposed") < page.index("## Version 1: accepted, in use")
    assert "```diff\n--- the team's own\n+++ version 1\n" in page
    assert f"```text\n{FIRST}\n```\n" in page
    assert "````text\nCheck \N{SYMBOL FOR ESCAPE}[31mit with ```.\n````\n" in page, "backticks end no block"
    done = in_process("prompts", "export", "--out", "review.MD", "--json")
    assert done.json == {"team": TEAM, "written": "review.MD"}
    assert (in_process.folder / "review.MD").read_text(encoding="utf-8") == page
    assert in_process("prompts", "export", "--out", "p.json").out == ""
    data = json.loads((in_process.folder / "p.json").read_text(encoding="utf-8"))
    assert data == in_process("prompts", "export", "--json").json
    assert [version["texts"] for version in data["versions"]] == [version.texts for version in versions.versions()]
    for name, code, said in (
        ("missing/prompts.md", 1, "cannot write 'missing/prompts.md'"),
        ("prompts.txt", 2, "'prompts.txt', expected a name that ends in .json or .md"),
    ):
        done = in_process("prompts", "export", "--out", name)
        assert done.code == code
        assert said in done.err


def test_several_teams(in_process: InProcess, versions: PromptStore) -> None:
    propose(versions, "Ticket office", solver="Sell.")
    propose(versions, "Ticket [b]office", solver="Sell.")
    listed = in_process("prompts").out
    assert "Ticket desk (autogen)" in listed
    assert "Ticket [b]office (autogen)" in listed
    unsaid = in_process("prompts", "show", "1")
    assert unsaid.code == 2
    assert "prompts of several teams" in unsaid.err
    for wanted in (TEAM, TEAM[:-2], "Ticket desk"):
        assert in_process("prompts", "show", "1", "--team", wanted, "--json").json["team"] == TEAM
    assert in_process("prompts", "show", "1", "--team", "autogen-ticket").code == 2
    unknown = in_process("prompts", "list", "--team", "nobody")
    assert unknown.code == 1
    assert "--team is 'nobody', expected one of: " in unknown.err
    assert repr(TEAM) in unknown.err


@pytest.mark.parametrize("state", ["missing", "empty"])
def test_no_prompts_yet(in_process: InProcess, store: PromptStore, state: str) -> None:
    if state == "empty":
        store.teams()
    done = in_process("prompts")
    assert (done.code, done.out) == (0, "")
    assert "no prompts yet; run: tracer-hooks improve" in done.err
    assert in_process("prompts", "list", "--json").json == {"teams": []}
    for arguments in (("show", "1"), ("diff",), ("rollback", "1"), ("pin", "1"), ("unpin", "1"), ("export",)):
        done = in_process("prompts", *arguments)
        assert (done.code, done.out) == (1, "")
        assert "Run: tracer-hooks improve" in done.err
    assert store.path.exists() == (state == "empty"), "looking makes no file"


def test_a_damaged_store_and_one_that_is_switched_off(in_process: InProcess) -> None:
    path = in_process.folder / "runs.sqlite"
    path.write_text("not a database")
    for arguments in (("list",), ("show", "1"), ("diff",), ("rollback", "1"), ("pin", "1"), ("export",)):
        done = in_process("prompts", *arguments, "--store", path)
        assert (done.code, done.out) == (1, "")
        assert "runs.sqlite" in done.err
        off = in_process("prompts", *arguments, TRACER_HOOKS_STORE="off")
        assert (off.code, off.out) == (2, "")
        assert "switched off" in off.err
    assert path.read_text() == "not a database"
