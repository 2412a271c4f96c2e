"""A fitted attributor in a directory."""

from __future__ import annotations

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
from tracer_hooks.attribution._saved import read_saved, write_saved
from tracer_hooks.errors import AttributionError

if TYPE_CHECKING:
    from tracer_hooks.attribution._prefill._attributor import PrefillAttributor

PROBE_FILE = "prefill.npz"
_VERSION = 1
_AGAIN = "tracer-hooks fit --attributor prefill --labels PATH --out DIR"


def save(attributor: PrefillAttributor, directory: Path) -> None:
    """Write ``prefill.json`` and, when there is a probe, ``prefill.npz``."""
    options = {
        name: str(value) if isinstance(value, Path) else value for name, value in asdict(attributor.options).items()
    }
    options["model"] = str(attributor.path.resolve())
    model = {
        "fingerprint": attributor.fingerprint,
        "columns": [*SIGNALS, *PLACES],
        "fitted": attributor.probe is not None,
        "options": options,
    }
    write_saved(directory, name=attributor.name, version=_VERSION, model=model)
    (directory / PROBE_FILE).unlink(missing_ok=True)
    if attributor.probe is not None:
        compression = attributor.probe.compression
        np.savez_compressed(
            directory / PROBE_FILE,
            spread=compression.spread.astype(np.float32),
            basis=compression.basis.astype(np.float32),
            weights=attributor.probe.weights,
        )


def load(directory: Path) -> tuple[PrefillOptions, Probe | None]:
    """Options and probe from a directory; see :meth:`PrefillAttributor.load`.

    Raises:
        AttributionError: The directory holds no such attributor, or its probe belongs to another language model.
        ConfigError: The language model is not there, or an option has a value that cannot be used.
    """
    model = read_saved(directory, name="prefill", version=_VERSION)
    options = _options(model, directory)
    if not model.get("fitted"):
        return options, None
    path = model_path(options.model)
    found = fingerprint_of(path, options)
    if found != model.get("fingerprint"):
        raise AttributionError(
            f"the probe in {str(directory)!r} was fitted on another language model or number format than {str(path)!r} "
            f"(fingerprint {model.get('fingerprint')!r}, here {found!r}). "
            f"Set {MODEL_VARIABLE} to that model, or run: {_AGAIN}"
        )
    if model.get("columns") != [*SIGNALS, *PLACES]:
        raise AttributionError(
            f"the probe in {str(directory)!r} is for other signals than this release's. Run: {_AGAIN}"
        )
    return options, _probe(directory)


def _options(model: dict[str, Any], directory: Path) -> PrefillOptions:
    try:
        given = dict(model["options"])
        given["model"] = os.environ.get(MODEL_VARIABLE) or given["model"]
        return PrefillOptions(**given)
    except (KeyError, TypeError) as error:
        raise AttributionError(
            f"the options of the attributor in {str(directory)!r} cannot be used: {error}; expected those of "
            f"PrefillOptions. Run: {_AGAIN}"
        ) from error


def _probe(directory: Path) -> Probe:
    file = directory / PROBE_FILE
    try:
        with file.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
            compression = Compression(arrays["spread"].astype(np.float64), arrays["basis"].astype(np.float64))
            return Probe(compression, arrays["weights"].astype(np.float64))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise AttributionError(
            f"{str(file)!r} cannot be read: {error}; expected the arrays of a probe. Run: {_AGAIN}"
        ) from error
