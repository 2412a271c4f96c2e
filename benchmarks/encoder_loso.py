"""Does an encoder tell which agents are at fault in a kind of team it has never seen, and does contrast help it?

On Aegis, over the vectors of an encoder that stays as it is, trajectory heads are trained without contrast, with plain
InfoNCE and with the supervised contrast, each with several seeds: once without each architecture, once without each
fifth of the questions. Beside them, on the same rows, the agent head of `structural`, and both together. Reported are
the mean area under the ROC curve of faulty against other agents within a trajectory, and for other questions the
micro-F1 of pairs of agent and mode, with the threshold that is best on the other questions. People and system prompts
are no agents here: telling them apart would be no merit.

    python benchmarks/encoder_loso.py --data train.jsonl.xz --base all-MiniLM-L6-v2 --out encoder_loso/ --seeds 5

The command goes on where it stopped; ``--seeds`` may be raised later.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _encoder_figures import (
    Answers,
    Array,
    PairCounts,
    by_architecture,
    joined,
    mean_counts,
    of_encoder,
    of_structural,
    pair_counts,
    resampling,
)
from _encoder_heads import Contrast, HeadStudy, Logits
from _encoder_rows import Part, StudyRow, architectures_left_out, questions_left_out, step_vectors, study_rows

from tracer_hooks.attribution.encoder import (
    WEIGHTS,
    EncoderModel,
    HeadConfig,
    StepEncoder,
    StepTokenizer,
    TrajectoryHead,
    feature_names,
    load_model,
)
from tracer_hooks.evaluation._measure import Measure
from tracer_hooks.training._contrastive_model import mode_vectors

CONTRASTS: tuple[Contrast, ...] = ("none", "infonce", "supervised")
STRUCTURAL, NOTHING = "structural", "number of turns"


@dataclass
class Told:
    """What each way says, by its name: one entry for each seed."""

    areas: dict[str, list[Array]] = field(default_factory=dict)
    pairs: dict[str, list[PairCounts]] = field(default_factory=dict)

    def add(self, way: str, answers: Answers, rows: Sequence[StudyRow]) -> None:
        self.areas.setdefault(way, []).append(answers.areas)
        self.pairs.setdefault(way, []).append(pair_counts(rows, answers))


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    names, tokenizer = feature_names(), StepTokenizer(options.base)
    rows = study_rows(options.data, tokenizer, names, options.per_architecture)
    ours = (options.base / WEIGHTS).is_file()
    backbone = load_model(options.base)[0].backbone if ours else StepEncoder.from_base(options.base)
    backbone.requires_grad_(False)
    config = HeadConfig(vectors=backbone.width, features=names)
    model = EncoderModel(backbone, TrajectoryHead(config))
    vectors = step_vectors(model, rows, options.out / "vectors.npz")
    print(f"{len(rows)} trajectories read and encoded in {time.monotonic() - began:.0f} s", flush=True)
    study = HeadStudy(backbone, config, rows, vectors, mode_vectors(model, tokenizer), options.epochs, options.out)
    document: dict[str, Any] = {"trajectories": len(rows), "epochs": options.epochs, "seeds": dict(options.seeds_of)}
    for title, parts, known in (
        ("one architecture left out", list(architectures_left_out(rows)), False),
        ("other questions", list(questions_left_out(rows)), True),
    ):
        told = _told(study, parts, options.seeds_of, known_teams=known)
        document[title] = _figures(rows, told)
        print(f"\n{title}\n{_table(document[title])}", flush=True)
        (options.out / "encoder_loso.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _told(study: HeadStudy, parts: Sequence[Part], seeds: Mapping[Contrast, int], *, known_teams: bool) -> Told:
    rows, told = study.rows, Told()
    structural = of_structural(rows, known_teams=known_teams)
    told.add(NOTHING, _turns(rows), rows)
    told.add(STRUCTURAL, structural, rows)
    for seed in range(max(seeds.values())):
        for contrast in (one for one in CONTRASTS if seed < seeds[one]):
            answers = _everywhere(study, contrast, parts, seed)
            for tower, odds in answers.items():
                told.add(f"{tower}, {contrast}", of_encoder(rows, odds), rows)
            told.add(f"{STRUCTURAL} + words, {contrast}", joined(structural, of_encoder(rows, answers["words"])), rows)
            print(f"{contrast}, seed {seed}: trained and tested on {len(parts)} parts", flush=True)
    return told


def _everywhere(study: HeadStudy, contrast: Contrast, parts: Sequence[Part], seed: int) -> dict[str, Logits]:
    """For each tower, the logits of every row by the head that was trained without the row's part."""
    found: dict[str, Logits] = {}
    for part in parts:
        for tower, odds in study.logits(contrast, part, seed).items():
            every = found.setdefault(tower, [np.zeros((0, 15), np.float32)] * len(study.rows))
            for k, one in zip(part.test, odds, strict=True):
                every[k] = one
    return found


