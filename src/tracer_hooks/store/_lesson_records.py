"""What the store holds of lessons: short advice for one agent and one kind of task, and how runs with it went."""

from __future__ import annotations

from enum import StrEnum

from pydantic import AwareDatetime, Field

from tracer_hooks.schema import Json, Record, Text


class LessonState(StrEnum):
    """How far a lesson has come."""

    ON_TRIAL = "on trial"
    """Given to a random half of the runs of its kind."""
    KEPT = "kept"
    """Shown to help: given to all but a small share of them."""
    RETIRED = "retired"
    """Not given any more: runs with it did not pass more often, or somebody took it back."""


class LessonDraft(Record):
    """A lesson that has no number yet."""

    agent: Text = Field(min_length=1)
    """Who is given it."""
    text: Text = Field(min_length=1)
    """One or two sentences."""
    kind: dict[Text, float]
    """The kind of task: weights of character n-grams of the tasks that it comes from."""
    runs: tuple[Text, ...] = Field(min_length=1)
    """The failed runs that it comes from."""
    team_name: Text = ""
    """The team's name, for people."""
    framework: Text = ""
    """Its framework, for people."""
    provenance: dict[str, Json] = Field(default_factory=dict)
    """Where else it comes from: tasks, attributor, number of failures."""


class LessonOutcome(Record):
    """One run that counts for or against a lesson."""

    run_id: Text = Field(min_length=1)
    """The run; it counts once for a lesson."""
    period: int = Field(ge=1)
    """The lesson's period when it was drawn whether the run has the lesson."""
    given: bool
    """Whether the run had it."""
    passed: bool
    """Whether it passed."""
    share: float = Field(gt=0, lt=1)
    """With which probability it was drawn to have it."""
    counted_at: AwareDatetime
    """When it was counted (UTC)."""


class Lesson(Record):
    """One lesson of a team."""

    team: Text
    """The team's fingerprint."""
    team_name: Text = ""
    """The team's name."""
    framework: Text = ""
    """Its framework."""
    number: int = Field(ge=1)
    """Counted from 1 for each team."""
    agent: Text
    """Who is given it."""
    text: Text
    """One or two sentences."""
    kind: dict[Text, float]
    """The kind of task, as in :class:`LessonDraft`."""
    state: LessonState
    """How far it has come."""
    reason: Text = ""
    """Why it is in this state."""
    period: int = Field(ge=1)
    """Counted up with every change of the state; runs are compared within a period."""
    provenance: dict[str, Json] = Field(default_factory=dict)
    """Where it comes from: ``runs``, ``failures`` and more."""
    evidence: dict[str, Json] = Field(default_factory=dict)
    """What its trial found."""
    created_at: AwareDatetime
    """When it was learnt (UTC)."""
    changed_at: AwareDatetime
    """When its state changed last (UTC)."""
    with_runs: int = Field(default=0, ge=0)
    """Runs of its kind that had it, over all periods."""
    with_passes: int = Field(default=0, ge=0)
    """Those of them that passed."""
    without_runs: int = Field(default=0, ge=0)
    """Runs of its kind that went without it."""
    without_passes: int = Field(default=0, ge=0)
    """Those of them that passed."""

    @property
    def is_living(self) -> bool:
        """Whether it is given to anybody."""
        return self.state is not LessonState.RETIRED
