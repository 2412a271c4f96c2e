"""Leaks that are planted must be found, and a set without any must pass."""

import dataclasses
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from rich.console import Console

from tracer_hooks.datasets._labeled import LabeledSet
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.schema import LabeledTrajectory, LabelSource, Step, Trajectory
from tracer_hooks_lab.datasets import AuditOptions, DatasetAudit, audit, audit_markdown, audit_tables

from ._labelled_sets import Change, anywhere, labelled_set

pytest.importorskip("sklearn")


RunChange = Callable[[LabeledTrajectory], dict[str, Any]]


def failures(result: DatasetAudit) -> set[tuple[str, str]]:
    return {(finding.kind, finding.name) for finding in result.findings if finding.severity == "fail"}


def changed(items: tuple[LabeledTrajectory, ...], change: RunChange) -> tuple[LabeledTrajectory, ...]:
    """Runs with other fields of their trajectories."""
    return tuple(
        item.model_copy(update={"trajectory": item.trajectory.model_copy(update=change(item))}) for item in items
    )


def with_runs(dataset: LabeledSet, change: RunChange) -> LabeledSet:
    return dataclasses.replace(dataset, labeled=changed(dataset.labeled, change))


def with_steps(dataset: LabeledSet, change: Callable[[Step, int], dict[str, Any]]) -> LabeledSet:
    def steps(item: LabeledTrajectory) -> dict[str, Any]:
        at = item.decisive.step
        return {"steps": tuple(step.model_copy(update=change(step, at)) for step in item.trajectory.steps)}

    return with_runs(dataset, steps)


def in_every_run(dataset: LabeledSet, change: Callable[[Step], dict[str, Any]]) -> LabeledSet:
    """Steps with other fields, in the passing runs, too."""

    def steps(item: LabeledTrajectory) -> dict[str, Any]:
        return {"steps": tuple(step.model_copy(update=change(step)) for step in item.trajectory.steps)}

    return dataclasses.replace(dataset, labeled=changed(dataset.labeled, steps), clean=changed(dataset.clean, steps))


@pytest.fixture(scope="module")
def clean_audit() -> DatasetAudit:
    return audit(labelled_set())


def test_a_balanced_set_passes(clean_audit: DatasetAudit) -> None:
    assert clean_audit.passed
    assert clean_audit.findings == ()
    assert (clean_audit.runs, clean_audit.questions, clean_audit.pairs) == (80, 40, 80)
    for check in clean_audit.checks:
        assert check.verdict != "fail", check
        assert check.low <= check.value <= check.high
        assert 0 < check.p_value <= 1
    by_name = {check.name: check for check in clean_audit.checks}
    assert {"position", "agent name", "bag of words", "few words", "all words"} <= by_name.keys()
    lengths = [len(item.trajectory.steps) for item in labelled_set().labeled]
    uniform = sum(1 / length for length in lengths) / len(lengths)
    assert by_name["position"].uniform == pytest.approx(uniform)
    assert by_name["position"].null == pytest.approx(uniform, abs=0.01)
    assert by_name["bag of words"].placement is not None
    assert audit(labelled_set()) == clean_audit, "one seed, one audit"
    assert DatasetAudit.model_validate_json(clean_audit.model_dump_json()) == clean_audit


def a_solver_step(rng: random.Random, agents: list[str]) -> int:
    return rng.choice([k for k, agent in enumerate(agents) if agent == "Solver"] or [0])


def test_a_fixed_step_and_a_fixed_agent_are_found() -> None:
    assert failures(audit(labelled_set(place=lambda rng, agents: 2))) >= {("classifier", "position")}
    found = failures(audit(labelled_set(place=a_solver_step)))
    assert ("classifier", "agent name") in found
    assert ("classifier", "position") not in found


def test_a_word_in_every_fault_or_in_some_is_found() -> None:
    result = audit(labelled_set(change=lambda step: {"content": f"{step.content} deliberately"}))
    classifiers = {("classifier", "bag of words"), ("classifier", "few words")}
    assert failures(result) == {*classifiers, ("leak word", "deliberately")}
    leak = result.leak_words[0]
    assert (leak.words, leak.faulty, leak.clean) == ("deliberately", 80, 0)
    rng = random.Random(5)
    result = audit(labelled_set(change=lambda step: {"content": step.content + rng.choice([" sneaky", "", ""])}))
    assert ("leak word", "sneaky") in failures(result)


