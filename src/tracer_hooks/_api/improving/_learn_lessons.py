"""``tracer_hooks.learn_lessons``: lessons from the diagnosed failures of the run store, put on trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracer_hooks._api.improving._earlier_runs import judged_failure
from tracer_hooks._api.improving._team_trials import TrialOptions
from tracer_hooks.attribution import Attributor, blames_environment, get_attributor
from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement import (
    FEWEST_FAILURES,
    NEAR,
    FailureGroup,
    JudgedRun,
    failure_groups,
    nearness,
    write_lesson,
)
from tracer_hooks.repairs import Chat, FeedbackMode
from tracer_hooks.schema import Json, Record, RunKind, RunOutcome, Text, Usage
from tracer_hooks.store import Lesson, LessonDraft, LessonStore, RunStore, RunSummary, StoredRun, fingerprint
from tracer_hooks.telemetry import ContentGate, gated_trajectory

_MOST_FAILURES = 120
_LOOKED_AT = 2_000
_MOST_LIVING = 5
_ERRORS_IN_A_ROW = 2
_TASKS_KEPT = 5
_TASK_CHARS = 200


class RefusedLesson(Record):
    """A group of failures that no lesson came of."""

    agent: Text
    """Who is blamed for them."""
    failures: int
    """How many they are."""
    why: Text
    """Why there is no lesson."""


class LearnedLessons(Record):
    """What came of reading the failures of a team."""

    team: Text
    """The team's fingerprint."""
    team_name: Text
    """The team's name."""
    failures: int = 0
    """Failures that were read: those that nobody has learnt from yet."""
    unblamed: int = 0
    """Those of them that the diagnosis lays on no agent, or on the team's surroundings."""
    too_few: int = 0
    """Those of them that fewer than three of their kind were found of."""
    covered: int = 0
    """Those of them that a living lesson is for."""
    learned: tuple[Lesson, ...] = ()
    """The new lessons; they are on trial."""
    refused: tuple[RefusedLesson, ...] = ()
    """Groups of failures that no lesson came of."""
    usage: Usage = Usage()
    """Tokens that the writing took."""
    stopped: Text = ""
    """Why it was broken off; empty where it came to its end. What was learnt until then is kept."""


@dataclass
class _Findings:
    """What comes together while groups are asked about."""

    learned: list[Lesson] = field(default_factory=list)
    refused: list[RefusedLesson] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    stopped: str = ""


def learn_lessons(
    team: str,
    *,
    chat: Chat,
    store: str | Path | None = None,
    attributor: str | Attributor = "auto",
    feedback: FeedbackMode = "masked",
    agents: Sequence[str] = (),
) -> LearnedLessons:
    """Learn lessons from the failures of a team that the run store holds, and put them on trial.

    The newest failed first attempts that nobody has learnt from are grouped by the agent that the diagnosis blames and
    by kind of task. For each group of three and more that no living lesson is for, the model is asked for one lesson.
    ``hook(lessons="learned")`` gives it to a random half of the runs at tasks of that kind, and keeps or retires it by
    how they go. An agent has five living lessons at most.

    Args:
        team: The team's name, its fingerprint, or the beginning of that.
        chat: Asks the language model that writes: messages with ``role`` and ``content`` in, text out.
        store: The run store's file; default the usual one.
        attributor: Who diagnoses runs that are stored without a diagnosis.
        feedback: What of the check's reason the model may be shown.
        agents: Whose lessons; default all.

    Raises:
        ConfigError: The store has no failed run of such a team, or of several.
        StoreError: The run store cannot be used.
    """
    options = TrialOptions(attributor=get_attributor(attributor), feedback=feedback)
    with RunStore(store, read_only=True) as runs:
        heads = _heads_of(runs.list(limit=_LOOKED_AT, outcome=RunOutcome.FAILED), team)
    name = fingerprint(heads[0].framework, heads[0].team)
    with LessonStore(store) as lessons:
        taken = {run_id for _, run_id in lessons.learnt_from(name)}
        new = [one for one in heads if one.run_id not in taken][:_MOST_FAILURES]
        with RunStore(store, read_only=True) as runs:
            failed = [judged_failure(_kept(runs.get(one.run_id, with_tape=False)), options) for one in new]
        blamed = [run for run in failed if run.blamed is not None and not blames_environment(run.attribution)]
        wanted = [run for run in blamed if not agents or run.blamed in agents]
        groups = failure_groups(wanted)
        living = lessons.lessons(name, living_only=True)
        large = [group for group in groups if len(group.runs) >= FEWEST_FAILURES]
        open_groups = [group for group in large if not any(_is_for(one, group) for one in living)]
        found = _Findings()
        for group in open_groups:
            if not found.stopped:
                _learn(lessons, name, heads[0], group, chat, found)
    return LearnedLessons(
        team=name,
        team_name=heads[0].team,
        failures=len(failed),
        unblamed=len(failed) - len(blamed),
        too_few=len(wanted) - sum(len(group.runs) for group in large),
        covered=sum(len(group.runs) for group in large) - sum(len(group.runs) for group in open_groups),
        learned=tuple(found.learned),
        refused=tuple(found.refused),
        usage=found.usage,
        stopped=found.stopped,
    )


