"""Accepted prompts in a call: which are used, how they reach the agents, and what the run says about them.

The team object stays as it is: calls overlap, and one may be on the accepted prompts while another is on those before
them. So the texts take their places in what the agents' models are asked.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tracer_hooks import semconv
from tracer_hooks._guard import guard, warn_once
from tracer_hooks.diagnosis import blames_environment, is_environment_fault
from tracer_hooks.frameworks import Adapter, Capability, ModelRequest, RewriteInstructions, TeamInfo
from tracer_hooks.runtime._prompt_watch import CurrentPrompts, TeamPrompts, team_prompts, warm_up
from tracer_hooks.schema import RunOutcome
from tracer_hooks.store import PromptArm, PromptOutcome, PromptPhase, RunPrompts, fingerprint

if TYPE_CHECKING:
    from tracer_hooks.runtime._options import HookOptions
    from tracer_hooks.runtime._store_writer import Part
    from tracer_hooks.runtime._team_run import Attempt
    from tracer_hooks.telemetry import RunInvocation

_RANDOM = random.SystemRandom()
"""Not the module's own generator: a user may have seeded that."""
SeenInstructions = dict[str, str | None]
"""What each agent was told by the team itself in its last run; None for an agent that is not there any more."""


class AcceptedPrompts:
    """Chooses the prompts of each call of one hooked team, or of one factory's teams."""

    def __init__(self, adapter: Adapter, options: HookOptions) -> None:
        assert options.config.store is not None  # make_options sees to it
        self._adapter = adapter
        self._control = options.prompt_control
        self._place = options.config.store.absolute()
        self._seen: SeenInstructions = {}
        with guard("open the store of prompts"):
            warm_up(self._place)

    def draw(self, info: TeamInfo, declared: Mapping[str, str]) -> CallPrompts | None:
        """The prompts of one call; None where nothing was accepted for the team.

        Args:
            info: The team as it looks from outside.
            declared: Instructions by agent that were declared while a team in plain Python was built.
        """
        if Capability.INTERVENE_MODEL not in self._adapter.capabilities:
            warn_once(
                f"no prompts for {self._adapter.name}",
                "tracer-hooks cannot use accepted prompts: the adapter %r cannot change what a model is asked",
                self._adapter.name,
            )
            return None
        prompts = team_prompts(self._place, fingerprint(self._adapter.name, info.name))
        current = prompts.current()
        if current is None:
            return None
        is_control = self._control > 0 and _RANDOM.random() < self._control
        return CallPrompts(prompts, current, self._team(info, declared), is_control=is_control)

    def _team(self, info: TeamInfo, declared: Mapping[str, str]) -> TeamPromptKey:
        present = {**declared, **{spec.name: spec.instructions for spec in info.agents}}
        is_whole = bool(present) and Capability.READ_INSTRUCTIONS in self._adapter.capabilities
        return TeamPromptKey(info.name, present, self._seen, is_whole=is_whole)


class TeamPromptKey:
    """Knowledge of a team's own instructions before and in a run.

    Args:
        name: The team's name.
        present: Instructions by agent, None where they show in a run only.
        seen: Those of agents that show them in a run only, as it was in the last run.
        is_whole: Whether there are no agents but those in ``present``.
    """

    def __init__(self, name: str, present: Mapping[str, str | None], seen: SeenInstructions, *, is_whole: bool) -> None:
        self.name = name
        self._present = present
        self._seen = seen
        self._is_whole = is_whole

    def changed_from(self, own: Mapping[str, str]) -> str | None:
        """An agent whose instructions are known, and not those in ``own``."""
        return next((agent for agent, text in own.items() if not self._is_still(agent, text)), None)

    def saw(self, agent: str, text: str) -> None:
        """Note what the team itself tells an agent."""
        self._seen[agent] = text

    def miss(self, agents: Collection[str]) -> str | None:
        """One of the agents that did nothing in a run and are no members; they are gone."""
        gone = [agent for agent in agents if self._is_whole and agent not in self._present]
        self._seen.update(dict.fromkeys(gone))
        return gone[0] if gone else None

    def _is_still(self, agent: str, text: str) -> bool:
        present = self._present.get(agent)
        if present is None:
            present = self._seen.get(agent, text)
        return present is not None and present.strip() == text.strip()


class AppliedPrompts(RewriteInstructions):
    """Tells the agents of one run other texts than the team's own, where those are what they were accepted for.

    What the team itself says may show in a request only. An agent whose first request says something else is left
    alone for the whole run.
    """

    def __init__(self, texts: Mapping[str, str], own: Mapping[str, str], team: TeamPromptKey) -> None:
        super().__init__(texts)
        self.changed: str | None = None
        """An agent that the team itself tells something else."""
        self._own = own
        self._team = team
        self._as_expected: dict[str, bool] = {}
        self._told: dict[str, bool] = {}

    @property
    def is_used(self) -> bool:
        """Tell whether every agent that acted was told what it should be; asked at the end of the run."""
        if self.changed is None:
            self.changed = self._team.miss([agent for agent in self._own if agent not in self._as_expected])
        return self.changed is None and all(self._told.values())

    def rewritten(self, agent: str, own: str) -> str | None:
        expected = self._own.get(agent)
        if expected is None:
            return None
        if agent not in self._as_expected:
            self._team.saw(agent, own)
            self._as_expected[agent] = own.strip() == expected.strip()
            if not self._as_expected[agent]:
                self.changed = agent
        return self.instructions.get(agent) if self._as_expected[agent] else None

    def informed(self, request: ModelRequest) -> ModelRequest:
        return request if request.told else replace(request, told=(self._own[request.agent],))

    def noted(self, agent: str, *, is_told: bool) -> None:
        self._told[agent] = is_told or self._told.get(agent, False)

    def untold(self, acted: Collection[str]) -> str | None:
        """An agent that acted and was never told its new text, since its model was not seen to be asked anything."""
        return next((agent for agent in self.instructions if agent in acted and agent not in self._as_expected), None)


