"""Where teams come from: a factory that builds one anew, or an object that is there already."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracer_hooks.adapters import Adapter, Intervention, PatchSet, RewriteInstructions


@dataclass
class Prepared:
    """A team that is about to run."""

    team: Any
    """The team object."""
    is_new: bool = False
    """Whether it was built for this run and has yet to be hooked."""
    intervention: Intervention | None = None
    """Rewrites instructions in the model requests, where the team itself could not be changed."""
    patches: PatchSet = field(default_factory=PatchSet)
    """Undoes what was changed at the team for this run."""


class TeamSource:
    """Prepares a team for a run with given instructions.

    Args:
        factory: Builds the team; None when the team is an object that is there already.
        args: Arguments that the user gave the factory.
        kwargs: Keyword arguments that the user gave the factory.
        kept: Instructions that proved themselves so far; shared by the teams of one factory.
        as_team: Turns what the factory built into a team, for factories that build a function.

    Attributes:
        kept: Rewritten instructions that proved themselves, by agent; every later run uses them.
    """

    def __init__(
        self,
        factory: Callable[..., Any] | None = None,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        kept: dict[str, str] | None = None,
        as_team: Callable[[Any], Any] = lambda built: built,
    ) -> None:
        self.factory = factory
        self._as_team = as_team
        self._args, self._kwargs = args, dict(kwargs or {})
        self.kept: dict[str, str] = kept if kept is not None else {}

    @property
    def takes_prompts(self) -> bool:
        """Whether the factory accepts rewritten instructions."""
        return self.factory is not None and "prompts" in inspect.signature(self.factory).parameters

    def build(self, prompts: Mapping[str, str] | None = None) -> Any:
        """Build a team with the factory; the user's own ``prompts`` stay, ours are laid over them."""
        return self._as_team(self._call_factory(prompts))

    def _call_factory(self, prompts: Mapping[str, str] | None) -> Any:
        assert self.factory is not None
        kwargs = dict(self._kwargs)
        merged = {**self.kept, **(prompts or {})}
        if self.takes_prompts and merged:
            bound = inspect.signature(self.factory).bind_partial(*self._args, **kwargs)
            bound.arguments["prompts"] = {**(bound.arguments.get("prompts") or {}), **merged}
            return self.factory(*bound.args, **bound.kwargs)
        return self.factory(*self._args, **kwargs)

    def first(self, adapter: Adapter, team: Any, trial: Mapping[str, str]) -> Prepared:
        """The user's own team object; a rewrite that waits for its trial, or was kept, is applied to it."""
        prompts = {**({} if self.takes_prompts else self.kept), **trial}
        return self._apply(adapter, Prepared(team), prompts)

    def again(self, adapter: Adapter, team: Any, prompts: Mapping[str, str]) -> Prepared:
        """A team for a retry: built anew where there is a factory, else the same object with other instructions."""
        if self.factory is None:
            return self._apply(adapter, Prepared(team), {**self.kept, **prompts})
        prepared = Prepared(self.build(prompts), is_new=True)
        return prepared if self.takes_prompts else self._apply(adapter, prepared, {**self.kept, **prompts})

    def _apply(self, adapter: Adapter, prepared: Prepared, prompts: Mapping[str, str]) -> Prepared:
        if prompts:
            patches = adapter.write_instructions(prepared.team, prompts)
            if patches is None:
                prepared.intervention = RewriteInstructions(dict(prompts))
            else:
                prepared.patches.add(patches)
        return prepared
