"""Duties: hooking changes nothing that stays, and nothing that the caller can see."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import pytest

from tracer_hooks import semconv
from tracer_hooks.testing._contract_base import ContractBase, every_way, spans_of
from tracer_hooks.testing._observing import Observer
from tracer_hooks.testing._scenarios import TASK, Scenario

_MAX_OBJECTS = 4_000
_MAX_DEPTH = 6


class RestoreContract(ContractBase):
    """What was there is there again, and a second hook does no harm."""

    @pytest.mark.parametrize("scenario", list(Scenario))
    def test_undo_restores_every_attribute(self, scenario: Scenario) -> None:
        team = self.build(scenario, self.llm(scenario))
        before = attributes(team, *self.teams.parts(team))
        self.hook(team, Observer(self.adapter)).undo()
        after = attributes(team, *self.teams.parts(team))
        assert changes(before, after) == []

    def test_nothing_of_ours_is_left_after_a_run(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team):
            self.run(team)
        left = changes({}, attributes(team, *self.teams.parts(team)), only_ours=True)
        assert left == []

    def test_undo_after_a_failed_run_restores_too(self) -> None:
        team = self.build("single", self.llm([]))  # every request is refused
        with self.observe(team):
            self.ending("run", team)
        assert changes({}, attributes(team, *self.teams.parts(team)), only_ours=True) == []

    def test_undoing_twice_does_no_harm(self) -> None:
        team = self.build("single", self.llm(Scenario.SINGLE))
        patches = self.hook(team, Observer(self.adapter))
        patches.undo()
        patches.undo()
        assert "42" in self.adapter.result(self.adapter.entry(team, TASK), self.run(team)).text

    def test_a_team_that_was_unhooked_reports_nothing(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team) as observer:
            pass
        self.run(team)
        assert observer.runs == []
        assert observer.spans == ()

    def test_a_team_can_be_hooked_again(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        counts = []
        for _ in range(2):
            with self.observe(team) as observer:
                self.run(team)
            counts.append(len(observer.trajectory.steps))
        assert counts == [4, 4]

    def test_one_hook_observes_several_runs(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team) as observer:
            for _ in range(2):
                self.run(team)
        assert [len(trajectory.steps) for trajectory in observer.trajectories] == [4, 4]
        assert len({trajectory.trace_id for trajectory in observer.trajectories}) == 2

    def test_hooking_twice_doubles_nothing(self) -> None:
        llm = self.llm(Scenario.PIPELINE)
        team = self.build("pipeline", llm)
        before = attributes(team, *self.teams.parts(team))
        with self.observe(team) as outer, self.observe(team) as inner:
            self.run(team)
        # The newest hook conducts the run; whatever the older one adds must not double an operation.
        seen = [*spans_of(outer, semconv.OP_CHAT), *spans_of(inner, semconv.OP_CHAT)]
        assert len(seen) == llm.calls
        assert len(inner.trajectory.steps) == 4
        after = attributes(team, *self.teams.parts(team))
        assert changes({key: before[key] for key in before.keys() & after.keys()}, after, only_ours=True) == []

    def test_two_teams_of_one_class_are_hooked_apart(self) -> None:
        llm = self.llm(Scenario.PIPELINE)
        hooked, bare = self.build("pipeline", llm), self.build("pipeline", llm)
        with self.observe(hooked) as observer:
            self.run(bare)
            assert observer.runs == []
            self.run(hooked)
        assert len(observer.trajectory.steps) == 4

    def test_hooks_of_two_teams_may_be_undone_in_any_order(self) -> None:
        llm = self.llm(Scenario.PIPELINE)
        first, second = self.build("pipeline", llm), self.build("pipeline", llm)
        before = attributes(*self.teams.parts(first), *self.teams.parts(second))
        observers = [Observer(self.adapter), Observer(self.adapter)]
        one, two = (self.hook(team, host) for team, host in zip((first, second), observers, strict=True))
        one.undo()
        self.run(second)
        assert len(observers[1].trajectory.steps) == 4
        two.undo()
        after = attributes(*self.teams.parts(first), *self.teams.parts(second))
        assert changes({key: before[key] for key in before.keys() & after.keys()}, after, only_ours=True) == []

    @every_way
    def test_results_are_the_frameworks_own(self, way: str) -> None:
        llm = self.llm(Scenario.PIPELINE)
        bare = self.ending(way, self.build("pipeline", llm))
        llm.reset()
        team = self.build("pipeline", llm)
        with self.observe(team):
            hooked = self.ending(way, team)
        assert bare.error is None
        assert hooked == bare

    def test_a_broken_probe_disables_one_hook_and_warns_once(self, caplog: pytest.LogCaptureFixture) -> None:
        llm = self.llm(Scenario.PIPELINE)
        self.monkeypatch.setattr("tracer_hooks._guard._warned", set())
        with self.offered(self.teams.broken_probe):
            for _ in range(2):
                team = self.build("pipeline", llm)
                with self.observe(team) as observer:
                    self.run(team)
        assert len([record for record in caplog.records if record.name.startswith("tracer_hooks")]) == 1
        assert len(observer.runs) == 1
        assert observer.trajectory.final_output


def attributes(*owners: Any) -> dict[tuple[str, int], tuple[Any, dict[str, Any]]]:
    """``vars()`` of the objects and of what they hold, each with the object itself, so that no id is used twice."""
    found: dict[tuple[str, int], tuple[Any, dict[str, Any]]] = {}
    level = list(owners)
    for _ in range(_MAX_DEPTH):
        held: list[Any] = []
        for owner in level:
            key = (type(owner).__qualname__, id(owner))
            if key in found or not hasattr(owner, "__dict__") or len(found) >= _MAX_OBJECTS:
                continue
            found[key] = (owner, dict(vars(owner)))
            if not isinstance(owner, type):
                held += [item for value in vars(owner).values() for item in _followed(value)]
        level = held
    return found


def _followed(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _followed(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _followed(item)
    elif not isinstance(value, (type, ModuleType, FunctionType, MethodType, str, bytes)):
        yield value


def changes(
    before: dict[tuple[str, int], tuple[Any, dict[str, Any]]],
    after: dict[tuple[str, int], tuple[Any, dict[str, Any]]],
    *,
    only_ours: bool = False,
) -> list[str]:
    """Attributes that are another object than before; with ``only_ours``, those that now hold code of tracer-hooks."""
    changed = []
    for key, (_, now) in after.items():
        known = before[key][1] if key in before else ({} if only_ours else now)
        for name in now.keys() | known.keys():
            same = name in now and name in known and now[name] is known[name]
            if not same and (not only_ours or _is_ours(now.get(name))):
                changed.append(f"{key[0]}.{name}")
    return sorted(changed)


def _is_ours(value: Any) -> bool:
    function = getattr(value, "__func__", value)
    home = getattr(function, "__globals__", {}).get("__name__") or type(value).__module__
    return str(home).startswith("tracer_hooks") and not str(home).startswith("tracer_hooks.testing")
