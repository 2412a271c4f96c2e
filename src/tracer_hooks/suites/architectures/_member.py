"""An agent in plain Python: asks its model, carries out the tool calls, and asks again."""

from __future__ import annotations

import json
from typing import Any

from tracer_hooks.errors import ReplayError
from tracer_hooks.frameworks.plain import answer_text, instructions, model, tool
from tracer_hooks.suites.architectures._blueprint import Blueprint
from tracer_hooks.suites.architectures._chat import ChatClient, Message

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
        """What the agent says to ``prompt``, once it has used its tools.

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
