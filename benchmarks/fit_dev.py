"""How well `fit` does on labelled runs of two kinds of teams, every run judged by a fit that never saw its question.

    python benchmarks/fit_dev.py --data DIR --out NEW.jsonl [--against OLD.jsonl] [--seeds 5]

``DIR`` holds the Who&When folders ``Algorithm-Generated`` and ``Hand-Crafted``. Where it has ``second_labels.json``,
it is also said how often a step is named that either team of people marks. Both subsets are fitted to together, in five
folds of whole questions, dealt anew for each seed; the expected answers are withheld. Every judged run is a line of the
output, and the same command goes on where it was stopped. To measure an older commit, run this file with PYTHONPATH set
to the ``src`` of a checkout of it. Intervals are 95 %, over questions.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from tracer_hooks.datasets import load
from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis.ranking import _attributor as structural_attributor
from tracer_hooks.diagnosis.ranking import _fit as structural_fit
from tracer_hooks.diagnosis.ranking._view import View
from tracer_hooks.evaluation import grouped_folds, without_reference
from tracer_hooks.extension import question_of
from tracer_hooks.schema import LabeledTrajectory

SUBSETS = ("Algorithm-Generated", "Hand-Crafted")
TWICE = SUBSETS[1]
"""Whose runs the second team labelled; the other one has runs of the same questions."""
FOLDS = 5

_tables: dict[str, Any] = {}
_read_view = structural_attributor.table_of


def table_once(view: View) -> Any:
    """The features of a run, read once for all fits: they know nothing of labels."""
    name = view.trajectory.run_id + view.trajectory.task
    if name not in _tables:
        _tables[name] = _read_view(view)
    return _tables[name]


structural_attributor.table_of = table_once  # type: ignore[attr-defined]
structural_fit.features_of = lambda trajectory: table_once(View(trajectory, None))  # type: ignore[attr-defined]

_BINS = 10
_DRAWS = 2_000


def read(folder: Path) -> list[tuple[str, LabeledTrajectory]]:
    """Subset and labelled run."""
    found = []
    for subset in SUBSETS:
        for record in load(folder / subset, format="whowhen"):
            if record.labeled is not None and record.labeled.decisive is not None:
                found.append((subset, without_reference(record.labeled)))
    return found


def measure(runs: list[tuple[str, LabeledTrajectory]], out: Path, seeds: int) -> None:
    """Judge what has not been judged yet."""
    known = {(row["seed"], row["fold"]) for row in rows_of(out)}
    fresh = get_attributor("structural")
    questions = [question_of(one) for _, one in runs]
    strata = [subset for subset, _ in runs]
    for seed in range(seeds):
        where = grouped_folds(questions, FOLDS, seed=seed, strata=strata)
        for number in range(FOLDS):
            if (seed, number) in known:
                continue
            training = [one for (_, one), own in zip(runs, where, strict=True) if own != number]
            fit = getattr(fresh, "fitted", None) or (lambda labels, seed: fresh.fit(labels, seed=seed)[0])
            judge = fit(training, seed=seed)
            lines = [
                {"seed": seed, "fold": number, "subset": subset, "question": question_of(one), **judged(one, judge)}
                for (subset, one), own in zip(runs, where, strict=True)
                if own == number
            ]
            with out.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
            print(f"seed {seed}, fold {number}: {len(lines)} runs", file=sys.stderr, flush=True)


def judged(one: LabeledTrajectory, judge: Any) -> dict[str, Any]:
    """What is said of one run, and whether it is right."""
    given = judge.attribute(one.trajectory)
    gold = one.decisive
    ranking = [candidate.step for candidate in given.candidates]
    step = given.step if given.step is not None else (ranking[0] if ranking else None)
    agent = None if step is None else one.trajectory.steps[step].agent
    sure = getattr(given, "agent_confidence", None)
    scores = None if step is not None and sure is not None else judge.score(one.trajectory)
    belief = np.zeros(len(one.trajectory.steps)) if scores is None else np.array(scores.belief())
    names = [each.agent for each in one.trajectory.steps]
    own = 0.0 if step is None else float(sum(b for b, name in zip(belief, names, strict=True) if name == agent))
    return {
        "run": one.trajectory.run_id,
        "step": step == gold.step,
        "said": step,
        "agent": agent is not None and fold(agent) == fold(gold.agent),
        "hit3": gold.step in ranking[:3],
        "confidence": given.confidence if scores is None else float(belief[step or 0]),
        "agent_confidence": own if sure is None else sure,
    }


def marked(runs: list[tuple[str, LabeledTrajectory]], path: Path) -> dict[str, set[int]]:
    """For each run that a second team labelled as well, the steps that either team marks."""
    if not path.exists():
        return {}
    labels = [one for one in json.loads(path.read_text(encoding="utf-8")) if "agentrx_root" in one]
    second = {one["trajectory_id"]: {one["agentrx_root"]["step0"], *one.get("agentrx_all_step0", ())} for one in labels}
    own = [one for subset, one in runs if subset == TWICE]
    both = {one.trajectory.run_id: (second.get(question_of(one)), one.decisive) for one in own}
    return {run: {*steps, gold.step} for run, (steps, gold) in both.items() if steps is not None and gold is not None}


def with_either(rows: list[dict[str, Any]], marks: dict[str, set[int]]) -> list[dict[str, Any]]:
    """The judgements of runs that two teams labelled, and whether either of them marks the step that is named."""
    twice = [row for row in rows if row["run"] in marks and "said" in row]
    return [{**row, "either": row["said"] in marks[row["run"]]} for row in twice]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; none when there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def means(rows: list[dict[str, Any]], key: str) -> dict[tuple[str, str], float]:
    """Question and run, with the mean over the seeds."""
    found = defaultdict(list)
    for row in rows:
        found[row["question"], row["run"]].append(float(row[key]))
    return {name: float(np.mean(values)) for name, values in found.items()}


def interval(values: dict[tuple[str, str], float]) -> str:
    """The mean with its interval over questions."""
    by_question = defaultdict(list)
    for (question, _), value in values.items():
        by_question[question].append(value)
    sums = np.array([(sum(own), len(own)) for own in by_question.values()])
    drawn = np.random.default_rng(0).integers(0, len(sums), (_DRAWS, len(sums)))
    totals = sums[drawn].sum(axis=1)
    low, high = np.percentile(totals[:, 0] / totals[:, 1], [2.5, 97.5])
    return f"{np.mean(list(values.values())):6.1%} [{low:.1%}, {high:.1%}]"


def tell(rows: list[dict[str, Any]], old: list[dict[str, Any]], marks: dict[str, set[int]]) -> None:
    """Accuracy by subset, paired with the older one, and calibration of all together."""
    for subset in SUBSETS:
        own = [row for row in rows if row["subset"] == subset]
        before = [row for row in old if row["subset"] == subset]
        for key in ("step", "agent", "hit3"):
            print(f"{subset:20} {paired_line(own, before, key)}")
    either, before = with_either(rows, marks), with_either(old, marks)
    if either:
        print(f"{'labelled twice':20} {paired_line(either, before, 'either')}   {len(means(either, 'either'))} runs")
    for name, given in (("now", rows), ("before", old)):
        for key, sure in (("step", "confidence"), ("agent", "agent_confidence")):
            if given:
                print(f"{name:7} {key:6} {calibration_line(given, key, sure)}")
    if old:
        for key, sure in (("step", "confidence"), ("agent", "agent_confidence")):
            print(f"now less before, {key}: {apart_line(rows, old, key, sure)}")


def paired_line(rows: list[dict[str, Any]], old: list[dict[str, Any]], key: str) -> str:
    """Accuracy, that of the older one, and the difference, run by run."""
    new, was = means(rows, key), means(old, key)
    apart = {name: new[name] - was[name] for name in new if name in was}
    line = f"{key:6} {interval(new)}"
    return f"{line}   before {interval(was)}   paired {interval(apart)}" if apart else line


def calibration_line(rows: list[dict[str, Any]], key: str, sure: str) -> str:
    """Confidence against accuracy, out of fold, over all seeds; intervals over questions."""
    said = np.clip([row[sure] for row in rows], 1e-4, 1 - 1e-4)
    right = np.array([float(row[key]) for row in rows])
    questions = sorted({row["question"] for row in rows})
    place = np.array([questions.index(row["question"]) for row in rows])
    rng = np.random.default_rng(0)
    draws = rng.multinomial(len(questions), [1 / len(questions)] * len(questions), 400)
    slopes = [slope(said, right, drawn[place].astype(float)) for drawn in draws]
    low, high = np.percentile(slopes, [2.5, 97.5])
    gap = means([{**row, "gap": row[sure] - row[key]} for row in rows], "gap")
    # one seed at a time: seeds judge the same runs, so that pooling them would make the expectation too small
    gaps, expected, ranks = [], [], []
    for seed in sorted({row["seed"] for row in rows}):
        own = np.array([row["seed"] == seed for row in rows])
        gaps.append(ece(said[own], right[own]))
        expected.append(np.mean([ece(said[own], rng.random(own.sum()) < said[own]) for _ in range(200)]))
        ranks.append(auroc(said[own], right[own]))
    return (
        f"confidence {said.mean():.1%} accuracy {right.mean():.1%}, gap {interval(gap)}  slope "
        f"{slope(said, right, np.ones(len(said))):.2f} [{low:.2f}, {high:.2f}]  ECE {np.mean(gaps):.3f} "
        f"(expected of a perfect one {np.mean(expected):.3f})  Brier {np.mean((said - right) ** 2):.3f}  "
        f"AUROC {np.mean(ranks):.3f}"
    )


def apart_line(rows: list[dict[str, Any]], old: list[dict[str, Any]], key: str, sure: str) -> str:
    """Brier score and AUROC less those of the older one; intervals over questions, mean over the seeds."""
    questions = sorted({row["question"] for row in rows} & {row["question"] for row in old})
    draws = np.random.default_rng(0).multinomial(len(questions), [1 / len(questions)] * len(questions), 400)
    whole = np.ones((1, len(questions)), dtype=int)
    found = []
    for given in (rows, old):
        place = np.array([questions.index(row["question"]) for row in given if row["question"] in questions])
        seed = np.array([row["seed"] for row in given if row["question"] in questions])
        said = np.array([row[sure] for row in given if row["question"] in questions])
        right = np.array([float(row[key]) for row in given if row["question"] in questions])
        found.append([_brier_and_auroc(said, right, drawn[place], seed) for drawn in np.concatenate([whole, draws])])
    apart = np.array(found[0]) - np.array(found[1])
    low, high = np.nanpercentile(apart[1:], [2.5, 97.5], axis=0)
    told = zip(("Brier", "AUROC"), apart[0], low, high, strict=True)
    return "  ".join(f"{name} {value:+.3f} [{least:+.3f}, {most:+.3f}]" for name, value, least, most in told)


def _brier_and_auroc(said: np.ndarray, right: np.ndarray, counts: np.ndarray, seed: np.ndarray) -> tuple[float, float]:
    brier = float(np.average((said - right) ** 2, weights=counts))
    times = [np.repeat(np.flatnonzero(seed == one), counts[seed == one]) for one in sorted(set(seed.tolist()))]
    return brier, float(np.nanmean([auroc(said[own], right[own]) for own in times]))


def slope(said: np.ndarray, right: np.ndarray, weights: np.ndarray) -> float:
    """Of a logistic regression of being right on the log-odds of the confidence (Cox 1958)."""
    odds = np.log(said / (1 - said))
    rows = np.stack([np.ones(len(odds)), odds], axis=1)
    found = np.array([0.0, 1.0])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        gradient = rows.T @ (weights * (right - chance))
        hessian = (rows * (weights * chance * (1 - chance))[:, None]).T @ rows + 1e-6 * np.eye(2)
        found = found + np.clip(np.linalg.solve(hessian, gradient), -2, 2)
    return float(found[1])


def ece(said: np.ndarray, right: np.ndarray) -> float:
    """Expected calibration error over ten bins of equal width."""
    place = np.minimum((said * _BINS).astype(int), _BINS - 1)
    gap = np.bincount(place, weights=said - right, minlength=_BINS)
    return float(np.abs(gap).sum() / len(said))


def auroc(said: np.ndarray, right: np.ndarray) -> float:
    """How often a right answer is surer than a wrong one."""
    good, bad = said[right > 0], said[right == 0]
    return float(np.mean((good[:, None] > bad[None]) + 0.5 * (good[:, None] == bad[None])))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    runs = read(asked.data)
    if not runs:
        print(f"no labelled runs in {str(asked.data)!r}", file=sys.stderr)
        return 1
    measure(runs, asked.out, asked.seeds)
    marks = marked(runs, asked.data / "second_labels.json")
    tell(rows_of(asked.out), rows_of(asked.against) if asked.against else [], marks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
