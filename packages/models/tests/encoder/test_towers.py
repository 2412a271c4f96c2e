import pytest
import torch

from tracer_hooks_models.encoder._model import HeadConfig, HeadInput, TrajectoryHead

SPEAKERS = [[0, 1, 0, 2], [0, 1, -1, -1]]


def given(seed: int = 0) -> HeadInput:
    torch.manual_seed(seed)
    speakers = torch.tensor(SPEAKERS)
    real = (speakers >= 0).float()
    return HeadInput(
        vectors=torch.randn(2, 4, 8) * real[..., None],
        features=torch.randn(2, 4, 3) * real[..., None],
        speakers=speakers,
        positions=torch.linspace(0, 1, 4).expand(2, 4) * real,
        reporters=torch.zeros(2, 4),
    )


def head(features=("a", "b", "c"), share: float = 0.5):
    torch.manual_seed(1)
    config = HeadConfig(vectors=8, width=16, layers=2, heads=2, features=features)
    return TrajectoryHead(config, share).eval()


def finite(tensor):
    return tensor[torch.isfinite(tensor)]


def test_both_towers_count_by_their_share_and_a_frozen_one_is_not_trained() -> None:
    mine = head(share=0.25)
    words, signs = mine.trained(given())
    both = mine(given())
    assert torch.allclose(both.agents, 0.25 * words.agents + 0.75 * signs.agents)
    assert torch.equal(both.steps == -torch.inf, torch.tensor(SPEAKERS) < 0)
    states, output = mine.states(given())
    assert states.shape == (2, 4, 32)
    assert torch.equal(output.agents, both.agents)
    mine.words.requires_grad_(False)
    assert len(mine.trained(given())) == 1
    alone, before = head(features=()), given()
    assert len(alone.towers) == 1, "without features there is one tower"
    after = before._replace(features=torch.zeros_like(before.features))
    assert torch.equal(alone(before).agents, alone(after).agents)


def test_the_towers_do_not_see_what_the_other_reads() -> None:
    mine, before = head(), given()
    words, signs = mine.trained(before)
    other_words, same_signs = mine.trained(before._replace(vectors=given(5).vectors))
    assert torch.equal(signs.agents, same_signs.agents)
    assert not torch.allclose(words.agents, other_words.agents)


def test_padding_does_not_change_a_trajectory() -> None:
    mine, both = head(), given()
    alone = HeadInput(*(tensor[1:, :2] for tensor in both))
    with torch.inference_mode():
        assert torch.allclose(mine(both).agents[1, :2], mine(alone).agents[0], atol=1e-5)
        assert torch.allclose(mine(both).steps[1, :2], mine(alone).steps[0], atol=1e-5)


def test_which_agent_is_called_first_does_not_matter() -> None:
    """Agents are told apart by their steps, not by a number of their own."""
    mine, before = head(), given()
    swapped = before._replace(speakers=torch.tensor([[2, 1, 2, 0], [1, 0, -1, -1]]))
    with torch.inference_mode():
        one, other = mine(before), mine(swapped)
    assert torch.allclose(one.agents[0, [0, 1, 2]], other.agents[0, [2, 1, 0]], atol=1e-5)
    assert torch.allclose(finite(one.steps), finite(other.steps), atol=1e-5)
    single = HeadInput(*(tensor[:1] for tensor in before))
    turned = HeadInput(*(tensor.flip(1) for tensor in single))._replace(positions=single.positions)
    with torch.inference_mode():
        assert not torch.allclose(mine(turned).steps.flip(1), mine(single).steps, atol=1e-4), "the order of steps does"


@pytest.mark.parametrize("features", [(), ("a", "b", "c")])
def test_every_weight_gets_a_gradient(features) -> None:
    mine = head(features=features).train()
    outputs = mine.trained(given())
    torch.stack([finite(part).square().sum() for output in outputs for part in output]).sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in mine.parameters())
