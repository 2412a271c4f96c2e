"""Transfers that go to nobody, to the wrong agent, or round in circles."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._reading._roles import fold, is_person
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules._signal import DECISIVE, HINT, MODERATE, STRONG, WEAK, Family, Signal
from tracer_hooks.diagnosis._wording import one_line
from tracer_hooks.schema import AgentSpec, ErrorMode, Step, StepKind

_NOT_MINE = re.compile(
    r"\b(?:not my (?:job|area|role|department|responsib\w+|task|domain|field)|outside (?:of )?(?:my"
    r"|the scope)|beyond my|not (?:something )?i (?:can|handle|do)\b"
    r"|(?:i )?(?:can ?not|can't|don't|do not|am not able to|'m not able to) (?:help with|handle|deal with"
    r"|assist with|have access|have the)"
    r"|wrong (?:agent|department|team|person)|(?:this|that) (?:is|should be) (?:for|handled by) (?:the )?\w+)",
    re.IGNORECASE,
)
_MAX_REFUSAL = 1_500
"""A longer reply is work, or a page that was fetched, whatever words it holds."""
_NOBODY = frozenset(("user", "human", "end", "none", "terminate", "finish", "start", ""))
_WORD = re.compile(r"[a-z]{4,}")
_STOP = frozenset(
    [
        "about",
        "agent",
        "answer",
        "assistant",
        "before",
        "should",
        "their",
        "there",
        "these",
        "this",
        "that",
        "task",
        "team",
        "tool",
        "tools",
        "user",
        "using",
        "what",
        "when",
        "where",
        "which",
        "with",
        "work",
        "your",
        "from",
        "have",
        "help",
        "have",
        "into",
        "only",
        "please",
        "them",
        "then",
        "they",
        "will",
        "would",
        "must",
        "helpful",
        "question",
        "questions",
    ]
)


class _Team:
    """Who belongs to the team and who acted, by folded name; read once for all transfers."""

    def __init__(self, trace: RunReading) -> None:
        self.trace = trace
        self._fits: dict[str, int] = {}
        self.first: dict[str, int] = {}
        """The first step of each who acts."""
        self.last: dict[str, int] = {}
        """The last one."""
        folds = {name: fold(name) for name in {step.agent for step in trace.steps}}
        for step in trace.steps:
            self.first.setdefault(folds[step.agent], step.index)
            self.last[folds[step.agent]] = step.index

    @cached_property
    def names(self) -> dict[str, str]:
        """The name as it is written of each member."""
        names: dict[str, str] = {}
        for name in self.trace.trajectory.agent_names:
            names.setdefault(fold(name), name)
        return names

    @cached_property
    def specs(self) -> dict[str, AgentSpec]:
        """What is known of each member."""
        specs: dict[str, AgentSpec] = {}
        for spec in self.trace.trajectory.agents:
            specs.setdefault(fold(spec.name), spec)
        return specs

    @cached_property
    def someone_is_idle(self) -> bool:
        """Tell whether a member never acts."""
        return any(name not in self.first for name in self.names)

    @cached_property
    def best_idle(self) -> AgentSpec | None:
        """Of the members that never act, the one whose instructions fit the task best."""
        idle = [one for one in self.trace.trajectory.agents if fold(one.name) not in self.first and one.instructions]
        return max(idle, key=self.fit, default=None)

    def fit(self, spec: AgentSpec) -> int:
        """How many telling words of the task a member's name, tools and instructions have."""
        known = self._fits.get(spec.name)
        if known is None:
            told = " ".join((spec.name, *spec.tools, (spec.instructions or "")[:4_000]))
            known = self._fits[spec.name] = len(self._task & _words(told))
        return known

    @cached_property
    def _task(self) -> set[str]:
        return _words(self.trace.trajectory.task[:4_000])


def handoff_signals(trace: RunReading) -> Iterator[Signal]:
    """Every fault that the sequence of transfers shows."""
    transfers = [
        index for index in trace.acts if trace.steps[index].kind is StepKind.HANDOFF and trace.steps[index].recipient
    ]
    if not transfers:
        return
    team = _Team(trace)
    for index in transfers:
        found = _lost(team, index) or _refused(team, index) or _misdirected(team, index)
        if found is not None:
            yield found
    yield from _circles(team, transfers)


def _lost(team: _Team, index: int) -> Signal | None:
    """To an agent that does not exist, or that never acts."""
    trace = team.trace
    step = trace.steps[index]
    recipient = fold(step.recipient or "")
    if recipient in _NOBODY or is_person(step.recipient or ""):
        return None
    if team.last.get(recipient, -1) > index:
        return None
    known = recipient in team.names
    if not known and trace.trajectory.agents:
        return _signal(
            trace, index, DECISIVE, ErrorMode.FM_1_2, f"hands over to {step.recipient!r}, whom the team does not have."
        )
    ended = trace.next_act(index) is None
    acted_before = team.first.get(recipient, index) < index
    return _signal(
        trace,
        index,
        STRONG if ended and not known else MODERATE if ended else HINT if acted_before else WEAK,
        ErrorMode.FM_3_1,
        f"hands over to {step.recipient!r}, who does not act after that"
        + (", and neither does anybody else of the team." if ended else "."),
    )


