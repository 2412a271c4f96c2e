"""Lessons in an agent's instructions, by error mode, written without a language model.

Each lesson is the smallest instruction that would have prevented the error. None holds a digit: a test checks that the
expected answer, which is often a number, can come from nowhere but a quotation, and quotations are checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracer_hooks.errors import ConfigError
from tracer_hooks.repair._failure import Failure, error_mode_at, for_prompt
from tracer_hooks.repair._repair import Repair, RepairTarget
from tracer_hooks.schema import ErrorMode, Evidence

BEGIN = "[tracer-hooks: lesson from a failed run]"
END = "[end of the lesson]"
_BLOCK = re.compile(rf"\s*{re.escape(BEGIN)}.*?(?:{re.escape(END)}\n*|\Z)", re.DOTALL)
_FORMAT_RULE = re.compile(
    r"\b(?:nothing (?:else|but|more)|no (?:other|further|extra|additional) (?:text|words?|output)|only|just|solely"
    r"|(?:no|without(?: any)?) (?:explanations?|comments?|preamble)|exactly (?:one|two|the)|one (?:line|word|number)"
    r"|(?:in|use) (?:the|this) (?:form(?:at)?|shape)|in the form|as JSON|JSON (?:objects?|arrays?)|must (?:be|end with)"
    r"|(?:end|reply|answer|respond|finish) with)\b",
    re.IGNORECASE,
)
_SENTENCE_START = re.compile(r"\A|(?<=[.!?:])[ \t]+(?=\S)|\n+")
_RECORD = "What was found in that run (a record, not an instruction):"
_MIN_LENGTH = 700
_MAX_QUOTE = 200
_MAX_QUOTES = 2
_MIN_QUOTE = 3
_FENCE = re.compile(r"[`~]{3,}[\w+-]*")
_KEEP_THE_FORM = "Reply in the form that is asked for."

UNKNOWN_MODE = (
    "An earlier run failed at your step. Before you reply, read the task once more, check every fact in your "
    "reply against what you were given, and say plainly what you could not settle."
)

LESSONS: dict[ErrorMode, str] = {
    ErrorMode.FM_1_1: (
        "An earlier run failed because your reply departed from the task. Before you reply, list for yourself "
        "every requirement and constraint of the task, and make sure that your reply meets each of them, in the "
        "form asked for."
    ),
    ErrorMode.FM_1_2: (
        "An earlier run failed because you acted outside your role. Do only what your role is for. Hand over only"
        " to members of the team that exist, by their exact names, and leave their work to them."
    ),
    ErrorMode.FM_1_3: (
        "An earlier run failed because you repeated a step that was already done. Look at what has been done "
        "before you act. If an action brought nothing new, do not repeat it: change the input, take another way, "
        "or report what is missing."
    ),
    ErrorMode.FM_1_4: (
        "An earlier run failed because earlier context was dropped. Go through the whole conversation before you "
        "reply, and build on the latest results and decisions in it, not on an older state."
    ),
    ErrorMode.FM_1_5: (
        "An earlier run failed because you did not recognise the end. As soon as the task is answered, give the "
        "final answer and stop. If no progress is being made, give the best supported answer, say what is open, "
        "and stop."
    ),
    ErrorMode.FM_2_1: (
        "An earlier run failed because the conversation was started over. Never begin again from nothing: go on "
        "from the last result that was reached, and restate it when you take over."
    ),
    ErrorMode.FM_2_2: (
        "An earlier run failed because you went on with missing or assumed information. Never make up, assume or "
        "simulate data, and use no placeholders. Get the information with a tool or ask for it; if it cannot be "
        "had, say so."
    ),
    ErrorMode.FM_2_3: (
        "An earlier run failed because the work strayed from the goal or went to the wrong member of the team. "
        "Keep to the task as it was put. Before you hand over, choose the member whose duties fit the task, and "
        "do not pass work back undone."
    ),
    ErrorMode.FM_2_4: (
        "An earlier run failed because a fact that others needed was held back. Pass on every result, number, "
        "source and doubt that the next agent needs, in full and word for word."
    ),
    ErrorMode.FM_2_5: (
        "An earlier run failed because you disregarded what another agent or a tool had told you. Use the values "
        "that you were given exactly as they are, take up every correction, and if a tool failed, say so instead "
        "of going on as if it had answered."
    ),
    ErrorMode.FM_2_6: (
        "An earlier run failed because what you did or said did not follow from what you had reasoned or "
        "observed. Copy values from tool results exactly, redo every calculation before you give its result, and "
        "check the arguments of each call against the tool's description."
    ),
    ErrorMode.FM_3_1: (
        "An earlier run failed because the work ended too early. Do not stop, and do not declare the task done, "
        "before every part of it has been carried out and the final answer is stated. If something fails, try "
        "another way and report it."
    ),
    ErrorMode.FM_3_2: (
        "An earlier run failed because a needed check was left out. Before you pass on a result, verify it: "
        "recompute it in another way, or compare it with its source or with the tool's output. If it cannot be "
        "verified, say so."
    ),
    ErrorMode.FM_3_3: (
        "An earlier run failed because a check came to the wrong verdict. Check against the task itself, not "
        "against the reply at hand: work the result out on your own first, then compare, and approve only when "
        "the two agree."
    ),
}
"""The lesson of each error mode."""


class RewrittenInstructions:
    """Adds the lesson of the diagnosed error mode, with the passages that show the error, to an agent's instructions.

    It is for the agent of the step, else for the blamed one; None where its instructions are not known. Passages are
    told only where they are findings: a wrong value, an error, a contradiction. Where the instructions say in which
    form to reply, the lesson stands before that and is cut to its first sentence, so that it asks for nothing else.
    Measured, such lessons did not beat a plain retry: this strategy is for those who ask for it.

    Args:
        max_added: Most characters that are added; 700 at least, which holds any lesson without passages.
    """

    name = "instructions"

    def __init__(self, *, max_added: int = 1_200) -> None:
        if max_added < _MIN_LENGTH:
            raise ConfigError(f"max_added is {max_added!r}, expected {_MIN_LENGTH} or more characters")
        self._max_added = max_added

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repair.RepairStrategy`."""
        agent = failure.agent_at(step)
        present = failure.instructions(agent) if agent is not None else None
        if agent is None or present is None:
            return None
        at = failure.step if step is None else step
        before = without_lesson(present)
        mode = error_mode_at(failure, at)
        block = self._block(mode, _findings(failure, at), is_short=_format_rule_at(before) is not None)
        what = f"{mode.value} ({mode.title})" if mode is not None else "an error of no known mode"
        return Repair(
            strategy=self.name,
            target=RepairTarget.INSTRUCTIONS,
            agent=agent,
            text=_with_block(before, block),
            resume_from=step,
            reason=f"{agent!r} is given a lesson on {what}",
        )

    def _block(self, mode: ErrorMode | None, findings: Sequence[Evidence], *, is_short: bool) -> str:
        """The lesson with as many passages as there is room for."""
        lesson = LESSONS[mode] if mode is not None else UNKNOWN_MODE
        if is_short:
            lesson = f"{lesson.partition('. ')[0].rstrip('.')}. {_KEEP_THE_FORM}"
        quotes = list(dict.fromkeys(_told(finding) for finding in findings))[:_MAX_QUOTES]
        while True:
            found = [_RECORD, *(f"- {quote}" for quote in quotes)] if quotes else []
            block = "\n".join((BEGIN, lesson, *found, END))
            if len(block) <= self._max_added or not quotes:
                return block
            quotes.pop()


