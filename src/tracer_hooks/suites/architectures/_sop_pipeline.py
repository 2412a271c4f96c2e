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
        "You are the analyst. Write the document REQUIREMENTS: what is given, what is asked for, and in which format, "
        "as at most 4 short lines. Do not solve the task."
    ),
    "designer": (
        "You are the designer. Read the requirements and write the document DESIGN: the approach, "
        "as at most 4 short lines. Do not solve the task."
    ),
    "engineer": (
        f"You are the engineer. Follow the design and write the document WORK: the solution of the task. {BRIEFLY}"
    ),
    "reviewer": (
        "You are the reviewer. Compare the work with the requirements, in at most 3 short sentences, and correct it "
        f"if it is wrong. Then {FINAL}"
    ),
}


def _next(said: Sequence[Said], rounds: int) -> str | None:
    order = list(_ROLES)
    return order[len(said)] if len(said) < len(order) else None


SOP_PIPELINE: Final = Architecture(
    name="sop_pipeline", roles=_ROLES, tool_users=frozenset({"engineer"}), next_agent=_next
)
"""There is no loop."""
