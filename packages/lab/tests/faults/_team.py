"""A team in plain Python over the scripted model: a planner, a solver with a tool, and a checker."""

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import tracer_hooks
from tracer_hooks.frameworks import Intervention
from tracer_hooks.testing import Reply, ScriptedLLM, ToolCallReply, When

from ._runs import SOLVED, TICKETS

PLAN = "First work out the price of 3 tickets from Lisbon to Porto. Then add the fee of 10 %."
NOTE = "Mind that the fee is on the whole order, not on one ticket."
CHECK = "I checked the sum: 75.00 + 7.50 = 82.50. The result is correct.\nANSWER: 82.50"
RULES = (
    When(agent="planner").then(PLAN),
    When(agent="adviser").then(NOTE),
    When(agent="solver", tool_result=".").then(SOLVED),
    When(agent="solver").then(Reply(tool_calls=[ToolCallReply("price", {"origin": "Lisbon", "count": 3})])),
    When(agent="checker").then(CHECK),
)


def build(llm: ScriptedLLM) -> Callable[[str], str]:
    """Steps: 0 planner, 1 adviser, 2 solver calls the tool, 3 solver, 4 checker."""

    @tracer_hooks.model(name="scripted")
    def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
        body = json.dumps({"model": "scripted", "messages": messages}).encode()
        request = urllib.request.Request(
            f"{llm.base_url}/chat/completions", data=body, headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            message: dict[str, Any] = json.load(answer)["choices"][0]["message"]
        return message

    @tracer_hooks.tool
    def price(origin: str, count: int) -> str:
        return f"25.00 EUR a ticket, {25 * count}.00 EUR for {count}"

    def system(name: str) -> dict[str, Any]:
        return {"role": "system", "content": f"You are the {name}."}

    def turn(name: str, texts: list[str]) -> str:
        @tracer_hooks.agent(name=name)
        def act() -> str:
            users = [{"role": "user", "content": text} for text in texts]
            return str(ask([system(name), *users])["content"])

        return act()

    @tracer_hooks.agent(name="solver")
    def solve(texts: list[str]) -> str:
        messages = [system("solver"), *({"role": "user", "content": text} for text in texts)]
        reply = ask(messages)
        for call in reply.get("tool_calls") or ():
            try:
                result = price(**json.loads(call["function"]["arguments"]))
            except RuntimeError as error:  # what a failing tool raises
                result = f"failed: {error}"
            messages += [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": call["id"], "content": result or "(nothing)"},
            ]
            reply = ask(messages)
        return str(reply["content"])

    def team(task: str) -> str:
        plan = turn("planner", [task])
        note = turn("adviser", [task, plan])
        solved = solve([task, plan, note])
        return turn("checker", [task, plan, solved])

    return team


def run(llm: ScriptedLLM, intervention: Intervention | None = None) -> tracer_hooks.TeamRun:
    return tracer_hooks.run(build(llm), TICKETS, intervention=intervention, diagnose=False, store="off")
