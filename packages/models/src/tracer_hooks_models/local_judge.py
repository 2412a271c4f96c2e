"""Judge on local weights: loading with a LoRA, prompts by the model's chat template, replies token by token."""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracer_hooks.diagnosis import JudgeOptions
from tracer_hooks.endpoint import ChatCompletion, ChatMessage, ChatRequest
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.extension import require
from tracer_hooks.schema import Usage


def prompt_text(tokenizer: Any, messages: Sequence[ChatMessage]) -> tuple[str, bool]:
    """The prompt as text, and whether it is the work of a chat template."""
    if not tokenizer.chat_template:
        return "\n\n".join(message.content for message in messages) + "\n\nReply:\n", False
    try:
        return _templated(tokenizer, messages), True
    except Exception:  # templates raise what they like; those without a system role want it with the question
        first, second, *rest = messages
        joined = ChatMessage("user", f"{first.content}\n\n{second.content}")
        return _templated(tokenizer, (joined, *rest)), True


def prompt_ids(tokenizer: Any, messages: Sequence[ChatMessage], begun: str = "") -> list[int]:
    """The token ids of the prompt, and of what the reply begins with."""
    text, is_templated = prompt_text(tokenizer, messages)
    # A template writes the special tokens itself.
    return [int(token) for token in tokenizer.encode(text + begun, add_special_tokens=not is_templated)]


def _templated(tokenizer: Any, messages: Sequence[ChatMessage]) -> str:
    return str(
        tokenizer.apply_chat_template(
            [{"role": message.role, "content": message.content} for message in messages],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,  # templates that know no thinking ignore it
        )
    )


ADAPTER = "adapter_config.json"
"""The file that makes a folder one of an adapter."""
_FEATURE = "a judge from a local model"


def load_weights(directory: Path) -> tuple[Any, Any]:
    """Model and tokenizer; an adapter is laid over its base and not merged, so that it answers as it was trained.

    Raises:
        ConfigError: The directory, or the base that its adapter names, holds no model that transformers can load.
        MissingExtraError: It holds an adapter, and ``peft`` is not installed.
    """
    import transformers

    base = base_of(directory)
    peft = require("peft", extra="train", feature=f"{_FEATURE} with an adapter") if base is not None else None
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(directory, local_files_only=True)
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            directory if base is None else base, local_files_only=True, dtype="auto"
        )
        if peft is not None:
            model = peft.PeftModel.from_pretrained(model, str(directory))
    except (OSError, ValueError, KeyError) as error:
        said = " ".join(str(error).split())[:300]
        raise ConfigError(
            f"model={str(directory)!r} of the attributor 'judge' cannot be loaded: {said}. Expected a directory with a "
            "causal language model of transformers, or an adapter for one, and its tokenizer"
        ) from error
    return model, tokenizer


def base_of(directory: Path) -> Path | None:
    """The folder of the model that an adapter belongs to; None when the directory holds a whole model.

    Raises:
        ConfigError: The adapter names no folder that is there.
    """
    if not (directory / ADAPTER).is_file():
        return None
    try:
        named = json.loads((directory / ADAPTER).read_text(encoding="utf-8"))["base_model_name_or_path"]
        base = directory / str(named)  # an absolute path stays what it is
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{str(directory / ADAPTER)!r} names no base model: train the adapter again") from error
    if not base.is_dir():
        raise ConfigError(
            f"the adapter in {str(directory)!r} belongs to the model in {str(base)!r}, which is not there. Put the "
            f"model there, or its folder under 'base_model_name_or_path' in {ADAPTER}"
        )
    return base


def stamp(directory: Path) -> list[Any]:
    """Size and time of each weight file: other weights in the same place are another model."""
    base = base_of(directory)
    folders = [directory] if base is None else [directory, base]
    files = [
        path
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.suffix in (".safetensors", ".bin", ".json")
    ]
    return [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files]


CHOICE_PREFIX = '{"choice": "'
_REPLY_TOKENS = 1_024
"""Tokens of a reply where the request sets no limit."""


