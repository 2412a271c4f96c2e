"""The methods that can be stacked here and now."""

from __future__ import annotations

import os
from importlib.util import find_spec

from tracer_hooks._guard import warn_once
from tracer_hooks.attribution._registry import get_attributor
from tracer_hooks.attribution._scores import Scorer
from tracer_hooks.errors import TracerHooksError

_MODELS = "tracer_hooks_models"
_PREFILL_MODEL = "TRACER_HOOKS_PREFILL_MODEL"


def installed_members() -> dict[str, Scorer]:
    """``structural``; with tracer-hooks-models ``encoder``, and ``prefill`` where a language model for it is set."""
    names = ["structural"]
    if not without_encoder():
        names.append("encoder")
    if os.environ.get(_PREFILL_MODEL) and find_spec(_MODELS) is not None:
        names.append("prefill")
    return {name: member for name in names if (member := _made(name)) is not None}


def say_what_is_missing() -> None:
    """Say once in the log that an ensemble has no encoder; when it has something to judge, and not when it is made."""
    if missing := without_encoder():
        warn_once("ensemble without encoder", "the attributor 'ensemble' runs without 'encoder': %s", missing)


def without_encoder() -> str:
    """Why the encoder cannot be a member, and what to install; empty where it can."""
    if find_spec(_MODELS) is None:
        return "tracer-hooks-models is not installed. Run: pip install 'tracer-hooks[models]'"
    return ""


def _made(name: str) -> Scorer | None:
    try:
        member = get_attributor(name)
    except TracerHooksError:
        if name == "structural":
            raise
        return None  # `tracer-hooks doctor` says why; the others can do without it
    return member if isinstance(member, Scorer) else None
