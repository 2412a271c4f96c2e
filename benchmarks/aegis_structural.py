"""Which agents are at fault, and how: the agent head of the structural attributor on Aegis.

Two questions: does it transfer to a kind of team that it was not fitted to (area under the ROC curve of faulty against
other agents within a trajectory, one architecture of Aegis left out); and how many pairs of agent and error mode are
right on questions that were left out (Aegis' micro- and macro-F1), with and without the roster prior and beside rows
that read nothing. People, system prompts and terminals are no agents here.

    python benchmarks/aegis_structural.py --data train.jsonl.xz --json agents.json
    python benchmarks/aegis_structural.py --data train.jsonl.xz --write-weights agents.json
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import _agent_head_fit as fitting
import numpy as np
from _agent_head_fit import AgentExample, AgentFitOptions, Array, Fit, Study, Sums, pooled, ridge
from numpy.typing import NDArray

from tracer_hooks.datasets import load
from tracer_hooks.evaluation._cases import fold_name, resolve_name
from tracer_hooks.evaluation._report import Resampling
from tracer_hooks.schema import LabeledTrajectory
from tracer_hooks_models.agent_head import MODES
from tracer_hooks_models.training._examples import architecture_of

FOLDS, DRAWS, SEED = 5, 1000, 0
OPTIONS = AgentFitOptions()
NAMINGS = ("exact", "normalised", "roster")
UNTOLD = ""
"""Stands for the mode of an agent that is named without one; counts for agents only."""
Pairs = list[set[tuple[str, str]]]


def read(path: Path, per_architecture: int | None) -> list[LabeledTrajectory]:
    """Labelled trajectories, at most so many of each architecture."""
    by_kind: defaultdict[str, list[LabeledTrajectory]] = defaultdict(list)
    for record in load(path):
        if record.labeled is not None and record.labeled.faults:
            by_kind[architecture_of(record.labeled.trajectory.agent_names)].append(record.labeled)
    chance = random.Random(SEED)
    picked = []
    for kind in sorted(by_kind):
        chance.shuffle(by_kind[kind])
        picked += by_kind[kind][:per_architecture]
    return picked


def within(kept: Sequence[int], fit: Fit, width: int) -> Fit:
    """The same fit on some of the columns; the others weigh 0."""
    places = np.array(kept, dtype=np.intp)

    def inner(sums: Sequence[Sums]) -> Array:
        part = [replace(one, xx=one.xx[np.ix_(places, places)], xy=one.xy[places], x=one.x[places]) for one in sums]
        model = fit(part)
        whole = np.zeros((width + 1, model.shape[1]))
        whole[places], whole[-1] = model[:-1], model[-1]
        return whole

    return inner


def area(scores: Array, faulty: NDArray[np.bool_]) -> float:
    """Area under the ROC curve; NaN when all are faulty or none is."""
    bad, good = scores[faulty], scores[~faulty]
    if not len(bad) or not len(good):
        return float("nan")
    return float((bad[:, None] > good).mean() + 0.5 * (bad[:, None] == good).mean())


def areas(examples: Sequence[AgentExample], scores: Sequence[Array]) -> Array:
    """The area of each example, by the first output."""
    return np.array([area(own[:, 0], one.at_fault) for one, own in zip(examples, scores, strict=True)])


def by_kind(examples: Sequence[AgentExample], values: Array) -> dict[str, Any]:
    """Mean area for each kind of team with its interval over questions, and the mean over kinds."""
    found: dict[str, Any] = {}
    for kind in sorted({one.kind for one in examples}):
        rows = [k for k, one in enumerate(examples) if one.kind == kind]
        draws = Resampling([examples[k].question for k in rows], draws=DRAWS, seed=SEED)
        measure = draws.mean(values[rows])
        if measure is not None:
            found[kind] = {"auc": measure.value, "low": measure.low, "high": measure.high, "runs": measure.runs}
    found["mean"] = {"auc": float(np.mean([one["auc"] for one in found.values()]))}
    return found


def transfer(examples: Sequence[AgentExample], study: Study) -> dict[str, Any]:
    """Leave one architecture out: who is at fault, and which mode a faulty agent has."""
    scores = study.left_out(head_fit)
    known = np.concatenate([one.pairs.any(axis=1) for one in examples])
    habits = fitting.any_team_study(examples, replace(OPTIONS, habits=frozenset()))
    with_habits = habits.by_example(habits.left_out(head_fit))
    return {
        "head": by_kind(examples, areas(examples, study.by_example(scores))),
        "modes": {"auc of modes among faulty agents": mode_area(scores[known, 1:], examples, known)},
        "with position, turns, role": by_kind(examples, areas(examples, with_habits)),
    }


def head_fit(sums: Sequence[Sums]) -> Array:
    """The fit of the shipped head for teams that were not learnt from."""
    return ridge(pooled(sums, equal=True), OPTIONS.strength)


def mode_area(scores: Array, examples: Sequence[AgentExample], known: NDArray[np.bool_]) -> float:
    """Mean over the modes of the area of agents with that mode against other faulty agents."""
    gold = np.concatenate([one.pairs for one in examples])[known]
    return float(np.mean([area(scores[:, mode], gold[:, mode]) for mode in range(len(MODES))]))


def known_teams(examples: Sequence[AgentExample], labels: Sequence[LabeledTrajectory]) -> dict[str, Any]:
    """Questions left out: F1 of pairs, agents and modes, for growing sets of columns."""
    columns = fitting.known_team_columns(examples, OPTIONS)
    study = Study(examples, columns, [fitting.part_of(one.question, FOLDS) for one in examples])
    kinds = [column.partition(": ")[0] for column in columns]
    sets: dict[str, Callable[[str], bool]] = {
        "roster prior alone": lambda kind: kind == "seat",
        "features, no roster": lambda kind: kind in OPTIONS.known_summaries,
        "features and roster": lambda kind: kind in OPTIONS.known_summaries or kind == "seat",
        "features and words, no roster": lambda kind: kind != "seat",
        "features, words and roster": lambda kind: True,
    }
    found: dict[str, Any] = {}
    for name, wanted in sets.items():
        strength = 0.01 if name == "roster prior alone" else OPTIONS.known_strength
        kept = [k for k, kind in enumerate(kinds) if wanted(kind)]

        def fit(sums: Sequence[Sums], strength: float = strength) -> Array:
            return ridge(pooled(sums), strength)

        scores = study.by_example(study.left_out(within(kept, fit, len(columns))))
        found[name] = scored(examples, labels, scores)
    found["predict all"] = metrics(labels, [everything(one) for one in examples])
    found["ceiling"] = metrics(labels, [reachable(one) for one in examples])
    return found


def scored(
    examples: Sequence[AgentExample], labels: Sequence[LabeledTrajectory], scores: Sequence[Array]
) -> dict[str, Any]:
    """Figures of scores, each part of the questions with the threshold that is best on the other parts."""
    parts = np.array([fitting.part_of(one.question, FOLDS) for one in examples])
    said: Pairs = [set() for _ in examples]
    for part in range(FOLDS):
        others = np.flatnonzero(parts != part).tolist()
        odds = np.concatenate([scores[k] for k in others])
        pairs = np.concatenate([examples[k].pairs for k in others])
        at_fault = np.concatenate([examples[k].at_fault for k in others])
        least = fitting.best_threshold(odds[:, 1:], pairs, sum(examples[k].labelled for k in others))
        agents = fitting.best_threshold(odds[:, 0], at_fault, sum(examples[k].labelled_agents for k in others))
        for k in np.flatnonzero(parts == part).tolist():
            said[k] = named(examples[k], scores[k][:, 1:] >= least)
            suspected = zip(examples[k].rows.names, scores[k][:, 0] >= agents, strict=True)
            said[k] |= {(name, UNTOLD) for name, is_suspected in suspected if is_suspected}
    values = areas(examples, scores)
    draws = Resampling([one.question for one in examples], draws=DRAWS, seed=SEED)
    measure = draws.mean(values)
    figures = metrics(labels, said)
    if measure is not None:
        figures["agent auc"] = {"value": measure.value, "low": measure.low, "high": measure.high}
    return figures


def named(example: AgentExample, chosen: NDArray[np.bool_]) -> set[tuple[str, str]]:
    """The chosen pairs, by name."""
    return {(example.rows.names[row], MODES[mode].value) for row, mode in zip(*np.nonzero(chosen), strict=True)}


def everything(example: AgentExample) -> set[tuple[str, str]]:
    """All pairs."""
    return named(example, np.ones_like(example.pairs))


def reachable(example: AgentExample) -> set[tuple[str, str]]:
    """The labelled pairs of agents that act, as they stand in the trajectory."""
    return named(example, example.pairs)


def metrics(labels: Sequence[LabeledTrajectory], said: Pairs) -> dict[str, Any]:
    """F1 in per cent of pairs and agents by naming, and of modes."""
    gold: Pairs = [
        {(fault.agent, fault.error_mode.value) for fault in one.faults if fault.error_mode} for one in labels
    ]
    speakers = [{fold_name(step.agent) for step in one.trajectory.steps} for one in labels]
    draws = Resampling([one.question_id or "" for one in labels], draws=DRAWS, seed=SEED)
    found: dict[str, Any] = {}
    for naming in NAMINGS:
        ours, theirs = (respelled(sets, naming, speakers) for sets in (said, gold))
        found[f"pair {naming}"] = f1(told(ours), theirs, draws)
        found[f"agent {naming}"] = f1(part_of(ours, 0), part_of(theirs, 0), draws)
    found["mode"] = f1(part_of(told(said), 1), part_of(gold, 1), draws)
    return found


def told(sets: Pairs) -> Pairs:
    """The pairs that have a mode."""
    return [{pair for pair in one if pair[1] != UNTOLD} for one in sets]


def part_of(sets: Pairs, place: int) -> list[set[str]]:
    """The agents (0) or the modes (1) of pairs."""
    return [{pair[place] for pair in one} for one in sets]


def respelled(sets: Pairs, naming: str, speakers: Sequence[set[str]]) -> Pairs:
    """The pairs with their agents in the spelling that is compared."""
    return [
        {(spelled(agent, naming, who), mode) for agent, mode in one} for one, who in zip(sets, speakers, strict=True)
    ]


def spelled(name: str, naming: str, speakers: set[str]) -> str:
    """A name in the spelling that is compared."""
    return name if naming == "exact" else fold_name(name) if naming == "normalised" else resolve_name(name, speakers)


def f1(said: Sequence[set[Any]], gold: Sequence[set[Any]], draws: Resampling) -> dict[str, float]:
    """Micro-F1 with its interval, macro-F1 over all classes named or labelled, precision and recall."""
    right = np.array([float(len(one & other)) for one, other in zip(said, gold, strict=True)])
    told = np.array([float(len(one)) for one in said])
    wanted = np.array([float(len(one)) for one in gold])
    micro = draws.ratio(2 * right, told + wanted)
    hits, all_ = Counter[Any](), Counter[Any]()
    for one, other in zip(said, gold, strict=True):
        hits.update(one & other)
        all_.update(one)
        all_.update(other)
    percent = {"macro": float(np.mean([2 * hits[key] / count for key, count in all_.items()]))}
    percent |= {"precision": right.sum() / max(1.0, told.sum()), "recall": right.sum() / max(1.0, wanted.sum())}
    if micro is not None:
        percent |= {"micro": micro.value, "low": micro.low or 0.0, "high": micro.high or 0.0}
    return {name: round(100 * float(value), 2) for name, value in percent.items()}


def show_transfer(figures: dict[str, Any]) -> None:
    """Areas on the terminal."""
    print("\nleave one architecture out: area of faulty against other agents within a trajectory")
    for name, row in figures.items():
        if name == "modes":
            print("  " + "  ".join(f"{key} {value:.3f}" for key, value in row.items()))
            continue
        print(f"  {name:26} " + "  ".join(f"{kind} {one['auc']:.3f}" for kind, one in row.items()))
        if name == "head":
            print("    95 %: " + "  ".join(f"{k} {v['low']:.3f}-{v['high']:.3f}" for k, v in row.items() if "low" in v))
    sys.stdout.flush()


def show_known(figures: dict[str, Any]) -> None:
    """F1 on the terminal."""
    print(
        "\nother questions of the same architectures: micro/macro F1 in per cent, thresholds from the other questions"
    )
    for name, row in figures.items():
        cells = [
            f"{level} {row[level]['micro']:.1f}/{row[level]['macro']:.1f}" for level in row if level != "agent auc"
        ]
        if "agent auc" in row:
            cells.append(f"auc {row['agent auc']['value']:.3f}")
        print(f"  {name:32} {'  '.join(cells)}")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="labelled trajectories of Aegis")
    parser.add_argument("--per-architecture", type=int, help="at most so many of each architecture")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--write-weights", type=Path, help="fit the head to everything and write it here")
    options = parser.parse_args()
    began = time.monotonic()
    labels = read(options.data, options.per_architecture)
    if not labels:
        print(f"no labelled trajectories in {str(options.data)!r}", file=sys.stderr)
        return 1
    examples = [fitting.example_of(one, kind=architecture_of(one.trajectory.agent_names)) for one in labels]
    print(f"{len(examples)} trajectories read in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    study = fitting.any_team_study(examples, OPTIONS)
    figures: dict[str, Any] = {
        "runs": dict(Counter(one.kind for one in examples)),
        "questions": len({one.question for one in examples}),
        "transfer": transfer(examples, study),
    }
    show_transfer(figures["transfer"])
    figures["known teams"] = known_teams(examples, labels)
    left_out = study.by_example(study.left_out(head_fit))
    figures["known teams"]["architecture left out, no roster"] = scored(examples, labels, left_out)
    show_known(figures["known teams"])
    if options.write_weights:
        write_weights(options.write_weights, examples, figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


def write_weights(path: Path, examples: Sequence[AgentExample], figures: dict[str, Any]) -> None:
    """The head fitted to everything, with where it comes from."""
    row, pairs = figures["transfer"]["head"], figures["known teams"]["features, words and roster"]
    provenance = {
        "data": "Aegis (Kong et al. 2025, arXiv 2509.14295), injected faults, training part",
        "trajectories": figures["runs"],
        "questions": figures["questions"],
        "seed": SEED,
        "date": date.today().isoformat(),
        "auc of an architecture left out": {kind: round(one["auc"], 3) for kind, one in row.items()},
        "pair micro-F1 on questions left out": {naming: pairs[f"pair {naming}"]["micro"] for naming in NAMINGS},
    }
    head = replace(fitting.fit_head(examples, OPTIONS), provenance=provenance)
    text = json.dumps(head.to_json(), separators=(",", ":"), ensure_ascii=False)
    path.write_text(text.replace('},"', '},\n"').replace('],"', '],\n"') + "\n", encoding="utf-8")
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
