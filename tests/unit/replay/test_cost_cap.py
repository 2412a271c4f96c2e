"""Caps on runs, tokens, time and money."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tracer_hooks.budget import CostCap, Spending
from tracer_hooks.errors import BudgetSpentError
from tracer_hooks.schema import Usage

SOME = Usage(input_tokens=1_000, output_tokens=100)


@pytest.mark.parametrize(
    ("cap", "said"),
    [
        (CostCap(max_runs=2), "the cap of 2 runs is reached"),
        (CostCap(max_tokens=2_200), "the cap of 2200 tokens is reached"),
        (CostCap(max_cost=0.004, input_price=1.0, output_price=10.0), "the cap of a cost of 0.004 is reached"),
    ],
)
def test_a_cap_is_reached_with_the_second_run(cap: CostCap, said: str) -> None:
    spending = Spending(cap)
    spending.add(SOME)
    assert spending.refusal is None
    spending.add(SOME)
    assert spending.refusal == said


def test_time_is_a_cap_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    spending = Spending(CostCap(max_seconds=5))
    assert spending.refusal is None
    now[0] += 5
    assert spending.refusal == "the cap of 5 seconds is reached"


def test_without_a_cap_there_is_always_room_and_threads_do_not_lose_counts() -> None:
    spending = Spending()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: spending.add(SOME), range(400)))
    assert (spending.runs, spending.tokens, spending.usage.output_tokens) == (400, 440_000, 40_000)
    assert spending.refusal is None


def spend(spending: Spending, usage: Usage, most: Usage | None = None) -> bool:
    """Tell whether a call that takes ``usage`` was made."""
    try:
        with spending.under_way(most) as settle:
            time.sleep(0.002)
            settle(usage)
    except BudgetSpentError:
        return False
    return True


def test_runs_at_the_same_time_are_never_more_than_the_cap() -> None:
    spending = Spending(CostCap(max_runs=21))
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: spend(spending, SOME), range(60)))
    assert (sum(made), spending.runs, spending.tokens) == (21, 21, 21 * 1_100)


@pytest.mark.parametrize("threads", [1, 4, 16])
@pytest.mark.parametrize(
    "cap", [CostCap(max_tokens=20_500), CostCap(max_cost=20.5 * 2e-3, input_price=1.0, output_price=10.0)]
)
def test_calls_at_the_same_time_pass_a_cap_by_less_than_one_call(cap: CostCap, threads: int) -> None:
    spending, most = Spending(cap), Usage(input_tokens=1_000, output_tokens=100)
    with ThreadPoolExecutor(threads) as pool:
        made = sum(pool.map(lambda number: spend(spending, SOME, most), range(90)))
    assert spending.runs == 0
    cost, limit = (spending.tokens, cap.max_tokens) if cap.max_tokens else (spending.cost, cap.max_cost)
    assert limit is not None
    assert limit <= cost < limit + cost / made


def test_a_call_waits_where_only_what_others_have_set_aside_would_reach_the_cap() -> None:
    spending = Spending(CostCap(max_tokens=1_000))
    with ThreadPoolExecutor(1) as pool, spending.under_way(Usage(input_tokens=1_000)) as settle:
        waits = pool.submit(spend, spending, SOME, SOME)
        with pytest.raises(TimeoutError):
            waits.result(0.1)
        settle(Usage(input_tokens=10))
        assert waits.result(20) is True  # the first is settled, though not at its end
    assert spending.refusal is not None
    with pytest.raises(BudgetSpentError, match="the cap of 1000 tokens is reached"), spending.under_way():
        pass


def test_a_call_that_fails_gives_back_what_was_set_aside() -> None:
    spending = Spending(CostCap(max_tokens=1_000))
    for _ in range(2):
        with pytest.raises(ValueError, match="no answer"), spending.under_way(Usage(input_tokens=1_000)):
            raise ValueError("no answer")
    assert spend(spending, SOME, SOME)
    assert spending.usage == SOME
