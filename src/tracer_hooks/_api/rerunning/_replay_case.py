"""A failed run that is replayed with changes, and the options of that, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from tracer_hooks._api.conducting import conductor_of, factory_of
from tracer_hooks._api.judging import Check, Expected, known_answer
from tracer_hooks._api.rerunning._recordings import Recording
from tracer_hooks._api.rerunning._targets import rerunner
from tracer_hooks.attribution import Attributor, get_attributor
from tracer_hooks.budget import CostCap
from tracer_hooks.errors import ConfigError
from tracer_hooks.replay import (
    CorrectionOf,
    Counterfactual,
    Proposer,
    ReplayOptions,
    StepReplay,
    TapeMode,
    TeamRunner,
    ToolRules,
    Trial,
    corrections_by,
    proposers_of,
)
from tracer_hooks.schema import Attribution
from tracer_hooks.telemetry import suppressed


class ReplayArguments(TypedDict, total=False):
    """Options of ``counterfactual`` and ``find_decisive_step``.

    ``build_team``: a factory, a team, or a function that takes the task; needed for a run of the run store, otherwise
    the run's own call is repeated. ``check``, ``expected``: say whether a run succeeded, as for
    :func:`tracer_hooks.hook`; they go with ``build_team``. ``tools``: what tools may do after the step (``"live"``,
    ``"replayable"``, ``"blocked"``, ``"rebuilt"``), one word for all or a word for each. ``trials``, ``alpha``,
    ``early_stop``, ``placebo``, ``seed``, and for the search ``suspect_trials``: see
    :class:`~tracer_hooks.replay.ReplayOptions`. ``mode``: ``"strict"`` or ``"lenient"``.
    ``cap``: a :class:`~tracer_hooks.replay.CostCap`. ``proposer``: who writes corrections: ``"resample"`` (default),
    ``"template"``, ``"feedback"``, or a :class:`~tracer_hooks.replay.Proposer`; for ``find_decisive_step`` also
    several, of which the next is asked where those before it showed nothing.
    ``show_reference``: whether the proposer may see the expected answer. ``store``: the run store's file, for a run
    given by its id. ``on_trial``: called after every run of the team; ``on_test``: after every step.
    """

    build_team: Any
    check: Check | None
    expected: Expected | None
    tools: ToolRules | str | Mapping[str, str] | None
    trials: int
    suspect_trials: int
    alpha: float
    early_stop: bool
    placebo: bool
    mode: TapeMode | str
    cap: CostCap
    seed: int
    proposer: str | Proposer | Sequence[str | Proposer]
    show_reference: bool
    store: str | Path | None
    on_trial: Callable[[Trial], None] | None
    on_test: Callable[[Counterfactual], None] | None


class ReplayCase:
    """A failed run and the options of one call.

    Attributes:
        proposers: Write corrections, one after the other.
        shown_reference: The expected answer, where the caller wants the proposer to see it.

    Raises:
        ConfigError: An option cannot be used.
    """

    def __init__(self, recording: Recording, options: ReplayArguments) -> None:
        unknown = sorted(set(options) - set(ReplayArguments.__annotations__))
        if unknown:
            known = ", ".join(sorted(ReplayArguments.__annotations__))
            raise ConfigError(f"unknown option {unknown[0]!r}, expected one of: {known}")
        trajectory = recording.trial.trajectory
        self._attribution = recording.attribution
        self._on_trial = options.get("on_trial")
        self._options = _replay_options(options)
        self.proposers = proposers_of(options.get("proposer", "resample"))
        check, expected = options.get("check"), options.get("expected")
        self._runner = runner_for(recording, options.get("build_team"), check, expected)
        reference = trajectory.reference or known_answer(expected, trajectory.task)
        if options.get("show_reference") and reference is None:
            raise ConfigError(
                f"show_reference is set, and no expected answer of run {recording.run_id!r} is known. Pass expected="
            )
        self.shown_reference = reference if options.get("show_reference") else None
        # No proposer is shown it or may tell it, so it has to be known even where it was given only now.
        judged = trajectory.model_copy(update={"reference": reference})
        self._trial = Trial(trajectory=judged, tape=recording.trial.tape, error=recording.trial.error)

    def step_replay(self) -> StepReplay:
        """What replays it, with nothing spent yet."""
        return StepReplay(self._runner, self._trial, self._options, on_trial=self._on_trial)

    def corrections(self, replay: StepReplay) -> CorrectionOf:
        """The corrections that the proposer writes.

        Raises:
            ConfigError: There are several proposers, and one step has one correction.
        """
        if len(self.proposers) > 1:
            names = ", ".join(one.name for one in self.proposers)
            raise ConfigError(f"the correction of one step has one proposer, expected one of: {names}")
        return corrections_by(self.proposers[0], replay, attribution=self._attribution, reference=self.shown_reference)

    def diagnosis(self, attributor: str | Attributor) -> Attribution:
        """Its diagnosis; made now, without the expected answer, where there is none or ``attributor`` is a wish."""
        if self._attribution is not None and attributor == "auto":
            return self._attribution
        hidden = self._trial.trajectory.model_copy(update={"reference": None})
        with suppressed():
            return get_attributor(attributor).attribute(hidden)


def _replay_options(options: ReplayArguments) -> ReplayOptions:
    numbers: dict[str, Any] = {
        name: value
        for name, value in options.items()
        if name in ("trials", "suspect_trials", "alpha", "early_stop", "placebo", "seed", "cap")
    }
    tools = ToolRules.of(options.get("tools"))
    return ReplayOptions(tools=tools, mode=tape_mode(options.get("mode", TapeMode.STRICT)), **numbers)


def tape_mode(word: TapeMode | str) -> TapeMode:
    """The mode of that name.

    Raises:
        ConfigError: There is none.
    """
    try:
        return TapeMode(word)
    except ValueError:
        raise ConfigError(f"mode is {word!r}, expected 'strict' or 'lenient'") from None


def runner_for(
    recording: Recording, build_team: Any, check: Check | None, expected: Expected | None, *, is_judged: bool = True
) -> TeamRunner:
    """What runs the team of a recording again.

    Raises:
        ConfigError: Nothing says how to build the team, or how to judge its runs.
    """
    has_judge = check is not None or expected is not None
    if build_team is None:
        if recording.again is None:
            raise ConfigError(
                f"run {recording.run_id!r} comes from the run store, which does not hold its team; expected the "
                "factory that builds it. Pass build_team=; on the command line --team MODULE:build_team"
            )
        if has_judge:
            raise ConfigError(
                "check= and expected= go with build_team=; without it the run is judged as it was when it was recorded"
            )
        return recording.again()
    trajectory = recording.trial.trajectory
    if not has_judge and not _is_hooked_with_judge(build_team):
        expected = trajectory.reference
        if is_judged and expected is None and (trajectory.outcome_reason or "").startswith("check:"):
            raise ConfigError(
                f"run {recording.run_id!r} failed its check ({trajectory.outcome_reason!r}), and build_team brings "
                "none; expected one. Pass check= or expected=; on the command line --check MODULE:check or --expected"
            )
    return rerunner(
        build_team,
        trajectory.task,
        check=check,
        expected=expected,
        prompts=recording.prompts,
    )


def _is_hooked_with_judge(target: Any) -> bool:
    hooked = factory_of(target) or conductor_of(target)
    return hooked is not None and (hooked.options.check is not None or hooked.options.expected is not None)
