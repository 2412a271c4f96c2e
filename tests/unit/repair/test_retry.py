import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.repair import RetryBudget, RetryPolicy
from tracer_hooks.schema import Usage


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(
    "bound", [{"max_retries": -1}, {"max_tokens": -5}, {"max_seconds": -0.1}, {"max_seconds": float("nan")}]
)
def test_negative_bounds_are_refused(bound) -> None:
    with pytest.raises(ConfigError, match=next(iter(bound))):
        RetryPolicy(**bound)


@pytest.mark.parametrize("most", [0, 2])
def test_the_number_of_retries_is_bounded(most) -> None:
    budget = RetryBudget(RetryPolicy(max_retries=most))
    for _ in range(most):
        assert budget.refusal is None
        budget.record()
    assert budget.refusal == f"{most} of {most} retries used"


def test_tokens_are_bounded() -> None:
    budget = RetryBudget(RetryPolicy(max_retries=9, max_tokens=100))
    for _ in range(2):
        assert budget.refusal is None
        budget.record()
        budget.spend(Usage(input_tokens=50, output_tokens=10))
    assert budget.refusal == "120 of 100 tokens used"
    assert (budget.retries, budget.tokens) == (2, 120)


def test_time_is_bounded() -> None:
    clock = Clock()
    budget = RetryBudget(RetryPolicy(max_seconds=5), clock=clock)
    clock.now += 4.9
    assert budget.refusal is None
    clock.now += 0.2
    assert budget.refusal == "5.1 of 5 seconds used"


def test_money_is_bounded_and_wants_a_price() -> None:
    with pytest.raises(ConfigError, match="max_cost is 1, expected input_price"):
        RetryPolicy(max_cost=1)
    budget = RetryBudget(RetryPolicy(max_cost=0.5, input_price=1, output_price=4))
    budget.spend(Usage(input_tokens=100_000, output_tokens=100_000))
    assert budget.refusal == "0.5 of 0.5 spent"


def test_what_is_spent_inside_is_spent_outside() -> None:
    outer = RetryBudget(RetryPolicy(max_retries=2))
    idle = RetryBudget(RetryPolicy(max_retries=0), outer=outer)
    inner = RetryBudget(RetryPolicy(max_retries=5, max_depth=9), outer=idle)
    assert inner.depth == 3
    for _ in range(2):
        assert inner.refusal is None
        inner.record()
        inner.spend(Usage(input_tokens=5))
    assert inner.refusal == "2 of 2 retries used by the call around this one"
    assert (outer.retries, outer.tokens, idle.retries) == (2, 10, 2)


def test_the_wait_doubles_and_ends_with_the_time() -> None:
    clock = Clock()
    budget = RetryBudget(RetryPolicy(backoff_s=2, max_seconds=10), clock=clock)
    assert 1 <= budget.wait_s(1) <= 2
    assert 4 <= budget.wait_s(3) <= 8
    assert budget.wait_s(99) <= 10
    clock.now += 10
    assert budget.wait_s(1) == 0
    assert RetryBudget(RetryPolicy(backoff_s=0)).wait_s(5) == 0
