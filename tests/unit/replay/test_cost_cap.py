"""Caps on runs, tokens, time and money."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tracer_hooks.budget import CostCap, Spending
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
