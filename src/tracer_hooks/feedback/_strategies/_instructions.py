"""New instructions for one agent, with a lesson that needs no language model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jinja2 import Environment, StrictUndefined

from tracer_hooks.errors import ConfigError
from tracer_hooks.feedback._lessons import FRAME, LESSONS, UNKNOWN_MODE
from tracer_hooks.feedback._strategies._lesson_block import BEGIN, END, format_rule_at, with_block, without_lesson
from tracer_hooks.repairs import Failure, Repair, RepairTarget, error_mode_at, for_prompt
from tracer_hooks.schema import ErrorMode, Evidence

_FRAME = Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True).from_string(
    FRAME
)
_MIN_LENGTH = 700
_MAX_QUOTE = 200
_MAX_QUOTES = 2
_MIN_QUOTE = 3
_FENCE = re.compile(r"[`~]{3,}[\w+-]*")
_KEEP_THE_FORM = "Reply in the form that is asked for."


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
        """See :class:`~tracer_hooks.repairs.RepairStrategy`."""
        agent = failure.agent if step is None else failure.agent_at(step)
        present = failure.instructions(agent) if agent is not None else None
        if agent is None or present is None:
            return None
        at = failure.step if step is None else step
        before = without_lesson(present)
        mode = error_mode_at(failure, at)
        block = self._block(mode, _findings(failure, at), is_short=format_rule_at(before) is not None)
        what = f"{mode.value} ({mode.title})" if mode is not None else "an error of no known mode"
        return Repair(
            strategy=self.name,
            target=RepairTarget.INSTRUCTIONS,
            agent=agent,
            text=with_block(before, block),
            resume_from=step,
            reason=f"{agent!r} is given a lesson on {what}",
        )

    def _block(self, mode: ErrorMode | None, findings: Sequence[Evidence], *, is_short: bool) -> str:
        """The lesson with as many passages as there is room for."""
        lesson = LESSONS[mode] if mode is not None else UNKNOWN_MODE
        if is_short:
            lesson = f"{lesson.partition('. ')[0].rstrip('.')}. {_KEEP_THE_FORM}"
        quotes = list(dict.fromkeys(_told(one) for one in findings))[:_MAX_QUOTES]
        while True:
            block = _FRAME.render(begin=BEGIN, end=END, lesson=lesson, quotes=quotes)
            if len(block) <= self._max_added or not quotes:
                return block
            quotes.pop()


def _findings(failure: Failure, step: int | None) -> list[Evidence]:
    """The passages of the step that show an error and can be read; a mere sign, or a fence, is none."""
    evidence = failure.attribution.evidence if failure.attribution is not None else ()
    return [one for one in evidence if one.step == step and one.kind != "sign" and _is_readable(one.quote.strip())]


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
