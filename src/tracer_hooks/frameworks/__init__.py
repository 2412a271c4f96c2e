"""The bridge to the frameworks: the protocol that adapters follow, discovery, patching, and the intervene seam."""

from tracer_hooks._background import process_lock
from tracer_hooks._guard import guard, guarded, is_strict, report, warn_once
from tracer_hooks.frameworks._attached import attach, attached, detach
from tracer_hooks.frameworks._class_patches import ClassPatches
from tracer_hooks.frameworks._discovery import FoundAdapter, adapter_for, find_adapters, get_adapter
from tracer_hooks.frameworks._entries import EntryKind, passes_through, wrap_entry
from tracer_hooks.frameworks._host import RunHost, SelectiveHost, TeamCall
from tracer_hooks.frameworks._instructions import RewriteInstructions, rewritten_instructions, with_instructions
from tracer_hooks.frameworks._intervention import (
    Intervention,
    Interventions,
    ModelRequest,
    RecordReplies,
    ReplaceModelReply,
    ReplaceToolReply,
    ToolReply,
    ToolRequest,
    after_model,
    after_stream,
    after_tool,
    before_model,
    before_tool,
    changed_texts,
    may_change_replies,
)
from tracer_hooks.frameworks._patching import PatchSet
from tracer_hooks.frameworks._protocol import (
    Adapter,
    Capability,
    KnowsCopies,
    RunResult,
    StreamCollector,
    TeamInfo,
    Verdict,
)
from tracer_hooks.frameworks._release import is_within, supported_version

__all__ = [
    "Adapter",
    "Capability",
    "ClassPatches",
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
    "SelectiveHost",
    "StreamCollector",
    "TeamCall",
    "TeamInfo",
    "ToolReply",
    "ToolRequest",
    "Verdict",
    "adapter_for",
    "after_model",
    "after_stream",
    "after_tool",
    "attach",
    "attached",
    "before_model",
    "before_tool",
    "changed_texts",
    "detach",
    "find_adapters",
    "get_adapter",
    "guard",
    "guarded",
    "is_strict",
    "is_within",
    "may_change_replies",
    "passes_through",
    "process_lock",
    "report",
    "rewritten_instructions",
    "supported_version",
    "warn_once",
    "with_instructions",
    "wrap_entry",
]
