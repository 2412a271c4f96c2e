"""Objective of the encoder: multiple-instance losses over steps, agents and modes, and contrastive terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracer_hooks.schema import ErrorMode, Step, Trajectory
from tracer_hooks_models.encoder import (
    EncoderInput,
    EncoderModel,
    HeadOutput,
    StepTokenizer,
    padded,
    stack,
)
from tracer_hooks_models.training._examples import Example, Labels


class Targets(NamedTuple):
    """Labels of a batch of B trajectories with at most T steps and A agents."""

    agents: Tensor
    """(B, A): 1 for a faulty agent, 0 for another one, -1 for padding."""
    modes: Tensor
    """(B, A, 14): 1 where the agent shows the mode."""
    bag: Tensor
    """(B, T): 1 for every step that may be the decisive one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossWeights:
    """Weights of the parts of the loss."""

    agents: float = 1.0
    ranking: float = 1.0
    pointer: float = 0.5
    modes: float = 2.0


def loss_of(output: HeadOutput, targets: Targets, weights: LossWeights | None = None) -> Tensor:
    """Mean loss of a batch; every trajectory counts the same, however many agents and steps it has.

    - agents: binary cross-entropy for every agent that acted;
    - ranking: logistic loss of every pair of a faulty and another agent of the same trajectory;
    - pointer: minus log of the belief that falls on the bag of steps one of which is the decisive one;
    - modes: binary cross-entropy for every pair of agent and mode.
    """
    weights = weights or LossWeights()
    parts = (
        weights.agents * _agents(output.agents, targets.agents),
        weights.ranking * _ranking(output.agents, targets.agents),
        weights.pointer * _pointer(output.steps, targets.bag),
        weights.modes * _modes(output.modes, targets),
    )
    return torch.stack(parts).sum()


def _agents(logits: Tensor, truth: Tensor) -> Tensor:
    real = (truth >= 0).float()
    loss = functional.binary_cross_entropy_with_logits(logits, truth.clamp(min=0), reduction="none")
    return _per_trajectory(loss * real, real)


def _ranking(logits: Tensor, truth: Tensor) -> Tensor:
    pairs = ((truth == 1)[:, :, None] & (truth == 0)[:, None, :]).float()
    loss = functional.softplus(logits[:, None, :] - logits[:, :, None])
    return _per_trajectory(loss * pairs, pairs)


def _pointer(logits: Tensor, bag: Tensor) -> Tensor:
    known = (bag.sum(1) > 0).float()
    logits = logits.clamp(min=-1e4)
    inside = logits.masked_fill(bag == 0, -1e4).logsumexp(1)
    return ((logits.logsumexp(1) - inside) * known).sum() / len(known)


def _modes(logits: Tensor, targets: Targets) -> Tensor:
    real = (targets.agents >= 0).float()[..., None].expand_as(logits)
    loss = functional.binary_cross_entropy_with_logits(logits, targets.modes, reduction="none")
    return _per_trajectory(loss * real, real)


def _per_trajectory(loss: Tensor, counted: Tensor) -> Tensor:
    """A trajectory in which nothing is counted adds nothing: one batch of eight is then as good as eight of one."""
    inner = tuple(range(1, loss.dim()))
    share = loss.sum(inner) / counted.sum(inner).clamp(min=1)
    return share.sum() / len(share)


_FOCUS = 2.0
"""How little an easy negative counts in the asymmetric cross-entropy."""


class EvidenceVectors(NamedTuple):
    """Evidence in a batch of B trajectories, in the space of the prototypes; every vector has length 1."""

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

    def forward(self, steps: Tensor, agents: Tensor, pointer: Tensor) -> EvidenceVectors:
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
        return EvidenceVectors(bags, functional.normalize(self.agent(agents), dim=-1), projected, places[:, 0])

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
    evidence: EvidenceVectors,
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


def stack_labels(labels: Sequence[Labels], device: torch.device | str = "cpu") -> Targets:
    """The labels of a batch, in the shapes of :class:`~tracer_hooks_models.training._contrastive_model.Targets`."""
    agents = max(1, *(len(one.agents) for one in labels))
    steps = max(1, *(len(one.bag) for one in labels))
    return Targets(
        agents=padded([one.agents for one in labels], agents, -1.0, device),
        modes=padded([one.modes for one in labels], agents, 0.0, device),
        bag=padded([one.bag for one in labels], steps, 0.0, device),
    )


