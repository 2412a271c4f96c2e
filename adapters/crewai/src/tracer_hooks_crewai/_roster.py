"""The agents of a crew: their names, instructions and tools, as they were written, before inputs are filled in."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracer_hooks.frameworks import PatchSet
from tracer_hooks.schema import AgentSpec, to_text

_MODEL_FIELDS = ("llm", "function_calling_llm", "manager_llm", "planning_llm", "chat_llm")
_TEAMS = frozenset({"Crew", "Flow", "Agent", "LiteAgent"})


def is_team(candidate: object) -> bool:
    """Whether an object is a crew, a flow or an agent of CrewAI, told by its classes' names without an import."""
    return _makes_teams(type(candidate))  # type: ignore[arg-type]


@functools.lru_cache(maxsize=256)  # asked of every agent in every run
def _makes_teams(kind: type[Any]) -> bool:
    names = {base.__name__ for base in kind.__mro__ if base.__module__.partition(".")[0] == "crewai"}
    # CrewAI's own agent executor is a flow too, one for each agent; it is a part of a team.
    return bool(names & _TEAMS) and "AgentExecutor" not in names


def agent_name(agent: Any) -> str:
    """The agent's role as it was written: the same in every run, whatever the inputs are."""
    role = getattr(agent, "_original_role", None) or getattr(agent, "role", None) or "agent"
    return to_text(role).strip()


def instructions(agent: Any) -> str | None:
    """The agent's backstory as it was written."""
    text = getattr(agent, "_original_backstory", None) or getattr(agent, "backstory", None)
    return None if text is None else to_text(text)


def agent_spec(agent: Any) -> AgentSpec:
    """Name, instructions and tools of an agent."""
    tools = tuple(tool_name(getattr(tool, "name", tool)) for tool in getattr(agent, "tools", None) or ())
    return AgentSpec(name=agent_name(agent), instructions=instructions(agent), tools=tools)


def tool_name(name: object) -> str:
    """A tool's name as the model is told it: CrewAI turns "Delegate work to coworker" into an identifier."""
    return _sanitized(to_text(name))


# CrewAI's function costs four regular expressions, and a model is offered many tools.
@functools.lru_cache(maxsize=1024)
def _sanitized(name: str) -> str:
    from crewai.utilities.string_utils import sanitize_tool_name

    return str(sanitize_tool_name(name))


def members(team: Any) -> list[Any]:
    """The agents of a crew, its manager last; of a single agent, itself; none for a flow, which builds its own."""
    if hasattr(team, "tasks") and hasattr(team, "agents"):
        manager = getattr(team, "manager_agent", None)
        found = [*(team.agents or ()), *([manager] if manager is not None else [])]
        found += [task.agent for task in team.tasks if getattr(task, "agent", None) is not None]
        return list({id(agent): agent for agent in found}.values())
    return [team] if hasattr(team, "role") and hasattr(team, "backstory") else []


def coworker_name(asked_for: Any, agents: Iterable[Any]) -> str | None:
    """The roster name of the coworker that a delegation asks for; None when there is no such coworker.

    CrewAI compares roles without regard to case, white space and double quotes, and takes the first of a list.
    """
    wanted = _plain(asked_for)
    return next((agent_name(agent) for agent in agents if _plain(getattr(agent, "role", "")) == wanted), None)


def write_backstories(team: Any, texts: Mapping[str, str]) -> PatchSet | None:
    """Change the backstory of the named agents until the patch set is undone; None when the team has none of them."""
    chosen = [(agent, texts[agent_name(agent)]) for agent in members(team) if agent_name(agent) in texts]
    if not chosen:
        return None
    patches = PatchSet()
    for agent, text in chosen:
        _write(agent, text, patches)
    return patches


def _write(agent: Any, text: str, patches: PatchSet) -> None:
    # Both: CrewAI interpolates ``backstory`` anew from ``_original_backstory`` at each kickoff(inputs=...), which would
    # silently revert a change of the public field alone (seen in 1.15.30).
    for name in ("backstory", "_original_backstory"):
        if hasattr(agent, name):
            before = getattr(agent, name)
            patches.on_undo(functools.partial(setattr, agent, name, before))
            setattr(agent, name, text)


def _plain(name: Any) -> str:
    text = to_text(name or "")
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].split(",")[0]
    return " ".join(text.split()).replace('"', "").strip().casefold()


def models_of(team: Any) -> Sequence[Any]:
    """Every model that can be seen on a team and its agents."""
    return [model for holder in (team, *members(team)) for model in own_models(holder)]


def own_models(holder: Any) -> list[Any]:
    """The models of a crew or of an agent."""
    # Not by getattr: 1.15 warns about ``function_calling_llm``, which is deprecated, whenever it is read.
    fields = getattr(holder, "__dict__", {})
    return [model for name in _MODEL_FIELDS if (model := fields.get(name)) is not None and not isinstance(model, str)]
