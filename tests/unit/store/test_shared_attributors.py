"""An attributor that one process fits is used by another one that shares a store on a server."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
import sqlalchemy as sa

from tracer_hooks.config import place_of
from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.errors import StoreError
from tracer_hooks.runtime import TeamCard, attributors_folder, forget_calibrated, save_calibrated
from tracer_hooks.runtime._calibrated import CalibratedAttributors
from tracer_hooks.schema import Step, Trajectory
from tracer_hooks.store import AttributorStore, RunStore, fingerprint

RUN = Trajectory(run_id="r", framework="python", team="sums", steps=(Step(index=0, agent="planner", content="x"),))
CARD = TeamCard(framework="python", team="sums", agents=("planner",))


@pytest.fixture
def url(server: object, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    made: str = request.getfixturevalue("server").new_database()
    monkeypatch.setenv("TRACER_HOOKS_STORE", made)
    return made


def folder_of(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a process that was started in ``home`` keeps attributors."""
    home.mkdir(exist_ok=True)
    monkeypatch.chdir(home)
    return attributors_folder()


def test_it_is_shared_replaced_and_forgotten(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_of(url)

    def found_in(home: str) -> bool:
        known = CalibratedAttributors(folder_of(tmp_path / home, monkeypatch), place)
        known.attributor_for(RUN)
        known._fetching[CARD.fingerprint].join(60)  # a call does not wait that long: what comes later is for later ones
        return known.attributor_for(RUN) is not None

    assert not found_in("before")
    here = folder_of(tmp_path / "one", monkeypatch)
    save_calibrated(here, get_attributor("structural"), CARD, {"more.json": b"{}"})
    assert found_in("two")
    assert (attributors_folder() / CARD.fingerprint / "more.json").read_bytes() == b"{}"
    save_calibrated(folder_of(tmp_path / "one", monkeypatch), get_attributor("structural"), CARD)
    assert found_in("two")
    assert not (attributors_folder() / CARD.fingerprint / "more.json").exists(), "the newer one takes its place"
    forget_calibrated(folder_of(tmp_path / "one", monkeypatch), CARD)
    assert not found_in("three")


def test_a_folder_of_the_users_own_is_not_shared(url: str, tmp_path: Path) -> None:
    save_calibrated(tmp_path / "mine", get_attributor("structural"), CARD)
    assert not RunStore(url).exists()


def test_a_server_that_is_away_leaves_what_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("TRACER_HOOKS_STORE", "postgresql://nobody@127.0.0.1:9/none")
    here = folder_of(tmp_path / "one", monkeypatch)
    save_calibrated(here, get_attributor("structural"), CARD)
    assert "and for nobody else: cannot keep a fitted attributor" in caplog.text
    known = CalibratedAttributors(here, place_of("postgresql://nobody@127.0.0.1:9/none"))
    assert known.attributor_for(RUN) is not None


def test_what_is_kept_is_written_nowhere_else(url: str, tmp_path: Path) -> None:
    store, name = AttributorStore(url), fingerprint("python", "sums")
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "a.json").write_text("{}")
    store.put(name, tmp_path / "from")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as files:
        files.writestr("../../outside.json", "{}")
        files.writestr("/root.json", "{}")
    change = sa.text("UPDATE attributors SET content = :content")
    with store._database.write("change it") as connection:
        connection.execute(change, {"content": packed.getvalue()})
    assert store.get(name, tmp_path / "deep" / "er")
    assert {path.name for path in (tmp_path / "deep" / "er").rglob("*.json")} == {"outside.json", "root.json"}
    assert not (tmp_path / "outside.json").exists()
    with store._database.write("change it") as connection:
        connection.execute(change, {"content": b"no zip file"})
    with pytest.raises(StoreError, match="is damaged"):
        store.get(name, tmp_path / "new")
