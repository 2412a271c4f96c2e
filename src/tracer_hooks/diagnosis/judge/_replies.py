"""Replies of the judge: read from text, held to a JSON schema; names in them are checked elsewhere."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tracer_hooks.schema import ErrorMode, Text

if TYPE_CHECKING:
    from tracer_hooks.diagnosis.judge._case import JudgeCase

_MODES = {mode.value: mode for mode in ErrorMode}
_THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_MOST_STARTS = 50
_MOST_PROBLEMS = 4
_MOST_LISTED = 300
_MOST_ITEMS = 6
_DROPPED = ("title", "description", "default")
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


class ReplyError(Exception):
    """A reply cannot be used; the text is for the judge, which gets one chance to repair it."""


class JudgeReply(BaseModel):
    """Base of every reply; a field more does no harm."""

    model_config = ConfigDict(extra="ignore")


R = TypeVar("R", bound=JudgeReply)


class Quote(JudgeReply):
    """A passage that the judge points at."""

    step: int
    quote: Text
    why: Text = ""


class Alternative(JudgeReply):
    """Another step that may be the decisive one."""

    step: int
    probability: Probability = 0.0


class OtherFault(JudgeReply):
    """A further agent that went wrong."""

    agent: Text
    error_mode: Mode = None
    probability: Probability = 0.5


class _Why(JudgeReply):
    reason: Text = ""
    verdict: VerdictWord = "fault"


class _Where(JudgeReply):
    agent: Text
    step: int


class _How(JudgeReply):
    error_mode: Mode = None
    probability: Probability = 0.5
    evidence: tuple[Quote, ...] = ()
    other_faults: tuple[OtherFault, ...] = ()


class StepJudgement(_How, _Why):
    """The reply about a step that was found in another way; fields stand in the order in which they are written."""

    error_mode: Mode  # nothing else tells this reply from one to another question


class VerdictReply(_How, _Where, _Why):
    """The answer to the whole question: agent, step and why."""

    alternatives: tuple[Alternative, ...] = ()


class StepReply(JudgeReply):
    """The reply to whether one step is the decisive one."""

    reason: Text = ""
    is_decisive: bool
    probability: Probability
    error_mode: Mode = None
    evidence: tuple[Quote, ...] = ()


class HalfReply(JudgeReply):
    """The half of a stretch of steps that holds the decisive one."""

    reason: Text = ""
    half: Half
    probability: Probability = 0.5


class WindowFinding(JudgeReply):
    """One row of the claim and evidence table."""

    step: int
    kind: Kind = "claim"
    text: Text
    quote: Text = ""
    suspicion: Probability = 0.0


class WindowReply(JudgeReply):
    """The findings in one window of a long trace."""

    findings: tuple[WindowFinding, ...] = ()


class ChoiceReply(JudgeReply):
    """One of several labelled options."""

    choice: Text


def parse_reply(text: str, kind: type[R], *, is_cut: bool = False) -> R:
    """The first JSON object in ``text``, as ``kind``.

    Raises:
        ReplyError: There is no JSON object, or it lacks what ``kind`` needs.
    """
    found = _first_object(_THOUGHT.sub("", text))
    if found is None:
        ending = "your reply was cut off before its end: be much shorter" if is_cut else "your reply is no JSON object"
        raise ReplyError(ending)
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        problems = [f"{_place(problem['loc'])}: {problem['msg']}" for problem in error.errors()[:_MOST_PROBLEMS]]
        raise ReplyError("; ".join(problems)) from error


def _first_object(text: str) -> dict[str, Any] | None:
    decoder, start = json.JSONDecoder(strict=False), -1  # not strict: small models write line breaks into strings
    for _ in range(_MOST_STARTS):
        start = text.find("{", start + 1)
        if start < 0:
            return None
        try:
            found: dict[str, Any] = decoder.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
        return found
    return None


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "reply"


def reply_schema(
    kind: type[JudgeReply], case: JudgeCase, *, steps: Sequence[int] | None = None, labels: Sequence[str] = ()
) -> dict[str, Any]:
    """The schema of ``kind`` for ``case``, in the form that strict servers want.

    There are no references in it, every field is required, and further ones are not allowed.

    Args:
        kind: Form of the reply.
        case: Whose agents, steps and verdicts may be named.
        steps: The steps that may be named, when they are not those of the case.
        labels: The labels that may be chosen.
    """
    narrowed: dict[str, Any] = {
        "agent": {"type": "string", "enum": list(case.agents)},
        "step": _steps(case.answerable if steps is None else steps),
        "verdict": {"type": "string", "enum": list(case.verdicts)},
    }
    if labels:
        narrowed["choice"] = {"type": "string", "enum": list(labels)}
    raw = _raw_schema(kind)
    return _strict(raw, raw.get("$defs", {}), narrowed)


@functools.cache
def _raw_schema(kind: type[JudgeReply]) -> dict[str, Any]:
    return kind.model_json_schema()


def _steps(allowed: Sequence[int]) -> dict[str, Any]:
    if len(allowed) <= _MOST_LISTED:
        return {"type": "integer", "enum": list(allowed)}
    return {"type": "integer", "minimum": allowed[0], "maximum": allowed[-1]}


def _strict(node: Mapping[str, Any], shared: Mapping[str, Any], narrowed: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        return _strict(shared[node["$ref"].rpartition("/")[2]], shared, narrowed)
    made = {key: value for key, value in node.items() if key not in (*_DROPPED, "$defs")}
    if "anyOf" in made:
        made["anyOf"] = [_strict(option, shared, narrowed) for option in made["anyOf"]]
    if "items" in made:
        made |= {"items": _strict(made["items"], shared, narrowed), "maxItems": _MOST_ITEMS}
    if "properties" in made:
        made["properties"] = {
            name: narrowed.get(name) or _strict(inner, shared, narrowed) for name, inner in made["properties"].items()
        }
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    return made
