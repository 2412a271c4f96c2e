"""Does the encoder transfer to a kind of team it has never seen? Leave one architecture of Aegis out.

The trajectory head is trained on the vectors of an encoder that stays as it is, once for every architecture left out.
Reported are the tower that reads words, the tower that reads structural features, and both together. The figure is the
mean area under the ROC curve of faulty against other agents within a trajectory. People and system prompts are no
agents here: telling them apart would be no merit. Questions held out at random from known architectures come second;
they say little about a new team.

    python benchmarks/encoder_loso.py --data train.jsonl.xz --base all-MiniLM-L6-v2 --out encoder_loso.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracer_hooks.attribution.encoder import (
    WEIGHTS,
    EncoderModel,
    HeadConfig,
    StepEncoder,
    StepTokenizer,
    TrajectoryHead,
    feature_names,
    load_model,
    read,
    stack,
)
from tracer_hooks.schema import LabeledTrajectory
from tracer_hooks.training import ContrastiveConfig, contrastive
from tracer_hooks.training._contrastive_model import ContrastiveModel, ContrastOptions, Item
from tracer_hooks.training._evaluation import vectors_of
from tracer_hooks.training._examples import ARCHITECTURES, Example, architecture_of, labels_of
from tracer_hooks.training._metrics import area_within
from tracer_hooks.training.data import read_labeled

TOWERS = ("words", "features", "both")
KNOWN = "known architectures, other questions"


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    began = time.monotonic()
    ours = (options.base / WEIGHTS).is_file()
    backbone = load_model(options.base)[0].backbone if ours else StepEncoder.from_base(options.base)
    backbone.requires_grad_(False)
    names = feature_names()
    config = HeadConfig(vectors=backbone.width, features=names)
    found = read_labeled(options.data, bad_rows="skip")
    labeled = drawn([row.labeled for row in found.rows], options.per_architecture)
    examples = examples_of(labeled, StepTokenizer(options.base), names)
    vectors = _vectors(EncoderModel(backbone, TrajectoryHead(config)), examples, options.cache)
    print(f"{len(examples)} trajectories read and encoded in {time.monotonic() - began:.0f} s", flush=True)
    report(Study(backbone, config, examples, vectors, options), options)


def report(study: Study, options: argparse.Namespace) -> None:
    """Print the figures of every part left out, and write them, with their mean over the architectures."""
    figures: dict[str, dict[str, float]] = {}
    for name, train, test in study.parts(options.leave_out or ARCHITECTURES):
        figures[name] = study.areas(train, test)
        print(f"{name}: {figures[name]}", flush=True)
        unseen = [one for part, one in figures.items() if part != KNOWN]
        mean = {tower: round(float(np.mean([one[tower] for one in unseen])), 4) for tower in TOWERS}
        document = {"trajectories": len(study.examples), "seeds": options.seeds, "mean": mean, "agent_auc": figures}
        options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"mean over the architectures left out: {mean}")


@dataclass(frozen=True)
class Study:
    """The trajectory head, trained and tested on parts of the examples."""

    backbone: StepEncoder
    config: HeadConfig
    examples: Sequence[Example]
    vectors: Sequence[Tensor]
    options: argparse.Namespace

    def parts(self, leave_out: Sequence[str]) -> Iterator[tuple[str, list[int], list[int]]]:
        """Name, training rows and test rows, for every architecture left out and for other questions."""
        kinds = [one.architecture for one in self.examples]
        for name in leave_out:
            if name in kinds:
                yield (
                    name,
                    [k for k, kind in enumerate(kinds) if kind != name],
                    [k for k, kind in enumerate(kinds) if kind == name],
                )
        held = [k for k, one in enumerate(self.examples) if is_held_out(one.question)]
        yield KNOWN, sorted(set(range(len(kinds))) - set(held)), held

    def areas(self, train: Sequence[int], test: Sequence[int]) -> dict[str, float]:
        """Area on ``test`` of each tower, and of both, trained on ``train``; mean over seeds."""
        found = [self._areas(train, test, seed) for seed in range(self.options.seeds)]
        return {tower: round(float(np.mean([one[tower] for one in found])), 4) for tower in TOWERS}

    def _areas(self, train: Sequence[int], test: Sequence[int], seed: int) -> dict[str, float]:
        torch.manual_seed(seed)
        model = EncoderModel(self.backbone, TrajectoryHead(self.config))
        items = [Item(self.examples[k], vectors=self.vectors[k]) for k in train]
        with tempfile.TemporaryDirectory() as folder:
            config = ContrastiveConfig(
                data=tuple(self.options.data),
                base=self.options.base,
                out=Path(folder),
                epochs=self.options.epochs,
                batch=32,
                seed=seed,
                head_rate=1e-3,
                checkpoint_every=10**9,
                device="cpu",
                tensorboard=False,
            )
            nothing = torch.zeros(14, 1)
            contrast = ContrastiveModel(model, ContrastOptions(contrast="none"), nothing)
            contrastive.trainer_of(config, contrast, contrastive.Parts(items, [], [])).train()
        truth = [self.examples[k].labels.agents for k in test]
        scores = self._scores(model.head.eval(), test)
        return {tower: area_within(scores[tower], truth) or math.nan for tower in TOWERS}

    def _scores(self, head: TrajectoryHead, rows: Sequence[int]) -> dict[str, list[NDArray[np.float32]]]:
        found: dict[str, list[NDArray[np.float32]]] = {tower: [] for tower in TOWERS}
        for start in range(0, len(rows), 32):
            batch = rows[start : start + 32]
            given = stack([self.examples[k].reading for k in batch], [self.vectors[k] for k in batch])
            with torch.inference_mode():
                own = [tower(given) for tower in head.towers]
                outputs = dict(zip(TOWERS, (*own, head.combined(own)), strict=True))
            for place, k in enumerate(batch):
                for tower, output in outputs.items():
                    found[tower].append(output.agents[place, : len(self.examples[k].labels.agents)].numpy())
        return found


def drawn(labeled: Sequence[LabeledTrajectory], count: int) -> list[LabeledTrajectory]:
    """At most ``count`` of each architecture, always the same ones."""
    groups: dict[str, list[LabeledTrajectory]] = {}
    for one in labeled:
        groups.setdefault(architecture_of(one.trajectory.agent_names), []).append(one)
    chance, picked = random.Random(0), []
    for name in sorted(groups):
        chance.shuffle(groups[name])
        picked += groups[name][:count]
    return picked


def examples_of(
    labeled: Iterable[LabeledTrajectory], tokenizer: StepTokenizer, features: Sequence[str]
) -> list[Example]:
    """Those that have agents to point at, read."""
    found = []
    for one in labeled:
        reading = read(one.trajectory, tokenizer, features)
        labels = labels_of(one, reading)
        if labels.useful:
            question = one.question_id or one.trajectory.task
            found.append(Example(reading, labels, question, architecture_of(one.trajectory.agent_names)))
    return found


def is_held_out(question: str) -> bool:
    """Whether a question belongs to the tenth that is tested on; the same on every machine and in every run."""
    return int(hashlib.sha256(question.encode("utf-8", "replace")).hexdigest(), 16) % 10 == 0


def _vectors(model: EncoderModel, examples: Sequence[Example], cache: Path | None) -> list[Tensor]:
    if cache is not None and cache.is_file():
        flat = torch.from_numpy(np.load(cache)["vectors"].astype(np.float32))
        return list(flat.split([len(one.reading.steps) for one in examples]))
    found = vectors_of(model, examples)
    if cache is not None:
        np.savez(cache, vectors=torch.cat(found).numpy().astype(np.float16))
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="labelled trajectories of Aegis")
    parser.add_argument("--base", type=Path, required=True, help="folder of a small BERT, or of a trained encoder")
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the figures")
    parser.add_argument("--cache", type=Path, help="file to keep the vectors in, for the same data and base")
    parser.add_argument("--per-architecture", type=int, default=300)
    parser.add_argument("--leave-out", action="append", choices=ARCHITECTURES, help="only this one; may be repeated")
    parser.add_argument("--epochs", type=float, default=4)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
