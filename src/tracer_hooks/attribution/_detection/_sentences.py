"""What each signal of a failed run says of the step that it was seen at, as a plain sentence."""

from __future__ import annotations

SYMPTOMS: dict[str, str] = {
    "ends on code that nobody ran": "The run ends with code that was not run.",
    "ends on a request that nobody answered": "The run ends on a request, a call or a hand-over that nobody answers.",
    "ends on the words of a machine": "The last words of the run are a machine's.",
    "ends on an error": "The run ends on an error.",
    "ends on an announcement": "The run ends on an announcement of work.",
    "ends without an answer": "The last words say that no answer was found, or there are none.",
    "ends with doubt in its answer": "The last words doubt what they say, or ask for a check of it.",
    "ends with work left to do": "The last words leave something open.",
    "ends off the task": "The last words share hardly a word with the task.",
    "was stopped for its length": "The run was stopped for its length.",
    "an error that was not overcome": "The last that a machine or a tool gave back is a failure.",
    "many errors": "A machine or a tool reports a failure here.",
    "empty-handed": "It speaks of something missing, not found or not possible.",
    "made-up data": "It speaks of something assumed, simulated or left as a placeholder.",
    "answers from memory": "It appeals to what is already known or remembered.",
    "claims with nothing to show": "It says what was done, and no code, tool or report just before it shows that.",
    "late apologies and refusals": "It apologises, admits a mistake or refuses, late in the run.",
    "hedges at the end": "It hedges, late in the run.",
    "the last answers differ": "It states another answer than the last one of the run.",
    "answers change": "Its agent had stated another answer before.",
    "an objection left open": "It finds fault with something, late in the run.",
    "objections": "It finds fault with something.",
    "no progress, says who leads": "It finds no progress, plans anew, or gives the whole task out again.",
    "ends in a loop": "It says much the same as its agent had said before.",
    "no reply at all": "It is an empty reply.",
    "leaves something out": "Its words are those of a short cut or a way round.",
    "rules: errors and tools": "An error shows in this step, or right after it.",
    "rules: sums and contradictions": "A sum here does not come out, or a value differs from its source.",
    "rules: corrections not taken up": "A correction that was given before does not come up here.",
    "rules: transfers": "A hand-over here went to nobody, to the wrong member, or round in a circle.",
}
"""Sentence by the name of the signal."""
