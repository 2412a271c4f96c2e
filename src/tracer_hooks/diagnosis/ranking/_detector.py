"""Detection of failed runs of unknown outcome, by what shows in how they were worked on and how they ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import islice, pairwise
from math import exp
from typing import NamedTuple

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._reading._errors import limit_reached
from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import says_something
from tracer_hooks.diagnosis._reading._text import number_set
from tracer_hooks.diagnosis.ranking._language import ENDS, OBJECTS, SKIP, assumption, claims, failure
from tracer_hooks.diagnosis.ranking._signals import DECISIVE, MODERATE, PLACEHOLDER_IN_CODE, Family
from tracer_hooks.diagnosis.ranking._view import Column, View
from tracer_hooks.diagnosis.ranking._work import agreement, repetition, work
from tracer_hooks.schema import RunOutcome, StepKind

_CLOSES = re.compile(r"#{2,}\s*[A-Z]|\bfinal[ _]answer\b", re.IGNORECASE)
_INSTRUCTS = re.compile(r"\W*(?:type\W+text\W+text\W+)?You are (?:an?|the|now|in)\b", re.IGNORECASE)
_LATE = 3


class DetectorReading:
    """Reading of a run for the detector's signs. The outcome of the run is not looked at, even when it is known.

    Args:
        view: The run as the features see it; read again where it knows of an outcome or a reference.
    """

    def __init__(self, view: View) -> None:
        if view.trajectory.outcome is not RunOutcome.UNKNOWN or view.run.reference is not None:
            view = View(view.trajectory.model_copy(update={"outcome": RunOutcome.UNKNOWN, "reference": None}))
        self.view = view
        self.run = view.run
        self.steps = view.steps

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """Features by name, one number for each step."""
        columns: dict[str, Column] = {}
        for group in (failure, assumption, claims, repetition, agreement, work):
            columns.update(self.view.columns(group))
        return columns

    @cached_property
    def telling(self) -> list[int]:
        """The acts that say something: no routing, no instructions, no handing on of the task, no bare sign-off."""
        view = self.view
        return [
            index
            for index in self.run.acts
            if view.is_act[index]
            and not view.is_routing[index]
            and not self.run.is_brief(index)
            and _INSTRUCTS.match(self.steps[index].content) is None
            and (says_something(self.steps[index].content) or self.steps[index].tool_calls or self.steps[index].error)
        ]

    @cached_property
    def first_of_two(self) -> list[int]:
        """The first of the telling acts, and the first by another agent: of any agent, one of them is another's."""
        agents = self.view.agents
        other = (index for index in self.telling if agents[index] != agents[self.telling[0]])
        return [*self.telling[:1], *islice(other, 1)]

    @cached_property
    def late(self) -> list[int]:
        """The last few of them."""
        return self.telling[-_LATE:]

    @cached_property
    def last_step(self) -> int:
        """The last step that holds anything."""
        for step in reversed(self.steps):
            if step.content.strip() or step.tool_calls or step.error or step.recipient:
                return step.index
        return len(self.steps) - 1

    @cached_property
    def person_had_last_word(self) -> bool:
        """Tell whether a person, not the team, spoke last: the run then ended since that person was done."""
        return self.view.roles[self.last_step] is Role.PERSON

    @cached_property
    def has_person(self) -> bool:
        """Tell whether a person takes part beyond setting the task."""
        return any(role is Role.PERSON for role in self.view.roles[1:])

    @cached_property
    def is_closed(self) -> bool:
        """Tell whether somebody declared the end or stated a final answer in the last words of the run."""
        if self.person_had_last_word:
            return True
        texts = [
            self.view.texts[index].said[-2_000:] for index in range(max(0, self.last_step - 1), self.last_step + 1)
        ]
        return any(ENDS.is_in(text.lower()) or _CLOSES.search(text) for text in texts)

    @cached_property
    def machine_words(self) -> list[tuple[int, bool]]:
        """Every report and answered tool call, in order: its step, and whether it tells of a failure."""
        own, found = self.columns["failure: error printed here"], []
        for index, step in enumerate(self.steps):
            if self.view.is_report[index] and step.content.strip():
                found.append((index, own[index] > 0))
            elif step.kind is StepKind.ERROR or step.error is not None:
                found.append((index, True))
            elif any(call.result is not None or call.error is not None for call in step.tool_calls):
                found.append((index, own[index] > 0 or bool(step.failed_tools)))
        return found

    def shows(self, column: str, steps: list[int]) -> list[int]:
        """Those of the steps at which a feature is seen."""
        return [index for index in steps if self.columns[column][index] > 0]

    def strongest(self, *families: Family) -> float:
        """The strongest word of these families of rules, from 0 to 1.

        One that is no more than often at fault counts nothing: passing runs hold it, too.
        """
        heaviest = max((one.weight for one in self.view.signals if one.family in families), default=0.0)
        return min(1.0, max(0.0, heaviest - MODERATE) / (DECISIVE - MODERATE))


