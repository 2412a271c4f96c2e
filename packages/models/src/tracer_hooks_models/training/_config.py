"""What a training run is told: one dataclass for each kind of run, read from a TOML, YAML or JSON file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from tracer_hooks.errors import ConfigError
from tracer_hooks.extension import first_problem, require
from tracer_hooks_models.training.data import BadRows, JudgeTask, JudgeTaskOptions, SplitOptions
from tracer_hooks_models.training.rewards import RewardOptions

__all__ = ["ContrastiveConfig", "GRPOConfig", "JudgeConfig", "RunConfig", "SFTConfig", "load_config"]

STRICT = ConfigDict(extra="forbid")
Precision = Literal["auto", "bfloat16", "float32"]
C = TypeVar("C", bound="RunConfig")


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, (str, Path)) else value


Paths = Annotated[tuple[Path, ...], BeforeValidator(_several), Field(min_length=1)]
Names = Annotated[tuple[str, ...], BeforeValidator(_several)]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RunConfig:
    """Settings of every training run."""

    data: Paths
    """Files or folders of labelled trajectories, in any format that ``diagnose`` reads."""
    out: Path
    """Folder for the model, its card, ``metrics.json``, TensorBoard's events and the checkpoints."""
    seed: int = 0
    """Of everything that is random."""
    resume: bool = False
    """Go on from the last good checkpoint in ``out``; from the beginning where there is none."""
    bad_rows: BadRows = "refuse"
    """``refuse`` stops at a row that cannot be used and names it; ``skip`` leaves such rows out and counts them."""
    valid_share: float = Field(default=0.1, ge=0, lt=1)
    """Share of the rows, by whole questions, that training stops by."""
    leave_out_teams: Names = ()
    """Teams that are not trained on and are reported on."""
    similarity: float = Field(default=0.8, gt=0, le=1)
    """Runs that share so many word triples with one that is not trained on are left out of training."""
    epochs: float = Field(default=2.0, gt=0)
    """How often the data is gone through."""
    max_steps: int | None = Field(default=None, ge=1)
    """Steps of the optimiser; goes before ``epochs``."""
    max_minutes: float | None = Field(default=None, gt=0)
    """Training stops after so long with a checkpoint; ``resume`` goes on."""
    batch: int = Field(default=1, ge=1)
    """Rows that one device reads at a time."""
    accumulation: int = Field(default=8, ge=1)
    """Batches that make one step; 1 batch of 8 and 8 batches of 1 train alike."""
    rate: float | None = Field(default=None, gt=0)
    """Highest learning rate."""
    warm_up: float = Field(default=0.1, ge=0, lt=1)
    """Share of the run in which the learning rate rises; it falls as a cosine afterwards."""
    weight_decay: float = Field(default=0.01, ge=0)
    clip: float = Field(default=1.0, gt=0)
    """Longest gradient."""
    precision: Precision = "auto"
    """``auto`` computes in bfloat16 where the device has instructions for it; weights of the optimiser stay float32."""
    device: Literal["auto", "cpu"] = "auto"
    """``cpu`` keeps off a GPU that is there."""
    threads: int | None = Field(default=None, ge=1)
    """Processor threads; as PyTorch finds it by default."""
    checkpoint_every: int = Field(default=50, ge=1)
    """Steps between checkpoints, each with a look at the validation part."""
    checkpoints_kept: int = Field(default=2, ge=2)
    """The last so many are kept; with fewer than two, a crash while writing would leave none."""
    patience: int = Field(default=3, ge=0)
    """Training stops after so many looks without improvement, 0: never. What is written at the end is the best one."""
    log_every: int = Field(default=5, ge=1)
    """Steps between lines of the log."""
    tensorboard: bool = True
    """Write TensorBoard's events where it is installed."""

    @property
    def splits(self) -> SplitOptions:
        """Options by which rows are dealt out."""
        return SplitOptions(
            valid_share=self.valid_share,
            leave_out_teams=self.leave_out_teams,
            similarity=self.similarity,
            seed=self.seed,
        )


