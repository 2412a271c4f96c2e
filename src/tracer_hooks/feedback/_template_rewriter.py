"""Prompt rewriting without a language model: one short lesson per error mode."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from jinja2 import Environment, StrictUndefined

from tracer_hooks.errors import ConfigError
from tracer_hooks.feedback._lessons import FRAME, LESSONS, UNKNOWN_MODE
from tracer_hooks.feedback._rewrite import PromptRewrite
from tracer_hooks.feedback._secrets import Secrets
from tracer_hooks.schema import Attribution, Evidence, Trajectory

BEGIN = "[tracer-hooks: lesson from a failed run]"
END = "[end of the lesson]"
_BLOCK = re.compile(rf"\s*{re.escape(BEGIN)}.*?(?:{re.escape(END)}|\Z)", re.DOTALL)
_ENVIRONMENT = Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True)
_FRAME = _ENVIRONMENT.from_string(FRAME)
_MIN_LENGTH = 700
_MAX_QUOTE = 200
_MAX_QUOTES = 2
_MIN_QUOTE = 3


class TemplateRewriter:
    """Adds the lesson of the diagnosed error mode, with the passages that show the error, to the agent's prompt.

    The lesson stands in a marked block at the end. A later rewrite replaces the block, so that prompts do not grow from
    retry to retry. Curly braces in quotations are replaced, since CrewAI and LangChain fill in ``{names}`` in prompts.

    Args:
        max_added: Most characters that the block may have; 700 at least, which holds any lesson without quotations.
        now: Clock for ``created_at``.
    """

    name = "template"

    def __init__(self, *, max_added: int = 1_200, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        if max_added < _MIN_LENGTH:
            raise ConfigError(f"max_added is {max_added!r}, expected {_MIN_LENGTH} or more characters")
        self._max_added = max_added
        self._now = now

    def rewrite(
        self, trajectory: Trajectory, attribution: Attribution, instructions: str | None
    ) -> PromptRewrite | None:
        """Propose a prompt; see :class:`~tracer_hooks.feedback.Rewriter`."""
        agent = attribution.agent
        if attribution.abstained or agent is None or agent not in trajectory.agent_names:
            return None
        before = instructions if instructions is not None else _known_instructions(trajectory, agent)
        kept = _safe_evidence(trajectory, attribution)
        block = self._block(attribution, kept)
        rest = without_lesson(before)
        return PromptRewrite(
            agent=agent,
            before=before,
            after=f"{rest}\n\n{block}" if rest.strip() else block,
            error_mode=attribution.error_mode,
            reason=_reason(attribution),
            evidence=kept,
            rewriter=f"{self.name}/1",
            created_at=self._now(),
        )

    def _block(self, attribution: Attribution, evidence: Sequence[Evidence]) -> str:
        """The lesson with as many quotations as there is room for."""
        mode = attribution.error_mode
        lesson = LESSONS[mode] if mode is not None else UNKNOWN_MODE
        quotes = list(dict.fromkeys(_for_prompt(one.quote) for one in evidence))[:_MAX_QUOTES]
        while True:
            block = _FRAME.render(begin=BEGIN, end=END, lesson=lesson, quotes=quotes)
            if len(block) <= self._max_added or not quotes:
                return block
            quotes.pop()


def without_lesson(instructions: str) -> str:
    """A prompt without the block that :class:`TemplateRewriter` added; unchanged when there is none."""
    return _BLOCK.sub("", instructions) if BEGIN in instructions else instructions


def _known_instructions(trajectory: Trajectory, agent: str) -> str:
    return next((spec.instructions or "" for spec in trajectory.agents if spec.name == agent), "")


def _safe_evidence(trajectory: Trajectory, attribution: Attribution) -> tuple[Evidence, ...]:
    """The passages of the blamed step that stand in the trajectory and do not hold the expected answer."""
    secrets = Secrets(trajectory)
    return tuple(
        one
        for one in attribution.evidence
        if one.step == attribution.step
        and len(one.quote.strip()) >= _MIN_QUOTE
        and not secrets.are_in(one.quote)
        and not secrets.are_in(_for_prompt(one.quote))
    )


def _for_prompt(quote: str) -> str:
    """A passage as it may stand in a prompt: on one line, short, without template syntax or our own markers."""
    plain = " ".join(quote.replace(BEGIN, "").replace(END, "").split())
    plain = plain.translate(str.maketrans("{}«»", '()""'))
    return plain if len(plain) <= _MAX_QUOTE else plain[: _MAX_QUOTE - 1].rstrip() + "…"


def _reason(attribution: Attribution) -> str:
    mode = attribution.error_mode
    what = f"{mode.value} ({mode.title})" if mode is not None else "an error of no known mode"
    return f"{attribution.agent!r} is blamed for {what} at step {attribution.step}"
