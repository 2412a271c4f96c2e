"""The store, and what is written beside it, is for its owner alone; what the user names is as the umask says."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks._files import is_ours
from tracer_hooks.datasets import write_atomically
from tracer_hooks.journal import Journal
from tracer_hooks.store import PromptStore, RunStore

from ._runs import make_run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes say nothing of readers there")


@pytest.fixture(autouse=True)
def wide_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


def modes_below(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): mode(path) for path in (folder, *folder.rglob("*"))}


def test_a_new_store_is_for_its_owner_alone_with_all_that_sqlite_writes_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = RunStore()
    store.save(make_run())
    with store._database.write("look") as connection:
        connection.exec_driver_sql("UPDATE runs SET team = 'x'")
        assert set(modes_below(tmp_path / ".tracer_hooks")) >= {"runs.sqlite-wal", "runs.sqlite-shm", ".gitignore"}
        found = modes_below(tmp_path / ".tracer_hooks")
    assert {path for path, is_mode in found.items() if is_mode != "0o600"} == {"."}
    assert found["."] == "0o700"


def test_a_store_that_the_user_names_is_private_and_its_folder_stays_as_it_was(tmp_path: Path) -> None:
    RunStore(tmp_path / "mine" / "runs.sqlite").save(make_run())
    assert modes_below(tmp_path / "mine") == {".": "0o700", "runs.sqlite": "0o600"}
    (tmp_path / "shared").mkdir(mode=0o775)
    PromptStore(tmp_path / "shared" / "runs.sqlite").teams()
    assert modes_below(tmp_path / "shared") == {".": "0o775", "runs.sqlite": "0o600"}
    (tmp_path / "shared" / "runs.sqlite").chmod(0o660)
    RunStore(tmp_path / "shared" / "runs.sqlite").save(make_run())
    assert mode(tmp_path / "shared" / "runs.sqlite") == "0o660", "whom the user lets read it, may go on"


def test_an_older_store_is_closed_to_others_and_that_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / ".tracer_hooks" / "runs.sqlite"
    RunStore(file).save(make_run())
    file.parent.chmod(0o755)
    file.chmod(0o644)
    RunStore(file, read_only=True).list()
    assert mode(file) == "0o644", "what is only looked at is not changed"
    with caplog.at_level(logging.WARNING, "tracer_hooks"):
        for _ in range(2):
            RunStore(file).save(make_run())
    assert (mode(file.parent), mode(file)) == ("0o700", "0o600")
    (said,) = caplog.messages
    assert said.startswith(f"tracer-hooks made {file.parent} readable by you alone")


def test_work_beside_the_store_is_private_and_work_that_the_user_names_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STORE", str(tmp_path / "data" / "runs.sqlite"))
    for name, private in (("data/calibration/team", True), ("named/team", False)):
        folder = tmp_path / name
        Journal(folder).add("one", {"text": "said"})
        write_atomically({folder / "plan.json": b"{}"})
        assert is_ours(folder) is private
        files = {mode(path) for path in folder.iterdir()}
        assert (mode(folder), files) == (("0o700", {"0o600"}) if private else ("0o777", {"0o666"}))
    run = tracer_hooks.run(lambda task: "done", "ask", store="off")
    own, named = run.report(tmp_path / ".tracer_hooks" / "report.html"), run.report(tmp_path / "report.html")
    assert (mode(own.parent), mode(own), mode(named)) == ("0o700", "0o600", "0o666"), "and so are reports"
