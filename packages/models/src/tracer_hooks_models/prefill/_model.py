"""Local causal language model, its options, and the recording of its attention between steps."""

from __future__ import annotations

import hashlib
import os
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from tracer_hooks.errors import ConfigError, MissingExtraError
from tracer_hooks.extension import require

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


IMPLEMENTATION = "tracer_hooks_recording"
"""Name under which transformers knows our attention function."""
_recorder: ContextVar[AttentionRecorder | None] = ContextVar("tracer_hooks_attention_recorder", default=None)


class AttentionRecorder:
    """Sums attention by pairs of steps over the heads of some layers.

    Args:
        torch: The module.
        steps: How many steps there are.
        layers: Indices of the layers to record.
        device: Where the sums are kept.
    """

    def __init__(self, torch: Any, *, steps: int, layers: frozenset[int], device: str) -> None:
        self._torch = torch
        self._layers = layers
        self._bins = steps + 1
        self.sums = torch.zeros((self._bins, self._bins), dtype=torch.float32, device=device)
        """Attention from the row's step to the column's, over tokens and layers; the last bin is all other text."""
        self.calls = 0
        """How many layers have been recorded so far."""
        self._rows: Any = None
        self._columns: Any = None

    def expect(self, rows: Any, columns: Any) -> None:
        """Say what the next chunk holds.

        Args:
            rows: The step that each token of the chunk belongs to; ``steps`` for a token that is not to be recorded.
            columns: The step of every token in view, the chunk included.
        """
        eye = self._torch.eye(self._bins, dtype=self._torch.float32, device=self.sums.device)
        self._rows, self._columns = eye[rows], eye[columns]

    def __enter__(self) -> AttentionRecorder:
        self._token = _recorder.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _recorder.reset(self._token)

    def record(self, module: Any, query: Any, key: Any, mask: Any, scaling: float | None) -> None:
        """Add one layer's attention of the chunk: ``query`` (1, heads, rows, size), ``key`` (1, groups, keys, size)."""
        if getattr(module, "layer_idx", None) not in self._layers:
            return
        weights = self._mean_weights(query, key, mask, scaling if scaling is not None else query.shape[-1] ** -0.5)
        # A layer with a sliding window holds only the newest keys.
        columns = self._columns[-key.shape[2] :]
        self.sums += self._rows.T @ (weights @ columns)
        self.calls += 1

    def _mean_weights(self, query: Any, key: Any, mask: Any, scaling: float) -> Any:
        """Attention of each row to each key, averaged over the heads; one head at a time, to save memory."""
        torch = self._torch
        heads, rows, keys = query.shape[1], query.shape[2], key.shape[2]
        allowed = _allowed(torch, rows, keys, mask, query.device)
        total = torch.zeros((rows, keys), dtype=torch.float32, device=query.device)
        for head in range(heads):
            group = key[0, head * key.shape[1] // heads]
            raw = torch.addmm(allowed, query[0, head].float(), group.float().T, alpha=scaling)
            total += torch.softmax(raw, dim=-1)
        return total / heads


def _allowed(torch: Any, rows: int, keys: int, mask: Any, device: Any) -> Any:
    """0 where a row may look, minus infinity elsewhere: no row ahead of itself, and what the model's mask says."""
    ahead = torch.arange(keys, device=device) > torch.arange(rows, device=device)[:, None] + keys - rows
    bias = torch.zeros((rows, keys), dtype=torch.float32, device=device).masked_fill_(ahead, float("-inf"))
    if mask is None:
        return bias
    part = mask[0, 0, :, :keys]
    return bias.masked_fill_(~part, float("-inf")) if part.dtype == torch.bool else bias + part.float()


def _attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **kwargs: Any) -> Any:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    recorder = _recorder.get()
    if recorder is not None:
        recorder.record(module, query, key, attention_mask, kwargs.get("scaling"))
    return sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)


def register_recording() -> None:
    """Make our attention function known to transformers; it computes what its own does."""
    from transformers import AttentionInterface

    AttentionInterface.register(IMPLEMENTATION, _attend)
    try:
        from transformers import AttentionMaskInterface
        from transformers.masking_utils import sdpa_mask
    except ImportError:  # before 4.53, models made their masks themselves
        return
    AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)


MODEL_VARIABLE = "TRACER_HOOKS_PREFILL_MODEL"
_FEATURE = "attributor 'prefill'"
_SAMPLE = 1 << 20
_WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt", ".pth")
_HIDDEN_DEPTHS = (0.5, 0.75)
_FLOW_SHARE = 0.2


