"""Optional imports, each with the install line a user needs."""

from __future__ import annotations

import importlib
from types import ModuleType

from tracer_hooks.errors import MissingExtraError


def require(module: str, *, extra: str, feature: str) -> ModuleType:
    """Import ``module``, or say what to install.

    Args:
        module: Dotted module name.
        extra: The extra of ``tracer-hooks`` that brings it.
        feature: What the caller wanted it for; begins the message.

    Raises:
        MissingExtraError: The module, or something it needs, is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, f"tracer-hooks[{extra}]") from error
