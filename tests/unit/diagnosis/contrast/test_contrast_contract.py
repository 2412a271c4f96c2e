"""What holds for every trajectory beside every others, however odd."""

import math
import random
import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracer_hooks.diagnosis._protocol import Attributor, Scorer
from tracer_hooks.diagnosis.contrast import NO_COMPARISON, ContrastAttributor, ContrastOptions, align
from tracer_hooks.diagnosis.contrast._comparison import compare
from tracer_hooks.diagnosis.contrast._run_view import RunView
from tracer_hooks.schema import RunOutcome, Step, StepKind, ToolCall, Trajectory

from .._quotable import quotable

TEXTS = [
    "The total is 41.",
    "6 * 7 = 42, on 2024-05-17 at 19:00:00",
    "Ask Ada Lovelace in New York about ticket W2378156, mail ada@example.com.",
    "TERMINATE",
    "",
    "価格は300円です",
    "\x00\x01 ünï 🙂 \u2028 1,234.50 ...'\u2019-/:@_",
    '{"is_ok": false, "price": 41}',
]
texts = st.one_of(
    st.sampled_from(TEXTS), st.text(max_size=40), st.lists(st.sampled_from(TEXTS), max_size=3).map(" ".join)
)
names = st.sampled_from(["user", "a", "A", "verifier", "Computer_terminal", "", "b (x)"])
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-50, 50), st.floats(allow_nan=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)
calls = st.builds(
    ToolCall,
    name=st.sampled_from(["search", "check_total", "a+b", ""]),
    arguments=values,
    result=st.none() | texts,
    error=st.none() | texts,
)


@st.composite
def trajectories(draw, run_id=None) -> Trajectory:
    steps = tuple(
        Step(
            index=index,
            agent=draw(names),
            kind=draw(st.sampled_from(StepKind)),
            content=draw(texts),
            tool_calls=tuple(draw(st.lists(calls, max_size=2))),
            recipient=draw(st.none() | names),
            error=draw(st.none() | texts),
        )
        for index in range(draw(st.integers(0, 6)))
    )
    return Trajectory(
        run_id=run_id or draw(st.sampled_from("pqrstu")),
        task=draw(texts),
        steps=steps,
        outcome=draw(st.sampled_from(RunOutcome)),
        final_output=draw(st.none() | texts),
    )


options = st.builds(
    ContrastOptions, nearest=st.integers(1, 3), at_most=st.integers(3, 5), without_passing=st.booleans()
)
relaxed = settings(max_examples=60)


@relaxed
@given(trajectories(run_id="judged"), st.lists(trajectories(), max_size=4), options)
def test_every_answer_keeps_the_contract(trajectory, others, options) -> None:
    attributor = ContrastAttributor(others, others, options=options)
    answer, scores = attributor.attribute(trajectory), attributor.score(trajectory)
    count = len(trajectory.steps)
    assert answer.run_id == trajectory.run_id
    assert sum(one.score for one in answer.candidates) <= 1.0
    assert [one.score for one in answer.candidates] == sorted((one.score for one in answer.candidates), reverse=True)
    for one in answer.candidates:
        assert trajectory.steps[one.step].agent == one.agent
    for quoted in (*answer.evidence, *(scores.evidence if scores else ())):
        assert quoted.why
        assert any(quoted.quote in text for text in quotable(trajectory.steps[quoted.step]))
    if answer.abstained:
        assert (answer.agent, answer.step, answer.confidence) == (None, None, 0.0)
        assert answer.abstained_reason in ("no sign of failure", "trace too incomplete", NO_COMPARISON)
    else:
        assert (answer.agent, answer.step) == (answer.candidates[0].agent, answer.candidates[0].step)
    if scores is None:
        assert answer.abstained_reason in ("trace too incomplete", NO_COMPARISON)
        return
    assert len(scores.steps) == count
    assert any(value > -math.inf for value in scores.steps)
    assert not any(math.isnan(value) for value in (*scores.steps, *scores.agents.values(), *scores.modes.values()))
    assert set(scores.agents) <= {step.agent for step in trajectory.steps}
    assert {agent for agent, _ in scores.modes} <= set(scores.agents)


@relaxed
@given(trajectories(run_id="judged"), st.lists(trajectories(), max_size=3))
def test_the_same_runs_give_the_same_answer(trajectory, others) -> None:
    first, second = (ContrastAttributor(others).attribute(trajectory) for _ in range(2))
    assert first.model_copy(update={"elapsed_s": 0.0}) == second.model_copy(update={"elapsed_s": 0.0})


@relaxed
@given(trajectories(run_id="judged"))
def test_a_run_beside_its_own_copy_shows_no_difference(trajectory) -> None:
    copy = trajectory.model_copy(update={"run_id": "copy", "outcome": RunOutcome.SUCCEEDED})
    divergences = ContrastAttributor([copy]).divergences(trajectory)
    if divergences is not None:
        assert divergences.strongest == pytest.approx(0.0, abs=0.05)


@relaxed
@given(trajectories(run_id="one"), trajectories(run_id="two"))
def test_the_alignment_does_not_depend_on_which_run_is_judged(one, two) -> None:
    here, there = RunView(one), RunView(two)
    similarity = compare(here, [there]).pairings[0].similarity
    assert similarity == pytest.approx(compare(there, [here]).pairings[0].similarity.T)
    assert align(similarity).score == pytest.approx(align(similarity.T).score)


def test_it_is_an_attributor_and_a_scorer() -> None:
    attributor = ContrastAttributor()
    assert isinstance(attributor, Attributor)
    assert isinstance(attributor, Scorer)
    assert attributor.name == "contrast"


def long_run(run_id, outcome, seed, size) -> Trajectory:
    rng = random.Random(seed)
    words = ["".join(rng.choices(string.ascii_lowercase, k=6)) for _ in range(2_000)]
    shared = random.Random(0)
    steps = tuple(
        Step(
            index=index,
            agent=f"agent{index % 4}",
            content=" ".join([*(rng if index % 3 else shared).choices(words, k=100), str(rng.randint(1, 9_999))])
            * size,
        )
        for index in range(130)
    )
    return Trajectory(run_id=run_id, task="Do the thing.", steps=steps, outcome=outcome)


@pytest.mark.parametrize("size", [1, 400])
def test_130_steps_beside_20_runs_of_130_steps(size: int) -> None:
    passing = [long_run(f"p{k}", RunOutcome.SUCCEEDED, k, size) for k in range(14)]
    failing = [long_run(f"f{k}", RunOutcome.FAILED, 100 + k, size) for k in range(6)]
    attributor = ContrastAttributor(runs=passing + failing)
    began = time.process_time()
    assert not attributor.attribute(long_run("judged", RunOutcome.FAILED, 999, size)).abstained
    assert time.process_time() - began < 3.0  # 0.9 s on a core that others use too; more on a busier one
