"""Conversion of CrewAI's agents, tasks, messages, replies and results to our shape, and of changed replies back.

CrewAI's models answer in two ways. With native function calling a reply is a text or a list of the provider's tool
calls. Without it (ReAct) every reply is a text, in which ``Action:`` asks for a tool and ``Final Answer:`` ends the
turn; CrewAI hands on only what follows ``Final Answer:``. So that the same team gives the same trajectory either way,
a ReAct text is taken apart here: the action becomes a requested tool with the thought as content, and a final answer is
what the agent handed on, which is also the task's output and what the next agent is shown.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from tracer_hooks.frameworks import PatchSet, RunResult, TeamCall, guarded
from tracer_hooks.schema import AgentSpec, to_text
from tracer_hooks.telemetry import (
    ChatReply,
    Message,
    RequestedTool,
    assistant_message,
    message_text,
    text_message,
    tool_message,
)

_MODEL_FIELDS = ("llm", "function_calling_llm", "manager_llm", "planning_llm", "chat_llm")
_TEAMS = frozenset({"Crew", "Flow", "Agent", "LiteAgent"})


def is_team(candidate: object) -> bool:
    """Tell whether an object is a crew, a flow or an agent of CrewAI, told by its classes' names without an import."""
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
    wanted = _folded_name(asked_for)
    return next((agent_name(agent) for agent in agents if _folded_name(getattr(agent, "role", "")) == wanted), None)


def write_backstories(team: Any, texts: Mapping[str, str]) -> PatchSet | None:
    """Change the backstory of the named agents until the patch set is undone; None when the team has none of them."""
    chosen = [(agent, texts[agent_name(agent)]) for agent in members(team) if agent_name(agent) in texts]
    if not chosen:
        return None
    patches = PatchSet()
    for agent, text in chosen:
        # Both: CrewAI interpolates ``backstory`` anew from ``_original_backstory`` at each kickoff(inputs=...), which
        # would silently revert a change of the public field alone (seen in 1.15.30).
        for name in ("backstory", "_original_backstory"):
            if hasattr(agent, name):
                patches.on_undo(functools.partial(setattr, agent, name, getattr(agent, name)))
                setattr(agent, name, text)
    return patches


def _folded_name(name: Any) -> str:
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


FINAL_ANSWER = "Final Answer:"


# --- what a model is shown ------------------------------------------------------------------------------------------
def to_messages(native: Any) -> tuple[Message, ...]:
    """The messages of a model call, one for one."""
    if isinstance(native, str):
        return (text_message("user", native),)
    return tuple(_to_message(message) for message in native or ())


def with_texts(native: Any, changes: Mapping[int, str]) -> Any:
    """``native`` with the texts that an intervention changed; the agent's own list and messages are left alone."""
    if isinstance(native, str):
        return changes.get(0, native)
    return [{**message, "content": changes[i]} if i in changes else message for i, message in enumerate(native)]


def _to_message(native: Any) -> Message:
    if not isinstance(native, Mapping):
        return text_message("user", native)
    role, text = to_text(native.get("role") or "user"), _content_text(native.get("content"))
    if role == "tool":
        return tool_message(native.get("tool_call_id"), text, name=native.get("name"))
    if role == "assistant":
        return assistant_message(text, requested_tools(native.get("tool_calls") or ()))
    return text_message(role, text)


def _content_text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return to_text(content or "")
    if isinstance(content, Sequence):  # multimodal: text parts are kept, the rest is named by its type
        return "\n".join(_part_text(part) for part in content)
    return to_text(content)


def _part_text(part: Any) -> str:
    if not isinstance(part, Mapping):
        return to_text(part)
    text = part.get("text")
    return text if isinstance(text, str) else f"<{to_text(part.get('type') or 'part')}>"


# --- what a model answers -------------------------------------------------------------------------------------------
def to_reply(native: Any) -> ChatReply:
    """Convert what a model's ``call`` returned."""
    if isinstance(native, str):
        return _reply_from_text(native)
    if isinstance(native, Sequence) and (calls := requested_tools(native)):
        return ChatReply(tool_calls=calls)
    return ChatReply(content=plain_text(native))


def to_native(reply: ChatReply, *, native_tools: bool, response_model: Any = None) -> Any:
    """A reply that an intervention supplied or changed, as CrewAI expects it from a model."""
    if reply.tool_calls and native_tools:
        return [_native_call(call, number) for number, call in enumerate(reply.tool_calls)]
    if response_model is None and (text := wording(reply)) is not None:
        return text
    if reply.tool_calls:
        action = reply.tool_calls[0]  # ReAct has one action a reply
        return f"Thought: {reply.content}\nAction: {action.name}\nAction Input: {as_json(action.arguments)}"
    if response_model is not None and (parsed := _parse_model(reply.content, response_model)) is not None:
        return parsed
    if native_tools or "Action:" not in reply.content or FINAL_ANSWER in reply.content:
        return reply.content
    return f"{FINAL_ANSWER} {reply.content}"


def wording(reply: ChatReply) -> str | None:
    """Return the model's own words; None where they are not known, or the reply does not say the same any more."""
    text = "".join(reply.chunks)
    if not text:
        return None
    read = _reply_from_text(text)
    calls_read, calls_kept = ([(call.name, call.arguments) for call in version.tool_calls] for version in (read, reply))
    return text if read.content == reply.content and calls_read == calls_kept else None


