"""Observations about a step that sentences are made of: what came around it, its words, answers and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from tracer_hooks.diagnosis._features import View
from tracer_hooks.diagnosis._features._language import EMPTY_HANDED, OBJECTS
from tracer_hooks.diagnosis._features._work import LOOP, NO_PROGRESS, STALLED
from tracer_hooks.diagnosis._reading._text import StepPassage, code_spans, find_value, numbers_in
from tracer_hooks.diagnosis._rules._errors import ERROR_MARKER, first_code_line, line_at_fault, marker_in
from tracer_hooks.diagnosis._rules._signal import Family
from tracer_hooks.diagnosis._rules._specific import asserted_numbers, new_numbers
from tracer_hooks.diagnosis._wording import one_line, words_listed
from tracer_hooks.schema import StepKind

_OWN = ("content", "arguments")
_MOST_BLOCKS = 20
_LONGEST_BLOCK = 20_000
_WORDS_SHOWN = 60


class Said(NamedTuple):
    """A true sentence about a step."""

    text: str
    quote: str = ""
    """The passage that bears it out; empty when no single one does."""
    about: int | None = None
    """The step that the sentence is about, where it is not the named one."""


Teller = Callable[[View, int], Said | None]
"""Puts a feature of a step into words; None when the text of the step does not bear the sentence out."""


@dataclass(frozen=True, slots=True)
class FeatureSentence:
    """How one feature is told."""

    tell: Teller
    covered_by: tuple[Family, ...] = ()
    """Rules whose own sentence on the same step says as much."""
    is_place: bool = False
    """Whether it tells only where the step stands, which is no finding."""


def plain(text: str) -> Teller:
    """A sentence that the feature alone makes true; ``{agent}`` becomes the speaker."""
    return lambda view, step: Said(text.format(agent=repr(view.agents[step])))


def words(text: str, pattern: re.Pattern[str], *, parts: tuple[str, ...] = _OWN) -> Teller:
    """A sentence with the matched words at ``{words}``, and the passage that they stand in; code is passed over."""

    def tell(view: View, step: int) -> Said | None:
        for passage in view.trace.passages(step, *parts):
            match = pattern.search(passage.prose)
            if match is not None and match.group().strip():
                return Said(text.format(words=shown(match.group())), passage.quote_at(match.start(), match.end()))
        return None

    return tell


def code_words(text: str, pattern: re.Pattern[str]) -> Teller:
    """The same for words in fenced code."""

    def tell(view: View, step: int) -> Said | None:
        for passage, start, end in code_blocks(view, step):
            match = pattern.search(passage.raw, start, end)
            if match is not None and match.group().strip():
                return Said(text.format(words=shown(match.group())), passage.quote_raw(match.start(), match.end()))
        return None

    return tell


def shown(found: str) -> str:
    """Words of the run inside a sentence."""
    return repr(one_line(found, _WORDS_SHOWN))


def code_blocks(view: View, step: int) -> Iterator[tuple[StepPassage, int, int]]:
    """Where fenced code stands in what a step says."""
    for passage in view.trace.passages(step, *_OWN):
        for start, end in islice(code_spans(passage.raw), _MOST_BLOCKS):
            yield passage, start, min(end, start + _LONGEST_BLOCK)


def has_code(view: View, step: int) -> bool:
    """Tell whether fenced code stands anywhere in what a step says."""
    return any("```" in passage.raw for passage in view.trace.passages(step, *_OWN))


def texts_of(view: View, step: int) -> str:
    """Everything that stands in a step, in lower case."""
    return "\n".join(passage.raw for passage in view.trace.passages(step)).casefold()


def stands_in(text: str, word: str) -> bool:
    """Tell whether ``word`` stands in ``text`` by itself; both in lower case."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


_SAME_WORDS = 0.5
"""Share of words that two requests must have in common to be much the same."""
_NO_CODE = re.compile(r"there is no code|no code (?:block|from)|nothing to execute", re.IGNORECASE)
_HEAD = 4_000


def error_follows(view: View, step: int) -> Said | None:
    """The step fails, or the machine reports an error right after it."""
    record = view.steps[step]
    if record.failed_tools:
        call = record.failed_tools[0]
        return Said(f"The tool {call.name!r} that it calls fails.", view.trace.locate(step, call.error or "") or "")
    if record.error is not None or record.kind is StepKind.ERROR:
        return Said("An error is raised in this step.", marker_in(view.trace, step) or "")
    marker = marker_in(view.trace, step + 1) if step + 1 < view.count and view.is_report[step + 1] else None
    if marker is None:
        return None
    text = f"Right after it, {view.agents[step + 1]!r} reports an error in step {step + 1}: {shown(marker)}."
    return Said(text, line_at_fault(view.trace, step, step + 1) or "")


def error_before(view: View, step: int) -> Said | None:
    """The step before failed or printed an error."""
    if step == 0 or not _troubled(view, step - 1):
        return None
    return Said(f"The step before, by {view.agents[step - 1]!r}, failed or shows an error.")


def repairs(view: View, step: int) -> Said | None:
    """New code right after an error."""
    if step == 0 or not _troubled(view, step - 1) or not has_code(view, step):
        return None
    return Said(f"It writes code right after an error in step {step - 1}.", first_code_line(view.trace, step) or "")


def ran_well(view: View, step: int) -> Said | None:
    """The step's code ran without an error."""
    if step + 1 >= view.count or not view.is_report[step + 1] or marker_in(view.trace, step + 1):
        return None
    runner = view.agents[step + 1]
    return Said(
        f"Right after its code, {runner!r} reports no error in step {step + 1}.",
        first_code_line(view.trace, step) or "",
    )


