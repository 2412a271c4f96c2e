"""Improving the prompts of a team: better ones are looked for, tried on other tasks, and kept where they help."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.improvement._acceptance import AcceptanceRule, AcceptanceTest, Decision, PairedEvidence
    from tracer_hooks.improvement._improvement import (
        BeforeAfter,
        ImproveEstimate,
        Improvement,
        ImproveOptions,
        ImprovePhase,
        ImproveProgress,
        PassShare,
        RefusedVersion,
        TrialPair,
    )
    from tracer_hooks.improvement._improver import Improver, improve
    from tracer_hooks.improvement._plan import FEWEST_TASKS, JournaledChat, Split
    from tracer_hooks.improvement._prompt_search import (
        BlameSelector,
        FoundCandidate,
        SearchOptions,
        SearchResult,
        Selector,
        blame_mass,
        search_prompts,
    )
    from tracer_hooks.improvement._prompt_writer import (
        GepaWriter,
        JudgedRun,
        PromptCase,
        PromptWriter,
        Trials,
        TriedPrompt,
        WrittenPrompt,
    )
    from tracer_hooks.improvement._rewriter import LLMRewriter, most_characters
    from tracer_hooks.improvement._summary import summarize
    from tracer_hooks.improvement._team_trials import PromptedTeam, TeamTrials, TrialOptions
    from tracer_hooks.runtime._prompt_watch import PromptWatch

__all__ = [
    "FEWEST_TASKS",
    "AcceptanceRule",
    "AcceptanceTest",
    "BeforeAfter",
    "BlameSelector",
    "Decision",
    "FoundCandidate",
    "GepaWriter",
    "ImproveEstimate",
    "ImproveOptions",
    "ImprovePhase",
    "ImproveProgress",
    "Improvement",
    "Improver",
    "JournaledChat",
    "JudgedRun",
    "LLMRewriter",
    "PairedEvidence",
    "PassShare",
    "PromptCase",
    "PromptWatch",
    "PromptWriter",
    "PromptedTeam",
    "RefusedVersion",
    "SearchOptions",
    "SearchResult",
    "Selector",
    "Split",
    "TeamTrials",
    "TrialOptions",
    "TrialPair",
    "Trials",
    "TriedPrompt",
    "WrittenPrompt",
    "blame_mass",
    "improve",
    "most_characters",
    "search_prompts",
    "summarize",
]

lazy_names(
    __name__,
    {
        "._acceptance": ("AcceptanceRule", "AcceptanceTest", "Decision", "PairedEvidence"),
        "._improvement": (
            "BeforeAfter",
            "ImproveEstimate",
            "ImproveOptions",
            "ImprovePhase",
            "ImproveProgress",
            "Improvement",
            "PassShare",
            "RefusedVersion",
            "TrialPair",
        ),
        "._improver": ("Improver", "improve"),
        "._plan": ("FEWEST_TASKS", "JournaledChat", "Split"),
        "._prompt_search": (
            "BlameSelector",
            "FoundCandidate",
            "SearchOptions",
            "SearchResult",
            "Selector",
            "blame_mass",
            "search_prompts",
        ),
        "._prompt_writer": (
            "GepaWriter",
            "JudgedRun",
            "PromptCase",
            "PromptWriter",
            "Trials",
            "TriedPrompt",
            "WrittenPrompt",
        ),
        "._rewriter": ("LLMRewriter", "most_characters"),
        "._summary": ("summarize",),
        "._team_trials": ("PromptedTeam", "TeamTrials", "TrialOptions"),
        "tracer_hooks.runtime._prompt_watch": ("PromptWatch",),
    },
)
