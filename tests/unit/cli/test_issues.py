"""``tracer-hooks issues``, what ``runs list`` tells of diagnoses, and diagnoses that are made later and kept."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest
from rich.cells import cell_len

from tracer_hooks.cli import app as cli
from tracer_hooks.cli import console
from tracer_hooks.schema import Attribution, Candidate, Finding, FindingKind, RunOutcome, Step, Trajectory, to_json
from tracer_hooks.store import RunStore, StoredRun

BEGAN = datetime.now(UTC) - timedelta(days=10)
MOCK = Finding(
    kind=FindingKind.MADE_UP_DATA, step=1, agent="clerk", text="'clerk' used mock data.", leads_to_answer=True
)
LIMIT = Finding(kind=FindingKind.ENDING, detail="limit", text="The limit of 3 rounds ended the run.")
CERTAINTIES = {"clear": 0.95, "likely": 0.8, "weak": 0.2}


class Command:
    """The command line in this process, with a store of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.store = folder, RunStore(folder / "runs.sqlite")
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """What it prints on stdout and stderr."""
        self._monkeypatch.setattr("sys.argv", ["tracer-hooks", *arguments])
        for made in (console.out, console.out_wide, console.err):
            made.cache_clear()
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            assert cli.run_app() == code, err.getvalue()
        return out.getvalue(), err.getvalue()

    def put(
        self, name: str, *findings: Finding, at_day: int = 0, certainty: str = "weak", task: str = "Add.", **tags: str
    ) -> None:
        steps = tuple(Step(index=index, agent="clerk", content="17 + 25 = 41") for index in range(2))
        run = Trajectory(run_id=name, team="office", task=task, steps=steps, outcome=RunOutcome.FAILED)
        if not findings:
            run = run.model_copy(update={"steps": (Step(index=0, agent="clerk", content="Good."),)})
        sure = CERTAINTIES[certainty]
        found = Attribution(
            run_id=name, agent="clerk", step=1, confidence=sure, findings=findings,
            candidates=(Candidate(agent="clerk", step=1, score=sure),),
        )  # fmt: skip
        self.store.save(
            StoredRun(
                run_id=name, session_id=name, team="office", task=task, outcome=run.outcome, trajectory=run,
                started_at=BEGAN + timedelta(days=at_day), attribution=found if findings else None, tags=tags,
            )
        )  # fmt: skip


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACER_HOOKS_STORE", str(tmp_path / "runs.sqlite"))
    yield Command(tmp_path, monkeypatch)
    for made in (console.out, console.out_wide, console.err):
        made.cache_clear()


# --- issues ----------------------------------------------------------------------------------------------------------
def test_the_sentence_comes_first(command: Command) -> None:
    command.put("a" * 32, MOCK)
    command.put("b" * 32, MOCK, LIMIT, at_day=2)
    command.put("c" * 32, at_day=3)
    out, err = command("issues")
    assert out.startswith("In 2 of 2 failures 'clerk'")
    assert "2 failed; 1 more were never diagnosed, 1 of which did not pass. Diagnose them: tracer-hooks" in err
    out, err = command("issues", "--diagnose")
    lines = out.splitlines()
    assert lines[0] == "In 2 of 3 failures 'clerk' used made-up data."
    assert lines[1].startswith("  2 incidents, 2 runs (67%), ")
    assert lines[2] == f"  such as run {'b' * 12}, step 1: 'clerk' used mock data."
    assert lines[3] == "In 1 of 3 failures a limit ended the run."
    assert lines[5] == f"  such as run {'b' * 12}: The limit of 3 rounds ended the run."
    assert err.strip().endswith("3 runs looked at, 3 failed")


def test_json_is_one_document(command: Command) -> None:
    command.put("a", MOCK)
    out, err = command("issues", "--json")
    document = json.loads(out)
    assert err == ""
    counts = ("looked_at", "failed", "unread", "undiagnosed", "undiagnosed_failures")
    assert [document[key] for key in counts] == [1, 1, 0, 0, 0]
    (issue,) = document["issues"]
    assert list(issue) == [
        "sentence", "kind", "detail", "agent", "subject", "teams", "incidents", "runs", "failed", "share",
        "first_seen", "last_seen", "tokens", "came_back_after", "example",
    ]  # fmt: skip
    assert issue["example"] == {"run_id": "a", "step": 1, "text": "'clerk' used mock data."}


