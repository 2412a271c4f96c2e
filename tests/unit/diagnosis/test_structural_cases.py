"""Failures of real-life shape: who is to blame, and at which step."""

from typing import Any

import pytest

from tracer_hooks.diagnosis import StructuralAttributor
from tracer_hooks.schema import (
    AgentSpec,
    Attribution,
    ErrorMode,
    FindingKind,
    RunOutcome,
    Step,
    StepKind,
    ToolCall,
    Trajectory,
)


def run(*steps: dict[str, Any], outcome: RunOutcome = RunOutcome.FAILED, **fields: Any) -> Trajectory:
    made = tuple(Step(index=index, **step) for index, step in enumerate(steps))
    return Trajectory(run_id="r", steps=made, outcome=outcome, **fields)


def say(agent: str, content: str, **fields: Any) -> dict[str, Any]:
    return {"agent": agent, "content": content, **fields}


def call(agent: str, tool: str, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    return {
        "agent": agent,
        "kind": StepKind.TOOL_CALL,
        "tool_calls": (ToolCall(name=tool, arguments=arguments, **fields),),
    }


def hand(agent: str, recipient: str, content: str = "") -> dict[str, Any]:
    return {"agent": agent, "kind": StepKind.HANDOFF, "recipient": recipient, "content": content}


def team(*names: str, **instructions: str) -> tuple[AgentSpec, ...]:
    named = [AgentSpec(name=name) for name in names]
    return (*named, *(AgentSpec(name=name, instructions=text) for name, text in instructions.items()))


def judge(trajectory: Trajectory, **options: str) -> Attribution:
    return StructuralAttributor().attribute(trajectory, **options)


def blamed(trajectory: Trajectory, **options: str) -> tuple[str | None, int | None]:
    answer = judge(trajectory, **options)
    return answer.agent, answer.step


TASK = "What is six times seven? Reply with the number."


class TestWrongValue:
    def test_the_first_step_that_says_the_rejected_number_is_blamed(self) -> None:
        trajectory = run(
            say("planner", "Split it: the solver multiplies, the writer reports."),
            say("solver", "The product is 41."),
            say("writer", "The answer is 41."),
            task=TASK,
            outcome_reason="check: expected 42, got 41",
            final_output="The answer is 41.",
        )
        answer = judge(trajectory)
        assert (answer.agent, answer.step) == ("solver", 1)
        assert answer.certainty == "weak"
        assert answer.confidence > 0.4

    @pytest.mark.parametrize(
        "reason",
        [
            "check: got 41, expected 42",
            "check: 41 != 42",
            "AssertionError: assert '41' == '42'",
            "check: '42' not in result",
            "check: the answer should be 42",
            "check: wrong answer 41",
            "check: expected the answer to be 42 but it was 41.",
        ],
    )
    def test_the_reason_may_be_worded_in_many_ways(self, reason: str) -> None:
        trajectory = run(
            say("planner", "Solver, please multiply."),
            say("solver", "The product is 41."),
            say("writer", "The answer is 41."),
            task=TASK,
            outcome_reason=reason,
            final_output="The answer is 41.",
        )
        assert blamed(trajectory) == ("solver", 1)

    def test_dropping_a_value_that_was_right_is_blamed_on_the_one_who_dropped_it(self) -> None:
        trajectory = run(
            call("researcher", "lookup", {"city": "Rome"}, result="2873000"),
            say("researcher", "Rome has 2,873,000 inhabitants."),
            say("writer", "Rome has 3,873,000 inhabitants."),
            task="How many people live in Rome?",
            outcome_reason="check: expected 2873000, got 3,873,000",
            final_output="Rome has 3,873,000 inhabitants.",
        )
        answer = judge(trajectory)
        assert (answer.agent, answer.step) == ("writer", 2)
        assert answer.error_mode is ErrorMode.FM_2_5

    def test_text_values_work_like_numbers(self) -> None:
        trajectory = run(
            say("researcher", "The capital of Australia is Sydney."),
            say("writer", "It is Sydney."),
            task="What is the capital of Australia?",
            outcome_reason="check: expected 'Canberra' but got 'Sydney'",
            final_output="It is Sydney.",
        )
        assert blamed(trajectory) == ("researcher", 0)

    def test_values_need_no_quotation_marks(self) -> None:
        trajectory = run(
            say("researcher", "The capital is Sydney I believe."),
            say("writer", "The capital of Australia is Sydney."),
            task="What is the capital of Australia?",
            outcome_reason="check: expected Canberra, got Sydney",
            final_output="The capital of Australia is Sydney.",
        )
        assert blamed(trajectory) == ("researcher", 0)

    def test_a_reference_alone_is_enough(self) -> None:
        trajectory = run(
            say("solver", "6 and 7 give 48."),
            say("writer", "Final answer: 48"),
            task=TASK,
            final_output="Final answer: 48",
        )
        assert blamed(trajectory, reference="42") == ("solver", 0)
        assert blamed(trajectory.model_copy(update={"reference": "42"})) == ("solver", 0)

    def test_code_that_printed_the_wrong_value_is_blamed_not_the_terminal(self) -> None:
        trajectory = run(
            say("planner", "Coder, compute it."),
            say("coder", "```python\nprint(6 * 7 - 1)\n```"),
            say("Computer_terminal", "exitcode: 0 (execution succeeded)\nCode output: 41"),
            say("writer", "The answer is 41."),
            task=TASK,
            outcome_reason="check: expected 42, got 41",
            final_output="The answer is 41.",
        )
        assert blamed(trajectory) == ("coder", 1)

    def test_numbers_of_the_task_are_nobodys_invention(self) -> None:
        trajectory = run(
            say("planner", "We have 6 boxes with 7 items."),
            say("solver", "The result is 7."),
            task="There are 6 boxes with 7 items each. How many items?",
            outcome_reason="check: expected 42, got 7",
            final_output="The result is 7.",
        )
        assert blamed(trajectory)[0] == "solver"

    def test_a_calculation_that_does_not_add_up_is_seen_without_any_check(self) -> None:
        trajectory = run(
            say("solver", "Each costs 12 and there are 4, so 12 * 4 = 46."),
            say("writer", "Altogether: 46, and delivery is free. So you pay 46."),
            task="Price of 4 items of 12?",
            outcome_reason="check: returned False",
        )
        answer = judge(trajectory)
        assert (answer.agent, answer.step, answer.error_mode) == ("solver", 0, ErrorMode.FM_2_6)
        assert "12 * 4 = 46" in answer.evidence[0].quote

    @pytest.mark.parametrize(
        "text",
        [
            "12 * 4 = 48",
            "1/3 = 0.33",
            "10 / 4 = 2.5",
            "2 + 3 * 4 = 14",
            "1,000 + 500 = 1,500",
            "2024-05-12 = day 3",
            "7/2 = 3",
        ],
    )
    def test_right_and_rounded_calculations_are_left_alone(self, text: str) -> None:
        answer = judge(run(say("a", f"So {text}."), say("b", "Fine, thank you for that."), outcome=RunOutcome.UNKNOWN))
        assert answer.abstained


class TestErrorsAndTools:
    def test_the_agent_that_raised_is_blamed(self) -> None:
        trajectory = run(
            say("planner", "Go on."),
            {"agent": "worker", "kind": StepKind.ERROR, "error": "KeyError: 'price'"},
            outcome_reason="KeyError: 'price'",
        )
        answer = judge(trajectory)
        assert (answer.agent, answer.step) == ("worker", 1)
        assert answer.evidence[0].quote == "KeyError: 'price'"

    def test_a_failed_tool_is_blamed_on_its_caller_before_the_claim_that_followed(self) -> None:
        trajectory = run(
            say("planner", "Find the price."),
            call("shopper", "get_price", {"item": "lamp"}, error="ValueError: unknown item 'lamp'"),
            say("shopper", "The lamp costs 20 dollars."),
            say("writer", "It costs 20 dollars."),
            task="Price of the lamp?",
            outcome_reason="check: returned False",
        )
        answer = judge(trajectory)
        assert (answer.agent, answer.step) == ("shopper", 1)
        assert 2 in [one.step for one in answer.candidates[:2]]
        assert "unknown item" in answer.evidence[0].quote

    @pytest.mark.parametrize("result", ["Error: no such table", '{"error": "no such table"}', "HTTP 404 Not Found"])
    def test_results_that_are_error_messages_count_as_failures(self, result: str) -> None:
        trajectory = run(
            say("planner", "Look it up."),
            call("analyst", "query", {"sql": "select 1"}, result=result),
            say("writer", "Sorry, no result."),
            outcome_reason="check: returned False",
        )
        assert blamed(trajectory) == ("analyst", 1)

    def test_a_failure_that_was_overcome_gives_way_to_the_wrong_value(self) -> None:
        trajectory = run(
            call("analyst", "query", error="timeout"),
            call("analyst", "query", result="42"),
            say("analyst", "The database says 42."),
            say("writer", "The answer is 24."),
            outcome_reason="check: expected 42, got 24",
            final_output="The answer is 24.",
        )
        assert blamed(trajectory) == ("writer", 3)

    def test_an_exception_that_a_tool_raised_is_the_tool_calls(self) -> None:
        trajectory = run(
            say("planner", "Go on."),
            call("worker", "divide", {"by": 0}, error="ZeroDivisionError: division by zero"),
            {"agent": "worker", "kind": StepKind.ERROR, "error": "ToolException: ZeroDivisionError: division by zero"},
            outcome_reason="ToolException: ZeroDivisionError: division by zero",
        )
        assert blamed(trajectory) == ("worker", 1)

    def test_a_cancelled_run_blames_nobody(self) -> None:
        trajectory = run(
            say("planner", "Go on."),
            {"agent": "worker", "kind": StepKind.ERROR, "error": "CancelledError: cancelled"},
            outcome=RunOutcome.UNKNOWN,
            outcome_reason="cancelled",
        )
        assert judge(trajectory).abstained_reason == "no sign of failure"

    @pytest.mark.parametrize("terminal", ["Computer_terminal", "ComputerTerminal", "code_executor", "environment"])
    def test_the_messenger_of_an_error_is_not_blamed(self, terminal: str) -> None:
        trajectory = run(
            say("planner", "Coder, count the lines."),
            say("coder", "```python\nprint(count)\n```"),
            say(terminal, "exitcode: 1 (execution failed)\nNameError: name 'count' is not defined"),
            say("coder", "I give up."),
            outcome_reason="check: returned False",
        )
        answer = judge(trajectory)
        assert (answer.agent, answer.step) == ("coder", 1)

    def test_a_model_agent_named_executor_is_an_agent(self) -> None:
        trajectory = run(
            say("planner", "Please work it out.", model="m"),
            say("executor", "The product is 41.", model="m"),
            task=TASK,
            outcome_reason="check: expected 42, got 41",
            final_output="The product is 41.",
        )
        assert blamed(trajectory) == ("executor", 1)

    def test_contradicting_ones_own_tool_result(self) -> None:
        trajectory = run(
            call("weather", "temperature", {"city": "Oslo"}, result='{"temperature": 12}'),
            say("weather", "The temperature is 21 degrees in Oslo today."),
            say("writer", "Dress for 21 degrees."),
            task="What should I wear in Oslo?",
            outcome_reason="check: bad advice",
        )
        answer = judge(trajectory)
        assert (answer.agent, answer.step, answer.certainty) == ("weather", 1, "likely")
        assert "21 degrees" in answer.evidence[0].quote

    def test_an_unreachable_model_is_an_environment_fault(self) -> None:
        trajectory = run(
            {"agent": "a", "kind": StepKind.ERROR, "error": "APIConnectionError: Connection refused", "attempts": 3},
            outcome_reason="APIConnectionError: Connection refused",
        )
        answer = judge(trajectory)
        assert answer.abstained
        assert answer.abstained_reason == "environment fault"
        assert answer.agent is None
        assert answer.step is None
        assert answer.candidates[0].agent == "a"
        assert answer.evidence

    def test_an_outage_that_was_survived_is_no_environment_fault(self) -> None:
        trajectory = run(
            {"agent": "a", "kind": StepKind.ERROR, "error": "RateLimitError: too many requests"},
            say("a", "The product is 41."),
            task=TASK,
            outcome_reason="check: expected 42, got 41",
            final_output="The product is 41.",
        )
        assert blamed(trajectory) == ("a", 1)


class TestHandoffs:
    def test_a_loop_of_handoffs(self) -> None:
        trajectory = run(
            *[hand("a", "b") if index % 2 == 0 else hand("b", "a") for index in range(8)],
            agents=team("a", "b", "c"),
            outcome_reason="stopped: maximum number of turns 8 reached",
        )
        answer = judge(trajectory)
        assert (answer.agent, answer.step) == ("a", 0)

    def test_an_orchestrator_that_delegates_often_is_not_in_a_loop(self) -> None:
        steps = []
        for index in range(3):
            steps += [
                hand("boss", "worker"),
                call("worker", "search", {"q": index}, result=f"page {index}"),
                hand("worker", "boss"),
            ]
        steps.append(say("boss", "All three pages are in."))  # a run that stops on a hand-off looks broken off
        answer = judge(run(*steps, agents=team("boss", "worker"), outcome=RunOutcome.UNKNOWN))
        assert answer.abstained

    def test_the_same_call_again_and_again(self) -> None:
        trajectory = run(
            say("planner", "Find it."),
            *[call("searcher", "search", {"q": "lamp"}, result="nothing") for _ in range(5)],
            outcome_reason="stopped: max turns",
        )
        answer = judge(trajectory)
        assert answer.agent == "searcher"
        assert FindingKind.LOOP in [each.kind for each in answer.findings]


class TestWords:
    def test_made_up_data(self) -> None:
        trajectory = run(
            say("planner", "Get the sales figures."),
            say("analyst", "I could not reach the data, so let's assume the sales were flat."),
            say("writer", "Sales were flat."),
            outcome_reason="check: returned False",
        )
        answer = judge(trajectory)
        assert (answer.agent, answer.step) == ("analyst", 1)

    def test_words_inside_json_keys_mean_nothing(self) -> None:
        ledger = '{"is_in_loop": {"answer": false}, "placeholder": 1, "Error: fatal": null}'
        answer = judge(run(say("boss", ledger), say("boss", ledger + " "), outcome=RunOutcome.UNKNOWN))
        assert answer.abstained

    def test_short_replies_are_not_blamed_for_being_short(self) -> None:
        trajectory = run(
            say("solver", "The result of the long calculation is twelve, as I found."),
            say("writer", "OK"),
            say("boss", "TERMINATE"),
            outcome_reason="check: returned False",
        )
        assert blamed(trajectory) == ("solver", 0)


class TestAbstention:
    def test_a_good_run_without_a_sign_of_trouble(self) -> None:
        trajectory = run(say("a", "6 * 7 = 42"), say("b", "It is 42."), outcome=RunOutcome.SUCCEEDED)
        answer = judge(trajectory)
        assert answer.abstained
        assert answer.abstained_reason == "no sign of failure"
        assert (answer.agent, answer.step, answer.error_mode, answer.confidence) == (None, None, None, 0.0)

    @pytest.mark.parametrize("steps", [(), (say("a", "  "),)])
    def test_nothing_to_judge(self, steps) -> None:
        answer = judge(run(*steps))
        assert answer.abstained
        assert answer.abstained_reason == "trace too incomplete"

    def test_one_agent_is_enough(self) -> None:
        answer = judge(run(say("solo", "I think it is a lamp."), outcome_reason="check: returned False"))
        assert (answer.agent, answer.step) == ("solo", 0)
        assert answer.certainty == "weak"
        assert answer.confidence < 0.5

    def test_a_person_is_not_to_blame(self) -> None:
        trajectory = run(
            say("user", "Tell me 41 things."),
            say("assistant", "Here you are."),
            say("user", "That is not right!"),
            outcome_reason="check: got 41",
        )
        assert blamed(trajectory)[0] == "assistant"


class TestAnswerWithoutReason:
    def test_a_rejected_answer_is_followed_back_to_its_origin(self) -> None:
        trajectory = run(
            say("researcher", "I worked it out: the total comes to 41."),
            say("writer", "Our answer is 41."),
            task=TASK,
            outcome_reason="check: returned False",
            final_output="Our answer is 41.",
        )
        answer = judge(trajectory)
        assert (answer.agent, answer.step) == ("researcher", 0)
        assert answer.confidence < 0.5

    def test_so_is_a_name(self) -> None:
        trajectory = run(
            say("researcher", "As far as I know the capital is Sydney."),
            say("writer", "The capital of Australia is Sydney, a city of many beaches."),
            task="What is the capital of Australia?",
            outcome_reason="check: returned False",
            final_output="The capital of Australia is Sydney, a city of many beaches.",
        )
        assert blamed(trajectory) == ("researcher", 0)
