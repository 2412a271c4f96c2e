"""New instructions from several diagnosed failures, written by a language model and held to rules."""

from __future__ import annotations

import re
from dataclasses import replace

from tracer_hooks.endpoint import Chat, ask
from tracer_hooks.improvement._edits import Edit, applied, edits_in
from tracer_hooks.improvement._judged_run import JudgedRun
from tracer_hooks.improvement._prompt_writer import PromptCase, WrittenPrompt
from tracer_hooks.improvement._rewrite_request import repeats_the_forms, request
from tracer_hooks.improvement._sentences import plain, sentences_of
from tracer_hooks.improvement._task_values import is_about_a_task
from tracer_hooks.schema import Usage

_GROWTH = 0.6
_LEAST_ROOM = 320
"""Characters that even the shortest instructions may grow by."""
_ANSWERS = 2
"""How often the model is asked: a second time where its first answer cannot be used."""
DECLINED = re.compile(r"^\W*(?:i['\u2019]?m sorry|i am sorry|sorry|i can(?:no|['\u2019])t|as an ai)\b", re.IGNORECASE)


class LLMRewriter:
    """Edits the instructions of an agent so that the failures it is blamed for do not happen again.

    The model sees the instructions sentence by sentence, at least :attr:`fewest_failures` failures that the diagnosis
    lays on the agent, each with the step, the evidence and what the check lets out, and what was tried before. It names
    the mistake, and changes, adds or drops single sentences. Whatever it answers:

    - sentences on the form of the reply stay, and placeholders, markers and names of tools with them;
    - a sentence with values of a single task, or with an expected answer, is left out;
    - instructions may grow to 1.6 times what the team came with (or by 320 characters), however often they are edited:
      then sentences have to be merged;
    - what says nothing new, or was tried before, is refused. The model is then asked once more.

    Args:
        chat: Asks the language model.
        fewest_failures: Failures below which nothing is written.
        most_failures: Failures that are shown at most, those whose diagnosis quotes something first.
    """

    name = "rewriter"
    reads_only_blamed = True

    def __init__(self, chat: Chat, *, fewest_failures: int = 3, most_failures: int = 5) -> None:
        self.fewest_failures = fewest_failures
        self._chat = chat
        self._most_failures = most_failures

    def write(self, case: PromptCase) -> WrittenPrompt:
        """New instructions for the agent of ``case``; see :class:`PromptWriter`."""
        failures = sorted((run for run in case.runs if not run.passed), key=lambda run: not quotes(run))
        if len(failures) < self.fewest_failures:
            return WrittenPrompt(rejected=f"{len(failures)} failures are too few, expected {self.fewest_failures}")
        shown = replace(case, runs=tuple(failures[: self._most_failures]))
        most = most_characters(case.own)
        used, complaint = Usage(), ""
        for _ in range(_ANSWERS):
            said = ask(self._chat, request(shown, most - len(case.instructions), complaint=complaint))
            used += said.usage
            text, complaint = _edited(said.text, shown)
            complaint = complaint or _fault(text, shown, most)
            if not complaint:
                return WrittenPrompt(text=text, usage=used)
        return WrittenPrompt(rejected=complaint, usage=used)


def most_characters(own: str) -> int:
    """How long instructions may become that the team came with as ``own``."""
    return len(own) + max(int(_GROWTH * len(own)), _LEAST_ROOM)


def _edited(answer: str, case: PromptCase) -> tuple[str, str]:
    """The instructions with the edits of an answer, and what is wrong with the answer if there are none."""
    if DECLINED.match(answer):
        return "", "the model declined"
    edits = edits_in(answer)
    if not edits:
        return "", "it holds no line of the asked forms"
    edits = [edit for edit in edits if not repeats_the_forms(edit.text)]
    if not edits:
        return "", "it repeats what it was asked"
    kept = [edit for edit in edits if not _is_about_a_task(edit, case)]
    if not kept:
        return "", "it speaks of single tasks only"
    return applied(case.instructions, kept, case.tools), ""


def _is_about_a_task(edit: Edit, case: PromptCase) -> bool:
    if any(run.secrets.are_in(edit.text) for run in case.runs):
        return True
    runs = [run.trajectory for run in case.runs]
    said = ["\n".join(step.content for step in run.steps) for run in runs]
    return is_about_a_task(edit.text, case.instructions, [run.task for run in runs], said)


def _fault(text: str, case: PromptCase, most: int) -> str:
    """Why the text cannot be used; empty if it can."""
    sentences = _as_compared(text)
    if sentences == _as_compared(case.instructions):
        return "it changes nothing"
    if any(sentences == _as_compared(one.text) for one in case.tried):
        return "it was tried before"
    return f"the instructions have {len(text)} characters then, and {most} are the most" if len(text) > most else ""


def _as_compared(text: str) -> list[str]:
    return [plain(sentence.text) for sentence in sentences_of(text)]


def quotes(run: JudgedRun) -> bool:
    """Whether the diagnosis quotes something from the step that it names."""
    found = run.attribution
    return found is not None and any(one.quote and one.step == found.step for one in found.evidence)