Contrast = Literal["supervised", "infonce", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastiveLossOptions:
    """Weights and options of the parts of the objective."""

    contrast: Contrast = "supervised"
    contrast_weight: float = 0.4
    hierarchy_weight: float = 0.6
    temperature: float = 0.07
    size: int = 128
    selected: int = 3


@dataclass(frozen=True, slots=True)
class Item:
    """One row of a batch."""

    example: Example
    clean: EncoderInput | None = None
    """The passing run to it."""
    vectors: Tensor | None = None
    """The steps' vectors, where the step encoder is not trained."""


class ContrastiveModel(nn.Module):
    """An encoder in training.

    Each tower has its own losses, so that neither leans on the other; the contrast is on the tower that reads words,
    or on the only one that is trained.

    Args:
        encoder: Trained in place.
        options: What counts for how much.
        mode_vectors: (14, V): see :func:`mode_vectors`.
    """

    def __init__(self, encoder: EncoderModel, options: ContrastiveLossOptions, mode_vectors: Tensor) -> None:
        super().__init__()
        self.encoder, self.options = encoder, options
        self.prototypes = (
            None
            if options.contrast == "none"
            else Prototypes(encoder.head.config.width, mode_vectors, size=options.size, selected=options.selected)
        )

    def forward(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """The loss of a batch under ``loss``."""
        readings = [item.example.reading for item in items]
        vectors = self._vectors(items)
        given = stack(readings, vectors)
        targets = stack_labels([item.example.labels for item in items], self.encoder.device)
        trained = [tower for tower in self.encoder.head.towers if next(tower.parameters()).requires_grad]
        loss = torch.zeros((), device=self.encoder.device)
        for position, tower in enumerate(trained):
            states = tower.hidden(given)
            output = tower.outputs(*states, given)
            loss = loss + loss_of(output, targets)
            if position == 0 and self.prototypes is not None:
                again = tower.hidden(given) if self.options.contrast == "infonce" else None
                clean = self._clean_states(items, tower) if self.options.contrast == "supervised" else None
                loss = loss + self._contrast(states, again, clean, output, targets)
        return {"loss": loss}

    def _vectors(self, items: Sequence[Item]) -> list[Tensor]:
        if all(item.vectors is not None for item in items):
            return [item.vectors.to(self.encoder.device) for item in items if item.vectors is not None]
        return self.encoder.vectors([item.example.reading for item in items])

    def _contrast(
        self,
        states: tuple[Tensor, Tensor],
        again: tuple[Tensor, Tensor] | None,
        clean: tuple[Tensor, list[int]] | None,
        output: HeadOutput,
        targets: Targets,
    ) -> Tensor:
        assert self.prototypes is not None
        options, prototypes = self.options, self.prototypes
        evidence = prototypes(*states, output.steps)
        logits = prototypes.mode_logits(evidence.bags)
        if again is not None:
            near = infonce(evidence.bags, prototypes(*again, output.steps).bags, temperature=options.temperature)
        else:
            passing = None
            if clean is not None:
                projected = torch.nn.functional.normalize(prototypes.step(clean[0]), dim=-1)
                passing = at_place(projected, evidence.top, clean[1])
            near = supervised(evidence, prototypes.modes, targets, temperature=options.temperature, clean=passing)
        return (
            asymmetric(logits, modes_of(targets))
            + options.contrast_weight * near
            + options.hierarchy_weight * hierarchy(output, logits, targets)
        )

    def _clean_states(self, items: Sequence[Item], tower: nn.Module) -> tuple[Tensor, list[int]] | None:
        """States of the passing runs' steps, and how many there are: none for an item without a passing run."""
        if not any(item.clean is not None and len(item.clean.steps) for item in items):
            return None
        filled = [item.clean if item.clean is not None else item.example.reading for item in items]
        given = stack(filled, self.encoder.vectors(filled))
        lengths = [0 if item.clean is None else len(item.clean.steps) for item in items]
        return tower.hidden(given)[0], lengths  # type: ignore[operator]


def mode_vectors(encoder: EncoderModel, tokenizer: StepTokenizer) -> Tensor:
    """(14, V): what the step encoder makes of the name and the definition of each error mode."""
    from tracer_hooks_models.encoder import read

    steps = tuple(
        Step(index=place, agent="mode", content=f"{mode.title}: {mode.definition}")
        for place, mode in enumerate(ErrorMode)
    )
    reading = read(Trajectory(run_id="modes", steps=steps), tokenizer, ())
    with torch.no_grad():
        return encoder.vectors([reading])[0].float().cpu()
