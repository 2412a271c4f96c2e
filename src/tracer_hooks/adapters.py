"""The former name of :mod:`tracer_hooks.frameworks`; kept for adapters that were written for version 0.1."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from tracer_hooks import frameworks
from tracer_hooks.frameworks import plain

__all__ = frameworks.__all__

# ``tracer_hooks.adapters.plain`` was a package: a module has no submodules but those that it registers.
sys.modules[f"{__name__}.plain"] = plain


def __getattr__(name: str) -> Any:
    value = getattr(frameworks, name)
    warnings.warn(
        f"tracer_hooks.adapters.{name} has moved to tracer_hooks.frameworks.{name}; the old name goes with version 0.3",
        DeprecationWarning,
        stacklevel=2,
    )
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
