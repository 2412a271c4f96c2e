"""Settings of the judge, from arguments, from the environment, or from the folder of a trained judge.

=================================  =================================================================================
variable                           meaning
=================================  =================================================================================
``TRACER_HOOKS_JUDGE_MODEL``       the model's name at the endpoint, or a directory with a transformers model
``TRACER_HOOKS_JUDGE_BASE_URL``    an OpenAI-compatible endpoint; default ``OPENAI_BASE_URL``, else OpenAI's own
``TRACER_HOOKS_JUDGE_API_KEY``     its key; default ``OPENAI_API_KEY`` for OpenAI and ``OPENAI_BASE_URL``
``TRACER_HOOKS_JUDGE_EXTRA_BODY``  JSON object of further fields of each request
``TRACER_HOOKS_JUDGE_PROTOCOL``    how the judge is asked, such as ``auto`` or ``shortlist``
``TRACER_HOOKS_JUDGE_CONTEXT``     tokens that prompt and reply may take together
``TRACER_HOOKS_JUDGE_BUDGET``      limits of one diagnosis, such as ``calls=50,tokens=200000,seconds=none``
``TRACER_HOOKS_JUDGE_TIMEOUT``     seconds that one request may take
=================================  =================================================================================
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from tracer_hooks.config import DEFAULT_STORE, store_path
from tracer_hooks.diagnosis._weight_files import read_weights
from tracer_hooks.errors import ConfigError

JudgeProtocol = Literal["auto", "all-at-once", "step-by-step", "binary-search", "shortlist"]
"""How the judge is asked."""

PREFIX = "TRACER_HOOKS_JUDGE_"
DEFAULT_CACHE = DEFAULT_STORE.parent / "judge"
JUDGE = "judge.json"
"""The file beside a trained judge's weights that says how it is asked."""
_ASKED = ("protocol", "proposer", "top_k", "context_tokens", "reply_tokens", "step_chars")
"""The options that decide what a prompt looks like; a model is used as it was trained only with the same ones."""
_log = logging.getLogger("tracer_hooks")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBudget:
    """Limits for one trajectory; None sets no limit. Replies from the cache cost nothing.

    Raises:
        ConfigError: A limit is not above 0.
    """

    calls: int | None = 200
    """Model calls; a request that is sent again after a refusal is one call."""
    tokens: int | None = 500_000
    """Tokens read and written; a call is not made when its prompt alone would go beyond."""
    seconds: float | None = 600.0
    """Seconds from the beginning of the diagnosis."""

    def __post_init__(self) -> None:
        for name in ("calls", "tokens", "seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"JudgeBudget({name}={value!r}): expected a number above 0, or None for no limit")


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Settings of a :class:`~tracer_hooks.diagnosis.JudgeAttributor`.

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
    """How the judge is asked; ``auto`` is ``shortlist`` when there are candidates, else ``all-at-once``, for a run
    beyond the context in windows. ``all-at-once`` by name cuts such a run's steps until it fits."""
    proposer: str | None = None
    """Attributor whose highest steps ``shortlist`` chooses among, and ``all-at-once`` cuts last; it must have a
    ``score`` method. None: ``shortlist`` takes ``structural``."""
    top_k: int = 5
    """How many steps the proposer gives; ``shortlist`` takes three at most."""
    rotations: int = 5
    """How often ``shortlist`` asks its question, at most once for each rotation of the options."""
    context_tokens: int = 32_768
    """Tokens that prompt and reply may take together. A server that has fewer may cut prompts without a word."""
    reply_tokens: int = 1_024
    """Tokens that a reply may take."""
    step_chars: int = 6_000
    """Characters of one step that are shown; of a longer one the head and the tail."""
    temperature: float | None = 0.0
    """Sampling temperature; None leaves it to the model."""
    seed: int = 0
    """Seed of sampling and of the order of options."""
    budget: JudgeBudget = field(default_factory=JudgeBudget)
    """Limits of the diagnosis of one trajectory."""
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
            expected = f"one of {', '.join(map(repr, get_args(JudgeProtocol)))}"
            gone = _GONE_PROTOCOLS.get(self.protocol)
            raise _refused("protocol", self.protocol, expected if gone is None else f"{expected}: {gone}")
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
        _warn_of_gone_variables()
        found: dict[str, Any] = {}
        for name, (read, expected) in _READERS.items():
            value = os.environ.get(variable_of(name), "").strip()
            if value:
                try:
                    found[name] = read(value)
                except (ValueError, TypeError) as error:
                    raise ConfigError(f"{variable_of(name)} is {value!r}, expected {expected}") from error
        if store_path() is None:
            found["cache_dir"] = None  # who wants no runs on the disk wants no replies there either
        unknown = set(overrides) - {option.name for option in fields(cls)}
        if unknown:
            raise ConfigError(f"unknown option {sorted(unknown)[0]!r} of the attributor 'judge'")
        return cls(**{**found, **overrides})


def variable_of(name: str) -> str:
    """The environment variable of an option that has one."""
    return PREFIX + {"context_tokens": "CONTEXT", "timeout_s": "TIMEOUT"}.get(name, name.upper())


def options_as_json(options: JudgeOptions) -> bytes:
    """The content of ``judge.json``."""
    asked = {name: getattr(options, name) for name in _ASKED}
    return (json.dumps({"attributor": "judge", "version": 1, "model": asked}, indent=1) + "\n").encode()


def saved_options(directory: Path) -> JudgeOptions:
    """The options of a folder with ``judge.json``; variables of the environment go before them.

    Raises:
        AttributionError: The file is missing, damaged, or of another version.
        ConfigError: A variable holds a value that cannot be used.
    """

    def made(document: dict[str, Any]) -> JudgeOptions:
        if document["version"] != 1:
            raise ValueError("it is of another version than 1")
        asked = {name: document["model"][name] for name in _ASKED}
        JudgeOptions(**asked)
        own = {
            name: value
            for name, value in asked.items()
            if name not in _READERS or not os.environ.get(variable_of(name), "").strip()
        }
        return replace(JudgeOptions.from_env(), model=str(directory), base_url=None, **own)

    again = "train the judge again with `tracer-hooks train sft` or `train grpo`"
    return read_weights(directory / JUDGE, made, what="trained judge", again=again)


def _warn_of_gone_variables() -> None:
    """Say once in a process which variables are set that nothing reads any more, and what to use instead."""
    for name, instead in _GONE_VARIABLES.items():
        if os.environ.get(PREFIX + name, "").strip() and name not in _warned_of:
            _warned_of.add(name)
            _log.warning("%s is no longer read: %s", PREFIX + name, instead)


def _refused(name: str, value: object, expected: str) -> ConfigError:
    return ConfigError(f"{name}={value!r} of the attributor 'judge' cannot be used, expected {expected}")


def _object(value: str) -> dict[str, Any]:
    read = json.loads(value)
    if not isinstance(read, dict):
        raise TypeError
    return read


def _budget(value: str) -> JudgeBudget:
    limits: dict[str, Any] = {}
    for part in value.split(","):
        name, _, number = (piece.strip() for piece in part.partition("="))
        read = {"calls": int, "tokens": int, "seconds": float}.get(name)
        if read is None or name in limits:
            raise ValueError
        limits[name] = None if number.lower() == "none" else read(number)
    return JudgeBudget(**limits)


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "model": (str, "a name"),
    "base_url": (str, "a URL"),
    "extra_body": (_object, "a JSON object"),
    "protocol": (str, "a protocol"),
    "context_tokens": (int, "a whole number"),
    "budget": (_budget, "limits such as 'calls=50,tokens=200000,seconds=none'"),
    "timeout_s": (float, "a number"),
}
_LEAST = {
    "top_k": 1,
    "rotations": 1,
    "context_tokens": 1_024,
    "reply_tokens": 32,
    "step_chars": 100,
    "temperature": 0,
    "timeout_s": 0.001,
    "attempts": 1,
    "backoff_s": 0,
    "concurrency": 1,
}
_GONE_PROTOCOLS = {
    "ranked": "'ranked' is gone, use 'shortlist'",
    "windowed": "'windowed' is gone, 'auto' reads runs beyond the context in windows",
}
_IN_PYTHON = (
    *("proposer", "top_k", "rotations", "temperature", "seed", "attempts", "concurrency", "step_chars"),
    *("reply_tokens", "cache_dir", "call_log"),
)
_GONE_VARIABLES = {
    {"reply_tokens": "REPLY", "cache_dir": "CACHE", "call_log": "LOG"}.get(name, name.upper()): (
        f"hand JudgeOptions({name}=...) to JudgeAttributor in Python"
    )
    for name in _IN_PYTHON
} | {
    "CACHE": "hand JudgeOptions(cache_dir=...) to JudgeAttributor in Python, or set TRACER_HOOKS_STORE=off to keep "
    "neither replies nor runs",
    "API_KEY_ENV": f"set {PREFIX}API_KEY to the key itself",
    "CALLS": f"set {PREFIX}BUDGET=calls=...",
    "TOKENS": f"set {PREFIX}BUDGET=tokens=...",
    "SECONDS": f"set {PREFIX}BUDGET=seconds=...",
    "LOGPROBS": "log-probabilities are used wherever the endpoint gives them",
    "WINDOW": f"a window takes what fits {PREFIX}CONTEXT",
    "OVERLAP": "neighbouring windows share two steps",
}
_warned_of: set[str] = set()
