"""Labels as padded tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tracer_hooks.attribution.encoder import padded
from tracer_hooks.training._examples import Labels
from tracer_hooks.training._losses import Targets


def stack_labels(labels: Sequence[Labels], device: torch.device | str = "cpu") -> Targets:
    """The labels of a batch, in the shapes of :class:`~tracer_hooks.training._losses.Targets`."""
    agents = max(1, *(len(one.agents) for one in labels))
    steps = max(1, *(len(one.bag) for one in labels))
    return Targets(
        agents=padded([one.agents for one in labels], agents, -1.0, device),
        modes=padded([one.modes for one in labels], agents, 0.0, device),
        bag=padded([one.bag for one in labels], steps, 0.0, device),
    )
