"""How a team is told why an earlier attempt failed."""

from __future__ import annotations

from tracer_hooks.repairs._masking import NOT_RIGHT


def attempt_failed(feedback: str | None) -> str | None:
    """The feedback as it is added to a task or a message; None where there is nothing to say.

    It asks for no words of its own: an agent that has to answer in a certain form still can.
    """
    said = (feedback or "").strip()
    if not said or said == NOT_RIGHT:
        return None
    if "\n" in said:
        return f"An earlier attempt at this task failed:\n{said}\nDo not make the same mistake."
    end = "" if said[-1] in ".!?…" else "."
    return f"An earlier attempt at this task failed: {said}{end} Do not make the same mistake."
