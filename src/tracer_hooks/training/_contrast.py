"""What the contrastive objective adds to the encoder's own losses; none of it is needed to diagnose a run.

After Aegis' third paradigm (arXiv 2509.14295): evidence is selected by attention over steps, and drawn to the
prototypes of the agent at fault and of its error modes. There the agents are a closed list of names; here an agent's
prototype is made of its own steps, so that any team can be scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracer_hooks.attribution.encoder import HeadOutput
from tracer_hooks.training._losses import Targets

_FOCUS = 2.0
"""How little an easy negative counts in the asymmetric cross-entropy."""


class Evidence(NamedTuple):
    """What a batch of B trajectories shows, in the space of the prototypes; every vector has length 1."""

    bags: Tensor
    """(B, D): the selected steps of each trajectory, weighed by attention."""
    agents: Tensor
    """(B, A, D): the prototype of each agent, made of its own steps."""
    steps: Tensor
    """(B, T, D): each step."""
    top: Tensor
    """(B,): the step with the highest attention."""


class Prototypes(nn.Module):
    """Projects steps and agents, and keeps one prototype for each error mode.

    Args:
        width: Of the step states.
        mode_vectors: (14, V): what the encoder makes of the modes' definitions; prototypes begin there.
        size: Of the projections.
        selected: How many steps count as evidence.
    """

    def __init__(self, width: int, mode_vectors: Tensor, *, size: int = 128, selected: int = 3) -> None:
        super().__init__()
        self.selected = selected
        self.step = nn.Linear(width, size)
        self.agent = nn.Linear(width, size)
        self.text = nn.Linear(mode_vectors.shape[1], size)
        self.apart = nn.Parameter(torch.zeros(len(mode_vectors), size))
        self.scale = nn.Parameter(torch.tensor(5.0))
        self.bias = nn.Parameter(torch.tensor(-2.0))
        self.mode_vectors: Tensor
        self.register_buffer("mode_vectors", functional.normalize(mode_vectors.detach(), dim=-1))

    @property
    def modes(self) -> Tensor:
        """(14, D): the prototypes of the modes."""
        return functional.normalize(self.text(self.mode_vectors) + self.apart, dim=-1)

    def forward(self, steps: Tensor, agents: Tensor, pointer: Tensor) -> Evidence:
        """Select evidence.

        Args:
            steps: (B, T, width): states of the steps.
            agents: (B, A, width): states of the agents.
            pointer: (B, T): the attention's logits; -inf for padding.
        """
        projected = functional.normalize(self.step(steps), dim=-1)
        count = min(self.selected, pointer.shape[1])
        values, places = pointer.clamp(min=-1e4).topk(count, dim=1)
        weights = values.softmax(-1) * (values > -1e4)
        chosen = projected.gather(1, places[..., None].expand(-1, -1, projected.shape[-1]))
        bags = functional.normalize((weights[..., None] * chosen).sum(1), dim=-1)
        return Evidence(bags, functional.normalize(self.agent(agents), dim=-1), projected, places[:, 0])

    def mode_logits(self, bags: Tensor) -> Tensor:
        """(B, 14): log-odds that a trajectory shows each mode, by its evidence's nearness to the prototypes."""
        return self.scale * (bags @ self.modes.T) + self.bias


def modes_of(targets: Targets) -> Tensor:
    """(B, 14): 1 where some agent of the trajectory shows the mode."""
    return targets.modes.amax(1)


def asymmetric(logits: Tensor, truth: Tensor) -> Tensor:
    """Cross-entropy in which an easy negative counts little: most modes are absent from most trajectories."""
    belief = logits.sigmoid()
    positive = truth * functional.logsigmoid(logits)
    negative = (1 - truth) * belief**_FOCUS * functional.logsigmoid(-logits)
    return -(positive + negative).mean()


def supervised(
    evidence: Evidence,
    prototypes: Tensor,
    targets: Targets,
    *,
    temperature: float,
    clean: Tensor | None = None,
) -> Tensor:
    """Supervised contrastive loss of each trajectory's evidence, over the batch.

    Near to it should be the agents at fault, the modes they show, and the evidence of other trajectories with a mode in
    common; far from it every other agent and mode, other evidence, and the step of the passing run.

    Args:
        evidence: Of B trajectories.
        prototypes: (14, D): of the modes.
        targets: Their labels.
        temperature: Of the similarities.
        clean: (B, D): the step of the passing run at the place of the evidence; zeros where there is none.
    """
    shown = modes_of(targets)
    bags = evidence.bags
    others = (shown @ shown.T > 0).float().fill_diagonal_(0.0)
    not_self = 1 - torch.eye(len(bags), device=bags.device)
    parts = [
        ((bags[:, None] * evidence.agents).sum(-1), (targets.agents == 1).float(), (targets.agents >= 0).float()),
        # Where the label names agents only, no mode is known to be near or far.
        (bags @ prototypes.T, shown, (shown.sum(1, keepdim=True) > 0).float().expand_as(shown)),
        (bags @ bags.T, others, not_self * (shown.sum(1) > 0)[:, None] * (shown.sum(1) > 0)[None, :]),
    ]
    if clean is not None:
        there = (clean.abs().sum(-1, keepdim=True) > 0).float()
        parts.append(((bags * clean).sum(-1, keepdim=True), torch.zeros_like(there), there))
    similar, near, counted = (torch.cat(column, 1) for column in zip(*parts, strict=True))
    logits = (similar / temperature).masked_fill(counted == 0, -1e4)
    log_share = logits - logits.logsumexp(1, keepdim=True)
    near = near * counted
    each = -(log_share * near).sum(1) / near.sum(1).clamp(min=1)
    return each.sum() / len(bags)


def infonce(bags: Tensor, again: Tensor, *, temperature: float) -> Tensor:
    """Plain InfoNCE, without labels: the same trajectory seen twice, against the others of the batch."""
    logits = bags @ again.T / temperature
    return functional.cross_entropy(logits, torch.arange(len(bags), device=bags.device))


def hierarchy(output: HeadOutput, mode_logits: Tensor, targets: Targets) -> Tensor:
    """Squared hinge: a pair is no likelier than its agent is at fault, and than its mode is shown at all."""
    pair, agent = output.modes.sigmoid(), output.agents.sigmoid()[..., None]
    above = (pair - torch.minimum(agent, mode_logits.sigmoid()[:, None, :])).clamp(min=0) ** 2
    real = (targets.agents >= 0).float()[..., None].expand_as(above)
    each = (above * real).sum((1, 2)) / real.sum((1, 2)).clamp(min=1)
    return each.mean()


def at_place(steps: Tensor, places: Tensor, lengths: Sequence[int]) -> Tensor:
    """(B, D): of each trajectory the step at a place, or its last one; zeros for one without steps."""
    last = torch.tensor([max(0, length - 1) for length in lengths], device=steps.device)
    found = steps[torch.arange(len(steps), device=steps.device), torch.minimum(places, last)]
    return found * torch.tensor([[float(length > 0)] for length in lengths], device=steps.device)
