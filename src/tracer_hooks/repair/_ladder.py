"""The ladder: what each further attempt at a failed run is told, and from where it goes on.

Nothing is learned, and nothing is drawn: the same failure gives the same repairs. A rung stands above a plain retry
only where somebody can be told something that is known of this run; docs/studies/repair.md has what each was worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tracer_hooks._guard import warn_once
from tracer_hooks.errors import ConfigError
from tracer_hooks.repair._failure import Failure, RepairStrategy, attempt_failed, for_prompt
from tracer_hooks.repair._repair import PastTrial, Repair, RepairTarget
from tracer_hooks.repair._strategies import (
    FeedbackInMessage,
    FeedbackInTask,
    FromScratch,
    Resample,
    WrittenGuidance,
    proposal,
)
from tracer_hooks.schema import FindingKind

AUTO, PLAIN = "auto", "plain"
_FORMER_AUTO = "search"


class ReasonToAgent:
    """Tells the check's reason to the one agent whom it names, and resumes where that agent first acted.

    From scratch where the run cannot be resumed there. None where the reason may not be told, or names nobody, or
    several.
    """

    name = "reason_to_agent"

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repair.RepairStrategy`."""
        named = named_by_reason(failure)
        if named is None:
            return None
        own = [each for each in failure.steps if failure.agent_at(each) == named]
        first = own[0] if own else None
        return _told(self.name, failure, named, first if step is None else step, failure.feedback, "the check's reason")


