"""The contract that every adapter of tracer-hooks keeps, as tests, and the scenarios that they play.

Nothing is loaded before it is used: neither a framework nor pytest, which only :class:`AdapterContract` needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks_testing._contract import AdapterContract
    from tracer_hooks_testing._teams import PROMPTS, SCRIPTS, TASK, ContractTeams, NotOfferedError, Scenario, lookup

__all__ = ["PROMPTS", "SCRIPTS", "TASK", "AdapterContract", "ContractTeams", "NotOfferedError", "Scenario", "lookup"]

lazy_names(
    __name__,
    {
        "._contract": ("AdapterContract",),
        "._teams": ("PROMPTS", "SCRIPTS", "TASK", "ContractTeams", "NotOfferedError", "Scenario", "lookup"),
    },
)
