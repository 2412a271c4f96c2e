"""One trajectory as the judge is asked about it, and the verdict that a reply gives on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._reading._roles import fold, is_person
from tracer_hooks.diagnosis.judge._prompts import cut, fenced, find_quote, flat, shares
from tracer_hooks.diagnosis.judge._replies import Quote, ReplyError, StepJudgement, VerdictReply
from tracer_hooks.diagnosis.ranking import _answers
from tracer_hooks.schema import AgentFault, AgentSpec, ErrorMode, Evidence, RunOutcome, Trajectory

FAULT, NO_FAULT, ENVIRONMENT_FAULT = "fault", "no fault", "environment fault"
UNNAMED = "(unnamed)"
NOBODY = "no agent made a decisive error"
"""How a choice offers that there is no fault."""
_MOST_AGENTS = 40
_LEAST = 0.01
_MOST_WHY = 600
_MOST_EVIDENCE = 5


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
        specs = {spec.name: spec for spec in self.trajectory.agents}
        names = sorted(self.trajectory.agent_names, key=lambda name: name not in acted)[:_MOST_AGENTS]
        room = self._header_chars // 3 // max(1, len(names))
        notes = {name: "a person" if is_person(name) else "" if name in acted else "never acted" for name in names}
        return tuple(_member(name, specs.get(name), notes[name], room) for name in names)

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts that make sense: a run that is known to have failed has a fault somewhere."""
        known = self.trajectory.outcome is RunOutcome.FAILED
        return (FAULT, ENVIRONMENT_FAULT) if known else (FAULT, NO_FAULT, ENVIRONMENT_FAULT)

    @property
    def is_failure(self) -> bool:
        """The run is known to have failed."""
        return self.trajectory.outcome is RunOutcome.FAILED

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

        Args:
            name: As the judge wrote it.
            at: A step; when several agents fit the name, the one that acted there is meant.

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


def _member(name: str, spec: AgentSpec | None, note: str, room: int) -> TeamMember:
    instructions = (spec.instructions or "") if spec is not None else ""
    return TeamMember(
        name=flat(name),
        instructions=fenced(cut(" ".join(instructions.split()), room)),
        tools=fenced(cut(", ".join(map(flat, spec.tools)), room)) if spec is not None else "",
        note=note,
    )


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


def abstention_reason(verdict: JudgeVerdict) -> str | None:
    """Why the verdict names no agent, in the words of an attribution."""
    return {NO_FAULT: _answers.NO_FAULT, ENVIRONMENT_FAULT: _answers.ENVIRONMENT_FAULT}.get(verdict.abstention or "")


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
