"""Tapes of runs, and counterfactual replay: what would have come of it, had one step been another?"""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.replay._correction import (
        Correction,
        Corrector,
        RepairInjector,
        TapedRequest,
        with_guidance,
        with_message,
    )
    from tracer_hooks.replay._counterfactual import (
        Arm,
        CorrectionOf,
        Counterfactual,
        ReplayOptions,
        StepReplay,
        examine_step,
        live_usage,
    )
    from tracer_hooks.replay._decisive import DecisiveSearch, StepBelief, Untested, find_decisive_step
    from tracer_hooks.replay._player import Divergence, TapeMode, TapePlayer, ToolRules, ToolUse
    from tracer_hooks.replay._proposers import (
        FeedbackProposer,
        GuidanceProposer,
        LLMProposer,
        Proposer,
        ResampleProposer,
        TemplateProposer,
        corrections_by,
        proposers_of,
    )
    from tracer_hooks.replay._replay import Replayed, Resumed, Resumption, TeamRunner, Trial, replay_tape, resume_tape
    from tracer_hooks.replay._statistics import SequentialTest, difference_interval, paired_interval, wilson
    from tracer_hooks.replay._tape import (
        Tape,
        TapedModelCall,
        TapedToolCall,
        TapedToolRequest,
        model_digest,
        retimed,
        tape_of,
        tool_digest,
    )

__all__ = [
    "Arm",
    "Correction",
    "CorrectionOf",
    "Corrector",
    "Counterfactual",
    "DecisiveSearch",
    "Divergence",
    "FeedbackProposer",
    "GuidanceProposer",
    "LLMProposer",
    "Proposer",
    "RepairInjector",
    "ReplayOptions",
    "Replayed",
    "ResampleProposer",
    "Resumed",
    "Resumption",
    "SequentialTest",
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
        "._correction": ("Correction", "Corrector", "RepairInjector", "TapedRequest", "with_guidance", "with_message"),
        "._counterfactual": (
            "Arm",
            "CorrectionOf",
            "Counterfactual",
            "ReplayOptions",
            "StepReplay",
            "examine_step",
            "live_usage",
        ),
        "._decisive": ("DecisiveSearch", "StepBelief", "Untested", "find_decisive_step"),
        "._player": ("Divergence", "TapeMode", "TapePlayer", "ToolRules", "ToolUse"),
        "._proposers": (
            "FeedbackProposer",
            "GuidanceProposer",
            "LLMProposer",
            "Proposer",
            "ResampleProposer",
            "TemplateProposer",
            "corrections_by",
            "proposers_of",
        ),
        "._replay": ("Replayed", "Resumed", "Resumption", "TeamRunner", "Trial", "replay_tape", "resume_tape"),
        "._statistics": ("SequentialTest", "difference_interval", "paired_interval", "wilson"),
        "._tape": (
            "Tape",
            "TapedModelCall",
            "TapedToolCall",
            "TapedToolRequest",
            "model_digest",
            "retimed",
            "tape_of",
            "tool_digest",
        ),
    },
)
