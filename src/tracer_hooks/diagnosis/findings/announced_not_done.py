"""Announced and not done: a check, a call, a search or a download that an agent claims, and no such act.

An act is a tool call, code, or the report of a terminal, by anyone, in the step itself or since the agent's last turn.
Silent about plans, about what the agent read in the conversation, and in a run that records no acts at all, unless the
claim names a tool of the team.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._wording import one_line
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome

_HAVE = r"\bi(?:'ve| have)?(?: (?!not)(?:\w{2,14}ly|also|now|just|already|since)){0,2} (?:re-?|double-|cross-)?"
_LOOKED = (
    r"(?:checked|verified|searched|downloaded|queried|consulted|visited|browsed|accessed|looked up|retrieved|reviewed)"
)
_LOOKING = (
    r"(?:checking|verifying|searching|consulting|visiting|browsing|watching|downloading|querying|reviewing|examining)"
)
_OUTSIDE = (
    r"(?:(?:web ?)?(?:site|page)s?|database|sources?|records?|online|internet|videos?|recordings?|listings?|archives?"
    r"|api|repository|schedules?|calendar|catalogu?e)"
)
_CLAIM = re.compile(
    rf"{_HAVE}{_LOOKED} [^.!?\n:]{{0,80}}?\b{_OUTSIDE}\b"
    rf"|{_HAVE}(?:checked|searched|visited|browsed|queried|consulted) (?:on |the )?(?-i:[A-Z])\w+"
    rf"|\b(?:after|upon|having) (?:\w{{1,14}}ly )?{_LOOKING}\b[^.!?\n]{{0,80}}?\b{_OUTSIDE}\b"
    r"(?=[^.!?\n]{0,90} (?:i|it) )",
    re.IGNORECASE,
)
"""Of what somebody's tool could have done."""
_BY_HAND = re.compile(
    rf"{_HAVE}(?:manually {_LOOKED}|rechecked the|watched the|listened to the)\b"
    rf"|{_HAVE}{_LOOKED} [^.!?\n]{{1,60}} (?:manually|by hand)\b"
    r"|\b(?:after|upon|having) (?:conducting |performing |doing )?(?:an? )?manual(?:ly)? "
    rf"(?:search|check|review|inspection|{_LOOKING})\b",
    re.IGNORECASE,
)
"""Of what a program's agent can do by a tool only."""
_NOT_A_CLAIM = re.compile(
    r"(?:\b(?:if|once|when|unless|until|should|would|could|will|can|cannot|not|never|please|whether|let|to|as soon as"
    r"|suppose|assum\w{1,3}|need)\b|n't\b)[^.!?\n]{0,60}$",
    re.IGNORECASE,
)
_SAYS = ("i ", "i'", "after", "upon", "having")


def find(run: RunReading) -> Iterator[Finding]:
    """Each agent's first claim of an act that nobody did."""
    acted = [_is_act(run, step) for step in range(len(run.steps))]
    tools = () if any(acted) else tuple(name for name in _tool_names(run) if len(name) > 3)
    if not any(acted) and not tools:
        return
    last_act = -1
    turns: dict[str, int] = {}
    own: set[str] = set()
    told: set[str] = set()
    for step in range(len(run.steps)):
        agent = run.steps[step].agent
        last_act = step if acted[step] else last_act
        since = turns.get(agent, -1)
        if run.roles[step] is not Role.AGENT:
            continue
        turns[agent] = step
        if acted[step]:
            own.add(agent)
        elif agent not in told and not run.is_brief(step):
            nobody = last_act <= since and agent not in own
            found = (
                _reported(run, step, tools)
                or _claimed(run, step, _CLAIM if nobody else _BY_HAND, tools)
                or (_claimed(run, step, _BY_HAND, tools) if nobody else None)
            )
            if found is not None:
                told.add(agent)
                yield found


def _claimed(run: RunReading, step: int, claim: re.Pattern[str], tools: tuple[str, ...]) -> Finding | None:
    passage = run.content(step)
    if passage is None or not any(word in passage.prose.lower() for word in _SAYS):
        return None
    for match in claim.finditer(passage.prose):
        before = passage.prose[max(0, match.start() - 80) : match.start()]
        quote = passage.quote_at(match.start(), match.end())
        if _NOT_A_CLAIM.search(before) or quote.rstrip().endswith("?"):
            continue
        if tools and not any(name in quote for name in tools):
            continue
        agent = run.steps[step].agent
        shown = (
            "its step has no tool call and no code" if claim is _BY_HAND else "no tool call, code or terminal shows it"
        )
        return finding(
            run,
            FindingKind.ANNOUNCED_NOT_DONE,
            f"{agent!r} says in step {step} {_short(match.group())!r}, and {shown}",
            step=step,
            quote=quote,
            leads_to_answer=step == run.last_speaker,
        )
    return None


def _reported(run: RunReading, step: int, tools: tuple[str, ...]) -> Finding | None:
    """What a tool of the team is said to show, in a run in which nobody called one."""
    prose = run.prose(step)
    for tool in tools:
        match = re.search(
            rf"\b{re.escape(tool)} (?:confirms|shows|says|reports|returned|returns|gives|lists|has)\b", prose
        )
        passage = run.content(step)
        if match is not None and passage is not None:
            return finding(
                run,
                FindingKind.ANNOUNCED_NOT_DONE,
                f"{run.steps[step].agent!r} says in step {step} what {tool!r} shows, and nobody called it",
                step=step,
                quote=passage.quote_at(match.start(), match.end()),
                subject=tool,
                leads_to_answer=run.trajectory.outcome is RunOutcome.FAILED,
            )
    return None


def _short(words: str) -> str:
    line = one_line(words)
    return line if len(line) <= 90 else line[:88].rsplit(" ", 1)[0] + " …"


def _is_act(run: RunReading, step: int) -> bool:
    entry = run.steps[step]
    return run.roles[step] is Role.REPORTER or bool(entry.tool_calls) or "```" in entry.content


def _tool_names(run: RunReading) -> Iterator[str]:
    for agent in run.trajectory.agents:
        yield from agent.tools
        yield from re.findall(r"\btools? [`'\"](\w{3,40})[`'\"]", agent.instructions or "")


KIND = KindOfFinding(
    kind=FindingKind.ANNOUNCED_NOT_DONE,
    definition="A check, a call, a search or a download that an agent claims, and nobody's act since its last turn "
    "shows it; silent in a run that records no acts.",
    find=find,
    mode=ErrorMode.FM_2_6,
    advice=lambda found: f"Have {found.agent!r} call the tool before it reports a result, and show the result.",
)
