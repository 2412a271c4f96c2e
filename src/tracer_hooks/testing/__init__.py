"""Test doubles and the contract kit: a scripted model on a loopback server, observed teams, the duties of an adapter.

Nothing is loaded before it is used: neither a framework nor pytest, which only :class:`AdapterContract` needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.testing._contract import AdapterContract
    from tracer_hooks.testing._contract_teams import ContractTeams, NotOfferedError
    from tracer_hooks.testing._observing import Observer, observed
    from tracer_hooks.testing._scenarios import PROMPTS, SCRIPTS, TASK, Scenario, lookup
    from tracer_hooks.testing._scripted_llm import ScriptedLLM
    from tracer_hooks.testing._scripted_replies import Drop, ErrorReply, Garbage, Reply, ToolCallReply
    from tracer_hooks.testing._scripted_request import ScriptedRequest
    from tracer_hooks.testing._scripted_rules import Rule, When
    from tracer_hooks.testing._spans import CountingIds, span_tree, ticking_clock

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
        "._contract": ("AdapterContract",),
        "._contract_teams": ("ContractTeams", "NotOfferedError"),
        "._observing": ("Observer", "observed"),
        "._scenarios": ("PROMPTS", "SCRIPTS", "TASK", "Scenario", "lookup"),
        "._scripted_llm": ("ScriptedLLM",),
        "._scripted_replies": ("Drop", "ErrorReply", "Garbage", "Reply", "ToolCallReply"),
        "._scripted_request": ("ScriptedRequest",),
        "._scripted_rules": ("Rule", "When"),
        "._spans": ("CountingIds", "span_tree", "ticking_clock"),
    },
)
