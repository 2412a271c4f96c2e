"""What holds for every trajectory, however odd."""

import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracer_hooks.diagnosis import StructuralAttributor, diagnose_trajectory
from tracer_hooks.schema import AgentSpec, RunOutcome, Step, StepInput, StepKind, ToolCall, Trajectory, Usage

from ._quotable import quotable

PHRASES = [
    "6 * 7 = 41",
    "The total is 41.",
    "it should be 42, not 41",
    "Error: no such table",
    "exitcode: 1 (execution failed)\nNameError: name 'x' is not defined",
    "Traceback (most recent call last):\n  ValueError: bad",
    "```python\nprint(1)\n```",
    "let's assume the price is 30",
    "TERMINATE",
    "Looks good, approved.",
    "I cannot help with refunds.",
    '{"is_in_loop": {"answer": false}, "price": 41}',
    "Connection refused",
    "expected 42, got 41",
    "\x00\x01\x7f ünï 🙂 \u2028",
    "Sydney \"quoted\" 'single' `code`",
    "1,234.50",
    "",
]
NAMES = ["user", "human", "a", "A", "Computer_terminal", "executor", "Orchestrator", "Verification_Expert", "", "b (x)"]

texts = st.one_of(
    st.sampled_from(PHRASES), st.lists(st.sampled_from(PHRASES), max_size=6).map("\n".join), st.text(max_size=60)
)
maybe = st.one_of(st.none(), texts)
names = st.sampled_from(NAMES)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-50, 50), st.floats(allow_nan=False, allow_infinity=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)
calls = st.builds(
    ToolCall, name=st.sampled_from(["search", "transfer_to_b"]), arguments=json_values, result=maybe, error=maybe
)


@st.composite
def trajectories(draw) -> Trajectory:
    count = draw(st.integers(0, 8))
    steps = tuple(
        Step(
            index=index,
            agent=draw(names),
            kind=draw(st.sampled_from(StepKind)),
            content=draw(texts),
            inputs=tuple(
                draw(
                    st.lists(
                        st.builds(StepInput, source=names, step=st.one_of(st.none(), st.integers(-2, 9))), max_size=2
                    )
                )
            ),
            tool_calls=tuple(draw(st.lists(calls, max_size=2))),
            recipient=draw(st.one_of(st.none(), names)),
            model=draw(st.sampled_from([None, "m"])),
            usage=draw(st.sampled_from([None, Usage(input_tokens=1)])),
            error=draw(maybe),
        )
        for index in range(count)
    )
    return Trajectory(
        run_id="r",
        task=draw(texts),
        agents=tuple(draw(st.lists(st.builds(AgentSpec, name=names, instructions=maybe), max_size=3))),
        steps=steps,
        outcome=draw(st.sampled_from(RunOutcome)),
        outcome_reason=draw(maybe),
        final_output=draw(maybe),
        reference=draw(maybe),
    )


@settings(max_examples=200)
@given(trajectories(), maybe)
def test_every_answer_keeps_the_contract(trajectory, reference) -> None:
    answer = StructuralAttributor().attribute(trajectory, reference=reference)
    count = len(trajectory.steps)
    for candidate in answer.candidates:
        assert candidate.step < count
        assert trajectory.steps[candidate.step].agent == candidate.agent
    assert sum(one.score for one in answer.candidates) <= 1.0
    assert [one.score for one in answer.candidates] == sorted((one.score for one in answer.candidates), reverse=True)
    for found in answer.findings:
        assert found.text.endswith((".", "!", "?"))
        assert found.step is None or trajectory.steps[found.step].agent == found.agent
        assert found.step is None or any(found.quote in text for text in quotable(trajectory.steps[found.step]))
    assert {fault.agent for fault in answer.faults} <= {step.agent for step in trajectory.steps}
    if answer.abstained:
        assert (answer.agent, answer.step, answer.confidence) == (None, None, 0.0)
        assert answer.abstained_reason in ("no sign of failure", "environment fault", "trace too incomplete")
    else:
        assert (answer.agent, answer.step) == (answer.candidates[0].agent, answer.candidates[0].step)
        assert (answer.error_mode is None) == (answer.certainty == "weak")
        assert 0 < answer.confidence <= 0.95
        assert {one.why for one in answer.evidence} <= {found.text for found in answer.findings}
    assert answer.run_id == trajectory.run_id


@given(trajectories())
def test_the_same_trajectory_gives_the_same_answer(trajectory) -> None:
    first, second = (diagnose_trajectory(trajectory).model_copy(update={"elapsed_s": 0.0}) for _ in range(2))
    assert first == second


@given(trajectories())
def test_people_and_terminals_are_blamed_only_when_nobody_else_acted(trajectory) -> None:
    answer = StructuralAttributor().attribute(trajectory)
    others = [step for step in trajectory.steps if step.agent in ("a", "A", "Orchestrator", "Verification_Expert")]
    if answer.agent in ("user", "human"):
        from tracer_hooks.diagnosis._reading._roles import Role, roles_of

        assert not any(roles_of(trajectory)[step.index] is Role.AGENT for step in others)


def big(steps: int, size: int, alphabet: str) -> Trajectory:
    rng = random.Random(0)
    block = "".join(rng.choice(alphabet) for _ in range(10_000))
    return Trajectory(
        run_id="big",
        task="Count the 42 things." + block[:500],
        outcome=RunOutcome.FAILED,
        outcome_reason="check: expected 98765, got 12345678",
        final_output="12345678",
        steps=tuple(
            Step(index=index, agent=f"agent{index % 4}", content=(block * (size // 10_000 + 1))[index : index + size])
            for index in range(steps)
        ),
    )


@pytest.fixture
def seconds(cpu_seconds):
    attributor = StructuralAttributor()
    return lambda trajectory, below: cpu_seconds(lambda fresh: attributor.attribute(trajectory), below=below)


def test_ten_steps_take_milliseconds(seconds) -> None:
    ten = big(10, 1_000, string.ascii_letters + "    ..,0123456789\n")
    assert seconds(ten, 0.15) < 0.15  # of CPU; some 60 ms, since every tenth character of these texts is a digit


def test_a_long_trace_of_long_messages_takes_seconds(seconds) -> None:
    # About two of CPU on a quiet core, and up to twice that where its sibling is busy.
    assert seconds(big(130, 300_000, string.ascii_letters + "   ..,0123456789\n"), 6.0) < 6.0


@pytest.mark.slow
def test_binary_and_repetitive_megabytes_do_not_blow_up_the_patterns(seconds) -> None:
    for alphabet in ("".join(map(chr, range(256))), "1", "a", " ", '"', "1+", "'\"`:", "```\n", "Error: "):
        assert seconds(big(3, 1_000_000, alphabet), 1.0) < 1.0, alphabet
