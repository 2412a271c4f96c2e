"""The same contract for many kinds of team, which stand in ``kinds``. One alone: ``pytest ... -k graph_flow``."""

import pytest

import tracer_hooks
from tracer_hooks.errors import AdapterError
from tracer_hooks_testing._isolation import attributes, changes

from .kinds._case import Meeting, cases_in
from .kinds._kind import Kind, in_order
from .kinds._load import NAMES, load
from .kinds._stage import Spans, Stage, acts, stage, text_of

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # clients that live as long as their team

every_kind = pytest.mark.parametrize("name", NAMES)
# Graphs keep nothing of a run. A crew's tasks and agents do, and an AutoGen team refuses a second run meanwhile.
every_kind_without_state = pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("langgraph_")])


def check_runs(kind: Kind, spans: Spans, calls: int = 1) -> None:
    """The runs that were seen are those of ``calls`` calls, each as the kind says."""
    runs = spans.trajectories()
    assert (spans.open, spans.orphans) == ([], [])
    assert len(runs) == calls * len(kind.courses)
    for at, run in enumerate(runs):
        expected, happened = in_order(kind.courses[at % len(kind.courses)], acts(run))
        assert happened == expected
        assert run.outcome == kind.outcomes[at % len(kind.outcomes)], run.outcome_reason
        assert run.team == kind.team


@every_kind
def test_results_and_requests_are_those_of_a_bare_team(on_stage: Stage) -> None:
    bare = on_stage.ended(on_stage.build())
    hooked = on_stage.ended(on_stage.hook(on_stage.build(), Spans()))
    assert hooked == bare
    assert len(bare.asked) == on_stage.kind.requests


@every_kind
def test_the_trajectory_is_what_the_framework_says_happens(on_stage: Stage) -> None:
    kind, spans = on_stage.kind, Spans()
    team = on_stage.hook(on_stage.build(), spans)
    on_stage.run(team)
    on_stage.in_script()
    check_runs(kind, spans)
    newest = tracer_hooks.last_run(team)
    assert newest.outcome == kind.outcomes[-1]
    assert in_order(kind.courses[-1], acts(newest.trajectory))[1] == in_order(kind.courses[-1], [])[0]
    assert set(newest.trajectory.agent_names) == kind.agents


@every_kind
def test_a_second_run_of_a_hooked_team_is_like_the_first(on_stage: Stage) -> None:
    spans = Spans()
    team = on_stage.hook(on_stage.build(), spans)
    first, second = on_stage.ended(team), on_stage.ended(team, case="B")
    assert [cases_in(text_of(run)) for run in spans.trajectories()] == [
        {case} for case in "AB" for _ in on_stage.kind.courses
    ]
    assert len(second.asked) == len(first.asked)
    check_runs(on_stage.kind, spans, calls=2)


@every_kind
def test_two_teams_at_once_are_kept_apart(name: str) -> None:
    kind, spans = load(name), Spans()
    with stage(kind, meeting=Meeting(2)) as together:
        teams = [together.hook(together.build(), spans) for _ in range(2)]
        together.run_together(*teams)
        together.in_script()
        check_apart(kind, spans)
        for team, case in zip(teams, "AB", strict=True):
            newest = tracer_hooks.last_run(team)
            assert cases_in(text_of(newest.trajectory)) == {case}


@every_kind_without_state
def test_one_team_twice_at_once_is_kept_apart(name: str) -> None:
    kind, spans = load(name), Spans()
    with stage(kind, meeting=Meeting(2)) as together:
        team = together.hook(together.build(), spans)
        together.run_together(team, team)
        together.in_script()
        check_apart(kind, spans)


def check_apart(kind: Kind, spans: Spans) -> None:
    """The runs of cases A and B are complete, and say nothing of each other."""
    runs = spans.trajectories()
    assert (spans.open, spans.orphans) == ([], [])
    for case in "AB":
        mine = [run for run in runs if cases_in(text_of(run)) == {case}]
        assert len(mine) == len(kind.courses), [cases_in(text_of(run)) for run in runs]
        for run, course in zip(mine, kind.courses, strict=True):
            expected, happened = in_order(course, acts(run))
            assert happened == expected
    assert len(runs) == 2 * len(kind.courses)


@every_kind
def test_unhooking_puts_everything_back(on_stage: Stage) -> None:
    kind, spans = on_stage.kind, Spans()
    team = on_stage.build()
    before = attributes(*kind.owners(team))
    tracer_hooks.unhook(on_stage.hook(team, spans))
    assert changes(before, attributes(*kind.owners(team))) == []
    bare = on_stage.ended(team)
    assert on_stage.ended(on_stage.hook(team, spans), case="A").asked == bare.asked
    seen, newest = len(spans.ended), tracer_hooks.last_run(team)
    attempts = len(newest.attempts)
    tracer_hooks.unhook(team)
    on_stage.ended(team)
    assert len(spans.ended) == seen
    assert len(newest.attempts) == attempts
    with pytest.raises(AdapterError, match="is not hooked"):
        tracer_hooks.last_run(team)
    after = attributes(*kind.owners(team))
    assert changes({}, after, only_ours=True) == []
    classes = {key: value for key, value in before.items() if isinstance(value[0], type)}
    assert changes(classes, {key: after[key] for key in classes}) == []
