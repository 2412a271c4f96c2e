"""What a training run of the encoder is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tracer_hooks.attribution.encoder import CONFIG, TOKENIZER, WEIGHTS, HeadConfig
from tracer_hooks.errors import TrainingError
from tracer_hooks.training._examples import ARCHITECTURES
from tracer_hooks.training._trainer import LoopOptions

CHECKPOINT, METRICS = "checkpoint.pt", "metrics.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderTraining:
    """One training run."""

    data: tuple[Path, ...]
    """Files or folders of labelled trajectories."""
    base: Path
    """A folder with ``config.json``, ``model.safetensors`` and ``tokenizer.json`` of a small BERT, or one that an
    earlier run wrote."""
    out: Path
    """Where the model, ``metrics.json`` and the checkpoint go."""
    loop: LoopOptions = field(default_factory=LoopOptions)
    max_minutes: float = 120.0
    """Training stops after so long, with what has been learnt until then; reading and validating come on top."""
    checkpoint_minutes: float = 5.0
    resume: bool = False
    """Go on from the checkpoint in :attr:`out`."""
    leave_out: tuple[str, ...] = ()
    """Architectures of Aegis to leave out of training and to report on."""
    per_architecture: int | None = None
    """Of each architecture, use at most so many trajectories, drawn by the seed; all by default."""
    heads_only: bool = False
    """Leave what :attr:`base` brings as it is, the step encoder and, of an earlier run, the tower over its vectors;
    train the rest of the head."""
    freeze: int = 2
    """The embeddings and so many of the lowest layers stay as they are."""
    features: bool = True
    """Whether the structural features join at the head."""
    head: HeadConfig = field(default_factory=HeadConfig)
    device: str = "cpu"

    def check(self) -> None:
        """See whether the run can start.

        Raises:
            TrainingError: It cannot.
        """
        is_ours = (self.base / WEIGHTS).is_file()
        for file in (*((CONFIG, WEIGHTS) if is_ours else ("config.json", "model.safetensors")), TOKENIZER):
            if not (self.base / file).is_file():
                raise TrainingError(f"{str(self.base)!r} holds no {file!r}: --base wants the folder of a small BERT")
        unknown = [name for name in self.leave_out if name not in ARCHITECTURES]
        if unknown:
            raise TrainingError(f"unknown architecture {unknown[0]!r}, expected one of {', '.join(ARCHITECTURES)}")
        if self.resume and not (self.out / CHECKPOINT).is_file():
            raise TrainingError(f"{str(self.out)!r} holds no {CHECKPOINT!r} to resume from: leave out --resume")
