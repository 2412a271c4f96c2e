"""A pipeline with a standard operating procedure: documents go from analyst to designer to engineer to reviewer.

After Hong et al., "MetaGPT: Meta Programming for a Multi-Agent Collaborative Framework" (2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracer_hooks.suites.architectures._architecture import Architecture, Said
from tracer_hooks.suites.architectures._wording import BRIEFLY, FINAL

_ROLES: Final = {
    "analyst": (
        "You are the analyst. Write the document REQUIREMENTS with two short lists: GIVEN, the facts of the task, and "
        "ASKED, what is to be found or written. Do not solve the task, and leave the final answer to the reviewer."
    ),
    "designer": (
        "You are the designer. Write the document DESIGN: at most 3 short steps that lead from what is given to what "
        "is asked. Do not calculate anything, and leave the final answer to the reviewer."
    ),
    "engineer": (
        f"You are the engineer. Carry out the design and write the document WORK: each step with its result. {BRIEFLY}"
    ),
    "reviewer": (
        "You are the reviewer. Compare the work with the requirements in at most 3 short sentences, and correct it "
        f"where it is wrong. Then {FINAL}"
    ),
}

_CUES: Final = {
    "analyst": "Write the document REQUIREMENTS, without any result.",
    "designer": "Write the document DESIGN, without any result.",
    "engineer": "Write the document WORK.",
    "reviewer": "Review the work and give the final answer.",
}


def _next(said: Sequence[Said], rounds: int) -> str | None:
    order = list(_ROLES)
    return order[len(said)] if len(said) < len(order) else None


SOP_PIPELINE: Final = Architecture(
    name="sop_pipeline", roles=_ROLES, cues=_CUES, tool_users=frozenset({"engineer"}), next_agent=_next
)
"""There is no loop."""
