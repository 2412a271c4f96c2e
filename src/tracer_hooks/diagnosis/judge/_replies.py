"""A run as the judge is asked about it, the replies that may come, and the verdict that a reply gives."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._reading._roles import fold, is_person
from tracer_hooks.diagnosis.judge._prompts import cut, fenced, find_quote, flat, shares
from tracer_hooks.schema import AgentFault, AgentSpec, ErrorMode, Evidence, RunOutcome, Text, Trajectory

FAULT, NO_FAULT, ENVIRONMENT_FAULT = "fault", "no fault", "environment fault"
UNNAMED = "(unnamed)"
_MOST_AGENTS = 40
_LEAST = 0.01
_MOST_WHY = 600
_MOST_EVIDENCE = 5
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
Kind = Annotated[Literal["claim", "symptom", "error", "correction"], BeforeValidator(_words)]


class ReplyError(Exception):
    """A reply cannot be used; the text is for the judge, which gets one chance to repair it."""


class JudgeReply(BaseModel):
    """Base of every reply; a field more does no harm."""

    model_config = ConfigDict(extra="ignore", frozen=True)


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


class StepJudgement(JudgeReply):
    """The reply about a step that was found in another way; fields stand in the order in which they are written."""

    reason: Text = ""
    verdict: VerdictWord = "fault"
    error_mode: Mode  # nothing else tells this reply from one to another question
    probability: Probability = 0.5
    evidence: tuple[Quote, ...] = ()
    other_faults: tuple[OtherFault, ...] = ()


class VerdictReply(JudgeReply):
    """The answer to the whole question: agent, step and why."""

    reason: Text = ""
    verdict: VerdictWord = "fault"
    agent: Text
    step: int
    error_mode: Mode = None
    probability: Probability = 0.5
    evidence: tuple[Quote, ...] = ()
    other_faults: tuple[OtherFault, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


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


@dataclass(frozen=True, slots=True)
class TeamMember:
    """One agent as the prompt introduces it."""

    name: str
    instructions: str
    tools: str
    note: str


class JudgeCase:
    """A trajectory with what may be answered about it.

    Args:
        trajectory: What happened.
        reference: The expected answer, when the judge may know it.
        header_chars: Characters that task, final answer and instructions may take in a prompt.
    """

    def __init__(self, trajectory: Trajectory, reference: str | None, *, header_chars: int) -> None:
        self.trajectory = trajectory
        self.steps = trajectory.steps
        texts = [trajectory.task, trajectory.outcome_reason, trajectory.final_output, reference]
        given = shares([len(text or "") for text in texts], header_chars * 2 // 3)
        shown = [fenced(cut(text or "", share)) for text, share in zip(texts, given, strict=True)]
        self.task, self.reason, self.final_output, self.reference = shown
        self.outcome = trajectory.outcome.value
        self._header_chars = header_chars

    @cached_property
    def answerable(self) -> tuple[int, ...]:
        """The steps that may be the answer: those of the team's members, or all when only people acted."""
        own = tuple(step.index for step in self.steps if not is_person(step.agent))
        return own or tuple(step.index for step in self.steps)

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """The agents that may be the answer, in order of their first step."""
        return tuple(dict.fromkeys(self.steps[index].agent for index in self.answerable))

    @cached_property
    def members(self) -> tuple[TeamMember, ...]:
        """The team as the prompt introduces it; of a very large team those that acted first."""
        acted = {step.agent for step in self.steps}
        names = sorted(self.trajectory.agent_names, key=lambda name: name not in acted)[:_MOST_AGENTS]
        specs = {name: AgentSpec(name=name) for name in names} | {spec.name: spec for spec in self.trajectory.agents}
        room = self._header_chars // 3 // max(1, len(names))
        notes = {name: "a person" if is_person(name) else "" if name in acted else "never acted" for name in names}
        return tuple(
            TeamMember(
                name=flat(name),
                instructions=fenced(cut(" ".join((specs[name].instructions or "").split()), room)),
                tools=fenced(cut(", ".join(map(flat, specs[name].tools)), room)),
                note=notes[name],
            )
            for name in names
        )

    @property
    def is_failure(self) -> bool:
        """The run is known to have failed."""
        return self.trajectory.outcome is RunOutcome.FAILED

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts that make sense: a run that is known to have failed has a fault somewhere."""
        return (FAULT, ENVIRONMENT_FAULT) if self.is_failure else (FAULT, NO_FAULT, ENVIRONMENT_FAULT)

    def owner(self, step: int) -> str:
        """The agent that acted in a step."""
        return self.steps[step].agent

    def shown_owner(self, step: int) -> str:
        """The same as the prompts write it."""
        return flat(self.owner(step)) or UNNAMED

    def check_step(self, step: int) -> int:
        """``step`` itself.

        Raises:
            ReplyError: The record has no such step, or a person acted in it.
        """
        if not 0 <= step < len(self.steps):
            raise ReplyError(f"there is no step {step}: the record has the steps 0 to {len(self.steps) - 1}")
        if step not in self.answerable:
            raise ReplyError(f"step {step} is by {self.owner(step)!r}, a person and no member of the team")
        return step

    def agent_named(self, name: str, *, at: int | None = None) -> str:
        """The agent that a reply means by ``name``, whatever its case, spaces and punctuation.

        When several agents fit the name, the one that acted in the step ``at`` is meant.

        Raises:
            ReplyError: No agent of the run has that name.
        """
        if name in self.agents:
            return name
        as_shown = [agent for agent in self.agents if flat(agent) == name]
        if len(as_shown) == 1:
            return as_shown[0]
        folded = {fold(name), fold(name.partition("(")[0])} - {""}
        fitting = [agent for agent in self.agents if fold(agent) in folded]
        if not fitting:
            raise ReplyError(f"no agent is called {name!r}: expected one of {', '.join(map(repr, self.agents))}")
        return self.owner(at) if at is not None and self.owner(at) in fitting else fitting[0]


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
        found_wrong = [(".".join(map(str, each["loc"])) or "reply", each["msg"]) for each in error.errors()]
        problems = [f"{place}: {message}" for place, message in found_wrong[:_MOST_PROBLEMS]]
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


def reply_schema(
    kind: type[JudgeReply], case: JudgeCase, *, steps: Sequence[int] | None = None, labels: Sequence[str] = ()
) -> dict[str, Any]:
    """The schema of ``kind`` for ``case``, with its agents, steps and verdicts, in the form that strict servers want.

    There are no references in it, every field is required, and further ones are not allowed.

    Args:
        kind: Form of the reply.
        case: The run.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVerdict:
    """An answer as the judge stated it; nothing in it is calibrated."""

    step: int
    """The decisive error step, or after an abstention the most suspicious one."""
    beliefs: Mapping[int, float]
    """Stated probability of each step that was named; they sum to at most 1 and none is above that of ``step``."""
    mode: ErrorMode | None = None
    """How the agent went wrong."""
    faults: tuple[AgentFault, ...] = ()
    """Agents that went wrong, that of the answer first."""
    evidence: tuple[Evidence, ...] = ()
    """Quotations that stand in the steps; the first one carries the judge's reason."""
    abstention: str | None = None
    """``no fault`` or ``environment fault``; None when an agent is named."""


