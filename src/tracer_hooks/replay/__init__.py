"""Tapes of runs, and counterfactual replay: what would have come of it, had one step been another?"""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.replay._correction import Correction as Correction
    from tracer_hooks.replay._correction import Corrector as Corrector
    from tracer_hooks.replay._correction import RepairInjector as RepairInjector
    from tracer_hooks.replay._correction import TapedRequest as TapedRequest
    from tracer_hooks.replay._correction import with_guidance as with_guidance
    from tracer_hooks.replay._correction import with_message as with_message
    from tracer_hooks.replay._counterfactual import Arm as Arm
    from tracer_hooks.replay._counterfactual import Counterfactual as Counterfactual
    from tracer_hooks.replay._counterfactual import ReplayOptions as ReplayOptions
    from tracer_hooks.replay._counterfactual import SequentialTest as SequentialTest
    from tracer_hooks.replay._counterfactual import StepReplay as StepReplay
    from tracer_hooks.replay._counterfactual import difference_interval as difference_interval
    from tracer_hooks.replay._counterfactual import examine_step as examine_step
    from tracer_hooks.replay._counterfactual import live_usage as live_usage
    from tracer_hooks.replay._counterfactual import paired_interval as paired_interval
    from tracer_hooks.replay._counterfactual import replay_verdict as replay_verdict
    from tracer_hooks.replay._counterfactual import wilson as wilson
    from tracer_hooks.replay._decisive import DecisiveSearch as DecisiveSearch
    from tracer_hooks.replay._decisive import StepBelief as StepBelief
    from tracer_hooks.replay._decisive import Untested as Untested
    from tracer_hooks.replay._decisive import find_decisive_step as find_decisive_step
    from tracer_hooks.replay._player import Divergence as Divergence
    from tracer_hooks.replay._player import TapeMode as TapeMode
    from tracer_hooks.replay._player import TapePlayer as TapePlayer
    from tracer_hooks.replay._player import ToolRules as ToolRules
    from tracer_hooks.replay._player import ToolUse as ToolUse
    from tracer_hooks.replay._proposers import FeedbackProposer as FeedbackProposer
    from tracer_hooks.replay._proposers import GuidanceProposer as GuidanceProposer
    from tracer_hooks.replay._proposers import LLMProposer as LLMProposer
    from tracer_hooks.replay._proposers import Proposer as Proposer
    from tracer_hooks.replay._proposers import ResampleProposer as ResampleProposer
    from tracer_hooks.replay._proposers import TemplateProposer as TemplateProposer
    from tracer_hooks.replay._proposers import corrections_by as corrections_by
    from tracer_hooks.replay._proposers import proposers_of as proposers_of
    from tracer_hooks.replay._replay import Replayed as Replayed
    from tracer_hooks.replay._replay import Resumed as Resumed
    from tracer_hooks.replay._replay import Resumption as Resumption
    from tracer_hooks.replay._replay import TeamRunner as TeamRunner
    from tracer_hooks.replay._replay import Trial as Trial
    from tracer_hooks.replay._replay import replay_tape as replay_tape
    from tracer_hooks.replay._replay import resume_tape as resume_tape
    from tracer_hooks.replay._tape import Tape as Tape
    from tracer_hooks.replay._tape import TapedModelCall as TapedModelCall
    from tracer_hooks.replay._tape import TapedToolCall as TapedToolCall
    from tracer_hooks.replay._tape import TapedToolRequest as TapedToolRequest
    from tracer_hooks.replay._tape import model_digest as model_digest
    from tracer_hooks.replay._tape import retimed as retimed
    from tracer_hooks.replay._tape import tape_of as tape_of
    from tracer_hooks.replay._tape import tool_digest as tool_digest

__all__ = lazy_names(__name__)
