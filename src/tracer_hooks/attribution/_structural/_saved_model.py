"""What the file of a fitted structural model must hold, looked at before anything is made of it."""

from __future__ import annotations

from itertools import chain
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_MOST = 1e6
"""No weight, share or threshold is anywhere near it; beyond, sums would overflow."""
Number = Annotated[float, Field(ge=-_MOST, le=_MOST)]
Factor = Annotated[float, Field(gt=0.0, le=_MOST)]
Shares = Annotated[list[Number], Field(min_length=4, max_length=4)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class _Logit(_Part):
    prior_weight: Number
    weights: dict[str, Number]


class _Logits(_Part):
    shared: _Logit
    by_kind: dict[str, _Logit]


class _Forest(_Part):
    names: list[str]
    roots: Annotated[list[int], Field(min_length=1)]
    feature: list[int]
    threshold: list[Annotated[float, Field(ge=-1e300, le=1e300)]]
    left: list[int]
    right: list[int]
    value: list[Annotated[float, Field(ge=0.0, le=1.0)]]

    @model_validator(mode="after")
    def _are_trees(self) -> Self:
        count = len(self.feature)
        if not all(len(column) == count for column in (self.threshold, self.left, self.right, self.value)):
            raise ValueError("the columns of the nodes differ in length")
        if not all(0 <= root < count for root in self.roots):
            raise ValueError("a tree begins at a node that is not there")
        if not all(-1 <= asked < len(self.names) for asked in self.feature):
            raise ValueError("a node asks for a feature that is not named")
        for node, asked in enumerate(self.feature):
            # Children stand behind their parent, so that nobody walks in a circle.
            if asked >= 0 and not all(node < child < count for child in (self.left[node], self.right[node])):
                raise ValueError(f"node {node} leads to one that is not behind it")
        return self


class _Mixing(_Part):
    shares: Shares
    by_kind: dict[str, Shares]


class _Sureness(_Part):
    step: Factor
    agent: Factor


class _Model(_Part):
    steps: _Logits
    agents: _Logits
    forest: _Forest | None
    mixing: _Mixing
    sureness: _Sureness | None = None


def refuse_unusable(data: dict[str, Any], features: tuple[str, ...]) -> None:
    """Raise when ``data`` is no structural model over features of these names.

    Raises:
        ValueError: It is none; the message says what is wrong.
    """
    model = _Model.model_validate(data)
    logits = chain.from_iterable((one.shared, *one.by_kind.values()) for one in (model.steps, model.agents))
    read = dict.fromkeys(name for logit in logits for name in logit.weights)
    read.update(dict.fromkeys(() if model.forest is None else model.forest.names))
    unknown = next((name for name in read if name not in features), None)
    if unknown is not None:
        raise ValueError(f"it reads {unknown!r}, which no feature of this release gives")
