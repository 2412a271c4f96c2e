"""A local causal language model, ready to read."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracer_hooks._optional import require
from tracer_hooks.attribution._prefill._attention import IMPLEMENTATION, register_recording
from tracer_hooks.attribution._prefill._options import PrefillOptions
from tracer_hooks.errors import ConfigError, MissingExtraError

MODEL_VARIABLE = "TRACER_HOOKS_PREFILL_MODEL"
_FEATURE = "attributor 'prefill'"
_SAMPLE = 1 << 20
_WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt", ".pth")
_HIDDEN_DEPTHS = (0.5, 0.75)
_FLOW_SHARE = 0.2


def model_path(option: str | Path | None) -> Path:
    """Where the model lies: the option, else the environment variable.

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
    torch = require("torch", extra="model", feature=_FEATURE)
    transformers = require("transformers", extra="model", feature=_FEATURE)
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
    """What ``from_pretrained`` is called with."""
    if path.suffix != ".gguf":
        return str(path), {"tokenizer": {}, "network": {}}
    for module in ("gguf", "accelerate"):
        try:
            require(module, extra="model", feature=f"{_FEATURE} with a GGUF file")
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
    _, dtype = _number_format(require("torch", extra="model", feature=_FEATURE), options)
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