class ResumeAtFinding:
    """Resumes at the step that a finding proves wrong, with the check's reason where that says more than no.

    The finding itself is not told: on a small model that did worse than asking again without it. None where the
    diagnosis is less than clear, since resuming after a wrong step keeps the error, which costs more than resuming at
    the right one gains; and where the run cannot be resumed there.
    """

    name = "resume_at_finding"

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repair.RepairStrategy`; None at another step than the blamed one."""
        found, agent, at = failure.attribution, failure.agent, failure.step
        if found is None or found.certainty != "clear" or agent is None or step not in (None, at):
            return None
        if not _keeps(failure, at):
            return None
        if failure.feedback is None:
            reason = f"the run goes on from step {at}, which a finding proves wrong; {agent!r} is asked again"
            return Repair(strategy=self.name, agent=agent, resume_from=at, reason=reason)
        return _told(self.name, failure, agent, at, failure.feedback, "the check's reason")


def _keeps(failure: Failure, step: int | None) -> bool:
    """Tell whether the run can be resumed at ``step``, and keeps something: before its first step there is nothing."""
    return step is not None and step in failure.steps and step > min(failure.steps)


def _told(name: str, failure: Failure, agent: str, step: int | None, said: str | None, what: str) -> Repair | None:
    """The repair that tells ``agent`` what is said, from ``step`` on where the run can be resumed there."""
    text = attempt_failed(said)
    if text is None:
        return None
    keeps = _keeps(failure, step)
    begins = f"the run goes on from step {step}" if keeps else "the whole run is made again"
    return Repair(
        strategy=name,
        target=RepairTarget.MESSAGE,
        agent=agent,
        text=for_prompt(text),
        resume_from=step if keeps else None,
        reason=f"{begins}, and {agent!r} is told {what}",
    )


def named_by_reason(failure: Failure) -> str | None:
    """The agent whom the check's reason names, as the diagnosis reads it; None without exactly one."""
    findings = failure.attribution.findings if failure.attribution is not None else ()
    agents = {each.agent for each in findings if each.kind is FindingKind.REASON_MATCHED}
    return agents.pop() if len(agents) == 1 else None


RUNGS: tuple[RepairStrategy, ...] = (ReasonToAgent(), ResumeAtFinding(), FromScratch(), FeedbackInTask())
"""In order, each once. Whom the reason names comes first, since the check knows more than the diagnosis. The reason in
the task comes after a plain retry: as the first thing tried it was not shown to be as good."""
_NAMED = FromScratch(), Resample(), FeedbackInTask(), FeedbackInMessage(), ReasonToAgent(), ResumeAtFinding()
_BY_NAME: dict[str, RepairStrategy] = {PLAIN: FromScratch(), **{one.name: one for one in _NAMED}}

RepairChoice = str | RepairStrategy | Sequence[str | RepairStrategy]
"""``"auto"``, ``"plain"``, a strategy or its name; several to be tried in turn."""


class Strategies(NamedTuple):
    """The strategies that a call may use."""

    all: tuple[RepairStrategy, ...]
    """In the order in which they are tried."""
    is_auto: bool
    """Whether they are the ladder's: each is tried once, and plain retries follow. Else they are taken in turn."""


def strategies_of(choice: RepairChoice) -> Strategies:
    """Return the strategies that ``choice`` means.

    Raises:
        ConfigError: It names no strategy, or is none.
    """
    if choice == _FORMER_AUTO:
        warn_once("repair search", "repair='search' is called 'auto' now: the learned search gave way to a ladder")
        choice = AUTO
    if choice == AUTO:
        return Strategies(RUNGS, is_auto=True)
    several = [choice] if isinstance(choice, str) or not isinstance(choice, Sequence) else choice
    if not several:
        raise ConfigError(f"repair is {choice!r}, expected one strategy or more")
    return Strategies(tuple(_strategy(named) for named in several), is_auto=False)


def _strategy(choice: str | RepairStrategy) -> RepairStrategy:
    if isinstance(choice, str):
        if choice == WrittenGuidance.name:
            raise ConfigError(
                "repair is 'guidance', expected WrittenGuidance(chat) with a function that asks your model"
            )
        if choice not in _BY_NAME:
            known = ", ".join(repr(name) for name in (AUTO, *_BY_NAME))
            raise ConfigError(f"repair is {choice!r}, expected one of: {known}; or a RepairStrategy of your own")
        return _BY_NAME[choice]
    if isinstance(choice, type):
        raise ConfigError(f"repair is the class {choice.__name__!r}, expected an object of it: {choice.__name__}(...)")
    if not isinstance(choice, RepairStrategy):
        raise ConfigError(f"repair is {choice!r}, expected a name, or a RepairStrategy with a name and propose()")
    return choice


class Ladder:
    """Chooses the repair of each further attempt at one failed run: the first rung that has one, else a plain retry.

    Args:
        failure: The failed run. The trials that it names count.
        strategies: Its rungs.
    """

    def __init__(self, failure: Failure, strategies: Strategies) -> None:
        self._failure = failure
        self._strategies = strategies

    def choose(self) -> Repair:
        """The next repair; a plain retry at least, and never an error."""
        for rung in self._left():
            repair = self._proposed(rung)
            if repair is not None:
                return repair
        return Repair(strategy=FromScratch.name, reason="the whole run is made again: there is nothing else to try")

    def learn(self, trial: PastTrial) -> None:
        """Take a trial into account."""
        self._failure = replace(self._failure, tried=(*self._failure.tried, trial))

    def _left(self) -> Sequence[RepairStrategy]:
        tried = [trial.repair.strategy for trial in self._failure.tried]
        rungs = self._strategies.all
        if self._strategies.is_auto:
            return [rung for rung in rungs if rung.name not in tried]
        turn = len(tried) % len(rungs)
        return (*rungs[turn:], *rungs[:turn])

    def _proposed(self, rung: RepairStrategy) -> Repair | None:
        """Its repair from scratch, else at the blamed step; None where it has none."""
        blamed = self._failure.step if self._failure.step in self._failure.steps else None
        try:
            for step in dict.fromkeys((None, blamed)):
                repair = proposal(rung, self._failure, step)
                if repair is not None:
                    return repair
        except Exception as error:  # a third party's strategy
            warn_once(
                f"repair strategy {rung.name} raises",
                "repair strategy %r raised %s: %s. It is left out where it raises; this is said once",
                rung.name,
                type(error).__name__,
                error,
            )
        return None
