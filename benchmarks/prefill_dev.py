"""What the signals, protocols and probes of the attributor ``prefill`` say about labelled runs.

    python benchmarks/prefill_dev.py --data DIR --model MODEL [--step-tokens N] [--features DIR] [--json OUT]

``DIR`` is a folder of labelled runs in the Who&When format, such as ``Algorithm-Generated``; ``MODEL`` a language model
(a directory or a GGUF file). Nothing is tuned on these labels: the fixed weights are those of the library, and probes
are judged by cross-validation over questions, their settings chosen inside each training part. Readings are kept in
``--cache``, so that a second run costs seconds. ``--features`` writes what was read, one ``.npz`` for each run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._prefill import PrefillAttributor, PrefillFeatures, PrefillOptions
from tracer_hooks.attribution._prefill._logit import Choice, fit_logit, log_likelihood
from tracer_hooks.attribution._prefill._probe import Compression
from tracer_hooks.attribution._prefill._signals import PLACES, SIGNALS, WEIGHTS, places_of, signals_of, standardised
from tracer_hooks.attribution._reading import Trace
from tracer_hooks.datasets import load
from tracer_hooks.schema import Trajectory

Floats = NDArray[np.float64]

SIZES = (8, 32)
STRENGTHS = (1.0, 4.0, 16.0, 64.0, 256.0)
BLOCKS = {
    "place only": ("places",),
    "signals only": ("signals",),
    "place + signals": ("places", "signals"),
    "hidden states only": ("hidden",),
    "place + signals + hidden states": ("places", "signals", "hidden"),
}


@dataclass(frozen=True)
class Run:
    trajectory: Trajectory
    agent: str
    step: int
    question: str
    features: PrefillFeatures
    allowed: list[int]
    signals: Floats
    places: Floats


def fold(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def read_runs(folder: Path, attributor: PrefillAttributor, limit: int | None) -> Iterator[Run]:
    found = 0
    for record in load(folder, format="whowhen"):
        labeled = record.labeled
        if labeled is None or labeled.decisive is None or (limit is not None and found >= limit):
            continue
        found += 1
        trajectory = labeled.trajectory.model_copy(update={"reference": None})
        features, trace = attributor.features(trajectory), Trace(trajectory)
        yield Run(
            trajectory=trajectory,
            agent=labeled.decisive.agent,
            step=labeled.decisive.step,
            question=labeled.question_id or trajectory.task,
            features=features,
            allowed=attributor.allowed(trace),
            signals=signals_of(trace, features),
            places=places_of(trace),
        )


def best(values: Sequence[float], among: Sequence[int]) -> int:
    return max(among, key=lambda step: (values[step], -step))


def rank_of(values: Floats, run: Run) -> float:
    """Share of the other steps that the labelled step beats, ties half: 0.5 is chance."""
    others = np.delete(values, run.step)
    if not len(others):
        return 0.5
    return float(((values[run.step] > others) + 0.5 * (values[run.step] == others)).mean())


def hits(runs: Sequence[Run], chosen: Sequence[int]) -> dict[str, Floats]:
    pairs = list(zip(runs, chosen, strict=True))
    return {
        "step": np.array([float(step == run.step) for run, step in pairs]),
        "agent": np.array([float(fold(run.trajectory.steps[step].agent) == fold(run.agent)) for run, step in pairs]),
        "within 1": np.array([float(abs(step - run.step) <= 1) for run, step in pairs]),
    }


def random_row(runs: Sequence[Run]) -> dict[str, Floats]:
    """Expectation of a step drawn evenly from those that can be the decisive one."""
    rows = [hits([run] * len(run.allowed), run.allowed) for run in runs]
    return {name: np.array([row[name].mean() for row in rows]) for name in ("step", "agent", "within 1")}


def interval(values: Floats, draws: int = 2000) -> tuple[float, float, float]:
    rng = np.random.default_rng(0)
    means = values[rng.integers(len(values), size=(draws, len(values)))].mean(axis=1)
    return float(values.mean()), float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def unsupervised_rows(runs: Sequence[Run], options: PrefillOptions) -> Iterator[tuple[str, dict[str, Floats]]]:
    yield "random act (expectation)", random_row(runs)
    yield "always step 1", hits(runs, [min(1, len(run.trajectory.steps) - 1) for run in runs])
    yield "last act", hits(runs, [run.allowed[-1] for run in runs])
    for column, name in enumerate(SIGNALS):
        values = [run.signals[:, column] for run in runs]
        row = hits(runs, [best(one, run.allowed) for one, run in zip(values, runs, strict=True)])
        yield name, {**row, "rank": np.array([rank_of(one, run) for one, run in zip(values, runs, strict=True)])}
    protocols = {
        "protocol flow": options,
        "protocol masprism, acts only": replace(options, protocol="masprism"),
        "protocol masprism, every step as in the paper": replace(options, protocol="masprism", acts_only=False),
    }
    for name, one in protocols.items():
        yield name, protocol_row(runs, PrefillAttributor(one))


def protocol_row(runs: Sequence[Run], attributor: PrefillAttributor) -> dict[str, Floats]:
    found = [attributor.score(run.trajectory) for run in runs]
    scores = [np.array(one.steps) for one in found if one is not None]
    row = hits(runs, [int(np.argmax(one)) for one in scores])
    row["hit@3"] = np.array([float(run.step in np.argsort(-one)[:3]) for run, one in zip(runs, scores, strict=True)])
    return {**row, "rank": np.array([rank_of(one, run) for run, one in zip(runs, scores, strict=True)])}


def choices_of(runs: Sequence[Run], blocks: Sequence[str], compression: Compression) -> list[Choice]:
    """What a logit is fitted to: the allowed steps of each run; no step is right when the label allows none of them."""
    makers: dict[str, Callable[[Run], Floats]] = {
        "places": lambda run: standardised(run.places, run.allowed),
        "signals": lambda run: standardised(run.signals, run.allowed),
        "hidden": lambda run: compression.apply(run.features.hidden.astype(np.float64), run.allowed),
    }
    return [
        Choice(np.concatenate([makers[block](run)[run.allowed] for block in blocks], axis=1), right_of(run))
        for run in runs
    ]


def right_of(run: Run) -> NDArray[np.bool_]:
    exact = np.array([step == run.step for step in run.allowed])
    if exact.any():
        return exact
    return np.array([fold(run.trajectory.steps[step].agent) == fold(run.agent) for step in run.allowed])


def prior(blocks: Sequence[str], width: int) -> Floats:
    known = {"places": [0.0] * len(PLACES), "signals": [WEIGHTS.get(name, 0.0) for name in SIGNALS]}
    start = [value for block in blocks for value in known.get(block, [])]
    return np.array(start + [0.0] * (width - len(start)))


def folds(questions: Sequence[str], count: int, seed: int) -> list[set[str]]:
    names = sorted(set(questions))
    order = np.random.default_rng(seed).permutation(len(names))
    return [{names[k] for k in order[start::count]} for start in range(count)]


def fitted_choices(train: Sequence[Run], test: Sequence[Run], blocks: Sequence[str], seed: int) -> list[int]:
    """Steps chosen in ``test`` by a logit fitted on ``train``, its settings chosen inside ``train``."""
    full = Compression.of([run.features.hidden[run.allowed].astype(np.float64) for run in train], max(SIZES))
    made = {size: choices_of(train, blocks, full.cut(size)) for size in (SIZES if "hidden" in blocks else SIZES[:1])}
    inner = [np.array([run.question in held for run in train]) for held in folds([r.question for r in train], 4, seed)]

    def value(setting: tuple[int, float]) -> float:
        choices, total = made[setting[0]], 0.0
        for held in inner:
            weights = fit([one for one, out in zip(choices, held, strict=True) if not out], blocks, setting[1])
            total += log_likelihood([one for one, out in zip(choices, held, strict=True) if out], weights)
        return total

    size, strength = max(((size, strength) for size in made for strength in STRENGTHS), key=value)
    weights = fit(made[size], blocks, strength)
    tests = choices_of(test, blocks, full.cut(size))
    return [run.allowed[int(np.argmax(one.features @ weights))] for one, run in zip(tests, test, strict=True)]


def fit(choices: Sequence[Choice], blocks: Sequence[str], strength: float) -> Floats:
    known = [one for one in choices if one.right.any()]
    return fit_logit(known, prior=prior(blocks, known[0].features.shape[1]), strength=strength)


def probe_rows(runs: Sequence[Run], repeats: int) -> Iterator[tuple[str, dict[str, Floats]]]:
    """Each trajectory judged by a probe that has not seen its question; hits averaged over repeats."""
    for name, blocks in BLOCKS.items():
        found: list[dict[str, Floats]] = []
        for seed in range(repeats):
            chosen = {}
            for held in folds([run.question for run in runs], 5, seed):
                train = [run for run in runs if run.question not in held]
                test = [run for run in runs if run.question in held]
                steps = fitted_choices(train, test, blocks, seed)
                chosen.update({run.trajectory.run_id: step for run, step in zip(test, steps, strict=True)})
            found.append(hits(runs, [chosen[run.trajectory.run_id] for run in runs]))
        yield f"probe: {name}", {key: np.mean([row[key] for row in found], axis=0) for key in found[0]}


def write_features(runs: Sequence[Run], folder: Path) -> None:
    """Everything that was read, for other models to be fitted on: one file for each run, named by its id."""
    folder.mkdir(parents=True, exist_ok=True)
    for run in runs:
        arrays = {one.name: getattr(run.features, one.name) for one in fields(run.features)}
        arrays["signals"] = run.signals
        arrays["signal_names"] = np.array(SIGNALS)
        arrays["allowed"] = np.array(run.allowed)
        np.savez_compressed(folder / f"{run.trajectory.run_id}.npz", **arrays)


def show(name: str, row: dict[str, Floats]) -> dict[str, Any]:
    figures = {key: interval(values) for key, values in row.items()}
    cells = [
        f"{key} {mean:.2f} [{low:.2f}, {high:.2f}]"
        if key == "rank"
        else f"{key} {100 * mean:.1f} [{100 * low:.0f}, {100 * high:.0f}]"
        for key, (mean, low, high) in figures.items()
    ]
    print(f"  {name:48} {'  '.join(cells)}", flush=True)
    return dict(figures)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of labelled runs in the Who&When format")
    parser.add_argument("--model", type=Path, required=True, help="language model: a directory or a GGUF file")
    parser.add_argument("--step-tokens", type=int, default=120)
    parser.add_argument("--restored-tokens", type=int, default=512)
    parser.add_argument("--cut", choices=("head", "head_tail"), default="head")
    parser.add_argument("--cache", type=Path, default=Path(".tracer_hooks") / "prefill")
    parser.add_argument("--limit", type=int, help="only the first runs")
    parser.add_argument("--repeats", type=int, default=3, help="of the cross-validation of the probes")
    parser.add_argument("--features", type=Path, help="write the features of each run into this folder")
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


def main() -> int:
    given = parsed()
    options = PrefillOptions(
        model=given.model,
        step_tokens=given.step_tokens,
        restored_tokens=given.restored_tokens,
        cut=given.cut,
        cache_dir=given.cache,
    )
    began = time.process_time()
    runs = list(read_runs(given.data, PrefillAttributor(options), given.limit))
    if not runs:
        print(f"no labelled runs in {str(given.data)!r}", file=sys.stderr)
        return 1
    read = sum(int(run.features.tokens.sum()) for run in runs)
    print(f"{given.data.name}: {len(runs)} runs, {read} tokens read, {time.process_time() - began:.0f} CPU seconds now")
    if given.features:
        write_features(runs, given.features)
    figures = {}
    for rows in (unsupervised_rows(runs, options), probe_rows(runs, given.repeats)):
        figures.update({name: show(name, row) for name, row in rows})
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
