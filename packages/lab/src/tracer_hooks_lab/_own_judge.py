"""A judge trained on the labels of one's own team, and compared with the fitted attributor on tasks left out."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from tracer_hooks.diagnosis import Attributor, get_attributor
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.evaluation import without_reference
from tracer_hooks.extension import make_folder, question_of, write_files
from tracer_hooks.schema import LabeledTrajectory, Record, Text, to_json
from tracer_hooks_lab._adaptation import (
    AGENT,
    INJECTED,
    NATURAL,
    POSITION,
    AdaptationRow,
    Answers,
    CaseAnswer,
    agent_prior,
    answers_by,
    group_of,
    held_out_apart,
    hits_of,
    method_rows,
    position_prior,
)

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


_CHANCE = 0.05
"""Two attributors that are equally good differ by so much, or more, in one of twenty measurements."""


class RivalReport(Record):
    """Comparison of what two attributors named in failures whose questions neither had learnt from."""

    rival: Text
    """The one that is to show that it is better."""
    standard: Text
    """The one that it is compared with."""
    rows: tuple[AdaptationRow, ...]
    """Both, and the priors that read nothing, on each kind of failures; gains are those over the standard."""
    labels: dict[str, int]
    """How many failures of each kind were judged."""
    questions: int = Field(ge=0)
    """Different questions among those that decide."""
    more: int = Field(ge=0)
    """Questions among them in whose failures the rival names more steps."""
    fewer: int = Field(ge=0)
    """Questions in whose failures it names fewer."""
    unusable: int = Field(default=0, ge=0)
    """Failures to which the rival gave no usable answer; they count as wrong."""

    @property
    def judged_on(self) -> str:
        """The failures that decide: the natural ones where there are any."""
        return NATURAL if self.labels.get(NATURAL, 0) else INJECTED

    @property
    def chance(self) -> float:
        """Return how often two equally good attributors would differ in as many questions: a two-sided sign test."""
        decided = self.more + self.fewer
        tail = sum(comb(decided, k) for k in range(max(self.more, self.fewer), decided + 1))
        return float(min(1.0, 2 * tail / 2**decided))

    @property
    def is_better(self) -> bool:
        """Tell whether the rival is shown to be better."""
        return self.more > self.fewer and self.chance < _CHANCE

    @property
    def is_worse(self) -> bool:
        """Tell whether the rival is shown to be worse."""
        return self.fewer > self.more and self.chance < _CHANCE

    @property
    def as_good_unread(self) -> str | None:
        """A prior that reads nothing and names as many steps as the rival does; None when there is none."""
        ours = self.row(self.rival)
        rows = [row for row in map(self.row, (POSITION, AGENT)) if row is not None]
        best = max(rows, key=lambda row: row.step.value, default=None)
        return best.method if best is not None and ours is not None and best.step.value >= ours.step.value else None

    def row(self, method: str) -> AdaptationRow | None:
        """The row of a method on the failures that decide; None when it was not measured."""
        return next((row for row in self.rows if (row.method, row.group) == (method, self.judged_on)), None)


def compare_attributors(
    labeled: Sequence[LabeledTrajectory],
    attributors: Mapping[str, Attributor],
    *,
    learnt: Sequence[LabeledTrajectory] = (),
    seed: int = 0,
    draws: int = 2_000,
    on_run: Callable[[int, int], None] | None = None,
) -> RivalReport:
    """Compare two attributors on labelled failures.

    Args:
        labeled: Failures with a decisive step, of questions that neither has learnt from; expected answers are
            withheld.
        attributors: The rival and the standard, in this order, by name.
        learnt: What both learnt from, for the priors that read nothing.
        seed: Of the draws.
        draws: Bootstrap draws of whole questions.
        on_run: Told of each failure that is judged, and of how many there are.

    Raises:
        ConfigError: There are not two attributors, or no failure to judge.
        AttributionError: The standard cannot answer.
    """
    cases = [without_reference(one) for one in labeled if one.decisive is not None and not one.is_weak]
    if len(attributors) != 2 or not cases:
        raise ConfigError(f"{len(attributors)} attributors on {len(cases)} failures, expected two on one at least")
    (rival, its), (standard, other) = attributors.items()
    unusable: list[LabeledTrajectory] = []
    methods: dict[str, CaseAnswer] = {rival: answers_by(its, unusable), standard: answers_by(other)}
    if learnt:
        methods |= {POSITION: position_prior(learnt), AGENT: agent_prior(learnt)}
    answers: dict[str, Answers] = {method: [] for method in methods}
    for number, case in enumerate(cases, start=1):
        for method, answer in methods.items():
            answers[method].append(answer(case))
        if on_run is not None:
            on_run(number, len(cases))
    questions = [question_of(one) for one in cases]
    report = RivalReport(
        rival=rival,
        standard=standard,
        rows=tuple(method_rows(cases, questions, answers, beside=standard, seed=seed, draws=draws)),
        labels=dict(Counter(group_of(one) for one in cases)),
        questions=0,
        more=0,
        fewer=0,
        unusable=len(unusable),
    )
    return report.model_copy(update=_signs(cases, questions, answers, report))


def _signs(
    cases: Sequence[LabeledTrajectory], questions: Sequence[str], answers: Mapping[str, Answers], report: RivalReport
) -> dict[str, int]:
    places = [place for place, case in enumerate(cases) if group_of(case) == report.judged_on]
    named = [
        hits_of([cases[place] for place in places], [answers[method][place] for place in places])[0]
        for method in (report.rival, report.standard)
    ]
    gains: Counter[str] = Counter()
    for place, ours, theirs in zip(places, *named, strict=True):
        gains[questions[place]] += int(ours) - int(theirs)
    return {
        "questions": len(gains),
        "more": sum(gain > 0 for gain in gains.values()),
        "fewer": sum(gain < 0 for gain in gains.values()),
    }


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
