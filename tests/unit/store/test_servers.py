"""A store on a server keeps the promises of one in a file, whatever becomes of the server or the network."""

from __future__ import annotations

import logging
import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import tracer_hooks
from tracer_hooks.config import ServerUrl, place_of
from tracer_hooks.errors import StoreError
from tracer_hooks.runtime import _store_writer
from tracer_hooks.runtime._store_writer import StoreWriter, writer_for
from tracer_hooks.serving._spool import Spool
from tracer_hooks.serving._traces import ReceivedTraces, TracePatience
from tracer_hooks.store import PackedRun, PromptStore, RunStore
from tracer_hooks.telemetry import to_spans

from ._prompts import TEAM, accepted
from ._runs import alter, make_run

if TYPE_CHECKING:
    from pathlib import Path

    from ._proxy import Proxy
    from ._server import PostgresServer

MOST_S = 0.5
"""How long a call may be kept waiting; what it does besides takes a part of that at most."""
_ELSE_S = 0.25
SAID = "tracer-hooks does not use the run store at present"


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.new_database()


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of users; what is loaded at the first use is loaded."""
    monkeypatch.setattr(_store_writer, "LOCK_S", 0.5)
    monkeypatch.setattr(_store_writer, "SERVER_S", 0.4)


@contextmanager
def through(url: str, *, delay_s: float = 0.0) -> Iterator[tuple[str, Proxy]]:
    """The same database behind a network of ours."""
    from ._proxy import Proxy

    port = int(url.rpartition(":")[2].partition("/")[0])
    proxy = Proxy(port, delay_s=delay_s)
    yield url.replace(f":{port}/", f":{proxy.port}/"), proxy
    proxy.close()


def answered(url: str, *tasks: str) -> list[float]:
    """Seconds that each call took."""
    taken = []
    for task in tasks:
        began = time.monotonic()
        tracer_hooks.run(lambda task: f"done {task}", task, store=url)
        taken.append(time.monotonic() - began)
    return taken


def tasks_in(url: str) -> list[str]:
    with RunStore(url, stays_open=True) as store:
        return sorted(run.task for run in store.list(limit=1000))


def said(caplog: pytest.LogCaptureFixture, beginning: str) -> list[str]:
    return [message for message in caplog.messages if message.startswith(beginning)]


# --- the server and the network --------------------------------------------------------------------------------------
@pytest.mark.usefixtures("short_waits")
def test_a_server_that_is_away_costs_one_warning_and_no_run(
    own: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    url = own.new_database()
    own.kill()
    taken = answered(url, "a", "b", "c")
    assert max(taken) < MOST_S + _ELSE_S
    assert not tracer_hooks.flush(1)
    (warning,) = said(caplog, SAID)
    assert "Start the server or set TRACER_HOOKS_STORE" in warning
    own.start()
    assert tracer_hooks.flush(30)
    assert tasks_in(url) == ["a", "b", "c"]
    assert len(said(caplog, "tracer-hooks stores runs again in postgresql://tests@127.0.0.1")) == 1


@pytest.mark.usefixtures("short_waits")
def test_a_server_that_is_killed_loses_nothing_that_was_acknowledged(
    own: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    url = own.new_database()
    answered(url, "first")
    for turn in range(3):
        before = [f"{turn}-{number}" for number in range(5)]
        answered(url, *before)
        stored = tasks_in(url)
        own.kill()
        answered(url, f"{turn}-while it is away")
        own.start()
        assert set(stored) <= set(tasks_in(url))
        assert tracer_hooks.flush(30)
    expected = [f"{turn}-{what}" for turn in range(3) for what in (*range(5), "while it is away")]
    assert tasks_in(url) == sorted(["first", *expected]), "none is lost and none is there twice"
    assert len(said(caplog, SAID)) == 1


@pytest.mark.usefixtures("short_waits")
def test_a_slow_network_keeps_no_call_waiting(url: str) -> None:
    answered(url, "at first")
    with through(url, delay_s=0.15) as (slow, _):
        assert max(answered(slow, *"abcd")) < MOST_S + _ELSE_S
        assert tracer_hooks.flush(60)
    assert tasks_in(url) == ["a", "at first", "b", "c", "d"]


@pytest.mark.usefixtures("short_waits")
def test_a_network_that_lets_nothing_through_keeps_no_call_waiting(url: str) -> None:
    with through(url) as (gone, proxy):
        answered(gone, "before")
        proxy.is_open.clear()
        taken = answered(gone, "a", "b", "c")
        assert max(taken) < MOST_S + _ELSE_S
        assert sum(taken) < MOST_S + 3 * _ELSE_S, "only the first one waits"
        proxy.is_open.set()
        assert tracer_hooks.flush(30)
    assert tasks_in(url) == ["a", "b", "before", "c"]


@pytest.mark.usefixtures("short_waits")
def test_accepted_prompts_wait_for_no_network(url: str) -> None:
    with through(url) as (gone, proxy):
        proxy.is_open.clear()
        began = time.monotonic()
        team = tracer_hooks.hook(lambda task: "done", name="maths", store=gone, prompts="accepted")
        team("ask")
        assert time.monotonic() - began < 2 * MOST_S
        proxy.is_open.set()
        tracer_hooks.flush(30)


FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON tracer_hooks.runs EXECUTE FUNCTION full_disk()
"""