@guarded("read the tool calls of a reply", cast("Sequence[RequestedTool]", ()))
def requested_tools(native: Sequence[Any]) -> Sequence[RequestedTool]:
    """Return the provider's tool calls; empty when the items are none."""
    from crewai.utilities.agent_utils import extract_tool_call_info, is_tool_call_list

    if not native or not is_tool_call_list(list(native)):
        return ()
    found = [extract_tool_call_info(call) for call in native]
    return tuple(
        RequestedTool(id=info[0], name=info[1], arguments=decoded(info[2])) for info in found if info is not None
    )


def decoded(arguments: Any) -> Any:
    """Tool arguments as data; the model's own text where it is no JSON."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def plain_text(value: Any) -> str:
    """Any answer of a model, agent, crew or flow as text."""
    if value is None or isinstance(value, str):
        return to_text(value or "")
    raw = getattr(value, "raw", None)
    if isinstance(raw, str):
        return to_text(raw)
    dump = getattr(value, "model_dump_json", None)
    if callable(dump) and not isinstance(value, type):
        return to_text(dump())
    return to_text(value)


def _reply_from_text(text: str) -> ChatReply:
    if FINAL_ANSWER not in text and "Action:" not in text:
        return ChatReply(content=to_text(text))
    step = _react_step(text)
    tool = getattr(step, "tool", None)
    if tool:
        thought = to_text(getattr(step, "thought", "") or "").strip().removeprefix("Thought:").strip()
        requested = RequestedTool(name=tool_name(tool), arguments=decoded(getattr(step, "tool_input", None)))
        return ChatReply(content=thought, tool_calls=(requested,))
    output = getattr(step, "output", None)
    return ChatReply(content=to_text(output if isinstance(output, str) and FINAL_ANSWER in text else text))


@guarded("parse a reply in ReAct form", None)
def _react_step(text: str) -> Any:
    from crewai.utilities.agent_utils import format_answer

    return format_answer(text)


def _native_call(call: RequestedTool, number: int) -> dict[str, Any]:
    function = {"name": call.name, "arguments": as_json(call.arguments)}
    return {"id": call.id or f"call_{number}", "type": "function", "function": function}


def as_json(arguments: Any) -> str:
    """Tool arguments as the text that a provider sends."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False, default=str)


def _parse_model(text: str, model: Any) -> Any:
    try:
        return model.model_validate_json(text)
    except Exception:  # not of that form: CrewAI then gets the text, as from a model that ignored the format
        return None


TASK_KEYS = ("task", "question", "topic", "query")
"""Names of inputs that are taken for the task."""
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_\-]*)}")


def task_text(team: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """The task of a run as text, from the arguments of its kickoff.

    An agent's messages; for crews and flows the input that is called ``task``, ``question``, ``topic`` or ``query``, or
    the only input; else what the crew's tasks say, with the inputs filled in.
    """
    given = args[0] if args else kwargs.get("inputs", kwargs.get("messages"))
    if hasattr(team, "backstory"):
        return _request(given)
    inputs = given if isinstance(given, Mapping) else {}
    named = next((inputs[key] for key in TASK_KEYS if inputs.get(key)), None)
    if named is None and len(inputs) == 1:
        named = next(iter(inputs.values()))
    if named is not None:
        return to_text(named)
    descriptions = [_fill_in(_template(task, "description"), inputs) for task in getattr(team, "tasks", None) or ()]
    return "\n\n".join(text for text in descriptions if text)


def task_inputs(team: Any, task: str) -> dict[str, str]:
    """The inputs that carry a task given as text into a crew's templates, or into a flow's state."""
    names = _state_fields(team) if not hasattr(team, "tasks") else _placeholders(team)
    known = [name for name in TASK_KEYS if name in names]
    if not known and hasattr(team, "tasks") and len(names) == 1:
        known = list(names)
    return dict.fromkeys(known or ["task"], task)


def to_run_result(native: Any) -> RunResult:
    """Convert what a kickoff returned."""
    interrupted = type(native).__name__ == "HumanFeedbackPending"
    text = "" if interrupted else plain_text(native)
    return RunResult(text=text, native=native, messages=_messages_of_result(native), interrupted=interrupted)


def call_for_task(team: Any, task: str) -> TeamCall:
    """The native call that runs a team on a task given as text."""
    if hasattr(team, "backstory"):
        return TeamCall(team=team, method="kickoff", args=(task,), task=task)
    return TeamCall(team=team, method="kickoff", kwargs={"inputs": task_inputs(team, task)}, task=task)


def _messages_of_result(native: Any) -> list[Message]:
    outputs: Sequence[Any] = getattr(native, "tasks_output", None) or ()
    return [assistant_message(plain_text(out), name=to_text(getattr(out, "agent", None) or "")) for out in outputs]


def _request(messages: Any) -> str:
    converted = to_messages(messages)
    users = tuple(message for message in converted if message.get("role") == "user")
    return message_text((users or converted or ({},))[-1])


def _template(holder: Any, field: str) -> str:
    return to_text(getattr(holder, f"_original_{field}", None) or getattr(holder, field, None) or "")


def _fill_in(template: str, inputs: Mapping[str, Any]) -> str:
    return _PLACEHOLDER.sub(lambda found: to_text(inputs.get(found[1], found[0])), template)


def _placeholders(crew: Any) -> set[str]:
    # Not crew.fetch_inputs(): it reads the public fields, which hold no placeholder any more after the first kickoff.
    texts = [_template(task, field) for task in crew.tasks for field in ("description", "expected_output")]
    texts += [_template(agent, field) for agent in crew.agents for field in ("role", "goal", "backstory")]
    return {name for text in texts for name in _PLACEHOLDER.findall(text)}


def _state_fields(flow: Any) -> set[str]:
    return set(getattr(type(getattr(flow, "state", None)), "model_fields", None) or ())