_ANNOUNCES = re.compile(
    r"\b(?:(?:i|we)(?:'ll| will| am going to| are going to| need to| should| must) (?:now |then |next |first |also )?"
    r"(?:proceed|start|begin|try|check|look|search|use|run|execute|write|verify|review|continue|analy[sz]e|calculate|find"
    r"|visit|open|navigate|go|attempt|extract|wait|get back|work on|focus)\b"
    r"|let(?:'s| us| me) (?!know)\w+|next steps?\b|(?:i|we)(?:'ll| will) (?:now|next)\b|proceed(?:ing)? (?:to|with)\b)",
    re.IGNORECASE,
)
_DOUBTS = re.compile(
    r"\b(?:(?:may|might) (?:not )?(?:be|have been|contain) (?:\w+ )?(?:accurate|correct|complete|exact|up to date|wrong"
    r"|outdated|errors?)|(?:is|are|was|were|been) (?:only )?(?:an? )?(?:\w+ )?(?:assum(?:ed|ption)|estimates?|guess\w*"
    r"|hypothetical\w*)|not (?:been )?(?:verified|confirmed|checked)|without (?:verif\w+|confirm\w+|access)|unverified"
    r"|please (?:verify|double[- ]check|note that (?:this|these|the))"
    r"|further (?:verification|research|investigation|confirmation)"
    r"|(?:recommend|suggest|advis)\w* (?:\w+ ){0,3}(?:check|verify|consult)\w*|best guess|educated guess"
    r"|based on (?:the )?(?:limited|available|general|typical|my) (?:knowledge|information|data|understanding))\b",
    re.IGNORECASE,
)
_ASKS_FOR_IT = re.compile(
    r"\b(?:assum|suppos|simulat|hypothe|pretend|imagin|estimat|mock|dummy|placeholder)\w*", re.IGNORECASE
)
_UNFINISHED = re.compile(
    r"\b(?:TODO|to be (?:done|completed|determined)|still (?:need|have|has|remain|missing|open|pending)"
    r"|not yet (?:done|complete|available|found|checked)"
    r"|remains? (?:to be|open)|next,? (?:i|we)(?:'ll| will)|(?:i|we)(?:'ll| will) (?:now|then|next"
    r"|proceed|continue|get back)\b(?!\W+(?:\w+\W+){0,2}?(?:end|conclude|terminate|finish|close|stop)\b)"
    r"|could not (?:be )?(?:find|found|determine)"
    r"|unable to (?:find|determine|access|complete|retrieve|provide)|please (?:provide|share|confirm"
    r"|let me know)|need more (?:information|time|data))",
    re.IGNORECASE,
)
_FINAL_CALL = re.compile(r"final_answer\(")
_TAIL = 1_200
_LAST_WORDS = 300
_FEW_WORDS = 5
_MANY_WORDS = 25
_NEAR = 3


def code_not_run(reading: DetectorReading) -> bool:
    """The last act of a team whose code is run is code that nobody ran."""
    if not reading.telling or not reading.view.texts[reading.telling[-1]].code:
        return False
    reports = [index for index in range(len(reading.steps)) if reading.view.is_report[index]]
    return bool(reports) and reports[-1] < reading.telling[-1]