@pytest.mark.parametrize(
    ("hinder", "clear", "advice"),
    [
        (FULL, "DROP FUNCTION full_disk CASCADE", "Free some disk space on the server"),
        (
            "ALTER DATABASE {name} SET default_transaction_read_only = on",
            "ALTER DATABASE {name} RESET default_transaction_read_only",
            "This server takes no changes",
        ),
    ],
    ids=["full", "read-only"],
)
def test_a_server_that_takes_nothing_is_told_from_a_run_that_is_at_fault(
    hinder: str, clear: str, advice: str, server: PostgresServer, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = url.rpartition("/")[2]
    writer = writer_for(place_of(url))
    answered(url, "before")
    assert tracer_hooks.flush(10)
    server.execute(hinder.format(name=name), name)
    answered(url, "a", "b")
    (warning,) = said(caplog, SAID)
    assert advice in warning
    assert writer.is_failing
    with pytest.raises(StoreError, match=advice):
        RunStore(url).save(make_run())
    server.execute(clear.format(name=name), "postgres" if "ALTER" in clear else name)
    assert tracer_hooks.flush(30)
    assert tasks_in(url) == ["a", "b", "before"]


def save_slowly(url: str) -> None:
    with RunStore(url).writing() as writing, writing.part(unread=True):
        writing.save(PackedRun.of(make_run()))
        time.sleep(0.3)  # the answer is here before the end of the part is sent


def test_a_fault_that_arrives_before_all_is_sent_is_the_one_that_is_told(server: PostgresServer, url: str) -> None:
    RunStore(url).save(make_run("before"))
    server.execute(FULL, url.rpartition("/")[2])
    with pytest.raises(StoreError, match="Free some disk space on the server"):
        save_slowly(url)


def test_received_runs_wait_for_a_server_that_takes_nothing(server: PostgresServer, url: str, tmp_path: Path) -> None:
    RunStore(url).save(make_run("before"))
    server.execute(FULL, url.rpartition("/")[2])
    spool, sent = Spool(tmp_path / "spool"), make_run("sent").trajectory.model_copy(update={"trace_id": "a" * 32})
    received = ReceivedTraces(place_of(url), spool, patience=TracePatience(settle=0, quiet=0))
    received.add(to_spans(sent), spool.append(b"{}", is_json=True))
    received.work()
    assert received.open == 1
    server.execute("DROP FUNCTION full_disk CASCADE", url.rpartition("/")[2])
    deadline = time.monotonic() + 10
    while received.open and time.monotonic() < deadline:
        received.work()
    received.stop()
    assert {run.run_id for run in RunStore(url).list()} == {"before", "sent"}


@pytest.mark.parametrize("unread", [False, True])
def test_one_run_that_the_server_cannot_hold_is_named_and_the_others_are_stored(url: str, unread: bool) -> None:
    too_long = make_run("x" * 200_000 + "".join(chr(65 + (n * n) % 57) for n in range(60_000)))
    with RunStore(url) as store:
        with store.writing() as writing:
            writing.save(PackedRun.of(make_run("first")))
            with pytest.raises(StoreError, match="cannot be written"), writing.part(unread=unread):
                writing.save(PackedRun.of(too_long))
            with writing.part(unread=unread):
                writing.save(PackedRun.of(make_run("last")))
        assert {run.run_id for run in store.list()} == {"first", "last"}


def test_text_with_nul_is_stored_with_a_sign_in_its_place(url: str) -> None:
    with RunStore(url) as store:
        store.save(make_run("run\0", task="a\0b\ud800", session_id="\0"))
        assert store.get("run\0").task == "a\N{SYMBOL FOR NULL}b\N{REPLACEMENT CHARACTER}"
        assert store.get("run\0").trajectory == make_run("run\0").trajectory, "the record itself is whole"


# --- versions --------------------------------------------------------------------------------------------------------
def test_a_server_that_is_too_old_or_of_another_encoding_is_named(
    server: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tracer_hooks.store import _postgres

    server.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(StoreError, match="is in LATIN1, expected UTF8"):
        RunStore(server.url("latin")).list()
    monkeypatch.setattr(_postgres, "_OLDEST", 99)
    with pytest.raises(StoreError, match=r"is PostgreSQL \d+, expected 99 or later\. Next: upgrade the server"):
        RunStore(url).list()


def test_of_two_versions_of_ours_the_older_one_says_what_to_upgrade(url: str) -> None:
    older = RunStore(url)
    older.save(make_run("a"))
    alter(older, "UPDATE schema_version SET version = ?", 99)
    older.save(make_run("b"))  # it was at work before, and a newer version only adds to the tables
    for options in ({}, {"read_only": True}):
        with pytest.raises(StoreError, match=r"has version 99.*pip install --upgrade tracer-hooks"):
            RunStore(url, **options).list()


def test_looking_makes_nothing_and_tables_that_are_gone_are_made_anew(server: PostgresServer, url: str) -> None:
    store = RunStore(url)
    assert not store.exists()
    with pytest.raises(StoreError, match=r"there is no run store at .* run a hooked team"):
        RunStore(url, read_only=True).list()
    with pytest.raises(StoreError, match="opened read-only"):
        RunStore(url, read_only=True).save(make_run())
    with pytest.raises(StoreError, match="is no file"):
        _ = store.path
    assert not store.exists()
    store.save(make_run("a"))
    assert store.exists()
    store.probe()
    server.execute("DROP SCHEMA tracer_hooks CASCADE", url.rpartition("/")[2])
    with pytest.raises(StoreError):
        store.save(make_run("b"))
    store.save(make_run("b"))
    assert [run.run_id for run in store.list()] == ["b"]


def test_rights_that_are_missing_are_named(server: PostgresServer, url: str) -> None:
    server.execute("CREATE ROLE nobody_much LOGIN")
    weak = url.replace("tests@", "nobody_much@")
    with pytest.raises(StoreError, match="CREATE SCHEMA tracer_hooks AUTHORIZATION"):
        RunStore(weak).save(make_run())
    server.execute("CREATE SCHEMA tracer_hooks AUTHORIZATION nobody_much", url.rpartition("/")[2])
    RunStore(weak).save(make_run())
    assert PromptStore(weak).teams() == ()


# --- processes -------------------------------------------------------------------------------------------------------
def _of_the_child(store: RunStore, told: Any) -> None:
    store.save(make_run("of the child"))
    store.close()
    told.put(os.getpid())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
@pytest.mark.parametrize("stays_open", [False, True])
def test_a_forked_process_has_connections_of_its_own(url: str, stays_open: bool) -> None:
    forking: Any = multiprocessing.get_context("fork")
    with RunStore(url, stays_open=stays_open) as store:
        store.save(make_run("a"))
        with store.writing() as writing:  # one is in use meanwhile
            told = forking.Queue()
            child = forking.Process(target=_of_the_child, args=(store, told))
            child.start()
            assert told.get(timeout=30) == child.pid
            child.join(30)
            assert child.exitcode == 0
            writing.save(PackedRun.of(make_run("b")))
        assert {run.run_id for run in store.list()} == {"a", "b", "of the child"}


def test_a_connection_is_kept_only_where_that_is_asked_for(server: PostgresServer, url: str) -> None:
    import psycopg

    def connections() -> int:
        with psycopg.connect(server.url("postgres")) as looking:
            query = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
            (count,) = looking.execute(query, [url.rpartition("/")[2]]).fetchone() or (None,)
            return int(count or 0)

    def wait_for(number: int) -> None:
        until = time.monotonic() + 10
        while connections() != number and time.monotonic() < until:
            time.sleep(0.02)
        assert connections() == number

    RunStore(url).save(make_run())
    wait_for(0)
    with RunStore(url, stays_open=True) as kept:
        kept.save(make_run())
        wait_for(1)
        kept.close_idle()
        wait_for(0)
        kept.save(make_run())
    wait_for(0)
    writer: StoreWriter = writer_for(place_of(url))
    answered(url, "a")
    assert tracer_hooks.flush(10)
    wait_for(0)
    assert not writer.is_failing


def test_a_connection_that_broke_while_it_was_kept_is_replaced(server: PostgresServer, url: str) -> None:
    with RunStore(url, stays_open=True) as kept:
        kept.save(make_run("a"))
        server.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{url.rpartition('/')[2]}'"
        )
        kept.save(make_run("b"))
        assert len(kept.list()) == 2


# --- passwords -------------------------------------------------------------------------------------------------------
SECRET = "pa%40ss-w%25rd"
PLAIN = "pa@ss-w%rd"


def everything_of(error: BaseException | None) -> str:
    """All that a handler of errors could show."""
    text = ""
    while error is not None:
        text += "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
        error = error.__cause__ or error.__context__
    return text


def uses(place: Any) -> list[Callable[[], object]]:
    return [
        lambda: RunStore(place).save(make_run()),
        lambda: RunStore(place, read_only=True).list(),
        lambda: RunStore(place).exists(),
        lambda: PromptStore(place).versions(),
        lambda: RunStore(place).probe(),
        lambda: RunStore(place).wipe(),
    ]


@pytest.mark.parametrize("query", ["", "?sslmode=disable", f"?password={SECRET}", "?sslmode=often", "?nonsense=1"])
def test_no_error_shows_or_leads_to_a_password(query: str, server: PostgresServer) -> None:
    user = "locked" if "password" in query else f"locked:{SECRET}"
    place = place_of(server.url("postgres", user) + query)
    assert isinstance(place, ServerUrl)
    assert place.has_password
    for use in uses(place):
        with pytest.raises(StoreError) as caught:
            use()
        shown = everything_of(caught.value) + repr(place) + str(place) + repr(RunStore(place).name)
        assert SECRET not in shown
        assert PLAIN not in shown


def test_a_run_with_a_password_in_its_url_is_stored_and_shows_it_nowhere(
    server: PostgresServer, url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ._server import PASSWORD

    caplog.set_level(logging.DEBUG)
    name = url.rpartition("/")[2]
    server.execute(f"GRANT CREATE ON DATABASE {name} TO locked")
    locked = server.url(name, f"locked:{PASSWORD.replace('%', '%25')}")
    monkeypatch.setenv("TRACER_HOOKS_STORE", locked)
    team = tracer_hooks.hook(lambda task: "done", name="maths", store=locked)
    team("ask")
    tracer_hooks.run(lambda task: "done", "again")
    assert tracer_hooks.flush(10)
    assert len(RunStore().list()) == 2
    monkeypatch.setenv("TRACER_HOOKS_STORE", locked.replace(PASSWORD.replace("%", "%25"), "wrong-one"))
    tracer_hooks.run(lambda task: "done", "once more")
    assert said(caplog, SAID)
    shown = caplog.text + repr(tracer_hooks.last_run(team)) + repr(vars(team) if hasattr(team, "__dict__") else "")
    assert PASSWORD not in shown
    assert PASSWORD.replace("%", "%25") not in shown
    assert "wrong-one" not in shown


def test_prompts_are_shared_by_those_who_share_a_store(url: str) -> None:
    version = accepted(PromptStore(url))
    assert PromptStore(url).current(TEAM) == version
