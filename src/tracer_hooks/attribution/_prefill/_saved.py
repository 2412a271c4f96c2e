"""A fitted attributor in a directory."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracer_hooks.attribution._prefill._model import MODEL_VARIABLE, fingerprint_of, model_path
from tracer_hooks.attribution._prefill._options import PrefillOptions
from tracer_hooks.attribution._prefill._probe import Compression, Probe
from tracer_hooks.attribution._prefill._signals import PLACES, SIGNALS
from tracer_hooks.errors import AttributionError, ConfigError

if TYPE_CHECKING:
    from tracer_hooks.attribution._prefill._attributor import PrefillAttributor

SETTINGS_FILE = "prefill.json"
PROBE_FILE = "prefill.npz"
_FORMAT = 1


def save(attributor: PrefillAttributor, directory: Path) -> None:
    """Write ``prefill.json`` and, when there is a probe, ``prefill.npz``."""
    directory.mkdir(parents=True, exist_ok=True)
    options = {
        name: str(value) if isinstance(value, Path) else value for name, value in asdict(attributor.options).items()
    }
    options["model"] = str(attributor.path.resolve())
    settings = {
        "attributor": attributor.name,
        "format": _FORMAT,
        "fingerprint": attributor.fingerprint,
        "columns": [*SIGNALS, *PLACES],
        "fitted": attributor.probe is not None,
        "options": options,
    }
    (directory / PROBE_FILE).unlink(missing_ok=True)
    if attributor.probe is not None:
        compression = attributor.probe.compression
        np.savez_compressed(
            directory / PROBE_FILE,
            spread=compression.spread.astype(np.float32),
            basis=compression.basis.astype(np.float32),
            weights=attributor.probe.weights,
        )
    (directory / SETTINGS_FILE).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def load(directory: Path) -> tuple[PrefillOptions, Probe | None]:
    """Options and probe from a directory; see :meth:`PrefillAttributor.load`.

    Raises:
        AttributionError: The directory holds no such attributor, or its probe belongs to another language model.
        ConfigError: The language model is not there, or an option has a value that cannot be used.
    """
    settings = _settings(directory)
    given = dict(settings["options"])
    if os.environ.get(MODEL_VARIABLE):
        given["model"] = os.environ[MODEL_VARIABLE]
    try:
        options = PrefillOptions(**given)
    except TypeError as error:
        raise ConfigError(f"{str(directory / SETTINGS_FILE)!r} has an option that is not known: {error}") from error
    if not settings["fitted"]:
        return options, None
    path = model_path(options.model)
    found = fingerprint_of(path, options)
    if found != settings["fingerprint"]:
        raise AttributionError(
            f"the probe in {str(directory)!r} was fitted on another language model or number format than {str(path)!r} "
            f"(fingerprint {settings['fingerprint']!r}, here {found!r}). "
            f"Set {MODEL_VARIABLE} to that model, or run: tracer-hooks fit --attributor prefill"
        )
    return options, _probe(directory)


def _settings(directory: Path) -> dict[str, Any]:
    file = directory / SETTINGS_FILE
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AttributionError(
            f"no saved attributor 'prefill' in {str(directory)!r}: expected {SETTINGS_FILE!r} ({error}). "
            "Run: tracer-hooks fit --attributor prefill"
        ) from error
    expected = {"attributor": "prefill", "format": _FORMAT, "columns": [*SIGNALS, *PLACES]}
    if not isinstance(settings, dict) or any(settings.get(name) != value for name, value in expected.items()):
        raise AttributionError(
            f"{str(file)!r} is of another attributor or version; expected attributor 'prefill', format {_FORMAT}. "
            "Run: tracer-hooks fit --attributor prefill"
        )
    return settings


def _probe(directory: Path) -> Probe:
    file = directory / PROBE_FILE
    try:
        with file.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
            compression = Compression(arrays["spread"].astype(np.float64), arrays["basis"].astype(np.float64))
            return Probe(compression, arrays["weights"].astype(np.float64))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise AttributionError(
            f"{str(file)!r} cannot be read: {error}; expected the arrays of a probe. "
            "Run: tracer-hooks fit --attributor prefill"
        ) from error