def machine_last(reading: DetectorReading) -> bool:
    """The last words are a machine's, and nobody took them up."""
    last = reading.last_step
    if not reading.view.is_report[last] or reading.is_closed:
        return False
    asked = [index for index in reading.run.acts if last - 2 <= index < last]
    return not any(_FINAL_CALL.search(reading.view.texts[index].said) for index in asked)


def announcement_last(reading: DetectorReading) -> bool:
    """The last words announce work that is not there."""
    if (
        reading.person_had_last_word
        or reading.is_closed
        or not reading.telling
        or reading.telling[-1] != reading.last_step
    ):
        return False
    text = reading.view.texts[reading.last_step]
    return text.answer is None and _ANNOUNCES.search(text.prose.rstrip()[-_LAST_WORDS:]) is not None


def doubted_answer(reading: DetectorReading) -> bool:
    """The last words of the team doubt what they say."""
    return any(_DOUBTS.search(reading.view.texts[index].prose[-2 * _TAIL :]) for index in reading.late[-2:])


def work_left(reading: DetectorReading) -> bool:
    """The last speaker names work that is not done, and no person closed the run after it."""
    speaker = reading.run.last_speaker
    if speaker is None or reading.person_had_last_word:
        return False
    return _UNFINISHED.search(reading.run.prose(speaker)) is not None


def off_the_task(reading: DetectorReading) -> float:
    """The last words, though long, have hardly a word in common with the task."""
    task = reading.view.task_words
    if not reading.telling or len(task) < _FEW_WORDS or reading.has_person:
        return 0.0
    own = set(reading.view.texts[reading.telling[-1]].words)
    if len(own) < _MANY_WORDS:
        return 0.0
    return max(0.0, 1.0 - 5.0 * len(own & task) / len(task))


def empty_handed(reading: DetectorReading) -> float:
    """Acts and reports that found nothing, over all that was done."""
    steps = sorted({*reading.telling, *(index for index, _ in reading.machine_words)})
    return len(reading.shows("failure: empty-handed", steps)) / (len(steps) + 2)


def made_up(reading: DetectorReading) -> float:
    """Assumed, simulated or placeholder data, unless the task asks for it."""
    if _ASKS_FOR_IT.search(reading.view.trajectory.task[:20_000]):
        return 0.0
    assumed = reading.columns["language: assumes or simulates"]
    return _often(
        sum(
            assumed[i] > 0 or PLACEHOLDER_IN_CODE.search(reading.view.texts[i].said) is not None
            for i in reading.telling
        )
    )


def _often(times: int) -> float:
    return min(1.0, (1 + times) / 4) if times else 0.0


def bare_claims(reading: DetectorReading) -> float:
    """Agents say that they have done something, and neither they nor a machine has just shown it."""
    claimed = reading.shows("claims: says that it has done something", reading.telling)
    return min(1.0, sum(not _shown(reading, index) for index in claimed) / 4)


def _shown(reading: DetectorReading, index: int) -> bool:
    near = range(max(0, index - _NEAR), index + 1)
    return any(
        reading.steps[one].tool_calls or reading.view.is_report[one] or reading.view.texts[one].code for one in near
    )


def answers_differ(reading: DetectorReading) -> float:
    """Members of the team end with different answers."""
    last: dict[str, tuple[int, str]] = {}
    for index in reading.telling:
        answer = reading.view.texts[index].answer
        if answer is not None:
            last[reading.view.agents[index]] = (index, answer)
    if len(last) < 2:
        return 0.0
    _, final = max(last.values())
    return sum(not _agree(answer, final) for _, answer in last.values()) / (len(last) - 1)


def _agree(answer: str, other: str) -> bool:
    """Tell whether two stated answers agree: in their numbers when both have some, else in their words."""
    numbers, others = number_set(answer), number_set(other)
    if numbers and others:
        return bool(numbers & others)
    return answer in other or other in answer


def answer_changes(reading: DetectorReading) -> float:
    """Agents go back on answers that they had stated."""
    return min(1.0, len(reading.shows("agreement: changes its own answer", reading.telling)) / 4)


def objection_open(reading: DetectorReading) -> float:
    """The last acts object to what another said, and no act after them puts it right."""
    last = next((index for index in reversed(reading.late[-2:]) if _objects(reading, index)), None)
    return 0.0 if last is None else min(1.0, float(OBJECTS.times_in([reading.view.texts[last].lower]).sum()) / 2)


