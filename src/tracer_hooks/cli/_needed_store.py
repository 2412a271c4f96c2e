"""The run store's file, for commands that do nothing without one."""

from __future__ import annotations

from pathlib import Path

from tracer_hooks.config import store_path
from tracer_hooks.errors import ConfigError


def needed_store(store: Path | None) -> Path:
    """The file that ``--store`` names, or the usual one.

    Raises:
        ConfigError: The run store is switched off.
    """
    path = store_path(store)
    if path is None:
        raise ConfigError(
            "the run store is switched off by TRACER_HOOKS_STORE='off'; expected a path. Give one with --store"
        )
    return path
