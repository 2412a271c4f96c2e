"""A fitted attributor in a directory."""

from __future__ import annotations

import io
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter

from tracer_hooks._limits import brief
from tracer_hooks.attribution._prefill._model import MODEL_VARIABLE, fingerprint_of, model_path
from tracer_hooks.attribution._prefill._options import PrefillOptions
from tracer_hooks.attribution._prefill._probe import Compression, Probe
from tracer_hooks.attribution._prefill._signals import PLACES, SIGNALS
from tracer_hooks.attribution._saved import read_saved, write_saved
from tracer_hooks.attribution._weight_files import reason_of
from tracer_hooks.errors import AttributionError

if TYPE_CHECKING:
    from tracer_hooks.attribution._prefill._attributor import PrefillAttributor

PROBE_FILE = "prefill.npz"
_VERSION = 1
_OPTIONS = TypeAdapter(PrefillOptions)
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
    beside = {} if attributor.probe is None else {PROBE_FILE: _bytes_of(attributor.probe)}
    write_saved(directory, name=attributor.name, version=_VERSION, model=model, beside=beside)
    if attributor.probe is None:
        (directory / PROBE_FILE).unlink(missing_ok=True)


def _bytes_of(probe: Probe) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        spread=probe.compression.spread.astype(np.float32),
        basis=probe.compression.basis.astype(np.float32),
        weights=probe.weights,
    )
    return buffer.getvalue()


def load(directory: Path) -> tuple[PrefillOptions, Probe | None]:
    """Options and probe from a directory; see :meth:`PrefillAttributor.load`.

    Raises:
        AttributionError: The directory holds no such attributor, or its probe belongs to another language model.
        ConfigError: The language model is not there, or an option has a value that cannot be used.
    """
    model, options = read_saved(directory, name="prefill", version=_VERSION, make=lambda data: (data, _options(data)))
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


def _options(model: dict[str, Any]) -> PrefillOptions:
    given = dict(model["options"])
    given["model"] = os.environ.get(MODEL_VARIABLE) or given["model"]
    _OPTIONS.validate_python(given)
    return PrefillOptions(**given)  # which takes no option that it does not know


def _checked(probe: Probe) -> Probe:
    spread, basis = probe.compression.spread, probe.compression.basis
    if spread.ndim != 1 or basis.ndim != 2 or len(basis) != len(spread):
        raise ValueError("the arrays of the compression do not fit each other")
    if probe.weights.shape != (len(SIGNALS) + len(PLACES) + basis.shape[1],):
        raise ValueError("there is not one weight for each signal, place and component")
    if not all(np.isfinite(one).all() for one in (spread, basis, probe.weights)) or not (spread > 0).all():
        raise ValueError("a number is not finite, or a spread not positive")
    return probe


def _probe(directory: Path) -> Probe:
    file = directory / PROBE_FILE
    try:
        with file.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
            compression = Compression(arrays["spread"].astype(np.float64), arrays["basis"].astype(np.float64))
            return _checked(Probe(compression, arrays["weights"].astype(np.float64)))
    except Exception as error:  # an archive with a damaged part may raise anything
        raise AttributionError(
            f"{str(file)!r} cannot be read: {brief(reason_of(error))}; expected the arrays of a probe. Run: {_AGAIN}"
        ) from error
