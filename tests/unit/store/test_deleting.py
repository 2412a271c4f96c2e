"""What is deleted is gone: from the lists, from the file, and from what lies beside it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tracer_hooks
from tracer_hooks.cli.app import app
from tracer_hooks.config import Retention
from tracer_hooks.errors import ConfigError, StoreError
from tracer_hooks.runtime import _archive
from tracer_hooks.schema import Trajectory
from tracer_hooks.store import PromptStore, RunStore, StoredRun

from .._known import known
from ._prompts import outcome, proposed
from ._runs import alter

NOW = datetime.now(UTC)


def saved(store: RunStore, run_id: str, *, days: float = 0, text: str = "") -> str:
    """Save a run, and give the text that only it holds: short ones stand in the file as they are, long ones packed."""
    planted = text or f"quokka-{run_id}-"
    at = NOW - timedelta(days=days)
    trajectory = Trajectory(run_id=run_id, team="office", task=planted * 3)
    run = StoredRun(run_id=run_id, session_id=run_id, team="office", task=planted, trajectory=trajectory, started_at=at)
    store.save(run)
    store.save(run.model_copy(update={"tape": {"said": planted * 500, "at": [run_id] * 900}}))  # another row, larger
    return planted


def bytes_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def command(*arguments: object, answer: str | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["runs", *map(str, arguments)], input=answer)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "runs.sqlite"


def test_deleted_runs_are_out_of_the_file_and_the_log_once_nobody_reads(file: Path) -> None:
    store = RunStore(file, busy_timeout_s=0.1)
    gone, stays = saved(store, "gone"), saved(store, "stays")
    assert gone.encode() in bytes_in(file.parent), "else nothing is shown below"
    with RunStore(file)._database.read("look") as connection:
        connection.exec_driver_sql("SELECT count(*) FROM runs").fetchone()
        store.delete("gone")
        assert not store.wipe()
    assert store.wipe()
    assert gone.encode() not in bytes_in(file.parent)
    assert stays.encode() in bytes_in(file.parent)
    assert [one.run_id for one in store.list()] == ["stays"]
    with pytest.raises(StoreError, match="no run 'gone'"):
        store.delete("gone")


@pytest.mark.parametrize(
    ("which", "kept"),
    [
        (Retention(older_than=timedelta(days=30)), ["new", "week"]),
        (Retention(keep=1), ["new"]),
        (Retention(keep=0), []),
        (Retention(older_than=timedelta(days=3), keep=2), ["new", "week"]),
        (Retention(), ["new", "week", "month", "year"]),
    ],
)
def test_which_runs_prune_keeps(file: Path, store: RunStore, which: Retention, kept: list[str]) -> None:
    for name, days in {"new": 0, "week": 7, "month": 31, "year": 365}.items():
        saved(store, name, days=days)
    would = [one.run_id for one in store.prune(which, dry_run=True)]
    assert len(store.list()) == 4
    assert [one.run_id for one in store.prune(which)] == would
    assert [one.run_id for one in store.list()] == kept


def test_the_commands(file: Path, store: RunStore) -> None:
    planted = [saved(store, f"{name}-run", days=days) for name, days in {"a": 0, "b": 40, "c": 50, "d": 60}.items()]
    at = ("--store", file)
    assert command("prune", "--older-than", "30d", "--dry-run", *at) == (0, "3 runs would be deleted\n")
    code, said = command("prune", "--older-than", "45d", *at, answer="n\n")
    assert (code, len(store.list())) == (0, 4)
    assert "Delete 2 runs for good?" in said
    code, said = command("prune", "--older-than", "45d", "--json", "--yes", *at)
    nothing_left = {"attempts_left": [], "counts": 0}
    assert json.loads(said) == {"deleted": ["c-run", "d-run"], "wiped": True, **nothing_left}
    assert command("delete", "b-", "--yes", *at) == (0, "1 run deleted\n")
    left = bytes_in(file.parent)
    assert [one.encode() in left for one in planted] == [True, False, False, False]


def three_attempts(store: RunStore) -> list[str]:
    """The attempts of one call, beside a run of another call."""
    other = saved(store, "other")
    texts = [saved(store, f"{name}-attempt") for name in ("a", "b", "c")]
    for number, name in enumerate(("a", "b", "c"), start=1):
        run = store.get(f"{name}-attempt")
        store.save(run.model_copy(update={"session_id": "call", "attempt": number}))
    return [*texts, other]


def test_all_attempts_of_a_call_go_together(file: Path, store: RunStore) -> None:
    planted = three_attempts(store)
    code, said = command("delete", "b-", "--store", file, answer="n\n")
    assert (code, len(store.list())) == (0, 4)
    assert "run a-attempt, another attempt of the same call" in said
    assert "run b-attempt\n" in said
    assert "Delete 3 runs for good?" in said
    alter(store, "UPDATE runs SET trajectory = x'7a00' WHERE run_id = 'b-attempt'")  # a damaged one can be deleted, too
    assert command("delete", "b-", "--yes", "--store", file) == (0, "3 runs deleted\n")
    left = bytes_in(file.parent)
    assert [one.encode() in left for one in planted] == [False, False, False, True]


def test_with_only_the_other_attempts_stay_and_are_named(file: Path, store: RunStore) -> None:
    planted = three_attempts(store)
    code, said = command("delete", "b-", "--only", "--yes", "--store", file)
    assert (code, said) == (0, "1 run deleted\nof the same calls, with the same tasks, stay: a-attempt, c-attempt\n")
    code, said = command("delete", "c-", "other", "--only", "--yes", "--json", "--store", file)
    assert json.loads(said)["deleted"] == ["c-attempt", "other"]
    assert json.loads(said)["attempts_left"] == ["a-attempt"]
    left = bytes_in(file.parent)
    assert [one.encode() in left for one in planted] == [True, False, False, False]


def test_what_was_learnt_from_a_run_stays_and_that_is_said(file: Path, store: RunStore) -> None:
    prompts = PromptStore(file)
    three_attempts(store)
    version = proposed(prompts)
    prompts.start_trial(version.team, version.number)
    prompts.count(version.team, version.number, outcome("a-attempt"))
    _, said = command("delete", "a-", "--yes", "--store", file)
    assert said.splitlines() == [
        "3 runs deleted",
        "what was learnt from them stays, with their ids: 1 count for prompts",
    ]
    assert prompts.get(version.team, version.number).texts == version.texts


def test_the_commands_refuse_what_they_cannot_do(file: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        command("delete", "x", "--yes", "--store", file)
    saved(RunStore(file), "one")
    with pytest.raises(ConfigError, match="expected --older-than AGE, --keep N, or both"):
        command("prune", "--store", file)
    with pytest.raises(ConfigError, match="--older-than is 'soon', expected an age such as '30d'"):
        command("prune", "--older-than", "soon", "--store", file)
    with pytest.raises(ConfigError, match="expected --yes"):
        command("delete", "one", "--json", "--store", file)
    with pytest.raises(StoreError, match="no run 'two'"):
        command("delete", "one", "two", "--yes", "--store", file)
    assert len(RunStore(file).list()) == 1, "none of them is deleted where one is not there"


def test_retention_takes_old_runs_away_without_a_run_waiting(
    file: Path, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = [saved(store, f"old-{number}", days=40) for number in range(120)]
    monkeypatch.setenv("TRACER_HOOKS_RETENTION", "30d")
    monkeypatch.setattr(_archive, "_next_retention", {})
    begun: list[Callable[[], object]] = []
    monkeypatch.setattr(_archive, "start_daemon", lambda work, name: begun.append(work))
    tracer_hooks.run(lambda task: "done", "ask", store=file)
    monkeypatch.undo()
    (delete,) = begun
    assert len(store.list(limit=500)) == 121, "the run did not wait for it"
    delete()
    assert len(store.list(limit=500)) == 1
    left = bytes_in(file.parent)
    assert not [one for one in gone if one.encode() in left]


def test_retention_is_looked_at_once_an_hour(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(RunStore(file), "one")
    monkeypatch.setattr(_archive, "_next_retention", {})
    first, second = (_archive.retain(file, Retention(keep=5)) for _ in range(2))
    known(first).join(60)
    assert second is None
    later = time.monotonic() + 4000
    monkeypatch.setattr(_archive.time, "monotonic", lambda: later)  # type: ignore[attr-defined]
    third = known(_archive.retain(file, Retention(keep=5)))
    third.join(60)


def test_a_hook_takes_the_retention_too() -> None:
    with pytest.raises(ConfigError, match="retention is 'soon'"):
        tracer_hooks.run(lambda task: "done", "ask", retention="soon", store="off")
    with pytest.raises(ConfigError, match="retention is 30"):
        tracer_hooks.run(lambda task: "done", "ask", retention=30, store="off")  # type: ignore[arg-type]
