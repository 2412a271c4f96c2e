"""A trajectory made ready to be looked at: roles, passages, who acts when, and what is known of its outcome."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._reading._answer import FinalAnswer, KnownOutcome, answer_in, read_outcome
from tracer_hooks.diagnosis._reading._roles import Role, roles_of
from tracer_hooks.diagnosis._reading._text import StepPassage, find_value, number_set, passages_of
from tracer_hooks.schema import StepKind, Trajectory
from tracer_hooks.values import TextReader

EXACT_STEPS = 400
"""Steps of a run up to which every step may be compared with every other. In a longer one that would cost time by the
square of its length, so there it is done for steps that stand near each other, or by what is looked up in a table."""
_TEXT_BUDGET = 600_000
"""Characters of one trajectory that patterns are matched against, so that size does not cost time."""
_LONG_BUDGET = 1_600_000
"""The same for a run of more than :data:`EXACT_STEPS` steps."""
_LEAST, _MOST = 2_000, 20_000
"""Characters of one text that are read, at least and at most: half from its head, half from its tail."""
_LEAST_OF_LONG = 400
"""The same, at least, in a run of more than :data:`EXACT_STEPS` steps."""
_TERMINATE_ONLY = re.compile(
    r"\W*(?:TERMINATE|DONE|STOP|END|FINISH(?:ED)?|APPROVED?|OK(?:AY)?|THANKS?|THANK YOU)\W*", re.I
)
_FIRST_WORDS = re.compile(r"^(?![ \t]*(?:```|~~~))[^\w\n]*(\w)", re.MULTILINE)


def says_something(content: str) -> bool:
    """Tell whether a message is more than a sign-off such as "TERMINATE"."""
    return bool(content.strip()) and _TERMINATE_ONLY.fullmatch(content) is None


def text_limit(steps: int) -> int:
    """Characters that are read of one text of a run of so many steps."""
    if steps > EXACT_STEPS:
        return max(_LEAST_OF_LONG, min(_LEAST, _LONG_BUDGET // steps))
    return max(_LEAST, min(_MOST, _TEXT_BUDGET // max(1, steps)))


class RunReading:
    """The one reading of a run that findings and ranking share: roles, passages, values, answer, outcome."""

    def __init__(self, trajectory: Trajectory, reference: str | None = None) -> None:
        self.trajectory = trajectory
        self.reference = reference
        self.steps = trajectory.steps
        self.roles = roles_of(trajectory)
        self.reader = TextReader()
        """For whoever reads quantities and calculations in the run's texts."""
        self._briefs: dict[int, bool] = {}
        self.limit = text_limit(len(self.steps))
        """Characters of one text that patterns are matched against: of a longer one its head and its tail."""
        self._passages = [list(passages_of(step, self.limit)) for step in self.steps]

    def passages(self, step: int, *parts: str) -> Iterator[StepPassage]:
        """The texts of a step; all of them, or those of the named parts."""
        return (one for one in self._passages[step] if not parts or one.part in parts)

    def content(self, step: int) -> StepPassage | None:
        """The agent's own words in a step; None when it wrote nothing."""
        texts = self._passages[step]  # an agent's own words come first
        return texts[0] if texts and texts[0].part == "content" else None

    def prose(self, step: int) -> str:
        """The agent's own words without code and JSON keys; may be empty."""
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
        """The first sentence of a step that has a letter or a digit and is no code fence."""
        for passage in self._passages[step]:
            match = _FIRST_WORDS.search(passage.raw)
            if match is not None:
                return passage.quote_raw(match.start(1), match.start(1) + 1) or None
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
    def answer(self) -> FinalAnswer:
        """The run's answer alone, without what is said around it or glued to it."""
        return answer_in(self.final_text)

    @cached_property
    def known_outcome(self) -> KnownOutcome:
        """The wrong and the expected values, from the check's reason and the reference."""
        return read_outcome(self)

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
        """Tell whether a step only hands the task on, word for word, so that there is nothing yet to go wrong."""
        known = self._briefs.get(step)
        if known is None:
            known = self._briefs[step] = self._hands_on(self.steps[step].content)
        return known

    def _hands_on(self, content: str) -> bool:
        task = self._task_begins
        if len(task) < 40 or len(content) <= len(task) + 200 or max(task.split(), key=len) not in content:
            return False
        text = " ".join(content[:20_000].split())
        return task in text and len(text) > len(task) + 200

    @cached_property
    def _task_begins(self) -> str:
        return " ".join(self.trajectory.task.split())[:200]

    def author_before(self, step: int) -> int | None:
        """Whose code or call a report at ``step`` is about: the nearest agent step with code, else the nearest one."""
        end = bisect_left(self.acts, step)
        for index in reversed(self.acts[max(0, end - 3) : end]):
            if "```" in self.steps[index].content or self.steps[index].tool_calls:
                return index
        return self.acts[end - 1] if end else None

    def consumers(self, step: int) -> Sequence[int]:
        """Later steps that were shown the output of ``step``, as recorded in their inputs."""
        return self._readers.get(step, ())

    @cached_property
    def _readers(self) -> dict[int, list[int]]:
        readers: dict[int, list[int]] = defaultdict(list)
        for later in self.steps:
            for shown in {one.step for one in later.inputs if one.step is not None and one.step < later.index}:
                readers[shown].append(later.index)
        return dict(readers)

    def next_act(self, step: int, *, agent: str | None = None) -> int | None:
        """The next step of the team after ``step``, or of one agent in it."""
        acts = self.acts if agent is None else self._acts_of.get(agent, [])
        place = bisect_right(acts, step)
        return acts[place] if place < len(acts) else None

    @cached_property
    def _acts_of(self) -> dict[str, list[int]]:
        acts: dict[str, list[int]] = defaultdict(list)
        for index in self.acts:
            acts[self.steps[index].agent].append(index)
        return dict(acts)
