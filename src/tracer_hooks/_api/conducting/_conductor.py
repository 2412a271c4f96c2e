"""The host of a hooked team's runs: it begins the course of every call, and hands it to the driver that fits."""

from __future__ import annotations

import functools
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any

from tracer_hooks._api.conducting._acts import Act
from tracer_hooks._api.conducting._course import Course
from tracer_hooks._api.conducting._drivers import drive_astream, drive_awaited, drive_call, drive_stream
from tracer_hooks._api.conducting._options import HookOptions
from tracer_hooks._api.conducting._prompts import AcceptedPrompts
from tracer_hooks._api.conducting._session import Session
from tracer_hooks._api.conducting._watching import WATCHTOWER
from tracer_hooks._api.runs import LatestRuns, TeamRun, TeamSource
from tracer_hooks._guard import guard
from tracer_hooks.frameworks import Adapter, PatchSet, TeamCall, attach, detach

_KEPT = "__tracer_hooks_conductor__"


class Conductor:
    """Conducts the runs of one team.

    Args:
        adapter: The framework's adapter.
        source: Where teams come from.
        options: How to judge, diagnose and repair.
        is_no_result: Says of what a call returned that it is no result, so that the call was no run; for functions of
            which only the first call shows what they do.

    Attributes:
        is_off: Whether the team was unhooked; its calls are then made without us.
        is_tentative: Whether it is not known yet that calls of the team are runs.
    """

    def __init__(
        self,
        adapter: Adapter,
        source: TeamSource,
        options: HookOptions,
        *,
        is_no_result: Callable[[Any], bool] | None = None,
    ) -> None:
        self.adapter = adapter
        self.options = options
        self.patches = PatchSet()
        self.is_off = False
        self.is_tentative = is_no_result is not None
        self.is_no_result = is_no_result or (lambda value: False)
        self.latest = LatestRuns()
        self.prompts = AcceptedPrompts(adapter, options) if options.prompts == "accepted" else None
        self._source = source
        self._watching = WATCHTOWER.hold(self)
        self._team: weakref.ref[Any] | None = None

    def hook(self, team: Any) -> None:
        """Make every run of ``team`` go through this conductor."""
        attributes = _own_attributes(team)
        self.patches.add(self.adapter.hook(team, self))
        self._team = _reference(team)
        if _own_attributes(team) == attributes:
            # The adapter patches classes alone; the team must keep its conductor alive all the same, and no longer than
            # it lives itself.
            attach(team, _KEPT, self)
            self.patches.on_undo(functools.partial(_let_go, self._team, self))

    def unhook(self) -> None:
        """Put back what hooking changed. Work in the background may keep this conductor; it watches no more."""
        self.is_off = True
        self.patches.undo()
        self._watching()

    def conducts(self, team: object) -> bool:
        """Whether ``team`` is the team object that was hooked."""
        return self._team is None or self._team() is team

    def begins(self, run: TeamRun) -> None:
        """Note that a call is a run."""
        self.is_tentative = False
        self.latest.add(run)

    @property
    def last_run(self) -> TeamRun | None:
        """The newest run of the calling task or thread, else the newest run."""
        return self.latest.newest

    # --- RunHost ---------------------------------------------------------------------------------------------------
    def is_bypassed(self, team: Any) -> bool:
        """Whether the team was unhooked, as a method may show that the caller took from it before."""
        return self.is_off

    def call(self, call: TeamCall) -> Any:
        return drive_call(self._begin, call)

    def acall(self, call: TeamCall) -> Coroutine[Any, Any, Any]:
        return drive_awaited(self._begin, call)

    def stream(self, call: TeamCall) -> Generator[Any, Any, Any]:
        return drive_stream(self._begin, call)

    def astream(self, call: TeamCall) -> AsyncGenerator[Any, None]:
        return drive_astream(self._begin, call)

    def _begin(self, call: TeamCall, *, streams: bool = False) -> tuple[Course, Act | None] | tuple[None, None]:
        """Begin the course of a call; none when we cannot, and the call has to be made without us."""
        with guard("open the run"):
            WATCHTOWER.refresh()
            session = Session(call, self, self._source)
            opened = session.open()
            if not self.is_tentative:
                self.latest.add(session.run)
            course = Course(session, opened, streams=streams, retries=not streams or self.options.retry_streams)
            return course, course.start()
        return None, None


def _let_go(team: weakref.ref[Any] | None, conductor: Conductor) -> None:
    if team is not None:
        detach(team(), _KEPT, conductor)


def _own_attributes(team: Any) -> dict[str, int]:
    return {name: id(value) for name, value in getattr(team, "__dict__", {}).items()}


def _reference(team: Any) -> weakref.ref[Any] | None:
    try:
        return weakref.ref(team)
    except TypeError:
        return None
