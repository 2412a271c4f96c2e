"""What a language model is asked that edits the instructions of an agent."""

from __future__ import annotations

import difflib
import re

from tracer_hooks.improvement._edits import is_fixed
from tracer_hooks.improvement._judged_run import JudgedRun
from tracer_hooks.improvement._prompt_writer import PromptCase, TriedPrompt
from tracer_hooks.improvement._sentences import sentences_of
from tracer_hooks.repairs import Failure, cut, shortened, tools_as_text
from tracer_hooks.schema import Step

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


def request(case: PromptCase, room: int, *, complaint: str = "") -> list[dict[str, str]]:
    """The messages for the model.

    Args:
        case: The agent, and its failures.
        room: How many characters the instructions may grow by.
        complaint: What was wrong with the model's last answer; empty at first.
    """
    failures = [run for run in case.runs if not run.passed]
    others = f" It works together with: {', '.join(case.others)}." if case.others else ""
    parts = [
        f"Instructions of {case.agent}, sentence by sentence:\n{_numbered(case.instructions)}",
        f"{len(failures)} runs of the team failed because of {case.agent}.{others}",
        *(shown_failure(number, run, case.agent) for number, run in enumerate(failures, start=1)),
    ]
    tried = [_tried(one, case.instructions) for one in case.tried[-_MOST_TRIED:]]
    if tried:
        parts.append("Tried before, and it did not help:\n" + "\n".join(tried))
    parts.append(_orders(case.agent, room))
    if complaint:
        parts.append(f"Your last answer could not be used: {complaint}. Write another one.")
    return [{"role": "system", "content": _ROLE}, {"role": "user", "content": "\n\n".join(parts)}]


def _numbered(instructions: str) -> str:
    return "\n".join(
        f"[{number}] {sentence.text}{' (stays as it is)' if is_fixed(sentence.text) else ''}"
        for number, sentence in enumerate(sentences_of(instructions), start=1)
    )


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
    """What the diagnosis quotes from the step; the kind of mistake where it quotes nothing."""
    evidence = failure.attribution.evidence if failure.attribution is not None else ()
    quoted = [one.why for one in evidence if one.step == failure.step and one.quote]
    if quoted:
        return [shortened(quoted[0], _NOTE)]
    return [failure.error_mode.definition] if failure.error_mode is not None else []


def _said(step: Step) -> str:
    return f"{cut(step.content)}{tools_as_text(step)}".strip()


def _tried(tried: TriedPrompt, now: str) -> str:
    old, new = ([sentence.text for sentence in sentences_of(text)] for text in (now, tried.text))
    lines = [line[2:] for line in difflib.ndiff(old, new) if line.startswith("+ ")]
    return f"- {shortened(' '.join(lines), _NOTE)} ({tried.why})"


def _orders(agent: str, room: int) -> str:
    space = f"At most {room} characters." if room > 0 else "There is no room for more: change or drop sentences."
    return (
        f"What should {agent} do in another way, so that it does not make mistakes of this kind again, in any task? "
        f"Write one or two short orders to {agent}, each on a line of its own, without the numbers, names and things "
        f"of these runs. Begin each line with one of:\n{_FORMS}\n{space}"
    )


def repeats_the_forms(text: str) -> bool:
    """Whether a text copies what the request says about its answer, as small models do."""
    words, forms = (re.findall(r"\w+", one.casefold()) for one in (text, _FORMS))
    asked = {tuple(forms[at : at + _ECHO]) for at in range(len(forms) - _ECHO + 1)}
    return any(tuple(words[at : at + _ECHO]) in asked for at in range(len(words) - _ECHO + 1))
