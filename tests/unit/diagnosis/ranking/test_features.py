from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracer_hooks.diagnosis.ranking._table import features_of, group_of
from tracer_hooks.schema import Step, StepKind, ToolCall, Trajectory


def table(*steps: dict, **fields: Any):
    acts = tuple(Step(index=index, **one) for index, one in enumerate(steps))
    found = features_of(Trajectory(run_id="r", steps=acts, **fields))
    return {name: found.values[:, place].tolist() for place, name in enumerate(found.names)}


def say(agent, content, **more: Any):
    return {"agent": agent, "content": content, **more}


def test_every_trajectory_has_the_same_columns_and_finite_numbers() -> None:
    short = features_of(Trajectory(run_id="a", steps=(Step(index=0, agent="x"),)))
    long = features_of(
        Trajectory(run_id="b", steps=tuple(Step(index=k, agent=f"a{k % 3}", content="word " * k) for k in range(30)))
    )
    assert short.names == long.names
    assert len(set(short.names)) == len(short.names)
    assert short.values.shape == (1, len(short.names))
    assert np.isfinite(short.values).all()
    assert np.isfinite(long.values).all()


def test_names_say_their_group() -> None:
    names = features_of(Trajectory(run_id="a", steps=(Step(index=0, agent="x"),))).names
    assert {group_of(name) for name in names} >= {
        "position",
        "role",
        "novelty",
        "failure",
        "language",
        "claims",
        "rules",
    }


def test_position_at_both_ends() -> None:
    column = table(say("a", "one"), say("b", "two"), say("a", "three"))
    assert column["position: fraction of the run"] == [0.0, 0.5, 1.0]
    assert column["position: first act"] == [1.0, 0.0, 0.0]
    assert column["position: last step"] == [0.0, 0.0, 1.0]
    assert column["turns: the agent's first step"] == [1.0, 1.0, 0.0]
    assert column["turns: the agent's last step"] == [0.0, 1.0, 1.0]


def test_the_author_of_failing_code_is_marked_and_not_the_terminal() -> None:
    column = table(
        say("user_proxy", "Count it."),
        say("coder", "Here is the code\n```python\nprint(1/0)\n```"),
        say("Computer_terminal", "exitcode: 1 (execution failed)\nZeroDivisionError: division by zero"),
        say("coder", "Again\n```python\nprint(2)\n```"),
        say("Computer_terminal", "exitcode: 0 (execution succeeded)\n2"),
    )
    assert column["failure: first to cause an error"] == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert column["failure: error printed here"][2] == 1.0
    assert column["role: reports what a machine printed"] == [0.0, 0.0, 1.0, 0.0, 1.0]
    assert column["code: first of the run"] == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert column["code: ran without an error"] == [0.0, 0.0, 0.0, 1.0, 0.0]
    assert column["failure: repairs after an error"][3] == 1.0


def test_a_new_number_that_reaches_the_answer_is_its_first_sayer_s() -> None:
    column = table(
        say("a", "We have 12 boxes."),
        say("b", "That makes 480 pieces."),
        say("c", "The answer is 480."),
        task="How many pieces are in 12 boxes?",
        final_output="480",
    )
    assert column["survival: first number of the answer"] == [0.0, 1.0, 0.0]
    assert column["novelty: log new numbers"][0] == 0.0


def test_words_in_json_keys_do_not_count() -> None:
    ledger = '{"is_in_loop": {"reason": "moving on", "answer": false}, "assume": 1}'
    column = table(say("Orchestrator", ledger), say("b", "Let me assume that it is 4."))
    assert column["language: assumes or simulates"] == [0.0, 1.0]


def test_a_planner_s_verdict_marks_the_reply_before_it() -> None:
    loop = '{"is_in_loop": {"reason": "the same again", "answer": true}}'
    column = table(
        say("Orchestrator", "Search for it.", kind=StepKind.HANDOFF, recipient="WebSurfer"),
        say("WebSurfer", "I opened the page and saw nothing of it."),
        say("Orchestrator", loop),
        say("Orchestrator", "Search for it again.", kind=StepKind.HANDOFF, recipient="WebSurfer"),
        say("WebSurfer", "Here is a list of prices."),
    )
    assert column["work: the planner is disappointed"] == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert column["work: first reply that the planner is disappointed of"] == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert column["work: first reply"] == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert column["work: last reply"] == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert column["flow: answers a hand-off"] == [0.0, 1.0, 0.0, 0.0, 1.0]


def test_answers_against_the_majority() -> None:
    column = table(
        say("a", "The answer is 7."),
        say("b", "The answer is 9."),
        say("c", "The answer is 7."),
        say("b", "The answer is 7."),
    )
    assert column["agreement: answer that the majority does not share"] == [0.0, 1.0, 0.0, 0.0]
    assert column["agreement: changes its own answer"] == [0.0, 0.0, 0.0, 1.0]
    assert column["agreement: first to state the last answer"] == [1.0, 0.0, 0.0, 0.0]


def test_repetition_is_of_words_and_not_of_place() -> None:
    text = "The list of harbour fees could not be opened by the reader."
    column = table(say("a", text), say("b", "Something else entirely happens now."), say("a", text))
    assert column["repetition: like an earlier step"][2] == pytest.approx(1.0)
    assert column["repetition: like an earlier step"][1] < 0.2
    assert column["repetition: the agent says it again later"][0] == pytest.approx(1.0)


def test_tool_errors_and_claims_without_anything_to_show() -> None:
    failing = ToolCall(name="search", arguments={}, error="TimeoutError")
    column = table(
        {"agent": "a", "kind": StepKind.TOOL_CALL, "tool_calls": (failing,)},
        say("b", "I have verified the list."),
        say("b", "I have verified the list again.", tool_calls=(ToolCall(name="read", result="ok"),)),
    )
    assert column["failure: the machine reports an error next"][0] == 1.0
    assert column["claims: done, with nothing to show"] == [0.0, 1.0, 0.0]


def test_standardised_values_compare_within_the_run() -> None:
    steps = tuple(Step(index=k, agent="a", content="word " * (10 * k)) for k in range(4))
    found = features_of(Trajectory(run_id="r", steps=steps)).standardised()
    assert np.allclose(found.mean(axis=0), 0.0)
    spread = found.std(axis=0)
    assert set(np.round(spread, 6)) <= {0.0, 1.0}
