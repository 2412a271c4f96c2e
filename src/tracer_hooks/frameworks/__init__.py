"""The bridge to the frameworks: the protocol that adapters follow, discovery, patching, and the intervene seam."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks._background import process_lock as process_lock
    from tracer_hooks._guard import guard as guard
    from tracer_hooks._guard import guarded as guarded
    from tracer_hooks._guard import is_strict as is_strict
    from tracer_hooks._guard import report as report
    from tracer_hooks._guard import warn_once as warn_once
    from tracer_hooks.frameworks._discovery import FoundAdapter as FoundAdapter
    from tracer_hooks.frameworks._discovery import adapter_for as adapter_for
    from tracer_hooks.frameworks._discovery import find_adapters as find_adapters
    from tracer_hooks.frameworks._discovery import get_adapter as get_adapter
    from tracer_hooks.frameworks._discovery import is_within as is_within
    from tracer_hooks.frameworks._discovery import supported_version as supported_version
    from tracer_hooks.frameworks._entries import EntryKind as EntryKind
    from tracer_hooks.frameworks._entries import RunHost as RunHost
    from tracer_hooks.frameworks._entries import SelectiveHost as SelectiveHost
    from tracer_hooks.frameworks._entries import TeamCall as TeamCall
    from tracer_hooks.frameworks._entries import passes_through as passes_through
    from tracer_hooks.frameworks._entries import wrap_entry as wrap_entry
    from tracer_hooks.frameworks._instructions import RewriteInstructions as RewriteInstructions
    from tracer_hooks.frameworks._instructions import rewritten_instructions as rewritten_instructions
    from tracer_hooks.frameworks._instructions import with_instructions as with_instructions
    from tracer_hooks.frameworks._intervention import AskedModel as AskedModel
    from tracer_hooks.frameworks._intervention import Intervention as Intervention
    from tracer_hooks.frameworks._intervention import Interventions as Interventions
    from tracer_hooks.frameworks._intervention import ModelRequest as ModelRequest
    from tracer_hooks.frameworks._intervention import RecordReplies as RecordReplies
    from tracer_hooks.frameworks._intervention import ReplaceModelReply as ReplaceModelReply
    from tracer_hooks.frameworks._intervention import ReplaceToolReply as ReplaceToolReply
    from tracer_hooks.frameworks._intervention import ToolReply as ToolReply
    from tracer_hooks.frameworks._intervention import ToolRequest as ToolRequest
    from tracer_hooks.frameworks._intervention import after_model as after_model
    from tracer_hooks.frameworks._intervention import after_stream as after_stream
    from tracer_hooks.frameworks._intervention import after_tool as after_tool
    from tracer_hooks.frameworks._intervention import ask_model as ask_model
    from tracer_hooks.frameworks._intervention import before_model as before_model
    from tracer_hooks.frameworks._intervention import before_tool as before_tool
    from tracer_hooks.frameworks._intervention import changed_texts as changed_texts
    from tracer_hooks.frameworks._intervention import may_change_replies as may_change_replies
    from tracer_hooks.frameworks._intervention import tool_request as tool_request
    from tracer_hooks.frameworks._patching import ClassPatches as ClassPatches
    from tracer_hooks.frameworks._patching import PatchSet as PatchSet
    from tracer_hooks.frameworks._patching import attach as attach
    from tracer_hooks.frameworks._patching import attached as attached
    from tracer_hooks.frameworks._patching import detach as detach
    from tracer_hooks.frameworks._protocol import Adapter as Adapter
    from tracer_hooks.frameworks._protocol import Capability as Capability
    from tracer_hooks.frameworks._protocol import KnowsCopies as KnowsCopies
    from tracer_hooks.frameworks._protocol import RunResult as RunResult
    from tracer_hooks.frameworks._protocol import StreamCollector as StreamCollector
    from tracer_hooks.frameworks._protocol import TeamInfo as TeamInfo
    from tracer_hooks.frameworks._protocol import Verdict as Verdict

__all__ = lazy_names(__name__)
