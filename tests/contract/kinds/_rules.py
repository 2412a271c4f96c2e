"""Scripts that several kinds share."""

from __future__ import annotations

from tracer_hooks.testing import Reply, Rule, ToolCallReply, When


def looks_up(agent: str, text: str) -> list[Rule]:
    """The model of ``agent`` calls the tool "lookup", and says ``text`` once it has seen the result."""
    return [
        When(agent=agent, tool_result="according to the table").then(text),
        When(agent=agent).then(Reply(tool_calls=[ToolCallReply("lookup", {"query": "six times seven, in <case>"})])),
    ]