@dataclass(frozen=True, kw_only=True, config=STRICT)
class JudgeConfig(RunConfig):
    """Settings of runs that train a judge."""

    model: Path
    """Folder of a causal language model of transformers with its tokenizer, or of a LoRA adapter of an earlier run."""
    init: Literal["weights", "random"] = "weights"
    """``random`` takes only the shape from ``model``, for tests and measurements."""
    task: JudgeTask = "verdict"
    """``verdict`` asks for agent, step and mode of the whole run; ``shortlist`` which of the first three candidates of
    ``structural`` it is, in a much shorter reply."""
    context_tokens: int = Field(default=8_192, ge=1_024)
    """Tokens that prompt and reply may take together; longer runs are cut around the candidates of ``structural``."""
    reply_tokens: int = Field(default=512, ge=32)
    """Tokens that a reply may take."""
    step_chars: int = Field(default=6_000, ge=100)
    """Characters of one step that are shown."""
    top_k: int = Field(default=5, ge=1)
    """How many candidates a long run is cut around."""
    lora_rank: int = Field(default=0, ge=0)
    """Rank of a LoRA adapter on all linear layers; 0 trains every weight."""
    lora_alpha: float = Field(default=16, gt=0)
    merge: bool = False
    """Write a whole model instead of the adapter."""
    gradient_checkpointing: bool = False
    """Compute activations again instead of keeping them: less memory, about a third more time."""

    @property
    def asked(self) -> JudgeTaskOptions:
        """Options by which labelled trajectories become questions."""
        return JudgeTaskOptions(
            task=self.task,
            context_tokens=self.context_tokens,
            reply_tokens=self.reply_tokens,
            step_chars=self.step_chars,
            top_k=self.top_k,
        )


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SFTConfig(JudgeConfig):
    """Supervised fine-tuning of a judge. Defaults follow Aegis (arXiv 2509.14295), whose batch was 64."""

    @property
    def highest_rate(self) -> float:
        """``rate``, else 3e-6 for every weight and 1e-4 for an adapter."""
        return self.rate or (1e-4 if self.lora_rank else 3e-6)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class GRPOConfig(JudgeConfig):
    """Reinforcement learning of a judge by GRPO.

    Defaults follow AgenTracer (arXiv 2509.03312), whose batch was 32 prompts: eight rollouts, no KL term, and a clip
    that closes over the run.
    """

    rollouts: int = Field(default=8, ge=2)
    """Replies to each prompt; a reply's advantage is its reward among them. ``batch`` times ``accumulation`` counts
    replies, and is a multiple of this."""
    generated_at_once: int | None = Field(default=None, ge=2)
    """Replies that one device generates at a time, a multiple of ``rollouts`` and of ``batch``; default all of a step,
    ``batch`` times ``accumulation``. Their prompts and replies are in memory together; fewer change nothing else."""
    reward: Literal["auto", "step", "set"] = "auto"
    """``step``: λ · Gaussian of the step's distance + (1 - λ) · agent; ``set``: pairs of agent and mode; ``auto``: by
    what the label has."""
    step_share: float = Field(default=0.5, ge=0, le=1)
    """λ."""
    sigma: float = Field(default=1.0, gt=0)
    """Width of the Gaussian, in steps."""
    temperature: float = Field(default=1.0, gt=0)
    """Of the rollouts."""
    kl: float = Field(default=0.0, ge=0)
    """Weight of the distance from the first model; above 0, that one is kept in memory too."""
    ratio_clip: float = Field(default=0.2, gt=0)
    """How far a token's probability ratio counts, at the beginning."""
    closing_clip: bool = True
    """The clip falls linearly with the steps, to a fifth of ``ratio_clip`` at the least."""
    updates: int = Field(default=1, ge=1)
    """Steps on the same rollouts."""
    vllm: bool = False
    """Generate with vLLM in the same processes; needs a GPU and ``vllm`` installed."""

    @model_validator(mode="after")
    def _check_replies(self) -> GRPOConfig:
        if self.batch * self.accumulation % self.rollouts:
            raise ValueError(
                f"batch x accumulation is {self.batch * self.accumulation}, expected a multiple of "
                f"rollouts = {self.rollouts}"
            )
        at_once = self.generated_at_once
        if at_once is not None and (at_once % self.rollouts or at_once % self.batch):
            raise ValueError(
                f"generated_at_once is {at_once}, expected a multiple of rollouts = {self.rollouts} and of "
                f"batch = {self.batch}"
            )
        return self

    @property
    def highest_rate(self) -> float:
        """``rate``, else 1e-6 for every weight and 5e-6 for an adapter."""
        return self.rate or (5e-6 if self.lora_rank else 1e-6)

    @property
    def rewarded(self) -> RewardOptions:
        """Options by which a reply is rewarded."""
        return RewardOptions(kind=self.reward, step_share=self.step_share, sigma=self.sigma)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ContrastiveConfig(RunConfig):
    """Training of the attributor ``encoder``."""

    base: Path
    """Folder with ``config.json``, ``model.safetensors`` and ``tokenizer.json`` of a small BERT, or an earlier run."""
    epochs: float = Field(default=1.5, gt=0)
    batch: int = Field(default=8, ge=1)
    """Runs that are read at a time; the contrast is among them, so that here batches of one are not the same."""
    accumulation: int = Field(default=1, ge=1)
    warm_up: float = Field(default=0.06, ge=0, lt=1)
    weight_decay: float = Field(default=0.02, ge=0)
    head_rate: float = Field(default=5e-4, gt=0)
    """Highest learning rate of everything above the step encoder; ``rate`` is that of the step encoder, 5e-5."""
    contrast: Literal["supervised", "infonce", "none"] = "supervised"
    """``supervised`` draws evidence to the prototypes of agents and modes; ``infonce`` tells runs apart without labels;
    ``none`` leaves contrast and prototypes out."""
    contrast_weight: float = Field(default=0.4, ge=0)
    hierarchy_weight: float = Field(default=0.6, ge=0)
    """Weight of: a pair is no likelier than its agent and than its mode."""
    contrast_temperature: float = Field(default=0.07, gt=0)
    projection: int = Field(default=128, ge=1)
    """Size of the space of the prototypes."""
    evidence_steps: int = Field(default=3, ge=1)
    """How many steps, by attention, count as evidence."""
    per_team: int | None = Field(default=None, ge=1)
    """Of each team, use at most so many runs, drawn by the seed."""
    freeze: int = Field(default=2, ge=0)
    """The embeddings and so many of the lowest layers stay as they are."""
    heads_only: bool = False
    """Leave what ``base`` brings as it is; train the rest of the head."""
    features: bool = True
    """Whether the structural features join at the head."""
    width: int = Field(default=192, ge=1)
    """Of the transformer over steps."""
    layers: int = Field(default=2, ge=1)
    heads: int = Field(default=4, ge=1)
    dropout: float = Field(default=0.1, ge=0, lt=1)

    @property
    def highest_rate(self) -> float:
        """``rate``, else 5e-5."""
        return self.rate or 5e-5


