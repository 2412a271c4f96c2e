"""Where a value that is known to be wrong came from, and sums that do not add up."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.attribution._reading._numbers import canonical, is_number
from tracer_hooks.attribution._reading._outcome import read_outcome
from tracer_hooks.attribution._reading._roles import Role, is_checker
from tracer_hooks.attribution._reading._trace import Trace
from tracer_hooks.attribution._rules._signal import DECISIVE, MODERATE, STRONG, WEAK, Family, Signal
from tracer_hooks.schema import ErrorMode

_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d{1,9})?|\d{1,12}(?:\.\d{1,9})?"
_SUM = re.compile(
    rf"(?<![\w.,:+*/\u00d7÷^()=\\-])(?P<left>(?:{_NUMBER})(?:\s{{0,2}}[-+*/\u00d7÷x]\s{{0,2}}(?:{_NUMBER})){{1,8}})"
    rf"\s{{0,2}}=\s{{0,2}}(?P<right>(?:{_NUMBER}))(?![\w%^]|[.,]\d|\s{{0,2}}[-+*/\u00d7÷^(])"
)
_TERM = re.compile(rf"(?P<number>{_NUMBER})|(?P<op>[-+*/\u00d7÷x])")


def wrong_values(trace: Trace) -> Iterator[Signal]:
    """The first step that brought in a value which the check, or the reference, shows to be wrong.

    When nothing tells which part of a rejected answer is wrong, the answer itself is followed back, with less weight.
    """
    verdict = read_outcome(trace)
    for rank, value in enumerate(verdict.wrong[:4]):
        yield from _brought_in(trace, value, DECISIVE if rank == 0 else MODERATE, verdict.expected)
    for value in verdict.answered[:1]:
        yield from _brought_in(trace, value, MODERATE, ())


def _brought_in(trace: Trace, value: str, weight: float, expected: tuple[str, ...]) -> Iterator[Signal]:
    if is_number(value) and canonical(value) in trace.task_numbers:
        return  # given in the task: it tells nothing about who brought it in
    origin = _origin(trace, value)
    if origin is None:
        return
    step, quote, relayed = origin
    agent = trace.steps[step].agent
    seen = _saw(trace, step, expected)
    yield Signal(
        family=Family.VALUE,
        step=step,
        weight=weight - (WEAK if relayed else 0.0),
        mode=_mode(agent, seen=seen),
        why=f"{agent!r} is the first to bring in {value!r}, which the check rejects"
        + (", although it had been shown another value" if seen else ""),
        quote=quote,
        value=value,
    )


def wrong_sums(trace: Trace) -> Iterator[Signal]:
    """Calculations that are written out and come out wrong."""
    for index in trace.acts:
        passage = trace.content(index)
        if passage is None:
            continue
        for match in _SUM.finditer(passage.prose):
            stated = match.group("right")
            if _adds_up(match.group("left"), stated) is not False:
                continue
            yield Signal(
                family=Family.ARITHMETIC,
                step=index,
                weight=STRONG + MODERATE,
                mode=ErrorMode.FM_2_6,
                why=f"{trace.steps[index].agent!r} writes a calculation whose result is not {stated}",
                quote=passage.quote_at(match.start(), match.end()),
                value=stated,
            )
            break


def _origin(trace: Trace, value: str) -> tuple[int, str | None, bool] | None:
    """The step that a value comes from, a quotation, and whether only a tool or a terminal said it there."""
    for index, role in enumerate(trace.roles):
        if role is Role.PERSON or trace.is_brief(index):
            continue
        said = trace.locate(index, value, "content", "arguments")
        if said is not None and role is Role.AGENT:
            return index, said, False
        # What comes back from a hand-over is the words of the other agent, whose own step tells them.
        delegated = trace.steps[index].recipient is not None
        relayed = trace.locate(index, value, *(("content",) if delegated else ("content", "result")))
        if relayed is None:
            continue
        if role is Role.AGENT:
            return index, relayed, True
        author = trace.author_before(index)
        if author is not None:
            return author, trace.first_words(author), True
    return None


def _saw(trace: Trace, step: int, expected: tuple[str, ...]) -> bool:
    """Whether the right value had been said before, so that it was dropped rather than never found."""
    return any(
        trace.locate(index, value, "content", "result") is not None
        for value in expected
        for index in range(step + 1)
        if trace.roles[index] is not Role.PERSON
        and not trace.is_brief(index)
        and (index < step or trace.steps[step].tool_calls)
    )


def _mode(agent: str, *, seen: bool) -> ErrorMode:
    if is_checker(agent):
        return ErrorMode.FM_3_3
    return ErrorMode.FM_2_5 if seen else ErrorMode.FM_3_2


def _adds_up(left: str, right: str) -> bool | None:
    """Whether ``left`` comes to ``right``, with room for rounding; None when it cannot be told."""
    if left.count("-") + left.count("/") >= 2 and not re.search(r"[+*\u00d7÷x]", left):
        return None  # dates, ranges and phone numbers look like this
    try:
        value = _evaluate(left)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    stated = float(right.replace(",", ""))
    decimals = len(right.partition(".")[2])
    room = max(0.5 * 10.0**-decimals if "." in right or value != int(value) else 0.0, abs(value) * 1e-9)
    if value != int(value):
        room = max(room, abs(value) * 0.02, 1.0 if "." not in right else 0.0)  # rounded, or cut off, by hand
    return abs(value - stated) <= room * 1.01


def _evaluate(expression: str) -> float:
    """Products before sums; the expression is one that the pattern above let through."""
    tokens = [match for match in _TERM.finditer(expression) if match.group().strip()]
    total, product, sign, expects_number, operator = 0.0, 1.0, 1.0, True, "*"
    for match in tokens:
        text = match.group()
        if match.group("op") and not expects_number:
            if text in "+-":
                total, product = total + sign * product, 1.0
                sign, operator = (-1.0 if text == "-" else 1.0), "*"
            else:
                operator = "/" if text in "/÷" else "*"
            expects_number = True
        elif match.group("number") and expects_number:
            number = float(text.replace(",", ""))
            product = product / number if operator == "/" else product * number
            expects_number = False
        else:
            raise ValueError(f"not a plain calculation: {expression!r}")
    if expects_number:
        raise ValueError(f"not a plain calculation: {expression!r}")
    return total + sign * product
