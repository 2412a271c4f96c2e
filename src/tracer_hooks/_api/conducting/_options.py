"""The options of :func:`tracer_hooks.hook`, checked once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from opentelemetry.trace import TracerProvider

from tracer_hooks._api.conducting._calibrated import CalibratedAttributors, attributors_folder
from tracer_hooks._api.judging import Check, Expected
from tracer_hooks._cached_property import cached_property
from tracer_hooks.attribution import Attributor, get_attributor
from tracer_hooks.config import CaptureConfig, HookConfig
from tracer_hooks.errors import ConfigError
from tracer_hooks.feedback import RepairChoice, RetryPolicy, Strategies, strategies_of
from tracer_hooks.frameworks import Intervention
from tracer_hooks.repairs import FeedbackMode
from tracer_hooks.replay import ToolRules
from tracer_hooks.schema import Trajectory
from tracer_hooks.telemetry import Emitter

if TYPE_CHECKING:
    from tracer_hooks._api.runs import Attempt, TeamRun

DiagnoseMode = Literal["auto", "inline", "background", "off"]
PromptUse = Literal["own", "accepted"]
_MOST_CONTROL = 0.5


@dataclass(frozen=True, kw_only=True)
class HookOptions:
    """How a hooked team is judged, diagnosed and repaired."""

    check: Check | None = None
    """Decides whether a run succeeded."""
    expected: Expected | None = None
    """The expected answer; decides where there is no check, and helps the diagnosis."""
    retries: int | RetryPolicy = 0
    """How often a failed call is tried again."""
    repair: RepairChoice = "search"
    """How: ``search`` chooses what to say to whom, and from which step to go on, among what helped before; ``plain``
    tries again and nothing else; or strategies by name or as objects, one to use it alone, several to search among."""
    feedback: FeedbackMode = "masked"
    """What a team may be told of the check's reason: ``masked`` without the expected answer, ``reason`` as the check
    wrote it, ``none`` nothing."""
    tools: ToolRules | str | Mapping[str, str] | None = None
    """What tools may do in a further attempt; default they run again from the resumed step on."""
    retry_streams: bool = False
    """Whether a failed stream goes on with the next attempt, after a :class:`RetryBoundary`."""
    prompts: PromptUse = "own"
    """Which prompts the team runs on: ``own``, those that it was built with, or ``accepted``, those that
    ``tracer-hooks improve`` accepted for it and keeps in the run store. They reach the agents of every attempt and
    change nothing at the team. A run that a check or an expected answer decides on counts for or against them; where
    runs have become worse they are rolled back, with a warning. A team whose own instructions have changed since runs
    on its own."""
    prompt_control: float = 0.0
    """Which share of the calls, 0 to 0.5, goes on with the prompts that were current before the accepted ones: then a
    change for the worse that has other reasons is told apart from one of the prompts."""
    diagnose: DiagnoseMode | bool = "auto"
    """When failed runs are diagnosed: ``auto`` is in the background in asynchronous code, else before the call ends."""
    attributor: str | Attributor = "auto"
    """Who diagnoses."""
    on_attempt: Callable[[Attempt], Any] | None = None
    """Called with every attempt when it has ended, before the next one begins."""
    on_failure: Callable[[TeamRun], Any] | None = None
    """Called with the run after a failed call was diagnosed."""
    intervention: Intervention | None = None
    """Asked before and after every model and tool call."""
    tracer_provider: TracerProvider | None = None
    """Where spans go; default the global provider."""
    config: HookConfig = field(default_factory=HookConfig)
    """Capture and store."""

    @cached_property
    def diagnostician(self) -> Attributor:
        """The attributor itself; made once, since making it reads its weights."""
        return get_attributor(self.attributor)

    def diagnostician_for(self, trajectory: Trajectory) -> Attributor:
        """Who diagnoses this run: unless one was asked for, the attributor that was calibrated for its team."""
        if self.attributor == "auto":
            calibrated = self._calibrated.attributor_for(trajectory)
            if calibrated is not None:
                return calibrated
        return self.diagnostician

    @cached_property
    def _calibrated(self) -> CalibratedAttributors:
        return CalibratedAttributors(attributors_folder(self.config.store))

    @cached_property
    def emitter(self) -> Emitter:
        """Where the runs of all teams with these options come from."""
        return Emitter(tracer_provider=self.tracer_provider, capture=self.config.capture)

    @cached_property
    def strategies(self) -> Strategies:
        """What :attr:`repair` means."""
        return strategies_of(self.repair)

    @cached_property
    def tool_rules(self) -> ToolRules | None:
        """What :attr:`tools` means; None where nothing was said."""
        return None if self.tools is None else ToolRules.of(self.tools)

    @property
    def is_judged(self) -> bool:
        """Whether anything says what a run is worth."""
        return self.check is not None or self.expected is not None

    @property
    def policy(self) -> RetryPolicy:
        """The retry limits."""
        return self.retries if isinstance(self.retries, RetryPolicy) else RetryPolicy(max_retries=self.retries)


def make_options(
    *,
    capture: str | CaptureConfig | None = None,
    store: str | Path | None = None,
    retention: str | None = None,
    **options: Any,
) -> HookOptions:
    """Check the options and fill in what the environment says.

    Raises:
        ConfigError: An option is unknown or has a value that cannot be used.
    """
    known = HookOptions.__dataclass_fields__.keys() - {"config"} | {"capture", "store", "retention"}
    unknown = sorted(options.keys() - known)
    if unknown:
        raise ConfigError(f"unknown option {unknown[0]!r}, expected one of: {', '.join(sorted(known))}")
    for name, (fits, expected) in _EXPECTED.items():
        if name in options and not fits(options[name]):
            raise ConfigError(f"{name} is {options[name]!r}, expected {expected}")
    if store is not None and not isinstance(store, (str, Path)):
        raise ConfigError(f"store is {store!r}, expected a path or 'off'")
    if retention is not None and not isinstance(retention, str):
        raise ConfigError(f"retention is {retention!r}, expected an age such as '30d' or '1000 runs'")
    made = HookOptions(**options, config=HookConfig.from_env(capture=capture, store=store, retention=retention))
    _check_stored(made)
    get_attributor(made.attributor)
    _ = made.strategies, made.tool_rules
    return made


def _check_stored(options: HookOptions) -> None:
    if options.prompts == "accepted" and options.config.store is None:
        raise ConfigError(
            "prompts is 'accepted', and the run store that keeps accepted prompts is switched off; expected a store. "
            "Pass store='runs.sqlite', or set TRACER_HOOKS_STORE to a path"
        )
    if options.prompt_control and options.prompts == "own":
        raise ConfigError(
            f"prompt_control is {options.prompt_control!r}, and prompts is 'own'; expected accepted prompts to compare "
            "with. Pass prompts='accepted'"
        )


def _is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _MOST_CONTROL


def _is_bound(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return value >= 0
    return isinstance(value, RetryPolicy)


def _is_mode(value: object) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and value in get_args(DiagnoseMode))


def _is_callback(value: object) -> bool:
    return value is None or (callable(value) and not inspect.iscoroutinefunction(value))


def _has(*methods: str) -> Callable[[object], bool]:
    return lambda value: all(callable(getattr(value, method, None)) for method in methods)


_EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "check": (lambda value: value is None or callable(value), "a function"),
    "expected": (
        lambda value: value is None or isinstance(value, (str, Mapping)) or callable(value),
        "a text, a mapping from task to text, or a function of the task",
    ),
    "retries": (_is_bound, "a number, 0 or more, or a RetryPolicy"),
    "prompts": (lambda value: value in get_args(PromptUse), "'own' or 'accepted'"),
    "prompt_control": (_is_share, "a share of the calls, from 0 to 0.5"),
    "retry_streams": (lambda value: isinstance(value, bool), "a bool"),
    "diagnose": (_is_mode, "'auto', 'inline', 'background', 'off' or a bool"),
    "feedback": (lambda value: value in get_args(FeedbackMode), "'masked', 'reason' or 'none'"),
    "tools": (
        lambda value: value is None or isinstance(value, (str, Mapping, ToolRules)),
        "a word for all tools, a mapping from tool to word, or ToolRules",
    ),
    "on_attempt": (_is_callback, "a plain function: it may be called outside of your event loop"),
    "on_failure": (_is_callback, "a plain function: it may be called outside of your event loop"),
    "intervention": (lambda value: value is None or isinstance(value, Intervention), "an Intervention"),
    "tracer_provider": (lambda value: value is None or _has("get_tracer")(value), "a TracerProvider"),
}
"""What each option may be. The attributor is checked by its registry, capture by the configuration."""
