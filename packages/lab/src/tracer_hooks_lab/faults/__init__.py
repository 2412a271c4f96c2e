"""Deliberate faults: specified, planned, written, and put into a run at one step of one agent."""

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks_lab.faults._context import FaultContext, Utterance, context_of_request, context_of_step
    from tracer_hooks_lab.faults._corruption import LEAK_WORDS, Corruption, corrupt, fitting_kinds, leaked_words
    from tracer_hooks_lab.faults._fault_intervention import AppliedFault, FaultInjector
    from tracer_hooks_lab.faults._mutators import (
        Mutator,
        Target,
        check_can_be_made,
        get_mutator,
        mutators_of,
        register_mutator,
    )
    from tracer_hooks_lab.faults._plan import PlannedFault, place_fault, plan_faults
    from tracer_hooks_lab.faults._spec import ChannelFault, FaultSpec, FaultStrategy, ToolFault
    from tracer_hooks_lab.faults._tool_and_channel_faults import faulty_messages, faulty_tool_reply
    from tracer_hooks_lab.faults._verification import Injection, InjectOptions, Injector, Verification, VerificationRule
    from tracer_hooks_lab.faults._writer import (
        FaultWriter,
        LLMWriter,
        ProgrammaticWriter,
        WriteOnce,
        instruction,
        instructions_for,
        openai_chat,
    )

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
    "check_can_be_made",
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
        "._context": (
            "FaultContext",
            "Utterance",
            "context_of_request",
            "context_of_step",
        ),
        "._corruption": (
            "LEAK_WORDS",
            "Corruption",
            "corrupt",
            "fitting_kinds",
            "leaked_words",
        ),
        "._fault_intervention": (
            "AppliedFault",
            "FaultInjector",
        ),
        "._mutators": (
            "Mutator",
            "Target",
            "check_can_be_made",
            "get_mutator",
            "mutators_of",
            "register_mutator",
        ),
        "._plan": (
            "PlannedFault",
            "place_fault",
            "plan_faults",
        ),
        "._spec": (
            "ChannelFault",
            "FaultSpec",
            "FaultStrategy",
            "ToolFault",
        ),
        "._tool_and_channel_faults": (
            "faulty_messages",
            "faulty_tool_reply",
        ),
        "._verification": (
            "Injection",
            "InjectOptions",
            "Injector",
            "Verification",
            "VerificationRule",
        ),
        "._writer": (
            "FaultWriter",
            "LLMWriter",
            "ProgrammaticWriter",
            "WriteOnce",
            "instruction",
            "instructions_for",
            "openai_chat",
        ),
    },
)
