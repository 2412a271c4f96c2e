"""The kinds by name; a kind's framework is loaded when a test first asks for one of its kinds."""

import importlib

import pytest

from ._kind import Kind

KINDS = {
    "autogen": ("agents_as_tools", "graph_flow", "saved_state", "society_of_mind"),
    "crewai": (
        "conditional_task",
        "flow_with_router",
        "guardrail_retry",
        "kickoff_for_each",
        "planning",
        "single_agent",
    ),
    "langgraph": (
        "astream_events",
        "batch",
        "functional",
        "retry_policy",
        "send",
        "subgraph_interrupt",
        "supervisor",
        "swarm",
    ),
}
NAMES = [f"{framework}_{kind}" for framework, kinds in KINDS.items() for kind in kinds]


def load(name: str) -> Kind:
    """The kind of this name; the test fails where a package is missing."""
    framework = name.partition("_")[0]
    try:
        module = importlib.import_module(f".{framework}_kinds", __package__)
    except ImportError as error:
        fail_for_missing(error)
    assert [*module.KINDS] == [name for name in NAMES if name.startswith(framework)], "a kind that is not listed"
    kind: Kind = module.KINDS[name]
    return kind


def fail_for_missing(error: ImportError) -> None:
    """Fail, and say what helps."""
    pytest.fail(f"{error}. This test needs every package of the extra 'dev': run `make setup`")
