"""Hooked teams are used in any order: hypothesis looks for one after which something is left, lost or doubled."""

import gc

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from ._kinds import KINDS
from ._machine import machine_of

_LENGTH = 30
"""Steps of one program."""


def run_steps(name: str, steps: int) -> None:
    """Run programs with fixed seeds until they have made ``steps`` steps."""
    machine = machine_of(KINDS[name])
    limits = settings(
        max_examples=max(1, min(20, steps // _LENGTH)), stateful_step_count=_LENGTH, deadline=None, database=None,
        print_blob=True, suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    gc.collect()
    gc.freeze()  # the frameworks' own objects, so that collecting the forgotten teams takes no time
    batch = 0
    while machine.steps_done < steps:
        run_state_machine_as_test(seed(batch)(machine), settings=limits)
        batch += 1


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", KINDS)
def test_a_hundred_steps(name: str) -> None:
    run_steps(name, 100)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", KINDS)
def test_ten_thousand_steps(name: str) -> None:
    run_steps(name, 10_000)
