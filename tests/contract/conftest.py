"""A kind of team on its stage, for the tests that are parametrised by a kind's ``name``."""

import gc
from collections.abc import Iterator

import pytest

# The kit first: it tells pytest which modules hold assertions, before a kind loads one of them.
from tracer_hooks_testing import AdapterContract  # noqa: F401

from .kinds._load import load
from .kinds._stage import Stage, stage


@pytest.fixture(scope="module")
def clients_are_collected() -> Iterator[None]:
    """Clients live as long as their team; they go while the module's filter hides that nobody closed them."""
    yield
    gc.collect()


@pytest.fixture
def on_stage(name: str, clients_are_collected: None) -> Iterator[Stage]:
    """The kind called ``name``."""
    with stage(load(name)) as built:
        yield built