def _refused(team: _Team, index: int) -> Signal | None:
    """To an agent that says it is not for it."""
    trace = team.trace
    step = trace.steps[index]
    answer = trace.next_act(index, agent=team.names.get(fold(step.recipient or ""), step.recipient or ""))
    if answer is None or answer - index > 3 or len(trace.prose(answer)) > _MAX_REFUSAL:
        return None
    refusal = _NOT_MINE.search(trace.prose(answer))
    if refusal is None:
        return None
    return _signal(
        trace,
        index,
        STRONG + WEAK,
        ErrorMode.FM_2_3,
        f"hands over to {step.recipient!r}, whose answer in step {answer} turns it away: "
        f"{one_line(refusal.group())!r}.",
    )


def _misdirected(team: _Team, index: int) -> Signal | None:
    """To an agent whose instructions have nothing to do with the task, while the fitting one never acts."""
    trace = team.trace
    step = trace.steps[index]
    chosen = team.specs.get(fold(step.recipient or ""))
    if chosen is None or not chosen.instructions:
        return None
    best = team.best_idle
    if best is None or team.fit(best) <= team.fit(chosen):
        return None
    return _signal(
        trace,
        index,
        STRONG if team.fit(chosen) == 0 else MODERATE,
        ErrorMode.FM_2_3,
        f"hands over to {step.recipient!r}, while {best.name!r}, whose name, tools and instructions share more words "
        "with the task, never acts.",
    )


def _circles(team: _Team, transfers: list[int]) -> Iterator[Signal]:
    """Two agents who pass the work to and fro without doing any of it in between."""
    trace = team.trace
    bare = [
        index
        for index in transfers
        if _only_transfers(trace.steps[index])
        and not _worked_after(trace, index, fold(trace.steps[index].recipient or ""))
    ]
    places: dict[tuple[str, str], list[int]] = {}
    for index in bare:
        places.setdefault(_pair(trace.steps[index]), []).append(index)
    pairs = Counter({pair: len(steps) for pair, steps in places.items()})
    reported: set[frozenset[str]] = set()
    for index in bare:
        giver, taker = _pair(trace.steps[index])
        if pairs[giver, taker] < 2 or pairs[taker, giver] < 1 or frozenset((giver, taker)) in reported:
            continue
        reported.add(frozenset((giver, taker)))
        times = pairs[giver, taker] + pairs[taker, giver]
        others_idle, returns = team.someone_is_idle, places[taker, giver]
        following = bisect_right(returns, index)
        back = returns[following] if following < len(returns) else index
        what = f"and {trace.steps[index].recipient!r} pass the work to and fro, {times} times in all."
        answered = f"and {trace.steps[back].recipient!r} pass the work to and fro, {times} times in all."
        # With a member who was never asked, the choice of the recipient was wrong; else the one who gave it back.
        yield _signal(trace, index, STRONG if others_idle else STRONG - WEAK, ErrorMode.FM_2_3, what)
        if back != index:
            yield _signal(trace, back, STRONG - WEAK if others_idle else STRONG, ErrorMode.FM_1_3, answered)


def _worked_after(trace: RunReading, index: int, taker: str) -> bool:
    """Tell whether the recipient did anything but hand over again before the work came back."""
    for place in range(index + 1, len(trace.steps)):
        later = trace.steps[place]
        if fold(later.agent) != taker:
            return False
        if later.kind is StepKind.HANDOFF:
            return len(later.content.strip()) > 200
        if later.kind is StepKind.TOOL_CALL and not _only_transfers(later):
            return True
        if later.kind is StepKind.MESSAGE and len(later.content.strip()) > 200:
            return True
    return False


def _only_transfers(step: Step) -> bool:
    return all(
        re.match(r"transfer|handoff|hand_off|delegate|route|ask_question", call.name, re.I) for call in step.tool_calls
    )


def _pair(step: Step) -> tuple[str, str]:
    return fold(step.agent), fold(step.recipient or "")


def _words(text: str) -> set[str]:
    """The first five letters of each telling word, so that "refunds" and "refunded" meet."""
    return {word[:5] for word in _WORD.findall(text.casefold().replace("_", " ")) if word not in _STOP}


def _signal(trace: RunReading, index: int, weight: float, mode: ErrorMode, what: str) -> Signal:
    return Signal(
        family=Family.HANDOFF,
        step=index,
        weight=weight,
        mode=mode,
        why=f"{trace.steps[index].agent!r} {what}",
        quote=trace.locate(index, trace.steps[index].recipient or "") if trace.steps[index].recipient else None,
    )
