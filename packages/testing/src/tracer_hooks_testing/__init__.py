"""The contract that every adapter of tracer-hooks keeps, as tests, and the scenarios that they play.

Nothing is loaded before it is used: neither a framework nor pytest, which only :class:`AdapterContract` needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks_testing._contract import AdapterContract as AdapterContract
    from tracer_hooks_testing._teams import PROMPTS as PROMPTS
    from tracer_hooks_testing._teams import SCRIPTS as SCRIPTS
    from tracer_hooks_testing._teams import TASK as TASK
    from tracer_hooks_testing._teams import ContractTeams as ContractTeams
    from tracer_hooks_testing._teams import NotOfferedError as NotOfferedError
    from tracer_hooks_testing._teams import Scenario as Scenario
    from tracer_hooks_testing._teams import lookup as lookup

__all__ = lazy_names(__name__)
