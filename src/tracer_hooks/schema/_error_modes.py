"""The fourteen error modes of MAST (Cemri et al. 2025, arXiv 2503.13657), with their definitions."""

from __future__ import annotations

from enum import StrEnum


class ErrorMode(StrEnum):
    """How a team of agents goes wrong: one of the 14 MAST modes. The value is MAST's code, ``"FM-1.1"``."""

    FM_1_1 = "FM-1.1"
    FM_1_2 = "FM-1.2"
    FM_1_3 = "FM-1.3"
    FM_1_4 = "FM-1.4"
    FM_1_5 = "FM-1.5"
    FM_2_1 = "FM-2.1"
    FM_2_2 = "FM-2.2"
    FM_2_3 = "FM-2.3"
    FM_2_4 = "FM-2.4"
    FM_2_5 = "FM-2.5"
    FM_2_6 = "FM-2.6"
    FM_3_1 = "FM-3.1"
    FM_3_2 = "FM-3.2"
    FM_3_3 = "FM-3.3"

    @property
    def title(self) -> str:  # type: ignore[override]  # str.title() is of no use on a code
        """The mode's name in words, for example ``"step repetition"``."""
        return _TITLES[self]

    @property
    def definition(self) -> str:
        """One sentence that says what the mode means."""
        return _DEFINITIONS[self]

    @property
    def group(self) -> str:
        """The mode's MAST category: specification, inter-agent misalignment, or task verification."""
        return {"1": "specification issues", "2": "inter-agent misalignment", "3": "task verification"}[self[3]]


_TITLES = {
    ErrorMode.FM_1_1: "disobey task specification",
    ErrorMode.FM_1_2: "disobey role specification",
    ErrorMode.FM_1_3: "step repetition",
    ErrorMode.FM_1_4: "loss of conversation history",
    ErrorMode.FM_1_5: "unaware of termination conditions",
    ErrorMode.FM_2_1: "conversation reset",
    ErrorMode.FM_2_2: "fail to ask for clarification",
    ErrorMode.FM_2_3: "task derailment",
    ErrorMode.FM_2_4: "information withholding",
    ErrorMode.FM_2_5: "ignored other agent's input",
    ErrorMode.FM_2_6: "reasoning-action mismatch",
    ErrorMode.FM_3_1: "premature termination",
    ErrorMode.FM_3_2: "no or incomplete verification",
    ErrorMode.FM_3_3: "incorrect verification",
}

_DEFINITIONS = {
    ErrorMode.FM_1_1: "The agent departs from a stated requirement or constraint of the task.",
    ErrorMode.FM_1_2: "The agent acts outside the role and duties it was given.",
    ErrorMode.FM_1_3: "The agent repeats a step that was already done, without need.",
    ErrorMode.FM_1_4: "The agent ignores or drops earlier context and goes back to an older state of the conversation.",
    ErrorMode.FM_1_5: "The agent does not recognise when to stop, and goes on past its goal or its limit.",
    ErrorMode.FM_2_1: "The conversation starts over unexpectedly and loses the progress made.",
    ErrorMode.FM_2_2: "The agent goes on with unclear or missing information instead of asking for it.",
    ErrorMode.FM_2_3: "The agent strays from the goal and works on something else.",
    ErrorMode.FM_2_4: "The agent holds back a fact that other agents need.",
    ErrorMode.FM_2_5: "The agent disregards what another agent or a tool told it.",
    ErrorMode.FM_2_6: "What the agent does contradicts what it reasoned or observed.",
    ErrorMode.FM_3_1: "The agent ends the work, or its part of it, before all of it is done.",
    ErrorMode.FM_3_2: "The agent leaves out a check that was needed, or makes only part of it.",
    ErrorMode.FM_3_3: "The agent checks, and the check itself is wrong.",
}
