"""A choice about steps of the run, with the run in the prompt."""

from __future__ import annotations

from collections.abc import Sequence

from tracer_hooks.attribution._judge._case import Case
from tracer_hooks.attribution._judge._choice import Choice, Option
from tracer_hooks.attribution._judge._fence import flat
from tracer_hooks.attribution._judge._interview import Interview
from tracer_hooks.attribution._judge._quotes import opening

_OPENING_CHARS = 100


def choice_with_run(
    interview: Interview, prompt: str, options: Sequence[Option], focus: Sequence[int], **values: object
) -> Choice:
    """The question with the run in it; the run is the same for every order of the options, so servers can keep it.

    Args:
        interview: About the run.
        prompt: Name of the template.
        options: What can be chosen.
        focus: Steps that are shown at length.
        values: What else the template is filled with.
    """
    transcript = interview.transcript
    listed = "\n".join(f"X) {option.text}" for option in options)
    room = interview.room(prompt, options=listed, **values)
    steps = transcript.fitted(transcript.everything, room, focus=focus)
    return Choice(prompt=prompt, values={**values, "steps": steps}, options=options)


def opening_of(case: Case, step: int) -> str:
    """The first words of a step, for an option."""
    words = opening(case.steps[step]) or case.steps[step].kind.value
    return flat(words, _OPENING_CHARS)