def test_words_of_the_place_are_no_leak() -> None:
    """Each agent says its name, faults are put into solver steps: words find what the name finds, and no more."""
    dataset = labelled_set(place=a_solver_step)
    result = audit(in_every_run(dataset, lambda step: {"content": f"{step.agent} {step.content}"}))
    words = next(check for check in result.checks if check.name == "bag of words")
    assert words.value > words.uniform + 0.15
    assert words.placement == pytest.approx(words.value, abs=0.15)
    assert ("classifier", "bag of words") not in failures(result)


def without_call_ids(step: Step) -> dict[str, Any]:
    return {"tool_calls": tuple(call.model_copy(update={"call_id": None}) for call in step.tool_calls)}


STRUCTURE: list[tuple[str, Change]] = [
    ("zero duration", lambda step: {"ended_at": step.started_at}),
    ("missing times", lambda step: {"started_at": None, "ended_at": None}),
    ("longest step", lambda step: {"ended_at": step.started_at + timedelta(minutes=1) if step.started_at else None}),
    ("missing usage", lambda step: {"usage": None}),
    ("model name", lambda step: {"model": "large"}),
    ("span id", lambda step: {"span_id": "written-by-hand"}),
    ("tool call id", without_call_ids),
    ("attempts", lambda step: {"attempts": 2}),
]


@pytest.mark.parametrize(("name", "change"), STRUCTURE, ids=[name for name, _ in STRUCTURE])
def test_a_marked_step_is_found(name: str, change: Change) -> None:
    assert ("structure", name) in failures(audit(labelled_set(15, change=change)))


def test_a_replayed_beginning_is_found() -> None:
    def instant(step: Step, at: int) -> dict[str, Any]:
        assert step.started_at is not None
        return {"ended_at": step.started_at + timedelta(milliseconds=1)} if step.index < at else {}

    assert ("structure", "change of pace") in failures(audit(with_steps(labelled_set(), instant)))
    older = with_steps(labelled_set(), lambda step, at: {"model": "tape"} if step.index < at else {})
    assert ("structure", "first change") in failures(audit(older))


def test_another_model_at_the_same_place_of_the_passing_run_is_no_leak() -> None:
    dataset = labelled_set(place=a_solver_step)
    found = failures(audit(in_every_run(dataset, lambda step: {"model": "large"} if step.agent == "Solver" else {})))
    assert ("structure", "model name") not in found
    assert ("classifier", "agent name") in found


def test_forbidden_words_are_searched_everywhere() -> None:
    named = with_runs(labelled_set(12), lambda item: {"run_id": f"{item.trajectory.run_id}_faultInjected"})
    found = [one for one in audit(named).findings if one.kind == "forbidden word"]
    assert {(one.name, one.severity) for one in found} == {("fault", "fail"), ("inject", "fail")}
    assert all("the ids of 24 of 24 runs" in one.message for one in found)
    told = with_runs(labelled_set(12), lambda item: {
        "agents": tuple(spec.model_copy(update={"instructions": "Sabotage it."}) for spec in item.trajectory.agents),
    })  # fmt: skip
    assert ("forbidden word", "sabotage") in failures(audit(told))


def test_forbidden_words_of_the_task_are_notes() -> None:
    dataset = with_steps(labelled_set(12), lambda step, _: {"content": f"{step.content} the default attack"})
    result = audit(with_runs(dataset, lambda item: {"task": f"{item.trajectory.task}: describe the attack"}))
    found = [one for one in result.findings if one.kind == "forbidden word"]
    assert [(one.name, one.severity) for one in found] == [("attack", "note")]


def test_a_fault_id_and_the_strategy_in_the_run_are_found() -> None:
    named = with_runs(labelled_set(12), lambda item: {"outcome_reason": f"check: {item.fault_id}"})
    assert ("verification", "fault_id") in failures(audit(named))
    told = with_steps(
        labelled_set(12), lambda step, at: {"recipient": None, "error": "corruption" if step.index == at else None}
    )
    assert failures(audit(told)) >= {("verification", "verification['strategy']"), ("forbidden word", "corrupt")}


def test_faults_cut_from_one_pattern_are_found() -> None:
    text = "We can leave the rest of the check out since the answer is surely right as it stands"
    result = audit(labelled_set(change=lambda step: {"content": text, "tool_calls": ()}))
    assert ("near-duplicate", "faulty steps") in failures(result)


