"""Runs made by hand, in which it is known where the failed one leaves the path of the passing ones."""

from typing import Any

import pytest

from tracer_hooks.diagnosis.contrast import NO_COMPARISON, ContrastAttributor, ContrastOptions, DivergenceKind
from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import ErrorMode, RunOutcome, Trajectory

from ._runs import PASSED, TASK, failed, passed, run

WRONG = [(agent, text.replace("204", "214")) for agent, text in PASSED]


def judged(turns, *, passing=None, **more: Any):
    return ContrastAttributor(passing or passed()).attribute(failed(turns, **more))


def test_a_wrong_number_is_blamed_on_the_step_that_brought_it_in() -> None:
    answer = judged(WRONG)
    assert (answer.step, answer.agent) == (1, "solver")
    assert answer.candidates[0].score > 5 * answer.candidates[1].score
    first = answer.evidence[0]
    assert "214" in first.quote
    assert "214" in first.why
    assert "204" in first.why
    assert "passed-0" in first.why


@pytest.mark.parametrize("first", [1, 2, 3])
def test_whichever_step_brings_it_in(first: int) -> None:
    turns = [*PASSED[:first], *WRONG[first:]]
    assert judged(turns).step == first


def test_a_value_that_the_task_or_a_tool_gave_is_no_divergence() -> None:
    turns = list(PASSED)
    turns[1] = ("solver", "17 * 12 = 204, so the crates cost 204 dollars, that is order 90817.")
    attributor = ContrastAttributor(passed())
    for given, blamed in (("Order 90817: what do 17 crates at 12 dollars each cost?", []), (TASK, ["90817"])):
        marks = attributor.divergences(failed(turns, task=given)).marks
        assert [mark.words for mark in marks if mark.divergence is DivergenceKind.CLAIM] == blamed


def test_a_wrong_tool_argument() -> None:
    def turns(account):
        return [
            ("clerk", "lookup", {"name": "Ada"}, "account ac_4417, balance 120"),
            ("clerk", "refund", {"account": account, "amount": 80}, "done"),
            ("clerk", "Your refund is on its way."),
        ]

    passing = [run(f"p{k}", turns("ac_4417")) for k in range(2)]
    answer = judged(turns("ac_4471"), passing=passing)
    assert (answer.step, answer.error_mode) == (1, ErrorMode.FM_2_5)
    assert answer.evidence[0].quote == "ac_4471"
    assert "ac_4417" in answer.evidence[0].why


def test_the_right_argument_told_by_another_agent_and_ignored() -> None:
    def turns(account):
        return [("researcher", "The customer's account is ac_4417."), ("clerk", "refund", {"account": account}, "done")]

    answer = judged(turns("ac_9999"), passing=[run("p", turns("ac_4417"))])
    assert (answer.step, answer.error_mode) == (1, ErrorMode.FM_2_5)


def test_an_argument_that_contradicts_the_agents_own_words() -> None:
    def turns(account):
        return [("clerk", "I will refund the account ac_4417 now."), ("clerk", "refund", {"account": account}, "done")]

    answer = judged(turns("ac_9999"), passing=[run("p", turns("ac_4417"))])
    assert (answer.step, answer.error_mode) == (1, ErrorMode.FM_2_6)


def test_a_wrong_number_alone_does_not_tell_the_mode() -> None:
    assert judged(WRONG).error_mode is None


def test_a_missing_verification() -> None:
    answer = judged([PASSED[0], PASSED[1], PASSED[3]])
    assert (answer.step, answer.agent, answer.error_mode) == (2, "writer", ErrorMode.FM_3_2)
    assert answer.evidence[0].quote in "The crates cost 204 dollars."
    assert "'verifier'" in answer.evidence[0].why


def test_a_step_done_again() -> None:
    answer = judged([PASSED[0], PASSED[1], PASSED[1], *PASSED[2:]])
    assert (answer.step, answer.error_mode) == (2, ErrorMode.FM_1_3)


