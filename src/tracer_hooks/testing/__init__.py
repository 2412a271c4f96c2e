"""Test doubles: a scripted model on a loopback server, and observed teams.

Nothing is loaded before it is used, and no framework at all. The contract of adapters is in ``tracer_hooks_testing``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.testing._observing import CountingIds, Observer, observed, span_tree, ticking_clock
    from tracer_hooks.testing._scripted_llm import ScriptedLLM
    from tracer_hooks.testing._scripted_rules import (
        Drop,
        ErrorReply,
        Garbage,
        Reply,
        ReplyLike,
        Rule,
        ScriptedRequest,
        ToolCallReply,
        When,
    )

__all__ = [
    "CountingIds",
    "Drop",
    "ErrorReply",
    "Garbage",
    "Observer",
    "Reply",
    "ReplyLike",
    "Rule",
    "ScriptedLLM",
    "ScriptedRequest",
    "ToolCallReply",
    "When",
    "observed",
    "span_tree",
    "ticking_clock",
]

lazy_names(
    __name__,
    {
        "._observing": ("CountingIds", "Observer", "observed", "span_tree", "ticking_clock"),
        "._scripted_llm": ("ScriptedLLM",),
        "._scripted_rules": (
            "Drop",
            "ErrorReply",
            "Garbage",
            "Reply",
            "ReplyLike",
            "Rule",
            "ScriptedRequest",
            "ToolCallReply",
            "When",
        ),
    },
)
