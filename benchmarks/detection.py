"""How well a failed run is told from a passing one when the outcome is not given, each system held out in its turn.

    python benchmarks/detection.py --tau2 FILE --aegis FILE [--whowhen DIR] [--json OUT] [--write-weights FILE]

``--tau2`` is a JSONL (or ``.jsonl.xz``) of graded tau2-bench runs, ``--aegis`` one of Aegis rows, ``DIR`` holds the
Who&When folders; their runs are measured only. A system is a domain of tau2-bench, an architecture of Aegis, or the
project's own scripted teams. Weights and threshold for a system come from the other systems alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from _detection_rows import Row, aegis_rows, cached, own_rows, tau2_rows, whowhen_rows
from _detector_fit import Shrinkage, equal_importance, fit_weights, threshold_for
from numpy.typing import NDArray

from tracer_hooks.attribution._detection import SIGNALS, FailureDetector

RATE = 0.05
"""Share of passing runs that may be blamed when the threshold is chosen; leaves room below the target of 8 %."""
CURVE = (0.01, 0.02, 0.05, 0.08, 0.10, 0.15, 0.20, 0.30)
GRADED = ("tau2", "own")
"""Sources whose passes are known; those of ``clean`` are presumed, and no threshold is chosen on them."""

Array = NDArray[np.float64]
Reader = Callable[[Sequence[Row]], Array]


@dataclass(frozen=True)
class Model:
    """Weights for some reading of the runs."""

    read: Reader
    weights: Array
    intercept: float

    def scores(self, rows: Sequence[Row]) -> Array:
        """Log-odds of a failure."""
        return np.asarray(self.read(rows) @ self.weights + self.intercept, dtype=np.float64)


def signals(rows: Sequence[Row]) -> Array:
    """What the detector reads."""
    return np.array([row.values for row in rows], dtype=np.float64)


def length(rows: Sequence[Row]) -> Array:
    """What a classifier reads that knows the length alone."""
    return np.array([[np.log1p(row.steps) / 5.0] for row in rows])


def fitted(rows: Sequence[Row], read: Reader, shrinkage: Shrinkage) -> Model:
    failed = np.array([row.failed for row in rows])
    importance = equal_importance([row.system for row in rows], failed)
    return Model(read, *fit_weights(read(rows), failed, importance, shrinkage))


def threshold(rows: Sequence[Row], read: Reader, shrinkage: Shrinkage, rate: float) -> float:
    """Chosen on known passes of each system, scored by a model fitted to the other systems."""
    scores, systems = [], []
    for system in sorted({row.system for row in rows if row.source in GRADED and not row.failed}):
        model = fitted([row for row in rows if row.system != system], read, shrinkage)
        held = [row for row in rows if row.system == system and row.source in GRADED and not row.failed]
        scores.append(model.scores(held))
        systems += [system] * len(held)
    passed = np.zeros(len(systems), dtype=np.bool_)
    return threshold_for(np.concatenate(scores), equal_importance(systems, passed), rate)


@dataclass(frozen=True)
class Scored:
    """The runs of one system, by a model that saw none of it: the log-odds less the threshold, by rate of alarms."""

    rows: list[Row]
    scores: Array
    thresholds: dict[float, float]

    def blamed(self, rate: float) -> NDArray[np.bool_]:
        return self.scores >= self.thresholds[rate]


def held_out(rows: Sequence[Row], extra: Sequence[Row], read: Reader, shrinkage: Shrinkage) -> dict[str, Scored]:
    """Every system scored by the others; ``extra`` by all of them."""
    found = {}
    for system in sorted({row.system for row in rows}) + sorted({row.system for row in extra}):
        rest = [row for row in rows if row.system != system]
        own = [row for row in (*rows, *extra) if row.system == system]
        limits = {rate: threshold(rest, read, shrinkage, rate) for rate in CURVE}
        found[system] = Scored(own, fitted(rest, read, shrinkage).scores(own), limits)
    return found


def wilson(count: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    if not total:
        return 0.0, 1.0
    z, share = 1.959964, count / total
    middle, spread = share + z * z / (2 * total), z * np.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    scale = 1 + z * z / total
    return max(0.0, float((middle - spread) / scale)), min(1.0, float((middle + spread) / scale))


def separation(failed: Array, passed: Array) -> float | None:
    """Area under the ROC curve; ties count half."""
    if not len(failed) or not len(passed):
        return None
    above = failed[:, None] - passed[None, :]
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


def groups(scored: dict[str, Scored]) -> Iterator[tuple[str, Scored, NDArray[np.bool_]]]:
    """Every system, parted by source and, for tau2-bench, by how it was read."""
    for system, one in scored.items():
        kinds = [(row.source, row.form if row.source == "tau2" else "") for row in one.rows]
        for source, form in sorted(set(kinds)):
            name = f"{system}, presumed right" if source == "clean" else f"{system} {form}".strip()
            yield name, one, np.array([kind == (source, form) for kind in kinds])


def table(scored: dict[str, Scored], rules: bool = False) -> dict[str, dict[str, Any]]:
    """Figures of every group at the default threshold."""
    figures = {}
    for name, one, mask in groups(scored):
        failed = np.array([row.failed for row in one.rows]) & mask
        passed = ~np.array([row.failed for row in one.rows]) & mask
        blamed = np.array([row.rules for row in one.rows]) if rules else one.blamed(RATE)
        low, high = wilson(int(blamed[passed].sum()), int(passed.sum()))
        figures[name] = {
            "failures": int(failed.sum()),
            "attributed": float(blamed[failed].mean()) if failed.any() else None,
            "passes": int(passed.sum()),
            "alarms": float(blamed[passed].mean()) if passed.any() else None,
            "alarms_from": low,
            "alarms_to": high,
            "separation": None if rules else separation(one.scores[failed], one.scores[passed]),
        }
    return figures


def pooled(scored: dict[str, Scored], rate: float | None) -> dict[str, float]:
    """Shares over systems, each counting the same; by the rules when ``rate`` is None."""
    shares: dict[str, list[float]] = {}
    for _, one, mask in groups(scored):
        blamed = np.array([row.rules for row in one.rows]) if rate is None else one.blamed(rate)
        for outcome in (False, True):
            chosen = mask & (np.array([row.failed for row in one.rows]) == outcome)
            if chosen.any():
                name = f"{one.rows[int(np.flatnonzero(chosen)[0])].source} {'failed' if outcome else 'passed'}"
                shares.setdefault(name, []).append(float(blamed[chosen].mean()))
    return {name: float(np.mean(values)) for name, values in sorted(shares.items())}


def show(title: str, figures: dict[str, dict[str, Any]]) -> None:
    print(
        f"\n{title}\n  {'':38} {'failures':>8} {'attributed':>10} {'passes':>7} {'alarms':>8}  {'95 %':13} {'AUC':>5}"
    )
    for name, row in figures.items():
        cells = [
            f"{row['failures']:8}",
            percent(row["attributed"], 10),
            f"{row['passes']:7}",
            percent(row["alarms"], 8),
        ]
        interval = f"{row['alarms_from']:5.1%}-{row['alarms_to']:.1%}" if row["passes"] else ""
        auc = "" if row["separation"] is None else f"{row['separation']:.2f}"
        print(f"  {name:38} {' '.join(cells)}  {interval:13} {auc:>5}")


def percent(value: float | None, width: int) -> str:
    return " " * width if value is None else f"{value:{width}.1%}"


def show_curve(title: str, curve: dict[str, dict[str, float]]) -> None:
    names = list(next(iter(curve.values())))
    print(f"\n{title}\n  {'':26} " + " ".join(f"{name:>16}" for name in names))
    for rate, row in curve.items():
        print(f"  {rate:26} " + " ".join(f"{row[name]:16.1%}" for name in names))


def shipped(rows: Sequence[Row], shrinkage: Shrinkage) -> FailureDetector:
    """Fitted to every system that may be used."""
    model, limit = fitted(rows, signals, shrinkage), threshold(rows, signals, shrinkage, RATE)
    weights = {name: round(float(weight), 4) for name, weight in zip(SIGNALS, model.weights, strict=True)}
    return FailureDetector(weights, round(model.intercept, 4), round(float(1 / (1 + np.exp(-limit))), 4))


def seen_in(rows: Sequence[Row], detector: FailureDetector) -> dict[str, dict[str, float]]:
    """Weight of every signal, and the share of runs in which it is seen."""
    values, failed = signals(rows) > 0, np.array([row.failed for row in rows])
    return {
        name: {
            "weight": detector.weights[name],
            "passes": float(values[~failed, place].mean()),
            "failures": float(values[failed, place].mean()),
        }
        for place, name in enumerate(SIGNALS)
    }


def measure(rows: list[Row], extra: list[Row]) -> dict[str, Any]:
    """Everything that is reported."""
    ours = held_out(rows, extra, signals, Shrinkage())
    by_length = held_out(rows, extra, length, Shrinkage(towards=0.0, strength=1e-4))
    curve = {f"aimed at {rate:.0%} alarms": pooled(ours, rate) for rate in CURVE}
    figures: dict[str, Any] = {
        "detector": table(ours),
        "present rules": table(ours, rules=True),
        "length alone": table(by_length),
        "curve": curve
        | {
            "present rules": pooled(ours, None),
            "length alone": pooled(by_length, RATE),
            "always blame": dict.fromkeys(pooled(ours, None), 1.0),
        },
    }
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tau2", type=Path, required=True, help="graded tau2-bench runs")
    parser.add_argument("--aegis", type=Path, required=True, help="Aegis rows")
    parser.add_argument("--whowhen", type=Path, help="folder with the Who&When subsets; measured only")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--write-weights", type=Path, help="write the fitted detector here")
    parser.add_argument("--cache", type=Path, help="keep what was read off the runs in this file")
    parser.add_argument("--per-architecture", type=int, default=110, help="Aegis rows of each architecture")
    options = parser.parse_args()

    def read() -> Iterator[Row]:
        measured = whowhen_rows(options.whowhen) if options.whowhen else iter(())
        fitting = (own_rows(8, 0), tau2_rows(options.tau2), aegis_rows(options.aegis, options.per_architecture, 0))
        return chain(measured, *fitting)

    everything = cached(options.cache, read)
    rows = [row for row in everything if row.source != "whowhen"]
    extra = [row for row in everything if row.source == "whowhen"] if options.whowhen else []
    figures, detector = measure(rows, extra), shipped(rows, Shrinkage())
    figures["signals"] = seen_in(rows, detector)
    for title in ("detector", "present rules", "length alone"):
        show(title, figures[title])
    show_curve("blamed, mean over systems", figures["curve"])
    print(f"\nsignals (intercept {detector.intercept}, threshold {detector.threshold})")
    for name, row in figures["signals"].items():
        print(f"  {name:40} weight {row['weight']:5.2f}  seen in {row['passes']:6.1%} / {row['failures']:6.1%}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if options.write_weights:
        options.write_weights.write_text(detector.to_json(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
