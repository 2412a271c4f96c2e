"""From a diagnosis to a better prompt: rewriting, retrying within bounds, and keeping only what helped."""

from tracer_hooks.feedback._acceptance import Acceptance, AcceptanceDecision, AcceptanceRule
from tracer_hooks.feedback._prompt_store import InMemoryPromptStore, PromptStore, PromptVersion, prompt_diff
from tracer_hooks.feedback._retry import RetryBudget, RetryPolicy
from tracer_hooks.feedback._rewrite import PromptRewrite, Rewriter
from tracer_hooks.feedback._template_rewriter import TemplateRewriter, without_lesson

__all__ = [
    "Acceptance",
    "AcceptanceDecision",
    "AcceptanceRule",
    "InMemoryPromptStore",
    "PromptRewrite",
    "PromptStore",
    "PromptVersion",
    "RetryBudget",
    "RetryPolicy",
    "Rewriter",
    "TemplateRewriter",
    "prompt_diff",
    "without_lesson",
]
