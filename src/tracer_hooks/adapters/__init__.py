"""The bridge to the frameworks: the protocol that adapters follow, discovery, patching, and the intervene seam."""

from tracer_hooks._guard import guard, guarded, warn_once
from tracer_hooks.adapters._discovery import FoundAdapter, adapter_for, find_adapters, get_adapter
from tracer_hooks.adapters._entries import EntryKind, wrap_entry
from tracer_hooks.adapters._host import RunHost, TeamCall
from tracer_hooks.adapters._intervention import (
    Intervention,
    Interventions,
    ModelRequest,
    RecordReplies,
    ReplaceModelReply,
    ReplaceToolReply,
    RewriteInstructions,
    ToolReply,
    ToolRequest,
    after_model,
    after_tool,
    before_model,
    before_tool,
    changed_texts,
)
from tracer_hooks.adapters._patching import PatchSet
from tracer_hooks.adapters._protocol import (
    Adapter,
    Capability,
    KnowsCopies,
    RunResult,
    StreamCollector,
    TeamInfo,
    Verdict,
)
from tracer_hooks.adapters._release import is_within, supported_version

__all__ = [
    "Adapter",
    "Capability",
    "EntryKind",
    "FoundAdapter",
    "Intervention",
    "Interventions",
    "KnowsCopies",
    "ModelRequest",
    "PatchSet",
    "RecordReplies",
    "ReplaceModelReply",
    "ReplaceToolReply",
    "RewriteInstructions",
    "RunHost",
    "RunResult",
    "StreamCollector",
    "TeamCall",
    "TeamInfo",
    "ToolReply",
    "ToolRequest",
    "Verdict",
    "adapter_for",
    "after_model",
    "after_tool",
    "before_model",
    "before_tool",
    "changed_texts",
    "find_adapters",
    "get_adapter",
    "guard",
    "guarded",
    "is_within",
    "supported_version",
    "warn_once",
    "wrap_entry",
]