def empty_follows(view: View, step: int) -> Said | None:
    """The next step comes back empty-handed."""
    return _next_says(view, step, EMPTY_HANDED, "speaks of something missing, not found or not possible")


def no_code_follows(view: View, step: int) -> Said | None:
    """The next step finds no code to run."""
    return _next_says(view, step, _NO_CODE, "finds no code to run")


def objected_to(view: View, step: int) -> Said | None:
    """The next speaker objects."""
    following = next((j for j in view.acts if j > step and view.agents[j] != view.agents[step]), None)
    if following is None:
        return None
    match = OBJECTS.search(view.trace.prose(following))
    if match is None:
        return None
    speaker = view.agents[following]
    found = shown(match.group())
    return Said(f"{speaker!r}, who speaks next, uses words of objection or correction in step {following}: {found}.")


def leader_disappointed(view: View, step: int) -> Said | None:
    """The leader finds that the work goes in a circle or nowhere."""
    following = next((j for j in range(step + 1, min(view.count, step + 4)) if not view.is_routing[j]), None)
    if following is None or view.agents[following] not in view.planners:
        return None
    head = view.steps[following].content[:_HEAD]
    if not any(pattern.search(head) for pattern in (LOOP, NO_PROGRESS, STALLED)):
        return None
    quote = next(
        (found for pattern in (STALLED, LOOP, NO_PROGRESS) if (found := _raw_quote(view, following, pattern))), ""
    )
    return Said(f"Right after step {step}, it writes of a loop, of no progress or of planning anew.", quote, following)


def asked_again(view: View, step: int) -> Said | None:
    """The request before this reply is made again after it."""
    asked = [i for i in range(view.count) if view.steps[i].recipient is not None and not view.is_routing[i]]
    before = next((i for i in reversed(asked) if i < step), None)
    after = next((i for i in asked if i > step), None)
    if before is None or after is None or _shared(view, before, after) < _SAME_WORDS:
        return None
    text = f"It asks again, in much the same words, for what step {before} asked for, after the reply in step {step}."
    return Said(text, view.trace.first_words(after) or "", after)


def answers_hand_off(view: View, step: int) -> Said | None:
    """The step answers a hand-off."""
    giver = next((i for i in range(step - 1, -1, -1) if view.steps[i].recipient == view.agents[step]), None)
    if giver is None:
        return None
    return Said(f"It answers the hand-off by {view.agents[giver]!r} in step {giver}.")


def hands_over(view: View, step: int) -> Said | None:
    """The step hands work to somebody."""
    recipient = view.steps[step].recipient
    return Said(f"It hands the work to {recipient!r}.") if recipient else None


def calls_tools(view: View, step: int) -> Said | None:
    """The step calls tools."""
    names = list(dict.fromkeys(call.name for call in view.steps[step].tool_calls))
    return Said(f"It calls {' and '.join(map(repr, names[:3]))}.") if names else None


def says_again(view: View, step: int) -> Said | None:
    """The step repeats an earlier one."""
    own = " ".join(texts_of(view, step).split())
    if not own:
        return None
    for earlier in range(step):
        if " ".join(texts_of(view, earlier).split()) == own:
            return Said(f"It says the same again as step {earlier}, word for word.", view.trace.first_words(step) or "")
    return None


def says_task_again(view: View, step: int) -> Said | None:
    """The step hands the task on."""
    if view.trace.is_brief(step):
        return Said("It hands the task on word for word.")
    own = texts_of(view, step)
    again = [word for word in view.task_words if stands_in(own, word)]
    if len(again) * 2 <= len(view.task_words):
        return None
    return Said(f"It says {len(again)} of the task's {len(view.task_words)} telling words again.")


def is_short(view: View, step: int) -> Said | None:
    """How short the step is."""
    length = len(view.steps[step].content)
    return Said(f"It is short: {length} characters.") if 0 < length < 120 else None


def first_code(view: View, step: int) -> Said | None:
    """The first code of the run."""
    if not has_code(view, step) or any(has_code(view, earlier) for earlier in range(step)):
        return None
    return Said("This is the first step of the run that contains code.", first_code_line(view.trace, step) or "")


def last_code(view: View, step: int) -> Said | None:
    """The last code of the run."""
    if not has_code(view, step) or any(has_code(view, later) for later in range(step + 1, view.count)):
        return None
    return Said("This is the last step of the run that contains code.", first_code_line(view.trace, step) or "")


def has_some_code(view: View, step: int) -> Said | None:
    """Code in the step."""
    return Said("It contains code.", first_code_line(view.trace, step) or "") if has_code(view, step) else None


def _next_says(view: View, step: int, pattern: re.Pattern[str], what: str) -> Said | None:
    if step + 1 >= view.count:
        return None
    for passage in view.trace.passages(step + 1):
        match = pattern.search(passage.prose)
        if match is not None:
            return Said(f"The next step, by {view.agents[step + 1]!r}, {what}: {shown(match.group())}.")
    return None


def _raw_quote(view: View, step: int, pattern: re.Pattern[str]) -> str:
    content = view.trace.content(step)
    match = pattern.search(content.raw[:_HEAD]) if content is not None else None
    return content.quote_raw(match.start(), match.end()) if content is not None and match is not None else ""


def _troubled(view: View, step: int) -> bool:
    record = view.steps[step]
    if record.failed_tools or record.error is not None:
        return True
    parts = ("content",) if view.is_report[step] else ("result", "tool error", "error")
    return any(ERROR_MARKER.search(passage.text) for passage in view.trace.passages(step, *parts))


def _shared(view: View, one: int, other: int) -> float:
    first, second = (set(re.findall(r"\w+", view.steps[i].content.casefold())) for i in (one, other))
    return len(first & second) / max(1, len(first | second))


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
    """Tell whether a step has no code and no tool call and does not follow a report."""
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
