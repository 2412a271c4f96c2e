"""A judge trained on the labels of one's own team, and compared with the fitted attributor on tasks left out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracer_hooks.diagnosis import Attributor, get_attributor
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.evaluation import RivalReport, compare_attributors, held_out_apart
from tracer_hooks.extension import make_folder, write_files
from tracer_hooks.schema import LabeledTrajectory, to_json

if TYPE_CHECKING:
    from tracer_hooks_models.training import Progress
    from tracer_hooks_models.training.stages import JudgeStages

FOLDER = "judge"
"""Where the judge lies, in the folder of the calibration."""
RIVAL = "judge"
FEWEST_TASKS = 20
"""Tasks below which no judge is trained: not all of them give a label."""
FEWEST_QUESTIONS = 18
"""Tasks with a label below which a third is too few to show anything by."""
_PLAN, _COMPARISON = "plan.json", "comparison.json"


@dataclass(frozen=True, kw_only=True)
class JudgeTraining:
    """Settings for the training of a judge on the labels of a calibration."""

    model: str | Path | None = None
    """Folder of the language model to begin with; goes before that of ``config``."""
    config: str | Path | None = None
    """TOML, YAML or JSON with keys of :class:`~tracer_hooks_models.training.SFTConfig`; a table ``grpo`` with keys of
    :class:`~tracer_hooks_models.training.GRPOConfig` asks for training by rewards after that."""


@dataclass(frozen=True, kw_only=True)
class TrainedJudge:
    """A judge that was trained on the labels of a calibration."""

    folder: Path
    """Where it lies; ``--attributor FOLDER`` uses it."""
    trained_on: int
    """Labelled failures that it was trained on."""
    report: RivalReport
    """Judge and fitted attributor on failures in tasks that both had not learnt from."""
    training: dict[str, Any] = field(default_factory=dict)
    """``metrics.json`` of each stage, by ``sft`` and ``grpo``."""


class OwnJudge:
    """Trains the judge of one calibration; what was done is kept, and the same call goes on.

    Args:
        options: How.
        folder: That of the calibration.
        seed: Of which tasks are left out.
    """

    def __init__(self, options: JudgeTraining, folder: Path, *, seed: int = 0) -> None:
        self._options = options
        self._seed = seed
        self.folder = folder.absolute() / FOLDER
        self._labels = self.folder / "labels"

    def check(self, *, tasks: int, labels: int | None) -> None:
        """Find out whether a judge can be trained, before anything is collected for it.

        Args:
            tasks: How many tasks the team is asked.
            labels: How many labels are wanted at most; None for no limit.

        Raises:
            MissingExtraError: Something is not installed.
            ConfigError: There is no model, an option cannot be used, or tasks or labels would be too few.
        """
        from tracer_hooks_models.training.stages import check_stages

        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise ConfigError(
                "several processes would each run the team. Calibrate without --train judge, then: accelerate launch "
                f"... $(command -v tracer-hooks) train sft --data {str(self.folder.parent / 'labeled.jsonl')!r}"
            )
        if tasks < FEWEST_TASKS:
            raise ConfigError(
                f"{tasks} tasks are too few to train a judge on two thirds of them and to measure it on the rest, "
                f"expected at least {FEWEST_TASKS}, better 200. Add tasks, or leave out --train judge"
            )
        if labels is not None and labels < FEWEST_QUESTIONS:
            raise ConfigError(
                f"{labels} labels are wanted at most, too few to train a judge, expected at least {FEWEST_QUESTIONS}, "
                "better some hundred. Raise --injected, or leave out --train judge"
            )
        stages = self._stages()
        check_stages(stages)
        self._refuse_other(stages, None)

    def train(
        self,
        labeled: Sequence[LabeledTrajectory],
        standard: Callable[[Sequence[LabeledTrajectory]], tuple[str, Attributor]],
        *,
        progress: Progress | None = None,
    ) -> TrainedJudge:
        """Train a judge on the failures of two thirds of the questions, and compare it on those of the rest.

        Args:
            labeled: Failures with a decisive step.
            standard: Makes what it is compared with of those failures that may be learnt from, and names it.
            progress: Told how it goes.

        Raises:
            DatasetError: There are too few labels, or a judge was trained here on others.
            TrainingError: Training cannot go on.
        """
        from tracer_hooks_models.training import Silent
        from tracer_hooks_models.training.stages import train_stages

        proven = [one for one in labeled if not one.is_weak]
        questions = len({one.trajectory.task or one.question_id for one in proven})
        if questions < FEWEST_QUESTIONS:
            raise DatasetError(
                f"the build gave labels on {questions} tasks, too few to train a judge on two thirds of them, expected "
                f"at least {FEWEST_QUESTIONS}. Add tasks, or raise --repeats or --injected, and give the same command "
                "again; the fitted attributor stays"
            )
        learnt, judged = held_out_apart(labeled, seed=self._seed)
        taught = [one for one in learnt if not one.is_weak]
        stages = self._stages()
        self._write(stages, taught, judged)
        progress = progress or Silent()
        metrics = train_stages(stages, progress)
        name, other = standard(learnt)
        judge = get_attributor(self.folder)
        with progress.phase("judging failures in tasks left out") as tick:
            report = compare_attributors(
                judged, {RIVAL: judge, name: other}, learnt=taught, seed=self._seed, on_run=lambda *_: tick()
            )
        self._save({self.folder / _COMPARISON: (report.model_dump_json(indent=2) + "\n").encode()})
        return TrainedJudge(folder=self.folder, trained_on=len(taught), report=report, training=metrics)

    def _stages(self) -> JudgeStages:
        from tracer_hooks_models.training.stages import judge_stages

        options = self._options
        return judge_stages(
            None if options.config is None else Path(options.config),
            data=self._labels / "learnt.jsonl",
            out=self.folder,
            model=None if options.model is None else Path(options.model).absolute(),
        )

    def _write(
        self, stages: JudgeStages, taught: Sequence[LabeledTrajectory], judged: Sequence[LabeledTrajectory]
    ) -> None:
        learnt, held_out = (b"".join(to_json(one).encode() + b"\n" for one in part) for part in (taught, judged))
        digest = hashlib.sha256(learnt + held_out).hexdigest()
        self._refuse_other(stages, digest)
        plan = json.dumps(self._plan(stages, digest), indent=1) + "\n"
        self._save(
            {
                self._labels / "learnt.jsonl": learnt,
                self._labels / "held_out.jsonl": held_out,
                self.folder / _PLAN: plan.encode(),
            }
        )

    def _save(self, files: Mapping[Path, bytes]) -> None:
        try:
            make_folder(self._labels)
            write_files(files)
        except OSError as error:
            raise DatasetError(f"cannot write to {str(self.folder)!r}: {error.strerror or error}") from error

    def _plan(self, stages: JudgeStages, labels: str | None) -> dict[str, Any]:
        from tracer_hooks_models.training.stages import options_that_decide

        return {"labels": labels, **options_that_decide(stages)}

    def _refuse_other(self, stages: JudgeStages, labels: str | None) -> None:
        """Refuse to go on with a judge of other labels or options; labels that are None are not known yet."""
        try:
            before = json.loads((self.folder / _PLAN).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        now = self._plan(stages, labels)
        differing = [key for key in {**before, **now} if before.get(key) != now.get(key)]
        named = [key for key in differing if key != "labels" or labels is not None]
        if named:
            what = "labels" if named[0] == "labels" else f"{named[0]} = {before.get(named[0])!r}"
            raise DatasetError(
                f"the judge in {str(self.folder)!r} was trained with other {what}: remove that folder to train anew, "
                "and give the same command again"
            )