def test_a_run_that_ends_early() -> None:
    plain = [turn for turn in PASSED if turn[0] != "verifier"]
    answer = judged(plain[:2], passing=[run(f"p{k}", plain) for k in range(2)])
    assert (answer.step, answer.error_mode) == (1, ErrorMode.FM_3_1)


def test_another_tool_in_the_same_place() -> None:
    def turns(tool):
        return [
            ("clerk", "lookup", {"name": "Ada"}, "account ac_4417"),
            ("clerk", tool, {"account": "ac_4417"}, "done"),
            ("clerk", "All done."),
        ]

    attributor = ContrastAttributor([run("p", turns("refund"))])
    answer = attributor.attribute(failed(turns("close_account")))
    assert answer.step == 1
    assert answer.error_mode is None
    kinds = {mark.divergence for mark in attributor.divergences(failed(turns("close_account"))).marks if mark.step == 1}
    assert DivergenceKind.ACT in kinds


def test_a_changed_hand_off() -> None:
    def turns(recipient):
        return [
            ("lead", "->", recipient),
            (recipient, "I have looked into it and there is nothing to be done."),
            ("lead", "Thanks, we are finished."),
        ]

    answer = judged(turns("billing"), passing=[run(f"p{k}", turns("shipping")) for k in range(2)])
    assert (answer.step, answer.agent) == (0, "lead")


def test_branches_in_another_order_are_no_divergence() -> None:
    branches = [
        ("weather", "forecast", {"city": "Oslo"}, "rain, 11 degrees"),
        ("trains", "timetable", {"to": "Oslo"}, "leaves at 10:42"),
        ("hotels", "rooms", {"city": "Oslo"}, "14 rooms free at 980"),
    ]
    ends = [("lead", "Ask about the weather, the trains and the hotels in Oslo.")], [("lead", "Take the 10:42 train.")]
    passing = [run(f"p{k}", [*ends[0], *branches, *ends[1]]) for k in range(2)]
    for order in ([2, 0, 1], [1, 0, 2], [2, 1, 0]):
        turns = [*ends[0], *(branches[k] for k in order), *ends[1]]
        assert judged(turns, passing=passing).abstained_reason == "no sign of failure"


def test_the_same_run_has_no_fault() -> None:
    for outcome in RunOutcome:
        same = run("again", PASSED, outcome=outcome)
        answer = ContrastAttributor(passed(1)).attribute(same)
        assert (answer.abstained, answer.abstained_reason) == (True, "no sign of failure")
        assert answer.evidence == ()


def test_what_one_of_several_passing_runs_does_is_no_divergence() -> None:
    other_way = [*PASSED[:1], ("solver", "12 * 17 = 204; as a check, 10 * 17 + 34 = 204."), *PASSED[2:]]
    passing = [*passed(), run("other-way", other_way)]
    assert judged(other_way, passing=passing).abstained_reason == "no sign of failure"
    assert judged(other_way).step == 1


def test_people_and_terminals_are_not_blamed() -> None:
    def turns(result, number):
        return [
            ("user", f"My number is {number}."),
            ("coder", "```python\nprint(total())\n```"),
            ("Computer_terminal", f"exitcode: 0\nCode output: {result}"),
            ("coder", f"The total is {result}."),
        ]

    passing = [run(f"p{k}", turns(5120, 7001)) for k in range(2)]
    scores = ContrastAttributor(passing).score(failed(turns(9977, 8123)))
    assert [step for step, value in enumerate(scores.steps) if value == float("-inf")] == [0, 2]
    assert judged(turns(9977, 8123), passing=passing).agent == "coder"


def test_without_a_passing_run_there_is_nothing_to_say() -> None:
    for attributor in (ContrastAttributor(), ContrastAttributor([failed(PASSED, run_id="other")])):
        assert attributor.score(failed(WRONG)) is None
        answer = attributor.attribute(failed(WRONG))
        assert (answer.abstained, answer.abstained_reason, answer.confidence) == (True, NO_COMPARISON, 0.0)


