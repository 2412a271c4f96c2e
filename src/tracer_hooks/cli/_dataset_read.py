"""The work of ``tracer-hooks dataset stats``, ``audit`` and ``export``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from rich.text import Text

from tracer_hooks.cli._console import DONE, FAILED, err, out, print_json
from tracer_hooks.datasets import (
    EXPORT_FORMATS,
    DatasetAudit,
    ExportFormat,
    LabeledSet,
    audit,
    audit_tables,
    export,
    stats,
    stats_tables,
    write_atomically,
    write_parquet,
)
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.schema import to_json


def show_stats(folder: Path, *, as_json: bool) -> int:
    """Count a data set; gives the exit code."""
    found = stats(LabeledSet.load(folder))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        out().print(stats_tables(found))
    return DONE


def show_audit(folder: Path, *, folds: int, seed: int, as_json: bool) -> int:
    """Audit a data set; gives the exit code: 1 when the audit fails."""
    with err().status("auditing"):
        found: DatasetAudit = audit(LabeledSet.load(folder), seed=seed, folds=folds)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        out().print(audit_tables(found))
    for finding in found.findings:
        if finding.severity == "fail":
            err().print(Text(f"{finding.kind} {finding.name!r}: {finding.message}", "red"), soft_wrap=True)
    return DONE if found.passed else FAILED


@dataclass(frozen=True, kw_only=True)
class ExportJob:
    """One call of ``dataset export``."""

    folder: Path
    out: Path
    file_format: str
    split: str
    balanced: bool
    seed: int
    as_json: bool

    def work(self) -> int:
        """Write the data set, or its parts; gives the exit code: 1 when a labelled run could not be written."""
        dataset = LabeledSet.load(self.folder)
        if self.balanced:
            dataset = dataset.balanced(self.seed)
        if self.file_format == "whowhen" and dataset.clean:
            err().print(f"Who&When holds failed runs only: {len(dataset.clean)} passing runs are not written")
            dataset = replace(dataset, clean=())
        shares = _shares(self.split)
        parts = dataset.split(shares, self.seed) if shares else {"": dataset}
        written = [self._write(part, data) for part, data in parts.items()]
        if self.as_json:
            print_json({"format": self.file_format, "seed": self.seed if shares else None, "parts": written})
        else:
            for one in written:
                out().print(Text(f"{one['path']}: {one['written']} runs"), soft_wrap=True)
        left_out = [skipped for one in written for skipped in one["skipped"]]
        for skipped in left_out:
            err().print(Text(f"left out: {skipped['run_id']}: {skipped['reason']}", "yellow"), soft_wrap=True)
        return FAILED if left_out else DONE

    def _write(self, part: str, data: LabeledSet) -> dict[str, Any]:
        place = self._place(part)
        if self.file_format in EXPORT_FORMATS:
            report = export(data, place, cast(ExportFormat, self.file_format))
            skipped = [one.model_dump(mode="json") for one in report.skipped]
            return {"part": part or None, "path": str(place), "written": report.written, "skipped": skipped}
        items = [*data.labeled, *data.clean]
        if place.is_dir():
            raise DatasetError(f"{str(place)!r} is a folder: expected the name of a .{self.file_format} file")
        if self.file_format == "parquet":
            write_parquet(place, items)
        else:
            write_atomically({place: "".join(f"{to_json(item)}\n" for item in items).encode()})
        return {"part": part or None, "path": str(place), "written": len(items), "skipped": []}

    def _place(self, part: str) -> Path:
        if not part:
            return self.out
        ending = {"whowhen": "", "aegis": ".jsonl", "jsonl": ".jsonl", "parquet": ".parquet"}[self.file_format]
        return self.out / f"{part}{ending}"


def _shares(text: str) -> Mapping[str, float]:
    """Parts and their shares from ``train=0.8,test=0.2``; empty without any.

    Raises:
        ConfigError: It is not of that form.
    """
    shares: dict[str, float] = {}
    for piece in filter(None, text.split(",")):
        name, _, share = piece.partition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError:
            shares.clear()
        if not name.strip() or not shares or "/" in name:
            raise ConfigError(f"--split is {text!r}, expected parts and shares such as train=0.8,test=0.2")
    return shares
