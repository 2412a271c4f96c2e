"""Weights compared."""

import torch


def same(one, other):
    """Whether two files or dictionaries of weights hold the same."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def moved(trainer):
    """Train, and give the names of the weights that are others than before."""
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    trainer.train()
    return {name for name, value in trainer.model.state_dict().items() if not torch.equal(before[name], value)}
