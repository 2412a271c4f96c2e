"""Improving the prompts of a team: better ones are looked for, tried on other tasks, and kept where they help."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.improvement._acceptance import AcceptanceRule as AcceptanceRule
    from tracer_hooks.improvement._acceptance import AcceptanceTest as AcceptanceTest
    from tracer_hooks.improvement._acceptance import Decision as Decision
    from tracer_hooks.improvement._acceptance import PairedEvidence as PairedEvidence
    from tracer_hooks.improvement._improvement import BeforeAfter as BeforeAfter
    from tracer_hooks.improvement._improvement import ImproveEstimate as ImproveEstimate
    from tracer_hooks.improvement._improvement import Improvement as Improvement
    from tracer_hooks.improvement._improvement import ImproveOptions as ImproveOptions
    from tracer_hooks.improvement._improvement import ImprovePhase as ImprovePhase
    from tracer_hooks.improvement._improvement import ImproveProgress as ImproveProgress
    from tracer_hooks.improvement._improvement import PassShare as PassShare
    from tracer_hooks.improvement._improvement import TrialPair as TrialPair
    from tracer_hooks.improvement._improver import Improver as Improver
    from tracer_hooks.improvement._improver import improve as improve
    from tracer_hooks.improvement._plan import FEWEST_TASKS as FEWEST_TASKS
    from tracer_hooks.improvement._plan import Split as Split
    from tracer_hooks.improvement._prompt_search import BlameSelector as BlameSelector
    from tracer_hooks.improvement._prompt_search import FoundCandidate as FoundCandidate
    from tracer_hooks.improvement._prompt_search import SearchResult as SearchResult
    from tracer_hooks.improvement._prompt_search import blame_mass as blame_mass
    from tracer_hooks.improvement._prompt_search import search_prompts as search_prompts
    from tracer_hooks.improvement._prompt_writer import JudgedRun as JudgedRun
    from tracer_hooks.improvement._prompt_writer import PromptCase as PromptCase
    from tracer_hooks.improvement._prompt_writer import PromptWriter as PromptWriter
    from tracer_hooks.improvement._prompt_writer import Trials as Trials
    from tracer_hooks.improvement._prompt_writer import TriedPrompt as TriedPrompt
    from tracer_hooks.improvement._prompt_writer import WrittenPrompt as WrittenPrompt
    from tracer_hooks.improvement._rewriter import LLMRewriter as LLMRewriter
    from tracer_hooks.improvement._rewriter import most_characters as most_characters
    from tracer_hooks.improvement._summary import summarize as summarize
    from tracer_hooks.improvement._team_trials import PromptedTeam as PromptedTeam
    from tracer_hooks.improvement._team_trials import TeamTrials as TeamTrials
    from tracer_hooks.runtime._prompt_watch import PromptWatch as PromptWatch

__all__ = lazy_names(__name__)
