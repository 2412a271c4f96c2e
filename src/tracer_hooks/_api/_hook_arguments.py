"""The keyword arguments of :func:`tracer_hooks.hook`, for type checkers; explained in :class:`HookOptions`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

from opentelemetry.trace import TracerProvider

from tracer_hooks._api._options import DiagnoseMode
from tracer_hooks._api._verdict import Check, Expected
from tracer_hooks.adapters import Intervention
from tracer_hooks.attribution import Attributor
from tracer_hooks.config import CaptureConfig
from tracer_hooks.feedback import AcceptanceRule, RetryPolicy, Rewriter


class HookArguments(TypedDict, total=False):
    """Options of ``hook``, ``run`` and ``arun``."""

    check: Check | None
    expected: Expected | None
    retries: int | RetryPolicy
    retry_streams: bool
    diagnose: DiagnoseMode | bool
    attributor: str | Attributor
    rewriter: Rewriter
    acceptance: AcceptanceRule
    on_failure: Callable[..., Any] | None
    intervention: Intervention | None
    tracer_provider: TracerProvider | None
    capture: str | CaptureConfig | None
    store: str | Path | None
