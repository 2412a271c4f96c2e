"""Versions of prompts: what they hold, which state follows which, and which of them is used."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tracer_hooks.config import StorePlace
from tracer_hooks.errors import StoreError
from tracer_hooks.store import PromptArm, PromptPhase, PromptState, PromptStore, PromptTally, fingerprint, prompt_diff

from ._prompts import OWN, TEAM, accepted, outcome, proposed
from ._runs import alter


@pytest.fixture
def store(place: StorePlace) -> PromptStore:
    return PromptStore(place, busy_timeout_s=60)


def current(store: PromptStore, team: str = TEAM) -> int | None:
    version = store.current(team)
    return None if version is None else version.number


def test_a_version_comes_back_whole_from_a_new_store(store: PromptStore) -> None:
    before = datetime.now(UTC)
    texts = {"solver": "Say EUR.\n" * 2000, "chécker": "Check \ud800it."}
    own = {"solver": "Be right.", "chécker": ""}
    made = store.propose(
        TEAM, texts, own, team_name="maths", framework="autogen", provenance={"runs": ["a"], "worst": float("nan")}
    )
    assert (made.number, made.parent, made.state, made.accepted_at) == (1, None, PromptState.PROPOSED, None)
    assert made.texts == {"solver": "Say EUR.\n" * 2000, "chécker": "Check \N{REPLACEMENT CHARACTER}it."}
    assert (made.own, made.team_name, made.framework) == (own, "maths", "autogen")
    assert made.provenance == {"runs": ["a"], "worst": "nan"}
    assert before <= made.created_at == made.changed_at <= datetime.now(UTC)
    assert PromptStore(store.place).get(TEAM, 1) == made
    assert PromptStore(store.place, read_only=True).versions() == (made,)


def test_from_proposed_to_accepted(store: PromptStore) -> None:
    proposed(store)
    on_trial = store.start_trial(TEAM, 1)
    assert (on_trial.state, current(store)) == (PromptState.ON_TRIAL, None)
    evidence = {"pairs": 20, "e": 40.5}
    version = store.accept(TEAM, 1, reason="18 of 20", evidence=evidence)
    assert (version.state, version.reason, version.evidence) == (PromptState.ACCEPTED, "18 of 20", evidence)
    assert version.accepted_at == version.changed_at >= on_trial.changed_at
    assert PromptStore(store.place).current(TEAM) == version
    assert [(event.number, event.what, event.reason) for event in store.events(TEAM)] == [
        (1, "proposed", ""),
        (1, "put on trial", ""),
        (1, "accepted", "18 of 20"),
    ]
    version = store.roll_back(TEAM, 1, reason="got worse", evidence={"watch": {"runs": 17}, "e": 2})
    assert version.evidence == {"pairs": 20, "e": 2, "watch": {"runs": 17}}, "it is added to what is there"


def test_teams_have_versions_of_their_own(store: PromptStore) -> None:
    assert (store.teams(), store.versions(), store.current("b"), store.events("b")) == ((), (), None, ())
    for team in ("b", "a", "b"):
        accepted(store, f"for {team}, {len(store.versions())}", team)
    assert store.teams() == ("a", "b")
    assert [(one.team, one.number) for one in store.versions()] == [("a", 1), ("b", 1), ("b", 2)]
    assert [one.number for one in store.versions("b")] == [1, 2]
    assert (current(store, "a"), current(store, "b"), store.versions("c")) == (1, 2, ())


def test_the_same_texts_again_are_no_new_version_until_decided_or_against_other_prompts(store: PromptStore) -> None:
    assert [proposed(store).number for _ in range(2)] == [1, 1]
    store.start_trial(TEAM, 1)
    assert proposed(store) == store.get(TEAM, 1)
    assert proposed(store, "other").number == 2
    store.roll_back(TEAM, 1, reason="no gain")
    assert proposed(store).number == 3
    assert [event.what for event in store.events(TEAM) if event.number == 3] == ["proposed"]
    accepted(store, "y")
    again = proposed(store)
    assert (again.number, again.parent) == (5, 4), "the third one can never be accepted"
    assert store.propose(TEAM, again.texts, {"solver": "Be quick."}).number == 6


@pytest.mark.parametrize(
    ("texts", "own", "said"),
    [
        ({}, {}, "no texts"),
        ({"solver": " \n"}, OWN, "'solver' is empty"),
        ({"solver": "x"}, {}, r"expected those of texts, \['solver'\]"),
        ({"solver": "x"}, {"solver": "y", "other": "z"}, r"own has the agents \['other', 'solver'\]"),
    ],
)
def test_what_cannot_be_proposed(store: PromptStore, texts: dict[str, str], own: dict[str, str], said: str) -> None:
    with pytest.raises(StoreError, match=said):
        store.propose(TEAM, texts, own)
    assert not store.exists()
    with pytest.raises(StoreError, match="fingerprint"):
        store.propose("", {"solver": "x"}, OWN)


Change = Callable[[PromptStore], object]
CHANGES: dict[str, Change] = {
    "put on trial": lambda store: store.start_trial(TEAM, 1),
    "accepted": lambda store: store.accept(TEAM, 1),
    "pinned": lambda store: store.pin(TEAM, 1),
    "rolled back": lambda store: store.roll_back(TEAM, 1, reason="again"),
}
REACHED: dict[str, tuple[Change, set[str]]] = {
    "proposed": (lambda _: None, {"put on trial", "rolled back"}),
    "on trial": (lambda store: store.start_trial(TEAM, 1), {"accepted", "rolled back"}),
    "accepted": (lambda store: (store.start_trial(TEAM, 1), store.accept(TEAM, 1)), {"pinned", "rolled back"}),
    "rolled back": (lambda store: store.roll_back(TEAM, 1, reason="bad"), set()),
}


@pytest.mark.parametrize("state", REACHED)
@pytest.mark.parametrize("change", CHANGES)
def test_which_change_is_allowed_in_which_state(store: PromptStore, state: str, change: str) -> None:
    reach, allowed = REACHED[state]
    proposed(store)
    reach(store)
    before, events = store.get(TEAM, 1), store.events(TEAM)
    assert before.state == state
    if change in allowed:
        CHANGES[change](store)
        assert store.events(TEAM)[-1].what == change
        return
    with pytest.raises(StoreError, match=rf"version 1 .*cannot be {change}: it is '{state}'.* prompts list"):
        CHANGES[change](store)
    assert (store.get(TEAM, 1), store.events(TEAM)) == (before, events)


def test_versions_that_there_are_not(store: PromptStore) -> None:
    with pytest.raises(StoreError, match=r"no prompts are stored for the team .*prompts list"):
        store.get(TEAM, 1)
    for text in "ab":
        proposed(store, text)
    for use in (
        lambda: store.get(TEAM, 3),
        lambda: store.start_trial(TEAM, 3),
        lambda: store.accept(TEAM, 3),
        lambda: store.roll_back(TEAM, 3, reason=""),
        lambda: store.pin(TEAM, 3),
        lambda: store.unpin(TEAM, 3),
        lambda: store.count(TEAM, 3, outcome()),
    ):
        with pytest.raises(StoreError, match=r"no version 3 .*expected one of: 1, 2\. Run: tracer-hooks prompts list"):
            use()


@pytest.mark.parametrize(
    ("rolled_back", "used"),
    [((3, 2, 1), [2, 1, None]), ((2, 3), [3, None])],
    ids=["one after the other", "a parent that was rolled back does not come back"],
)
def test_rolling_back_goes_to_the_parent_and_then_to_the_teams_own(
    store: PromptStore, rolled_back: tuple[int, ...], used: list[int | None]
) -> None:
    for text in "abc":
        accepted(store, text)
    assert [version.parent for version in store.versions()] == [None, 1, 2]
    for number, then in zip(rolled_back, used, strict=True):
        version = store.roll_back(TEAM, number, reason="got worse")
        assert (version.state, version.reason) == (PromptState.ROLLED_BACK, "got worse")
        assert version.accepted_at is not None
        assert current(PromptStore(store.place)) == then
    assert accepted(store, "d").parent is None


def test_a_version_is_accepted_only_over_what_it_was_compared_with(store: PromptStore) -> None:
    slow = proposed(store, "slow")
    store.start_trial(TEAM, slow.number)
    quick = accepted(store, "quick")
    with pytest.raises(StoreError, match="compared with the team's own prompts, and version 2 is current now"):
        store.accept(TEAM, slow.number)
    assert (current(store), store.get(TEAM, 1).state) == (2, PromptState.ON_TRIAL)
    store.roll_back(TEAM, quick.number, reason="got worse")
    store.accept(TEAM, slow.number)
    assert current(store) == 1


def test_a_pinned_version_is_used_whatever_comes(store: PromptStore) -> None:
    accepted(store, "a")
    waiting = proposed(store, "b")
    store.start_trial(TEAM, waiting.number)
    assert [store.pin(TEAM, 1).is_pinned for _ in range(2)] == [True, True]
    with pytest.raises(StoreError, match=f"version 1 is pinned.*prompts unpin 1 --team {TEAM}"):
        store.accept(TEAM, waiting.number)
    with pytest.raises(StoreError, match="is pinned and cannot be rolled back"):
        store.roll_back(TEAM, 1, reason="got worse")
    assert current(store) == 1
    assert store.unpin(TEAM, 1).is_pinned is False
    store.accept(TEAM, waiting.number)
    assert current(store) == 2
    store.pin(TEAM, 2)
    version = store.roll_back(TEAM, 2, reason="by hand", force=True)
    assert (version.state, version.is_pinned, current(store)) == (PromptState.ROLLED_BACK, False, 1)
    events = [event.what for event in store.events(TEAM)]
    assert events[-6:] == ["pinned", "unpinned", "accepted", "pinned", "unpinned", "rolled back"]


def test_an_older_version_may_be_pinned_and_let_go(store: PromptStore) -> None:
    for text in "abc":
        accepted(store, text)
    for number in (1, 2):
        store.pin(TEAM, number)
        assert current(store) == number
        assert [version.number for version in store.versions() if version.is_pinned] == [number]
    assert proposed(store, "d").parent == 2
    with pytest.raises(StoreError, match="is not pinned, expected version 2"):
        store.unpin(TEAM, 1)
    store.roll_back(TEAM, 3, reason="by hand")
    assert current(store) == 2
    store.pin(TEAM, 1)
    store.unpin(TEAM, 1)
    assert current(store) == 2, "the parent of version 3"
    with pytest.raises(StoreError, match="is not pinned, and no other is"):
        store.unpin(TEAM, 1)


def test_runs_are_counted_once_for_each_version(store: PromptStore) -> None:
    for text in "ab":
        proposed(store, text)
    first = outcome("r1", task="t7")
    assert store.count(TEAM, 1, first) is True
    assert store.count(TEAM, 1, first) is False
    assert store.count(TEAM, 1, outcome("r1", passed=False, phase=PromptPhase.LIVE)) is False
    assert store.count(TEAM, 2, first) is True
    assert store.outcomes(TEAM, 1) == (first,)
    assert store.get(TEAM, 1).trial == PromptTally(new_runs=1, new_passes=1, new_score=0.75)
    assert store.get(TEAM, 1).live == PromptTally()


def test_outcomes_and_their_sums(store: PromptStore) -> None:
    proposed(store)
    for number in range(6):
        arm, phase = list(PromptArm)[number % 2], list(PromptPhase)[number // 4]
        store.count(TEAM, 1, outcome(f"r{number}", arm=arm, phase=phase, passed=number != 2, score=number / 8))
    version = store.get(TEAM, 1)
    trial = PromptTally(new_runs=2, new_passes=1, new_score=0.25, old_runs=2, old_passes=2, old_score=0.5)
    live = PromptTally(new_runs=1, new_passes=1, new_score=0.5, old_runs=1, old_passes=1, old_score=0.625)
    assert (version.trial, version.live) == (trial, live)
    assert (trial.new_rate, trial.old_rate, PromptTally().new_rate, PromptTally().old_rate) == (0.5, 1.0, None, None)
    assert [one.run_id for one in store.outcomes(TEAM, 1)] == [f"r{number}" for number in range(6)]
    assert [one.run_id for one in store.outcomes(TEAM, 1, last=2)] == ["r4", "r5"]
    assert [one.run_id for one in store.outcomes(TEAM, 1, phase=PromptPhase.TRIAL, last=3)] == ["r1", "r2", "r3"]
    assert store.outcomes(TEAM, 2) == ()
    with pytest.raises(StoreError, match="last must be at least 1"):
        store.outcomes(TEAM, 1, last=0)


def test_damaged_texts_are_named_and_can_be_taken_back(store: PromptStore) -> None:
    accepted(store, "a")
    accepted(store, "b")
    alter(store, "update prompt_versions set content = ? where number = 2", b"zgarbage")
    said = rf"version 2 of the prompts of .* is damaged.*tracer-hooks prompts rollback 2 --team {TEAM}"
    with pytest.raises(StoreError, match=said):
        store.current(TEAM)
    with pytest.raises(StoreError, match=said):
        store.roll_back(TEAM, 2, reason="damaged")
    assert current(store) == 1


def test_a_fingerprint_is_readable_and_tells_teams_apart_and_a_diff_names_both_sides() -> None:
    names = {fingerprint("autogen", name) for name in ("Ticket desk", "ticket-desk", "Ticket desk!")}
    assert len(names) == 3
    assert all(name.startswith("autogen-ticket-desk-") for name in names)
    assert prompt_diff("x", "x") == ""
    diff = prompt_diff("a\nb", "a\nc", before_name="v1", after_name="v2")
    assert diff == "--- v1\n+++ v2\n@@ -1,2 +1,2 @@\n a\n-b\n+c"


@pytest.mark.parametrize(("column", "value"), [("evidence", b"zgarbage"), ("created_us", 10**18), ("state", "odd")])
def test_a_version_with_a_damaged_column_is_named(store: PromptStore, column: str, value: object) -> None:
    accepted(store, "a")
    alter(store, f"update prompt_versions set {column} = ?", value)
    with pytest.raises(StoreError, match=r"version 1 of the prompts of .* is damaged"):
        store.get(TEAM, 1)
