import math

import pytest

torch = pytest.importorskip("torch")

from tracer_hooks_models.encoder import HeadOutput  # noqa: E402
from tracer_hooks_models.training._contrastive_model import LossWeights, Targets, loss_of  # noqa: E402


def only(part) -> LossWeights:
    return LossWeights(**{**dict.fromkeys(("agents", "ranking", "pointer", "modes"), 0.0), part: 1.0})


def output(steps, agents) -> HeadOutput:
    agents = torch.tensor(agents)
    return HeadOutput(torch.tensor(steps), agents, torch.zeros(*agents.shape, 14))


def targets(agents, bag) -> Targets:
    agents = torch.tensor(agents)
    return Targets(agents, torch.zeros(*agents.shape, 14), torch.tensor(bag))


def test_the_pointer_loss_is_the_belief_that_misses_the_bag() -> None:
    given = output([[0.0, 0.0, 0.0, -math.inf]], [[0.0]])
    found = loss_of(given, targets([[1.0]], [[1.0, 1.0, 0.0, 0.0]]), only("pointer"))
    assert float(found) == pytest.approx(-math.log(2 / 3), abs=1e-5)
    bag = targets([[1.0]], [[1.0, 1.0, 0.0]])
    first, second = (
        loss_of(output([steps], [[0.0]]), bag, only("pointer")) for steps in ([2.0, 0.0, 1.0], [0.0, 2.0, 1.0])
    )
    assert float(first) == pytest.approx(float(second)), "which step of the bag has the belief does not matter"


def test_the_ranking_loss_compares_faulty_agents_with_the_others_of_the_same_trajectory() -> None:
    truth = targets([[1.0, 0.0, -1.0], [0.0, 0.0, -1.0]], [[0.0], [0.0]])
    found = loss_of(output([[0.0], [0.0]], [[3.0, 1.0, 9.0], [7.0, 7.0, 7.0]]), truth, only("ranking"))
    assert float(found) == pytest.approx(math.log1p(math.exp(-2)) / 2, abs=1e-5)


def test_one_batch_is_as_good_as_each_trajectory_by_itself():
    """Also where one has nothing to rank and another no step to point at."""
    steps, agents = [[0.5, 1.0], [2.0, -1.0], [0.1, 0.2]], [[3.0, 1.0], [0.5, 0.5], [1.0, 2.0]]
    truth, bags = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    whole = loss_of(output(steps, agents), targets(truth, bags))
    each = [
        loss_of(output(steps[k : k + 1], agents[k : k + 1]), targets(truth[k : k + 1], bags[k : k + 1]))
        for k in range(3)
    ]
    assert float(whole) == pytest.approx(float(sum(each)) / 3, abs=1e-5)


def test_padding_counts_nowhere() -> None:
    short = loss_of(output([[0.5]], [[0.3]]), targets([[1.0]], [[1.0]]))
    padded = loss_of(output([[0.5, -math.inf]], [[0.3, 5.0]]), targets([[1.0, -1.0]], [[1.0, 0.0]]))
    assert float(short) == pytest.approx(float(padded), abs=1e-5)
    steps = torch.tensor([[0.1, -math.inf]], requires_grad=True)
    loss_of(HeadOutput(steps, torch.zeros(1, 1), torch.zeros(1, 1, 14)), targets([[1.0]], [[1.0, 0.0]])).backward()
    assert torch.isfinite(steps.grad).all()