def test_options(command: Command) -> None:
    command.put("a", MOCK)
    command.put("b", LIMIT, at_day=9)
    assert command("issues", "--kind", "made-up-data")[0].startswith("In 1 of 2 failures 'clerk'")
    assert command("issues", "--since", "2d")[0].startswith("In 1 of 1 failure a limit")
    assert command("issues", "--since", f"{BEGAN:%Y-%m-%d}", "--agent", "clerk")[0].count("In ") == 1
    assert command("issues", "--team", "office", "--limit", "1")[1].strip().endswith("1 run looked at, 1 failed")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--since", "3x"), "--since is '3x', expected an age such as '30d' or a date such as '2026-01-31'"),
        (("--since", ""), "--since is '', expected an age"),
        (("--since", "2026-13-40"), "--since is '2026-13-40', expected an age"),
        (("--since", "999999w"), "--since is '999999w', expected an age or a date that a calendar holds"),
        (("--kind", "blame"), "--kind is 'blame', expected one of: ending, answer_origin, made_up_data"),
    ],
)
@pytest.mark.parametrize("name", ["issues", "runs list"])
def test_options_that_cannot_be_used(command: Command, name: str, arguments: tuple[str, str], message: str) -> None:
    command.put("a", MOCK)
    assert message in command(*name.split(), *arguments, code=2)[1]


def test_empty_states_say_what_to_do_next(command: Command) -> None:
    assert "hook a team, or run: tracer-hooks demo" in command("issues")[1]
    assert json.loads(command("issues", "--json")[0])["issues"] == []
    command.put("a")
    assert "0 runs looked at, 0 failed; 1 more" in command("issues")[1]
    assert command("issues", "--diagnose")[0] == ""
    assert "1 failed, and nothing is found in them; look at one: tracer-hooks diagnose RUN" in command("issues")[1]
    assert "no run is like that; see what there is: tracer-hooks runs list" in command("issues", "--team", "x")[1]
    assert "leave out --kind and --agent" in command("issues", "--agent", "x")[1]


