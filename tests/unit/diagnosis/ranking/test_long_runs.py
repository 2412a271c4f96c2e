"""What steps have to do with each other: the same as when every two are compared, at a cost that does not explode."""

from __future__ import annotations

import logging
import tracemalloc

import numpy as np
import pytest

from tracer_hooks.diagnosis import StructuralAttributor
from tracer_hooks.diagnosis._reading._errors import failure_text
from tracer_hooks.diagnosis._reading._run import EXACT_STEPS, RunReading
from tracer_hooks.diagnosis.ranking._signals import WEAK, failed_tools
from tracer_hooks.diagnosis.ranking._table import table_of
from tracer_hooks.diagnosis.ranking._view import WINDOW, View, likeness_of
from tracer_hooks.schema import Step, Trajectory

from ._made_up_runs import made_up_run
from ._plain_features import cosines, plain_features

SIZES = [1, 2, 3, 5, 8, 13, 21, 34, 60, 90] * 3


@pytest.mark.parametrize(("seed", "steps"), list(enumerate(SIZES)))
def test_features_are_those_of_comparing_every_two_steps(seed, steps) -> None:
    view = View(made_up_run(steps, seed=seed))
    table = table_of(view)
    for name, expected in plain_features(view).items():
        found = table.values[:, table.names.index(name)]
        assert np.allclose(found, expected, rtol=0, atol=1e-6), name


@pytest.mark.parametrize(("seed", "steps"), list(enumerate(SIZES)))
def test_what_is_looked_up_is_what_a_search_finds(seed, steps) -> None:
    run = made_up_run(steps, seed=seed)
    trace = RunReading(run)
    for step in range(steps):
        before = [index for index in trace.acts if index < step]
        with_code = [i for i in before[-3:] if "```" in run.steps[i].content or run.steps[i].tool_calls]
        assert trace.author_before(step) == (with_code or before or [None])[-1]  # type: ignore[list-item]
        readers = [one.index for one in run.steps[step + 1 :] if step in {shown.step for shown in one.inputs}]
        assert list(trace.consumers(step)) == readers
        assert trace.next_act(step) == next((index for index in trace.acts if index > step), None)
        for agent in {*run.agent_names, "nobody"}:
            own = [index for index in trace.acts if run.steps[index].agent == agent]
            assert trace.next_act(step, agent=agent) == next((index for index in own if index > step), None)


@pytest.mark.parametrize(("seed", "steps"), list(enumerate(SIZES)))
def test_a_failed_tool_is_overcome_when_a_later_call_of_it_went_well(seed, steps) -> None:
    run = made_up_run(steps, seed=seed)
    for signal in failed_tools(RunReading(run)):
        (call,) = run.steps[signal.step].tool_calls
        later = [one for step in run.steps[signal.step + 1 :] for one in step.tool_calls if one.name == call.name]
        overcome = any(failure_text(one) is None for one in later)
        assert (signal.weight == WEAK) == overcome


def test_a_long_run_is_compared_within_a_window_and_with_its_copies() -> None:
    steps = 3 * WINDOW + 40
    run = made_up_run(steps, seed=1)
    view = View(run)
    words = [text.words for text in view.texts]
    found = likeness_of(words, view.agents, window=WINDOW)
    alike, place = cosines(view), np.arange(steps)
    near = np.abs(place[:, None] - place) <= WINDOW
    same = np.array([[bool(one) and one == other for other in words] for one in words])
    seen = np.where(near | same, alike, 0.0)
    own = np.array([[one == other for other in view.agents] for one in view.agents])
    before, after = np.tril(seen, -1), np.triu(seen, 1)
    assert np.allclose(found.earlier, before.max(axis=1), atol=1e-5)
    assert np.allclose(found.later, after.max(axis=1), atol=1e-5)
    assert np.allclose(found.own_earlier, (before * own).max(axis=1), atol=1e-5)
    assert np.allclose(found.others_earlier, (before * ~own).max(axis=1), atol=1e-5)
    assert np.allclose(found.own_later, (after * own).max(axis=1), atol=1e-5)
    assert found.copies.tolist() == ((seen > 0.9).sum(axis=1) - (np.diag(seen) > 0.9)).tolist()
    exact = likeness_of(words, view.agents, window=steps)
    assert np.allclose(found.overall, exact.overall, atol=1e-6)
    assert np.allclose(found.beside, exact.beside, atol=1e-6)
    assert found.between(3, steps - 3) == pytest.approx(exact.between(3, steps - 3), abs=1e-6)


@pytest.mark.parametrize(("steps", "lines"), [(EXACT_STEPS, 0), (EXACT_STEPS + 1, 1)])
def test_a_run_that_is_cut_says_so_in_the_log(steps, lines, caplog: pytest.LogCaptureFixture) -> None:
    talk = tuple(Step(index=k, agent=f"a{k % 2}", content=f"It is step {k}.") for k in range(steps))
    with caplog.at_level(logging.INFO, logger="tracer_hooks"):
        table_of(View(Trajectory(run_id="r", steps=talk)))
    told = [record.getMessage() for record in caplog.records if "apart" in record.getMessage()]
    assert len(told) == lines
    assert all(str(WINDOW) in line and "'r'" in line for line in told)


def test_eight_times_the_steps_take_no_more_than_fourteen_times_the_time(cpu_seconds) -> None:
    attributor = StructuralAttributor()

    def seconds(trajectory: Trajectory) -> float:
        return cpu_seconds(lambda fresh: attributor.attribute(trajectory))

    attributor.attribute(made_up_run(10, seed=0))
    short, long = made_up_run(500, seed=3), made_up_run(4_000, seed=3)
    assert seconds(long) < 14 * seconds(short)  # linear is 8, and comparing every two steps takes 39


def test_the_memory_of_a_long_run_is_no_square_of_its_length() -> None:
    words = [text.words for text in View(made_up_run(2_000, seed=4)).texts]
    agents = [f"a{index % 5}" for index in range(2_000)]
    tracemalloc.start()
    likeness_of(words, agents, window=WINDOW)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16_000_000  # the table of all pairs alone would be 32 MB
