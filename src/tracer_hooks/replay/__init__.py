"""Tapes of runs, and counterfactual replay: what would have come of it, had one step been another?"""

from tracer_hooks.replay._correction import Correction, Corrector, TapedRequest, with_guidance
from tracer_hooks.replay._cost_cap import CostCap, Spending
from tracer_hooks.replay._counterfactual import Arm, Counterfactual, StepReplay, examine_step, live_usage
from tracer_hooks.replay._decisive import DecisiveSearch, Untested, find_decisive_step
from tracer_hooks.replay._mismatch import Divergence
from tracer_hooks.replay._options import ReplayOptions
from tracer_hooks.replay._player import TapeMode, TapePlayer
from tracer_hooks.replay._proposers import (
    LLMProposer,
    Proposal,
    Proposer,
    ResampleProposer,
    TemplateProposer,
)
from tracer_hooks.replay._record import tape_of
from tracer_hooks.replay._replay import Replayed, replay_tape
from tracer_hooks.replay._retime import retimed
from tracer_hooks.replay._runner import TeamRunner, Trial
from tracer_hooks.replay._statistics import SequentialTest, difference_interval, wilson
from tracer_hooks.replay._tape import Tape, TapedModelCall, TapedToolCall, TapedToolRequest, model_digest, tool_digest
from tracer_hooks.replay._tool_use import ToolRules, ToolUse

__all__ = [
    "Arm",
    "Correction",
    "Corrector",
    "CostCap",
    "Counterfactual",
    "DecisiveSearch",
    "Divergence",
    "LLMProposer",
    "Proposal",
    "Proposer",
    "ReplayOptions",
    "Replayed",
    "ResampleProposer",
    "SequentialTest",
    "Spending",
    "StepReplay",
    "Tape",
    "TapeMode",
    "TapePlayer",
    "TapedModelCall",
    "TapedRequest",
    "TapedToolCall",
    "TapedToolRequest",
    "TeamRunner",
    "TemplateProposer",
    "ToolRules",
    "ToolUse",
    "Trial",
    "Untested",
    "difference_interval",
    "examine_step",
    "find_decisive_step",
    "live_usage",
    "model_digest",
    "replay_tape",
    "retimed",
    "tape_of",
    "tool_digest",
    "wilson",
    "with_guidance",
]