def _turns(rows: Sequence[StudyRow]) -> Answers:
    """Reads no text: who speaks more often is likelier at fault, and every mode is as likely as any other."""
    odds: Logits = []
    for row in rows:
        turns = np.bincount(row.encoder.reading.speakers, minlength=len(row.encoder.labels.agents))
        odds.append(np.repeat(turns[:, None], 15, axis=1).astype(np.float32))
    return of_encoder(rows, odds)


def _figures(rows: Sequence[StudyRow], told: Told) -> dict[str, Any]:
    draws = resampling(rows)
    areas = {way: np.mean(seeds, axis=0) for way, seeds in told.areas.items()}
    pairs = {way: mean_counts(seeds).f1 for way, seeds in told.pairs.items()}
    found: dict[str, Any] = {}
    for way, area in areas.items():
        kinds, mean = by_architecture(rows, area, draws)
        of_seeds = [by_architecture(rows, one, draws)[1].value for one in told.areas[way]]
        found[way] = {
            "seeds": len(of_seeds),
            "auc": _shown(mean),
            "auc_by_seed": [round(one, 4) for one in of_seeds],
            "auc_by_architecture": {name: round(value, 4) for name, value in kinds.items()},
            "auc_minus_structural": _shown(by_architecture(rows, area - areas[STRUCTURAL], draws)[1]),
            "pair_micro_f1": _shown(draws.ratio(*pairs[way])),
            "pair_minus_structural": _shown(draws.ratio_difference(pairs[way], pairs[STRUCTURAL])),
        }
        plain = f"{way.rpartition(', ')[0]}, none"
        if plain in areas and plain != way:
            seeds = min(len(told.areas[way]), len(told.areas[plain]))
            ours, theirs = (np.mean(told.areas[one][:seeds], axis=0) for one in (way, plain))
            counts = [mean_counts(told.pairs[one][:seeds]).f1 for one in (way, plain)]
            found[way]["auc_minus_no_contrast"] = _shown(by_architecture(rows, ours - theirs, draws)[1])
            found[way]["pair_minus_no_contrast"] = _shown(draws.ratio_difference(*counts))
    return found


def _shown(measure: Measure | None) -> dict[str, float] | None:
    if measure is None:
        return None
    ends = {"low": measure.low, "high": measure.high}
    return {"value": round(measure.value, 4), **{key: round(end, 4) for key, end in ends.items() if end is not None}}


def _table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    kinds = list(figures[STRUCTURAL]["auc_by_architecture"])
    lines = [
        f"| way | seeds | {' | '.join(kinds)} | mean AUC | less structural | less no contrast | pair micro-F1 |",
        "|---|--:|" + "--:|" * (len(kinds) + 4),
    ]
    for way, one in figures.items():
        cells = [f"{one['auc_by_architecture'][kind]:.3f}" for kind in kinds]
        compared = [_cell(one.get(key)) for key in ("auc", "auc_minus_structural", "auc_minus_no_contrast")]
        lines.append(f"| {' | '.join([way, str(one['seeds']), *cells, *compared, _cell(one['pair_micro_f1'])])} |")
    return "\n".join(lines)


def _cell(measure: Mapping[str, float] | None) -> str:
    if measure is None:
        return ""
    ends = f" [{measure['low']:.3f}, {measure['high']:.3f}]" if "low" in measure else ""
    return f"{measure['value']:.3f}{ends}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="labelled trajectories of Aegis")
    parser.add_argument("--base", type=Path, required=True, help="folder of a small BERT, or of a trained encoder")
    parser.add_argument("--out", type=Path, required=True, help="folder for what was trained, and encoder_loso.json")
    parser.add_argument("--per-architecture", type=int, default=200)
    parser.add_argument("--epochs", type=float, default=4)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--infonce-seeds", type=int, default=2, help="of the ablation without labels")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    options.seeds_of = {"none": options.seeds, "infonce": options.infonce_seeds, "supervised": options.seeds}
    return options


if __name__ == "__main__":
    main()
