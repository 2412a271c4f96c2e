"""The methods that can be stacked here and now."""

from __future__ import annotations

import os
from importlib.util import find_spec

from tracer_hooks.attribution._registry import get_attributor
from tracer_hooks.attribution._scores import Scorer
from tracer_hooks.errors import TracerHooksError

_ENCODER_NEEDS = ("torch", "transformers", "safetensors")
_PREFILL_MODEL = "TRACER_HOOKS_PREFILL_MODEL"


def installed_members() -> dict[str, Scorer]:
    """``structural``; ``encoder`` where torch is installed; ``prefill`` where a language model for it is set too."""
    names = ["structural"]
    if all(find_spec(module) is not None for module in _ENCODER_NEEDS):
        names.append("encoder")
        if os.environ.get(_PREFILL_MODEL):
            names.append("prefill")
    return {name: member for name in names if (member := _made(name)) is not None}


def _made(name: str) -> Scorer | None:
    try:
        member = get_attributor(name)
    except TracerHooksError:
        if name == "structural":
            raise
        return None  # `tracer-hooks doctor` says why; the others can do without it
    return member if isinstance(member, Scorer) else None
