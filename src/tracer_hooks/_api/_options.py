"""The options of :func:`tracer_hooks.hook`, checked once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from opentelemetry.trace import TracerProvider

from tracer_hooks._api._calibrated import CalibratedAttributors, attributors_folder
from tracer_hooks._api._verdict import Check, Expected
from tracer_hooks.adapters import Intervention
from tracer_hooks.attribution import Attributor, get_attributor
from tracer_hooks.config import CaptureConfig, HookConfig
from tracer_hooks.errors import ConfigError
from tracer_hooks.feedback import Acceptance, AcceptanceRule, RetryPolicy, Rewriter, TemplateRewriter
from tracer_hooks.schema import Trajectory
from tracer_hooks.telemetry import Emitter

if TYPE_CHECKING:
    from tracer_hooks._api._team_run import TeamRun

DiagnoseMode = Literal["auto", "inline", "background", "off"]


@dataclass(frozen=True, kw_only=True)
class HookOptions:
    """How a hooked team is judged, diagnosed and repaired."""

    check: Check | None = None
    """Decides whether a run succeeded."""
    expected: Expected | None = None
    """The expected answer; decides where there is no check, and helps the diagnosis."""
    retries: int | RetryPolicy = 0
    """How often a failed call is run again with a rewritten prompt."""
    retry_streams: bool = False
    """Whether a failed stream goes on with the next attempt, after a :class:`RetryBoundary`."""
    diagnose: DiagnoseMode | bool = "auto"
    """When failed runs are diagnosed: ``auto`` is in the background in asynchronous code, else before the call ends."""
    attributor: str | Attributor = "auto"
    """Who diagnoses."""
    rewriter: Rewriter = field(default_factory=TemplateRewriter)
    """Who rewrites prompts."""
    acceptance: AcceptanceRule = field(default_factory=Acceptance)
    """Decides whether a rewrite is kept."""
    on_failure: Callable[[TeamRun], Any] | None = None
    """Called with the run after a failed call was diagnosed."""
    intervention: Intervention | None = None
    """Asked before and after every model and tool call."""
    tracer_provider: TracerProvider | None = None
    """Where spans go; default the global provider."""
    config: HookConfig = field(default_factory=HookConfig)
    """Capture and store."""

    @functools.cached_property
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

    @functools.cached_property
    def _calibrated(self) -> CalibratedAttributors:
        return CalibratedAttributors(attributors_folder(self.config.store))

    @functools.cached_property
    def emitter(self) -> Emitter:
        """Where the runs of all teams with these options come from."""
        return Emitter(tracer_provider=self.tracer_provider, capture=self.config.capture)

    @property
    def policy(self) -> RetryPolicy:
        """The retry limits."""
        return self.retries if isinstance(self.retries, RetryPolicy) else RetryPolicy(max_retries=self.retries)


def make_options(
    *, capture: str | CaptureConfig | None = None, store: str | Path | None = None, **options: Any
) -> HookOptions:
    """Check the options and fill in what the environment says.

    Raises:
        ConfigError: An option is unknown or has a value that cannot be used.
    """
    known = HookOptions.__dataclass_fields__.keys() - {"config"} | {"capture", "store"}
    unknown = sorted(options.keys() - known)
    if unknown:
        raise ConfigError(f"unknown option {unknown[0]!r}, expected one of: {', '.join(sorted(known))}")
    for name, (fits, expected) in _EXPECTED.items():
        if name in options and not fits(options[name]):
            raise ConfigError(f"{name} is {options[name]!r}, expected {expected}")
    if store is not None and not isinstance(store, (str, Path)):
        raise ConfigError(f"store is {store!r}, expected a path or 'off'")
    made = HookOptions(**options, config=HookConfig.from_env(capture=capture, store=store))
    get_attributor(made.attributor)
    return made


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
    "retry_streams": (lambda value: isinstance(value, bool), "a bool"),
    "diagnose": (_is_mode, "'auto', 'inline', 'background', 'off' or a bool"),
    "rewriter": (_has("rewrite"), "a Rewriter, with a method rewrite()"),
    "acceptance": (_has("accept"), "an Acceptance, with a method accept()"),
    "on_failure": (_is_callback, "a plain function: it may be called outside of your event loop"),
    "intervention": (lambda value: value is None or isinstance(value, Intervention), "an Intervention"),
    "tracer_provider": (lambda value: value is None or _has("get_tracer")(value), "a TracerProvider"),
}
"""What each option may be. The attributor is checked by its registry, capture by the configuration."""
