"""Where teams come from: a factory that builds one anew, or an object that is there already."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from tracer_hooks._api.judging import run_awaitable
from tracer_hooks._guard import guard
from tracer_hooks.frameworks import Adapter, Capability, Intervention, PatchSet, RewriteInstructions
from tracer_hooks.frameworks.plain import PlainTeam, declared_agents

_NONE: Mapping[str, str] = MappingProxyType({})


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
        factory: Builds the team, or gives an awaitable that does; None when the team is there already.
        args: Arguments that the user gave the factory.
        kwargs: Keyword arguments that the user gave the factory.
        as_team: Turns what the factory built into a team, for factories that build a function.
    """

    def __init__(
        self,
        factory: Callable[..., Any] | None = None,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        as_team: Callable[[Any], Any] = lambda built: built,
    ) -> None:
        self._factory = factory
        self._as_team = as_team
        self._args, self._kwargs = args, dict(kwargs or {})
        self._takes_prompts = factory is not None and "prompts" in inspect.signature(factory).parameters

    @property
    def has_factory(self) -> bool:
        """Whether teams can be built."""
        return self._factory is not None

    @property
    def takes_prompts(self) -> bool:
        """Whether teams can be built with other instructions."""
        return self._takes_prompts

    def anew(self, prompts: Mapping[str, str] = _NONE) -> Any:
        """A team of its own for a replay, built as the user's was; with other instructions where it takes them."""
        return self._as_team(self._settled(self._make(prompts)))

    def takes_prompts_for(self, agents: Collection[str]) -> bool:
        """Whether teams can be built, without waiting, with other instructions for agents that the user gave none."""
        if self._factory is None or not self._takes_prompts or inspect.iscoroutinefunction(self._factory):
            return False
        given = inspect.signature(self._factory).bind_partial(*self._args, **self._kwargs).arguments.get("prompts")
        return not set(given or ()) & set(agents)

    def build(self) -> Any:
        """Build the user's team with the factory."""
        with declared_agents() as declared:
            return _declaring(self.anew(), declared)

    async def build_async(self) -> Any:
        """The same in asynchronous code."""
        with declared_agents() as declared:
            made = self._make({})
            return _declaring(self._as_team(await made if inspect.isawaitable(made) else made), declared)

    def again(self, adapter: Adapter, team: Any, prompts: Mapping[str, str]) -> Prepared:
        """A team for a retry: built anew where there is a factory, else the same object; with these instructions."""
        return self._prepared(adapter, team, self._settled(self._make(prompts)), prompts)

    async def again_async(self, adapter: Adapter, team: Any, prompts: Mapping[str, str]) -> Prepared:
        """The same in asynchronous code: the factory's coroutine runs in the caller's event loop."""
        made = self._make(prompts)
        return self._prepared(adapter, team, await made if inspect.isawaitable(made) else made, prompts)

    def _prepared(self, adapter: Adapter, team: Any, made: Any, prompts: Mapping[str, str]) -> Prepared:
        if self._factory is None:
            return _with_instructions(adapter, Prepared(team), prompts)
        prepared = Prepared(self._as_team(made), is_new=True)
        return prepared if self._takes_prompts else _with_instructions(adapter, prepared, prompts)

    def _make(self, prompts: Mapping[str, str]) -> Any:
        """Call the factory; the user's own ``prompts`` stay, ours are laid over them."""
        if self._factory is None:
            return None
        if not (self._takes_prompts and prompts):
            return self._factory(*self._args, **self._kwargs)
        bound = inspect.signature(self._factory).bind_partial(*self._args, **self._kwargs)
        bound.apply_defaults()  # the default of `prompts`, too: ours are laid over it
        bound.arguments["prompts"] = {**(bound.arguments.get("prompts") or {}), **prompts}
        return self._factory(*bound.args, **bound.kwargs)

    @staticmethod
    def _settled(made: Any) -> Any:
        return run_awaitable(made) if inspect.isawaitable(made) else made


def _declaring(team: Any, declared: Mapping[str, str]) -> Any:
    """A team in plain Python, with the instructions that were declared while it was built."""
    return replace(team, declared=dict(declared)) if isinstance(team, PlainTeam) else team


def _with_instructions(adapter: Adapter, prepared: Prepared, prompts: Mapping[str, str]) -> Prepared:
    """Other instructions: written into a team that was built for this run alone, else into what its models are asked.

    The user's own team stays as it is, since other calls of it may go on at the same time.
    """
    if not prompts:
        return prepared
    patches = None
    if prepared.is_new or Capability.INTERVENE_MODEL not in adapter.capabilities:
        with guard("rewrite the team's instructions"):
            patches = adapter.write_instructions(prepared.team, prompts)
    if patches is None:
        prepared.intervention = RewriteInstructions(dict(prompts))
    else:
        prepared.patches.add(patches)
    return prepared
