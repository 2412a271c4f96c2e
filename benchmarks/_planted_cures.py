"""Teams that fail for a reason of which it is known what cures it: the scripts, and the case that they play."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from _provenance_cases import Case, Part

from tracer_hooks.schema import Attribution, Candidate, Trajectory
from tracer_hooks.testing import Rule, ScriptedRequest, When

HINT = "the delivery fee is missing"
"""What the check says, and what the cured agent has to be told."""
_NAMES = ("reader", "planner", "buyer", "solver", "checker", "writer", "editor")
_TOPICS = ("tickets", "chairs", "books", "lamps", "stamps", "boxes", "pots", "bricks")


class Cure(StrEnum):
    """What makes the run pass."""

    RESAMPLING = "resampling"
    """The agent is right when it is asked again; each agent before it is right only every other time, so that a run
    from scratch is likely to fail at another step."""
    FEEDBACK = "feedback"
    """The agent is right once it is told what the check says."""
    INSTRUCTIONS = "instructions"
    """The agent is right once its instructions hold a lesson."""
    NONE = "none"
    """Nothing helps."""


@dataclass(frozen=True)
class PlantedCase:
    """One failing team."""

    number: int
    cure: Cure
    agents: tuple[str, ...]
    guilty: int
    """Position of the agent that errs."""
    task: str
    right: str
    """What the answer has to hold; it is in no text of the team's but the cured one."""
    blamed: int
    """Position of the agent that the diagnosis names first."""
    confidence: float

    @property
    def case(self) -> Case:
        """The team, for whatever builds teams in a framework."""
        parts = tuple(Part(name, f"Do the {name}'s part.", (), "") for name in self.agents)
        return Case(str(self.number), "planted", self.task, parts, self.agents[self.guilty], "says", parts, "")

    def check(self, answer: str) -> str | None:
        """Why the answer is wrong; None where it is right."""
        return None if self.right in answer else f"{HINT} in {answer[-40:]!r}"


def planted_cases(cases: int, seed: int, *, right_blame: float) -> Iterator[PlantedCase]:
    """``cases`` teams, as many of each cure; the diagnosis is right in the share of them that it says."""
    draw = random.Random(seed)
    for number in range(cases):
        agents = _NAMES[: draw.randint(4, 7)]
        guilty = draw.randrange(1, len(agents))
        is_right = draw.random() < right_blame
        others = [place for place in range(len(agents)) if place != guilty]
        yield PlantedCase(
            number=number,
            cure=tuple(Cure)[number % len(Cure)],
            agents=agents,
            guilty=guilty,
            task=f"Work out the bill of order {number} for the {draw.choice(_TOPICS)}, delivery included.",
            right=f"{draw.randint(2_000, 9_000)} EUR",
            blamed=guilty if is_right else draw.choice(others),
            confidence=right_blame,
        )


class PlantedScript:
    """What the model of one case says, and how often it was asked."""

    def __init__(self, case: PlantedCase) -> None:
        self._case = case
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._draw = random.Random(case.number)

    @property
    def rules(self) -> list[Rule]:
        """For a :class:`~tracer_hooks.testing.ScriptedLLM`."""
        return [When(where=_asked_by(name)).then(self._reply_of(place)) for place, name in enumerate(self._case.agents)]

    @property
    def calls(self) -> int:
        """Requests so far."""
        return sum(self._asked.values())

    def _reply_of(self, place: int) -> Callable[[ScriptedRequest], str]:
        def reply(request: ScriptedRequest) -> str:
            case, name = self._case, self._case.agents[place]
            with self._lock:
                self._asked[name] += 1
                number = self._asked[name]
            if place < case.guilty:
                # Who throws a right step away may not get it back.
                holds = number == 1 or case.cure is not Cure.RESAMPLING or self._draw.random() < 0.5
                return f"The {name} notes the prices." if holds else f"The {name} lost the notes."
            if place > case.guilty:
                # It passes on what it is shown, as a faithful agent does.
                return f"The {name} says: {case.right}." if case.right in request.text else f"The {name} says: 17 EUR."
            return f"The {name} gets {case.right}." if self._is_cured(request, number) else f"The {name} gets 17 EUR."

        return reply

    def _is_cured(self, request: ScriptedRequest, number: int) -> bool:
        match self._case.cure:
            case Cure.RESAMPLING:
                return number > 1 and "lost the notes" not in request.text
            case Cure.FEEDBACK:
                return HINT in request.text
            case Cure.INSTRUCTIONS:
                return "earlier run failed" in request.system
            case Cure.NONE:
                return False


def _asked_by(name: str) -> Callable[[ScriptedRequest], bool]:
    # New instructions take the place of the whole system message in CrewAI, the agent's name included.
    return lambda request: request.is_from(name) or f"Do the {name}'s part." in request.system


class PlantedAttributor:
    """Names an agent with a confidence that is true on average."""

    name = "planted"

    def __init__(self, case: PlantedCase) -> None:
        self._case = case

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        """See :class:`~tracer_hooks.diagnosis.Attributor`."""
        case = self._case
        steps = {step.agent: step.index for step in reversed(trajectory.steps)}
        names = [case.agents[case.blamed], *(name for i, name in enumerate(case.agents) if i != case.blamed)]
        rest = (1 - case.confidence) / (len(names) - 1)
        scores = [case.confidence] + [rest] * (len(names) - 1)
        found = [
            Candidate(agent=name, step=steps[name], score=score)
            for name, score in zip(names, scores, strict=True)
            if name in steps
        ]
        if not found:
            return Attribution(run_id=trajectory.run_id, abstained=True, abstained_reason="trace too incomplete")
        return Attribution(
            run_id=trajectory.run_id,
            agent=found[0].agent,
            step=found[0].step,
            confidence=found[0].score,
            candidates=tuple(found),
            attributor=self.name,
        )