def load_config(kind: type[C], path: Path | None, overrides: Mapping[str, Any] | None = None) -> C:
    """The configuration in a file, with some values replaced.

    Args:
        kind: Which configuration.
        path: A file in TOML, YAML or JSON, by its suffix; None takes defaults.
        overrides: Values that go before those of the file; those that are None do not count.

    Raises:
        ConfigError: The file cannot be read, or a key or value cannot be used; the message names the key and the file.
        MissingExtraError: The file is YAML, and PyYAML is not installed.
    """
    return checked_config(kind, {} if path is None else read_options(path), overrides or {}, path)


def checked_config(
    kind: type[C], stated: Mapping[str, Any], overrides: Mapping[str, Any], path: Path | None, *, table: str = ""
) -> C:
    """A configuration of values that stand in a file, or in a table of it, and of others that go before them.

    Raises:
        ConfigError: A key or value cannot be used; the message names the key, and the file where it stands there.
    """
    given = {key: value for key, value in overrides.items() if value is not None}
    try:
        return TypeAdapter(kind).validate_python({**stated, **given})
    except ValidationError as error:
        key, problem = first_problem(error, whole="batch")
        place = f" of {str(path)!r}" if path is not None and (key in stated or key not in given) else ""
        known = {one.name for one in fields(kind)}
        hint = "" if key.split(".")[0] in known else f"; expected one of {', '.join(sorted(known))}"
        named = f"{table}.{key}" if table else key
        raise ConfigError(f"{named!r}{place}: {problem}{hint}") from error


def read_options(path: Path) -> dict[str, Any]:
    """The keys and values of a file in TOML, YAML or JSON, by its suffix.

    Raises:
        ConfigError: The file cannot be read.
        MissingExtraError: The file is YAML, and PyYAML is not installed.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            found: Any = tomllib.loads(text)
        elif path.suffix in (".yaml", ".yml"):
            found = require("yaml", extra="train", feature="a configuration in YAML").safe_load(text)
        elif path.suffix == ".json":
            found = json.loads(text)
        else:
            raise ConfigError(f"{str(path)!r} is of no known kind, expected .toml, .yaml or .json")
    except OSError as error:
        raise ConfigError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    except ConfigError:
        raise
    except Exception as error:  # each parser has its own
        raise ConfigError(f"cannot read {str(path)!r}: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{str(path)!r} holds {type(found).__name__}, expected keys with values")
    return found