def objections(reading: DetectorReading) -> float:
    """Acts find fault with what another said, over all acts."""
    return sum(_objects(reading, index) for index in reading.telling) / (len(reading.telling) + 2)


def _objects(reading: DetectorReading, index: int) -> bool:
    if not OBJECTS.is_in(reading.view.texts[index].lower):
        return False
    return any(
        before < index and reading.view.agents[before] != reading.view.agents[index] for before in reading.first_of_two
    )


def no_progress(reading: DetectorReading) -> float:
    """Whoever leads finds that the work goes in a circle or nowhere, or begins anew with the whole task."""
    seen = set(reading.shows("work: the planner is disappointed", list(range(len(reading.steps)))))
    briefs = [
        i for i in reading.run.acts if reading.run.is_brief(i) and reading.view.agents[i] in reading.view.planners
    ]
    seen |= {later for before, later in pairwise(briefs) if later > before + 1}
    return min(1.0, len(seen) / 3)


def shortcuts(reading: DetectorReading) -> float:
    """Acts that leave something out or go round it, over all acts."""
    seen = sum(SKIP.is_in(reading.view.texts[index].lower) for index in reading.telling)
    return seen / (len(reading.telling) + 2)


class FailureSign(NamedTuple):
    """One sign of a failed run."""

    amount: Callable[[DetectorReading], float]
    """How much of it a run shows, from 0 to 1."""
    weight: float
    """Log-odds of a failure at full strength, fitted to runs of known outcome. None is negative, so that no habit of a
    team or a domain can clear a run."""


SIGNS: dict[str, FailureSign] = {
    "ends on code that nobody ran": FailureSign(code_not_run, 2.0005),
    "ends on the words of a machine": FailureSign(machine_last, 2.0068),
    "ends on an announcement": FailureSign(announcement_last, 1.7878),
    "ends with doubt in its answer": FailureSign(doubted_answer, 1.963),
    "ends with work left to do": FailureSign(work_left, 1.4739),
    "ends off the task": FailureSign(off_the_task, 2.1755),
    "was stopped for its length": FailureSign(lambda reading: limit_reached(reading.run), 2.0),
    "an error that was not overcome": FailureSign(
        lambda reading: bool(reading.machine_words) and reading.machine_words[-1][1], 2.0122
    ),
    "empty-handed": FailureSign(empty_handed, 1.9875),
    "made-up data": FailureSign(made_up, 2.0942),
    "claims with nothing to show": FailureSign(bare_claims, 2.3474),
    "the last answers differ": FailureSign(answers_differ, 1.8248),
    "answers change": FailureSign(answer_changes, 1.381),
    "an objection left open": FailureSign(objection_open, 1.7184),
    "objections": FailureSign(objections, 1.5229),
    "leaves something out": FailureSign(shortcuts, 1.9823),
    "no progress, says who leads": FailureSign(no_progress, 2.2701),
    "rules: errors and tools": FailureSign(lambda reading: reading.strongest(Family.ERROR, Family.TOOL), 1.8348),
    "rules: sums and contradictions": FailureSign(
        lambda reading: reading.strongest(Family.ARITHMETIC, Family.CONTRADICTION), 1.9513
    ),
}
"""Each is evidence of a failure in any team, whatever its domain."""
_INTERCEPT = -1.1064
"""Log-odds of a failure when no sign is seen."""
THRESHOLD = 0.6091
"""Probability from which on a run is taken to have failed."""


def amounts_of(view: View) -> dict[str, float]:
    """The amount of every sign in a run, from 0 to 1."""
    if not view.steps:
        return {}
    reading = DetectorReading(view)
    return {name: float(sign.amount(reading)) for name, sign in SIGNS.items()}


def failure_probability(view: View) -> float:
    """Estimate how likely it is that a run failed, when nothing but its steps is known and half of the runs fail.

    Args:
        view: The run as the features see it; its outcome and reference are not looked at.
    """
    log_odds = _INTERCEPT + sum(SIGNS[name].weight * amount for name, amount in amounts_of(view).items())
    return 1.0 / (1.0 + exp(-log_odds))
