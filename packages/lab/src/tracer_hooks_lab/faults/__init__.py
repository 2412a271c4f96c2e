"""Deliberate faults: specified, planned, written, and put into a run at one step of one agent."""

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks_lab.faults._channel_faults import faulty_messages
    from tracer_hooks_lab.faults._context import FaultContext, Utterance, context_of_request, context_of_step
    from tracer_hooks_lab.faults._corruption import Corruption, corrupt, fitting_kinds
    from tracer_hooks_lab.faults._fault_intervention import AppliedFault, FaultInjector
    from tracer_hooks_lab.faults._instructions import instruction, instructions_for
    from tracer_hooks_lab.faults._leaks import LEAK_WORDS, leaked_words
    from tracer_hooks_lab.faults._place import place_fault
    from tracer_hooks_lab.faults._plan import PlannedFault, plan_faults
    from tracer_hooks_lab.faults._registry import Mutator, Target, get_mutator, mutators_of, register_mutator
    from tracer_hooks_lab.faults._spec import ChannelFault, FaultSpec, FaultStrategy, ToolFault
    from tracer_hooks_lab.faults._tool_faults import faulty_tool_reply
    from tracer_hooks_lab.faults._verification import Verification, VerificationRule
    from tracer_hooks_lab.faults._verified import Injection, InjectOptions, Injector
    from tracer_hooks_lab.faults._writer import FaultWriter, LLMWriter, ProgrammaticWriter, WriteOnce, openai_chat

__all__ = [
    "LEAK_WORDS",
    "AppliedFault",
    "ChannelFault",
    "Corruption",
    "FaultContext",
    "FaultInjector",
    "FaultSpec",
    "FaultStrategy",
    "FaultWriter",
    "InjectOptions",
    "Injection",
    "Injector",
    "LLMWriter",
    "Mutator",
    "PlannedFault",
    "ProgrammaticWriter",
    "Target",
    "ToolFault",
    "Utterance",
    "Verification",
    "VerificationRule",
    "WriteOnce",
    "context_of_request",
    "context_of_step",
    "corrupt",
    "faulty_messages",
    "faulty_tool_reply",
    "fitting_kinds",
    "get_mutator",
    "instruction",
    "instructions_for",
    "leaked_words",
    "mutators_of",
    "openai_chat",
    "place_fault",
    "plan_faults",
    "register_mutator",
]

lazy_names(
    __name__,
    {
        "._channel_faults": ("faulty_messages",),
        "._context": (
            "FaultContext",
            "Utterance",
            "context_of_request",
            "context_of_step",
        ),
        "._corruption": (
            "Corruption",
            "corrupt",
            "fitting_kinds",
        ),
        "._fault_intervention": (
            "AppliedFault",
            "FaultInjector",
        ),
        "._instructions": (
            "instruction",
            "instructions_for",
        ),
        "._leaks": (
            "LEAK_WORDS",
            "leaked_words",
        ),
        "._place": ("place_fault",),
        "._plan": (
            "PlannedFault",
            "plan_faults",
        ),
        "._registry": (
            "Mutator",
            "Target",
            "get_mutator",
            "mutators_of",
            "register_mutator",
        ),
        "._spec": (
            "ChannelFault",
            "FaultSpec",
            "FaultStrategy",
            "ToolFault",
        ),
        "._tool_faults": ("faulty_tool_reply",),
        "._verification": (
            "Verification",
            "VerificationRule",
        ),
        "._verified": (
            "InjectOptions",
            "Injection",
            "Injector",
        ),
        "._writer": (
            "FaultWriter",
            "LLMWriter",
            "ProgrammaticWriter",
            "WriteOnce",
            "openai_chat",
        ),
    },
)