class CallPrompts:
    """The prompts of one call: of its first attempt and of all others."""

    def __init__(self, prompts: TeamPrompts, current: CurrentPrompts, team: TeamPromptKey, *, is_control: bool) -> None:
        self._prompts = prompts
        self._version = current.version
        self._team = team
        told = current.before if is_control else current.version
        self._own = {**(told.own if told is not None else {}), **current.version.own}
        self._texts = told.texts if told is not None else {}
        self._used = RunPrompts(
            version=current.version.number,
            arm=PromptArm.OLD if is_control else PromptArm.NEW,
            told=told.number if told is not None else None,
        )
        changed = team.changed_from(self._own)
        self._is_dropped = changed is not None
        self._is_built = False
        self._going: AppliedPrompts | None = None
        if changed is not None:
            self._say_changed(changed)

    @property
    def texts(self) -> dict[str, str]:
        """Texts that the agents are to be told in the place of the team's own instructions."""
        return {} if self._is_dropped else dict(self._texts)

    @property
    def built_texts(self) -> dict[str, str]:
        """The same where teams are built with it; nothing where agents are told."""
        return self.texts if self._is_built else {}

    def build_with(self) -> None:
        """Note that the teams of this call are built with :attr:`texts`, so that nobody need be told anything."""
        self._is_built = True

    def begin(self, without: Collection[str] = ()) -> AppliedPrompts:
        """Return what tells the agents of the next attempt; those in ``without`` are told by others."""
        if self._is_built:
            self._going = AppliedPrompts({}, {}, self._team)
            return self._going
        texts = {} if self._is_dropped else {name: text for name, text in self._texts.items() if name not in without}
        own = {agent: text for agent, text in self._own.items() if agent not in without}
        self._going = AppliedPrompts(texts, own, self._team)
        return self._going

    def used(self, run: RunInvocation) -> RunPrompts | None:
        """Return the prompts that the ending attempt was made on; None where it was not wholly made on them."""
        going = self._going
        if self._is_dropped or going is None:
            return None
        untold = self._unheeded(run) if self._is_built else going.untold(run.acted)
        if untold is not None:
            self._say_untold(untold)
            return None
        if going.is_used:
            return self._used
        if going.changed is not None:
            self._say_changed(going.changed)
        return None

    def again(self) -> RewriteInstructions | None:
        """The same for a replay of the call; None where its team is built with :attr:`built_texts`."""
        return AppliedPrompts(self._texts, self._own, self._team) if self.texts and not self._is_built else None

    def counted(self, attempt: Attempt) -> list[Part]:
        """Return the parts that count the first attempt for the version; none where nothing decided on its outcome."""
        used = attempt.prompts
        if used is None or attempt.outcome is RunOutcome.UNKNOWN or fails_on_environment(attempt):
            return []
        passed = attempt.outcome is RunOutcome.SUCCEEDED
        trajectory = attempt.trajectory
        outcome = PromptOutcome(
            run_id=trajectory.run_id,
            arm=used.arm,
            phase=PromptPhase.LIVE,
            passed=passed,
            score=attempt.verdict.rank if attempt.verdict is not None else float(passed),
            counted_at=datetime.now(UTC),
            task=hashlib.sha256(trajectory.task.encode("utf-8", "replace")).hexdigest()[:16],
        )
        return [self._prompts.counting(self._version, outcome)]

    def _unheeded(self, run: RunInvocation) -> str | None:
        """An agent that the team was built with a text for, and that says it has another one."""
        for agent, text in self._texts.items():
            told = run.instructions_of(agent) if agent in run.acted else None
            if told is not None and told.strip() != text.strip():
                return agent
        return None

    def _say_untold(self, agent: str) -> None:
        warn_once(
            f"untold {self._prompts.team} {self._version.number} {agent}",
            "tracer-hooks cannot use version %d of the prompts of team %r: its agent %r does not get the new text. "
            "Hook a factory with a parameter 'prompts' that heeds it, or let the agent ask for its text with "
            "tracer_hooks.instructions(%r, ...)",
            self._version.number,
            self._team.name,
            agent,
            agent,
        )

    def _say_changed(self, agent: str) -> None:
        number = self._version.number
        warn_once(
            f"changed {self._prompts.team} {number} {agent}",
            "tracer-hooks does not use version %d of the prompts of team %r: the team's own instructions of its agent "
            "%r are not those that it was accepted for. Run: tracer-hooks improve",
            number,
            self._team.name,
            agent,
        )


def prompt_attributes(used: RunPrompts | None) -> dict[str, object]:
    """Return the attributes of a run's span that describe its prompts; no text."""
    if used is None:
        return {}
    return {semconv.PROMPTS_VERSION: used.version, semconv.PROMPTS_ARM: str(used.arm)}


def fails_on_environment(attempt: Attempt) -> bool:
    """Tell whether the team's surroundings failed and not the team."""
    if attempt.attribution is not None:
        return blames_environment(attempt.attribution)
    return attempt.outcome is RunOutcome.FAILED and is_environment_fault(attempt.trajectory)