def _kept(run: StoredRun) -> StoredRun:
    """A run that may have been stored in another mode, as the model that writes lessons may see it."""
    return run.model_copy(update={"trajectory": gated_trajectory(run.trajectory, ContentGate.of_record())})


def _learn(
    lessons: LessonStore, team: str, head: RunSummary, group: FailureGroup, chat: Chat, found: _Findings
) -> None:
    """Ask for the lesson of one group, and put it on trial."""

    def refuse(why: str) -> None:
        found.refused.append(RefusedLesson(agent=group.agent, failures=len(group.runs), why=why))

    known = [one for one in lessons.lessons(team) if one.agent == group.agent]
    if sum(one.is_living for one in known) >= _MOST_LIVING:
        refuse(f"the agent has {_MOST_LIVING} lessons already, the most that it may have")
        return
    try:
        written = write_lesson(chat, group, [one.text for one in known])
    except Exception as error:  # the user's function, or the model's endpoint
        refuse(f"the model failed: {type(error).__name__}: {error}")
        last = found.refused[-_ERRORS_IN_A_ROW:]
        if len(last) == _ERRORS_IN_A_ROW and all(one.why.startswith("the model failed") for one in last):
            found.stopped = f"the model that writes failed {_ERRORS_IN_A_ROW} times in a row; {last[-1].why}"
        return
    found.usage += written.usage
    if not written.text:
        refuse(written.rejected)
        return
    new = lessons.propose(team, _draft(head, group, written.text))
    if new is None:
        refuse("another process has learnt from these failures meanwhile")
    else:
        found.learned.append(new)


def _draft(head: RunSummary, group: FailureGroup, text: str) -> LessonDraft:
    tasks = list(dict.fromkeys(run.trajectory.task for run in group.runs))
    return LessonDraft(
        agent=group.agent,
        text=text,
        kind=dict(group.kind),
        runs=tuple(run.trajectory.run_id for run in group.runs),
        team_name=head.team,
        framework=head.framework,
        provenance={"tasks": [task[:_TASK_CHARS] for task in tasks[:_TASKS_KEPT]], "modes": _modes(group.runs)},
    )


def _modes(runs: Sequence[JudgedRun]) -> list[Json]:
    modes = (run.attribution.error_mode for run in runs if run.attribution is not None)
    return [*sorted({mode.value for mode in modes if mode is not None})]


def _is_for(lesson: Lesson, group: FailureGroup) -> bool:
    return lesson.agent == group.agent and nearness(lesson.kind, group.kind) >= NEAR


def _heads_of(heads: Sequence[RunSummary], wanted: str) -> list[RunSummary]:
    """The failed first attempts of the one team that ``wanted`` names, the newest first."""
    by_team: dict[str, list[RunSummary]] = {}
    for one in heads:
        if one.kind is RunKind.LIVE:
            by_team.setdefault(fingerprint(one.framework, one.team), []).append(one)
    found = [team for team, runs in by_team.items() if wanted in (team, runs[0].team)]
    found = found or [team for team in by_team if wanted and team.startswith(wanted)]
    if len(found) == 1:
        return by_team[found[0]]
    if not by_team:
        raise ConfigError(
            "the run store holds no failed run, expected some to learn from. See what it holds with: "
            "tracer-hooks runs list"
        )
    shown = ", ".join(repr(team) for team in sorted(found or by_team)[:10])
    if not found:
        raise ConfigError(f"the run store holds no failed run of the team {wanted!r}, expected one of: {shown}")
    raise ConfigError(f"the team {wanted!r} fits several: {shown}. Give the fingerprint of one")
