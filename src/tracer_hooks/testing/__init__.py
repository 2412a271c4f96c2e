"""Test doubles: a scripted model on a loopback server, and observed teams.

Nothing is loaded before it is used, and no framework at all. The contract of adapters is in ``tracer_hooks_testing``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.testing._observing import CountingIds as CountingIds
    from tracer_hooks.testing._observing import RecordingHost as RecordingHost
    from tracer_hooks.testing._observing import observed as observed
    from tracer_hooks.testing._observing import span_tree as span_tree
    from tracer_hooks.testing._observing import ticking_clock as ticking_clock
    from tracer_hooks.testing._scripted_llm import ScriptedLLM as ScriptedLLM
    from tracer_hooks.testing._scripted_rules import Drop as Drop
    from tracer_hooks.testing._scripted_rules import ErrorReply as ErrorReply
    from tracer_hooks.testing._scripted_rules import Garbage as Garbage
    from tracer_hooks.testing._scripted_rules import Reply as Reply
    from tracer_hooks.testing._scripted_rules import ReplyLike as ReplyLike
    from tracer_hooks.testing._scripted_rules import Rule as Rule
    from tracer_hooks.testing._scripted_rules import ScriptedRequest as ScriptedRequest
    from tracer_hooks.testing._scripted_rules import ToolCallReply as ToolCallReply
    from tracer_hooks.testing._scripted_rules import When as When

__all__ = lazy_names(__name__)
