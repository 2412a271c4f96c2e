"""Sentences about answers, words and numbers: who said them first, and who said something else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracer_hooks.attribution._features import View
from tracer_hooks.attribution._reading._numbers import find_value, numbers_in
from tracer_hooks.attribution._rules._specific import asserted_numbers, new_numbers
from tracer_hooks.attribution._structural._sentences._telling import Said, shown, stands_in, texts_of
from tracer_hooks.attribution._wording import words_listed
from tracer_hooks.schema import StepKind

_STATED = re.compile(
    r"\\boxed\{(?P<boxed>[^{}]{1,60})\}"
    r"|(?:final answer|answer|result|solution|total)\b\W{0,6}(?:is|=|:|equals)\W{0,8}"
    r"(?P<said>(?:[^\n.;]|\.(?=\d)){1,60})",
    re.IGNORECASE,
)
_BARE = "it has no code and calls no tool, and no terminal reports right before it"
_MOST_WORDS = 4
_MOST_NAMES = 30
_NUMBER = re.compile(r"[$\u20ac\u00a3]?\s?-?\d[\d.,:/]*\d|[$\u20ac\u00a3]?\s?-?\d(?![\w.,:/])")
_VALUE = re.compile(r"[$€£]?\s?-?\d[\w\s.,:/%€$-]*|[A-Z][\w\s.,'-]*")
"""A number with its unit, or a name: what a result is, other than a sentence about one."""
_SENTENCE = re.compile(r"\D*\b(?:is|are|was|were|has|have|had|been|can|may|will|do|does|did|not)\b")
"""A verb after words: what begins like a name is a sentence."""
_LEAST_TASK = 5
"""Telling words of a task from which one may be said to leave some out."""
_NAMES = re.compile(r"\b[A-Z][a-z]{2,}(?: (?:of |the |and )?[A-Z][a-z]{2,}){1,3}\b")
_LOOSE = re.compile(
    r"\b(?:about|all|are|best|do|for|from|here|how|hundreds|is|near|on|once|our|that|the(?=\s[a-z])|there|these|this|top"
    r"|upon|was|what|when|where|which|who|why|with|your)\b",
    re.IGNORECASE,
)
"""Words that make a run of capitals a piece of a heading rather than a name."""
_STRIPPED = " *_$\\().'\"`"


def stated(view: View, step: int) -> tuple[str, str] | None:
    """The answer that a step states, as it stands there, with its passage."""
    for passage in view.trace.passages(step, "content", "arguments"):
        for match in reversed(list(_STATED.finditer(passage.prose))):
            said = match.group("boxed") or match.group("said") or ""
            value = said.strip(_STRIPPED)
            number = _NUMBER.match(value)
            value = number.group() if number is not None else value
            if _VALUE.fullmatch(value) and len(value.split()) <= _MOST_WORDS and not _SENTENCE.match(value):
                return value, passage.quote_at(match.start(), match.end())
    return None


def states_first(view: View, step: int) -> Said | None:
    """The step states a result that nobody has said before."""
    found = stated(view, step)
    if found is None or _said_before(view, step, found[0].casefold()):
        return None
    return Said(f"It states {shown(found[0])} as a result, which nobody has said before.", found[1])


def states_bare(view: View, step: int) -> Said | None:
    """The step states a result with nothing that bears it out."""
    found = stated(view, step)
    if found is None or not is_bare(view, step):
        return None
    return Said(f"It states {shown(found[0])} as a result, yet {_BARE}.", found[1])


def states_another(view: View, step: int) -> Said | None:
    """The agent states another result than it did before."""
    found = stated(view, step)
    for earlier in range(step - 1, -1, -1):
        before = stated(view, earlier) if found is not None and view.agents[earlier] == view.agents[step] else None
        if found is None or before is None:
            continue
        if _folded(before[0]) == _folded(found[0]):
            return None
        return Said(f"It states {shown(found[0])} as a result; in step {earlier} it was {shown(before[0])}.", found[1])
    return None


def first_words_of_answer(view: View, step: int) -> Said | None:
    """The step is the first to say names or numbers of the final answer, which is not its own text."""
    if view.trace.final_text.strip() in view.steps[step].content:
        return None
    fresh = _unsaid(
        view, step, [one for one in _named(view.trace.final_text)[:_MOST_NAMES] if _quoted(view, step, one)]
    )
    if not fresh:
        return None
    quote = _quoted(view, step, fresh[0]) or ""
    answer = "the final answer says" if view.trajectory.final_output else "the team's last words say"
    return Said(f"It is the first to say what {answer} again: {words_listed(fresh, _MOST_WORDS)}.", quote)


def carried_on(view: View, step: int) -> Said | None:
    """The step is the first to say something that the answer, or a later step of another agent, says again."""
    in_answer = first_words_of_answer(view, step)
    if in_answer is not None:
        return in_answer
    content = view.trace.content(step)
    if content is None:
        return None
    for value in [*new_numbers(view.trace, step), *_unsaid(view, step, _named(content.prose)[:_MOST_NAMES])]:
        for later in range(step + 1, view.count):
            if view.agents[later] != view.agents[step] and view.is_act[later] and _quoted(view, later, value):
                agent = view.agents[later]
                text = f"It is the first to say {value!r}, which {agent!r} says again in step {later}."
                return Said(text, _quoted(view, step, value) or "")
    return None


def first_number_of_answer(view: View, step: int) -> Said | None:
    """The step is the first to say a number of the final answer."""
    for match in numbers_in(view.trace.final_text):
        number = match.group()
        quote = view.trace.locate(step, number, "content", "arguments")
        if quote and _first_number(view, step, number):
            answer = "final answer" if view.trajectory.final_output else "team's last words"
            return Said(f"It is the first to say {number}, a number of the {answer}.", quote)
    return None


def first_new_number(view: View, step: int) -> Said | None:
    """The step brings in a number that neither the task nor an earlier step has."""
    for passage in view.trace.passages(step, "content", "arguments"):
        for match in list(numbers_in(passage.prose))[:40]:
            if len(match.group()) >= 2 and _first_number(view, step, match.group()):
                quote = passage.quote_at(match.start(), match.end())
                return Said(f"It is the first to bring in the number {match.group()}.", quote)
    return None


def leaves_task_words_out(view: View, step: int) -> Said | None:
    """The first act leaves words of the task out."""
    if view.steps[step].kind is not StepKind.MESSAGE:
        return None  # of a call or a hand-over nobody expects the words of the task
    own = texts_of(view, step)
    task = view.trajectory.task.casefold()
    left = [word for word in _in_order(view.task_words, task) if word not in own]
    if not left or len(view.task_words) < _LEAST_TASK or len(left) * 2 < len(view.task_words):
        return None
    return Said(f"It is the first act of the team and leaves out words of the task: {words_listed(left, _MOST_WORDS)}.")


def is_bare(view: View, step: int) -> bool:
    """Whether a step has no code and no tool call and does not follow a report."""
    follows = step > 0 and view.is_report[step - 1]
    return not (view.texts[step].code or view.steps[step].tool_calls or follows)


def _named(text: str) -> list[str]:
    """Specific numbers and names of several words that a text states, each once, as written there."""
    numbers = [value for value, _, _ in asserted_numbers(text)]
    names = (match.group() for match in _NAMES.finditer(text) if not _LOOSE.search(match.group()))
    return list(dict.fromkeys([*numbers, *names]))


def _in_order(words: set[str], text: str) -> list[str]:
    return sorted((word for word in words if stands_in(text, word)), key=text.find)


def _first_number(view: View, step: int, number: str) -> bool:
    if find_value(view.trajectory.task, number) >= 0:
        return False
    return all(view.trace.locate(earlier, number) is None for earlier in range(step))


def _said_before(view: View, step: int, value: str) -> bool:
    earlier = (view.trajectory.task.casefold(), *(texts_of(view, index) for index in range(step)))
    return any(value in text for text in earlier)


def _unsaid(view: View, step: int, words: Sequence[str]) -> list[str]:
    """Those of ``words`` that stand neither in the task nor in an earlier step, not even inside another word."""
    left = [word for word in words if word.casefold() not in view.trajectory.task.casefold()]
    for index in range(step):
        if not left:
            break
        text = texts_of(view, index)
        left = [word for word in left if word.casefold() not in text]
    return left


def _quoted(view: View, step: int, word: str) -> str | None:
    having = [passage for passage in view.trace.passages(step) if word in passage.raw]
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    for passage in having:
        match = pattern.search(passage.raw)
        if match is not None:
            return passage.quote_raw(match.start(), match.end())
    return None


def _folded(value: str) -> str:
    return " ".join(value.casefold().split())
