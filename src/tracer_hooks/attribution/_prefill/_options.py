"""What the attributor reads a trajectory with, and how."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from tracer_hooks.errors import ConfigError

Protocol = Literal["flow", "masprism"]
Cut = Literal["head", "head_tail"]
Dtype = Literal["auto", "float32", "bfloat16", "float16"]

_CHOICES = {"protocol": get_args(Protocol), "cut": get_args(Cut), "dtype": get_args(Dtype)}
_LEAST = {"step_tokens": 8, "task_tokens": 8, "restored_tokens": 8, "chunk": 1, "alone_tokens": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillOptions:
    """Settings of the attributor ``prefill``. The defaults were set without any label of Who&When."""

    model: str | Path | None = None
    """Directory of a causal language model in the transformers format, or a GGUF file; by default what
    ``TRACER_HOOKS_PREFILL_MODEL`` names. Nothing is ever downloaded."""
    protocol: Protocol = "flow"
    """``flow``: one reading, every signal combined. ``masprism``: the two readings of MASPrism (arXiv 2605.07509)."""
    acts_only: bool = True
    """Whether only acts of the team can be the decisive step: no person, and no terminal that reports an error."""
    step_tokens: int = 120
    """Tokens of one step that are read; what is left out is marked ``[...]``."""
    cut: Cut = "head"
    """What is kept of a longer step: its beginning, or half of the tokens from each end."""
    task_tokens: int = 200
    """Tokens of the task that stand before the steps, and stay in view in every window."""
    restored_tokens: int = 512
    """Tokens of one symptom or candidate step in the second reading of ``masprism``."""
    window: int = 8192
    """Most tokens in view at once, never more than the model was made for; longer transcripts are read in windows."""
    chunk: int = 256
    """Tokens of one forward call while the cache fills: bounds the working memory."""
    alone_tokens: int = 512
    """Tokens of one batch of steps that are read without their context."""
    device: str = "auto"
    """A torch device; ``auto`` takes the GPU when there is one."""
    dtype: Dtype = "auto"
    """``auto``: bfloat16 on a GPU and on processors with bfloat16 instructions, else float32."""
    cache_dir: str | Path | None = None
    """Where readings are kept, by content, so that none is done twice; by default ``.tracer_hooks/prefill`` here."""

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise ConfigError(f"{name} is {value!r}, expected one of {', '.join(map(repr, choices))}")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value < least:
                raise ConfigError(f"{name} is {value!r}, expected at least {least}")
        if self.window < 2 * (self.task_tokens + 64):
            raise ConfigError(
                f"window is {self.window!r}, expected at least {2 * (self.task_tokens + 64)}: "
                f"twice the preamble with its {self.task_tokens} task tokens. Give a larger window or fewer task_tokens"
            )

    def reading_key(self) -> dict[str, object]:
        """The settings that a reading depends on, as JSON: what it is cached under."""
        names = ("step_tokens", "cut", "task_tokens", "window", "chunk", "alone_tokens")
        values = asdict(self)
        return {name: values[name] for name in names}
