"""Where teams come from: a factory that builds one anew, or an object that is there already."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracer_hooks._api._awaiting import run_awaitable
from tracer_hooks._api._prompt_memory import PromptMemory
from tracer_hooks._guard import guard
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
        factory: Builds the team, or gives an awaitable that does; None when the team is there already.
        args: Arguments that the user gave the factory.
        kwargs: Keyword arguments that the user gave the factory.
        memory: What is known of prompts; shared by the teams of one factory.
        as_team: Turns what the factory built into a team, for factories that build a function.
    """

    def __init__(
        self,
        factory: Callable[..., Any] | None = None,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        memory: PromptMemory | None = None,
        as_team: Callable[[Any], Any] = lambda built: built,
    ) -> None:
        self._factory = factory
        self._as_team = as_team
        self._args, self._kwargs = args, dict(kwargs or {})
        self.memory = memory if memory is not None else PromptMemory()
        self._takes_prompts = factory is not None and "prompts" in inspect.signature(factory).parameters
        self._built_with: Mapping[str, str] = {}

    @property
    def has_factory(self) -> bool:
        """Whether teams can be built."""
        return self._factory is not None

    def anew(self) -> Any:
        """A team of its own for a replay, built as the user's was, with the rewrites that were kept."""
        return self._as_team(self._settled(self._make(self.memory.kept)))

    def build(self) -> Any:
        """Build the user's team with the factory, kept rewrites included."""
        return self._as_team(self._settled(self._make(self._remembered())))

    async def build_async(self) -> Any:
        """The same in asynchronous code."""
        made = self._make(self._remembered())
        return self._as_team(await made if inspect.isawaitable(made) else made)

    def first(self, adapter: Adapter, team: Any, trial: Mapping[str, str]) -> Prepared:
        """The user's own team object, with the rewrite on trial and those that were kept since it was built."""
        late = {agent: text for agent, text in self.memory.kept.items() if self._built_with.get(agent) != text}
        return _with_instructions(adapter, Prepared(team), {**late, **trial})

    def again(self, adapter: Adapter, team: Any, trial: Mapping[str, str]) -> Prepared:
        """A team for a retry: built anew where there is a factory, else the same object with other instructions."""
        prompts = {**self.memory.kept, **trial}
        return self._prepared(adapter, team, self._settled(self._make(prompts)), prompts)

    async def again_async(self, adapter: Adapter, team: Any, trial: Mapping[str, str]) -> Prepared:
        """The same in asynchronous code: the factory's coroutine runs in the caller's event loop."""
        prompts = {**self.memory.kept, **trial}
        made = self._make(prompts)
        return self._prepared(adapter, team, await made if inspect.isawaitable(made) else made, prompts)

    def _remembered(self) -> Mapping[str, str]:
        kept = self.memory.kept
        self._built_with = kept if self._takes_prompts else {}
        return kept

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
        bound.arguments["prompts"] = {**(bound.arguments.get("prompts") or {}), **prompts}
        return self._factory(*bound.args, **bound.kwargs)

    @staticmethod
    def _settled(made: Any) -> Any:
        return run_awaitable(made) if inspect.isawaitable(made) else made


def _with_instructions(adapter: Adapter, prepared: Prepared, prompts: Mapping[str, str]) -> Prepared:
    if not prompts:
        return prepared
    patches = None
    with guard("rewrite the team's instructions"):
        patches = adapter.write_instructions(prepared.team, prompts)
    if patches is None:
        prepared.intervention = RewriteInstructions(dict(prompts))
    else:
        prepared.patches.add(patches)
    return prepared
