"""The keyword arguments of :func:`tracer_hooks.hook`, for type checkers; explained in :class:`HookOptions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from opentelemetry.trace import TracerProvider

from tracer_hooks._api.conducting._options import DiagnoseMode, PromptUse
from tracer_hooks._api.judging import Check, Expected
from tracer_hooks.attribution import Attributor
from tracer_hooks.config import CaptureConfig
from tracer_hooks.feedback import RepairChoice, RetryPolicy
from tracer_hooks.frameworks import Intervention
from tracer_hooks.repairs import FeedbackMode
from tracer_hooks.replay import ToolRules


class HookArguments(TypedDict, total=False):
    """Options of ``hook``, ``run`` and ``arun``."""

    check: Check | None
    expected: Expected | None
    retries: int | RetryPolicy
    repair: RepairChoice
    feedback: FeedbackMode
    tools: ToolRules | str | Mapping[str, str] | None
    retry_streams: bool
    prompts: PromptUse
    prompt_control: float
    diagnose: DiagnoseMode | bool
    attributor: str | Attributor
    on_attempt: Callable[..., Any] | None
    on_failure: Callable[..., Any] | None
    intervention: Intervention | None
    tracer_provider: TracerProvider | None
    capture: str | CaptureConfig | None
    store: str | Path | None
    retention: str | None