def model_path(option: str | Path | None) -> Path:
    """Find the model: by the option, else by the environment variable.

    Raises:
        ConfigError: Neither is set, or there is no model at that place.
    """
    given = option if option is not None else os.environ.get(MODEL_VARIABLE)
    if not given:
        raise ConfigError(
            f"{_FEATURE} needs a local causal language model and none is set; expected a directory with config.json "
            f"or a .gguf file. Run: export {MODEL_VARIABLE}=/path/to/model"
        )
    path = Path(given).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        return path
    if not (path / "config.json").is_file():
        raise ConfigError(
            f"no language model at {str(given)!r}: expected a directory with config.json or a .gguf file. "
            f"Run: export {MODEL_VARIABLE}=/path/to/model"
        )
    return path


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A loaded model with its tokenizer."""

    network: Any
    """The causal language model, in evaluation mode."""
    tokenizer: Any
    """Its fast tokenizer."""
    torch: Any
    """The module torch."""
    device: str
    """Where it computes."""
    window: int
    """Most tokens it can have in view."""

    @property
    def layers(self) -> int:
        """Number of decoder layers."""
        return int(self.network.config.get_text_config().num_hidden_layers)

    @property
    def hidden_layers(self) -> tuple[int, ...]:
        """Layers whose output is kept: one in the middle and one at three quarters of the depth."""
        return tuple(dict.fromkeys(max(1, round(self.layers * depth)) for depth in _HIDDEN_DEPTHS))

    @property
    def flow_layers(self) -> frozenset[int]:
        """Layers whose attention is kept: the last fifth, as in MASPrism."""
        count = max(1, round(self.layers * _FLOW_SHARE))
        return frozenset(range(self.layers - count, self.layers))


def load_model(path: Path, options: PrefillOptions) -> LocalModel:
    """Load the model at ``path``; seconds to a minute, nothing is downloaded.

    Raises:
        MissingExtraError: torch or transformers, or what a GGUF file needs, is not installed.
        ConfigError: The model cannot be used.
    """
    torch = require("torch", extra="models", feature=_FEATURE)
    transformers = require("transformers", extra="models", feature=_FEATURE)
    register_recording()
    device, dtype = _number_format(torch, options)
    place, how = _source(path, transformers)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, local_files_only=True, **how["tokenizer"])
        network = transformers.AutoModelForCausalLM.from_pretrained(
            place,
            local_files_only=True,
            dtype=getattr(torch, dtype),
            attn_implementation=IMPLEMENTATION,
            **how["network"],
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ConfigError(
            f"the language model {str(path)!r} cannot be loaded: {error}. Expected a decoder that transformers reads; "
            f"set {MODEL_VARIABLE} to another"
        ) from error
    if not tokenizer.is_fast:
        raise ConfigError(f"{str(path)!r} has no fast tokenizer; expected one with tokenizer.json")
    network.eval().to(device)
    return LocalModel(
        network=network,
        tokenizer=tokenizer,
        torch=torch,
        device=device,
        window=_window(network, options.window),
    )


def _source(path: Path, transformers: Any) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the arguments for ``from_pretrained``."""
    if path.suffix != ".gguf":
        return str(path), {"tokenizer": {}, "network": {}}
    for module in ("gguf", "accelerate"):
        try:
            require(module, extra="models", feature=f"{_FEATURE} with a GGUF file")
        except MissingExtraError as error:
            raise MissingExtraError(f"{_FEATURE} with a GGUF file", module) from error
    named: dict[str, Any] = {"gguf_file": path.name}
    # Newer releases may keep the weights packed, for which they fetch kernels from a hub.
    packing = getattr(transformers, "GgufConfig", None)
    unpacked = {"quantization_config": packing(dequantize=True)} if packing is not None else {}
    return str(path.parent), {"tokenizer": named, "network": {**named, **unpacked}}


def _number_format(torch: Any, options: PrefillOptions) -> tuple[str, str]:
    """The device and the name of the dtype."""
    device = options.device if options.device != "auto" else ("cuda" if torch.cuda.is_available() else "cpu")
    return device, options.dtype if options.dtype != "auto" else _best_dtype(torch, device)


def _best_dtype(torch: Any, device: str) -> str:
    if device.startswith("cuda"):
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    tests = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return "bfloat16" if any(getattr(torch.cpu, test, lambda: False)() for test in tests) else "float32"


def _window(network: Any, wanted: int) -> int:
    limit = getattr(network.config.get_text_config(), "max_position_embeddings", None)
    return min(wanted, limit) if isinstance(limit, int) and limit > 0 else wanted


def fingerprint_of(path: Path, options: PrefillOptions) -> str:
    """Sixteen hex digits that change with the weights, the tokenizer or the number format; the model is not loaded.

    Of a file of weights, its size, beginning and end are taken, since gigabytes take long to read.

    Raises:
        MissingExtraError: torch is not installed.
    """
    _, dtype = _number_format(require("torch", extra="models", feature=_FEATURE), options)
    files = [path] if path.is_file() else sorted(one for one in path.iterdir() if one.is_file())
    digest = hashlib.sha256(dtype.encode())
    for file in files:
        if file.suffix in _WEIGHTS:
            digest.update(_sample(file))
        elif file.suffix in (".json", ".model", ".txt"):
            digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _sample(file: Path) -> bytes:
    size = file.stat().st_size
    with file.open("rb") as handle:
        head = handle.read(_SAMPLE)
        handle.seek(max(0, size - _SAMPLE))
        return str(size).encode() + head + handle.read()
