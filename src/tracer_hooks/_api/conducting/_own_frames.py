"""Tracebacks of the team's errors without the frames of ours in between."""

from __future__ import annotations

from itertools import pairwise
from types import TracebackType
from typing import TypeVar

E = TypeVar("E", bound=BaseException)

_OURS = ("tracer_hooks._api.", "tracer_hooks.frameworks.", "tracer_hooks.telemetry.", "tracer_hooks_")
"""Modules that stand between the caller, the team, and what the team calls."""
_NOT_OURS = ".teams."
"""Part of the names of modules with teams that an adapter brings; their frames are a team's."""


def without_own_frames(error: E) -> E:
    """``error``, and what it was raised from, without the frames of our wrappers; where it was raised always stays.

    The frames by which it reaches the caller are added when it is raised again. A user looks for a fault of the team,
    and our wrappers only hand calls on.
    """
    seen: set[int] = set()
    chain: BaseException | None = error
    while chain is not None and id(chain) not in seen:
        seen.add(id(chain))
        chain.__traceback__ = _thinned(chain.__traceback__)
        chain = chain.__cause__ or chain.__context__
    return error


def _thinned(trace: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while trace is not None:
        if trace.tb_next is None or not _is_ours(trace):
            kept.append(trace)
        trace = trace.tb_next
    for entry, following in pairwise(kept):
        entry.tb_next = following
    return kept[0] if kept else None


def _is_ours(trace: TracebackType) -> bool:
    name = str(trace.tb_frame.f_globals.get("__name__", ""))
    return name.startswith(_OURS) and _NOT_OURS not in name
