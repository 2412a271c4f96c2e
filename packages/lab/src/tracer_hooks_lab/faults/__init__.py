"""Deliberate faults: specified, planned, written, and put into a run at one step of one agent."""

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks_lab.faults._context import FaultContext as FaultContext
    from tracer_hooks_lab.faults._context import Utterance as Utterance
    from tracer_hooks_lab.faults._context import context_of_request as context_of_request
    from tracer_hooks_lab.faults._context import context_of_step as context_of_step
    from tracer_hooks_lab.faults._corruption import LEAK_WORDS as LEAK_WORDS
    from tracer_hooks_lab.faults._corruption import Corruption as Corruption
    from tracer_hooks_lab.faults._corruption import corrupt as corrupt
    from tracer_hooks_lab.faults._corruption import fitting_kinds as fitting_kinds
    from tracer_hooks_lab.faults._corruption import leaked_words as leaked_words
    from tracer_hooks_lab.faults._fault_intervention import AppliedFault as AppliedFault
    from tracer_hooks_lab.faults._fault_intervention import FaultInjector as FaultInjector
    from tracer_hooks_lab.faults._mutators import Mutator as Mutator
    from tracer_hooks_lab.faults._mutators import Target as Target
    from tracer_hooks_lab.faults._mutators import check_can_be_made as check_can_be_made
    from tracer_hooks_lab.faults._mutators import get_mutator as get_mutator
    from tracer_hooks_lab.faults._mutators import mutators_of as mutators_of
    from tracer_hooks_lab.faults._mutators import register_mutator as register_mutator
    from tracer_hooks_lab.faults._plan import PlannedFault as PlannedFault
    from tracer_hooks_lab.faults._plan import place_fault as place_fault
    from tracer_hooks_lab.faults._plan import plan_faults as plan_faults
    from tracer_hooks_lab.faults._spec import ChannelFault as ChannelFault
    from tracer_hooks_lab.faults._spec import FaultSpec as FaultSpec
    from tracer_hooks_lab.faults._spec import FaultStrategy as FaultStrategy
    from tracer_hooks_lab.faults._spec import ToolFault as ToolFault
    from tracer_hooks_lab.faults._tool_and_channel_faults import faulty_messages as faulty_messages
    from tracer_hooks_lab.faults._tool_and_channel_faults import faulty_tool_reply as faulty_tool_reply
    from tracer_hooks_lab.faults._verification import Injection as Injection
    from tracer_hooks_lab.faults._verification import InjectOptions as InjectOptions
    from tracer_hooks_lab.faults._verification import Injector as Injector
    from tracer_hooks_lab.faults._verification import Verification as Verification
    from tracer_hooks_lab.faults._verification import VerificationRule as VerificationRule
    from tracer_hooks_lab.faults._writer import FaultWriter as FaultWriter
    from tracer_hooks_lab.faults._writer import LLMWriter as LLMWriter
    from tracer_hooks_lab.faults._writer import ProgrammaticWriter as ProgrammaticWriter
    from tracer_hooks_lab.faults._writer import WriteOnce as WriteOnce
    from tracer_hooks_lab.faults._writer import instruction as instruction
    from tracer_hooks_lab.faults._writer import instructions_for as instructions_for
    from tracer_hooks_lab.faults._writer import openai_chat as openai_chat

__all__ = lazy_names(__name__)
