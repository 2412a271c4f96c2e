"""The check that every text of a repair passes before anybody is told it, whoever wrote it."""

from __future__ import annotations

from tracer_hooks.repairs._prompt_text import for_prompt
from tracer_hooks.repairs._repair import Repair, RepairTarget
from tracer_hooks.repairs._secrets import Secrets


def leaks(repair: Repair, secrets: Secrets, *, instructions: str | None = None, sent: str | None = None) -> bool:
    """Tell whether a repair gives the expected answer away.

    Args:
        repair: What is to be told to whom.
        secrets: The expected answer. Where none is known, nothing can be recognised.
        instructions: The present instructions of the repair's agent: what stands in them is no news.
        sent: What the user has written for the team to be told (``Verdict.feedback``); it is not checked.
    """
    text = repair.text
    for own in (sent, for_prompt(sent)) if sent and sent.strip() else ():
        text = text.replace(own.strip(), " ")
    if repair.target is RepairTarget.INSTRUCTIONS:
        return secrets.are_added(text, instructions or "")
    return secrets.are_in(text)
