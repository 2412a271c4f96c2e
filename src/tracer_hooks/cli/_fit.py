"""``tracer-hooks fit``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from tracer_hooks._atomic_files import write_files
from tracer_hooks.attribution import Attributor, FitReport, Fittable, get_attributor
from tracer_hooks.cli._console import DONE, FAILED, err, out, print_json
from tracer_hooks.datasets import LoadedRecord, load
from tracer_hooks.errors import ConfigError, TracerHooksError
from tracer_hooks.evaluation import without_reference
from tracer_hooks.schema import LabeledTrajectory

REPORT = "fit.json"
"""Written beside the fitted attributor: what it was fitted to and what that gained."""


@dataclass(frozen=True, kw_only=True)
class FitJob:
    """One call of the command."""

    labels: Sequence[Path]
    out: Path
    attributor: str
    seed: int
    as_json: bool

    def run(self) -> int:
        """Fit, save, and say what it gained; gives the exit code."""
        attributor = get_attributor(self.attributor)
        if not isinstance(attributor, Fittable):
            raise ConfigError(
                f"the attributor {self.attributor!r} cannot be fitted, expected 'structural', 'encoder', 'prefill' or "
                "'ensemble'"
            )
        records = [record for path in dict.fromkeys(self.labels) for record in load(path)]
        others = [record for record in records if record.error is not None and _is_something_else(record)]
        bad = [record for record in records if record.error is not None and record not in others]
        for record in others:
            err().print(f"passed over, no run: {record.source}", style="dim", soft_wrap=True)
        labeled = [without_reference(record.labeled) for record in records if record.labeled is not None]
        with err().status(f"fitting {self.attributor!r} to {len(labeled)} labelled trajectories"):
            fitted, report = attributor.fit(labeled, seed=self.seed)
            self._save(fitted, report)
        self._show(report, labeled, bad)
        return FAILED if bad else DONE

    def _save(self, fitted: Attributor, report: FitReport) -> None:
        if not isinstance(fitted, Fittable):
            raise ConfigError(f"the attributor {self.attributor!r} cannot be saved after a fit")
        summary = {**asdict(report), "labels": [str(path) for path in self.labels], "seed": self.seed}
        try:
            fitted.save(self.out)
            write_files({self.out / REPORT: (json.dumps(summary, indent=2) + "\n").encode()})
        except OSError as error:
            raise TracerHooksError(
                f"cannot write {str(self.out)!r}: {error.strerror}; expected a directory for --out"
            ) from error

    def _show(self, report: FitReport, labeled: Sequence[LabeledTrajectory], bad: Sequence[LoadedRecord]) -> None:
        for record in bad:
            err().print(f"left out: {record.error}", style="yellow", soft_wrap=True)
        if self.as_json:
            print_json({"out": str(self.out), "left_out": len(bad), **_figures(report)})
            return
        table = Table(
            title=f"{report.trajectories} labelled trajectories, {report.questions} questions", title_justify="left"
        )
        for column in ("", "exact step", "exact agent"):
            table.add_column(column, justify="right" if column else "left")
        table.add_row("as shipped", f"{report.shipped_step:.1%}", f"{report.shipped_agent:.1%}")
        table.add_row("fitted, on questions left out", f"{report.fitted_step:.1%}", f"{report.fitted_agent:.1%}")
        out().print(table)
        out().print(_ten_more(report), soft_wrap=True)
        out().print(f"chosen by cross-validation: {report.chosen}", soft_wrap=True)
        if len(labeled) > report.trajectories:
            out().print(f"{len(labeled) - report.trajectories} have no decisive step and were not used")
        out().print(f"use it: tracer-hooks diagnose PATH --attributor {self.out}", soft_wrap=True)


def _is_something_else(record: LoadedRecord) -> bool:
    """Whether a file is no run at all, such as a second team's labels beside the runs; a damaged one is."""
    return "unknown format" in str(record.error)


def _ten_more(report: FitReport) -> str:
    """What ten more labels would bring, in a sentence."""
    found = report.ten_more
    if found is None:
        return "what ten more labels would bring is not known: it takes labels of 30 questions, and 'structural'"
    return (
        f"ten more labels would bring about {found.gain * 100:+.1f} points of exact step "
        f"[{found.low * 100:+.1f}, {found.high * 100:+.1f}]"
    )


def _figures(report: FitReport) -> dict[str, Any]:
    return {**asdict(report), "gain": report.gain}