class LocalChat:
    """A :class:`~tracer_hooks.endpoint.ChatModel` that runs in this process: greedy, without a network.

    Nothing holds the reply to the schema, so the prompt has to; a choice among labels is read off the probabilities of
    the next token and needs one forward pass. A model is loaded once in a process and answers one question at a time.

    Raises:
        MissingExtraError: ``transformers`` or ``torch`` is not installed.
        ConfigError: The directory holds no model that transformers can load.
    """

    def __init__(self, options: JudgeOptions) -> None:
        for module in ("torch", "transformers"):
            require(module, extra="models", feature="a judge from a local model")
        directory = Path(options.model)
        self.name = directory.resolve().name
        self.identity = json.dumps(["transformers", str(directory.resolve()), stamp(directory)])
        self._model, self._tokenizer, self._lock = _load(str(directory.resolve()), self.identity)
        own = getattr(self._model.config, "max_position_embeddings", None)
        self.context_tokens = min(options.context_tokens, own) if own else options.context_tokens

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text`` by the model's own tokenizer."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    def complete(self, request: ChatRequest, *, timeout_s: float | None = None) -> ChatCompletion:
        """Answer ``request``; see :class:`~tracer_hooks.endpoint.ChatModel`.

        Raises:
            AttributionError: The prompt is longer than the model's context, no second is left, or torch failed.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with self._lock:
            if deadline is not None and time.monotonic() >= deadline:
                raise AttributionError(f"the local judge {self.name!r} was busy until the time was over")
            try:
                return self._choose(request) if request.labels else self._write(request, deadline)
            except RuntimeError as error:  # torch: out of memory, a weight that does not fit, ...
                raise AttributionError(f"the local judge {self.name!r} failed: {str(error)[:300]}") from error

    def _write(self, request: ChatRequest, deadline: float | None) -> ChatCompletion:
        import torch

        prompt = self._encode(request, "")
        length = prompt["input_ids"].shape[1]
        with torch.inference_mode():
            output = self._model.generate(
                **prompt,
                do_sample=False,
                max_new_tokens=request.max_tokens or _REPLY_TOKENS,
                max_time=None if deadline is None else max(0.001, deadline - time.monotonic()),
                pad_token_id=self._pad,
            )
        written = output[0, length:]
        ended = len(written) > 0 and int(written[-1]) in self._ends
        return ChatCompletion(
            text=self._tokenizer.decode(written, skip_special_tokens=True),
            usage=Usage(input_tokens=length, output_tokens=len(written)),
            is_cut=not ended,
        )

    def _choose(self, request: ChatRequest) -> ChatCompletion:
        import torch

        prompt = self._encode(request, CHOICE_PREFIX)
        with torch.inference_mode():
            logits = self._model(**prompt, logits_to_keep=1).logits[0, -1].float()
        logprobs = torch.log_softmax(logits, dim=-1)
        found = {label: float(logprobs[self._first_token(label)]) for label in request.labels}
        best = max(found, key=lambda label: found[label])
        return ChatCompletion(
            text=json.dumps({"choice": best}),
            usage=Usage(input_tokens=prompt["input_ids"].shape[1], output_tokens=1),
            label_logprobs=found,
        )

    def _encode(self, request: ChatRequest, begun: str) -> Any:
        import torch

        ids = torch.tensor([prompt_ids(self._tokenizer, request.messages, begun)], device=self._model.device)
        length = ids.shape[1]
        if length + (1 if request.labels else request.max_tokens or _REPLY_TOKENS) > self.context_tokens:
            raise AttributionError(
                f"a prompt of {length} tokens does not fit the context of {self.context_tokens} tokens of the local "
                f"judge {self.name!r}. Set TRACER_HOOKS_JUDGE_CONTEXT, or JudgeOptions(step_chars=...), lower"
            )
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def _first_token(self, label: str) -> int:
        return int(self._tokenizer.encode(label, add_special_tokens=False)[0])

    @property
    def _ends(self) -> set[int]:
        ends = self._model.generation_config.eos_token_id
        found = set(ends) if isinstance(ends, list) else {ends}
        return (found | {self._tokenizer.eos_token_id}) - {None}

    @property
    def _pad(self) -> int | None:
        pad: int | None = self._tokenizer.pad_token_id
        return pad if pad is not None else next(iter(sorted(self._ends)), None)


@functools.lru_cache(maxsize=1)
def _load(directory: str, identity: str) -> tuple[Any, Any, threading.Lock]:
    """Model, tokenizer and the lock that lets one question at a time through; other weights are loaded anew."""
    import torch

    model, tokenizer = load_weights(Path(directory))
    placed = model.eval().to("cuda" if torch.cuda.is_available() else "cpu")
    return placed, tokenizer, threading.Lock()
