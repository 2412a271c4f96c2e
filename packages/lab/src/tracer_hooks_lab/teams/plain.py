"""The architectures as teams in plain Python."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from tracer_hooks.endpoint import Endpoint, EndpointClient
from tracer_hooks.errors import EndpointError, ReplayError
from tracer_hooks.frameworks.plain import agent, answer_text, hand_off, instructions, model, tool
from tracer_hooks_lab.teams._architectures import Blueprint, TeamUtterance, Tool, blueprint

_TIMEOUT_S = 600.0  # a small machine may need minutes for one reply
Message = dict[str, Any]


class ChatClient:
    """Asks one endpoint, one request a call, without retries. It may be shared by threads.

    Args:
        endpoint: Where the model is.

    Raises:
        MissingExtraError: The client is not installed.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = _client_of(endpoint)

    def complete(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Message:
        """The assistant's message, with ``usage``, ``finish_reason`` and ``model`` beside ``content``.

        Args:
            messages: The conversation in OpenAI's form.
            tools: The functions on offer.

        Raises:
            RuntimeError: The endpoint answered with an error, or with no completion. This is the team's own failure.
            OSError: It could not be reached.
        """
        body: Message = {"messages": list(messages)}
        if tools:
            body["tools"] = [tool_schema(tool) for tool in tools]
        given = {"temperature": self._endpoint.temperature, "max_tokens": self._endpoint.max_tokens}
        body |= {name: value for name, value in given.items() if value is not None}
        try:
            completion = self._client.send(body)
        except EndpointError as error:
            where = f"the endpoint {self._client.address!r}"
            if error.kind in ("unreachable", "timeout"):
                raise OSError(f"{where} {error.reason}") from error
            if error.status is not None:
                raise RuntimeError(f"{where} answered {error.status}: {error.reason}") from error
            raise RuntimeError(f"expected a chat completion, but {where} {error.reason}") from error
        return _message(completion.model_dump(mode="json", exclude_unset=True, warnings=False))


@functools.lru_cache(maxsize=8)
def _client_of(endpoint: Endpoint) -> EndpointClient:
    """One client for all members of all teams: to make one takes longer than many a request."""
    return EndpointClient(endpoint, needed_by="a plain team of a suite", timeout_s=_TIMEOUT_S, attempts=1)


def tool_schema(tool: Tool) -> Message:
    """A function as a tool in OpenAI's form."""
    parameters = TypeAdapter(tool).json_schema()
    return {
        "type": "function",
        "function": {"name": tool.__name__, "description": (tool.__doc__ or "").strip(), "parameters": parameters},
    }


def _message(completion: Message) -> Message:
    choice = completion["choices"][0]
    message: Message = {"role": "assistant", "content": choice["message"].get("content") or ""}
    if choice["message"].get("tool_calls"):
        message["tool_calls"] = choice["message"]["tool_calls"]
    about = {
        "usage": completion.get("usage"),
        "finish_reason": choice.get("finish_reason"),
        "model": completion.get("model"),
    }
    return message | {name: value for name, value in about.items() if value is not None}


MAX_TOOL_REPLIES = 3
"""How many replies of one turn may call tools; the model is then asked without tools."""
_SENT = ("role", "content", "tool_calls")


class Member:
    """One agent of a plain Python team; it keeps nothing from one turn to the next.

    Args:
        plan: The team.
        name: The agent.
    """

    def __init__(self, plan: Blueprint, name: str) -> None:
        self.name = name
        self.told = plan.instructions[name]
        self._client = ChatClient(plan.endpoint)
        self._offered = plan.tools_of(name)
        self._tools = {one.__name__: tool(one) for one in self._offered}
        self._ask = model(name=plan.endpoint.model)(self._complete)

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of its tools."""
        return tuple(self._tools)

    def answer(self, prompt: str) -> str:
        """Return the agent's answer to ``prompt``, once it has used its tools.

        Raises:
            RuntimeError: The endpoint answered with an error.
            OSError: It could not be reached.
        """
        system = {"role": "system", "content": instructions(self.name, self.told)}
        messages: list[Message] = [system, {"role": "user", "content": prompt}]
        for _ in range(MAX_TOOL_REPLIES if self._tools else 0):
            reply = self._ask(messages)
            if not reply.get("tool_calls"):
                return str(reply["content"])
            messages.append({key: reply[key] for key in _SENT})
            messages += [self._call(call) for call in reply["tool_calls"]]
        return str(self._ask(messages, last=True)["content"])

    def _complete(self, messages: list[Message], *, last: bool = False) -> dict[str, Any]:
        return self._client.complete(messages, () if last else self._offered)

    def _call(self, call: Message) -> Message:
        """The tool's message; a call that cannot be carried out is told to the model, as frameworks do."""
        name = call["function"]["name"]
        try:
            text = self._result(name, call["function"].get("arguments") or "{}")
        except ReplayError:
            raise
        except Exception as error:
            text = f"Error: {error}"
        return {"role": "tool", "tool_call_id": call.get("id"), "name": name, "content": text}

    def _result(self, name: str, arguments: str) -> str:
        if name not in self._tools:
            raise LookupError(f"there is no tool {name!r}; the tools are {', '.join(self._tools)}")
        given = json.loads(arguments)
        if not isinstance(given, dict):
            raise ValueError("the arguments must be a JSON object")
        return answer_text(self._tools[name](**given))


def build_team(
    architecture: str,
    endpoint: Endpoint,
    *,
    tools: Sequence[Tool] = (),
    prompts: Mapping[str, str] | None = None,
    rounds: int | None = None,
) -> Callable[[str], str]:
    """A team in plain Python: a function from the task to the last agent's words.

    It is marked with the decorators of :mod:`tracer_hooks.frameworks.plain`, so that :func:`tracer_hooks.run` sees its
    agents, models and tools. It keeps nothing between runs and may run in several threads at once.

    Args:
        architecture: One of :data:`ARCHITECTURES`.
        endpoint: Where the model is.
        tools: Plain functions with a docstring, for the agents that use tools.
        prompts: Instructions in place of the architecture's own, by agent.
        rounds: How often the loop may go round; see :func:`blueprint`.

    Raises:
        ConfigError: An argument cannot be used; see :func:`blueprint`.
    """
    plan = blueprint(architecture, endpoint, tools=tools, prompts=prompts, rounds=rounds)
    members = {name: Member(plan, name) for name in plan.instructions}

    def team(task: str) -> str:
        said: list[TeamUtterance] = []
        while (name := plan.next_agent(said)) is not None:
            said.append(TeamUtterance(name, _turn(plan, members[name], task, said)))
        return said[-1].text

    team.__name__ = team.__qualname__ = architecture
    return team


def _turn(plan: Blueprint, member: Member, task: str, said: Sequence[TeamUtterance]) -> str:
    @agent(name=member.name, instructions=member.told, tools=member.tools)
    def turn(prompt: str) -> str:
        text = member.answer(prompt)
        recipient = plan.next_agent([*said, TeamUtterance(member.name, text)])
        if member.name == plan.architecture.chooser and recipient is not None:
            hand_off(recipient)
        return text

    return turn(plan.prompt(member.name, task, said))