def plain_verdict(case: JudgeCase, beliefs: Mapping[int, float], remark: str) -> JudgeVerdict:
    """The most probable of ``beliefs`` without mode and quotations, for an answer that was not finished."""
    shares = _shares(beliefs)
    step = max(shares, key=lambda index: (shares[index], -index))
    return JudgeVerdict(step=step, beliefs=shares, evidence=tuple(_evidence(case, step, "", remark, ())))


def verdict_of(reply: VerdictReply, case: JudgeCase) -> JudgeVerdict:
    """The verdict in ``reply``.

    When the step is another agent's than the agent named, the step is kept, and the evidence says so.

    Raises:
        ReplyError: It names an agent or a step that the trajectory does not have, or no fault in a failed run.
    """
    step = case.check_step(reply.step)
    named, owner = case.agent_named(reply.agent, at=step), case.owner(step)
    remark = "" if named == owner else f"the judge named {named!r}, but step {step} is by {owner!r}: the step was kept"
    top = max(_LEAST, reply.probability)
    others = {
        alternative.step: alternative.probability
        for alternative in reply.alternatives
        if alternative.step in case.answerable
    }
    beliefs = {step: top, **{index: min(top, stated) for index, stated in others.items() if index != step}}
    return judged(case, JudgeVerdict(step=step, beliefs=_shares(beliefs)), reply, remark=remark)


