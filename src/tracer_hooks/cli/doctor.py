"""``tracer-hooks doctor``."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from tempfile import TemporaryFile

from rich.text import Text

from tracer_hooks._version import __version__
from tracer_hooks.cli._options import Json
from tracer_hooks.cli.console import out, print_json
from tracer_hooks.config import store_place
from tracer_hooks.errors import ADAPTERS, AdapterError, TracerHooksError, install_line

_LOCK_S = 0.5
"""A run of another process holds the lock for milliseconds."""
_DISTRIBUTIONS = {
    "lab": "faults, data sets, task suites, calibration",
    "models": "what needs PyTorch: encoder, prefill, a local judge, training",
    "testing": "the contract of adapters, as tests",
}
GROUP = "tracer_hooks.doctor"
"""Entry points of this group are functions that give findings of another distribution."""


@dataclass(frozen=True)
class DoctorFinding:
    """One thing that was looked at."""

    kind: str
    name: str
    works: bool
    detail: str
    advice: str = ""


def doctor_command(as_json: Json = False) -> None:
    """Say what is installed, which adapters and attributors work, and what to install for the rest."""
    findings = [
        DoctorFinding("package", "tracer-hooks", True, f"{__version__}, Python {platform.python_version()}"),
        *_adapters(),
        *_attributors(),
        *_distributions(),
        _store(),
    ]
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        for line in _lines(findings):
            out().print(line, soft_wrap=True)  # a command that is recommended stays whole at any width


def _adapters() -> list[DoctorFinding]:
    from tracer_hooks.frameworks import find_adapters

    findings = []
    found = {item.name: item for item in find_adapters()}
    for name in dict.fromkeys([*found, *ADAPTERS]):
        item = found.get(name)
        try:
            if item is None or item.adapter is None:
                raise AdapterError((item and item.problem) or "not installed")
            version = item.adapter.framework_version()
        except Exception as error:  # a third party's adapter may fail in any way; that is what is to be said
            findings.append(DoctorFinding("adapter", name, False, _words(error), install_line(name)))
        else:
            findings.append(DoctorFinding("adapter", name, True, f"{item.adapter.name} {version}"))
    return findings


def _attributors() -> list[DoctorFinding]:
    from tracer_hooks.diagnosis import attributor_names, get_attributor

    findings = []
    for name in attributor_names():
        try:
            made = get_attributor(name)  # made, not asked: some would load a language model or call an endpoint
        except Exception as error:
            findings.append(DoctorFinding("attributor", name, False, _words(error)))
        else:
            detail = "ready" if made.name == name else f"takes {made.name!r}"
            findings.append(DoctorFinding("attributor", name, True, detail))
    return findings


def _distributions() -> Iterator[DoctorFinding]:
    """Distributions beside the core, and what each has found out about itself."""
    for name, brings in _DISTRIBUTIONS.items():
        try:
            detail = f"{version(f'tracer-hooks-{name}')}, {brings}"
        except PackageNotFoundError:
            yield DoctorFinding("package", name, False, f"not installed: {brings}", install_line(name))
        else:
            yield DoctorFinding("package", name, True, detail)
    for point in entry_points(group=GROUP):
        try:
            yield from point.load()()
        except Exception as error:  # another distribution's code may fail in any way
            yield DoctorFinding("package", point.name, False, _words(error))


def _store() -> DoctorFinding:
    place = store_place()
    if place is None:
        return DoctorFinding("store", "runs", True, "switched off by TRACER_HOOKS_STORE")
    from tracer_hooks.store import RunStore

    try:
        with RunStore(place, read_only=True) as store:
            if not store.exists():
                if isinstance(place, Path):
                    folder = next(folder for folder in place.absolute().parents if folder.exists())
                    TemporaryFile(dir=folder).close()  # the folders between are made with the first run
                return DoctorFinding("store", "runs", True, f"{place} (not made yet)")
            newest = store.list(limit=1)
        with RunStore(place, busy_timeout_s=_LOCK_S) as store:
            store.probe()
    except TracerHooksError as error:
        return DoctorFinding("store", "runs", False, str(error))
    except OSError as error:
        detail = f"{place} cannot be written: {error.strerror}"
        return DoctorFinding("store", "runs", False, detail, "set TRACER_HOOKS_STORE to a file that can be")
    detail = f"{place}, newest run {newest[0].run_id[:12]}" if newest else f"{place}, empty"
    return DoctorFinding("store", "runs", True, detail)


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, TracerHooksError) else f"{type(error).__name__}: {error}"


def _lines(findings: list[DoctorFinding]) -> Iterator[Text]:
    """A line for each finding, its advice in a line below. No table: where it is narrow, its cells would be cut."""
    kind, name = (max(len(getattr(finding, field)) for finding in findings) for field in ("kind", "name"))
    for finding in findings:
        line = Text("ok" if finding.works else "--", style="green" if finding.works else "yellow")
        line.append(f"  {finding.kind:{kind}}  {finding.name:{name}}  {finding.detail}", style="default")
        yield line
        if finding.advice:
            yield Text(f"    next: {finding.advice}")
