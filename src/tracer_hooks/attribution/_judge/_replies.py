"""What the judge may reply, as it is parsed; the names and numbers in it are checked elsewhere."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tracer_hooks.schema import ErrorMode, Text

_MODES = {mode.value: mode for mode in ErrorMode}
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


def _words(value: Any) -> Any:
    return " ".join(value.lower().replace("_", " ").replace("-", " ").split()) if isinstance(value, str) else value


def _mode(value: Any) -> ErrorMode | None:
    """The mode whose code stands in ``value``; None for none, and for words that are no mode."""
    found = _MODE.search(value) if isinstance(value, str) else None
    return _MODES.get(f"FM-{found[1]}.{found[2]}") if found else None


Probability = Annotated[float, Field(ge=0, le=1), BeforeValidator(_probability)]
Mode = Annotated[ErrorMode | None, BeforeValidator(_mode)]
VerdictWord = Annotated[Literal["fault", "no fault", "environment fault"], BeforeValidator(_words)]
Half = Annotated[Literal["first", "second"], BeforeValidator(_words)]
Kind = Annotated[Literal["claim", "symptom", "error", "correction"], BeforeValidator(_words)]


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


class _Why(Reply):
    reason: Text = ""
    verdict: VerdictWord = "fault"


class _Where(Reply):
    agent: Text
    step: int


class _How(Reply):
    error_mode: Mode = None
    probability: Probability = 0.5
    evidence: tuple[Quote, ...] = ()
    other_faults: tuple[OtherFault, ...] = ()


class Judgement(_How, _Why):
    """What is said of a step that was found in another way; fields stand in the order in which they are written."""

    error_mode: Mode  # nothing else tells this reply from one to another question


class VerdictReply(_How, _Where, _Why):
    """The answer to the whole question: agent, step and why."""

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
    half: Half
    probability: Probability = 0.5


class Finding(Reply):
    """One row of the claim and evidence table."""

    step: int
    kind: Kind = "claim"
    text: Text
    quote: Text = ""
    suspicion: Probability = 0.0


class WindowReply(Reply):
    """What one window of a long trace holds."""

    findings: tuple[Finding, ...] = ()


class ChoiceReply(Reply):
    """One of several labelled options."""

    choice: Text