def test_what_was_never_diagnosed_is_diagnosed_where_that_is_asked_for_and_kept(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A diagnosis that is there stays; a damaged run costs a line; twice is as once."""
    for name in ("old", "new", "bad"):
        command.put(name, release=name)
    command.put("diagnosed", MOCK)
    kept = command.store.get("diagnosed").attribution
    with sqlite3.connect(command.store.path) as connection:
        connection.execute("UPDATE runs SET trajectory = x'00' WHERE run_id = 'bad'")
    command("issues", "--diagnose", "--tag", "release=old")
    assert [command.store.get(name).attribution is None for name in ("old", "new")] == [False, True]
    document, err = command("issues", "--diagnose", "--json")
    assert "1 run cannot be diagnosed. Run: tracer-hooks diagnose sqlite:///" in err
    assert json.loads(document)["undiagnosed"] == 1
    assert command("issues", "--json")[0] == document
    assert command.store.get("new").attribution is not None
    assert command.store.get("diagnosed").attribution == kept
    monkeypatch.setenv("TRACER_HOOKS_RECORD", "off")
    command.put("secret")
    command("issues", "--diagnose")
    found = command.store.get("secret").attribution
    assert found is not None
    assert found.findings == ()


def test_twice_at_once(command: Command) -> None:
    for number in range(30):
        command.put(f"run-{number}", MOCK)

    def again() -> None:
        command.put("run-0", MOCK)

    writer = Thread(target=again)
    writer.start()
    assert command("issues")[0] == command("issues")[0]
    writer.join(30)


# --- runs list -------------------------------------------------------------------------------------------------------
def test_runs_list_tells_blame_from_a_place_to_start(command: Command) -> None:
    command.put("sure", MOCK, certainty="clear")
    command.put("unsure", LIMIT)
    command.put("undiagnosed")
    rows = {line.split()[0]: line for line in command("runs", "list")[0].splitlines()}
    assert "clerk@1" in rows["sure"]
    assert "made_up_data" in rows["sure"]
    assert "? clerk@1" in rows["unsure"]
    assert "ending" in rows["unsure"]
    assert rows["undiagnosed"].split()[-3:] == ["-", "-", "Add."]


def test_runs_list_finds_by_diagnosis_and_time(command: Command) -> None:
    command.put("old", MOCK, certainty="clear")
    command.put("new", LIMIT, at_day=9)
    command.put("none", at_day=9)

    def listed(*arguments: str) -> list[str]:
        return [run["run_id"] for run in json.loads(command("runs", "list", "--json", *arguments)[0])["runs"]]

    assert listed() == ["new", "none", "old"]
    assert listed("--since", "3d") == ["new", "none"]
    assert listed("--kind", "ending") == listed("--certainty", "weak") == ["new"]
    assert listed("--certainty", "clear") == ["old"]
    assert listed("--agent", "clerk") == ["new", "old"]
    assert listed("--agent", "clerk", "--limit", "1") == ["new"]
    assert listed("--agent", "nobody") == []
    assert "no run is like that" in command("runs", "list", "--agent", "nobody")[1]
    assert "no run of a team 'x'; there are runs of: " in command("runs", "list", "--team", "x")[1]
    (run,) = json.loads(command("runs", "list", "--json", "--kind", "ending")[0])["runs"]
    assert (run["certainty"], run["findings"]) == ("weak", ["ending"])


def test_runs_and_issues_are_found_by_tags(command: Command) -> None:
    command.put("old", MOCK, release="1.3")
    command.put("new", LIMIT, release="1.4", user="a=b")
    (run,) = json.loads(command("runs", "list", "--json", "--tag", "release=1.4", "--tag", "user=a=b")[0])["runs"]
    assert (run["run_id"], run["tags"]) == ("new", {"release": "1.4", "user": "a=b"})
    assert "no run is like that" in command("runs", "list", "--tag", "release=1")[1]
    assert "tags: release=1.4, user=a=b" in command("runs", "show", "new")[0]
    (issue,) = json.loads(command("issues", "--json", "--tag", "release=1.4")[0])["issues"]
    assert issue["kind"] == "ending"
    assert "no run is like that" in command("issues", "--tag", "release=2")[1]
    for wrong in (("release",), ("=1",), ("a=1", "--tag", "a=2")):
        for listing in (("runs", "list"), ("issues",)):
            assert "expected KEY=VALUE, each key once" in command(*listing, "--tag", *wrong, code=2)[1]


def test_a_store_behind_a_url_that_cannot_be_used_is_refused(command: Command) -> None:
    for url, why in (("mysql://u:quokka@h/db", "URL of 'mysql'"), ("postgresql://u:quokka@h/db", "holds a password")):
        for listing in (("runs", "list"), ("issues",), ("prompts", "list"), ("diagnose", "x")):
            refused = command(*listing, "--store", url, code=2)[1]
            assert why in refused
            assert "quokka" not in refused
    assert "holds a password" in command("diagnose", "postgresql://u:quokka@h/db", code=2)[1]
    command.put("old")
    assert "old" in command("runs", "list", "--store", f"sqlite:///{command.store.path}")[0]


def test_runs_list_fits_80_columns(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracer_hooks.cli import runs

    command.put("f" * 32, MOCK, certainty="weak", task="Which of the many long words 東京 " * 5)
    monkeypatch.setattr(runs, "out_wide", lambda: console.SafeConsole(width=80))
    lines = command("runs", "list")[0].splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert lines[0].split() == ["run", "began", "framework", "team", "#", "outcome", "blamed"]
    assert f"{'f' * 12} " in lines[1]
    assert "? clerk@1" in lines[1]


def test_a_step_that_went_on_beside_another_is_shown_so(command: Command) -> None:
    end = BEGAN + timedelta(seconds=2)
    steps = (
        Step(index=0, agent="left", content="x", started_at=BEGAN, ended_at=end),
        Step(index=1, agent="right", content="x", started_at=BEGAN, ended_at=end),
    )
    run = Trajectory(run_id="two", steps=steps, outcome=RunOutcome.FAILED)
    command.store.save(StoredRun.of(run, session_id="two"))
    assert "1 right [message, beside step 0] x" in command("runs", "show", "two")[0]


# --- diagnose --------------------------------------------------------------------------------------------------------
def test_a_diagnosis_made_later_is_kept_with_the_run(command: Command) -> None:
    command.put("a" * 32)
    command("diagnose", "aaaa")
    kept = command.store.get("a" * 32).attribution
    assert kept is not None
    assert kept.agent == "clerk"
    command("diagnose", "aaaa", "--expected", "42", "--json")
    again = command.store.get("a" * 32).attribution
    assert again is not None
    assert again.expected == "42"


def test_a_diagnosis_of_a_file_is_kept_nowhere(command: Command) -> None:
    command.put("a")
    (command.folder / "a").write_text(to_json(command.store.get("a").trajectory))
    command("diagnose", "a")
    assert command.store.get("a").attribution is None


def test_what_is_kept_passes_the_content_policy(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_RECORD", "off")
    command.put("a")
    command("diagnose", "a", "--expected", "42")
    kept = command.store.get("a").attribution
    assert kept is not None
    assert (kept.expected, kept.evidence, kept.findings) == (None, (), ())


def test_a_store_that_takes_nothing_costs_a_line(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracer_hooks.errors import StoreError

    def refuses(store: RunStore, run_id: str, attribution: Attribution | None) -> None:
        raise StoreError("the disk is full")

    command.put("a")
    monkeypatch.setattr(RunStore, "set_attribution", refuses)
    out, err = command("diagnose", "a")
    assert "clerk" in out
    assert "the diagnosis is not kept with the run: the disk is full" in err
