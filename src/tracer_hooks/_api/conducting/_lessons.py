"""Lessons in a call: which it is drawn to have, how they reach the agents, and what the run says about them.

A lesson comes at the end of the user's last message, in every request of its agent. System messages stay as they are:
measured, single lessons in them did harm.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tracer_hooks import semconv
from tracer_hooks._api.conducting._prompts import fails_on_environment
from tracer_hooks._api.conducting._team_lessons import TeamLessons, team_lessons, warm_up_lessons
from tracer_hooks._guard import guard, warn_once
from tracer_hooks.frameworks import Adapter, Capability, Intervention, ModelRequest
from tracer_hooks.replay import with_message
from tracer_hooks.schema import RunOutcome
from tracer_hooks.store import Lesson, LessonOutcome, RunLesson, fingerprint

if TYPE_CHECKING:
    from tracer_hooks._api.conducting._options import HookOptions
    from tracer_hooks._api.runs import Attempt, Part

_RANDOM = random.SystemRandom()
"""Not the module's own generator: a user may have seeded that."""
MOST_GIVEN = 2
"""Lessons of one agent in one run."""
_INTRO = "From earlier tasks of this kind:"


class LearnedLessons:
    """Draws the lessons of each call of one hooked team, or of one factory's teams.

    Args:
        adapter: The team's adapter.
        options: Where the store is.
    """

    def __init__(self, adapter: Adapter, options: HookOptions) -> None:
        assert options.config.store is not None  # make_options sees to it
        self._adapter = adapter
        self._path = options.config.store.absolute()
        with guard("open the store of lessons"):
            warm_up_lessons(self._path)

    def draw(self, team: str, task: str) -> CallLessons | None:
        """The lessons of one call; None where there is none for its task.

        Args:
            team: The team's name.
            task: What it is asked to do.
        """
        if Capability.INTERVENE_MODEL not in self._adapter.capabilities:
            warn_once(
                f"no lessons for {self._adapter.name}",
                "tracer-hooks cannot give lessons: the adapter %r cannot change what a model is asked",
                self._adapter.name,
            )
            return None
        lessons = team_lessons(self._path, fingerprint(self._adapter.name, team))
        # Which are in question is settled before any is drawn: else a draw would say something about the others.
        near = lessons.near(task, MOST_GIVEN)
        drawn = [(one, lessons.share(one)) for one in near]
        return CallLessons(lessons, [(one, share, _RANDOM.random() < share) for one, share in drawn]) if near else None


class GivenLessons(Intervention):
    """Gives the agents of one run their lessons.

    Args:
        texts: Lessons by agent.
        watched: Agents whose requests are noted as well, since they go without a lesson.
    """

    changes_replies = False

    def __init__(self, texts: Mapping[str, Sequence[str]], watched: Iterable[str] = ()) -> None:
        self._texts = texts
        self._watched = frozenset((*texts, *watched))
        self.reached: set[str] = set()
        """The agents that were asked something which a lesson could stand in, whether it does or not."""

    def before_model(self, request: ModelRequest) -> ModelRequest | None:
        if request.agent not in self._watched or not any(one.get("role") == "user" for one in request.messages):
            return None
        self.reached.add(request.agent)
        texts = self._texts.get(request.agent)
        changed = with_message(request, "\n".join([_INTRO, *texts])) if texts else None
        # Not covert: the record, by which a retry finds the steps that it keeps, shows what the model was asked.
        return replace(changed, covert=request.covert) if changed is not None else None


class CallLessons:
    """The lessons of one call: of its first attempt and of all others.

    Args:
        lessons: Of the team.
        drawn: Those for the task, with the share of runs that are given each, and whether this one is.
    """

    def __init__(self, lessons: TeamLessons, drawn: Sequence[tuple[Lesson, float, bool]]) -> None:
        self._lessons = lessons
        self._drawn = [
            RunLesson(number=one.number, agent=one.agent, given=given, share=share, period=one.period)
            for one, share, given in drawn
        ]
        self._texts = texts_by_agent(one for one, _, given in drawn if given)
        self._going: GivenLessons | None = None

    def begin(self) -> GivenLessons:
        """What gives the agents of the next attempt their lessons."""
        self._going = GivenLessons(self._texts, (one.agent for one in self._drawn))
        return self._going

    def used(self) -> tuple[RunLesson, ...]:
        """The lessons of the attempt that ends: those whose agents were asked something."""
        going = self._going
        return tuple(one for one in self._drawn if going is not None and one.agent in going.reached)

    def again(self) -> Intervention | None:
        """The same for a replay of the call."""
        return GivenLessons(self._texts) if self._texts else None

    def counted(self, attempt: Attempt) -> list[Part]:
        """What counts the first attempt for its lessons; nothing where no check or expected answer decided on it."""
        parts: list[Part] = []
        if attempt.outcome is RunOutcome.UNKNOWN or fails_on_environment(attempt):
            return parts
        for one in attempt.lessons:
            outcome = LessonOutcome(
                run_id=attempt.trajectory.run_id,
                period=one.period,
                given=one.given,
                passed=attempt.outcome is RunOutcome.SUCCEEDED,
                share=one.share,
                counted_at=datetime.now(UTC),
            )
            parts.append(self._lessons.counting(one.number, outcome))
        return parts


def texts_by_agent(lessons: Iterable[Lesson]) -> dict[str, list[str]]:
    """What each agent is given."""
    texts: dict[str, list[str]] = {}
    for one in lessons:
        texts.setdefault(one.agent, []).append(one.text)
    return texts


def lesson_attributes(used: Sequence[RunLesson]) -> dict[str, object]:
    """What the span of a run says of its lessons; no text."""
    given, left_out = ([one.number for one in used if one.given is arm] for arm in (True, False))
    named = {semconv.LESSONS_GIVEN: given, semconv.LESSONS_LEFT_OUT: left_out}
    return {key: numbers for key, numbers in named.items() if numbers}
