"""The demo's team in plain Python: three functions and a call of the chat completions API."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

import tracer_hooks
from tracer_hooks.testing.ticket_office import Endpoint, instructions, ticket_price

_TOOL = {
    "type": "function",
    "function": {
        "name": "ticket_price",
        "description": "Look up what one train ticket costs.",
        "parameters": {
            "type": "object",
            "properties": {"origin": {"type": "string"}, "destination": {"type": "string"}},
            "required": ["origin", "destination"],
        },
    },
}
_TIMEOUT_S = 120


def build_team(endpoint: Endpoint, prompts: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """A function that takes the task; its agents, model and tool are marked for tracer-hooks."""
    told = instructions(prompts)
    price = tracer_hooks.tool(ticket_price)

    @tracer_hooks.model(name=endpoint.model)
    def complete(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        body = {"model": endpoint.model, "messages": messages, **({"tools": tools} if tools else {})}
        request = urllib.request.Request(
            f"{endpoint.base_url}/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {endpoint.api_key}"},
        )
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
            reply = json.load(response)
        message: dict[str, Any] = reply["choices"][0]["message"]
        return {**message, "usage": reply.get("usage")}

    def opening(name: str, content: str) -> list[dict[str, Any]]:
        system = tracer_hooks.instructions(name, told[name])
        return [{"role": "system", "content": system}, {"role": "user", "content": content}]

    @tracer_hooks.agent(instructions=told["researcher"], tools=["ticket_price"])
    def researcher(task: str) -> str:
        messages = opening("researcher", task)
        reply = complete(messages, [_TOOL])
        while calls := reply.get("tool_calls"):
            messages.append({"role": "assistant", "content": reply.get("content"), "tool_calls": calls})
            for call in calls:
                result = price(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
            reply = complete(messages, [_TOOL])
        return str(reply["content"])

    @tracer_hooks.agent(instructions=told["calculator"])
    def calculator(task: str, findings: str) -> str:
        return str(complete(opening("calculator", f"{task}\n\n{findings}"))["content"])

    @tracer_hooks.agent(instructions=told["writer"])
    def writer(task: str, calculation: str) -> str:
        return str(complete(opening("writer", f"{task}\n\n{calculation}"))["content"])

    def ticket_office(task: str) -> str:
        return writer(task, calculator(task, researcher(task)))

    return ticket_office
