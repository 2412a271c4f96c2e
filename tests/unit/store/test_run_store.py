"""The store through its public methods: what is saved comes back, in full and in short, with its tape."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tracer_hooks.config import StorePlace
from tracer_hooks.errors import StoreError
from tracer_hooks.repair import RepairLog
from tracer_hooks.schema import Attribution, RunKind, RunOutcome, Step, ToolCall, Trajectory, Usage
from tracer_hooks.store import RunCount, RunStore, default_place

from .._known import known
from ._runs import NOON, alter, make_attribution, make_run


@pytest.fixture
def store(place: StorePlace) -> RunStore:
    return RunStore(place)


def test_a_run_comes_back_as_it_was_saved_also_twice(store: RunStore) -> None:
    trial = {"repair": {"strategy": "from_scratch"}, "outcome": "failed"}
    repair = {"trials": [trial], "stopped": "1 of 1 retries used"}
    run = make_run(attribution=make_attribution(), repair=repair, attempt=2, kind=RunKind.RETRY)
    for _ in range(2):
        store.save(run)
    assert store.get("run-1") == run
    assert len(store.list()) == 1


def test_times_are_exact_and_in_utc(store: RunStore) -> None:
    moment = datetime(2026, 1, 1, 3, 4, 5, 999999, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    with store:
        store.save(make_run(started_at=moment, ended_at=None))
    found = store.get("run-1")  # it can be used again once it is closed
    assert (found.started_at, found.started_at.utcoffset(), found.ended_at) == (moment, timedelta(0), None)
    with pytest.raises(ValidationError, match="timezone"):
        make_run(started_at=datetime(2026, 1, 1))


def test_a_later_save_replaces_the_run_but_keeps_a_diagnosis_it_lacks(store: RunStore) -> None:
    store.save(make_run(outcome=RunOutcome.UNKNOWN))
    store.set_attribution("run-1", make_attribution())
    store.save(make_run(repair={"stopped": "x"}))
    store.save(make_run(outcome=RunOutcome.SUCCEEDED, text="forty-two"))
    found = store.get("run-1")
    assert found.outcome is RunOutcome.SUCCEEDED
    assert found.trajectory.steps[0].content == "forty-two"
    assert found.attribution == make_attribution()
    assert found.repair == {"stopped": "x"}


def test_a_diagnosis_can_be_set_and_removed(store: RunStore) -> None:
    store.save(make_run())
    store.set_attribution("run-1", make_attribution())
    assert store.list()[0].agent == "solver"
    store.set_attribution("run-1", None)
    assert store.get("run-1").attribution is None


def test_a_unique_beginning_finds_the_run_and_a_shared_one_names_the_choices(store: RunStore) -> None:
    for run_id in ("abc1", "abc2", "abd", "abc", "Abx"):
        store.save(make_run(run_id))
    assert store.get("abd").run_id == "abd"
    assert store.get("abc").run_id == "abc", "a whole id wins over longer ids that begin with it"
    assert store.get("Ab").run_id == "Abx", "upper and lower case differ"
    with pytest.raises(StoreError, match=r"beginning of several runs \('abc', 'abc1', 'abc2', 'abd'\)"):
        store.get("ab")


@pytest.mark.parametrize("wanted", ["nope", "", "%", "run_1", "run-11"])
def test_an_unknown_run_is_named_with_the_next_command(store: RunStore, wanted: str) -> None:
    store.save(make_run("run-1"))
    with pytest.raises(StoreError, match="tracer-hooks runs list") as caught:
        store.get(wanted)
    assert repr(wanted) in str(caught.value)


def test_list_is_newest_first_and_filters(store: RunStore) -> None:
    store.save(make_run("old", minutes=0))
    store.save(make_run("new", minutes=10, outcome=RunOutcome.SUCCEEDED))
    store.save(make_run("other", minutes=5, team="writers"))
    assert [run.run_id for run in store.list()] == ["new", "other", "old"]
    assert [run.run_id for run in store.list(limit=1)] == ["new"]
    assert [run.run_id for run in store.list(team="writers")] == ["other"]
    assert [run.run_id for run in store.list(outcome=RunOutcome.FAILED)] == ["other", "old"]
    assert [run.run_id for run in store.list(since=NOON + timedelta(minutes=5))] == ["new", "other"]
    store.save(make_run("tagged", minutes=-1, tags={"release": "1.4", "user.id": 'a "b", "c": "d"', "beta": "true"}))
    store.save(make_run("later", minutes=-2, tags={"release": "1.40"}))
    assert [run.tags.get("release") for run in store.list()] == [None, None, None, "1.4", "1.40"]
    assert [run.run_id for run in store.list(tags={"release": "1.4", "beta": "true"})] == ["tagged"]
    assert [run.run_id for run in store.list(tags={"user.id": 'a "b", "c": "d"'})] == ["tagged"]
    for none in ({"c": "d"}, {"release": "1"}, {"elease": "1.4"}, {"release": "1.4", "beta": "false"}):
        assert store.list(tags=none) == ()
    with pytest.raises(StoreError, match="limit must be at least 1, got 0"):
        store.list(limit=0)
    with pytest.raises(StoreError, match="time zone"):
        store.list(since=datetime(2026, 1, 1))


def test_runs_are_counted_by_team_outcome_and_day_without_replays(store: RunStore) -> None:
    assert (store.counts(), store.newest()) == ((), None)
    for name, minutes, more in (
        ("old", -1440, {}), ("new", 10, {}), ("good", 5, {"outcome": RunOutcome.SUCCEEDED}),
        ("replay", 20, {"kind": RunKind.REPLAY}), ("other", 0, {"team": "writers", "tags": {"release": "1.4"}}),
    ):  # fmt: skip
        store.save(make_run(name, minutes=minutes, **more))
    failed, today = RunOutcome.FAILED, NOON.date()
    before = RunCount("maths", failed, today - timedelta(days=1), 1, 7, 3)
    new, other = before._replace(day=today), before._replace(team="writers", day=today)
    good, days = new._replace(outcome=RunOutcome.SUCCEEDED), [today - timedelta(days=1), today]
    assert set(store.counts(days=days)) == {before, new, good, other}
    assert set(store.counts(team="maths", days=[today])) == {before._replace(day=None), new, good}
    assert set(store.counts(team="maths", days=days[:1])) == {
        before._replace(runs=2, input_tokens=14, output_tokens=6), good._replace(day=days[0])
    }  # fmt: skip
    assert set(store.counts()) == {
        each._replace(day=None) for each in (before._replace(runs=2, input_tokens=14, output_tokens=6), good, other)
    }
    assert store.counts(tags={"release": "1.4"}) == store.counts(team="writers") == (other._replace(day=None),)
    assert sum(count.runs for count in store.counts(since=NOON)) == 3
    assert (store.newest(), store.newest(team="writers")) == (NOON + timedelta(minutes=10), NOON)
    assert [run.run_id for run in store.list(limit=2, offset=1, with_replays=False)] == ["good", "other"]


def test_the_digest_of_a_call_changes_with_what_is_kept_of_it(store: RunStore) -> None:
    store.save(make_run("first"))
    seen = [store.digest("session-1")]
    store.save(make_run("second", attempt=2))
    seen.append(store.digest("session-1"))
    store.set_attribution("first", make_attribution("first"))
    seen += [store.digest("session-1"), store.digest("session-1")]
    assert len(set(seen)) == 3
    assert seen[2] == seen[3]


def test_a_summary_tells_the_diagnosis_without_the_trajectory(store: RunStore) -> None:
    store.save(make_run(attribution=make_attribution(), task="t" * 9000, repair={"stopped": "x"}))
    store.save(make_run("plain"))
    abstained = Attribution(run_id="none", abstained=True, abstained_reason="no sign of failure")
    store.save(make_run("none", attribution=abstained))
    found = {run.run_id: run for run in store.list()}
    summary = found["run-1"]
    assert (summary.agent, summary.step, summary.error_mode) == ("solver", 0, "FM-3.2")
    assert (summary.steps, summary.usage) == (1, Usage(input_tokens=7, output_tokens=3))
    assert (summary.has_repair, summary.task) == (True, "t" * 500)
    assert {name: (run.confidence, run.abstained) for name, run in found.items()} == {
        "run-1": (0.625, False),
        "plain": (None, False),
        "none": (0.0, True),
    }


def test_attempts_of_one_session_in_order(store: RunStore) -> None:
    store.save(make_run("second", attempt=2, kind=RunKind.RETRY))
    store.save(make_run("first", attempt=1))
    store.save(make_run("stranger", session_id="session-2"))
    assert [run.run_id for run in store.attempts("session-1")] == ["first", "second"]
    assert store.attempts("nobody") == ()


def test_megabyte_messages_and_large_numbers_survive(store: RunStore) -> None:
    noise = "".join(chr(0x4E00 + (number * 7919) % 20000) for number in range(400_000))
    call = ToolCall(name="big", arguments={"n": 2**80, "f": 1e308, "inf": float("inf"), "z": "\x00"})
    steps = (
        Step(index=0, agent="a", content=noise, tool_calls=(call,), usage=Usage(input_tokens=2**70)),
        Step(index=1, agent="a", content="plain " * 200_000),
    )
    run = make_run(trajectory=Trajectory(run_id="run-1", steps=steps), attempt=2**62)
    store.save(run)
    assert store.get("run-1") == run
    assert store.list()[0].usage.input_tokens == 2**63 - 1
    if isinstance(store.place, Path):
        assert store.place.stat().st_size < 2_000_000, "1.2 MB of repetition must not be stored as it is"


def test_the_default_place_is_hidden_from_version_control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRACER_HOOKS_STORE", raising=False)
    store = RunStore()
    assert store.path == tmp_path / ".tracer_hooks" / "runs.sqlite"
    assert not store.path.parent.exists(), "nothing is made before the first use"
    store.save(make_run())
    assert (store.path.parent / ".gitignore").read_text() == "*\n"


def test_a_place_of_the_users_own_gets_no_gitignore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STORE", str(tmp_path / "deep" / "er" / "mine #1?.sqlite"))
    with RunStore() as store:
        store.save(make_run())
    assert store.path == default_place()
    assert store.path.exists()
    assert list(tmp_path.rglob(".gitignore")) == []


def test_a_directory_stands_for_the_file_inside_and_a_store_that_is_switched_off_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert RunStore(tmp_path).path == tmp_path / "runs.sqlite"
    monkeypatch.setenv("TRACER_HOOKS_STORE", "off")
    with pytest.raises(StoreError, match="unset TRACER_HOOKS_STORE"):
        RunStore()


def test_a_rewrite_of_an_older_version_is_read_as_a_repair(store: RunStore) -> None:
    older = {"agent": "solver", "before": "Be right.", "after": "Be right. Check."}
    older |= {"kept": True, "decision": "it helped"}  # type: ignore[dict-item]
    store.save(make_run(repair=older))
    found = known(store.get("run-1").repair)
    log = RepairLog.model_validate(found)
    assert (log.trials[0].repair.agent, log.trials[0].repair.text) == ("solver", "Be right. Check.")
    assert (log.recovered, log.stopped) == (True, "it helped")


TAPE: dict[str, Any] = {
    "run_id": "run-1",
    "messages": [{"role": "user", "content": "größe ✓ " * 500}],
    "model_calls": [{"agent": "solver", "step": 0, "messages": [0], "content": "\ud800", "latency_s": 0.25}],
}


def test_a_tape_comes_back_as_it_was_saved(store: RunStore) -> None:
    store.save(make_run(tape=TAPE))
    store.save(make_run("without"))
    assert store.get("run-1").tape == TAPE
    assert store.get("run-1", with_tape=False) == make_run()
    assert store.get("without").tape is None
    assert store.attempts("session-1")[0].tape == TAPE
    assert {run.run_id: run.has_tape for run in store.list()} == {"run-1": True, "without": False}


def test_a_later_save_without_a_tape_keeps_it(store: RunStore) -> None:
    store.save(make_run(tape=TAPE))
    store.save(make_run(text="later"))
    found = store.get("run-1")
    assert found.trajectory.steps[0].content == "later"
    assert found.tape == TAPE


def test_a_damaged_tape_names_the_run_and_leaves_the_rest_readable(store: RunStore) -> None:
    store.save(make_run(tape=TAPE))
    alter(store, "update runs set tape = ?", b"zgarbage")
    with pytest.raises(StoreError, match=r"run 'run-1' in the run store is damaged"):
        store.get("run-1")
    assert store.get("run-1", with_tape=False) == make_run()
    assert store.list()[0].has_tape