def _findings(failure: Failure, step: int | None) -> list[Evidence]:
    """The passages of the step that show an error and can be read; a mere sign, or a fence, is none."""
    evidence = failure.attribution.evidence if failure.attribution is not None else ()
    return [item for item in evidence if item.step == step and item.kind != "sign" and _is_readable(item.quote.strip())]


def _is_readable(passage: str) -> bool:
    return len(passage) >= _MIN_QUOTE and any(map(str.isalnum, passage)) and _FENCE.fullmatch(passage) is None


def _told(finding: Evidence) -> str:
    """A finding as the agent reads it: what the diagnosis says, and the passage."""
    passage = f"«{_on_a_line(finding.quote)}»"
    return f"{_on_a_line(finding.why)} {passage}" if finding.why.strip() else passage


def _on_a_line(text: str) -> str:
    """Short, and without our own marks."""
    plain = " ".join(text.replace(BEGIN, "").replace(END, "").split())
    plain = for_prompt(plain).translate(str.maketrans("«»", '""'))
    return plain if len(plain) <= _MAX_QUOTE else plain[: _MAX_QUOTE - 1].rstrip() + "…"


def without_lesson(instructions: str) -> str:
    """Instructions without the block that a lesson was put in; unchanged where there is none."""
    return _BLOCK.sub("\n\n", instructions).strip() if BEGIN in instructions else instructions


def _format_rule_at(instructions: str) -> int | None:
    """Find where the sentence begins that says how to reply, and no other way; None where there is none."""
    found = _FORMAT_RULE.search(instructions)
    if found is None:
        return None
    return max(match.end() for match in _SENTENCE_START.finditer(instructions) if match.end() <= found.start())


def _with_block(instructions: str, block: str) -> str:
    """Instructions with ``block``: before what says how to reply, which keeps the last word, else at the end."""
    at = _format_rule_at(instructions)
    before, after = (instructions, "") if at is None else (instructions[:at], instructions[at:])
    return "\n\n".join(part.strip() for part in (before, block, after) if part.strip())
