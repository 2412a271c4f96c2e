"""Made-up data, unfinished endings and empty approvals: what an agent's own words give away."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._roles import is_checker
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules._repetition import limit_reached
from tracer_hooks.diagnosis._rules._signal import HINT, MODERATE, WEAK, Family, Signal
from tracer_hooks.diagnosis._wording import one_line
from tracer_hooks.schema import ErrorMode, RunOutcome

MADE_UP = re.compile(
    r"(?<!not )(?<!n't )(?<!without )\b(?:let(?:'s| us| me) (?:assume|suppose|pretend|imagine|simulate)"
    r"|(?:i|we)(?:'ll| will| shall| can)? (?:assume|simulate|pretend|suppose) (?!you|that you)"
    r"|assuming (?:that )?(?:the|we|it|a)|hypothetical(?:ly)?|placeholder|for (?:demonstration"
    r"|illustration|illustrative)(?: purposes)?"
    r"|(?:mock|dummy|fake|simulated|made-up|fabricated|synthetic) (?:data|value|number|result|response"
    r"|figure|output)s?|as an educated guess)",
    re.IGNORECASE,
)
MAKES_UP = (
    *("assum", "suppos", "pretend", "imagine", "simulat", "hypothetical", "placeholder", "demonstration", "illustrat"),
    *("mock", "dummy", "fake", "made-up", "fabricated", "synthetic", "educated guess"),
)
"""Every match of :data:`MADE_UP` has one of these, in lower case."""
PLACEHOLDER_IN_CODE = re.compile(
    r"YOUR_[A-Z_]{3,}|your_?api_?key|path[_/]to[_/]\w|\bX{4,}\b|#.{0,40}\b(?:placeholder"
    r"|replace (?:this )?with|dummy|mock|hypothetical|simulat\w+|assum\w+)\b"
    r"|(?i:<(?:insert|your)[ _-]\w)",
)
_UNFINISHED = re.compile(
    r"\b(?:TODO|to be (?:done|completed|determined)|still (?:need|have|has|remain|missing|open|pending)"
    r"|not yet (?:done|complete|available|found|checked)"
    r"|remains? (?:to be|open)|next,? (?:i|we)(?:'ll| will)|(?:i|we)(?:'ll| will) (?:now|then|next"
    r"|proceed|continue|get back)\b(?!\W+(?:\w+\W+){0,2}?(?:end|conclude|terminate|finish|close|stop)\b)"
    r"|could not (?:be )?(?:find|found|determine)"
    r"|unable to (?:find|determine|access|complete|retrieve|provide)|please (?:provide|share|confirm"
    r"|let me know)|need more (?:information|time|data))",
    re.IGNORECASE,
)
ENDS = re.compile(
    r"\bterminate\b|\b(?:task|work|everything|all) (?:is|has been|are) (?:now )?(?:complete|done|finished)",
    re.IGNORECASE,
)
APPROVES = re.compile(
    r"\b(?:approved?|looks? (?:good|correct|right|fine)|(?:is|are|seems?|appears?) (?:all )?(?:correct"
    r"|accurate|valid|right|fine)|verified|confirm(?:ed|s)?|lgtm|no (?:issues|errors|problems) (?:found)?"
    r"|well done)\b",
    re.IGNORECASE,
)
REJECTS = re.compile(
    r"\b(?:not (?:correct|accurate|valid|approved|verified)|incorrect|wrong|inaccurate|error in|mistake"
    r"|reject|cannot confirm|could not verify|unable to|however)\b",
    re.IGNORECASE,
)


def made_up_data(trace: RunReading) -> Iterator[Signal]:
    """The first step of each agent that goes on with assumed, simulated or placeholder data."""
    if MADE_UP.search(trace.trajectory.task[:20_000]):
        return  # the task itself asks for it
    seen: set[str] = set()
    for index in trace.acts:
        agent = trace.steps[index].agent
        passage = trace.content(index)
        if passage is None or agent in seen or trace.is_brief(index):
            continue
        lower = passage.text.lower()
        assumed = any(part in lower for part in MAKES_UP)
        found = (MADE_UP.search(passage.prose) if assumed else None) or PLACEHOLDER_IN_CODE.search(passage.text)
        if found is None:
            continue
        first = not seen
        seen.add(agent)
        yield Signal(
            family=Family.ASSUMPTION,
            step=index,
            weight=MODERATE if first else WEAK,
            mode=ErrorMode.FM_2_2,
            why=f"{agent!r} speaks here of something assumed, simulated, hypothetical or a placeholder: "
            f"{one_line(found.group())!r}.",
            quote=passage.quote_at(found.start(), found.end()),
        )


def premature_ends(trace: RunReading) -> Iterator[Signal]:
    """An ending with nothing to show, or with work left that the last speaker itself names."""
    speaker = trace.last_speaker
    if speaker is None:
        return
    agent = trace.steps[speaker].agent
    final = trace.trajectory.final_output
    if final is not None and not final.strip() and trace.trajectory.outcome is RunOutcome.FAILED:
        yield Signal(
            family=Family.TERMINATION,
            step=speaker,
            weight=MODERATE,
            mode=ErrorMode.FM_3_1,
            why=f"The run ends without an answer, and {agent!r} is the last to say or do anything.",
        )
    passage = trace.content(speaker)
    found = _UNFINISHED.search(passage.prose) if passage is not None else None
    if passage is not None and found is not None:
        declared = ENDS.search(passage.prose) is not None
        yield Signal(
            family=Family.TERMINATION,
            step=speaker,
            weight=WEAK if declared else HINT,
            mode=ErrorMode.FM_1_5 if limit_reached(trace) else ErrorMode.FM_3_1,
            why=f"{agent!r} is the last to speak, and its words leave something open ({one_line(found.group())!r})"
            + (", yet they declare the end." if declared else "."),
            quote=passage.quote_at(found.start(), found.end()),
        )


def empty_approvals(trace: RunReading) -> Iterator[Signal]:
    """Approvals by an agent that is there to check, in a run that failed, without a check of its own."""
    if trace.trajectory.outcome is not RunOutcome.FAILED:
        return
    for index in trace.acts:
        step = trace.steps[index]
        passage = trace.content(index)
        if passage is None or step.tool_calls or not is_checker(step.agent) or "```" in passage.raw[:20_000]:
            continue
        found = APPROVES.search(passage.prose)
        if found is None or REJECTS.search(passage.prose):
            continue
        shows_work = len(passage.prose) > 400
        yield Signal(
            family=Family.VERIFICATION,
            step=index,
            weight=HINT,  # it let the error pass; somebody else made it
            mode=ErrorMode.FM_3_3 if shows_work else ErrorMode.FM_3_2,
            why=f"{step.agent!r}, whose name says that it checks, writes {found.group()!r} in a run that failed, "
            "with no code and no tool call in this step.",
            quote=passage.quote_at(found.start(), found.end()),
        )