def judged(
    case: JudgeCase, verdict: JudgeVerdict, reply: StepJudgement | VerdictReply, *, remark: str = ""
) -> JudgeVerdict:
    """``verdict`` with the mode, the faults and the quotations of ``reply``.

    Raises:
        ReplyError: The reply finds no fault in a run that is known to have failed.
    """
    if reply.verdict not in case.verdicts:
        expected = " or ".join(map(repr, case.verdicts))
        raise ReplyError(f"verdict is {reply.verdict!r}, but the run is known to have failed: expected {expected}")
    stated = verdict.beliefs.get(verdict.step, reply.probability)
    return replace(
        verdict,
        mode=reply.error_mode,
        faults=tuple(_faults(case, verdict.step, stated, reply)),
        evidence=tuple(_evidence(case, verdict.step, reply.reason, remark, reply.evidence)),
        abstention=reply.verdict if reply.verdict != FAULT else None,
    )


def with_remark(case: JudgeCase, verdict: JudgeVerdict, remark: str) -> JudgeVerdict:
    """``verdict`` whose first quotation also says ``remark``."""
    if not verdict.evidence:
        return replace(verdict, evidence=tuple(_evidence(case, verdict.step, "", remark, ())))
    first, *rest = verdict.evidence
    return replace(verdict, evidence=(first.model_copy(update={"why": f"{first.why} ({remark})"}), *rest))


def _shares(beliefs: Mapping[int, float]) -> dict[int, float]:
    """Beliefs that sum to at most 1."""
    total = max(1.0, sum(beliefs.values()))
    return {index: belief / total for index, belief in beliefs.items()}


def _faults(case: JudgeCase, step: int, stated: float, reply: StepJudgement | VerdictReply) -> Iterator[AgentFault]:
    if reply.verdict != FAULT:
        return
    owner = case.owner(step)
    yield AgentFault(agent=owner, error_mode=reply.error_mode, score=stated)
    seen = {(owner, reply.error_mode)}
    for other in reply.other_faults:
        try:
            agent = case.agent_named(other.agent)
        except ReplyError:  # a second fault with an invented name is no reason to lose the answer
            continue
        if (agent, other.error_mode) not in seen:
            seen.add((agent, other.error_mode))
            yield AgentFault(agent=agent, error_mode=other.error_mode, score=other.probability)


def _evidence(case: JudgeCase, step: int, reason: str, remark: str, quotes: Iterable[Quote]) -> Iterator[Evidence]:
    """Quotations that stand in their steps, those of the answer first; the first one carries reason and remark."""
    found: dict[tuple[int, str], str] = {}
    for quoted in quotes:
        text = find_quote(case.steps[quoted.step], quoted.quote) if 0 <= quoted.step < len(case.steps) else None
        if text:
            found.setdefault((quoted.step, text), quoted.why.strip())
    said = " ".join(part for part in (reason.strip(), remark and f"({remark})") if part)
    if said and not any(index == step for index, _ in found):
        found[step, ""] = ""
    ranked = sorted(found.items(), key=lambda item: item[0][0] != step)[:_MOST_EVIDENCE]
    for position, ((index, text), why) in enumerate(ranked):
        shown = said if position == 0 and said else why or "quoted by the judge"
        yield Evidence(step=index, quote=text, why=shown[:_MOST_WHY])