def test_a_task_in_two_parts_is_found() -> None:
    dataset = labelled_set(12)
    halves = {"a": LabeledSet(labeled=dataset.labeled[:13]), "b": LabeledSet(labeled=dataset.labeled[13:])}
    assert failures(audit(dataset, splits=halves)) == {("near-duplicate", "split")}
    assert audit(dataset, splits=dataset.split({"a": 0.5, "b": 0.5})).passed


def test_tasks_that_are_nearly_the_same_are_noted() -> None:
    long = "a farmer has many hens and sells the eggs of one week at the market for {} coins how many are left"
    dataset = with_runs(labelled_set(12), lambda item: {"task": long.format(item.question_id)})
    result = audit(dataset, options=AuditOptions(similarity=0.7))
    notes = [one for one in result.findings if one.kind == "near-duplicate"]
    assert [(one.name, one.severity) for one in notes] == [("tasks", "note")]
    assert result.near_duplicates[0].size == 12


def test_natural_failures_inform_and_never_fail() -> None:
    result = audit(labelled_set(place=lambda rng, agents: 2, source=LabelSource.COUNTERFACTUAL))
    assert result.passed
    position = next(check for check in result.checks if check.name == "position")
    assert (position.source, position.verdict, position.is_binding) == ("natural", "fail", False)
    assert any("no injected fault" in note for note in result.notes)


def test_what_an_audit_leaves_out_is_noted() -> None:
    injected, natural = labelled_set(20), labelled_set(3, seed=2, source=LabelSource.COUNTERFACTUAL)
    bare = [item.model_copy(update={"decisive": None}) for item in labelled_set(1, seed=3).labeled]
    short = [item.model_copy(update={"trajectory": first_step_of(item)}) for item in labelled_set(1, seed=4).labeled]
    result = audit(LabeledSet(labeled=(*injected.labeled, *natural.labeled, *bare, *short), clean=injected.clean[1:]))
    assert set(result.notes) >= {
        "6 natural failures have fewer than 5 questions: too few to measure",
        "4 labelled runs have no decisive step among at least two steps, and were left out",
        "1 injected runs have no passing run with the same agent at the same step",
    }
    assert {check.source for check in result.checks} == {"injected"}
    few = audit(labelled_set(5, place=anywhere))
    assert "unclear" in {check.verdict for check in few.checks}
    assert "Too few runs to tell" in audit_markdown(few)
    names = {check.name for check in audit(LabeledSet(labeled=injected.labeled)).checks}
    assert "position" in names
    assert not names & {"few words", "all words"}, "there are no passing runs to compare with"


def first_step_of(item: LabeledTrajectory) -> Trajectory:
    return item.trajectory.model_copy(update={"steps": item.trajectory.steps[:1]})


def test_steps_that_no_fault_can_be_put_into_belong_to_the_prior() -> None:
    def middle(rng: random.Random, agents: list[str]) -> int:
        return rng.choice([2, 3])

    dataset = labelled_set(place=middle)
    assert ("classifier", "position") in failures(audit(dataset))
    told = [
        item.model_copy(update={"verification": {**item.verification, "eligible_steps": [2, 3]}})
        for item in dataset.labeled
    ]
    result = audit(dataclasses.replace(dataset, labeled=tuple(told)))
    assert result.passed
    assert result.checks[0].uniform == pytest.approx(0.5)


def test_margins_can_be_changed_and_what_cannot_be_audited_is_an_error() -> None:
    def mostly_third(rng: random.Random, agents: list[str]) -> int:
        return 2 if rng.random() < 0.4 else rng.randrange(len(agents))

    dataset = labelled_set(place=mostly_third)
    assert ("classifier", "position") in failures(audit(dataset))
    assert ("classifier", "position") not in failures(audit(dataset, options=AuditOptions(place_margin=0.5)))
    with pytest.raises(ConfigError, match="place_margin is 2, expected between 0 and 1"):
        AuditOptions(place_margin=2)
    with pytest.raises(ConfigError, match="permutations is 5, expected at least 200"):
        AuditOptions(permutations=5)
    with pytest.raises(DatasetError, match="there is nothing to audit"):
        audit(LabeledSet())
    with pytest.raises(DatasetError, match="cannot audit 3 questions in 5 folds"):
        audit(labelled_set(3))


def test_an_audit_is_shown_with_its_verdict(clean_audit: DatasetAudit) -> None:
    leaky = audit(labelled_set(12, change=lambda step: {"usage": None}))
    console = Console(width=80)
    with console.capture() as shown:
        console.print(audit_tables(leaky))
    assert "The audit failed" in shown.get()
    assert "missing usage" in shown.get()
    assert "The audit passed." in audit_markdown(clean_audit)
