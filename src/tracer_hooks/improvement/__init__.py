"""Better prompts for a team: proposed from several diagnosed failures, accepted by evidence, watched."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.improvement._acceptance import AcceptanceRule, AcceptanceTest, Decision
    from tracer_hooks.improvement._blame import BlameSelector, blame_mass
    from tracer_hooks.improvement._evidence import PairedEvidence
    from tracer_hooks.improvement._gepa_writer import GepaWriter
    from tracer_hooks.improvement._judged_run import JudgedRun, Trials
    from tracer_hooks.improvement._prompt_search import (
        FoundCandidate,
        SearchOptions,
        SearchResult,
        Selector,
        search_prompts,
    )
    from tracer_hooks.improvement._prompt_writer import PromptCase, PromptWriter, TriedPrompt, WrittenPrompt
    from tracer_hooks.improvement._rewriter import LLMRewriter, most_characters
    from tracer_hooks.improvement._split import FEWEST_TASKS, Split
    from tracer_hooks.improvement._watch import PromptWatch

__all__ = [
    "FEWEST_TASKS",
    "AcceptanceRule",
    "AcceptanceTest",
    "BlameSelector",
    "Decision",
    "FoundCandidate",
    "GepaWriter",
    "JudgedRun",
    "LLMRewriter",
    "PairedEvidence",
    "PromptCase",
    "PromptWatch",
    "PromptWriter",
    "SearchOptions",
    "SearchResult",
    "Selector",
    "Split",
    "Trials",
    "TriedPrompt",
    "WrittenPrompt",
    "blame_mass",
    "most_characters",
    "search_prompts",
]

lazy_names(
    __name__,
    {
        "._acceptance": ("AcceptanceRule", "AcceptanceTest", "Decision"),
        "._blame": ("BlameSelector", "blame_mass"),
        "._evidence": ("PairedEvidence",),
        "._gepa_writer": ("GepaWriter",),
        "._judged_run": ("JudgedRun", "Trials"),
        "._prompt_search": ("FoundCandidate", "SearchOptions", "SearchResult", "Selector", "search_prompts"),
        "._prompt_writer": ("PromptCase", "PromptWriter", "TriedPrompt", "WrittenPrompt"),
        "._rewriter": ("LLMRewriter", "most_characters"),
        "._split": ("FEWEST_TASKS", "Split"),
        "._watch": ("PromptWatch",),
    },
)
