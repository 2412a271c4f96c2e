"""Test doubles and the contract kit: a scripted model on a loopback server, observed teams, the duties of an adapter.

Nothing is loaded before it is used: neither a framework nor pytest, which only :class:`AdapterContract` needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.testing._observing import CountingIds, Observer, observed, span_tree, ticking_clock
    from tracer_hooks.testing._scripted_llm import ScriptedLLM
    from tracer_hooks.testing._scripted_rules import (
        Drop,
        ErrorReply,
        Garbage,
        Reply,
        Rule,
        ScriptedRequest,
        ToolCallReply,
        When,
    )
    from tracer_hooks_testing._contract import AdapterContract
    from tracer_hooks_testing._teams import PROMPTS, SCRIPTS, TASK, ContractTeams, NotOfferedError, Scenario, lookup

__all__ = [
    "PROMPTS",
    "SCRIPTS",
    "TASK",
    "AdapterContract",
    "ContractTeams",
    "CountingIds",
    "Drop",
    "ErrorReply",
    "Garbage",
    "NotOfferedError",
    "Observer",
    "Reply",
    "Rule",
    "Scenario",
    "ScriptedLLM",
    "ScriptedRequest",
    "ToolCallReply",
    "When",
    "lookup",
    "observed",
    "span_tree",
    "ticking_clock",
]

lazy_names(
    __name__,
    {
        "tracer_hooks_testing._contract": ("AdapterContract",),
        "tracer_hooks_testing._teams": ("ContractTeams", "NotOfferedError"),
        "._observing": ("Observer", "observed"),
        "tracer_hooks_testing._teams": ("PROMPTS", "SCRIPTS", "TASK", "Scenario", "lookup"),
        "._scripted_llm": ("ScriptedLLM",),
        "._scripted_rules": ("Drop", "ErrorReply", "Garbage", "Reply", "ToolCallReply"),
        "._scripted_rules": ("ScriptedRequest",),
        "._scripted_rules": ("Rule", "When"),
        "._observing": ("CountingIds", "span_tree", "ticking_clock"),
    },
)
