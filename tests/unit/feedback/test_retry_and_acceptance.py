import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.feedback import Acceptance, AcceptanceRule, RetryBudget, RetryPolicy
from tracer_hooks.schema import RunOutcome


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(
    "bound", [{"max_retries": -1}, {"max_tokens": -5}, {"max_seconds": -0.1}, {"max_seconds": float("nan")}]
)
def test_negative_bounds_are_refused(bound):
    with pytest.raises(ConfigError, match=next(iter(bound))):
        RetryPolicy(**bound)


def test_the_number_of_retries_is_bounded():
    budget = RetryBudget(RetryPolicy(max_retries=2))
    for _ in range(2):
        assert budget.refusal is None
        budget.record()
    assert budget.refusal == "2 of 2 retries used"


def test_no_retries_at_all():
    assert RetryBudget(RetryPolicy(max_retries=0)).refusal == "0 of 0 retries used"


def test_tokens_are_bounded():
    budget = RetryBudget(RetryPolicy(max_retries=9, max_tokens=100))
    budget.record(tokens=60)
    assert budget.refusal is None
    budget.record(tokens=60)
    assert budget.refusal == "120 of 100 tokens used"
    assert (budget.retries, budget.tokens) == (2, 120)


def test_time_is_bounded():
    clock = Clock()
    budget = RetryBudget(RetryPolicy(max_seconds=5), clock=clock)
    clock.now += 4.9
    assert budget.refusal is None
    clock.now += 0.2
    assert budget.refusal == "5.1 of 5 seconds used"


def test_negative_tokens_are_refused():
    budget = RetryBudget(RetryPolicy())
    with pytest.raises(ConfigError, match="tokens is -1"):
        budget.record(tokens=-1)
    assert budget.retries == 0


@pytest.mark.parametrize("before", RunOutcome)
@pytest.mark.parametrize("after", RunOutcome)
def test_only_a_failure_turned_into_a_success_is_kept(before, after):
    decision = Acceptance().accept(before, after)
    assert decision.kept is (before is RunOutcome.FAILED and after is RunOutcome.SUCCEEDED)
    assert decision.reason


def test_it_is_an_acceptance_rule():
    assert isinstance(Acceptance(), AcceptanceRule)
