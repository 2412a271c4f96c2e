"""A trajectory made ready for the rules: roles, passages, and what each agent had seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from tracer_hooks.attribution._reading._numbers import find_value, number_set
from tracer_hooks.attribution._reading._passage import Passage, passages_of
from tracer_hooks.attribution._reading._roles import Role, roles_of
from tracer_hooks.schema import StepKind, Trajectory

_TEXT_BUDGET = 600_000
"""Characters of one trajectory that patterns are matched against, so that size does not cost time."""
_TERMINATE_ONLY = re.compile(
    r"\W*(?:TERMINATE|DONE|STOP|END|FINISH(?:ED)?|APPROVED?|OK(?:AY)?|THANKS?|THANK YOU)\W*", re.I
)


def says_something(content: str) -> bool:
    """Whether a message is more than a sign-off such as "TERMINATE"."""
    return bool(content.strip()) and _TERMINATE_ONLY.fullmatch(content) is None


class Trace:
    """What the rules see of a trajectory."""

    def __init__(self, trajectory: Trajectory, reference: str | None = None) -> None:
        self.trajectory = trajectory
        self.reference = reference
        self.steps = trajectory.steps
        self.roles = roles_of(trajectory)
        self._limit = max(2_000, min(20_000, _TEXT_BUDGET // max(1, len(self.steps))))
        self._passages = [list(passages_of(step, self._limit)) for step in self.steps]

    def passages(self, step: int, *parts: str) -> Iterator[Passage]:
        """The texts of a step; all of them, or those of the named parts."""
        return (one for one in self._passages[step] if not parts or one.part in parts)

    def content(self, step: int) -> Passage | None:
        """What the agent wrote in a step, when it wrote something."""
        return next(self.passages(step, "content"), None)

    def prose(self, step: int) -> str:
        """What the agent wrote without code and JSON keys; may be empty."""
        passage = self.content(step)
        return passage.prose if passage is not None else ""

    def locate(self, step: int, value: str, *parts: str) -> str | None:
        """A quotation around ``value`` in a step; looks through the whole of the text."""
        for passage in self.passages(step, *parts):
            at = find_value(passage.raw, value)
            if at >= 0:
                return passage.quote_raw(at, at + len(value)) or None
        return None

    def first_words(self, step: int) -> str | None:
        """The first sentence of a step, for want of anything better to quote."""
        for passage in self._passages[step]:
            start = len(passage.raw) - len(passage.raw.lstrip())
            if start < len(passage.raw):
                return passage.quote_raw(start, start + 1) or None
        return None

    @cached_property
    def acts(self) -> list[int]:
        """The steps of members of the team: no person and nobody who only reports. All steps when there is no other."""
        own = [step.index for step in self.steps if self.roles[step.index] is Role.AGENT]
        return own or [step.index for step in self.steps]

    @cached_property
    def final_text(self) -> str:
        """The run's answer; the last agent's words when no answer is recorded."""
        if self.trajectory.final_output and self.trajectory.final_output.strip():
            return self.trajectory.final_output[-20_000:]
        speaker = self.last_speaker
        return self.steps[speaker].content[-20_000:] if speaker is not None else ""

    @cached_property
    def last_speaker(self) -> int | None:
        """The last step in which an agent said more than that it is done."""
        for index in reversed(self.acts):
            step = self.steps[index]
            if step.kind is StepKind.HANDOFF and not step.content.strip():
                continue
            if says_something(step.content):
                return index
            if step.tool_calls or step.error:
                return index
        return self.acts[-1] if self.acts else None

    @cached_property
    def task_numbers(self) -> set[str]:
        """The numbers that the task names."""
        given = number_set(self.trajectory.task[:20_000])
        for index, role in enumerate(self.roles):
            if role is Role.PERSON:
                given |= number_set(self.steps[index].content[:20_000])
        return given

    def is_brief(self, step: int) -> bool:
        """Whether a step only hands the task on, word for word, so that there is nothing yet to go wrong."""
        task = " ".join(self.trajectory.task.split())[:200]
        if len(task) < 40:
            return False
        text = " ".join(self.steps[step].content[:20_000].split())
        return task in text and len(text) > len(task) + 200

    def author_before(self, step: int) -> int | None:
        """Whose code or call a report at ``step`` is about: the nearest agent step with code, else the nearest one."""
        before = [index for index in self.acts if index < step]
        for index in reversed(before[-3:]):
            if "```" in self.steps[index].content or self.steps[index].tool_calls:
                return index
        return before[-1] if before else None

    def consumers(self, step: int) -> list[int]:
        """Later steps that were shown the output of ``step``, as recorded in their inputs."""
        return [later.index for later in self.steps[step + 1 :] if any(one.step == step for one in later.inputs)]

    def next_act(self, step: int, *, agent: str | None = None) -> int | None:
        """The next step of the team after ``step``, or of one agent in it."""
        for index in self.acts:
            if index > step and (agent is None or self.steps[index].agent == agent):
                return index
        return None
