"""Transfers that go to nobody, to the wrong agent, or round in circles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tracer_hooks.attribution._reading._roles import fold, is_person
from tracer_hooks.attribution._reading._trace import Trace
from tracer_hooks.attribution._rules._signal import DECISIVE, HINT, MODERATE, STRONG, WEAK, Family, Signal
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


def handoff_signals(trace: Trace) -> Iterator[Signal]:
    """Every fault that the sequence of transfers shows."""
    transfers = [
        index for index in trace.acts if trace.steps[index].kind is StepKind.HANDOFF and trace.steps[index].recipient
    ]
    for index in transfers:
        found = _lost(trace, index) or _refused(trace, index) or _misdirected(trace, index)
        if found is not None:
            yield found
    yield from _circles(trace, transfers)


def _lost(trace: Trace, index: int) -> Signal | None:
    """To an agent that does not exist, or that never acts."""
    step = trace.steps[index]
    recipient = fold(step.recipient or "")
    if recipient in _NOBODY or is_person(step.recipient or ""):
        return None
    acted_later = any(fold(later.agent) == recipient for later in trace.steps[index + 1 :])
    if acted_later:
        return None
    roster = {fold(name) for name in trace.trajectory.agent_names}
    known = recipient in roster
    if not known and trace.trajectory.agents:
        return _signal(
            trace, index, DECISIVE, ErrorMode.FM_1_2, f"hands over to {step.recipient!r}, whom the team does not have"
        )
    ended = trace.next_act(index) is None
    acted_before = any(fold(earlier.agent) == recipient for earlier in trace.steps[:index])
    return _signal(
        trace,
        index,
        STRONG if ended and not known else MODERATE if ended else HINT if acted_before else WEAK,
        ErrorMode.FM_3_1,
        f"hands over to {step.recipient!r}, who does not act after that" + (": the run ends there" if ended else ""),
    )


def _refused(trace: Trace, index: int) -> Signal | None:
    """To an agent that says it is not for it."""
    step = trace.steps[index]
    answer = trace.next_act(index, agent=_actual_name(trace, step))
    if answer is None or answer - index > 3 or len(trace.prose(answer)) > _MAX_REFUSAL:
        return None
    if _NOT_MINE.search(trace.prose(answer)) is None:
        return None
    return _signal(
        trace,
        index,
        STRONG + WEAK,
        ErrorMode.FM_2_3,
        f"hands over to {step.recipient!r}, who answers that it cannot (step {answer})",
    )


def _misdirected(trace: Trace, index: int) -> Signal | None:
    """To an agent whose instructions have nothing to do with the task, while the fitting one never acts."""
    step = trace.steps[index]
    chosen = _spec(trace, step.recipient or "")
    if chosen is None or not chosen.instructions:
        return None
    task = _words(trace.trajectory.task[:4_000])
    acted = {fold(one.agent) for one in trace.steps}
    idle = [spec for spec in trace.trajectory.agents if fold(spec.name) not in acted and spec.instructions]
    best = max(idle, key=lambda spec: _fit(task, spec), default=None)
    if best is None or _fit(task, best) <= _fit(task, chosen):
        return None
    return _signal(
        trace,
        index,
        STRONG if _fit(task, chosen) == 0 else MODERATE,
        ErrorMode.FM_2_3,
        f"hands over to {step.recipient!r}, while {best.name!r}, whose instructions fit the task better, never acts",
    )


def _circles(trace: Trace, transfers: list[int]) -> Iterator[Signal]:
    """Two agents who pass the work to and fro without doing any of it in between."""
    bare = [
        index
        for index in transfers
        if _only_transfers(trace.steps[index])
        and not _worked_after(trace, index, fold(trace.steps[index].recipient or ""))
    ]
    pairs = Counter(_pair(trace.steps[index]) for index in bare)
    reported: set[frozenset[str]] = set()
    for index in bare:
        giver, taker = _pair(trace.steps[index])
        if pairs[giver, taker] < 2 or pairs[taker, giver] < 1 or frozenset((giver, taker)) in reported:
            continue
        reported.add(frozenset((giver, taker)))
        times = pairs[giver, taker] + pairs[taker, giver]
        others_idle = any(
            fold(name) not in {fold(one.agent) for one in trace.steps} for name in trace.trajectory.agent_names
        )
        back = next((later for later in bare if later > index and _pair(trace.steps[later]) == (taker, giver)), index)
        what = f"passes the work to and fro with another agent, {times} times in all"
        # With a member who was never asked, the choice of the recipient was wrong; else the one who gave it back.
        yield _signal(trace, index, STRONG if others_idle else STRONG - WEAK, ErrorMode.FM_2_3, what)
        if back != index:
            yield _signal(trace, back, STRONG - WEAK if others_idle else STRONG, ErrorMode.FM_1_3, what)


def _worked_after(trace: Trace, index: int, taker: str) -> bool:
    """Whether the recipient did anything but hand over again before the work came back."""
    for later in trace.steps[index + 1 :]:
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


def _actual_name(trace: Trace, step: Step) -> str:
    wanted = fold(step.recipient or "")
    return next((name for name in trace.trajectory.agent_names if fold(name) == wanted), step.recipient or "")


def _spec(trace: Trace, name: str) -> AgentSpec | None:
    return next((spec for spec in trace.trajectory.agents if fold(spec.name) == fold(name)), None)


def _words(text: str) -> set[str]:
    """The first five letters of each telling word, so that "refunds" and "refunded" meet."""
    return {word[:5] for word in _WORD.findall(text.casefold().replace("_", " ")) if word not in _STOP}


def _fit(task: set[str], spec: AgentSpec) -> int:
    return len(task & _words(" ".join((spec.name, *spec.tools, (spec.instructions or "")[:4_000]))))


def _signal(trace: Trace, index: int, weight: float, mode: ErrorMode, what: str) -> Signal:
    return Signal(
        family=Family.HANDOFF,
        step=index,
        weight=weight,
        mode=mode,
        why=f"{trace.steps[index].agent!r} {what}",
        quote=trace.first_words(index),
    )
