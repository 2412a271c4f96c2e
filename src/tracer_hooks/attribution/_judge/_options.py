"""Settings of the judge, from arguments or from the environment.

==================================  ================================================================================
variable                            meaning
==================================  ================================================================================
``TRACER_HOOKS_JUDGE_MODEL``        the model's name at the endpoint, or a directory with a transformers model
``TRACER_HOOKS_JUDGE_BASE_URL``     an OpenAI-compatible endpoint; default ``OPENAI_BASE_URL``, else OpenAI's own
``TRACER_HOOKS_JUDGE_API_KEY_ENV``  name of the variable that holds the key
``TRACER_HOOKS_JUDGE_EXTRA_BODY``   JSON object of further fields of each request
``TRACER_HOOKS_JUDGE_PROTOCOL``     how the judge is asked, such as ``auto`` or ``all-at-once``
``TRACER_HOOKS_JUDGE_PROPOSER``     attributor whose highest steps ``ranked`` chooses among
``TRACER_HOOKS_JUDGE_TOP_K``        how many of its steps
``TRACER_HOOKS_JUDGE_ROTATIONS``    how often ``ranked`` asks each question, with the options in another order
``TRACER_HOOKS_JUDGE_LOGPROBS``     ``0``: count votes and ask for no log-probabilities
``TRACER_HOOKS_JUDGE_CONTEXT``      tokens that prompt and reply may take together
``TRACER_HOOKS_JUDGE_REPLY``        tokens that a reply may take
``TRACER_HOOKS_JUDGE_WINDOW``       tokens of one window of ``windowed``; default what fits
``TRACER_HOOKS_JUDGE_OVERLAP``      steps that neighbouring windows share
``TRACER_HOOKS_JUDGE_STEP_CHARS``   characters of one step that are shown, from its head and its tail
``TRACER_HOOKS_JUDGE_TEMPERATURE``  sampling temperature; ``none`` leaves it to the model
``TRACER_HOOKS_JUDGE_SEED``         seed of sampling and of the order of options
``TRACER_HOOKS_JUDGE_CALLS``        model calls for one trajectory, ``none`` for no limit
``TRACER_HOOKS_JUDGE_TOKENS``       tokens for one trajectory, ``none`` for no limit
``TRACER_HOOKS_JUDGE_SECONDS``      seconds for one trajectory, ``none`` for no limit
``TRACER_HOOKS_JUDGE_TIMEOUT``      seconds that one request may take
``TRACER_HOOKS_JUDGE_ATTEMPTS``     how often a request is sent that is refused with 429 or 5xx, or times out
``TRACER_HOOKS_JUDGE_CONCURRENCY``  trajectories that are judged at the same time
``TRACER_HOOKS_JUDGE_CACHE``        directory of accepted replies, or ``off``
``TRACER_HOOKS_JUDGE_LOG``          JSON lines file that every call is written to, with its prompt
==================================  ================================================================================
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from tracer_hooks.attribution._judge._budget import JudgeBudget
from tracer_hooks.config import DEFAULT_STORE, store_path
from tracer_hooks.errors import ConfigError

JudgeProtocol = Literal["auto", "all-at-once", "step-by-step", "binary-search", "windowed", "ranked", "shortlist"]
"""How the judge is asked."""

PREFIX = "TRACER_HOOKS_JUDGE_"
DEFAULT_CACHE = DEFAULT_STORE.parent / "judge"


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Settings of a :class:`~tracer_hooks.attribution.JudgeAttributor`.

    Raises:
        ConfigError: A value cannot be used.
    """

    model: str = ""
    """The model's name at the endpoint, or a directory with a transformers model."""
    base_url: str | None = None
    """An OpenAI-compatible endpoint such as ``http://127.0.0.1:8000/v1``. None: a local model when ``model`` is a
    directory, else ``OPENAI_BASE_URL``, else OpenAI's own."""
    api_key_env: str | None = None
    """Name of the variable that holds the key. None: ``TRACER_HOOKS_JUDGE_API_KEY``, else ``OPENAI_API_KEY``; the
    latter goes only to OpenAI or to the endpoint in ``OPENAI_BASE_URL``, never to another one in ``base_url``."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of each request, such as ``{"chat_template_kwargs": {"enable_thinking": False}}``."""
    protocol: JudgeProtocol = "auto"
    """How the judge is asked; ``auto`` is ``ranked`` when there are candidates, else ``all-at-once`` when the trace
    fits the context, else ``windowed``."""
    proposer: str | None = None
    """Attributor whose highest steps ``ranked`` and ``shortlist`` choose among, and ``all-at-once`` cuts last; it must
    have a ``score`` method. None: ``shortlist`` takes ``structural``, ``ranked`` takes every step."""
    top_k: int = 5
    """How many steps ``ranked`` takes from the proposer; ``shortlist`` takes three at most."""
    rotations: int = 5
    """How often ``ranked`` and ``shortlist`` ask each question, at most once for each rotation of the options."""
    logprobs: bool = True
    """Whether these two ask for log-probabilities; without them it counts votes."""
    context_tokens: int = 32_768
    """Tokens that prompt and reply may take together. A server that has fewer may cut prompts without a word."""
    reply_tokens: int = 1_024
    """Tokens that a reply may take."""
    window_tokens: int | None = None
    """Tokens of one window of ``windowed``; None takes what fits."""
    window_overlap: int = 2
    """Steps that neighbouring windows share."""
    step_chars: int = 6_000
    """Characters of one step that are shown; of a longer one the head and the tail."""
    temperature: float | None = 0.0
    """Sampling temperature; None leaves it to the model."""
    seed: int = 0
    """Seed of sampling and of the order of options."""
    budget: JudgeBudget = field(default_factory=JudgeBudget)
    """What the diagnosis of one trajectory may cost."""
    timeout_s: float = 120.0
    """Seconds that one request may take."""
    attempts: int = 4
    """How often a request is sent that is refused with 429 or 5xx, or times out."""
    backoff_s: float = 1.0
    """Seconds before the second attempt, doubled for each further one; a server's Retry-After goes before it."""
    concurrency: int = 4
    """Trajectories of a file or folder that are judged at the same time."""
    cache_dir: Path | None = DEFAULT_CACHE
    """Directory of accepted replies; None keeps none."""
    call_log: Path | None = None
    """JSON lines file that every call is written to, prompts and replies included."""

    def __post_init__(self) -> None:
        if self.protocol not in get_args(JudgeProtocol):
            raise _refused("protocol", self.protocol, f"one of {', '.join(map(repr, get_args(JudgeProtocol)))}")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise _refused(name, value, f"a number of {least} or more")
        if self.reply_tokens * 2 > self.context_tokens:
            raise _refused("reply_tokens", self.reply_tokens, f"half of context_tokens={self.context_tokens} or less")

    @classmethod
    def from_env(cls, **overrides: Any) -> JudgeOptions:
        """Settings from the environment; each argument goes before its variable.

        Raises:
            ConfigError: A variable or argument holds a value that cannot be used.
        """
        found: dict[str, Any] = {}
        limits: dict[str, Any] = {}
        for name, read in _READERS.items():
            value = os.environ.get(variable_of(name), "").strip()
            if value:
                (limits if name in _BUDGET else found)[name] = _read(name, value, read)
        found["budget"] = replace(JudgeBudget(), **limits)
        if "cache_dir" not in found and store_path() is None:
            found["cache_dir"] = None  # who wants no runs on the disk wants no replies there either
        unknown = set(overrides) - {each.name for each in fields(cls)}
        if unknown:
            raise ConfigError(f"unknown option {sorted(unknown)[0]!r} of the attributor 'judge'")
        return cls(**{**found, **overrides})


