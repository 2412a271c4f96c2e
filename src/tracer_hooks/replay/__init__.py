"""Tapes of runs, and counterfactual replay: what would have come of it, had one step been another?"""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.replay._belief import StepBelief
    from tracer_hooks.replay._changed_request import with_message
    from tracer_hooks.replay._correction import Correction, Corrector, TapedRequest, with_guidance
    from tracer_hooks.replay._cost_cap import CostCap, Spending
    from tracer_hooks.replay._counterfactual import (
        Arm,
        CorrectionOf,
        Counterfactual,
        StepReplay,
        examine_step,
        live_usage,
    )
    from tracer_hooks.replay._decisive import DecisiveSearch, Untested, find_decisive_step
    from tracer_hooks.replay._mismatch import Divergence
    from tracer_hooks.replay._options import ReplayOptions
    from tracer_hooks.replay._player import TapeMode, TapePlayer
    from tracer_hooks.replay._proposers import (
        FeedbackProposer,
        GuidanceProposer,
        LLMProposer,
        Proposer,
        ResampleProposer,
        TemplateProposer,
        proposers_of,
    )
    from tracer_hooks.replay._proposing import corrections_by
    from tracer_hooks.replay._record import tape_of
    from tracer_hooks.replay._replay import Replayed, replay_tape
    from tracer_hooks.replay._resumption import Resumed, Resumption, resume_tape
    from tracer_hooks.replay._retime import retimed
    from tracer_hooks.replay._statistics import SequentialTest, difference_interval, paired_interval, wilson
    from tracer_hooks.replay._tape import (
        Tape,
        TapedModelCall,
        TapedToolCall,
        TapedToolRequest,
        model_digest,
        tool_digest,
    )
    from tracer_hooks.replay._telling import Teller
    from tracer_hooks.replay._tool_use import ToolRules, ToolUse
    from tracer_hooks.replay._trial import TeamRunner, Trial

__all__ = [
    "Arm",
    "Correction",
    "CorrectionOf",
    "Corrector",
    "CostCap",
    "Counterfactual",
    "DecisiveSearch",
    "Divergence",
    "FeedbackProposer",
    "GuidanceProposer",
    "LLMProposer",
    "Proposer",
    "ReplayOptions",
    "Replayed",
    "ResampleProposer",
    "Resumed",
    "Resumption",
    "SequentialTest",
    "Spending",
    "StepBelief",
    "StepReplay",
    "Tape",
    "TapeMode",
    "TapePlayer",
    "TapedModelCall",
    "TapedRequest",
    "TapedToolCall",
    "TapedToolRequest",
    "TeamRunner",
    "Teller",
    "TemplateProposer",
    "ToolRules",
    "ToolUse",
    "Trial",
    "Untested",
    "corrections_by",
    "difference_interval",
    "examine_step",
    "find_decisive_step",
    "live_usage",
    "model_digest",
    "paired_interval",
    "proposers_of",
    "replay_tape",
    "resume_tape",
    "retimed",
    "tape_of",
    "tool_digest",
    "wilson",
    "with_guidance",
    "with_message",
]

lazy_names(
    __name__,
    {
        "._belief": ("StepBelief",),
        "._changed_request": ("with_message",),
        "._correction": ("Correction", "Corrector", "TapedRequest", "with_guidance"),
        "._cost_cap": ("CostCap", "Spending"),
        "._counterfactual": ("Arm", "CorrectionOf", "Counterfactual", "StepReplay", "examine_step", "live_usage"),
        "._decisive": ("DecisiveSearch", "Untested", "find_decisive_step"),
        "._mismatch": ("Divergence",),
        "._options": ("ReplayOptions",),
        "._player": ("TapeMode", "TapePlayer"),
        "._proposers": (
            "FeedbackProposer",
            "GuidanceProposer",
            "LLMProposer",
            "Proposer",
            "ResampleProposer",
            "TemplateProposer",
            "proposers_of",
        ),
        "._proposing": ("corrections_by",),
        "._record": ("tape_of",),
        "._replay": ("Replayed", "replay_tape"),
        "._resumption": ("Resumed", "Resumption", "resume_tape"),
        "._retime": ("retimed",),
        "._statistics": ("SequentialTest", "difference_interval", "paired_interval", "wilson"),
        "._tape": ("Tape", "TapedModelCall", "TapedToolCall", "TapedToolRequest", "model_digest", "tool_digest"),
        "._telling": ("Teller",),
        "._tool_use": ("ToolRules", "ToolUse"),
        "._trial": ("TeamRunner", "Trial"),
    },
)
