"""Does the encoder transfer to a kind of team it has never seen? Leave one architecture of Aegis out.

The trajectory head is trained on the vectors of an encoder that stays as it is, once for every architecture left out,
with the vectors alone, the structural features alone, and both. The figure is the mean area under the ROC curve of
faulty against other agents within a trajectory. People and system prompts are no agents here: telling them apart would
be no merit. Questions held out at random from known architectures come second; they say little about a new team.

    python benchmarks/encoder_loso.py --data train.jsonl.xz --base all-MiniLM-L6-v2 --out encoder_loso.json
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from tracer_hooks.attribution._encoder._backbone import StepEncoder
from tracer_hooks.attribution._encoder._head import HeadConfig, TrajectoryHead
from tracer_hooks.attribution._encoder._model import EncoderModel
from tracer_hooks.attribution._encoder._stack import stack
from tracer_hooks.attribution._encoder._tokens import StepTokenizer
from tracer_hooks.attribution._encoder._weights import WEIGHTS, load_model
from tracer_hooks.attribution._features import features_of
from tracer_hooks.schema import Step, Trajectory
from tracer_hooks.training._data import drawn, examples_of, is_held_out, labeled_in
from tracer_hooks.training._evaluation import vectors_of
from tracer_hooks.training._examples import ARCHITECTURES, Example
from tracer_hooks.training._metrics import area_within
from tracer_hooks.training._trainer import LoopOptions, Trainer

VARIANTS = ("vectors", "features", "vectors and features")


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    began = time.monotonic()
    ours = (options.base / WEIGHTS).is_file()
    backbone = load_model(options.base)[0].backbone if ours else StepEncoder.from_base(options.base)
    backbone.requires_grad_(False)
    names = features_of(Trajectory(run_id="names", steps=(Step(index=0, agent="a", content="b"),))).names
    picked = drawn(labeled_in(options.data), options.per_architecture, 0)
    examples = examples_of(picked, StepTokenizer(options.base), names)
    blank = EncoderModel(backbone, TrajectoryHead(HeadConfig(vectors=backbone.width)))
    vectors = _vectors(blank, examples, options.cache)
    print(f"{len(examples)} trajectories read and encoded in {time.monotonic() - began:.0f} s", flush=True)
    figures: dict[str, dict[str, float | None]] = {}
    for variant in options.variant or VARIANTS:
        figures[variant] = _figures(Study(backbone, examples, vectors, names, variant, options))
        document = {"trajectories": len(examples), "seeds": options.seeds, "agent_auc": figures}
        options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


class Study:
    """One variant of the head, trained and tested on parts of the examples."""

    def __init__(
        self,
        backbone: StepEncoder,
        examples: Sequence[Example],
        vectors: Sequence[torch.Tensor],
        names: tuple[str, ...],
        variant: str,
        options: argparse.Namespace,
    ) -> None:
        self.options, self.variant, self.backbone = options, variant, backbone
        has_features = "features" in variant
        self.config = HeadConfig(vectors=backbone.width, features=names if has_features else (), blind=options.blind)
        self.examples = [
            example if has_features else replace(example, reading=replace(example.reading, features=_none(example)))
            for example in examples
        ]
        self.vectors = [one if "vectors" in variant else torch.zeros_like(one) for one in vectors]

    def area(self, train: Sequence[int], test: Sequence[int]) -> float | None:
        """Mean over seeds of the area on ``test`` of a head that was trained on ``train``."""
        found = [self._area(train, test, seed) for seed in range(self.options.seeds)]
        return None if None in found else round(float(np.mean(found)), 4)

    def _area(self, train: Sequence[int], test: Sequence[int], seed: int) -> float | None:
        torch.manual_seed(seed)
        model = EncoderModel(self.backbone, TrajectoryHead(self.config))
        loop = LoopOptions(epochs=self.options.epochs, batch=32, seed=seed, head_rate=1e-3)
        trainer = Trainer(model, [self.examples[k] for k in train], loop, [self.vectors[k] for k in train])
        while not trainer.done:
            trainer.step()
        model.eval()
        scores = []
        with torch.inference_mode():
            for start in range(0, len(test), 32):
                rows = test[start : start + 32]
                output = model.head(stack([self.examples[k].reading for k in rows], [self.vectors[k] for k in rows]))
                scores += [
                    output.agents[place, : len(self.examples[k].labels.agents)].numpy() for place, k in enumerate(rows)
                ]
        return area_within(scores, [self.examples[k].labels.agents for k in test])


def _none(example: Example) -> np.ndarray:
    return example.reading.features[:, :0]


def _figures(study: Study) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    examples = study.examples
    for architecture in study.options.leave_out or ARCHITECTURES:
        test = [k for k, one in enumerate(examples) if one.architecture == architecture]
        if not test:
            continue
        train = [k for k, one in enumerate(examples) if one.architecture != architecture]
        found[architecture] = study.area(train, test)
        print(f"{study.variant}: without {architecture} {found[architecture]}", flush=True)
    known = [area for area in found.values() if area is not None]
    found["mean"] = round(float(np.mean(known)), 4) if known else None
    held = {k for k, one in enumerate(examples) if is_held_out(one.question)}
    found["known architectures, other questions"] = study.area(
        [k for k in range(len(examples)) if k not in held], sorted(held)
    )
    print(f"{study.variant}: {found}", flush=True)
    return found


def _vectors(model: EncoderModel, examples: Sequence[Example], cache: Path | None) -> list[torch.Tensor]:
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
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="only this one; may be repeated")
    parser.add_argument("--blind", type=float, default=0.5, help="share of training trajectories without vectors")
    parser.add_argument("--leave-out", action="append", choices=ARCHITECTURES, help="only this one; may be repeated")
    parser.add_argument("--epochs", type=float, default=4)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