def variable_of(name: str) -> str:
    """The environment variable of an option or of a limit of the budget."""
    return PREFIX + _SHORT.get(name, name.upper())


def _read(name: str, value: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(value)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{variable_of(name)} is {value!r}, expected {_EXPECTED[read]}") from error


def _refused(name: str, value: object, expected: str) -> ConfigError:
    return ConfigError(f"{name}={value!r} of the attributor 'judge' cannot be used, expected {expected}")


def _flag(value: str) -> bool:
    if value.lower() not in ("0", "1", "false", "true"):
        raise ValueError
    return value.lower() in ("1", "true")


def _whole(value: str) -> int | None:
    return None if value.lower() == "none" else int(value)


def _number(value: str) -> float | None:
    return None if value.lower() == "none" else float(value)


def _path(value: str) -> Path | None:
    return None if value.lower() == "off" else Path(value)


def _object(value: str) -> dict[str, Any]:
    read = json.loads(value)
    if not isinstance(read, dict):
        raise TypeError
    return read


_BUDGET = ("calls", "tokens", "seconds")
_SHORT = {
    "context_tokens": "CONTEXT",
    "reply_tokens": "REPLY",
    "window_tokens": "WINDOW",
    "window_overlap": "OVERLAP",
    "timeout_s": "TIMEOUT",
    "cache_dir": "CACHE",
    "call_log": "LOG",
}
_READERS: dict[str, Callable[[str], Any]] = {
    "model": str,
    "base_url": str,
    "api_key_env": str,
    "extra_body": _object,
    "protocol": str,
    "proposer": str,
    "top_k": int,
    "rotations": int,
    "logprobs": _flag,
    "context_tokens": int,
    "reply_tokens": int,
    "window_tokens": _whole,
    "window_overlap": int,
    "step_chars": int,
    "temperature": _number,
    "seed": int,
    "calls": _whole,
    "tokens": _whole,
    "seconds": _number,
    "timeout_s": float,
    "attempts": int,
    "concurrency": int,
    "cache_dir": _path,
    "call_log": _path,
}
_EXPECTED: dict[Callable[[str], Any], str] = {
    _object: "a JSON object",
    _flag: "'0' or '1'",
    _whole: "a whole number or 'none'",
    _number: "a number or 'none'",
    int: "a whole number",
    float: "a number",
}
_LEAST = {
    "top_k": 1,
    "rotations": 1,
    "context_tokens": 1_024,
    "reply_tokens": 32,
    "window_tokens": 256,
    "window_overlap": 0,
    "step_chars": 100,
    "temperature": 0,
    "timeout_s": 0.001,
    "attempts": 1,
    "backoff_s": 0,
    "concurrency": 1,
}