def test_a_run_is_not_compared_with_itself_or_with_another_team() -> None:
    same = run("failed", PASSED)
    strangers = run("other", [("alice", "Hello."), ("bob", "Hi.")])
    assert ContrastAttributor([same, strangers]).score(failed(WRONG)) is None


def test_a_run_without_steps_is_too_incomplete() -> None:
    for steps in ([], [("solver", "")]):
        answer = ContrastAttributor(passed()).attribute(failed(steps))
        assert answer.abstained_reason == "trace too incomplete"
        assert ContrastAttributor(passed()).score(failed(steps)) is None


def test_runs_of_the_same_task_come_before_others() -> None:
    others = [run(f"o{k}", WRONG, task="Translate the poem about the sea into Norwegian.") for k in range(6)]
    answer = ContrastAttributor([*others, *passed()], options=ContrastOptions(nearest=2, at_most=3)).attribute(
        failed(WRONG)
    )
    assert answer.step == 1
    assert "passed-" in answer.evidence[0].why


def test_runs_of_another_task_show_a_missing_check_but_no_wrong_values() -> None:
    other_task = [(agent, text.replace("204", "96").replace("17", "8")) for agent, text in PASSED]
    passing = [run(f"p{k}", other_task, task="Name the price of 8 barrels of 12 dollars.") for k in range(3)]
    answer = ContrastAttributor(passing).attribute(failed([PASSED[0], PASSED[1], PASSED[3]]))
    assert (answer.step, answer.error_mode) == (2, ErrorMode.FM_3_2)
    assert answer.confidence < judged([PASSED[0], PASSED[1], PASSED[3]]).confidence


def test_peers_stand_in_only_when_asked() -> None:
    peers = [failed(PASSED, run_id=f"peer-{k}") for k in range(3)]
    strict = ContrastAttributor(runs=peers)
    lenient = ContrastAttributor(runs=peers, options=ContrastOptions(without_passing=True))
    assert strict.score(failed(WRONG)) is None
    scores = lenient.score(failed(WRONG))
    assert max(range(4), key=scores.steps.__getitem__) == 1
    assert max(scores.agents, key=scores.agents.__getitem__) == "solver"


def test_the_expected_answer_is_not_looked_at() -> None:
    attributor = ContrastAttributor(passed())
    told = failed(WRONG).model_copy(update={"reference": "204"})
    first = attributor.attribute(told, reference="214").model_copy(update={"elapsed_s": 0.0})
    assert first == attributor.attribute(failed(WRONG)).model_copy(update={"elapsed_s": 0.0})


def test_wrong_arguments_are_refused() -> None:
    for bad in ("runs/", passed()[0], 7, ["runs/"]):
        with pytest.raises(ConfigError, match="to compare with"):
            ContrastAttributor(bad)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="nearest"):
        ContrastOptions(nearest=0)
    with pytest.raises(ConfigError, match="at_most"):
        ContrastOptions(nearest=5, at_most=4)


def test_scripts_without_spaces() -> None:
    def turns(price):
        return [("计划", "需要计算价格"), ("求解", f"总价是{price}元"), ("写手", f"答案是{price}元")]

    answer = judged(turns(2140), passing=[run("p", turns(2040), task="价格?")], task="价格?")
    assert answer.step == 1
    assert "2140" in answer.evidence[0].quote


def test_a_source_is_asked_for_each_run() -> None:
    class Source:
        asked: list[Trajectory] = []

        def runs_like(self, trajectory):
            self.asked.append(trajectory)
            return passed()

    source = Source()
    assert ContrastAttributor(source).attribute(failed(WRONG)).step == 1
    assert [one.run_id for one in source.asked] == ["failed"]
