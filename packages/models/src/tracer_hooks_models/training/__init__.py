"""Training of the models that diagnose runs: judges by SFT and GRPO, encoders by contrast.

Names are loaded at their first use: the libraries that train are large.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracer_hooks_models.training._config import ContrastiveConfig, GRPOConfig, SFTConfig, load_config
    from tracer_hooks_models.training._progress import OnConsole, Progress, Silent
    from tracer_hooks_models.training._run import is_first_process
    from tracer_hooks_models.training.contrastive import train_contrastive
    from tracer_hooks_models.training.grpo import train_grpo
    from tracer_hooks_models.training.sft import train_sft

__all__ = [
    "ContrastiveConfig",
    "GRPOConfig",
    "OnConsole",
    "Progress",
    "SFTConfig",
    "Silent",
    "is_first_process",
    "load_config",
    "train_contrastive",
    "train_grpo",
    "train_sft",
]

_HOMES = {
    "_config": ("ContrastiveConfig", "GRPOConfig", "SFTConfig", "load_config"),
    "_progress": ("OnConsole", "Progress", "Silent"),
    "_run": ("is_first_process",),
    "contrastive": ("train_contrastive",),
    "grpo": ("train_grpo",),
    "sft": ("train_sft",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
