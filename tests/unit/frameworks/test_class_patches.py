"""Wrapped methods of classes that others wrap, too, and put back when they like."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from tracer_hooks.frameworks import ClassPatches


def noting(seen: list[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a wrapper that notes every call."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(self: Any, *args: Any) -> Any:
            seen.append("ours")
            return original(self, *args)

        return method

    return make


class Proxy:
    """A wrapper as ``wrapt`` makes them: it knows the object only when bound to it, and passes for a function."""

    def __init__(self, wrapped: Any, instance: Any = None) -> None:
        self.__wrapped__ = wrapped
        self._instance = instance

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.__wrapped__)

    def __get__(self, instance: Any, owner: type) -> Proxy:
        return Proxy(self.__wrapped__.__get__(instance, owner), instance)

    def __call__(self, *args: Any) -> Any:
        return f"{self._instance.name}: {self.__wrapped__(*args)}"


@pytest.fixture
def team() -> Any:
    class Team:
        name = "team"

        def kickoff(self, task: str) -> str:
            return task.upper()

    return Team


def test_what_was_wrapped_by_others_is_called_on_the_object(team: Any) -> None:
    seen: list[str] = []
    before = team.kickoff = Proxy(team.kickoff)
    patches = ClassPatches()
    patches.wrap(team, "kickoff", noting(seen), purpose="entry")
    assert team().kickoff("go") == "team: GO"
    assert seen == ["ours"]
    patches.undo()
    assert vars(team)["kickoff"] is before


def test_what_others_put_back_is_wrapped_again_and_what_they_keep_is_not_wrapped_twice(team: Any) -> None:
    seen: list[str] = []
    original, patches = vars(team)["kickoff"], ClassPatches()
    team.kickoff = Proxy(original)
    patches.wrap(team, "kickoff", noting(seen), purpose="entry")
    team.kickoff = original  # the others take themselves off, and us with them
    patches.undo()
    assert vars(team)["kickoff"] is original

    patches.wrap(team, "kickoff", noting(seen), purpose="entry")
    team.kickoff = Proxy(vars(team)["kickoff"])
    patches.wrap(team, "kickoff", noting(seen), purpose="entry")
    assert team().kickoff("go") == "team: GO"
    assert seen == ["ours"]


def test_what_others_wrapped_by_a_plain_function_is_still_known_as_ours(team: Any) -> None:
    seen: list[str] = []
    original, patches = vars(team)["kickoff"], ClassPatches()
    patches.wrap(team, "kickoff", noting(seen), purpose="entry")
    inner = vars(team)["kickoff"]
    team.kickoff = lambda self, task: inner(self, task)
    patches.undo()
    patches.wrap(team, "kickoff", noting(seen), purpose="entry")
    team().kickoff("go")
    assert seen == ["ours"]
    team.kickoff = inner  # put back, as found
    patches.undo()
    assert vars(team)["kickoff"] is original
