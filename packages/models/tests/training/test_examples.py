from typing import Any

import numpy as np
import pytest

from tracer_hooks.schema import AgentFault, DecisiveStep, ErrorMode, LabeledTrajectory, LabelSource, Step, Trajectory
from tracer_hooks_models.encoder import read
from tracer_hooks_models.training._examples import architecture_of, find_agent, labels_of


class NoTokens:
    def tokens_of(self, steps):
        return []


def labeled(agents, **fields: Any) -> LabeledTrajectory:
    steps = tuple(Step(index=k, agent=agent, content="text") for k, agent in enumerate(agents))
    return LabeledTrajectory(
        trajectory=Trajectory(run_id="r", steps=steps), label_source=LabelSource.INJECTED, **fields
    )


def labels(agents, **fields: Any):
    one = labeled(agents, **fields)
    return labels_of(one, read(one.trajectory, NoTokens(), ()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("label", "roster", "position"),
    [
        ("assistant1", ["Assistant2", "Assistant1"], 1),
        ("Role Assigner", ["Critic", "RoleAssigner"], 1),
        ("psychologist4", ["Economist", "Psychologist"], 1),
        ("Node1", ["Node-1", "Node1"], 1),
        ("Node1", ["Node-1", "Node2"], None),
        ("ranker5", ["Assistant1", "Assistant2"], None),
        ("solver", ["SOLVER", "Solver"], None),
        ("Assistant1", ["Assistant2"], None),
    ],
)
def test_a_label_finds_its_agent_in_other_spellings_but_no_other_agent(label, roster, position) -> None:
    assert find_agent(label, roster) == position


def test_labels_of_agents_mark_all_their_steps_and_one_of_a_step_that_step_alone() -> None:
    found = labels(
        ["user", "A", "B", "A"], faults=(AgentFault(agent="a", error_mode=ErrorMode.FM_1_1), AgentFault(agent="silent"))
    )
    assert found.agents.tolist() == [1, 0]
    assert found.bag.tolist() == [1, 0, 1]  # of the three steps that are not the user's
    assert np.argwhere(found.modes).tolist() == [[0, 0]]
    assert found.useful
    found = labels(["A", "B", "A"], decisive=DecisiveStep(agent="A", step=2))
    assert found.agents.tolist() == [1, 0]
    assert found.bag.tolist() == [0, 0, 1]
    assert not labels(["A", "B"], faults=(AgentFault(agent="silent"),)).useful


@pytest.mark.parametrize(
    ("names", "architecture"),
    [
        (["User", "Assistant1", "Assistant2", "Assistant3"], "debate"),
        (["Assistant1", "Assistant4"], "dylan"),
        (["Mathematician", "Assistant1"], "dylan"),
        (["Node-1", "Node0"], "macnet"),
        (["Role Assigner", "Solver"], "agentverse"),
        (["System", "User", "Manager", "Searcher"], "smolagents"),
        (["user", "MagenticOneOrchestrator", "WebSurfer"], "magentic-one"),
    ],
)
def test_the_architecture_is_told_from_the_names(names, architecture) -> None:
    assert architecture_of(names) == architecture
