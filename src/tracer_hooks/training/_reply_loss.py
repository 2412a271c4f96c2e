"""The loss of a reply, without the logits of the prompt that stands before it."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from transformers import Trainer

from tracer_hooks.training._guarded import Mixin
from tracer_hooks.training._language_model import IGNORED


class ReplyLoss(Mixin):  # type: ignore[misc]
    """Mixed into trl's ``SFTTrainer``, before it: on a CPU, no logits are made of places that have no label.

    trl 1.16 leaves them out on devices with Triton only. Elsewhere it makes those of the whole row, twice, in parts;
    a row is a prompt of a thousand tokens with a reply of fifty.
    """

    def compute_loss(self, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The mean over the labels of all accumulated batches; see the base."""
        if inputs["labels"].device.type != "cpu" or not _chooses_logits(self.accelerator.unwrap_model(model)):
            return super().compute_loss(model, inputs, *args, **kwargs)
        return Trainer.compute_loss(self, model, _only_labelled({**inputs, "use_cache": False}), *args, **kwargs)


def _only_labelled(inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs that let the model make the logits of places at which some row of the batch has a label.

    Args:
        inputs: ``labels`` of shape (rows, tokens), beside what the model reads.
    """
    following = torch.nn.functional.pad(inputs["labels"][:, 1:], (0, 1), value=IGNORED)
    places = (following != IGNORED).any(dim=0).nonzero().squeeze(1)
    return {**inputs, "logits_to_keep": places, "shift_labels": following[:, places].contiguous()}


def _chooses_logits(model: Any) -> bool:
    """Whether the model takes ``logits_to_keep``, as those that transformers wrote since 4.45 do."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return "logits_to_keep" in inspect.signature(base.forward).parameters
