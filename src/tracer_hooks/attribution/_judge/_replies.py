"""What the judge may reply, as it is parsed; the names and numbers in it are checked elsewhere."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tracer_hooks.schema import ErrorMode, Text

_MODE = re.compile(r"\b(?:FM|EM)?[-_ ]?([1-3])\.([1-6])\b", re.IGNORECASE)


def _probability(value: Any) -> Any:
    """A number from 0 to 1, also when it is written as per cent."""
    if isinstance(value, str):
        text = value.strip()
        number = float(text.rstrip("% "))
        return number / 100 if text.endswith("%") or number > 1 else number
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 1 < value <= 100:
        return value / 100
    return value


def _mode(value: Any) -> ErrorMode | None:
    """The mode whose code stands in ``value``; None for none, and for words that are no mode."""
    found = _MODE.search(value) if isinstance(value, str) else None
    code = f"FM-{found[1]}.{found[2]}" if found else ""
    return ErrorMode(code) if code in ErrorMode else None


Probability = Annotated[float, BeforeValidator(_probability), Field(ge=0, le=1)]
Mode = Annotated[ErrorMode | None, BeforeValidator(_mode)]
VerdictWord = Literal["fault", "no fault", "environment fault"]


class Reply(BaseModel):
    """Base of every reply; a field more does no harm."""

    model_config = ConfigDict(extra="ignore")


class Quote(Reply):
    """A passage that the judge points at."""

    step: int
    quote: Text
    why: Text = ""


class Alternative(Reply):
    """Another step that may be the decisive one."""

    step: int
    probability: Probability = 0.0


class OtherFault(Reply):
    """A further agent that went wrong."""

    agent: Text
    error_mode: Mode = None
    probability: Probability = 0.5


class Judgement(Reply):
    """What every final reply holds beside the step that it names."""

    reason: Text = ""
    verdict: VerdictWord = "fault"
    error_mode: Mode = None
    probability: Probability = 0.5
    evidence: tuple[Quote, ...] = ()
    other_faults: tuple[OtherFault, ...] = ()


class VerdictReply(Judgement):
    """The answer to the whole question: agent, step and why."""

    agent: Text
    step: int
    alternatives: tuple[Alternative, ...] = ()


class StepReply(Reply):
    """Whether one step is the decisive one."""

    reason: Text = ""
    is_decisive: bool
    probability: Probability
    error_mode: Mode = None
    evidence: tuple[Quote, ...] = ()


class HalfReply(Reply):
    """Which half of a stretch of steps holds the decisive one."""

    reason: Text = ""
    half: Literal["first", "second"]
    probability: Probability = 0.5


class Finding(Reply):
    """One row of the claim and evidence table."""

    step: int
    kind: Literal["claim", "symptom", "error", "correction"] = "claim"
    text: Text
    quote: Text = ""
    suspicion: Probability = 0.0


class WindowReply(Reply):
    """What one window of a long trace holds."""

    findings: tuple[Finding, ...] = ()


class ChoiceReply(Reply):
    """One of several labelled options."""

    choice: Text
