"""The options of :func:`tracer_hooks.hook`, checked once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from opentelemetry.trace import TracerProvider

from tracer_hooks._api._verdict import Check, Expected
from tracer_hooks.adapters import Intervention
from tracer_hooks.attribution import Attributor
from tracer_hooks.config import ContentCapture, HookConfig
from tracer_hooks.errors import ConfigError
from tracer_hooks.feedback import Acceptance, RetryPolicy, Rewriter, TemplateRewriter

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
    acceptance: Acceptance = field(default_factory=Acceptance)
    """Decides whether a rewrite is kept."""
    on_failure: Callable[[TeamRun], Any] | None = None
    """Called with the run after a failed call was diagnosed."""
    intervention: Intervention | None = None
    """Asked before and after every model and tool call."""
    tracer_provider: TracerProvider | None = None
    """Where spans go; default the global provider."""
    config: HookConfig = field(default_factory=HookConfig)
    """Capture and store."""

    @property
    def policy(self) -> RetryPolicy:
        """The retry limits."""
        return self.retries if isinstance(self.retries, RetryPolicy) else RetryPolicy(max_retries=self.retries)


def make_options(
    *, capture: str | ContentCapture | None = None, store: str | Path | None = None, **options: Any
) -> HookOptions:
    """Check the options and fill in what the environment says.

    Raises:
        ConfigError: An option is unknown or has a value that cannot be used.
    """
    unknown = options.keys() - HookOptions.__dataclass_fields__.keys()
    if unknown:
        known = ", ".join(sorted(HookOptions.__dataclass_fields__.keys() - {"config"} | {"capture", "store"}))
        raise ConfigError(f"unknown option {sorted(unknown)[0]!r}, expected one of: {known}")
    retries = options.get("retries", 0)
    if (
        isinstance(retries, bool)
        or not isinstance(retries, (int, RetryPolicy))
        or (isinstance(retries, int) and retries < 0)
    ):
        raise ConfigError(f"retries is {retries!r}, expected a number, 0 or more, or a RetryPolicy")
    mode = options.get("diagnose", "auto")
    if mode not in (True, False, "auto", "inline", "background", "off"):
        raise ConfigError(f"diagnose is {mode!r}, expected 'auto', 'inline', 'background', 'off' or a bool")
    for name in ("check", "on_failure"):
        if options.get(name) is not None and not callable(options[name]):
            raise ConfigError(f"{name} is {options[name]!r}, expected a function")
    return HookOptions(**options, config=HookConfig.from_env(capture=capture, store=store))
