"""Rewriting of an agent's prompt by a language model, sentence by sentence, without values of single tasks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from tracer_hooks.endpoint import Chat, ask
from tracer_hooks.improvement._prompt_writer import JudgedRun, PromptCase, TriedPrompt, WrittenPrompt
from tracer_hooks.repair import Failure, cut, shortened, tools_as_text
from tracer_hooks.schema import Step, Usage

_PROTECTED = re.compile(
    r"\{\{?\s*[A-Za-z_][\w.\[\]]*\s*\}?\}"  # {name}, {{ name }}
    r"|%\([A-Za-z_]\w*\)[sdrf]|\$\{[A-Za-z_]\w*\}|\$[a-z_]\w*|<[A-Za-z_][\w-]*>"
    r"|`[^`\n]+`|```\w*|\b[A-Z][A-Z_]{3,}\b:?|\"[\w-]+\"(?=\s*:)"
)
"""Placeholders, and what a program looks for in a reply: a marker in capitals, a fence, a code word, a key of JSON."""
_FORM = re.compile(
    r"\b(?:nothing else|no other|in (?:one|a single|exactly|at most) "
    r"|(?:one|single) (?:line|word|sentence|block|number)"
    r"|format|json|yaml|xml|markdown|begin(?:s|ning)? with|start(?:s|ing)? with|end(?:s|ing)? with"
    r"|(?:reply|respond|answer|return|write|output|give|say) (?:only|just|exactly|with)|only (?:the|a|one|with)"
    r"|examples?:|for example:|e\.g\.:|terminate|must be|do not (?:write|add|explain|use))",
    re.IGNORECASE,
)


def protected_words(text: str, tools: Iterable[str] = ()) -> list[str]:
    """Placeholders, markers, and names of tools, as they stand in ``text``."""
    named = [name for name in tools if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    return [match.group() for match in _PROTECTED.finditer(text)] + named


def states_form(sentence: str) -> bool:
    """Tell whether a sentence says how the reply has to look."""
    return _FORM.search(sentence) is not None


_SENTENCE = re.compile(r"\S.*?(?:[.!?…][\"')\]\u201d\u2019»]*(?=\s|$)|$)", re.MULTILINE)


class Sentence(NamedTuple):
    """A sentence, and where in the text it stands."""

    text: str
    start: int
    end: int


def sentences_of(text: str) -> list[Sentence]:
    """The sentences of ``text``, in order; a line break ends one, too."""
    return [Sentence(match.group(), match.start(), match.end()) for match in _SENTENCE.finditer(text)]


def without_marks(sentence: str) -> str:
    """A sentence as two writings of it are compared: without capitals, spaces and marks around it."""
    return " ".join(sentence.casefold().split()).strip(" .,;:!?-*•\"'")


_CHANGE = re.compile(r"^\W*(?:\d+[.)]\W*)?(?:CHANGE|REPLACE)\W*(\d+)[\]\s:*.)-]+(\S.*)$", re.IGNORECASE)
_ADD = re.compile(r"^\W*(?:\d+[.)]\W*)?ADD\b[\]\s:*.)-]*(\S.*)$", re.IGNORECASE)
_DROP = re.compile(r"^\W*(?:\d+[.)]\W*)?(?:DROP|DELETE|REMOVE)\W*(\d+)", re.IGNORECASE)
_SHORT = 320
_FEW = 3
_STARTS_WITH_ROLE = re.compile(r"^\W*(?:you are|you're|your (?:role|name) is|act as)\b", re.IGNORECASE)
_ALIKE = 0.8
_MARK = re.compile(
    r"(?<=[.!?\"'\u201d»)*\d])[ \t]+(?=(?:\*\*)?(?:CHANGE|REPLACE|DROP|DELETE|REMOVE)\W{0,2}\d+\b|(?:\*\*)?ADD:)"
)
"""The beginning of an edit in the middle of a line."""
_LABEL = re.compile(r"^(?:\[\d+\]|\d+[.)])\s*")


class PromptEdit(NamedTuple):
    """A sentence in the place of the one with this number, from 1, or a new one; without text it is dropped."""

    number: int | None
    text: str


def parse_edits(answer: str) -> list[PromptEdit]:
    """The edits that a model has written, one a line: ``CHANGE 2: ...``, ``ADD: ...``, ``DROP 3``."""
    found = []
    for line in _MARK.sub("\n", answer).splitlines():
        if match := _CHANGE.match(line):
            found.append(PromptEdit(int(match[1]), _bare(match[2])))
        elif match := _DROP.match(line):
            found.append(PromptEdit(int(match[1]), ""))
        elif match := _ADD.match(line):
            found.append(PromptEdit(None, _bare(match[1])))
    found = [edit for edit in found if edit.number is not None or any(sign.isalpha() for sign in edit.text)]
    return found or _as_sentences(answer)


def _as_sentences(answer: str) -> list[PromptEdit]:
    """A short answer without any mark: small models write the sentence and nothing else."""
    sentences = [_bare(sentence.text) for sentence in sentences_of(answer)]
    if len(answer.strip()) > _SHORT or len(sentences) > _FEW:
        return []
    return [PromptEdit(None, sentence) for sentence in sentences if len(sentence.split()) >= _FEW]


def is_fixed(sentence: str) -> bool:
    """Tell whether a sentence may not be edited: it says who the agent is, or how the reply has to look."""
    return _STARTS_WITH_ROLE.match(sentence) is not None or states_form(sentence)


def apply_edits(text: str, edits: Sequence[PromptEdit], tools: Iterable[str] = ()) -> str:
    """``text`` with the edits that may be made of it.

    A fixed sentence stays; one with a placeholder, marker or name of a tool stays unless the new one has it, too. What
    is said already is not added again. New sentences stand before the fixed ones at the end.
    """
    sentences, names = sentences_of(text), tuple(tools)
    new = {place: sentence.text for place, sentence in enumerate(sentences)}
    for edit in edits:
        place = (edit.number or 0) - 1
        old = sentences[place].text if place in new else ""
        if place in new and not is_fixed(old) and all(word in edit.text for word in protected_words(old, names)):
            new[place] = edit.text
    added: list[str] = []
    for edit in edits:
        if edit.number is None and not any(says_the_same(edit.text, known) for known in [*new.values(), *added]):
            added.append(edit.text)
    return _joined(text, sentences, new, added)


def says_the_same(sentence: str, other: str) -> bool:
    """Tell whether nearly all words of a sentence are said by the other one already."""
    words, known = set(without_marks(sentence).split()), set(without_marks(other).split())
    return len(words & known) >= _ALIKE * len(words)


def _joined(text: str, sentences: Sequence[Sentence], new: dict[int, str], added: Sequence[str]) -> str:
    place = len(sentences)
    while place and states_form(sentences[place - 1].text):
        place -= 1
    parts, end = [], 0
    for index, sentence in enumerate(sentences):
        between = text[end : sentence.start]
        if index == place and added:
            parts += [between or " ", " ".join(added)]
            between = between if "\n" in between else " "
        parts += [between, new[index]] if new[index] or "\n" in between else []
        end = sentence.end
    if place == len(sentences) and added:
        parts += ["\n" if "\n" in text.strip() else " ", " ".join(added)]
    return "".join(parts).strip()


def _bare(text: str) -> str:
    """A sentence without the number and the quotation marks that a model put around it."""
    bare = text.replace("(stays as it is)", "").strip().strip('"\u201c\u201d«»`').strip()
    bare = _LABEL.sub("", bare).strip()
    bare = bare[1:-1].strip() if bare[:1] == bare[-1:] == "'" else bare
    return f"{bare}." if bare and bare[-1].isalnum() else bare


_ROLE = (
    "You improve the instructions of one member of a team of assistants, so that it makes fewer mistakes on tasks that "
    "nobody has seen yet."
)
_SHOWN = 500
_NOTE = 200
_MOST_TRIED = 3
_FORMS = (
    "ADD: and a new sentence\n"
    "CHANGE n: and a better sentence in the place of sentence [n]\n"
    "DROP n, for a sentence that does harm"
)
_ECHO = 4
"""So many words in a row are no chance."""


def rewrite_request(case: PromptCase, room: int, *, complaint: str = "") -> list[dict[str, str]]:
    """The messages for the model."""
    agent = case.agent
    numbered = [
        f"[{number}] {sentence.text}{' (stays as it is)' if is_fixed(sentence.text) else ''}"
        for number, sentence in enumerate(sentences_of(case.instructions), start=1)
    ]
    failures = [run for run in case.runs if not run.passed]
    others = f" It works together with: {', '.join(case.others)}." if case.others else ""
    parts = [
        "\n".join([f"Instructions of {agent}, sentence by sentence:", *numbered]),
        f"{len(failures)} runs of the team failed because of {agent}.{others}",
        *(shown_failure(number, run, agent) for number, run in enumerate(failures, start=1)),
    ]
    if case.tried:
        tried = (_tried(prompt, case.instructions) for prompt in case.tried[-_MOST_TRIED:])
        parts.append("\n".join(["Tried before, and it did not help:", *tried]))
    space = f"At most {room} characters." if room > 0 else "There is no room for more: change or drop sentences."
    parts.append(
        f"What should {agent} do in another way, so that it does not make mistakes of this kind again, in any task? "
        f"Write one or two short orders to {agent}, each on a line of its own, without the numbers, names and things "
        f"of these runs. Begin each line with one of:\n{_FORMS}\n{space}"
    )
    if complaint:
        parts.append(f"Your last answer could not be used: {complaint}. Write another one.")
    return [{"role": "system", "content": _ROLE}, {"role": "user", "content": "\n\n".join(parts)}]


def shown_failure(number: int, run: JudgedRun, agent: str) -> str:
    """A failure as far as it concerns the agent: what it was asked, what it said, and why that is wrong."""
    failure = run.failure
    steps = [step for step in failure.trajectory.steps if step.agent == agent]
    blamed = [step for step in steps if step.index == failure.step] or steps[-1:]
    before = [step for step in failure.trajectory.steps if blamed and step.index < blamed[0].index]
    lines = [f"Run {number}. Task: {shortened(failure.trajectory.task, _SHOWN)}"]
    lines += [f"{step.agent} said: {shortened(_said(step), _SHOWN // 2)}" for step in before[-2:]]
    lines += [f"{agent} said: {shortened(_said(step), _SHOWN)}" for step in blamed]
    lines += [f"Wrong: {why}" for why in _reasons(failure)]
    if failure.feedback:
        lines.append(f"Result: {shortened(failure.feedback, _NOTE)}")
    return "\n".join(lines)


def _reasons(failure: Failure) -> list[str]:
    """Reason given with the first quote from the step; the kind of mistake where nothing is quoted."""
    evidence = failure.attribution.evidence if failure.attribution is not None else ()
    quoted = [entry.why for entry in evidence if entry.step == failure.step and entry.quote]
    if quoted:
        return [shortened(quoted[0], _NOTE)]
    return [failure.error_mode.definition] if failure.error_mode is not None else []


def _said(step: Step) -> str:
    return f"{cut(step.content)}{tools_as_text(step)}".strip()


def _tried(tried: TriedPrompt, now: str) -> str:
    old, new = ([sentence.text for sentence in sentences_of(text)] for text in (now, tried.text))
    lines = [line[2:] for line in difflib.ndiff(old, new) if line.startswith("+ ")]
    return f"- {shortened(' '.join(lines), _NOTE)} ({tried.why})"


def repeats_the_forms(text: str) -> bool:
    """Tell whether a text copies what the request says about its answer, as small models do."""
    words, forms = (re.findall(r"\w+", part.casefold()) for part in (text, _FORMS))
    asked = {tuple(forms[at : at + _ECHO]) for at in range(len(forms) - _ECHO + 1)}
    return any(tuple(words[at : at + _ECHO]) in asked for at in range(len(words) - _ECHO + 1))


_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w])")
_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
_WORDS = (
    "All And Are Assume But Calculate Can Compute Consider Count Create Define Determine Does Each Every Find For From "
    "Give Given Has Have How Implement Let List Make One Please Return Say Show Solve Suppose The Then There These "
    "They This Two Use Using What When Where Which While Who Why Will With Write You Your"
)
_FIRST_WORDS = frozenset(_WORDS.split())
"""Words in capitals that are no names: a sentence of a task begins with them."""
_QUOTED = re.compile(r"[\"'\u201c\u2018«`]([^\"'\u201d\u2019»`\n]{3,})[\"'\u201d\u2019»`]")
_POINTING = re.compile(
    r"\b(?:first|second|third|fourth|fifth|sixth|this|that|last|previous|above) "
    r"(?:task|run|example|problem|question)\b",
    re.IGNORECASE,
)
_LONG = 2
"""Digits from which on a number alone shows which task a sentence is about."""


def is_about_a_task(sentence: str, before: str, tasks: Sequence[str], said: Sequence[str] = ()) -> bool:
    """Tell whether a sentence holds values of a task: a long number of it, two short ones, or a name that no other has.

    What stands in the instructions ``before`` is no task's own. Of what was ``said`` in the runs numbers count.
    """
    if _POINTING.search(sentence) and not _POINTING.search(before):
        return True
    marks = [(set(_NUMBER.findall(text)), set[str]()) for text in said]
    for task in tasks:
        others = "\n".join(other for other in tasks if other != task).casefold()
        words = {name for name in _NAME.findall(task) if name not in _FIRST_WORDS}
        words |= {quote.strip() for quote in _QUOTED.findall(task)}
        marks.append((set(_NUMBER.findall(task)), {word for word in words if word.casefold() not in others}))
    return any(_is_about(sentence, before, *of_task) for of_task in marks)


def _is_about(sentence: str, before: str, numbers: set[str], words: set[str]) -> bool:
    found = {number for number in _NUMBER.findall(sentence) if number in numbers and number not in before}
    if len(found) > 1 or any(len(number) >= _LONG for number in found):
        return True
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sentence) and word not in before for word in words)


_GROWTH = 0.6
_LEAST_ROOM = 320
"""Characters that even the shortest instructions may grow by."""
_FEWEST_FAILURES, _MOST_FAILURES = 3, 5
_ANSWERS = 2
"""How often the model is asked: a second time where its first answer cannot be used."""
DECLINED = re.compile(r"^\W*(?:i['\u2019]?m sorry|i am sorry|sorry|i can(?:no|['\u2019])t|as an ai)\b", re.IGNORECASE)


class LLMRewriter:
    """Edits the instructions of an agent so that the failures it is blamed for do not happen again.

    The model sees the instructions sentence by sentence, three to five failures that the diagnosis lays on the agent,
    those with a quotation first, each with the step, the evidence and what the check lets out, and what was tried
    before. It names the mistake, and changes, adds or drops single sentences. Whatever it answers:

    - sentences on the form of the reply stay, and placeholders, markers and names of tools with them;
    - a sentence with values of a single task, or with an expected answer, is left out;
    - instructions may grow to 1.6 times what the team came with (or by 320 characters), however often they are edited:
      then sentences have to be merged;
    - what says nothing new, or was tried before, is refused. The model is then asked once more.

    Args:
        chat: Asks the language model.
    """

    name = "rewriter"
    reads_only_blamed = True

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def write(self, case: PromptCase) -> WrittenPrompt:
        """New instructions for the agent of ``case``; see :class:`PromptWriter`."""
        failures = sorted((run for run in case.runs if not run.passed), key=lambda run: not quotes(run))
        if len(failures) < _FEWEST_FAILURES:
            return WrittenPrompt(rejected=f"{len(failures)} failures are too few, expected {_FEWEST_FAILURES}")
        shown = replace(case, runs=tuple(failures[:_MOST_FAILURES]))
        most = most_characters(case.own)
        used, complaint = Usage(), ""
        for _ in range(_ANSWERS):
            said = ask(self._chat, rewrite_request(shown, most - len(case.instructions), complaint=complaint))
            used += said.usage
            text, complaint = _edited(said.text, shown, most)
            if not complaint:
                return WrittenPrompt(text=text, usage=used)
        return WrittenPrompt(rejected=complaint, usage=used)


def most_characters(own: str) -> int:
    """Return how long instructions may become that the team came with as ``own``."""
    return len(own) + max(int(_GROWTH * len(own)), _LEAST_ROOM)


def _edited(answer: str, case: PromptCase, most: int) -> tuple[str, str]:
    """The instructions with the edits of an answer, and why they cannot be used; empty if they can."""
    if DECLINED.match(answer):
        return "", "the model declined"
    edits = parse_edits(answer)
    if not edits:
        return "", "it holds no line of the asked forms"
    edits = [edit for edit in edits if not repeats_the_forms(edit.text)]
    if not edits:
        return "", "it repeats what it was asked"
    kept = [edit for edit in edits if not _is_about_a_task(edit, case)]
    if not kept:
        return "", "it speaks of single tasks only"
    text = apply_edits(case.instructions, kept, case.tools)
    sentences = _as_compared(text)
    if sentences == _as_compared(case.instructions):
        return "", "it changes nothing"
    if any(sentences == _as_compared(prompt.text) for prompt in case.tried):
        return "", "it was tried before"
    too_long = f"the instructions have {len(text)} characters then, and {most} are the most"
    return text, too_long if len(text) > most else ""


def _is_about_a_task(edit: PromptEdit, case: PromptCase) -> bool:
    if any(run.secrets.are_in(edit.text) for run in case.runs):
        return True
    runs = [run.trajectory for run in case.runs]
    said = ["\n".join(step.content for step in run.steps) for run in runs]
    return is_about_a_task(edit.text, case.instructions, [run.task for run in runs], said)


def _as_compared(text: str) -> list[str]:
    return [without_marks(sentence.text) for sentence in sentences_of(text)]


def quotes(run: JudgedRun) -> bool:
    """Tell whether the diagnosis quotes something from the step that it names."""
    found = run.attribution
    return found is not None and any(entry.quote and entry.step == found.step for entry in found.evidence)
